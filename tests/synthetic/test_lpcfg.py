"""Latent-variable PCFGs against enumeration, and the identities behind the spectral and pivot methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.synthetic.lpcfg import LatentPCFG, TreeMoments


@pytest.fixture
def finite(rng: np.random.Generator) -> LatentPCFG:
    """Two interminals, pre-terminals, words and states; A0 is only a root and A1 is never below A1, so 416 trees."""
    rules = [(0, b, c) for b, c in product((1, 2, 3), repeat=2)] + [(1, b, c) for b, c in product((2, 3), repeat=2)]
    binary = rng.random((13, 2, 2, 2)) + 0.05
    binary[:9] /= binary[:9].sum(axis=(0, 2, 3))[:, None, None]
    binary[9:] /= binary[9:].sum(axis=(0, 2, 3))[:, None, None]
    return LatentPCFG(
        rng.dirichlet(np.ones(4)).reshape(2, 2), np.array(rules), binary, rng.dirichlet(np.ones(2), (2, 2))
    )


def derivations_of(model: LatentPCFG, label: int, n_words: int) -> Iterator[tuple[int, ...]]:
    """Yield every derivation of a label over ``n_words`` words."""
    if label >= model.n_interminals:
        first = len(model.rules) + (label - model.n_interminals) * model.n_words
        yield from ((first + x,) for x in range(model.n_words) if n_words == 1)
        return
    for r, (a, b, c) in enumerate(model.rules):
        if a == label:
            for k in range(1, n_words):
                for left in derivations_of(model, b, k):
                    for right in derivations_of(model, c, n_words - k):
                        yield (r, *left, *right)


def all_derivations(model: LatentPCFG, max_words: int) -> list[tuple[int, ...]]:
    return [d for n in range(2, max_words + 1) for a in range(model.n_interminals) for d in derivations_of(model, a, n)]


def children(model: LatentPCFG, derivation: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Positions of the left and the right child of each binary node of a derivation."""
    found: dict[int, tuple[int, int]] = {}

    def end_of(i: int) -> int:
        if derivation[i] >= len(model.rules):
            return i + 1
        right = end_of(i + 1)
        found[i] = (i + 1, right)
        return end_of(right)

    assert end_of(0) == len(derivation)
    return found


def label_of(model: LatentPCFG, rule: int) -> int:
    if rule < len(model.rules):
        return int(model.rules[rule, 0])
    return model.n_interminals + (rule - len(model.rules)) // model.n_words


def probability_over_states(model: LatentPCFG, derivation: Sequence[int]) -> float:
    below = children(model, derivation)
    total = 0.0
    for h in product(range(model.n_states), repeat=len(derivation)):
        p = model.root[label_of(model, derivation[0]), h[0]]
        for i, rule in enumerate(derivation):
            if i in below:
                left, right = below[i]
                p *= model.binary[rule, h[i], h[left], h[right]]
            else:
                tag, word = divmod(rule - len(model.rules), model.n_words)
                p *= model.lexical[tag, h[i], word]
        total += p
    return total


def test_probability_is_the_sum_over_hidden_states(finite: LatentPCFG) -> None:
    trees = all_derivations(finite, 4)
    assert len(trees) == 416
    for derivation in trees[::23]:
        assert finite.probability(derivation) == pytest.approx(probability_over_states(finite, derivation), rel=1e-12)


def test_all_trees_of_a_finite_grammar_add_up_to_one(finite: LatentPCFG) -> None:
    assert sum(map(finite.probability, all_derivations(finite, 4))) == pytest.approx(1, abs=1e-12)


def test_trees_of_each_size_have_the_mass_that_the_size_should_have(rng: np.random.Generator) -> None:
    model = LatentPCFG.random(1, 2, 2, 2, rng=rng)
    # size[n][a, h]: probability that a tree below (a, h) has n words
    size = {1: np.zeros((3, 2))}
    size[1][1:] = 1
    for n in (2, 3, 4):
        size[n] = np.zeros((3, 2))
        for (a, b, c), t in zip(model.rules, model.binary, strict=True):
            for k in range(1, n):
                size[n][a] += np.einsum("hij,i,j->h", t, size[k][b], size[n - k][c])
        enumerated = sum(model.probability(d) for d in derivations_of(model, 0, n))
        assert enumerated == pytest.approx(model.root[0] @ size[n][0], rel=1e-12)


def test_an_ill_formed_tree_has_no_probability(finite: LatentPCFG) -> None:
    words = [13 + 0, 13 + 2]  # P0 over w0, P1 over w0
    assert finite.probability([9 + 1, *words]) > 0  # A1 -> P0 P1
    assert finite.probability([9 + 2, *words]) == 0  # A1 -> P1 P0
    assert finite.probability([13]) == 0  # no root


def weighted_moments(
    model: LatentPCFG, weighted: Iterator[tuple[float, tuple[int, ...]]]
) -> tuple[TreeMoments, np.ndarray]:
    """Moments by enumeration of weighted trees, and the total weight of the nodes of each label."""
    n_binary, d, e = len(model.rules), model.n_rules, 2 * len(model.rules) + 1
    inside_outside, nodes = np.zeros((model.n_labels, d, e)), np.zeros(model.n_labels)
    binary, lexical = np.zeros((n_binary, d, e, d)), np.zeros((model.n_preterminals, model.n_words, e))
    root = np.zeros((model.n_interminals, d))
    for p, derivation in weighted:
        below = children(model, derivation)
        above = {0: e - 1}
        for i, (left, right) in below.items():
            above[left], above[right] = 2 * derivation[i], 2 * derivation[i] + 1
        root[label_of(model, derivation[0]), derivation[0]] += p
        for i, rule in enumerate(derivation):
            label = label_of(model, rule)
            nodes[label] += p
            inside_outside[label, rule, above[i]] += p
            if i in below:
                left, right = below[i]
                binary[rule, derivation[right], above[i], derivation[left]] += p
            else:
                lexical.reshape(-1, e)[rule - n_binary, above[i]] += p
    return (
        TreeMoments(
            inside_outside / nodes[:, None, None],
            binary / nodes[model.rules[:, 0]][:, None, None, None],
            lexical / nodes[model.n_interminals :, None, None],
            root,
        ),
        nodes,
    )


def test_moments_equal_enumeration(finite: LatentPCFG) -> None:
    enumerated, nodes = weighted_moments(finite, ((finite.probability(d), d) for d in all_derivations(finite, 4)))
    np.testing.assert_allclose(finite.visits().sum(axis=1), nodes, rtol=1e-12)
    exact = finite.moments()
    for name, array in vars(enumerated).items():
        np.testing.assert_allclose(getattr(exact, name), array, atol=1e-13, err_msg=name)


def test_a_hundred_thousand_trees_have_the_right_frequencies(finite: LatentPCFG, rng: np.random.Generator) -> None:
    n = 100_000
    corpus = finite.sample(n, rng)
    found = Counter(map(tuple, corpus))
    for derivation in all_derivations(finite, 4):
        p = finite.probability(derivation)
        assert abs(found[derivation] / n - p) < 5 * np.sqrt(p * (1 - p) / n)
    np.testing.assert_array_equal(corpus.vocabulary.counts, np.bincount(corpus.tokens, minlength=17))


def test_samples_of_an_unbounded_grammar_have_its_expected_counts(rng: np.random.Generator) -> None:
    model = LatentPCFG.random(2, 2, 4, 3, rng=rng, branching=0.7)
    n = 20_000
    corpus = model.sample(n, rng)
    sizes = np.diff(corpus.offsets)
    assert abs(sizes.mean() - model.visits().sum()) < 5 * sizes.std() / np.sqrt(n)
    expected = np.einsum("aih,ah->i", model.inside(), model.visits())
    counted = corpus.vocabulary.counts / n
    np.testing.assert_allclose(counted, expected, atol=5 * sizes.std() / np.sqrt(n))


def test_rule_names_and_trees_say_the_same(finite: LatentPCFG) -> None:
    derivation = (0, 9, 13, 13, 9 + 3, 16, 15)
    tree = finite.to_tree(derivation)
    assert str(tree) == "(A0 (A1 (P0 w0) (P0 w0)) (A1 (P1 w1) (P1 w0)))"
    names = finite.rule_names()
    assert [names[r] for r in derivation[:3]] == ["A0->A1 A1", "A1->P0 P0", "P0->w0"]


@pytest.mark.parametrize("pivot", [False, True])
def test_the_grammar_is_recovered_from_its_moments(rng: np.random.Generator, pivot: bool) -> None:
    """Figure 4 of Cohen et al. (2012) with exact moments gives exact probabilities."""
    model = LatentPCFG.random(2, 2, 4, 3, rng=rng, conditioning=0.05, pivot=pivot)
    full = model.moments()
    U, V = [], []
    for omega in full.inside_outside:
        u, _, v = np.linalg.svd(omega)
        U.append(u[:, :3])
        V.append(v[:3].T)
    Sigma = [np.linalg.inv(U[a].T @ full.inside_outside[a] @ V[a]) for a in range(4)]
    projected = [
        np.einsum("ijk,ix,jy,kz->xyz", D, U[c], V[a], U[b], optimize=True)
        for D, (a, b, c) in zip(full.binary, model.rules, strict=True)
    ]
    # C(y) = D(y) Sigma^-1: the third index is the left child
    C = [np.einsum("xyz,yw->xwz", D, Sigma[a]) for D, a in zip(projected, model.rules[:, 0], strict=True)]

    def inside(derivation: Sequence[int], below: dict[int, tuple[int, int]], i: int) -> np.ndarray:
        rule = derivation[i]
        if i in below:
            left, right = (inside(derivation, below, j) for j in below[i])
            return np.einsum("xwz,x,z->w", C[rule], right, left)
        tag, word = divmod(rule - len(model.rules), model.n_words)
        return full.lexical[tag, word] @ V[2 + tag] @ Sigma[2 + tag]

    for derivation in model.sample(30, rng):
        label = label_of(model, derivation[0])
        found = inside(derivation, children(model, derivation), 0) @ U[label].T @ full.root[label]
        assert found == pytest.approx(model.probability(derivation), rel=1e-7)


def test_moments_of_projected_features_are_projected_moments(finite: LatentPCFG, rng: np.random.Generator) -> None:
    U, V = rng.normal(size=(4, 2, 17)), rng.normal(size=(4, 2, 27))
    projected = finite.moments(U @ finite.inside(), V @ finite.outside())
    full = finite.moments()
    np.testing.assert_allclose(projected.inside_outside, U @ full.inside_outside @ V.swapaxes(1, 2), atol=1e-12)
    a, b, c = finite.rules[4]
    by_hand = np.einsum("ijk,xi,yj,zk->xyz", full.binary[4], U[c], V[a], U[b])
    np.testing.assert_allclose(projected.binary[4], by_hand, atol=1e-12)


def test_pivot_grammars_have_a_feature_of_their_own_for_every_state(rng: np.random.Generator) -> None:
    model = LatentPCFG.random(2, 3, 6, 3, rng=rng, pivot=True)
    for means in (model.inside(), model.outside()):
        for features in means:  # (d, m), one label
            only = (features > 0).sum(axis=1) == 1
            owners = set(features[only].argmax(axis=1))
            assert owners == {0, 1, 2}
            assert features[only].max(axis=0).min() > 1e-3


@pytest.mark.parametrize(("sizes", "conditioning"), [((1, 2, 4, 2), 0.1), ((2, 3, 8, 4), 0.1), ((1, 1, 1, 1), 0.9)])
def test_random_grammars_are_as_well_conditioned_as_asked(
    sizes: tuple[int, int, int, int], conditioning: float, rng: np.random.Generator
) -> None:
    model = LatentPCFG.random(*sizes, rng=rng, conditioning=conditioning)
    for table in model.moments(outside=model.outside()).inside_outside:
        scale = np.sqrt(np.outer(table.sum(axis=1), table.sum(axis=0)))
        scaled = np.divide(table, scale, out=np.zeros_like(table), where=scale > 0)
        assert np.linalg.svd(scaled, compute_uv=False)[sizes[3] - 1] >= conditioning * (1 - 1e-9)
    interminal_children = model.offspring[:, : sizes[0] * sizes[3]].sum(axis=1)
    assert interminal_children.max() <= 0.6 + 1e-9


def test_wrong_parameters_are_refused(finite: LatentPCFG, rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="add up to 1"):
        LatentPCFG(finite.root, finite.rules, finite.binary * 0.9, finite.lexical)
    with pytest.raises(InputError, match="rules are out of order"):
        LatentPCFG(finite.root, finite.rules[::-1], finite.binary[::-1], finite.lexical)
    with pytest.raises(InputError, match="shapes"):
        LatentPCFG(finite.root, finite.rules, finite.binary[1:], finite.lexical)
    with pytest.raises(InputError, match="without end"):
        LatentPCFG(np.ones((1, 1)), np.array([[0, 0, 0]]), np.ones((1, 1, 1, 1)), np.ones((1, 1, 1)))
    with pytest.raises(InputError, match="cannot tell 5 states apart"):
        LatentPCFG.random(1, 2, 9, 5, rng=rng)
    with pytest.raises(InputError, match=r"branching=1\.5"):
        LatentPCFG.random(1, 2, 9, 2, rng=rng, branching=1.5)
