"""The pivot learner with several feature functions, as section 6.2 of Cohen & Collins (2014) has it.

    paper                        here              shape
    v_f, q(h | f)                _separated        rows for the features of all templates, one template after the other
    r^k(f | h), s^l(g | h)       Sides.inside, .outside   a list of (n, m): the value of template k at every node
    eq. 3, t(h' | h)             _matched          (m, m)
    eq. 1 of section 6.2         _rule_weights     (m, m, m)   sum over the L K K combinations of templates
    section 6.1                  _counts           q(a -> x | h) = r(a -> x | h), pi from s(box | h)

Objectives are concave and go to their optima by EM. :mod:`spectragram.constituency.pivot` is the default, which puts
the templates of a node together before the rules are estimated and is several times faster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from spectragram.constituency.em import TrainingTrees, member_from_counts
from spectragram.constituency.features import FeatureColumns, Projection
from spectragram.constituency.model import Member
from spectragram.constituency.settings import Separation
from spectragram.data.productions import BINARY, UNARY
from spectragram.inference.chart_rules import layout
from spectragram.inference.fixed_tree import Counts
from spectragram.spectral.anchors import find_anchors
from spectragram.spectral.simplex import simplex_least_squares

__all__ = ["learn_pivot_features"]

SMALLEST = 1e-300
"""A guard against division by zero; any tiny value does."""


@dataclass(frozen=True)
class Sides:
    """One label: p(h), (m,), and for every template its r(f | h) or s(g | h) at each node of the label, (n, m)."""

    prior: np.ndarray
    inside: list[np.ndarray]
    outside: list[np.ndarray]


def learn_pivot_features(
    trees: TrainingTrees,
    columns: FeatureColumns,
    projections: list[Projection],
    n_states: np.ndarray,
    how: Separation,
) -> Member:
    """Figures 1 and 2 with sections 6.1 and 6.2; the first inside template of tags must be the word itself."""
    treebank = trees.treebank
    sides = [
        _sides(columns.inside[p.nodes], columns.outside[p.nodes], p, int(m), how)
        for p, m in zip(projections, n_states, strict=True)
    ]
    sizes = np.array([len(side.prior) for side in sides], np.int32)
    place = np.zeros(treebank.n_nodes, np.int64)
    for projection in projections:
        place[projection.nodes] = np.arange(len(projection.nodes))
    binary = _all_rules(trees, BINARY, sides, place, how)
    unary = _all_rules(trees, UNARY, sides, place, how)
    return member_from_counts(trees, sizes, _counts(trees, sizes, sides, place, binary, unary))


def _sides(inside: np.ndarray, outside: np.ndarray, projection: Projection, m: int, how: Separation) -> Sides:
    """Figure 2 for one label; features are (n, n_templates), as of :class:`FeatureColumns`."""
    supported = min(_n_frequent(side, how.pivot_count) for side in (inside, outside))
    m = max(1, min(m, supported, len(projection.sigma)))
    q_inside = _separated(inside, projection.outside, m, how.pivot_count)
    q_outside = _separated(outside, projection.inside, m, how.pivot_count)
    priors = [q.mean(axis=0) for q in q_inside]
    # By Bayes r(f | h) = q(h | f) p(f) / p(h). The factor p(f) is the same for all h, but 6.1 needs it.
    r = [
        q * _shares(f)[:, None] / np.maximum(p, SMALLEST)
        for q, f, p in zip(q_inside, _used(inside), priors, strict=True)
    ]
    s = [
        q * _shares(g)[:, None] / np.maximum(q.mean(axis=0), SMALLEST)
        for q, g in zip(q_outside, _used(outside), strict=True)
    ]
    matching = _matched(q_inside, s, how)
    return Sides(np.mean(priors, axis=0), r, [part @ matching.T for part in s])


def _used(features: np.ndarray) -> list[np.ndarray]:
    """The columns of templates that apply to the label."""
    return list(features[:, features[0] >= 0].T)


def _shares(column: np.ndarray) -> np.ndarray:
    """p(f) of the feature of every node, (n,)."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    return counts[place] / len(column)


def _n_frequent(features: np.ndarray, least: int) -> int:
    return int(sum((np.unique(column, return_counts=True)[1] >= least).sum() for column in _used(features)))


def _separated(features: np.ndarray, views: np.ndarray, m: int, pivot_count: int) -> list[np.ndarray]:
    """Section 5.2: q(h | f) of every template at every node, each (n, m)."""
    means, counts, places = [], [], []
    for column in _used(features):
        _, place, count = np.unique(column, return_inverse=True, return_counts=True)
        total = np.zeros((len(count), views.shape[1]))
        np.add.at(total, place, views)
        means.append(total / count[:, None])
        counts.append(count)
        places.append(place + sum(map(len, means[:-1])))
    points = np.vstack(means)
    anchors = find_anchors(points, m, np.flatnonzero(np.concatenate(counts) >= pivot_count))
    weights = simplex_least_squares(points, points[anchors])
    return [weights[place] for place in places]


def _matched(q_inside: list[np.ndarray], s: list[np.ndarray], how: Separation) -> np.ndarray:
    """Eq. 3, summed over pairs of templates: t(h' | h), (m, m)."""
    m, n = q_inside[0].shape[1], len(q_inside[0])
    matching, before = np.full((m, m), 1.0 / m), -np.inf
    for _ in range(how.align_iterations):
        gain, value = np.zeros((m, m)), 0.0
        for q in q_inside:
            moved = q @ matching
            for part in s:
                kappa = np.maximum((moved * part).sum(axis=1), SMALLEST)
                value += float(np.log(kappa).sum())
                gain += q.T @ (part / kappa[:, None])
        matching *= gain
        matching /= np.maximum(matching.sum(axis=1, keepdims=True), SMALLEST)
        if value / n - before < how.tolerance:
            break
        before = value / n
    return matching


def _rule_weights(
    outside: list[np.ndarray], left: list[np.ndarray], right: list[np.ndarray], start: np.ndarray, how: Separation
) -> np.ndarray:
    """The maximum over t(h1, h2, h3) of sum_ijk sum_n log sum_h t(h1, h2, h3) s^i r^j r^k, (m1, m2, m3)."""
    t, before = start / start.sum(), -np.inf
    n = max(len(outside[0]), 1)
    views = [np.ascontiguousarray(np.stack(parts)) for parts in (outside, left, right)]
    for _ in range(how.rule_iterations):
        gain, value = _rule_gain(t, *views)
        t = t * gain
        t /= max(float(t.sum()), SMALLEST)
        if value / n - before < how.tolerance:
            break
        before = value / n
    return t


@njit(cache=True, nogil=True)
def _rule_gain(t: np.ndarray, outside: np.ndarray, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float]:
    """The gradient of the objective of section 6.2 in t, (m1, m2, m3), and its value.

    Views are (n_templates, n, m). Sums over states are taken one view at a time, so that a combination of features
    costs m operations, not m cubed.
    """
    m1, m2, m3 = t.shape
    gain, value = np.zeros_like(t), 0.0
    of_parent, inner = np.empty((m2, m3)), np.empty((m2, m3))
    of_left, weight = np.empty(m3), np.empty(m3)
    for n in range(outside.shape[1]):
        for i in range(outside.shape[0]):
            of_parent[:] = 0.0
            inner[:] = 0.0
            for x in range(m1):
                for y in range(m2):
                    for z in range(m3):
                        of_parent[y, z] += outside[i, n, x] * t[x, y, z]
            for j in range(left.shape[0]):
                of_left[:] = 0.0
                weight[:] = 0.0
                for y in range(m2):
                    for z in range(m3):
                        of_left[z] += left[j, n, y] * of_parent[y, z]
                for k in range(right.shape[0]):
                    kappa = 0.0
                    for z in range(m3):
                        kappa += of_left[z] * right[k, n, z]
                    kappa = max(kappa, SMALLEST)
                    value += np.log(kappa)
                    for z in range(m3):
                        weight[z] += right[k, n, z] / kappa
                for y in range(m2):
                    for z in range(m3):
                        inner[y, z] += left[j, n, y] * weight[z]
            for x in range(m1):
                for y in range(m2):
                    for z in range(m3):
                        gain[x, y, z] += outside[i, n, x] * inner[y, z]
    return gain, value


def _all_rules(
    trees: TrainingTrees, kind: int, sides: list[Sides], place: np.ndarray, how: Separation
) -> list[np.ndarray]:
    """c(rule) t(h1, h2, h3 | rule) of all rules of a kind; for unary rules there is no h3."""
    treebank = trees.treebank
    rules = trees.rules.binary if kind == BINARY else trees.rules.unary
    nodes = np.flatnonzero(treebank.kind == kind)
    nodes = nodes[np.argsort(treebank.rule[nodes], kind="stable")]
    bounds = np.searchsorted(treebank.rule[nodes], np.arange(len(rules) + 1))
    found = []
    for number, symbols in enumerate(rules):
        at = nodes[bounds[number] : bounds[number + 1]]
        a, b = sides[symbols[0]], sides[symbols[1]]
        outside = [part[place[at]] for part in a.outside]
        left = [part[place[treebank.left[at]]] for part in b.inside]
        right, prior = [np.ones((len(at), 1))], np.ones(1)
        if kind == BINARY:
            prior = sides[symbols[2]].prior
            right = [part[place[treebank.right[at]]] for part in sides[symbols[2]].inside]
        start = np.einsum("x,y,z->xyz", *(np.maximum(p, SMALLEST) for p in (a.prior, b.prior, prior)))
        found.append(len(at) * _rule_weights(outside, left, right, start, how))
    return found


def _counts(
    trees: TrainingTrees,
    sizes: np.ndarray,
    sides: list[Sides],
    place: np.ndarray,
    binary: list[np.ndarray],
    unary: list[np.ndarray],
) -> Counts:
    """Step 3 of figure 1 and section 6.1 as counts, which normalise to the paper's parameters."""
    treebank, nodes = trees.treebank, trees.nodes
    state_start, _, _ = layout(trees.rules, sizes)
    largest = int(sizes.max())
    seen = np.bincount(treebank.symbol, minlength=len(sizes))
    lexical = np.zeros((len(trees.words.tags), largest))
    leaves = treebank.leaves
    for a in np.unique(treebank.symbol[leaves]):
        own = leaves[treebank.symbol[leaves] == a]
        # A word x of tag a has p(h | a) r(a -> x | h); its tokens share it evenly.
        joint = sides[a].prior * sides[a].inside[0][place[own]]
        _, word, repeated = np.unique(
            treebank.sentences.tokens[treebank.start[own]], return_inverse=True, return_counts=True
        )
        np.add.at(
            lexical, (nodes.rule[own][:, None], np.arange(sizes[a])[None]), seen[a] * joint / repeated[word][:, None]
        )
    root, kept, bottom = (np.zeros(int(sizes.sum())) for _ in range(3))
    n_kept = np.bincount(treebank.symbol[nodes.kept == 1], minlength=len(sizes))
    for a, side in enumerate(sides):
        own = slice(state_start[a], state_start[a + 1])
        kept[own] = n_kept[a] * side.prior
        roots = treebank.roots[treebank.symbol[treebank.roots] == a]
        if len(roots):  # all of them have the outside feature that only roots have
            root[own] = side.outside[0][place[roots[0]]] * side.prior * seen[a]
    for (a, _, _), joint in zip(trees.rules.binary, binary, strict=True):
        bottom[state_start[a] : state_start[a + 1]] += joint.sum(axis=(1, 2))
    flat = [np.concatenate([joint.ravel() for joint in part]) if part else np.zeros(0) for part in (binary, unary)]
    return Counts(flat[0], flat[1], lexical, bottom, kept, root, np.zeros(0))
