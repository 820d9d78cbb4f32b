"""``recipe="paper"`` against plain numpy, written from Cohen et al. 2012 and Cohen & Collins 2014 alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

from spectragram.constituency import ConstituencyParser
from spectragram.constituency.em import perturbed_member
from spectragram.constituency.features import FeatureColumns
from spectragram.constituency.learners import _first_member, _prepare, _Prepared
from spectragram.constituency.model import Member
from spectragram.constituency.nodes import Node
from spectragram.constituency.pivot_features import learn_pivot_features
from spectragram.constituency.settings import RECIPES, Separation, settings_of
from spectragram.data.heads import learn_head_rules
from spectragram.data.trees import Tree
from spectragram.errors import ParameterError
from spectragram.inference.fixed_tree import tree_values
from spectragram.learning.recipes import recipe_steps
from spectragram.spectral.anchors import find_anchors
from spectragram.synthetic.lpcfg import LatentPCFG

M = 2
Position = tuple[Tree, Tree | None, int]
"""A node, the node above it, and which child it is."""


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    rng = np.random.default_rng(4)
    grammar = LatentPCFG.random(2, 2, 5, 2, rng=rng)
    sample = grammar.sample(400, rng)
    return [grammar.to_tree(sample[i]) for i in range(len(sample))]


def rule_of(tree: Tree) -> str:
    return " ".join([tree.label, *((c.label for c in tree.children) if tree.word is None else [tree.word])])


def phi(node: Node) -> list[str]:
    return ["rule " + " ".join(node.rule), "length " + str(min(len(node.words), 3))]


def psi(node: Node) -> list[str]:
    above = node.parent
    if above is None:
        return ["root"]
    return [f"above {' '.join(above.rule)} {node.is_left}", f"top {above.parent is None}"]


def positions(tree: Tree, parent: Tree | None = None, place: int = 0) -> Iterator[Position]:
    yield tree, parent, place
    if tree.word is None:
        for i, child in enumerate(tree.children):
            yield from positions(child, tree, i)


class Spectral:
    """Figures 4 and 5 on all nodes, and figure 2; the features are those above, read off nested trees."""

    def __init__(self, trees: list[Tree]) -> None:
        at = [(position, tree) for tree in trees for position in positions(tree)]
        inside = [[f"rule {rule_of(n)}", f"length {min(len(n.leaves()), 3)}"] for (n, _, _), _ in at]
        outside = [
            ["root"] if up is None else [f"above {rule_of(up)} {i == 0}", f"top {up is tree}"]
            for (_, up, i), tree in at
        ]
        F, G = (sorted({f for row in rows for f in row}) for rows in (inside, outside))
        X = np.array([[f in row for f in F] for row in inside], float)
        O = np.array([[g in row for g in G] for row in outside], float)
        labels = np.array([n.label for (n, _, _), _ in at])
        number = {id(n): i for i, ((n, _, _), _) in enumerate(at)}
        Y, Z, self.size = {}, {}, {}
        for a in set(labels):
            own = np.flatnonzero(labels == a)
            U, sigma, Vt = np.linalg.svd(X[own].T @ O[own] / len(own))
            m = min(M, int((sigma > 1e-10).sum()))
            Sigma = (X[own] @ U[:, :m]).T @ (O[own] @ Vt[:m].T) / len(own)
            for i in own:
                Y[i], Z[i] = X[i] @ U[:, :m], (O[i] @ Vt[:m].T) @ np.linalg.inv(Sigma)
        seen = Counter(labels)
        self.C: dict[str, np.ndarray] = defaultdict(float)  # type: ignore[arg-type]
        self.start: dict[str, np.ndarray] = defaultdict(float)  # type: ignore[arg-type]
        for i, ((n, up, _), _) in enumerate(at):
            if n.word is None:
                left, right = (Y[number[id(child)]] for child in n.children)
                self.C[rule_of(n)] += np.einsum("j,k,l->jkl", right, Z[i], left) / seen[n.label]
            else:
                self.C[rule_of(n)] += Z[i] / seen[n.label]
            if up is None:
                self.start[n.label] += Y[i] / len(trees)

    def inside(self, tree: Tree) -> np.ndarray:
        if tree.word is not None:
            return self.C[rule_of(tree)]
        left, right = (self.inside(child) for child in tree.children)
        return np.einsum("j,jkl,l->k", right, self.C[rule_of(tree)], left)


def first_member(trees: list[Tree], parser: ConstituencyParser) -> tuple[Member, np.ndarray]:
    """What the learner finds, before it is rounded to single precision; and the value of every tree."""
    settings = settings_of(parser)
    prepared = _prepare(trees, None, learn_head_rules(trees), "right", settings, None, 1)
    member = _first_member(prepared, settings, 0, 1)
    sign, log = tree_values(member.operators, member.lexicon.row_vectors(), prepared.trees.nodes)
    words = prepared.trees.words  # the lexicon leaves out the factor p(w) of every word
    shares = [sum(np.log(words.word_counts[w] / words.n_tokens) for w in tree.leaves()) for tree in trees]
    return member, sign * np.exp(log + np.array(shares))


def test_spectral_is_the_paper(trees: list[Tree]) -> None:
    parser = ConstituencyParser(M, recipe="paper", inside_features=phi, outside_features=psi)
    expected = Spectral(trees)
    _, found = first_member(trees, parser)
    wanted = [float(expected.start[tree.label] @ expected.inside(tree)) for tree in trees]
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


def test_own_features_are_trained_with_parsed_with_and_saved(trees: list[Tree], tmp_path) -> None:
    parser = ConstituencyParser(M, recipe="paper", inside_features=phi, outside_features=psi).fit(trees)
    parser.save(tmp_path / "m")
    again = ConstituencyParser.load(tmp_path / "m")
    short = [tree for tree in trees if len(tree.leaves()) < 6][:10]
    assert again.predict(short) == parser.predict(short)
    assert again.inside_features is None
    with pytest.raises(ParameterError, match="inside_features"):
        ConstituencyParser(M, "spectral", inside_features=lambda node: node.label).fit(trees)


def test_values_of_features_count(trees: list[Tree]) -> None:
    """A feature of value 2 is twice the feature: with one feature of the root rule, scaling phi changes nothing."""
    one = ConstituencyParser(M, recipe="paper", inside_features=phi, outside_features=psi)
    doubled = {"inside_features": lambda node: dict.fromkeys(phi(node), 2.0), "outside_features": psi}
    two = ConstituencyParser(M, recipe="paper", **doubled)
    np.testing.assert_allclose(first_member(trees, one)[1], first_member(trees, two)[1], rtol=1e-8)


# The pivot learner of sections 5.2, 6.1 and 6.2, with two templates on each side

ITERATIONS = 12
HOW = Separation(pivot_count=1, align_iterations=ITERATIONS, rule_iterations=ITERATIONS, tolerance=-np.inf)


def simplex(point: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The nearest convex combination: non-negative least squares with a heavy row for the sum."""
    heavy = 1e5
    weights, _ = nnls(np.vstack([corners.T, heavy * np.ones(len(corners))]), np.append(point, heavy))
    return weights / weights.sum()


def q_of(features: np.ndarray, views: np.ndarray) -> list[np.ndarray]:
    """q(h | f) of each template at each node."""
    keys = [(k, f) for k in range(features.shape[1]) for f in sorted(set(features[:, k]))]
    points = np.array([views[features[:, k] == f].mean(axis=0) for k, f in keys])
    corners = points[find_anchors(points, M, np.arange(len(points)))]
    q = {key: simplex(point, corners) for key, point in zip(keys, points, strict=True)}
    return [np.array([q[k, f] for f in features[:, k]]) for k in range(features.shape[1])]


def r_of(q: np.ndarray, column: np.ndarray) -> np.ndarray:
    """r(f | h) = p(f) q(h | f) / p(h)."""
    share = np.array([np.mean(column == f) for f in column])
    return share[:, None] * q / q.mean(axis=0)


def test_pivot_is_the_paper(trees: list[Tree]) -> None:
    parser = ConstituencyParser(M, recipe="paper", learner="pivot")
    settings = settings_of(parser)
    prepared = _prepare(trees, None, learn_head_rules(trees), "right", settings, None, 1)
    treebank, full = prepared.trees.treebank, prepared.columns
    lexical = treebank.left < 0
    second = np.where(lexical, 1, 3)  # the rule or the word; its shape, or the rule with that below
    inside = np.stack([full.inside[:, 0], full.inside[np.arange(len(lexical)), second]], axis=1)
    columns = FeatureColumns(inside, full.outside[:, [0, 3]])
    projections = prepared.project(M, 0.0, 0, 1)
    sizes = np.full(treebank.productions.n_symbols, M, np.int32)
    member = learn_pivot_features(prepared.trees, columns, projections, sizes, HOW)
    found = member.operators
    r, s, prior = {}, {}, {}
    for a, projection in enumerate(projections):
        q_in, q_out = (
            q_of(inside[projection.nodes], projection.outside),
            q_of(columns.outside[projection.nodes], projection.inside),
        )
        prior[a] = np.mean([q.mean(axis=0) for q in q_in], axis=0)
        rs = [r_of(q, inside[projection.nodes, k]) for k, q in enumerate(q_in)]
        ss = [r_of(q, columns.outside[projection.nodes, k]) for k, q in enumerate(q_out)]
        t = np.full((M, M), 1 / M)
        for _ in range(ITERATIONS):  # equation 3
            gain = np.zeros((M, M))
            for q, part in product(q_in, ss):
                for x, y in zip(q, part, strict=True):
                    gain += np.outer(x, y) / (x @ t @ y)
            t = t * gain / (t * gain).sum(axis=1, keepdims=True)
        for i, node in enumerate(projection.nodes):
            r[node], s[node] = [part[i] for part in rs], [t @ part[i] for part in ss]
    joint = {}
    for number, (a, b, c) in enumerate(prepared.trees.rules.binary):
        nodes = np.flatnonzero((treebank.kind == treebank.kind[~lexical][0]) & (treebank.rule == number))
        t = np.einsum("x,y,z->xyz", prior[a], prior[b], prior[c])
        t /= t.sum()
        for _ in range(ITERATIONS):  # the objective of section 6.2
            gain = np.zeros_like(t)
            for node in nodes:
                for x, y, z in product(s[node], r[treebank.left[node]], r[treebank.right[node]]):
                    gain += np.einsum("x,y,z->xyz", x, y, z) / np.einsum("x,y,z,xyz->", x, y, z, t)
            t = t * gain / (t * gain).sum()
        joint[number] = len(nodes) * t
    for number, (a, _, _) in enumerate(prepared.trees.rules.binary):
        total = sum(joint[n].sum(axis=(1, 2)) for n, (p, _, _) in enumerate(prepared.trees.rules.binary) if p == a)
        at = found.binary_start[number]
        np.testing.assert_allclose(
            found.binary[at : at + M**3].reshape(M, M, M), joint[number] / total[:, None, None], atol=1e-7
        )
    seen = np.bincount(treebank.symbol)
    pi = np.zeros((len(sizes), M))
    for node in treebank.roots:
        a = treebank.symbol[node]
        pi[a] = s[node][0] * prior[a] * seen[a]
    np.testing.assert_allclose(found.root.reshape(-1, M), pi / pi.sum(), atol=1e-7)
    words, vectors = prepared.trees.words, member.lexicon.row_vectors()
    for leaf, word in zip(treebank.leaves, [word for tree in trees for word in tree.leaves()], strict=True):
        q = vectors[prepared.trees.nodes.rule[leaf]] * words.word_counts[word] / words.n_tokens
        np.testing.assert_allclose(q, r[leaf][0], atol=1e-7)  # section 6.1


def tau(node: Node) -> list[object]:
    return [node.rule, min(len(node.words), 3)]


def rho(node: Node) -> list[object]:
    above = node.parent
    return ["root", 0] if above is None else [(above.rule, node.is_left), above.label]


def templates(prepared: _Prepared) -> FeatureColumns:
    """The templates that ``tau`` and ``rho`` are, from the columns of the usual features and the sizes of spans."""
    treebank, full = prepared.trees.treebank, prepared.columns
    assert full is not None
    length = np.minimum(treebank.end - treebank.start, 3) + 10 * treebank.symbol
    return FeatureColumns(np.stack([full.inside[:, 0], length], axis=1), full.outside[:, [0, 3]])


@pytest.mark.parametrize("evidence", ["combinations", "mean"])
def test_own_features_of_the_pivot_learner_are_templates(trees: list[Tree], evidence: str) -> None:
    how: dict[str, Any] = {"recipe": "paper", "learner": "pivot", "evidence": evidence, "rule_iterations": 5}
    own = ConstituencyParser(M, inside_features=tau, outside_features=rho, **how)
    found, _ = first_member(trees, own)
    settings = settings_of(ConstituencyParser(M, **how))
    prepared = _prepare(trees, None, learn_head_rules(trees), "right", settings, None, 1)
    usual = replace(prepared, columns=templates(prepared))
    wanted = _first_member(usual, settings, 0, 1)
    np.testing.assert_allclose(found.operators.binary, wanted.operators.binary, atol=1e-7)
    np.testing.assert_allclose(found.operators.root, wanted.operators.root, atol=1e-7)


@pytest.mark.parametrize(
    ("parameter", "function", "told"),
    [
        ("inside_features", lambda node: {"one": 1.0}, "a dictionary"),
        ("inside_features", lambda node: [0] * len(node.words), "equally many"),
        ("inside_features", lambda node: [node.label], "return the word first"),
        ("outside_features", lambda node: [node.label], "mark roots"),
    ],
)
def test_features_that_pivots_cannot_use_are_refused(
    trees: list[Tree], parameter: str, function: Callable[[Node], Any], told: str
) -> None:
    features = {"inside_features": tau, "outside_features": rho} | {parameter: function}
    with pytest.raises(ParameterError, match=told) as trouble:
        ConstituencyParser(M, recipe="paper", learner="pivot", **features).fit(trees)
    assert trouble.value.parameter == parameter


def test_the_start_of_em_is_the_pcfg_up_to_a_factor_of_three(trees: list[Tree]) -> None:
    settings = settings_of(ConstituencyParser(M, recipe="paper", learner="em"))
    prepared = _prepare(trees, None, learn_head_rules(trees), "right", settings, None, 1)
    sizes = np.full(prepared.trees.rules.n_symbols, M, np.int32)
    member = perturbed_member(prepared.trees, sizes, np.random.default_rng(0))
    plain = prepared.grammar.coarse.operators.binary
    tensors = member.operators.binary.reshape(len(plain), M, M, M)
    np.testing.assert_allclose(
        sum(tensors[r].sum(axis=(1, 2)) for r, (a, _, _) in enumerate(prepared.trees.rules.binary) if a == 2), 1.0
    )
    ratios = tensors * M**2 / plain[:, None, None, None]
    assert 1 / 9 <= ratios.min() < 0.6
    assert 1.6 < ratios.max() <= 9


def test_every_step_between_the_recipes_is_a_parameter(trees: list[Tree]) -> None:
    steps = list(recipe_steps(RECIPES))
    assert {name for name, _, _ in steps} <= set(ConstituencyParser().get_params())
    walked = ConstituencyParser(**{name: value for name, _, value in steps}).set_params(n_states=M)
    papers = ConstituencyParser(M, recipe="paper")
    np.testing.assert_array_equal(first_member(trees, walked)[1], first_member(trees, papers)[1])
