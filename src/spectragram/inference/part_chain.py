"""Log-linear chains over labels that are made of parts, with few candidates for each token.

A label with inner structure (a part of speech with its features) is scored by its parts, so what is learned about the
genitive serves every label that has it. Neighbouring labels are scored by pairs of their parts:

    score(i, a)   = base(i, a) + sum_{p in parts(a)} sum_t w[place(key_t(i)) + p]
    pair(a, b)    = sum_{p in linked(a)} sum_{q in linked(b)} v[p, q]
    P(a_1 .. a_n) ~ exp ( sum_i score(i, a_i) + sum_i pair(a_i, a_{i+1}) )

There may be thousands of labels, so every token comes with a short list of candidates and their base scores; time and
memory do not depend on how many labels there are. Weights w are hashed (:mod:`spectragram.inference.token_factors`),
weights v are a matrix. A chain of one token is a plain log-linear choice. Training is in
:mod:`spectragram.inference.part_chain_steps`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectragram.inference.token_factors import token_places

__all__ = [
    "Candidates",
    "Parts",
    "Surface",
    "candidate_scores",
    "chain_marginals",
    "choice_marginals",
    "count_parts",
    "list_parts",
]


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
            scores = candidate_scores(places, rows, candidates, parts, table)
            marginals, _, _ = choice_marginals(scores, rows, candidates, parts, links)
            for i in range(begin, end):
                for c in range(marginals.shape[1]):
                    found[i, c] = marginals[i - begin, c]


@njit(cache=True, nogil=True)
def candidate_scores(
    places: np.ndarray, rows: np.ndarray, candidates: Candidates, parts: Parts, table: np.ndarray
) -> np.ndarray:
    """Scores of the candidates of a sequence, (n, w), -inf behind the last one. A single candidate needs no score."""
    n, mask = len(rows), len(table) - 1
    widest = 1
    for i in range(n):
        widest = max(widest, candidates.starts[rows[i] + 1] - candidates.starts[rows[i]])
    scores = np.full((n, widest), -np.inf)
    sums, listed = np.zeros(count_parts(parts)), np.zeros(count_parts(parts), np.bool_)
    active = np.empty(count_parts(parts), np.int64)
    for i in range(n):
        begin, end = candidates.starts[rows[i]], candidates.starts[rows[i] + 1]
        if end - begin == 1:
            scores[i, 0] = 0.0
            continue
        n_active = list_parts(candidates.labels[begin:end], parts, listed, active)
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
def count_parts(parts: Parts) -> int:
    """Number of parts."""
    return parts.parts.max() + 1


@njit(cache=True, nogil=True)
def list_parts(labels: np.ndarray, parts: Parts, listed: np.ndarray, active: np.ndarray) -> int:
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
            for c in range(sizes[0]):
                alpha[0, c] = own[c]
        else:
            _pair_potentials(rows[i - 1], rows[i], candidates, parts, links, pairs[starts[i] :], sizes[i])
            for c in range(sizes[i - 1]):
                for d in range(sizes[i]):
                    at = starts[i] + c * sizes[i] + d
                    pairs[at] *= own[d]
                    alpha[i, d] += alpha[i - 1, c] * pairs[at]
        reached = alpha[i].sum()
        # Where every path underflows, the token is taken for itself.
        total = own.sum()
        for c in range(sizes[i]):
            alpha[i, c] = alpha[i, c] / reached if reached > 0.0 else own[c] / total
    marginals = np.zeros((n, widest))
    for c in range(widest):
        marginals[n - 1, c] = alpha[n - 1, c]
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
