"""What the hidden classes of a language model stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from spectragram.lm.estimator import LanguageModel

__all__ = ["class_rows"]


def class_rows(model: LanguageModel, n_words: int = 10) -> dict[int, list[list[object]]]:
    """For each distance to the word before: (class, its share, its most probable words), frequent classes first."""
    found: dict[int, list[list[object]]] = {}
    for distance, classes in sorted(model.model_.classes.items()):
        rows: list[list[object]] = []
        for h in np.argsort(-classes.mix, kind="stable"):
            best = np.argsort(-classes.emissions[:, h], kind="stable")[:n_words]
            rows.append([int(h), float(classes.mix[h]), " ".join(model.vocabulary_.decode(best))])
        found[distance] = rows
    return found
