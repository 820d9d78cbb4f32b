"""What prediction returns: one answer a record, and how the answers were found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

__all__ = ["Predictions"]

Answer = TypeVar("Answer")


class Predictions(list[Answer]):
    """A list with one answer for each record, in order, and ``diagnostics`` beside it.

    ``diagnostics`` counts what a reader of the answers should know, by name: ``negative`` estimates that were repaired,
    ``fallbacks`` to a simpler model. It belongs to this call alone; predicting never changes the model, so several
    threads can use one.

    numpy takes it as one object for each record, however alike the answers are, so scikit-learn's
    ``cross_val_predict`` can put the answers for several parts of the data together.

    >>> found = Predictions([["DET", "NOUN"], ["VERB"]], {"negative": 3})
    >>> found[1], found.diagnostics["negative"], np.asarray(found).shape
    (['VERB'], 3, (2,))
    """

    def __init__(self, answers: Iterable[Answer] = (), diagnostics: Mapping[str, int] | None = None) -> None:
        super().__init__(answers)
        self.diagnostics: dict[str, int] = dict(diagnostics or {})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = np.empty(len(self), object)
        for number, answer in enumerate(self):
            array[number] = answer
        return array if dtype is None else array.astype(dtype)
