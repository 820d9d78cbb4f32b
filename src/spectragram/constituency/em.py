"""EM for L-PCFGs on treebank trees: counts to probabilities, smoothed towards what does not depend on the state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numba import njit

from spectragram.constituency.lexicon import Lexicon, WordTable
from spectragram.constituency.model import Model, TrainingTrees
from spectragram.engine import map_threads
from spectragram.inference.chart_operators import Operators, layout, make_operators
from spectragram.inference.fixed_tree import Counts, expected_counts
from spectragram.inference.tree_assignments import count_assignments

__all__ = ["em_steps", "model_from_counts", "model_from_shares"]

SMOOTH_RULES = 0.01
SHARDS = 4
"""Trees are always counted in this many parts, so that sums do not depend on the number of threads."""


@njit(cache=True, nogil=True)
def _normalise(rules_binary, rules_unary, n_states, starts, binary, unary, bottom, kept, smooth):  # type: ignore[no-untyped-def]
    """Counts to smoothed probabilities: P = (1 - smooth) c / c(a, x) + smooth (mean over the states x of label a)."""
    state_start, binary_start, unary_start = starts
    top = kept.copy()
    for u in range(len(rules_unary)):
        a, b = rules_unary[u]
        for x in range(n_states[a]):
            for y in range(n_states[b]):
                top[state_start[a] + x] += unary[unary_start[u] + x * n_states[b] + y]
    p_binary, p_unary, p_kept = np.empty_like(binary), np.empty_like(unary), np.empty_like(kept)
    for r in range(len(rules_binary)):
        a, b, c = rules_binary[r]
        _smooth_rows(
            binary, p_binary, binary_start[r], n_states[a], n_states[b] * n_states[c], bottom, state_start[a], smooth
        )
    for u in range(len(rules_unary)):
        a, b = rules_unary[u]
        _smooth_rows(unary, p_unary, unary_start[u], n_states[a], n_states[b], top, state_start[a], smooth)
    for a in range(len(n_states)):
        _smooth_rows(kept, p_kept, state_start[a], n_states[a], 1, top, state_start[a], smooth)
    return p_binary, p_unary, p_kept


@njit(cache=True, nogil=True)
def _smooth_rows(counts, out, start, n_rows, width, totals, first_total, smooth):  # type: ignore[no-untyped-def]
    for x in range(n_rows):
        total = max(totals[first_total + x], 1e-12)
        for y in range(width):
            out[start + x * width + y] = counts[start + x * width + y] / total
    for y in range(width):
        mean = 0.0
        for x in range(n_rows):
            mean += out[start + x * width + y]
        mean *= smooth / n_rows
        for x in range(n_rows):
            out[start + x * width + y] = (1.0 - smooth) * out[start + x * width + y] + mean


def model_from_counts(
    trees: TrainingTrees, n_states: np.ndarray, counts: Counts, smooth: float = SMOOTH_RULES
) -> Model:
    """M-step."""
    starts = layout(trees.rules, n_states)
    binary, unary, kept = _normalise(
        trees.rules.binary,
        trees.rules.unary,
        n_states,
        starts,
        counts.binary,
        counts.unary,
        counts.bottom,
        counts.kept,
        smooth,
    )
    operators = make_operators(trees.rules, n_states, binary, unary, kept, counts.root / counts.root.sum())
    return Model(operators, state_lexicon(trees.words, n_states, counts.lexical))


def state_lexicon(words: WordTable, n_states: np.ndarray, values: np.ndarray) -> Lexicon:
    """Lexicon of a probabilistic model from expected counts of states, (n_rows, largest number of states)."""
    n_tags, m = int(words.tags.max()) + 1, values.shape[1]
    divisor = np.zeros((n_tags, m))
    np.add.at(divisor, words.tags, values)
    divisor = np.where(divisor > 1e-9, divisor / divisor.sum(), np.inf)
    mean = (np.arange(m) < n_states[:n_tags, None]).astype(float)
    return Lexicon(words, values, divisor, mean)


def model_from_shares(trees: TrainingTrees, n_states: np.ndarray, shares: np.ndarray) -> Model:
    """A model from a guess of every node's state, (n_nodes, largest number of states)."""
    starts = layout(trees.rules, n_states)
    counts = count_assignments(starts, n_states, trees.nodes, shares, shares, len(trees.words.tags))
    return model_from_counts(trees, n_states, counts)


def em_steps(trees: TrainingTrees, model: Model, n_jobs: int = 1) -> Iterator[tuple[Model, float]]:
    """EM iterations without end; each yields the next model and the log-likelihood of the one before."""
    cuts = np.searchsorted(trees.nodes.tree_start, np.linspace(0, len(trees.nodes.kind), SHARDS + 1)[1:-1])
    bounds = np.unique(np.concatenate([[0], cuts, [len(trees.treebank)]]))
    shards = list(pairwise(bounds))
    while True:
        vectors = model.lexicon.row_vectors()

        def count(
            shard: tuple[int, int], operators: Operators = model.operators, lexical: np.ndarray = vectors
        ) -> Counts:
            return expected_counts(operators, lexical, trees.nodes, *shard)

        parts = map_threads(count, shards, n_jobs)
        total = parts[0]
        for part in parts[1:]:
            total = total.plus(part)
        finite = total.log_value[np.isfinite(total.log_value)]
        model = model_from_counts(trees, model.operators.n_states, total)
        yield model, float(finite.sum())
