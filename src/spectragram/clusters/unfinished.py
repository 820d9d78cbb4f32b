"""Clusters on the way: kept in a file after every pass over the words, so that training can go on from there."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spectragram import storage
from spectragram.clusters.counts import PairCounts
from spectragram.clusters.settings import Settings
from spectragram.errors import InputError, ModelFileError
from spectragram.files import Source
from spectragram.schema import Array, Json, Number, Schema, Whole

__all__ = ["NOT_KEPT", "UNFINISHED_SCHEMA", "Place", "Unfinished"]

UNFINISHED_KIND = "unfinished-clusters"

UNFINISHED_SCHEMA = Schema(
    "Unfinished clusters",
    "What `train clusters --resume` keeps until the model is written.",
    values={
        "job": Json("what is learned, and how"),
        "schedule": Whole("number of the schedule"),
        "stage": Whole("its stage"),
        "passes": Whole("passes that were made at this stage"),
        "n_passes": Whole("passes that were made in all"),
        "last_gain": Number("what the last pass gained", least=-1e30),
    },
    arrays={"labels": Array("i4", ("n_words",), "class of each word", least=0)},
)

HOW_TO_RUN = ("n_jobs", "memory", "verbose")
"""Settings that do not change the result."""


@dataclass(frozen=True)
class Place:
    """Where the refinement of clusters was: labels (n_words,) after some passes of a stage, and its last gain."""

    labels: np.ndarray | None = None
    stage: int = 0
    passes: int = 0
    n_passes: int = 0
    last_gain: float = 0.0


class Unfinished:
    """Keeps clusters in a file, if there is one, and has those that an interrupted training left there.

    A file belongs to one text and one set of parameters; another one is refused.
    """

    def __init__(self, path: Source | None, counts: PairCounts | None, settings: Settings | None) -> None:
        self.path = path
        self._schedule = -1
        self._place = Place()
        if path is None or counts is None or settings is None:
            return
        chosen = {name: value for name, value in vars(settings).items() if name not in HOW_TO_RUN}
        table = counts.tables[0]
        self._job = {"settings": repr(chosen), "n_tokens": counts.n_tokens, "pairs": _fingerprint(table.counts)}
        if Path(path).exists():
            self._restore(path, len(counts.vocabulary))

    def _restore(self, path: Source, n_words: int) -> None:
        stored = storage.read(path)
        if stored.kind != UNFINISHED_KIND:
            raise ModelFileError(f"holds '{stored.kind}'", path=path, remedy="delete it, or do not resume")
        header: dict[str, Any] = stored.header
        try:
            UNFINISHED_SCHEMA.check(header, stored.arrays)
        except ValueError as trouble:
            raise ModelFileError(f"its content is not clusters ({trouble})", path=path, remedy="delete it") from trouble
        if header["job"] != self._job or len(stored.arrays["labels"]) != n_words:
            raise InputError(
                "holds clusters of other text or with other parameters", path=path, remedy="delete it to start again"
            )
        self._schedule = header["schedule"]
        numbers = (header[name] for name in ("stage", "passes", "n_passes", "last_gain"))
        self._place = Place(stored.arrays["labels"], *numbers)

    def place(self, schedule: int) -> Place:
        """Where a schedule goes on; at its beginning if it was not interrupted."""
        return self._place if schedule == self._schedule else Place()

    def keep(
        self, schedule: int, stage: int, before: int, n_before: int, labels: np.ndarray, gains: list[float]
    ) -> None:
        """Write the labels after a pass; ``before`` passes of this stage and ``n_before`` in all came before it."""
        if self.path is None:
            return
        header = {
            "job": self._job,
            "schedule": schedule,
            "stage": stage,
            "passes": before + len(gains),
            "n_passes": n_before + len(gains),
            "last_gain": float(gains[-1]),
        }
        storage.write(self.path, UNFINISHED_KIND, header, {"labels": labels})

    def remove(self) -> None:
        """Delete the file: the model is there."""
        if self.path is not None:
            Path(self.path).unlink(missing_ok=True)


def _fingerprint(counts: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(counts).data)


NOT_KEPT = Unfinished(None, None, None)
"""No file."""
