"""What the hidden classes of a language model stand for."""

from __future__ import annotations

import numpy as np

from spectragram.lm.model import Model

__all__ = ["class_rows"]


def class_rows(model: Model, n_words: int = 10) -> dict[str, list[list[object]]]:
    """Rows (class, its share, its most probable words) of each class model, by its name; frequent classes first."""
    found: dict[str, list[list[object]]] = {}
    for distance, classes in zip(model.mixture.distances, model.mixture.classes, strict=True):
        rows: list[list[object]] = []
        for h in np.argsort(-classes.mix, kind="stable"):
            best = np.argsort(-classes.emissions[:, h], kind="stable")[:n_words]
            rows.append([int(h), float(classes.mix[h]), " ".join(model.vocabulary.decode(best))])
        found[f"{classes.n_states} classes of the word {distance} back"] = rows
    return found
