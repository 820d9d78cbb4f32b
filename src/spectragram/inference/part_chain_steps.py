"""Training of chains over labels that are made of parts: steps along the gradient of the conditional likelihood.

    d log P(gold) / d w[place + p] = sum_i ( [p in parts(gold_i)] - sum_{a: p in parts(a)} P(a_i = a | x) )
    d log P(gold) / d v[p, q]      = the same for pairs of linked parts of neighbours

The model, and its symbols, are those of :mod:`spectragram.inference.part_chain`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.inference.hashed import SMALLEST_STEP, Weights, step_weight
from spectragram.inference.part_chain import (
    Candidates,
    Parts,
    Surface,
    candidate_scores,
    choice_marginals,
    count_parts,
    list_parts,
)
from spectragram.inference.token_factors import token_places

__all__ = ["train_epoch"]


@njit(cache=True, nogil=True)
def train_epoch(
    order: np.ndarray,
    surface: Surface,
    candidates: Candidates,
    parts: Parts,
    gold: np.ndarray,
    weights: Weights,
    links: Weights,
    rate: float,
    now: int,
) -> float:
    """Climb along the gradient of log P(gold) of one sequence after the other, changing ``weights`` and ``links``.

    order: numbers of sequences; gold (n_tokens,): the right one of each token's candidates, counted from 0; the arrays
    of links are (n_linked, n_linked); now: sequences seen before. Returns the sum of log P(gold) before each step.
    """
    columns, types, atoms, offsets = surface
    table = weights.table
    n_linked = len(links.table)
    slope, touched = np.zeros((n_linked, n_linked)), np.zeros((n_linked, n_linked), np.bool_)
    total = 0.0
    for u in order:
        begin, end = offsets[u], offsets[u + 1]
        now += 1
        if begin == end:
            continue
        places = token_places(columns, types[begin:end], atoms, len(table))
        rows = candidates.rows[begin:end]
        scores = candidate_scores(places, rows, candidates, parts, table)
        marginals, pairs, starts = choice_marginals(scores, rows, candidates, parts, links.table)
        for i in range(end - begin):
            total += np.log(max(marginals[i, gold[begin + i]], 1e-300))
        _step_parts(places, rows, candidates, parts, marginals, gold[begin:end], weights, rate, now)
        _step_links(pairs, starts, rows, candidates, parts, gold[begin:end], links, slope, touched, rate, now)
    return total


@njit(cache=True, nogil=True)
def _step_parts(
    places: np.ndarray,
    rows: np.ndarray,
    candidates: Candidates,
    parts: Parts,
    marginals: np.ndarray,
    gold: np.ndarray,
    weights: Weights,
    rate: float,
    now: int,
) -> None:
    """A step on the weights of the parts of every token of a sequence: gold minus expected."""
    table, squares, summed = weights
    mask = len(table) - 1
    n_parts = count_parts(parts)
    slope, listed, active = np.zeros(n_parts), np.zeros(n_parts, np.bool_), np.empty(n_parts, np.int64)
    for i in range(len(rows)):
        begin, end = candidates.starts[rows[i]], candidates.starts[rows[i] + 1]
        if end - begin == 1:
            continue
        n_active = list_parts(candidates.labels[begin:end], parts, listed, active)
        for c in range(begin, end):
            g = (1.0 if c - begin == gold[i] else 0.0) - marginals[i, c - begin]
            label = candidates.labels[c]
            for k in range(parts.starts[label], parts.starts[label + 1]):
                slope[parts.parts[k]] += g
        for k in range(n_active):
            part = active[k]
            if abs(slope[part]) > SMALLEST_STEP:
                for t in range(places.shape[1]):
                    step_weight(table, squares, summed, (places[i, t] + part) & mask, slope[part], rate, now)
            slope[part] = 0.0
            listed[part] = False


@njit(cache=True, nogil=True)
def _step_links(
    pairs: np.ndarray,
    starts: np.ndarray,
    rows: np.ndarray,
    candidates: Candidates,
    parts: Parts,
    gold: np.ndarray,
    links: Weights,
    slope: np.ndarray,
    touched: np.ndarray,
    rate: float,
    now: int,
) -> None:
    """A step on the weights of pairs of parts; ``slope`` and ``touched`` (n_linked, n_linked) are zero before and
    after."""
    places = []
    for i in range(1, len(rows)):
        begin, here = candidates.starts[rows[i - 1]], candidates.starts[rows[i]]
        n_before = candidates.starts[rows[i - 1] + 1] - begin
        size = candidates.starts[rows[i] + 1] - here
        if n_before * size == 1:
            continue
        for c in range(n_before):
            a = candidates.labels[begin + c]
            for d in range(size):
                g = -pairs[starts[i] + c * size + d]
                if c == gold[i - 1] and d == gold[i]:
                    g += 1.0
                if abs(g) <= SMALLEST_STEP:
                    continue
                b = candidates.labels[here + d]
                for k in range(parts.linked_starts[a], parts.linked_starts[a + 1]):
                    p = parts.linked[k]
                    for m in range(parts.linked_starts[b], parts.linked_starts[b + 1]):
                        q = parts.linked[m]
                        slope[p, q] += g
                        if not touched[p, q]:
                            touched[p, q] = True
                            places.append((p, q))
    for p, q in places:
        if abs(slope[p, q]) > SMALLEST_STEP:
            step_weight(links.table[p], links.squares[p], links.summed[p], q, slope[p, q], rate, now)
        slope[p, q] = 0.0
        touched[p, q] = False
