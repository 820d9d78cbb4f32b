"""``recipe="paper"`` against plain numpy, written from Cohen et al. 2012 and Cohen & Collins 2014 alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from spectragram.constituency import ConstituencyParser
from spectragram.constituency.em import perturbed_member
from spectragram.constituency.features import FeatureColumns
from spectragram.constituency.learners import _first_member, _prepare, _Prepared
from spectragram.constituency.model import Member
from spectragram.constituency.nodes import Node
from spectragram.constituency.settings import RECIPES, settings_of
from spectragram.data.heads import learn_head_rules
from spectragram.data.trees import Tree
from spectragram.errors import ParameterError
from spectragram.inference.fixed_tree import tree_values
from spectragram.learning.recipes import recipe_steps
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


def tau(node: Node) -> list[object]:
    return [node.rule, min(len(node.words), 3)]


def rho(node: Node) -> list[object]:
    above = node.parent
    return ["root", 0] if above is None else [(above.rule, node.is_left), above.label]


def one_hot(columns: list[list[object]]) -> np.ndarray:
    """Indicators of all features of all templates, each divided by the square root of its share, as CCA needs it."""
    on = np.array([[f == g for f in column] for column in columns for g in sorted(set(column), key=repr)], float).T
    return on / np.sqrt(on.mean(axis=0))


def two_anchors(points: np.ndarray) -> np.ndarray:
    """FastAnchorWords for two states: the farthest from the mean, the farthest from that; and each once more."""
    x = points.mean(axis=0)
    for _ in range(4):
        x, before = points[((points - x) ** 2).sum(axis=1).argmax()], x
    return np.array([before, x])


def q_of(columns: list[list[object]], views: np.ndarray) -> list[np.ndarray]:
    """q(h | f) of each template at each node; the nearest point between two corners is a projection, cut off."""
    means = []
    for column in columns:
        mean = {f: views[[g == f for g in column]].mean(axis=0) for f in set(column)}
        means.append(np.array([mean[f] for f in column]))
    first, second = two_anchors(np.vstack(means))
    along = (first - second) / ((first - second) ** 2).sum()
    return [np.stack([p, 1 - p], axis=1) for p in (np.clip((v - second) @ along, 0, 1) for v in means)]


def given_state(q: np.ndarray, column: list[object]) -> np.ndarray:
    """r(f | h) = p(f) q(h | f) / p(h) at each node."""
    counts = Counter(column)
    return q * np.array([[counts[f] / len(column)] for f in column]) / q.mean(axis=0)


class Pivot:
    """Figures 1 and 2 with sections 6.1 and 6.2, on nested trees."""

    def __init__(self, trees: list[Tree]) -> None:
        at = [position for tree in trees for position in positions(tree)]
        self.r: dict[int, list[np.ndarray]] = {}
        self.words: dict[str, np.ndarray] = {}
        self.start: dict[str, np.ndarray] = {}
        s, prior = {}, {}
        for a in sorted({n.label for n, _, _ in at}):
            own = [i for i, (n, _, _) in enumerate(at) if n.label == a]
            nodes = [at[i] for i in own]
            inside = [[rule_of(n) for n, _, _ in nodes], [min(len(n.leaves()), 3) for n, _, _ in nodes]]
            outside = [["root" if up is None else f"{rule_of(up)} {i == 0}" for _, up, i in nodes],
                       ["root" if up is None else up.label for _, up, _ in nodes]]  # fmt: skip
            X, O = one_hot(inside), one_hot(outside)
            U, _, Vt = np.linalg.svd(X.T @ O / len(own))
            q_in, q_out = q_of(inside, O @ Vt[:M].T), q_of(outside, X @ U[:, :M])
            prior[a] = np.mean([q.mean(axis=0) for q in q_in], axis=0)
            r = [given_state(q, column) for q, column in zip(q_in, inside, strict=True)]
            back = [given_state(q, column) for q, column in zip(q_out, outside, strict=True)]
            t = np.full((M, M), 1 / M)
            for _ in range(ITERATIONS):  # equation 3
                gain = sum(q.T @ (g / ((q @ t) * g).sum(axis=1, keepdims=True)) for q, g in product(q_in, back))
                t = t * gain / (t * gain).sum(axis=1, keepdims=True)
            for j, i in enumerate(own):
                self.r[id(at[i][0])], s[id(at[i][0])] = [part[j] for part in r], [t @ part[j] for part in back]
                self.words |= {rule_of(at[i][0]): r[0][j]} if at[i][0].word is not None else {}
                self.start |= {a: s[id(at[i][0])][0] * prior[a] * len(own)} if at[i][1] is None else {}
        total = sum(pi.sum() for pi in self.start.values())
        self.start = {a: pi / total for a, pi in self.start.items()}
        rules: dict[str, list[Tree]] = defaultdict(list)
        for n, _, _ in at:
            if n.word is None:
                rules[rule_of(n)].append(n)
        self.t = {}
        for name, nodes in rules.items():
            t = np.einsum("x,y,z->xyz", *(prior[label] for label in name.split()))
            sides = [np.array(side) for side in zip(*(
                parts for n in nodes for parts in product(s[id(n)], *(self.r[id(child)] for child in n.children))
            ), strict=True)]  # fmt: skip
            for _ in range(ITERATIONS):  # the objective of section 6.2
                kappa = np.einsum("nx,ny,nz,xyz->n", *sides, t)
                t = t * np.einsum("nx,ny,nz,n->xyz", *sides, 1 / kappa)
                t /= t.sum()
            self.t[name] = len(nodes) * t
        for a in {name.split()[0] for name in rules}:
            own = [name for name in rules if name.split()[0] == a]
            mass = sum(self.t[name].sum(axis=(1, 2)) for name in own)
            self.t |= {name: self.t[name] / mass[:, None, None] for name in own}

    def inside(self, tree: Tree) -> np.ndarray:
        if tree.word is not None:
            return self.words[rule_of(tree)]
        left, right = (self.inside(child) for child in tree.children)
        return np.einsum("xyz,y,z->x", self.t[rule_of(tree)], left, right)


def test_pivot_is_the_paper(trees: list[Tree]) -> None:
    how: dict[str, Any] = {"align_iterations": ITERATIONS, "rule_iterations": ITERATIONS, "rule_tolerance": 0.0}
    parser = ConstituencyParser(M, recipe="paper", learner="pivot", inside_features=tau, outside_features=rho, **how)
    expected = Pivot(trees)
    _, found = first_member(trees, parser)
    wanted = [float(expected.start[tree.label] @ expected.inside(tree)) for tree in trees]
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


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
    np.testing.assert_allclose(found.operators.binary, wanted.operators.binary, atol=1e-8)
    np.testing.assert_allclose(found.operators.root, wanted.operators.root, atol=1e-8)


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
