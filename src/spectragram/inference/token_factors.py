"""Log-linear factors of tokens: the keys of their features, the scores of their labels, and gradient steps.

A template is a list of atoms, each a column of the sentence and an offset from the token; together with what the atoms
see there, it is a feature. The weights of one feature for all labels lie one behind the other in the table, so a token
costs one look into memory for each template, not one for each template and label:

    score(i, a) = sum_t  w[place(key_t(i)) + a]                  pair(a, b) = w[place(key(a)) + b]

The label of the token before is a feature like any other, whose weights are those of pairs of labels.

Tables and training are those of :mod:`spectragram.learning.factors`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.hashed import MIX, SMALLEST_STEP, STIR, Weights, find_place, step_weight

__all__ = ["label_pair_places", "label_pair_scores", "places_within", "step_tokens", "token_places", "token_scores"]

BEFORE, BEYOND, WITHIN = 1, 2, 3
"""Values of atoms before the first token, behind the last one, and the first value that a column may have."""


@njit(cache=True, nogil=True)
def token_places(columns: np.ndarray, types: np.ndarray, atoms: np.ndarray, size: int) -> np.ndarray:
    """Where the features of every token of a sentence lie in a table of ``size`` weights.

    columns (c, n_types) int64, not negative; types (n,) the tokens; atoms (t, a, 2) int64, each a column (-1 for none)
    and an offset. Returns (n, t) int64, the place of the first label.
    """
    n = len(types)
    n_templates, n_atoms, _ = atoms.shape
    shift = np.uint64(64 - int(np.log2(size) + 0.5))
    places = np.empty((n, n_templates), np.int64)
    for i in range(n):
        for t in range(n_templates):
            key = np.uint64(t + 1) * STIR
            for a in range(n_atoms):
                column = atoms[t, a, 0]
                if column < 0:
                    break
                at = i + atoms[t, a, 1]
                value = BEFORE if at < 0 else BEYOND if at >= n else columns[column, types[at]] + WITHIN
                key = (key ^ np.uint64(value)) * MIX
                key ^= key >> np.uint64(29)
            places[i, t] = find_place(key * STIR, shift)
    return places


@njit(cache=True, nogil=True)
def places_within(columns: np.ndarray, at: np.ndarray, bounds: np.ndarray, atoms: np.ndarray, size: int) -> np.ndarray:
    """The same for some positions of a long text.

    columns (c, n) int64, not negative; at (m,): the positions; bounds (m, 2): where the part of the text that features
    of each may see begins and ends; atoms (t, a, 2) int64. Returns (m, t) int64, equal to :func:`token_places` of the
    part of the text.
    """
    n_templates, n_atoms, _ = atoms.shape
    shift = np.uint64(64 - int(np.log2(size) + 0.5))
    places = np.empty((len(at), n_templates), np.int64)
    for i in range(len(at)):
        begin, end = bounds[i, 0], bounds[i, 1]
        for t in range(n_templates):
            key = np.uint64(t + 1) * STIR
            for a in range(n_atoms):
                column = atoms[t, a, 0]
                if column < 0:
                    break
                seen = at[i] + atoms[t, a, 1]
                value = BEFORE if seen < begin else BEYOND if seen >= end else columns[column, seen] + WITHIN
                key = (key ^ np.uint64(value)) * MIX
                key ^= key >> np.uint64(29)
            places[i, t] = find_place(key * STIR, shift)
    return places


@njit(cache=True, nogil=True)
def token_scores(places: np.ndarray, possible: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Scores of the labels of each token, -inf where they are not possible.

    places (n, t) int64; possible (n, n_labels) bool; table (2^b,) float32. Returns (n, n_labels).
    """
    n, n_labels = possible.shape
    mask = len(table) - 1
    scores = np.empty((n, n_labels))
    for i in range(n):
        for label in range(n_labels):
            scores[i, label] = 0.0 if possible[i, label] else -np.inf
        for t in range(places.shape[1]):
            first = places[i, t]
            for label in range(n_labels):
                if possible[i, label]:
                    scores[i, label] += table[(first + label) & mask]
    return scores


@njit(cache=True, nogil=True)
def label_pair_places(n_labels: int, size: int) -> np.ndarray:
    """Where the weights of pairs that begin with each label lie in a table of ``size`` weights: (n_labels, 1) int64."""
    shift = np.uint64(64 - int(np.log2(size) + 0.5))
    places = np.empty((n_labels, 1), np.int64)
    for a in range(n_labels):
        key = (np.uint64(a + 1) * MIX) ^ STIR
        key ^= key >> np.uint64(29)
        places[a, 0] = find_place(key * STIR, shift)
    return places


@njit(cache=True, nogil=True)
def label_pair_scores(n_labels: int, table: np.ndarray) -> np.ndarray:
    """Scores of neighbouring labels, (n_labels, n_labels), the first label in rows; table (2^b,) float32."""
    every = np.ones((n_labels, n_labels), np.bool_)
    return token_scores(label_pair_places(n_labels, len(table)), every, table)


@njit(cache=True, nogil=True)
def step_tokens(places: np.ndarray, gradient: np.ndarray, weights: Weights, rate: float, now: int) -> None:
    """Climb along the gradient (n, n_labels) of the scores by AdaGrad, changing ``weights``; places (n, t)."""
    table, squares, summed = weights
    mask = len(table) - 1
    n, n_labels = gradient.shape
    for i in range(n):
        for label in range(n_labels):
            g = gradient[i, label]
            if abs(g) > SMALLEST_STEP:
                for t in range(places.shape[1]):
                    step_weight(table, squares, summed, (places[i, t] + label) & mask, g, rate, now)
