"""The pivot learner (Cohen & Collins 2014): probabilities of hidden states without local optima.

    paper (figures 1, 2)         here
    F, G                         features of a node's inside and outside, of all templates
    v_f = E[phi(g) | f]          mean of the projected outsides of the nodes with feature f
    q(h | f)                     convex weights of v_f between the means of the pivot features
    r(f | h), s(g | h)           from q by Bayes, states of both sides matched (figure 2, step 3)
    t(h1, h2, h3 | a -> b c)     the maximum of a concave likelihood, by EM (figure 1, step 2)

Several feature functions (section 6.2): the pivots are sought among the features of all templates. A node's evidence for
state h is the geometric mean over templates of r(f | h) (or of s(g | h)), where the paper sums the logarithms of all
combinations of single features; with one template each they are the same, and the objective is concave in t either way.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spectragram.constituency.em import model_from_counts
from spectragram.constituency.features import FeatureColumns
from spectragram.constituency.model import Model, TrainingTrees
from spectragram.constituency.projection import Projection
from spectragram.data.productions import BINARY, LEXICAL, UNARY
from spectragram.inference.chart_forest import layout
from spectragram.inference.fixed_tree import Counts
from spectragram.spectral.anchors import find_anchors
from spectragram.spectral.simplex import simplex_least_squares

__all__ = ["learn_pivot", "node_evidence"]

RULE_ITERATIONS = 15
"""EM on the concave likelihood of a rule's states; it starts from the labels' priors and converges fast."""
ALIGN_ITERATIONS = 50
PIVOT_COUNT = 20
"""Rarer features are no pivots: their means are extreme by chance."""


def learn_pivot(
    trees: TrainingTrees, columns: FeatureColumns, projections: list[Projection], n_states: np.ndarray
) -> Model:
    """Recover t, pi and q; every rule keeps its own relative frequency."""
    treebank = trees.treebank
    largest = int(n_states.max())
    inside = np.ones((treebank.n_nodes, largest))
    outside = np.ones((treebank.n_nodes, largest))
    prior = np.zeros((len(n_states), largest))
    for a, projection in enumerate(projections):
        m = int(n_states[a])
        prior[a, :m], inside[projection.nodes, :m], outside[projection.nodes, :m] = node_evidence(
            columns.inside[projection.nodes], columns.outside[projection.nodes], projection, m
        )
    counts = _expected(trees, n_states, inside, outside, prior)
    return model_from_counts(trees, n_states, counts)


def node_evidence(
    inside_features: np.ndarray, outside_features: np.ndarray, projection: Projection, n_states: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For the nodes of one label: p(h), and what each node's inside and outside say about h, p(. | h) up to a factor."""
    nodes = len(projection.nodes)
    if n_states == 1:
        return np.ones(1), np.ones((nodes, 1)), np.ones((nodes, 1))
    q_inside = _memberships(inside_features, projection.outside, n_states)
    q_outside = _memberships(outside_features, projection.inside, n_states)
    # What a node's features say about h is q(h | f) / p(h), by Bayes proportional to p(f | h).
    prior, prior_other = q_inside.mean(axis=0), q_outside.mean(axis=0)
    r = q_inside / np.maximum(prior, 1e-12)
    s = q_outside / np.maximum(prior_other, 1e-12)
    matching = _match(q_inside, s)
    return prior, r, s @ matching.T


def _memberships(features: np.ndarray, views: np.ndarray, n_states: int) -> np.ndarray:
    """q(h | node), (n, m): the geometric mean over templates of q(h | f), normalised."""
    applies = features[0] >= 0
    features = features[:, applies]
    means, places = [], []
    for column in features.T:
        numbers, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        total = np.zeros((len(numbers), views.shape[1]))
        np.add.at(total, place, views)
        means.append((total / counts[:, None], counts))
        places.append(place)
    points = np.vstack([mean for mean, _ in means])
    counts = np.concatenate([count for _, count in means])
    frequent = np.flatnonzero(counts >= min(PIVOT_COUNT, np.sort(counts)[-min(n_states, len(counts))]))
    anchors = find_anchors(points, n_states, frequent)
    weights = simplex_least_squares(points, points[anchors])
    log_q = np.zeros((len(features), n_states))
    start = 0
    for (mean, _), place in zip(means, places, strict=True):
        log_q += np.log(weights[start : start + len(mean)] + 1e-3)[place]
        start += len(mean)
    q = np.exp(log_q / len(means))
    return q / q.sum(axis=1, keepdims=True)


def _match(q_inside: np.ndarray, s: np.ndarray) -> np.ndarray:
    """t(h' | h) that maximises the sum over nodes of log sum_hh' q(h | inside) t(h' | h) s(outside | h')."""
    m = q_inside.shape[1]
    matching = np.full((m, s.shape[1]), 1.0 / s.shape[1])
    for _ in range(ALIGN_ITERATIONS):
        value = np.maximum(((q_inside @ matching) * s).sum(axis=1, keepdims=True), 1e-300)
        matching *= q_inside.T @ (s / value)
        matching /= np.maximum(matching.sum(axis=1, keepdims=True), 1e-300)
    return matching


def _expected(
    trees: TrainingTrees, n_states: np.ndarray, inside: np.ndarray, outside: np.ndarray, prior: np.ndarray
) -> Counts:
    """Counts of rules and states: each rule's t by EM, q and pi from the evidence of words and roots."""
    treebank, nodes = trees.treebank, trees.nodes
    state_start, binary_start, unary_start = starts = layout(trees.rules, n_states)
    symbol_prior = np.zeros(int(state_start[-1]))
    for a, m in enumerate(n_states):
        symbol_prior[state_start[a] : state_start[a + 1]] = prior[a, :m]
    binary = np.zeros(int(binary_start[-1]))
    unary = np.zeros(int(unary_start[-1]))
    for kind, rules, start, out in (
        (BINARY, trees.rules.binary, binary_start, binary),
        (UNARY, trees.rules.unary, unary_start, unary),
    ):
        of_kind = np.flatnonzero(treebank.kind == kind)
        order = of_kind[np.argsort(treebank.rule[of_kind], kind="stable")]
        bounds = np.searchsorted(treebank.rule[order], np.arange(len(rules) + 1))
        _rule_states(
            rules, n_states, starts[0], start, order, bounds, treebank.left, treebank.right, inside, outside,
            symbol_prior, RULE_ITERATIONS, out,
        )  # fmt: skip
    largest = inside.shape[1]
    posterior = inside * outside * prior[treebank.symbol]
    posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
    lexical = np.zeros((len(trees.words.tags), largest))
    leaves = treebank.leaves
    np.add.at(lexical, nodes.rule[leaves], posterior[leaves])
    flat = np.arange(largest) < n_states[:, None]

    def by_symbol(chosen: np.ndarray) -> np.ndarray:
        total = np.zeros((len(n_states), largest))
        np.add.at(total, treebank.symbol[chosen], posterior[chosen])
        return total[flat]

    bottom = by_symbol(np.flatnonzero(treebank.kind == LEXICAL))
    for r, (a, b, c) in enumerate(trees.rules.binary):
        tensor = binary[binary_start[r] : binary_start[r + 1]].reshape(n_states[a], n_states[b] * n_states[c])
        bottom[state_start[a] : state_start[a + 1]] += tensor.sum(axis=1)
    kept = by_symbol(np.flatnonzero(nodes.kept))
    return Counts(binary, unary, lexical, bottom, kept, by_symbol(treebank.roots), np.zeros(0))


@njit(cache=True, nogil=True)
def _rule_states(rules, n_states, state_start, start, order, bounds, left, right, inside, outside, prior, n_iterations, out):  # type: ignore[no-untyped-def]
    """Figure 1, step 2, for every rule: c(rule) t(h1, h2, h3 | rule) into ``out``, laid out like the operators."""
    for r in range(len(rules)):
        a, b = rules[r, 0], rules[r, 1]
        m, n_left, n_right = n_states[a], n_states[b], 1
        if rules.shape[1] == 3:
            n_right = n_states[rules[r, 2]]
        size = m * n_left * n_right
        t = np.empty(size)
        for x in range(m):
            for y in range(n_left):
                for z in range(n_right):
                    value = prior[state_start[a] + x] * prior[state_start[b] + y]
                    if rules.shape[1] == 3:
                        value *= prior[state_start[rules[r, 2]] + z]
                    t[(x * n_left + y) * n_right + z] = value
        n_nodes = bounds[r + 1] - bounds[r]
        for _ in range(n_iterations):
            counts = np.zeros(size)
            for place in range(bounds[r], bounds[r + 1]):
                n = order[place]
                total = 0.0
                for x in range(m):
                    for y in range(n_left):
                        upper = outside[n, x] * inside[left[n], y]
                        for z in range(n_right):
                            weight = upper if rules.shape[1] == 2 else upper * inside[right[n], z]
                            total += t[(x * n_left + y) * n_right + z] * weight
                if total <= 0.0:
                    continue
                for x in range(m):
                    for y in range(n_left):
                        upper = outside[n, x] * inside[left[n], y] / total
                        for z in range(n_right):
                            weight = upper if rules.shape[1] == 2 else upper * inside[right[n], z]
                            counts[(x * n_left + y) * n_right + z] += weight
            for entry in range(size):
                t[entry] *= counts[entry] / n_nodes
        for entry in range(size):
            out[start[r] + entry] = n_nodes * t[entry]
