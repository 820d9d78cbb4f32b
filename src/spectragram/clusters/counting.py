"""Count text of any size: words first, then pairs of the words that are kept.

Both passes stream over shards of the files, in this process, in local processes or on a cluster, and hold one block of
text at a time. There are two passes because the vocabulary is known only when all words are counted, and because pairs
of all words, most of them seen once, would take many times the memory. Standard input, which cannot be read twice, is
copied to a temporary file.

A count can keep a checkpoint: a file of the pairs of the shards counted so far, renewed every half minute and when the
count is interrupted. The same call then continues from there; when the count is finished, the file holds it.
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spectragram import storage
from spectragram.clusters.counts import COUNTS_KIND, PairCounter, PairCounts, StreamPairs, TextOptions
from spectragram.data.corpus import Vocabulary
from spectragram.data.inputs import WordLists
from spectragram.data.text import FileShard, count_words, encode_blocks, shard_file
from spectragram.engine import Executor, map_reduce, resolve_jobs
from spectragram.engine.progress import progress
from spectragram.errors import InputError, ModelFileError, ParameterError
from spectragram.files import Source, open_input

__all__ = ["count_files", "count_sequences"]

BYTES_PER_SHARD = 1 << 26
"""Bytes of text in one shard (64 MB). Chosen by hand: it takes a second or two to count, much longer than it takes to
start a process and to merge the result."""

CHECKPOINT_SECONDS = 30.0
"""Time between two writings of a checkpoint. Chosen by hand: this much work may be lost when a machine dies."""


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
    """Count the words of text files and the pairs of words up to ``window`` places apart.

    Parameters
    ----------
    paths : path or sequence of paths
        Plain or gzipped text, one sentence a line; ``-`` is standard input.
    max_size, min_count : int
        Keep at most ``max_size`` words, each seen at least ``min_count`` times; the others become ``<unk>``.
    window : int
        Largest distance of a pair.
    options : TextOptions
        Spelling of words, and whether lines are separate sentences.
    n_shards : int, optional
        Number of parts to cut each plain file into; by default one for every 64 MB.
    n_jobs, executor
        Local processes, or anything with ``submit`` such as a ``distributed.Client``. The counts are the same.
    checkpoint : path, optional
        File that keeps what is counted. An interrupted count continues from it; a finished one is read from it.
    verbose : bool
        Show progress on a terminal.
    """
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not listed:
        raise InputError("no files to count", remedy="give at least one path")
    if checkpoint is not None and any(str(path) == "-" for path in listed):
        raise InputError(
            "a count of standard input cannot be continued",
            remedy="write the text to a file first, or keep no file of counts",
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


def count_sequences(
    sequences: WordLists,
    *,
    max_size: int | None = None,
    min_count: int = 1,
    window: int = 2,
    options: TextOptions = TextOptions(),
) -> PairCounts:
    """Count sentences that are in memory, as :func:`count_files` counts the lines of files."""
    listed = options.word_lists(sequences)
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
        found = "only one word" if counted else "no words"
        raise InputError(f"the text contains {found}", remedy="give text with at least two different words")
    if len(vocabulary) - (vocabulary.unknown is not None) < 1:
        most = max(counted.values())
        raise ParameterError("min_count", min_count, "leaves no word", remedy=f"give a number of at most {most}")
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
        """What must be the same for a checkpoint to be usable."""
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
    """Pairs of all shards: some from the checkpoint, the others counted now and kept there on the way."""
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
            raise ModelFileError(f"holds '{stored.kind}'", path=self.path, remedy="give another file for the counts")
        complete = stored.header.get("complete")
        wanted = dict(self._job)
        found = dict(stored.header.get("job") or {})
        if complete:  # how the text was cut into shards no longer matters
            wanted.pop("n_shards")
            found.pop("n_shards", None)
        if found != wanted:
            raise InputError(
                "holds counts of other text or with other options",
                path=self.path,
                remedy="delete it, give another name, or give it in place of the text to train from it",
            )
        counts = PairCounts.from_state(stored.header, stored.arrays)
        if complete:
            self.finished = counts
            return
        self.vocabulary = counts.vocabulary
        self.n_done = stored.header["n_done"]
        self.pairs = StreamPairs(counts.tables, stored.arrays["head"], stored.arrays["tail"])

    def keep(self, vocabulary: Vocabulary, pairs: StreamPairs) -> None:
        """Note what is done; write it if the last time was long enough ago."""
        if self.path is None:
            return
        self.n_done += 1
        self._unwritten = (vocabulary, pairs) if self.n_done < self._n_shards else None
        if time.monotonic() - self._written_at > CHECKPOINT_SECONDS:
            self._write()

    @contextlib.contextmanager
    def kept_when_interrupted(self) -> Iterator[None]:
        """Write all that was done before the count is stopped, by Ctrl-C or anything else."""
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
