"""Count text of any size: words first, then pairs of the words that are kept.

Both passes stream over shards of the files, in this process, in local processes or on a cluster, and hold one
block of text at a time. Two passes, because a vocabulary cannot be cut before all words are counted, and pairs of
all words, most of them seen once, would take many times the memory. What cannot be read twice, standard input, is
copied to a temporary file.

A count can keep a checkpoint: a file of the pairs of the shards done so far, renewed every half minute and when
the count is interrupted. The same call goes on from there; when it is finished the file holds the counts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spectragram import storage
from spectragram.clusters.counts import COUNTS_KIND, PairCounts, TextOptions
from spectragram.clusters.pairs import PairCounter, StreamPairs
from spectragram.data.corpus import Corpus
from spectragram.data.inputs import as_word_lists
from spectragram.data.text import FileShard, count_words, encode_blocks, shard_file
from spectragram.data.vocabulary import Vocabulary
from spectragram.engine import Executor, map_reduce, resolve_jobs
from spectragram.engine.progress import progress
from spectragram.errors import InputError, ModelFileError
from spectragram.files import Source, open_input

__all__ = ["count_files", "count_sequences"]

BYTES_PER_SHARD = 1 << 26
CHECKPOINT_SECONDS = 30.0


def count_files(
    paths: Source | Sequence[Source],
    *,
    max_size: int | None = None,
    min_count: int = 1,
    window: int = 2,
    options: TextOptions = TextOptions(),
    n_shards: int | None = None,
    n_jobs: int = 1,
    executor: Executor | None = None,
    checkpoint: Source | None = None,
    verbose: bool = False,
) -> PairCounts:
    """Count the words of text files (plain or gzipped, ``-`` is standard input) and pairs up to ``window`` apart.

    Parameters
    ----------
    max_size, min_count
        Keep at most so many words, each seen at least so often; the others become ``<unk>``.
    n_shards
        Parts to cut each plain file into; by default one for every 64 MB.
    n_jobs, executor
        Local processes, or anything with ``submit`` such as a ``distributed.Client``: the counts are the same.
    checkpoint
        File to keep what is counted; an interrupted count goes on from it, a finished one is read from it.
    """
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not listed:
        raise InputError("no files to count", remedy="give at least one path")
    if checkpoint is not None and any(str(path) == "-" for path in listed):
        raise InputError(
            "standard input cannot be counted in parts", remedy="write it to a file, or leave out --counts"
        )
    with _rereadable(listed) as files:
        shards = [shard for path in files for shard in _cut(path, n_shards)]
        job = _Job(shards, max_size, min_count, window, options)
        state = _Checkpoint(checkpoint, job)
        if state.finished is not None:
            return state.finished
        # Starting a process takes longer than counting a small file.
        n_bytes = sum(Path(path).stat().st_size for path in files)
        where = {"n_jobs": min(resolve_jobs(n_jobs), max(1, n_bytes // BYTES_PER_SHARD)), "executor": executor}
        vocabulary = state.vocabulary or job.count_vocabulary(where, verbose)
        pairs = _resumable(job, vocabulary, state, where, verbose)
    counts = PairCounts(vocabulary, pairs.tables, options)
    state.finish(counts)
    return counts


def normalised_words(sequences: Corpus | Iterable[Sequence[str]], options: TextOptions) -> list[list[str]]:
    """Sentences as lists of words in the spelling that ``options`` ask for."""
    return [[options.normalised(word) for word in words] for words in as_word_lists(sequences, keep_empty=True)]


def count_sequences(
    sequences: Corpus | Iterable[Sequence[str]],
    *,
    max_size: int | None = None,
    min_count: int = 1,
    window: int = 2,
    options: TextOptions = TextOptions(),
) -> PairCounts:
    """Count lists of words that are in memory, as :func:`count_files` counts lines."""
    listed = normalised_words(sequences, options)
    counted = Counter(word for words in listed for word in words)
    vocabulary = _vocabulary(counted, max_size, min_count)
    tokens = vocabulary.encode(word for words in listed for word in words)
    offsets = np.concatenate([[0], np.cumsum([len(words) for words in listed])]).astype(np.int64)
    counter = PairCounter(len(vocabulary), window, options.boundaries)
    counter.add(tokens, offsets)
    return PairCounts(vocabulary, counter.result().tables, options)


def _vocabulary(counted: Counter[str], max_size: int | None, min_count: int) -> Vocabulary:
    vocabulary = Vocabulary.from_counts(counted, min_count=min_count, max_size=max_size)
    if len(counted) < 2:
        found = "one word only" if counted else "no words"
        raise InputError(f"the text holds {found}", remedy="give text with at least two different words")
    if len(vocabulary) - (vocabulary.unknown is not None) < 1:
        raise InputError(f"no word occurs {min_count} times", remedy="lower min_count")
    return vocabulary


@contextlib.contextmanager
def _rereadable(paths: Sequence[Source]) -> Iterator[list[str]]:
    """Paths that can be read more than once: standard input becomes a temporary file."""
    with contextlib.ExitStack() as stack:
        readable = []
        for path in map(str, paths):
            if path == "-":
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="spectragram-"))
                path = str(Path(folder) / "standard-input")
                with open_input("-") as stream, Path(path).open("wb") as copy:
                    shutil.copyfileobj(stream, copy)
            readable.append(path)
        yield readable


def _cut(path: str, n_shards: int | None) -> list[FileShard]:
    with open_input(path):
        pass  # a missing file is named here, once, and not by a worker
    size = Path(path).stat().st_size
    # An empty file has no parts; as a whole it is reported as text without words.
    return shard_file(path, n_shards or max(1, -(-size // BYTES_PER_SHARD))) or [FileShard(path)]


@dataclasses.dataclass(frozen=True)
class _Job:
    """What is to be counted, and how."""

    shards: list[FileShard]
    max_size: int | None
    min_count: int
    window: int
    options: TextOptions

    def count_vocabulary(self, where: dict[str, Any], verbose: bool) -> Vocabulary:
        count = functools.partial(count_words, lower=self.options.lower, fold_digits=self.options.fold_digits)
        with progress("counting words", total=len(self.shards), enabled=verbose) as advance:
            counted = map_reduce(
                count,
                self.shards,
                merge=_add_words,
                progress=lambda done, total: advance(),
                **where,
            )
        return _vocabulary(counted, self.max_size, self.min_count)

    def fingerprint(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be of use."""
        files = {shard.path: Path(shard.path).stat() for shard in self.shards}
        return {
            "files": [[str(Path(path).resolve()), stat.st_size, stat.st_mtime_ns] for path, stat in files.items()],
            "max_size": self.max_size,
            "min_count": self.min_count,
            "window": self.window,
            "options": dataclasses.asdict(self.options),
        }


def _add_words(left: Counter[str], right: Counter[str]) -> Counter[str]:
    left.update(right)
    return left


def _count_shard(shard: FileShard, vocabulary: Vocabulary, window: int, options: TextOptions) -> StreamPairs:
    counter = PairCounter(len(vocabulary), window, options.boundaries)
    spelling = {"lower": options.lower, "fold_digits": options.fold_digits}
    for block in encode_blocks(shard, vocabulary, **spelling):
        counter.add(block.tokens, block.offsets)
    return counter.result()


def _resumable(
    job: _Job, vocabulary: Vocabulary, state: _Checkpoint, where: dict[str, Any], verbose: bool
) -> StreamPairs:
    """Pairs of all shards; those of the checkpoint are taken from it, the others kept there on the way."""
    count = functools.partial(_count_shard, vocabulary=vocabulary, window=job.window, options=job.options)

    def add(left: StreamPairs, right: StreamPairs) -> StreamPairs:
        merged = left + right
        state.keep(vocabulary, merged)
        return merged

    nothing = PairCounter(len(vocabulary), job.window, job.options.boundaries).result()
    start = nothing if state.pairs is None else state.pairs
    todo = job.shards[state.n_done :]
    with progress("counting pairs", total=len(todo), enabled=verbose) as advance, state.kept_when_interrupted():
        return map_reduce(count, todo, merge=add, initial=start, progress=lambda done, total: advance(), **where)


class _Checkpoint:
    """The file that keeps a count, if one was asked for.

    It never holds all shards until the count is finished, so there is always something left to count.
    """

    def __init__(self, path: Source | None, job: _Job) -> None:
        self.path = path
        self.finished: PairCounts | None = None
        self.vocabulary: Vocabulary | None = None
        self.pairs: StreamPairs | None = None
        self.n_done = 0
        self._unwritten: tuple[Vocabulary, StreamPairs] | None = None
        self._written_at = time.monotonic()
        if path is None:
            return
        self._job = {"n_shards": len(job.shards)} | job.fingerprint()
        self._n_shards = len(job.shards)
        if Path(path).exists():
            self._restore()

    def _restore(self) -> None:
        assert self.path is not None
        stored = storage.read(self.path)
        if stored.kind != COUNTS_KIND:
            raise ModelFileError(f"holds '{stored.kind}'", path=self.path, remedy="give another name for the counts")
        complete = stored.header.get("complete")
        wanted = dict(self._job)
        found = dict(stored.header.get("job") or {})
        if complete:  # how the work was shared out no longer matters
            wanted.pop("n_shards")
            found.pop("n_shards", None)
        if found != wanted:
            raise InputError(
                "holds counts of other text or with other options",
                path=self.path,
                remedy="delete it, give another name, or train from it directly by giving it as DATA",
            )
        counts = PairCounts.from_state(stored.header, stored.arrays)
        if complete:
            self.finished = counts
            return
        self.vocabulary = counts.vocabulary
        self.n_done = stored.header["n_done"]
        self.pairs = StreamPairs(len(counts.vocabulary), counts.tables, stored.arrays["head"], stored.arrays["tail"])

    def keep(self, vocabulary: Vocabulary, pairs: StreamPairs) -> None:
        """Note what is done; written when the last writing is long enough ago."""
        if self.path is None:
            return
        self.n_done += 1
        self._unwritten = (vocabulary, pairs) if self.n_done < self._n_shards else None
        if time.monotonic() - self._written_at > CHECKPOINT_SECONDS:
            self._write()

    @contextlib.contextmanager
    def kept_when_interrupted(self) -> Iterator[None]:
        """Whatever stops the count, Ctrl-C included, the file holds all that was done."""
        try:
            yield
        except BaseException:
            self._write()
            raise

    def _write(self) -> None:
        if self.path is None or self._unwritten is None:
            return
        vocabulary, pairs = self._unwritten
        header, arrays = PairCounts(vocabulary, pairs.tables, TextOptions(**self._job["options"])).to_state()
        header |= {"complete": False, "job": self._job, "n_done": self.n_done}
        storage.write(self.path, COUNTS_KIND, header, arrays | {"head": pairs.head, "tail": pairs.tail})
        self._unwritten = None
        self._written_at = time.monotonic()

    def finish(self, counts: PairCounts) -> None:
        """Write the finished counts."""
        if self.path is not None:
            header, arrays = counts.to_state()
            storage.write(self.path, COUNTS_KIND, header | {"complete": True, "job": self._job}, arrays)
