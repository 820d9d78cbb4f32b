"""Log-linear factors of labelled spans: what is seen of a span, the scores of its labels, and gradient steps.

A span (i, j) of words i .. j-1 is seen from three places: its begin i, its end j and the best split k between them.
What a tree found before says about it, the values of the span itself, come beside that (:func:`span_contexts`). A
template is a list of atoms, each a column of the sentence at an offset from one of the places, or a value of the span.
The weights of one feature for all labels lie one behind the other in the table:

    score(i, j, a) = log-odds(i, j, a) + sum_t w[place(key_t(i, j)) + a] + w[place(grade of the log-odds) + a]

Tables and training are those of :mod:`spectragram.learning.factors`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.chart_coarse import span_id
from spectragram.inference.hashed import MIX, SMALLEST_STEP, STIR, Weights, find_place, step_weight
from spectragram.inference.token_factors import BEFORE, BEYOND, WITHIN

__all__ = ["N_VALUES", "Candidates", "SpanPlaces", "bracket_scores", "span_contexts", "span_places", "step_brackets"]

N_VALUES = 7
"""Values of a span: those that :func:`span_contexts` lists."""
OWN = 3
"""Place of atoms that are values of the span itself, behind begin (0), end (1) and split (2)."""
MOST_CHILDREN, MOST_CROSSINGS = 6, 2
"""Larger numbers count as these. Chosen by hand, not tuned."""


class Candidates(NamedTuple):
    """Labelled spans that may be brackets of a tree."""

    spans: np.ndarray  #: int64 (n_spans, 2): begin and end of each span
    span_of: np.ndarray  #: int64 (m,): which span a candidate lies over
    labels: np.ndarray  #: int64 (m,)
    log_odds: np.ndarray  #: float64 (m,): of the model beside the factors
    grades: np.ndarray  #: int64 (m,): grade of the log-odds


class SpanPlaces(NamedTuple):
    """Where features lie in the table: the place of label 0."""

    spans: np.ndarray  #: int32 (n_spans, n_templates)
    grades: np.ndarray  #: int64 (n_grades,)


@njit(cache=True, nogil=True)
def span_contexts(
    n: int, spans: np.ndarray, split: np.ndarray, label: np.ndarray, tags: np.ndarray, grades: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where spans are seen from, (n_spans, 3), and their values, (n_spans, 7), in view of a tree found before.

    The tree is given by the ``split`` of every chart cell and by its ``label``, -1 where there is no bracket; ``tags``
    (n,) are those of the words, ``grades`` (n + 1,) those of lengths. The values: grade of the length; first and last
    child, number of children and last child but one, if the span were a bracket of the tree; label of the smallest
    bracket around it; how it lies there (at its left end, at its right end) and how many brackets it crosses.
    """
    seen = np.zeros((len(spans), 3), np.int64)
    values = np.zeros((len(spans), N_VALUES), np.int64)
    stack = np.empty((n + 2, 2), np.int64)
    tree = _list_brackets(n, split, label, stack)
    for s in range(len(spans)):
        i, j = spans[s]
        seen[s, 0], seen[s, 1] = i, j
        seen[s, 2] = split[span_id(i, j)] if j - i > 1 else i
        values[s, 0] = grades[j - i]
        if j - i > 1:
            _see_children(i, j, split, label, tags, stack, values[s])
        _see_parent(i, j, tree, values[s])
    return seen, values


@njit(cache=True, nogil=True)
def _list_brackets(n: int, split: np.ndarray, label: np.ndarray, stack: np.ndarray) -> np.ndarray:
    """Begin, end and label of all brackets of the tree, (n_brackets, 3)."""
    tree = np.empty((2 * n, 3), np.int64)
    found = 0
    depth: int = np.int64(1)  # type: ignore[assignment]
    stack[0, 0], stack[0, 1] = 0, n
    while depth:
        depth -= 1
        i, j = stack[depth]
        cell = span_id(i, j)
        if label[cell] >= 0:
            tree[found, 0], tree[found, 1], tree[found, 2] = i, j, label[cell]
            found += 1
        if j - i > 1:
            depth = _push_halves(i, split[cell], j, stack, depth)
    return tree[:found]


@njit(cache=True, nogil=True)
def _push_halves(i: int, k: int, j: int, stack: np.ndarray, depth: int | np.int64) -> int:
    """Put both halves of a span on a stack, the left one on top; returns its new depth."""
    stack[depth, 0], stack[depth, 1] = k, j
    stack[depth + 1, 0], stack[depth + 1, 1] = i, k
    return int(depth + 2)


@njit(cache=True, nogil=True)
def _see_children(
    i: int, j: int, split: np.ndarray, label: np.ndarray, tags: np.ndarray, stack: np.ndarray, values: np.ndarray
) -> None:
    """What the tree has below a span: labels of phrases are even numbers, tags odd ones."""
    depth = _push_halves(i, split[span_id(i, j)], j, stack, np.int64(0))
    while depth:
        depth -= 1
        a, b = stack[depth]
        cell = span_id(a, b)
        if label[cell] < 0 and b - a > 1:
            depth = _push_halves(a, split[cell], b, stack, depth)
            continue
        child = 2 * label[cell] + 2 if label[cell] >= 0 else 2 * tags[a] + 1
        if values[3] == 0:
            values[1] = child
        values[4] = values[2]
        values[2] = child
        values[3] = min(values[3] + 1, MOST_CHILDREN)


@njit(cache=True, nogil=True)
def _see_parent(i: int, j: int, tree: np.ndarray, values: np.ndarray) -> None:
    """The smallest bracket around a span, and how many it crosses."""
    smallest = -1
    crossed = 0
    for t in range(len(tree)):
        a, b = tree[t, 0], tree[t, 1]
        if a <= i and j <= b and b - a > j - i and (smallest < 0 or b - a < smallest):
            smallest = b - a
            values[5] = tree[t, 2] + 1
            values[6] = (1 if a == i else 0) + (2 if b == j else 0)
        if a < i < b < j or i < a < j < b:
            crossed += 1
    values[6] += 4 * min(crossed, MOST_CROSSINGS)


@njit(cache=True, nogil=True)
def span_places(
    columns: np.ndarray, seen: np.ndarray, values: np.ndarray, atoms: np.ndarray, n_grades: int, size: int
) -> SpanPlaces:
    """Where the features of spans lie in a table of ``size`` weights.

    columns (c, n) int64, not negative; seen (n_spans, 3) and values (n_spans, 7) of :func:`span_contexts`; atoms
    (t, a, 3) int64: column, or -1 for none, place and offset.
    """
    n = columns.shape[1]
    n_templates, n_atoms, _ = atoms.shape
    shift = np.uint64(64 - int(np.log2(size) + 0.5))
    places = np.empty((len(seen), n_templates), np.int32)
    for s in range(len(seen)):
        for t in range(n_templates):
            key = np.uint64(t + 1) * STIR
            for a in range(n_atoms):
                column, place, offset = atoms[t, a]
                if column < 0:
                    break
                if place == OWN:
                    value = values[s, column] + WITHIN
                else:
                    at = seen[s, place] + offset
                    value = BEFORE if at < 0 else BEYOND if at >= n else columns[column, at] + WITHIN
                key = (key ^ np.uint64(value)) * MIX
                key ^= key >> np.uint64(29)
            places[s, t] = find_place(key * STIR, shift)
    of_grades = np.empty(n_grades, np.int64)
    for grade in range(n_grades):
        key = (np.uint64(grade + 1) * MIX) ^ STIR
        key ^= key >> np.uint64(29)
        of_grades[grade] = find_place(key * STIR, shift)
    return SpanPlaces(places, of_grades)


@njit(cache=True, nogil=True)
def bracket_scores(candidates: Candidates, places: SpanPlaces, table: np.ndarray) -> np.ndarray:
    """Log-odds of the candidates with the factors, (m,); table (2^b,) float32."""
    mask = len(table) - 1
    scores = candidates.log_odds.copy()
    for c in range(len(scores)):
        label, own = candidates.labels[c], places.spans[candidates.span_of[c]]
        total = table[(places.grades[candidates.grades[c]] + label) & mask]
        for t in range(len(own)):
            total += table[(own[t] + label) & mask]
        scores[c] += total
    return scores


@njit(cache=True, nogil=True)
def step_brackets(
    candidates: Candidates, places: SpanPlaces, gradient: np.ndarray, weights: Weights, rate: float, now: int
) -> None:
    """Climb along the gradient (m,) of the scores by AdaGrad, changing ``weights``."""
    table, squares, summed = weights
    mask = len(table) - 1
    for c in range(len(gradient)):
        g = gradient[c]
        if abs(g) > SMALLEST_STEP:
            label, own = candidates.labels[c], places.spans[candidates.span_of[c]]
            step_weight(table, squares, summed, (places.grades[candidates.grades[c]] + label) & mask, g, rate, now)
            for t in range(len(own)):
                step_weight(table, squares, summed, (own[t] + label) & mask, g, rate, now)
