"""The file that keeps a count of words and pairs, so that the same call goes on where it was interrupted.

First it holds words and how often each occurred in the shards counted so far, then pairs, and in the end the finished
counts. It is renewed every half minute and when the count is interrupted.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from spectragram import storage
from spectragram.clusters.counts import COUNTS_KIND, PairCounts, StreamPairs, TextOptions
from spectragram.data.corpus import Vocabulary
from spectragram.errors import InputError, ModelFileError
from spectragram.files import Source
from spectragram.schema import Array, Json, Schema, Strings, Whole

__all__ = ["WORDS_KIND", "WORDS_SCHEMA", "Checkpoint"]

CHECKPOINT_SECONDS = 30.0
"""Time between two writings of a checkpoint. Chosen by hand: this much work may be lost when a machine dies."""

WORDS_KIND = "word-counts"

WORDS_SCHEMA = Schema(
    "Interrupted count of words",
    "What `train clusters --counts FILE` saves while words are counted; the same command goes on from there.",
    values={"job": Json("what is counted, and how"), "n_done": Whole("parts of the text that are counted")},
    arrays={
        "words": Strings("n_words", "in the order of their first occurrence", distinct=True),
        "counts": Array("i8", ("n_words",), "how often each occurred", least=1),
    },
)


class Checkpoint:
    """What was counted so far, kept in a file if one was asked for.

    It never holds all shards until the count is finished, so there is always something left to count.
    """

    def __init__(self, path: Source | None, job: dict[str, Any], n_shards: int) -> None:
        self.path = path
        self.finished: PairCounts | None = None
        self.words: Counter[str] | None = None
        self.n_words_done = 0
        self.vocabulary: Vocabulary | None = None
        self.pairs: StreamPairs | None = None
        self.n_done = 0
        self._unwritten: Callable[[], None] | None = None
        self._written_at = time.monotonic()
        self._job = {"n_shards": n_shards} | job
        self._n_shards = n_shards
        if path is not None and Path(path).exists():
            self._restore(path)

    def _restore(self, path: Source) -> None:
        stored = storage.read(path)
        if stored.kind not in (COUNTS_KIND, WORDS_KIND):
            raise ModelFileError(f"holds '{stored.kind}'", path=path, remedy="give another file for the counts")
        complete = stored.header.get("complete")
        job = stored.header.get("job") or {}
        if not isinstance(job, dict):
            raise ModelFileError("its content is not counts (job is not a table)", path=path, remedy="delete it")
        wanted, found = dict(self._job), dict(job)
        counts = PairCounts.from_stored(stored, path) if stored.kind == COUNTS_KIND else None
        if complete:  # how the text was cut into shards no longer matters
            wanted.pop("n_shards")
            found.pop("n_shards", None)
        if found != wanted:
            raise InputError(
                "holds counts of other text or with other options",
                path=path,
                remedy="delete it, give another name, or give it in place of the text to train from it",
            )
        if counts is None:
            self._restore_words(stored, path)
        elif complete:
            self.finished = counts
        else:
            self.vocabulary = counts.vocabulary
            self.n_done = stored.header["n_done"]
            self.pairs = StreamPairs(counts.tables, stored.arrays["head"], stored.arrays["tail"])

    def _restore_words(self, stored: storage.StoredModel, path: Source) -> None:
        try:
            WORDS_SCHEMA.check(stored.header, stored.arrays)
        except ValueError as trouble:
            raise ModelFileError(f"its content is not counts ({trouble})", path=path, remedy="delete it") from trouble
        self.words = Counter(dict(zip(stored.arrays["words"], stored.arrays["counts"].tolist(), strict=True)))
        self.n_words_done = stored.header["n_done"]

    def keep_words(self, words: Counter[str]) -> None:
        """Note that the words of one more shard are counted; write them if the last time was long enough ago."""
        self.n_words_done += 1
        done = self.n_words_done

        def write() -> None:
            counts = np.array(list(words.values()), np.int64)
            self._put(WORDS_KIND, {"job": self._job, "n_done": done}, {"words": list(words), "counts": counts})

        self._note(write if done < self._n_shards else None)

    def words_are_counted(self) -> None:
        """What is not written yet is not needed any more."""
        self._unwritten = None

    def keep(self, vocabulary: Vocabulary, pairs: Callable[[], StreamPairs | None]) -> None:
        """The same for pairs, asked for when they are written; None if an interrupt came as they were added."""
        self.n_done += 1
        done = self.n_done

        def write() -> None:
            found = pairs()
            if found is None:
                return
            header, arrays = PairCounts(vocabulary, found.tables, TextOptions(**self._job["options"])).to_state()
            header |= {"complete": False, "job": self._job, "n_done": done}
            self._put(COUNTS_KIND, header, arrays | {"head": found.head, "tail": found.tail})

        self._note(write if done < self._n_shards else None)

    def _note(self, write: Callable[[], None] | None) -> None:
        self._unwritten = write
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
        if self.path is not None and self._unwritten is not None:
            self._unwritten()
            self._unwritten = None
            self._written_at = time.monotonic()

    def finish(self, counts: PairCounts) -> None:
        """Write the finished counts."""
        header, arrays = counts.to_state()
        self._put(COUNTS_KIND, header | {"complete": True, "job": self._job}, arrays)

    def _put(self, kind: str, header: dict[str, Any], arrays: dict[str, Any]) -> None:
        if self.path is not None:
            storage.write(self.path, kind, header, arrays)
