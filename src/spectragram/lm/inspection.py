"""What the hidden classes of a language model stand for."""

from __future__ import annotations

import numpy as np

from spectragram.lm.model import Model

__all__ = ["class_rows"]


def class_rows(model: Model, n_words: int = 10) -> dict[int, list[list[object]]]:
    """For each distance of the context word: (class, its share, its most probable words), frequent classes first."""
    found: dict[int, list[list[object]]] = {}
    for distance, classes in sorted(model.mixture.classes.items()):
        rows: list[list[object]] = []
        for h in np.argsort(-classes.mix, kind="stable"):
            best = np.argsort(-classes.emissions[:, h], kind="stable")[:n_words]
            rows.append([int(h), float(classes.mix[h]), " ".join(model.vocabulary.decode(best))])
        found[distance] = rows
    return found
