"""Count text of any size: words first, then pairs of the words that are kept.

Both passes stream over shards of the files, in this process, in local processes or on a cluster, and hold one block of
text at a time. There are two passes because the vocabulary is known only when all words are counted, and because pairs
of all words, most of them seen once, would take many times the memory. Standard input, which cannot be read twice, is
copied to a temporary file.

A count can keep a checkpoint (:mod:`spectragram.clusters.checkpoint`): the same call then continues where it was
interrupted, among the words or among the pairs. With a bound on memory, sorted pairs go to disk as they come.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spectragram.clusters.checkpoint import Checkpoint
from spectragram.clusters.counts import PairCounter, PairCounts, PairRuns, StreamPairs, TextOptions
from spectragram.data.corpus import Vocabulary
from spectragram.data.inputs import WordLists
from spectragram.data.text import FileShard, count_words, encode_blocks, shard_file
from spectragram.engine import Executor, map_reduce, parse_memory, resolve_jobs
from spectragram.engine.progress import progress
from spectragram.errors import InputError, ParameterError
from spectragram.files import Source, open_input

__all__ = ["count_files", "count_sequences"]

BYTES_PER_SHARD = 1 << 26
"""Bytes of text in one shard (64 MB). Chosen by hand: it takes a second or two to count, much longer than it takes to
start a process and to merge the result."""

WORKER_BYTES = 500 * 10**6
"""Memory of a process that counts a shard. A cautious guess, not measured."""


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
    memory: str | int | None = None,
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
    memory : str or int, optional
        A bound such as ``"4GB"``: a quarter of it is for sorted pairs, and the rest of them goes to temporary files.
    verbose : bool
        Show progress.
    """
    bound = parse_memory(memory)
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
        state = Checkpoint(checkpoint, job.fingerprint(), len(shards))
        if state.finished is not None:
            return state.finished
        # Starting a process takes longer than counting a small file.
        n_bytes = sum(Path(path).stat().st_size for path in files)
        most_jobs = max(1, n_bytes // BYTES_PER_SHARD)
        if bound is not None:
            most_jobs = min(most_jobs, max(1, bound // (2 * WORKER_BYTES)))
        where = {"n_jobs": min(resolve_jobs(n_jobs), most_jobs), "executor": executor}
        vocabulary = state.vocabulary or job.count_vocabulary(state, where, verbose)
        pairs = _resumable(job, vocabulary, state, where, bound, verbose)
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

    def count_vocabulary(self, state: Checkpoint, where: dict[str, Any], verbose: bool) -> Vocabulary:
        count = functools.partial(count_words, lower=self.options.lower, fold_digits=self.options.fold_digits)
        todo = self.shards[state.n_words_done :]

        def add(counted: Counter[str], more: Counter[str]) -> Counter[str]:
            merged = counted.copy()  # a new one, since an interrupt may come at any time
            merged.update(more)  # three times as fast as adding them
            state.keep_words(merged)
            return merged

        with progress("counting words", total=len(todo), enabled=verbose) as advance, state.kept_when_interrupted():
            counted = map_reduce(
                count,
                todo,
                merge=add,
                initial=Counter() if state.words is None else state.words,
                progress=lambda done, total: advance(),
                **where,
            )
        state.words_are_counted()
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


def _count_shard(shard: FileShard, vocabulary: Vocabulary, window: int, options: TextOptions) -> StreamPairs:
    counter = PairCounter(len(vocabulary), window, options.boundaries)
    spelling = {"lower": options.lower, "fold_digits": options.fold_digits}
    for block in encode_blocks(shard, vocabulary, **spelling):
        counter.add(block.tokens, block.offsets)
    return counter.result()


def _resumable(
    job: _Job, vocabulary: Vocabulary, state: Checkpoint, where: dict[str, Any], memory: int | None, verbose: bool
) -> StreamPairs:
    """Pairs of all shards: some from the checkpoint, the others counted now and kept there on the way."""
    count = functools.partial(_count_shard, vocabulary=vocabulary, window=job.window, options=job.options)

    def add(runs: Any, pairs: Any) -> Any:
        runs.add(pairs)
        state.keep(vocabulary, runs.so_far)
        return runs

    nothing = PairCounter(len(vocabulary), job.window, job.options.boundaries).result()
    start = PairRuns(nothing if state.pairs is None else state.pairs, None if memory is None else memory // 4)
    todo = job.shards[state.n_done :]
    with progress("counting pairs", total=len(todo), enabled=verbose) as advance, state.kept_when_interrupted():
        counted: Any = count
        runs: Any = map_reduce(counted, todo, merge=add, initial=start, progress=lambda _, total: advance(), **where)
    return runs.result()
