"""Tensors of binary rules applied to many pairs of vectors at once: matrix products, one for each pair of symbols.

    out[i] = sum over rules and k of C . (factors[i, k] left[rows[i, k, 0]] (x) right[rows[i, k, 1]])

Vectors of all symbols and states lie one after the other, those of tags first. The terms k are summed before the
tensors are applied, so a tensor is read once for many spans. Everything is in single precision, like the weights in
model files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.chart_rules import Operators, Rules

__all__ = [
    "LEFT",
    "PARENT",
    "RIGHT",
    "Bilinear",
    "child_sums",
    "group_tensors",
    "multiply",
    "normalised",
    "unary_matrix",
]

AT_ONCE = 32
"""Spans whose tensors are multiplied together: enough for the speed of matrix products, few enough for the cache.
Chosen by hand: 16, 32 and 64 were about equally fast for a grammar of 600 states."""
LEFT, RIGHT, PARENT = 1, 2, 0
"""Places of a symbol in a rule."""


class Bilinear(NamedTuple):
    """Tensors that take two vectors of all states to a third, grouped by the pair of symbols they take.

    Attributes
    ----------
    pairs : int64 array, shape (n_pairs, 4)
        Where the states of the first symbol begin, how many there are; the same of the second symbol.
    starts : int64 array, shape (n_pairs + 1,)
        Where the matrix of each pair begins: (states of the first * states of the second, targets), flat.
    matrices : float32 array
    target_starts : int64 array, shape (n_pairs + 1,)
    targets : int64 array
        The states that the columns of each matrix belong to.
    n_targets : int
    n_tag_states : int
        States below this number are those of tags, which only single words have.
    """

    pairs: np.ndarray
    starts: np.ndarray
    matrices: np.ndarray
    target_starts: np.ndarray
    targets: np.ndarray
    n_targets: int
    n_tag_states: int


def group_tensors(
    rules: Rules, operators: Operators, tensors: Sequence[np.ndarray], n_tag_states: int, first: int, second: int
) -> Bilinear:
    """Group flat tensors by two of their places: PARENT, LEFT or RIGHT.

    Several arrays of ``tensors`` are stacked: the targets of number i begin at i * n_all_states.
    """
    third = ({PARENT, LEFT, RIGHT} - {first, second}).pop()
    start, sizes = operators.state_start, operators.n_states.astype(np.int64)
    size = int(start[-1])
    order = np.lexsort((rules.binary[:, third], rules.binary[:, second], rules.binary[:, first]))
    key = rules.binary[order][:, [first, second]]
    groups = np.split(order, np.flatnonzero((np.diff(key, axis=0) != 0).any(axis=1)) + 1) if len(order) else []
    pairs, matrices, targets = [], [], []
    for group in groups:
        b, c = rules.binary[group[0], first], rules.binary[group[0], second]
        columns, owned = [], []
        for number, flat in enumerate(tensors):
            for r in group:
                tensor = flat[operators.binary_start[r] : operators.binary_start[r + 1]].reshape(sizes[rules.binary[r]])
                columns.append(tensor.transpose(first, second, third).reshape(sizes[b] * sizes[c], -1))
                a = rules.binary[r, third]
                owned.append(np.arange(start[a], start[a + 1]) + number * size)
        pairs.append((start[b], sizes[b], start[c], sizes[c]))
        matrices.append(np.hstack(columns).astype(np.float32).ravel())
        targets.append(np.concatenate(owned))
    return Bilinear(
        np.array(pairs, np.int64).reshape(-1, 4),
        _starts(matrices),
        np.concatenate([*matrices, np.zeros(0, np.float32)]),
        _starts(targets),
        np.concatenate([*targets, np.zeros(0, np.int64)]).astype(np.int64),
        size * len(tensors),
        n_tag_states,
    )


def _starts(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)


@njit(cache=True, nogil=True)
def _scale_terms(
    vectors: np.ndarray, rows: np.ndarray, factors: np.ndarray, n_tag_states: int, tags: np.ndarray, phrases: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Write factors[k] * vectors[rows[k]] to ``tags`` and ``phrases``, the two parts of row k.

    Returns the terms with any tag, and how many states below each are not zero in some term,
    (n_all_states + 1,).
    """
    largest = np.zeros(vectors.shape[1], np.float32)
    tagged, n_tagged = np.empty(len(rows), np.int64), 0
    for k in range(len(rows)):
        vector, factor = vectors[rows[k]], factors[k]
        total = np.float32(0.0)
        for x in range(n_tag_states):
            total = max(total, abs(vector[x]))
        if total <= 0.0:
            tags[k] = 0.0
        else:
            tagged[n_tagged] = k
            n_tagged += 1
            for x in range(n_tag_states):
                tags[k, x] = factor * vector[x]
                largest[x] = max(largest[x], abs(tags[k, x]))
        for x in range(n_tag_states, len(vector)):
            value = factor * vector[x]
            phrases[k, x - n_tag_states] = value
            largest[x] = max(largest[x], abs(value))
    some = np.zeros(len(largest) + 1, np.int64)
    for x in range(len(largest)):
        some[x + 1] = some[x] + (1 if largest[x] > 0.0 else 0)
    return tagged[:n_tagged], some


@njit(cache=True, nogil=True)
def _have_common(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two ascending arrays have an entry in common."""
    i = j = 0
    while i < len(first) and j < len(second):
        if first[i] == second[j]:
            return True
        if first[i] < second[j]:
            i += 1
        else:
            j += 1
    return False


@njit(cache=True, nogil=True)
def _gather(
    tensors: Bilinear,
    left: np.ndarray,
    right: np.ndarray,
    rows: np.ndarray,
    factors: np.ndarray,
    space: np.ndarray,
    owners: np.ndarray,
) -> np.ndarray:
    """Sums of outer products, cut into the parts that the pairs take.

    Pair p gets a matrix in ``space``, flat, whose rows are those sums that are not zero; ``owners[p]`` says which ones
    they are. Returns how many there are, (n_pairs,). Only single words have tags, so products with those are sums over
    one or two terms; those of phrases with phrases are a matrix product.
    """
    n, n_terms, n_tags = len(rows), rows.shape[1], tensors.n_tag_states
    n_phrases = left.shape[1] - n_tags
    left_tags, right_tags = np.empty((n_terms, n_tags), np.float32), np.empty((n_terms, n_tags), np.float32)
    left_phrases = np.empty((n_terms, n_phrases), np.float32)
    right_phrases = np.empty((n_terms, n_phrases), np.float32)
    products = np.empty((n_phrases, n_phrases), np.float32)
    ones = np.ones(n_terms, np.float32)
    counts = np.zeros(len(tensors.pairs), np.int64)
    for i in range(n):
        words_left, some_left = _scale_terms(left, rows[i, :, 0], factors[i], n_tags, left_tags, left_phrases)
        words_right, some_right = _scale_terms(right, rows[i, :, 1], ones, n_tags, right_tags, right_phrases)
        np.dot(left_phrases.T, right_phrases, products)
        two_words = _have_common(words_left, words_right)
        start = 0
        for p in range(len(tensors.pairs)):
            b, n_left, c, n_right = tensors.pairs[p]
            width = n_left * n_right
            possible = two_words or b >= n_tags or c >= n_tags
            if possible and some_left[b + n_left] > some_left[b] and some_right[c + n_right] > some_right[c]:
                at = start * n + counts[p] * width
                owners[p, counts[p]] = i
                counts[p] += 1
                if b >= n_tags and c >= n_tags:
                    for y in range(n_left):
                        for z in range(n_right):
                            space[at + y * n_right + z] = products[b - n_tags + y, c - n_tags + z]
                else:
                    space[at : at + width] = 0.0
                    one, first = (left_tags, b) if b < n_tags else (left_phrases, b - n_tags)
                    other, second = (right_tags, c) if c < n_tags else (right_phrases, c - n_tags)
                    for k in words_left if b < n_tags else words_right:
                        for y in range(n_left):
                            for z in range(n_right):
                                space[at + y * n_right + z] += one[k, first + y] * other[k, second + z]
            start += width
    return counts


@njit(cache=True, nogil=True)
def multiply(
    tensors: Bilinear, left: np.ndarray, right: np.ndarray, rows: np.ndarray, factors: np.ndarray
) -> np.ndarray:
    """Apply tensors to sums of pairs of vectors: out[i] = sum over k of factors[i, k] C . (left (x) right).

    ``left`` and ``right`` are float32 (any, n_all_states), ``rows`` int64 (n, k, 2) says which of their rows are
    multiplied, ``factors`` is float32 (n, k). Returns float32 (n, n_targets).
    """
    out = np.zeros((len(rows), tensors.n_targets), np.float32)
    width = 0
    for p in range(len(tensors.pairs)):
        width += tensors.pairs[p, 1] * tensors.pairs[p, 3]
    space = np.empty(min(len(rows), AT_ONCE) * width, np.float32)
    room = np.empty(AT_ONCE * tensors.n_targets, np.float32)
    owners = np.empty((len(tensors.pairs), AT_ONCE), np.int64)
    for begin in range(0, len(rows), AT_ONCE):
        end = min(begin + AT_ONCE, len(rows))
        counts = _gather(tensors, left, right, rows[begin:end], factors[begin:end], space, owners)
        start = 0
        for p in range(len(tensors.pairs)):
            size = tensors.pairs[p, 1] * tensors.pairs[p, 3]
            if counts[p] > 0:
                first, stop = tensors.target_starts[p], tensors.target_starts[p + 1]
                matrix = tensors.matrices[tensors.starts[p] : tensors.starts[p + 1]].reshape(size, stop - first)
                at = start * (end - begin)
                terms = space[at : at + counts[p] * size].reshape(counts[p], size)
                product = room[: counts[p] * (stop - first)].reshape(counts[p], stop - first)
                np.dot(terms, matrix, product)
                for i in range(counts[p]):
                    line = out[begin + owners[p, i]]
                    for j in range(stop - first):
                        line[tensors.targets[first + j]] += product[i, j]
            start += size
    return out


def child_sums(rules: Rules, operators: Operators, flat: np.ndarray, place: int) -> np.ndarray:
    """Tensors summed over the other child: parents by children at ``place``, (n_all_states, n_all_states)."""
    start, sizes = operators.state_start, operators.n_states
    out = np.zeros((int(start[-1]), int(start[-1])))
    for r, rule in enumerate(rules.binary):
        tensor = flat[operators.binary_start[r] : operators.binary_start[r + 1]].reshape(sizes[rule])
        a, b = rule[PARENT], rule[place]
        out[start[a] : start[a + 1], start[b] : start[b + 1]] += tensor.sum(axis=LEFT + RIGHT - place)
    return out


def unary_matrix(rules: Rules, operators: Operators, flat: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Weights of top items over bottom items, (n_all_states, n_all_states)."""
    start, sizes = operators.state_start, operators.n_states
    out = np.diag(kept).astype(np.float64)
    for u, (a, b) in enumerate(rules.unary):
        matrix = flat[operators.unary_start[u] : operators.unary_start[u + 1]].reshape(sizes[a], sizes[b])
        out[start[a] : start[a + 1], start[b] : start[b + 1]] += matrix
    return out


def normalised(rules: Rules, operators: Operators) -> Operators:
    """The same weights divided by what each item's choices sum to, where that is not zero."""

    def inverse(totals: np.ndarray) -> np.ndarray:
        return np.divide(1.0, totals, out=np.ones_like(totals), where=totals > 0.0)

    start, sizes = operators.state_start, operators.n_states.astype(np.int64)
    parents = np.concatenate([np.arange(start[a], start[a + 1]).repeat(sizes[b] * sizes[c]) for a, b, c in rules.binary]
                             or [np.zeros(0, np.int64)])  # fmt: skip
    binary = operators.binary * inverse(np.bincount(parents, operators.binary, int(start[-1])))[parents]
    tops = inverse(unary_matrix(rules, operators, operators.unary, operators.kept).sum(axis=1))
    above = np.concatenate([np.arange(start[a], start[a + 1]).repeat(sizes[b]) for a, b in rules.unary]
                           or [np.zeros(0, np.int64)])  # fmt: skip
    return operators._replace(
        binary=binary,
        unary=operators.unary * tops[above],
        kept=operators.kept * tops,
        root=operators.root / max(float(operators.root.sum()), np.finfo(np.float64).tiny),
    )
