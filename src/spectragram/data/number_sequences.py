"""Sequences of whole numbers or of vectors, as hidden Markov models read them.

Three ways in, all checked here:

- one array of all observations and the ``lengths`` of the sequences, as hmmlearn takes them: shape (n,) or (n, 1) for
  whole numbers, (n, d) for vectors;
- a list of sequences, each an array or a list; a list of plain numbers is one sequence, as an array of them is;
- a text file: a sequence of whole numbers a line, or a vector a line with a blank line after each sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectragram.data.corpus import even_parts
from spectragram.data.inputs import is_path, listed
from spectragram.errors import InputError
from spectragram.files import Source, read_lines, split_words

__all__ = ["Lengths", "NumberSequences", "Numbers", "as_number_sequences"]

Numbers = Source | np.ndarray | Iterable[Any]
"""A file, an array of all observations, or sequences."""
Lengths = Sequence[int] | np.ndarray | None
"""The length of each sequence in an array."""


@dataclass(frozen=True)
class NumberSequences:
    """Sequence i is ``values[offsets[i]:offsets[i + 1]]``.

    Attributes
    ----------
    values : int64 array of shape (n,), or float64 array of shape (n, d)
    offsets : int64 array, shape (n_sequences + 1,)
    one_array : bool
        Whether the user gave one array, and so expects one back.
    """

    values: np.ndarray
    offsets: np.ndarray
    one_array: bool = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def discrete(self) -> bool:
        """Whether the observations are whole numbers."""
        return self.values.ndim == 1

    def parts(self, n_values: int) -> list[NumberSequences]:
        """Consecutive sequences together, about ``n_values`` observations in each part."""
        bounds = even_parts(self.offsets, max(1, len(self.values) // n_values))
        pieces = [(self.offsets[first], self.offsets[stop], first, stop) for first, stop in bounds]
        return [NumberSequences(self.values[a:b], self.offsets[i : j + 1] - a) for a, b, i, j in pieces]

    def split(self, array: np.ndarray) -> list[np.ndarray]:
        """The parts of an array that belong to each sequence."""
        return np.split(array, self.offsets[1:-1])


def as_number_sequences(X: Numbers, lengths: Lengths = None, emissions: str = "auto") -> NumberSequences:
    """Read and check observations; ``emissions`` is ``categorical``, ``gaussian``, or ``auto`` to go by the type."""
    if isinstance(X, NumberSequences):
        return X
    if not (is_path(X) or isinstance(X, np.ndarray) or lengths is not None):
        X = listed(X, "sequences of numbers")
        if X and all(np.ndim(part) == 0 for part in X):
            X = np.asarray(X)
    if is_path(X):
        if lengths is not None:
            raise InputError("lengths for a file", remedy="a file says itself where sequences end: leave them out")
        parts = _read(X, emissions)
        values, offsets = _joined(parts)
    elif isinstance(X, np.ndarray) or lengths is not None:
        values = np.asarray(X)
        offsets = _offsets([len(values)] if lengths is None else lengths, len(values))
    else:
        values, offsets = _joined([np.asarray(part) for part in listed(X, "sequences of numbers")])
    one_array = not is_path(X) and (isinstance(X, np.ndarray) or lengths is not None)
    return NumberSequences(_checked(values, emissions), offsets, one_array)


def _joined(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    filled = [part for part in parts if len(part)] if all(part.ndim for part in parts) else []
    if not filled:
        raise InputError("no observations", remedy="give at least one sequence of at least one number")
    if len({part.shape[1:] for part in filled}) > 1:
        shapes = sorted({str(part.shape) for part in filled})
        raise InputError(f"sequences of shapes {', '.join(shapes[:3])}", remedy="give vectors of one size")
    return np.concatenate(filled), np.concatenate([[0], np.cumsum([len(part) for part in parts])])


def _offsets(lengths: Sequence[int] | np.ndarray, n: int) -> np.ndarray:
    found = np.asarray(lengths)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer) or (found < 0).any():
        raise InputError("lengths are not whole numbers of at least 0", remedy="give the length of each sequence")
    if int(found.sum()) != n:
        raise InputError(f"lengths sum to {int(found.sum())}, but there are {n} observations", remedy="check them")
    return np.concatenate([[0], np.cumsum(found)]).astype(np.int64)


def _checked(values: np.ndarray, emissions: str) -> np.ndarray:
    """Whole numbers as (n,), vectors as (n, d)."""
    if not len(values):
        raise InputError("no observations", remedy="give at least one")
    if values.dtype.kind not in "iuf" or values.ndim not in (1, 2):
        raise InputError(
            f"observations of type {values.dtype} and shape {values.shape}",
            remedy="give whole numbers, or rows of numbers",
        )
    if emissions == "gaussian" or (emissions == "auto" and values.dtype.kind == "f"):
        if not np.isfinite(values).all():
            raise InputError("an observation is infinite or not a number", remedy="leave such sequences out")
        return np.ascontiguousarray(values.reshape(len(values), -1), np.float64)
    whole = values.reshape(len(values), -1)
    if whole.shape[1] != 1 or (whole != np.floor(whole)).any() or (whole < 0).any():
        raise InputError(
            "symbols that are not whole numbers of at least 0",
            remedy="number the symbols from 0 on, or use emissions='gaussian' for measurements",
        )
    return whole[:, 0].astype(np.int64)


def _read(path: Source, emissions: str) -> list[np.ndarray]:
    """A sequence of whole numbers a line, or a vector a line and a blank line after each sequence."""
    rows: list[tuple[int, np.ndarray]] = []
    for number, line in read_lines(path):
        try:
            rows.append((number, np.array([float(word) for word in split_words(line)])))
        except ValueError:
            raise InputError(
                "not a line of numbers", path=path, line=number, remedy="give numbers, with blanks between"
            ) from None
    filled = [row for _, row in rows if len(row)]
    whole = all((row == np.floor(row)).all() for row in filled)
    if emissions == "categorical" or (emissions == "auto" and whole):
        return [row.astype(np.int64) if whole else row for row in filled]
    parts: list[list[np.ndarray]] = [[]]
    for number, row in rows:
        if not len(row):
            parts.append([])
        elif len(row) != len(filled[0]):
            problem = f"{len(row)} numbers where the first line has {len(filled[0])}"
            raise InputError(problem, path=path, line=number, remedy="give vectors of one size")
        else:
            parts[-1].append(row)
    return [np.array(part) for part in parts if part]
