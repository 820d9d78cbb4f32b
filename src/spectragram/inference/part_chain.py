"""Log-linear chains over labels that are made of parts, with few candidates for each token.

A label with inner structure (a part of speech with its features) is scored by its parts, so what is learned about the
genitive serves every label that has it. Neighbouring labels are scored by pairs of their parts:

    score(i, a)   = base(i, a) + sum_{p in parts(a)} sum_t w[place(key_t(i)) + p]
    pair(a, b)    = sum_{p in linked(a)} sum_{q in linked(b)} v[p, q]
    P(a_1 .. a_n) ~ exp ( sum_i score(i, a_i) + sum_i pair(a_i, a_{i+1}) )

There may be thousands of labels, so every token comes with a short list of candidates and their base scores; time and
memory do not depend on how many labels there are. Weights w are hashed (:mod:`spectragram.inference.token_factors`),
weights v are a matrix. A chain of one token is a plain log-linear choice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.hashed import SMALLEST_STEP, Weights, step_weight
from spectragram.inference.token_factors import token_places

__all__ = ["Candidates", "Parts", "Surface", "chain_marginals", "choice_marginals", "train_epoch"]


class Parts(NamedTuple):
    """What labels are made of.

    starts (n_labels + 1,) and parts: label a has the parts ``parts[starts[a]:starts[a + 1]]``, numbers below n_parts;
    linked_starts and linked: the same for the parts that see their neighbours, numbers below n_linked. All int64.
    """

    starts: np.ndarray
    parts: np.ndarray
    linked_starts: np.ndarray
    linked: np.ndarray


class Candidates(NamedTuple):
    """The labels that tokens may have.

    rows (n_tokens,): token i has the candidates ``starts[rows[i]]:starts[rows[i] + 1]`` of labels and base, at least
    one; labels int64, base float64.
    """

    rows: np.ndarray
    starts: np.ndarray
    labels: np.ndarray
    base: np.ndarray


class Surface(NamedTuple):
    """What templates see.

    columns (c, n_types) int64, types (n_tokens,), atoms (t, a, 2), offsets (n_sequences + 1,).
    """

    columns: np.ndarray
    types: np.ndarray
    atoms: np.ndarray
    offsets: np.ndarray


@njit(cache=True, nogil=True)
def chain_marginals(
    surface: Surface,
    candidates: Candidates,
    parts: Parts,
    table: np.ndarray,
    links: np.ndarray,
    first: int,
    stop: int,
    found: np.ndarray,
) -> None:
    """Write P(a_i = a | x) of the candidates of all tokens of sequences first .. stop - 1 into ``found``.

    table (2^b,) float32; links (n_linked, n_linked) float32; found (n_tokens, w), w the longest list of candidates.
    """
    columns, types, atoms, offsets = surface
    for u in range(first, stop):
        begin, end = offsets[u], offsets[u + 1]
        if begin < end:
            places = token_places(columns, types[begin:end], atoms, len(table))
            rows = candidates.rows[begin:end]
            scores = _scores(places, rows, candidates, parts, table)
            marginals, _, _ = choice_marginals(scores, rows, candidates, parts, links)
            found[begin:end, : marginals.shape[1]] = marginals


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
        scores = _scores(places, rows, candidates, parts, table)
        marginals, pairs, starts = choice_marginals(scores, rows, candidates, parts, links.table)
        for i in range(end - begin):
            total += np.log(max(marginals[i, gold[begin + i]], 1e-300))
        _step_parts(places, rows, candidates, parts, marginals, gold[begin:end], weights, rate, now)
        _step_links(pairs, starts, rows, candidates, parts, gold[begin:end], links, slope, touched, rate, now)
    return total


@njit(cache=True, nogil=True)
def _scores(
    places: np.ndarray, rows: np.ndarray, candidates: Candidates, parts: Parts, table: np.ndarray
) -> np.ndarray:
    """Scores of the candidates of a sequence, (n, w), -inf behind the last one. A single candidate needs no score."""
    n, mask = len(rows), len(table) - 1
    widest = 1
    for i in range(n):
        widest = max(widest, candidates.starts[rows[i] + 1] - candidates.starts[rows[i]])
    scores = np.full((n, widest), -np.inf)
    sums, listed = np.zeros(_n_parts(parts)), np.zeros(_n_parts(parts), np.bool_)
    active = np.empty(_n_parts(parts), np.int64)
    for i in range(n):
        begin, end = candidates.starts[rows[i]], candidates.starts[rows[i] + 1]
        if end - begin == 1:
            scores[i, 0] = 0.0
            continue
        n_active = _active_parts(candidates.labels[begin:end], parts, listed, active)
        for t in range(places.shape[1]):
            place = places[i, t]
            for k in range(n_active):
                sums[active[k]] += table[(place + active[k]) & mask]
        for c in range(begin, end):
            label = candidates.labels[c]
            score = candidates.base[c]
            for k in range(parts.starts[label], parts.starts[label + 1]):
                score += sums[parts.parts[k]]
            scores[i, c - begin] = score
        for k in range(n_active):
            sums[active[k]] = 0.0
            listed[active[k]] = False
    return scores


@njit(cache=True, nogil=True)
def _n_parts(parts: Parts) -> int:
    return parts.parts.max() + 1


@njit(cache=True, nogil=True)
def _active_parts(labels: np.ndarray, parts: Parts, listed: np.ndarray, active: np.ndarray) -> int:
    """Write the parts of any of the labels into ``active`` and mark them in ``listed``; returns their number."""
    n_active = 0
    for label in labels:
        for k in range(parts.starts[label], parts.starts[label + 1]):
            part = parts.parts[k]
            if not listed[part]:
                listed[part] = True
                active[n_active] = part
                n_active += 1
    return n_active


@njit(cache=True, nogil=True)
def choice_marginals(
    scores: np.ndarray, rows: np.ndarray, candidates: Candidates, parts: Parts, links: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Marginals of the candidates of one sequence and of pairs of neighbouring ones.

    scores (n, w). Returns marginals (n, w); marginals of pairs, flat; starts (n,): candidate c of token i - 1 and d of
    token i have theirs at ``starts[i] + c * m + d``, where token i has m candidates.
    """
    n, widest = scores.shape
    sizes = np.empty(n, np.int64)
    starts = np.zeros(n, np.int64)
    n_pairs = 0
    for i in range(n):
        sizes[i] = candidates.starts[rows[i] + 1] - candidates.starts[rows[i]]
        if i > 0:
            starts[i] = n_pairs
            n_pairs += sizes[i - 1] * sizes[i]
    pairs = np.empty(n_pairs)
    alpha = np.zeros((n, widest))
    for i in range(n):
        own = np.exp(scores[i, : sizes[i]] - scores[i, : sizes[i]].max())
        if i == 0:
            alpha[0, : sizes[0]] = own
        else:
            _pair_potentials(rows[i - 1], rows[i], candidates, parts, links, pairs[starts[i] :], sizes[i])
            for c in range(sizes[i - 1]):
                for d in range(sizes[i]):
                    at = starts[i] + c * sizes[i] + d
                    pairs[at] *= own[d]
                    alpha[i, d] += alpha[i - 1, c] * pairs[at]
        reached = alpha[i].sum()
        # Where every path underflows, the token is taken for itself.
        alpha[i, : sizes[i]] = alpha[i, : sizes[i]] / reached if reached > 0.0 else own / own.sum()
    marginals = np.zeros((n, widest))
    marginals[n - 1] = alpha[n - 1]
    for i in range(n - 1, 0, -1):
        # P(c | d) = alpha(c) pair(c, d) / sum over c, and marginals come from those of the token behind.
        for d in range(sizes[i]):
            reached = 0.0
            for c in range(sizes[i - 1]):
                reached += alpha[i - 1, c] * pairs[starts[i] + c * sizes[i] + d]
            share = marginals[i, d] / reached if reached > 0.0 else 0.0
            for c in range(sizes[i - 1]):
                at = starts[i] + c * sizes[i] + d
                pairs[at] *= alpha[i - 1, c] * share
                marginals[i - 1, c] += pairs[at]
    return marginals, pairs, starts


@njit(cache=True, nogil=True)
def _pair_potentials(
    before: int,
    here: int,
    candidates: Candidates,
    parts: Parts,
    links: np.ndarray,
    found: np.ndarray,
    size: int,
) -> None:
    """Write exp pair(a, b) of the candidates of two rows into ``found``, the largest of them scaled to one."""
    begin, first = candidates.starts[before], candidates.starts[here]
    n_before = candidates.starts[before + 1] - begin
    top = -np.inf
    for c in range(n_before):
        a = candidates.labels[begin + c]
        for d in range(size):
            b = candidates.labels[first + d]
            score = 0.0
            for k in range(parts.linked_starts[a], parts.linked_starts[a + 1]):
                for m in range(parts.linked_starts[b], parts.linked_starts[b + 1]):
                    score += links[parts.linked[k], parts.linked[m]]
            found[c * size + d] = score
            top = max(top, score)
    for at in range(n_before * size):
        found[at] = np.exp(found[at] - top)


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
    n_parts = _n_parts(parts)
    slope, listed, active = np.zeros(n_parts), np.zeros(n_parts, np.bool_), np.empty(n_parts, np.int64)
    for i in range(len(rows)):
        begin, end = candidates.starts[rows[i]], candidates.starts[rows[i] + 1]
        if end - begin == 1:
            continue
        n_active = _active_parts(candidates.labels[begin:end], parts, listed, active)
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
