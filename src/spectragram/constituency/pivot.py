"""The pivot learner (Cohen & Collins 2014): probabilities of hidden states without local optima.

    paper (figures 1, 2)         here
    F, G                         features of a node's inside and outside, of all templates
    v_f = E[phi(g) | f]          mean of the projected outsides of the nodes with feature f
    q(h | f)                     convex weights of v_f between the means of the pivot features
    r(f | h), s(g | h)           from q by Bayes, states of both sides matched (figure 2, step 3)
    t(h1, h2, h3 | a -> b c)     the maximum of a concave likelihood, by EM (figure 1, step 2)

With several feature functions (section 6.2) the pivots are sought among the features of all templates. The evidence of
a node for state h is the geometric mean over templates of r(f | h) (or of s(g | h)), where the paper sums the
logarithms of all combinations of single features (:mod:`spectragram.constituency.pivot_features`). With one template
each they are the same, and the objective is concave in t either way. pi and q come from the posteriors of nodes.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from spectragram.constituency.em import TrainingTrees, member_from_counts
from spectragram.constituency.features import FeatureColumns, Projection
from spectragram.constituency.model import Member
from spectragram.constituency.settings import Separation
from spectragram.data.productions import BINARY, LEXICAL, UNARY
from spectragram.inference.chart_rules import layout
from spectragram.inference.fixed_tree import Counts
from spectragram.spectral.anchors import find_anchors, pivot_decompose_both
from spectragram.spectral.mixtures import mixture_weights
from spectragram.spectral.simplex import simplex_least_squares

__all__ = ["learn_pivot", "recover_parameters"]

RULE_ITERATIONS, RULE_TOLERANCE = 15, 1e-4
"""EM on the concave likelihood of the states of a rule. It starts from the priors of the labels and converges fast;
chosen by hand, not tuned."""
ALIGN_ITERATIONS = 50
"""EM iterations that match the states of both sides. Tuned on wsj-sample, where going to the optimum costs 0.1 to 0.3
F1."""
PIVOT_COUNT = 20
"""Rarer features cannot be pivots: their means are extreme by chance. Chosen by hand, not tuned."""
SMOOTH_MEMBERSHIP = 1e-3
"""Added to q(h | f) before its logarithm is taken, so that one feature cannot rule out a state. Chosen by hand, not
tuned."""
SMALLEST_PRIOR = 1e-6
"""Priors are raised to this before EM, which cannot leave zero. Any small value does."""
SEPARATION = Separation(PIVOT_COUNT, ALIGN_ITERATIONS, RULE_ITERATIONS, RULE_TOLERANCE)
NO_EVIDENCE = 1e-12
SMALLEST = 1e-300
"""Guards against division by zero; any tiny values do."""


def learn_pivot(
    trees: TrainingTrees,
    columns: FeatureColumns,
    projections: list[Projection],
    n_states: np.ndarray,
    how: Separation = SEPARATION,
    smooth_membership: float = SMOOTH_MEMBERSHIP,
) -> Member:
    """Figure 1 on a treebank, and section 6.1: t, pi and q; every rule keeps its own relative frequency."""
    treebank = trees.treebank
    n_states = np.array(
        [
            _supported(columns, projection, int(m), how.pivot_count)
            for projection, m in zip(projections, n_states, strict=True)
        ],
        np.int32,
    )
    largest = int(n_states.max())
    inside = np.ones((treebank.n_nodes, largest))
    outside = np.ones((treebank.n_nodes, largest))
    prior = np.zeros((len(n_states), largest))
    for a, projection in enumerate(projections):
        m = int(n_states[a])
        prior[a, :m], inside[projection.nodes, :m], outside[projection.nodes, :m] = node_evidence(
            columns.inside[projection.nodes], columns.outside[projection.nodes], projection, m, how, smooth_membership
        )
    counts = _expected(trees, n_states, inside, outside, prior, how)
    return member_from_counts(trees, n_states, counts)


def _supported(columns: FeatureColumns, projection: Projection, n_states: int, pivot_count: int) -> int:
    """At most ``n_states``, and no more than the frequent features of either side, or the dimensions, can separate."""
    sides = (columns.inside[projection.nodes], columns.outside[projection.nodes])
    frequent = min(int((_feature_counts(side) >= pivot_count).sum()) for side in sides)
    return max(1, min(n_states, frequent, len(projection.sigma) + 1))


def _feature_counts(features: np.ndarray) -> np.ndarray:
    """How often each feature of each template occurs."""
    applies = features[0] >= 0
    return np.concatenate([np.unique(column, return_counts=True)[1] for column in features[:, applies].T])


def node_evidence(
    inside_features: np.ndarray,
    outside_features: np.ndarray,
    projection: Projection,
    n_states: int,
    how: Separation = SEPARATION,
    smooth: float = SMOOTH_MEMBERSHIP,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Figure 2 for the nodes of one label: p(h), and p(inside | h), p(outside | h) of each node up to a factor."""
    nodes = len(projection.nodes)
    if n_states == 1:
        return np.ones(1), np.ones((nodes, 1)), np.ones((nodes, 1))
    q_inside = _memberships(inside_features, projection.outside, n_states, how.pivot_count, smooth)
    q_outside = _memberships(outside_features, projection.inside, n_states, how.pivot_count, smooth)
    # The features of a node support h by q(h | f) / p(h), which by Bayes is proportional to p(f | h).
    prior, prior_other = q_inside.mean(axis=0), q_outside.mean(axis=0)
    r = q_inside / np.maximum(prior, NO_EVIDENCE)
    s = q_outside / np.maximum(prior_other, NO_EVIDENCE)
    matching = _match(q_inside, s, how.align_iterations)
    return prior, r, s @ matching.T


def _memberships(features: np.ndarray, views: np.ndarray, n_states: int, pivot_count: int, smooth: float) -> np.ndarray:
    """Section 5.2: q(h | node), (n, m), the geometric mean over templates of q(h | f), normalised."""
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
    anchors = find_anchors(points, n_states, np.flatnonzero(counts >= pivot_count))
    weights = simplex_least_squares(points, points[anchors])
    log_q = np.zeros((len(features), n_states))
    start = 0
    for (mean, _), place in zip(means, places, strict=True):
        log_q += np.log(np.maximum(weights[start : start + len(mean)] + smooth, SMALLEST))[place]
        start += len(mean)
    q = np.exp(log_q / len(means))
    return q / q.sum(axis=1, keepdims=True)


def _match(q_inside: np.ndarray, s: np.ndarray, iterations: int = ALIGN_ITERATIONS) -> np.ndarray:
    """Figure 2, step 3: t(h' | h), maximising sum over nodes of log sum_hh' q(h | inside) t(h' | h) s(outside | h')."""
    # spectral.match_states goes to the optimum; stopping before it, F1 on wsj-sample is 0.1 to 0.3 higher.
    m = q_inside.shape[1]
    matching = np.full((m, s.shape[1]), 1.0 / s.shape[1])
    for _ in range(iterations):
        value = np.maximum(((q_inside @ matching) * s).sum(axis=1, keepdims=True), SMALLEST)
        matching *= q_inside.T @ (s / value)
        matching /= np.maximum(matching.sum(axis=1, keepdims=True), SMALLEST)
    return matching


def _expected(
    trees: TrainingTrees,
    n_states: np.ndarray,
    inside: np.ndarray,
    outside: np.ndarray,
    prior: np.ndarray,
    how: Separation = SEPARATION,
) -> Counts:
    """Counts of rules and states: each rule's t by EM, q and pi from the evidence of words and roots."""
    treebank, nodes = trees.treebank, trees.nodes
    state_start, binary_start, _ = layout(trees.rules, n_states)
    binary = _rule_states(trees, BINARY, n_states, inside, outside, prior, how)
    unary = _rule_states(trees, UNARY, n_states, inside, outside, prior, how)
    largest = inside.shape[1]
    posterior = inside * outside * prior[treebank.symbol]
    posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), SMALLEST)
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


def _rule_states(
    trees: TrainingTrees,
    kind: int,
    n_states: np.ndarray,
    inside: np.ndarray,
    outside: np.ndarray,
    prior: np.ndarray,
    how: Separation,
) -> np.ndarray:
    """Figure 1, step 2, for every rule of a kind: c(rule) t(h1, h2, h3 | rule), laid out like the operators."""
    treebank = trees.treebank
    rules = trees.rules.binary if kind == BINARY else trees.rules.unary
    nodes = np.flatnonzero(treebank.kind == kind)
    nodes = nodes[np.argsort(treebank.rule[nodes], kind="stable")]
    bounds = np.searchsorted(treebank.rule[nodes], np.arange(len(rules) + 1))
    tensors = []
    for r, symbols in enumerate(rules):
        at = nodes[bounds[r] : bounds[r + 1]]
        vectors = [outside[at], inside[treebank.left[at]]] + ([inside[treebank.right[at]]] if kind == BINARY else [])
        views = [vector[:, :m] for vector, m in zip(vectors, n_states[symbols], strict=True)]
        start = np.ones(())
        for a in symbols:
            start = np.multiply.outer(start, np.maximum(prior[a, : n_states[a]], SMALLEST_PRIOR))
        found = mixture_weights(*views, start=start, max_iter=how.rule_iterations, tolerance=how.tolerance)
        tensors.append(len(at) * found.weights.ravel())
    return np.concatenate(tensors) if tensors else np.zeros(0)


def recover_parameters(
    rules: np.ndarray,
    inside_outside: np.ndarray,
    binary: np.ndarray,
    lexical: np.ndarray,
    label_share: np.ndarray,
    n_states: int,
    *,
    max_iter: int = 5000,
    tolerance: float = 1e-10,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Figures 1 and 2 and section 6.1 for moments that are given, one feature function a side.

    Parameters
    ----------
    rules : int array, shape (n_rules, 3)
        ``a, b, c`` of a -> b c.
    inside_outside : array, shape (n_labels, d, d')
        p(f, g | a); the last outside feature is that of the root of a tree.
    binary : array, shape (n_rules, d, d', d)
        p(rule, f right, g, f left | a).
    lexical : int array, shape (n_labels, n_words)
        The inside feature of word x under label a, -1 where a is no tag.
    label_share : array, shape (n_labels,)
        p(a) over all nodes.
    n_states : int

    Returns
    -------
    t : array, shape (n_rules, m, m, m), the probabilities of a rule and its left and right state given the parent's
    q : array, shape (n_labels, n_words, m), p(word | a, h)
    pi : array, shape (n_labels, m)
    """
    parts = [pivot_decompose_both(csr_array(Q), n_states) for Q in inside_outside]
    r = np.stack([part.left for part in parts])
    s = np.stack([part.right for part in parts])
    prior = np.stack([part.prior for part in parts])
    joint = np.zeros((len(rules), n_states, n_states, n_states))
    for number, (a, b, c) in enumerate(rules):
        # Step 2: the concave likelihood of p(f right, g, f left | rule) in t(h1, h2, h3 | rule)
        right, outside, left = seen = np.nonzero(binary[number])
        found = mixture_weights(
            s[a][outside], r[b][left], r[c][right], weights=binary[number][seen], max_iter=max_iter, tolerance=tolerance
        )
        joint[number] = binary[number].sum() * found.weights
    # Step 3: divide by p(h1 | a), which the rules of a sum to
    total = np.zeros((len(inside_outside), n_states))
    np.add.at(total, rules[:, 0], joint.sum(axis=(2, 3)))
    t = joint / np.maximum(total[rules[:, 0]], SMALLEST)[:, :, None, None]
    words = np.where((lexical >= 0)[:, :, None], r[np.arange(len(r))[:, None], lexical], 0.0)
    root = s[:, -1] * prior * label_share[:, None]
    return t, words, root / root.sum()
