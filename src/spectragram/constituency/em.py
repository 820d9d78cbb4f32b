"""EM for L-PCFGs on the trees of a treebank, with probabilities smoothed towards the mean over the states of a label.

E-step   expected counts of rules and states, by inside-outside over each tree
M-step   P(rule, y, z | a, x) = (1 - s) c(rule, x, y, z) / c(a, x) + s mean over x' of c(rule, x', y, z) / c(a, x')
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
from numba import njit

from spectragram.constituency.lexicon import SMOOTH_STATES, TRUST_CLASS, TRUST_WORD, Lexicon, WordTable
from spectragram.constituency.model import Member, rules_of
from spectragram.data.productions import UNARY
from spectragram.data.treebank import Treebank
from spectragram.data.word_paths import WordPaths
from spectragram.engine import Resident
from spectragram.inference.chart_rules import Operators, Rules, layout, make_operators
from spectragram.inference.fixed_tree import Counts, Nodes, expected_counts
from spectragram.inference.tree_assignments import count_assignments

__all__ = ["TrainingTrees", "em_steps", "member_from_counts", "member_from_shares", "perturbed_member"]

SMOOTH_RULES = 0.01
"""Share of a probability that comes from the mean over the states of its label. On the dev part of wsj-sample the
difference to other small values is within noise."""
SPREAD = float(np.log(3.0))
"""Of the random factors of a start, as in Matsuzaki et al. (2005)."""
SHARDS = 4
"""Trees are always counted in this many parts, so that sums do not depend on the number of threads. Chosen by hand:
more parts would let more threads help, but each part has arrays as large as the whole model."""
NO_COUNT = 1e-12
"""A guard against division by zero; any tiny value does."""
UNUSED_STATE = 1e-9
"""A state of a tag with a smaller expected count gets the vector zero: dividing by its probability would amplify
rounding errors. Any tiny value does."""


@njit(cache=True, nogil=True)
def _normalise(
    rules_binary: np.ndarray,
    rules_unary: np.ndarray,
    n_states: np.ndarray,
    starts: tuple[np.ndarray, np.ndarray, np.ndarray],
    binary: np.ndarray,
    unary: np.ndarray,
    bottom: np.ndarray,
    kept: np.ndarray,
    smooth: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From counts of binary rules, unary rules and kept items to their smoothed probabilities, laid out alike."""
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
        _smooth_rows(unary, p_unary, unary_start[u], n_states[a], np.int64(n_states[b]), top, state_start[a], smooth)
    for a in range(len(n_states)):
        _smooth_rows(kept, p_kept, state_start[a], n_states[a], np.int64(1), top, state_start[a], smooth)
    return p_binary, p_unary, p_kept


@njit(cache=True, nogil=True)
def _smooth_rows(
    counts: np.ndarray,
    out: np.ndarray,
    start: int,
    n_rows: int,
    width: int | np.int64,
    totals: np.ndarray,
    first_total: int,
    smooth: float,
) -> None:
    """Divide the rows of one rule, one row for each state of its parent, by totals, and mix each with their mean."""
    for x in range(n_rows):
        total = max(totals[first_total + x], NO_COUNT)
        for y in range(width):
            out[start + x * width + y] = counts[start + x * width + y] / total
    for y in range(width):
        mean = 0.0
        for x in range(n_rows):
            mean += out[start + x * width + y]
        mean *= smooth / n_rows
        for x in range(n_rows):
            out[start + x * width + y] = (1.0 - smooth) * out[start + x * width + y] + mean


def member_from_counts(
    trees: TrainingTrees, n_states: np.ndarray, counts: Counts, smooth: float | None = None
) -> Member:
    """The M-step; ``smooth`` in place of the share that ``trees`` has for rules."""
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
        trees.smooth_rules if smooth is None else smooth,
    )
    operators = make_operators(trees.rules, n_states, binary, unary, kept, counts.root / counts.root.sum())
    return Member(operators, state_lexicon(trees.words, n_states, counts.lexical, trees.smooth_words))


def state_lexicon(words: WordTable, n_states: np.ndarray, values: np.ndarray, smooth: float = SMOOTH_STATES) -> Lexicon:
    """The lexicon of a probabilistic model, from expected counts of states, (n_rows, largest number of states)."""
    n_tags, m = int(words.tags.max()) + 1, values.shape[1]
    divisor = np.zeros((n_tags, m))
    np.add.at(divisor, words.tags, values)
    divisor = np.where(divisor > UNUSED_STATE, divisor / divisor.sum(), np.inf)
    mean = (np.arange(m) < n_states[:n_tags, None]).astype(float)
    return Lexicon(words, values, divisor, mean, smooth)


def member_from_shares(trees: TrainingTrees, n_states: np.ndarray, shares: np.ndarray) -> Member:
    """A member from the shares of each node's states, (n_nodes, largest number of states)."""
    starts = layout(trees.rules, n_states)
    counts = count_assignments(starts, n_states, trees.nodes, shares, shares, len(trees.words.tags))
    return member_from_counts(trees, n_states, counts)


def perturbed_member(trees: TrainingTrees, n_states: np.ndarray, rng: np.random.Generator) -> Member:
    """The start of Matsuzaki et al. (2005): probabilities of the plain PCFG, each times e^u, u uniform in +-log 3.

    States of a rule share its probability evenly before that; then all are normalised.
    """
    starts = layout(trees.rules, n_states)
    even = (np.arange(int(n_states.max())) < n_states[trees.treebank.symbol][:, None]).astype(float)
    even /= even.sum(axis=1, keepdims=True)
    counts = count_assignments(starts, n_states, trees.nodes, even, even, len(trees.words.tags))

    def perturbed(values: np.ndarray) -> np.ndarray:
        return values * np.exp(rng.uniform(-SPREAD, SPREAD, values.shape))

    binary, unary, kept = perturbed(counts.binary), perturbed(counts.unary), perturbed(counts.kept)
    bottom = counts.bottom.copy()
    state_start, binary_start, _ = starts
    for a in np.unique(trees.rules.binary[:, 0]):  # the rules of a state sum to one
        bottom[state_start[a] : state_start[a + 1]] = 0.0
    for r, (a, b, c) in enumerate(trees.rules.binary):
        tensor = binary[binary_start[r] : binary_start[r + 1]].reshape(n_states[a], n_states[b] * n_states[c])
        bottom[state_start[a] : state_start[a + 1]] += tensor.sum(axis=1)
    noisy = Counts(binary, unary, perturbed(counts.lexical), bottom, kept, perturbed(counts.root), counts.log_value)
    return member_from_counts(trees, n_states, noisy, smooth=0.0)


def em_steps(trees: TrainingTrees, member: Member, n_jobs: int = 1) -> Iterator[tuple[Member, float]]:
    """Endless EM iterations; each yields the next member and the log-likelihood of the one before."""
    cuts = np.searchsorted(trees.nodes.tree_start, np.linspace(0, len(trees.nodes.kind), SHARDS + 1)[1:-1])
    bounds = np.unique(np.concatenate([[0], cuts, [len(trees.treebank)]]))
    shards = [_Shard(trees.nodes, int(first), int(last)) for first, last in pairwise(bounds)]
    expect = Resident(_expect, shards, n_jobs)
    while True:
        total = reduce(Counts.plus, expect(member.operators, member.lexicon.row_vectors()))
        finite = total.log_value[np.isfinite(total.log_value)]
        member = member_from_counts(trees, member.operators.n_states, total)
        yield member, float(finite.sum())


@dataclass(frozen=True)
class _Shard:
    """Trees ``first .. last - 1`` of those in ``nodes``; only they travel to a worker."""

    nodes: Nodes
    first: int
    last: int

    def __reduce__(self) -> tuple[type[_Shard], tuple[Nodes, int, int]]:
        return _Shard, (self.nodes.trees(self.first, self.last), 0, self.last - self.first)


def _expect(shard: _Shard, operators: Operators, lexical: np.ndarray) -> Counts:
    """The E-step: expected counts of some trees."""
    return expected_counts(operators, lexical, shard.nodes, shard.first, shard.last)


@dataclass(frozen=True)
class TrainingTrees:
    """A treebank with its words numbered as rows of a word table and its rules sorted for the kernels."""

    treebank: Treebank
    rules: Rules
    words: WordTable
    nodes: Nodes
    smooth_rules: float = SMOOTH_RULES
    smooth_words: float = SMOOTH_STATES

    @classmethod
    def of(
        cls,
        treebank: Treebank,
        words: WordTable | None = None,
        *,
        trust: tuple[float, float] = (TRUST_WORD, TRUST_CLASS),
        paths: WordPaths | None = None,
        weights: np.ndarray | None = None,
        smooth_rules: float = SMOOTH_RULES,
        smooth_words: float = SMOOTH_STATES,
    ) -> TrainingTrees:
        """Number the words, and mark the nodes that are kept as top items (see ``inference.chart_rules``).

        ``words`` is the table of the same trees in another binarisation, so that both can share one object. ``trust``
        and ``paths`` are those of the table, ``weights`` (n_trees,) say how often each tree counts; the others are
        shares of the mean over states in the probabilities of rules and words.
        """
        own, row = WordTable.of_treebank(treebank, trust, paths, weights)
        rule = treebank.rule.copy()
        rule[treebank.leaves] = row
        under_unary = np.where(treebank.parent >= 0, treebank.kind[treebank.parent] == UNARY, False)
        kept = ((treebank.kind != UNARY) & ~under_unary).astype(np.uint8)
        nodes = Nodes(
            treebank.kind,
            treebank.symbol,
            rule,
            treebank.left,
            treebank.right,
            kept,
            treebank.offsets.astype(np.int64),
            np.ones(len(treebank)) if weights is None else weights,
        )
        rules = rules_of(treebank.productions)
        return cls(treebank, rules, words or own, nodes, smooth_rules, smooth_words)
