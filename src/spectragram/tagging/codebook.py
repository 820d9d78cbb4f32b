"""Frames of speech: normalised within each utterance, and classified by their nearest prototype."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.errors import InputError
from spectragram.learning.states import k_means
from spectragram.schema import Array, Schema
from spectragram.tagging.sequences import Observation, Observations

__all__ = ["Codebook", "are_frames", "stacked_frames"]

FRAMES_A_BLOCK = 4096
"""Frames whose distances to all prototypes are computed at once; a bound on memory."""
MAX_ITERATIONS = 20
"""Of k-means. Chosen by hand, not tuned."""
SMALLEST_SPREAD = 1e-6
"""A guard against division by zero; any tiny value does."""


def are_frames(sequences: Any) -> bool:
    """Whether the first sequence is a matrix of numbers (frames, d)."""
    first = sequences[0] if isinstance(sequences, (list, tuple)) and len(sequences) else None
    return isinstance(first, np.ndarray) and first.ndim == 2 and np.issubdtype(first.dtype, np.number)


def stacked_frames(
    sequences: Iterable[np.ndarray], d: int | None = None, *, normalised: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """All frames, with mean 0 and variance 1 in every utterance if they are ``normalised``, and offsets.

    Parameters
    ----------
    sequences : iterable of arrays, shape (length, d)
    d : int, optional
        The width that frames must have; by default that of the first utterance.
    """
    parts: list[np.ndarray] = []
    ends = [0]
    for number, sequence in enumerate(sequences, start=1):
        frames = np.asarray(sequence, np.float64)
        width = d if d is not None else parts[0].shape[1] if parts else frames.shape[-1]
        if frames.ndim != 2 or frames.shape[1] != width or not np.isfinite(frames).all():
            raise InputError(
                f"utterance {number} has shape {frames.shape} or numbers that are not finite",
                remedy=f"give arrays of shape (frames, {width})",
            )
        if len(frames) and normalised:
            frames = (frames - frames.mean(axis=0)) / np.maximum(frames.std(axis=0), SMALLEST_SPREAD)
        parts.append(frames)
        ends.append(ends[-1] + len(frames))
    stacked = np.concatenate(parts) if parts else np.zeros((0, d or 0))
    return stacked, np.array(ends, np.int64)


@dataclass(frozen=True)
class Codebook:
    """Prototypes of frames, which stand for classes.

    Attributes
    ----------
    prototypes : float64 array, shape (n_codes, d)
    normalised : bool
        Whether frames are normalised within each utterance before they are looked up.
    """

    SCHEMA: ClassVar[Schema] = Schema(
        "Codebook",
        "Prototypes of frames of speech.",
        arrays={"prototypes": Array("f8", ("n_codes", "n_dimensions"), "one for each class of frames")},
        sizes={"n_codes": 1, "n_dimensions": 1},
    )

    prototypes: np.ndarray
    normalised: bool = True

    @classmethod
    def fit(cls, frames: np.ndarray, n_codes: int, *, seed: int, normalised: bool = True) -> Self:
        """Prototypes by Euclidean k-means, started from random frames."""
        k = min(n_codes, len(frames))
        _, centres = k_means(frames, k, seed=seed, max_iter=MAX_ITERATIONS, init="random")
        return cls(np.asarray(centres, np.float64), normalised)

    def codes(self, frames: np.ndarray) -> np.ndarray:
        """The number of the nearest prototype: (n, d) -> int32 (n,)."""
        squares = (self.prototypes**2).sum(axis=1)
        blocks = [frames[i : i + FRAMES_A_BLOCK] for i in range(0, len(frames), FRAMES_A_BLOCK)]
        found = [(squares - 2 * (block @ self.prototypes.T)).argmin(axis=1) for block in blocks]
        return np.concatenate(found).astype(np.int32) if found else np.zeros(0, np.int32)

    def observe(self, frames: np.ndarray, offsets: np.ndarray) -> Observations:
        """Frames as observations whose only column is the number of their class."""
        types: list[Observation] = [(str(code),) for code in range(len(self.prototypes))]
        return Observations(types, np.zeros(len(types), bool), self.codes(frames), offsets, frames)
