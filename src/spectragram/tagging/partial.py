"""Learning from sequences of which only some labels are known.

    lexicon, HMM   labels that are open are completed by a supervised HMM, counted on the runs of known labels, which
                   labels the rest around them
    factors        gradient = E[labels | x, K] - E[labels | x]: expected under what is known, K, minus expected; a sum
                   over all labels that agree with K

Sequences without any label are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from spectragram.data.labelled import LabelledFile
from spectragram.errors import InputError
from spectragram.tagging.model import Model

__all__ = ["complete_labels", "without_unknown"]


def without_unknown(data: LabelledFile, unknown: str | None) -> LabelledFile:
    """The data with None in place of the label that stands for an open one."""
    if unknown is None:
        return data
    y: list[Any] = [[None if label == unknown else label for label in labels] for labels in data.y]
    return replace(data, y=y)


def complete_labels(
    data: LabelledFile, learn: Callable[[LabelledFile], Model], n_jobs: int | None = 1
) -> tuple[LabelledFile, np.ndarray | None]:
    """The data with every label filled in, and which of the tokens had none, bool (n_tokens,); None if all had one.

    ``learn`` makes a model of whole sequences.
    """
    if all(label is not None for labels in data.y for label in labels):
        return data, None
    kept = [i for i, labels in enumerate(data.y) if any(label is not None for label in labels)]
    if not kept:
        raise InputError("no token has a label", remedy="label at least some tokens")
    X: list[Any] = [data.X[i] for i in kept]
    y: list[Any] = [list(data.y[i]) for i in kept]
    tokens, names_of_tokens = _runs(X, y)
    model = learn(replace(data, X=tokens, y=names_of_tokens, records=tokens))
    observed = model.observe(X)
    allowed = model.encode_fixed(y, observed)
    probabilities, _ = model.probabilities(observed, allowed=allowed, n_jobs=n_jobs)
    best = model.decode(probabilities, observed.offsets, allowed=allowed, decoding="auto")
    names = iter([model.labels[i] for i in best.tolist()])
    filled = [[next(names) for _ in labels] for labels in y]
    is_open = np.array([label is None for labels in y for label in labels])
    return replace(data, X=X, y=filled, records=[data.records[i] for i in kept]), is_open


def _runs(X: list[Any], y: list[list[str | None]]) -> tuple[list[Any], list[Any]]:
    """The parts of sequences in which every token has a label, as sequences of their own."""
    tokens: list[Any] = []
    names: list[Any] = []
    for sequence, labels in zip(X, y, strict=True):
        for is_known, group in groupby(range(len(labels)), key=lambda i: labels[i] is not None):
            places = list(group)
            if is_known:
                tokens.append(sequence[places[0] : places[-1] + 1])
                names.append([labels[i] for i in places])
    return tokens, names
