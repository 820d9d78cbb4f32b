"""Learning from trees with holes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from spectragram.data import Sentence
from spectragram.data.projectivity import find_tree_problem, is_projective
from spectragram.dependency import DependencyParser
from spectragram.dependency.charts import run_chart
from spectragram.dependency.constraints import ArcMask, Known
from spectragram.dependency.encoding import Alphabet
from spectragram.dependency.factor_training import learn_factors
from spectragram.dependency.factors import Factors, usable_letters
from spectragram.dependency.members import Member
from spectragram.dependency.model import Model
from spectragram.dependency.partial import complete_trees, short_arcs
from spectragram.errors import InputError
from spectragram.synthetic import english_dependencies

TREES = english_dependencies(260, seed=4)
TRAIN, TEST = TREES[:200], TREES[200:]


def with_holes(tree: Sentence, rng: np.random.Generator, share: float) -> Sentence:
    keep = rng.random(len(tree)) >= share
    columns = {"head": tree.column("head"), "deprel": tree.deprels}
    return tree.with_columns(
        **{name: [a if b else "_" for a, b in zip(values, keep, strict=True)] for name, values in columns.items()}
    )


def test_half_of_the_heads_teach_nearly_as_much() -> None:
    rng = np.random.default_rng(0)
    settings = {"preset": "fast", "n_jobs": 1}
    some = TRAIN[:90]
    whole = DependencyParser(**settings).fit(some).evaluate(TEST)
    few = DependencyParser(**settings).fit(some[:12]).evaluate(TEST)
    partial = DependencyParser(**settings).fit([*some[:12], *(with_holes(tree, rng, 0.5) for tree in some[12:])])
    found = partial.evaluate(TEST)
    assert partial.summary_["partial_sentences"] > 70
    assert found["uas"] > max(few["uas"], whole["uas"] - 3.0)


def test_the_gradient_is_expected_under_what_is_known_minus_expected() -> None:
    """One step from zero weights against the numerical gradient of log Z(K) - log Z."""
    parser = DependencyParser(n_states=2, max_iter=2, n_epochs=1, n_jobs=1).fit(TRAIN[:50])
    grammar = parser.grammar_
    given = Sentence.from_words(
        ["the", "dog", "saw", "cats"], xpos=["DT", "NN", "VBD", "NNS"], upos=["DET", "NOUN", "VERB", "NOUN"]
    ).with_columns(head=["_", "_", "0", "_"])
    known = Known.of(given)
    columns = parser.model_.alphabet.encode([given]).columns(0)
    trees = np.array(
        [h for h in itertools.product(range(5), repeat=4) if find_tree_problem(h) is None and is_projective(h)]
    )
    agree = trees[known.allowed[np.arange(4), trees].all(axis=1)]
    zeros = np.zeros((2, 4, 4))
    whole, within = run_chart(grammar, columns, zeros, zeros), run_chart(grammar, columns, zeros, zeros, known.mask)
    members = Member(grammar, None)
    assert members.charts([columns], None, [known.mask])[0][0].log_z == within.log_z < whole.log_z
    shares = within.head_distributions() - whole.head_distributions()
    h = 1e-5
    for word, head in ((0, 2), (3, 3), (1, 3), (3, 2)):
        arcs = zeros.copy()
        arcs[int(word > head - 1), head - 1, abs(word - head + 1)] = h
        up = run_chart(grammar, columns, arcs, zeros, known.mask).log_z - run_chart(grammar, columns, arcs, zeros).log_z
        down = (
            run_chart(grammar, columns, -arcs, zeros, known.mask).log_z
            - run_chart(grammar, columns, -arcs, zeros).log_z
        )
        assert (up - down) / (2 * h) == pytest.approx(shares[word, head], abs=1e-6)
    assert len(agree) > 1


def test_masks_replace_trees_in_the_training_of_factors() -> None:
    """With everything known a mask teaches exactly what the tree does; with nothing known nothing is learned."""
    some = TRAIN[:30]
    alphabet = Alphabet.of(some)
    encoded = alphabet.encode(some)
    heads = np.concatenate([tree.heads for tree in some]).astype(np.int64)
    grammar = DependencyParser(n_states=1, factors=False, n_jobs=1).fit(some).grammar_
    empty = Factors.empty(usable_letters(alphabet, words=True), len(heads))
    masks = {
        "trees": [None] * len(some),
        "known": [Known.of(tree).mask for tree in some],
        "open": [Known.of(tree.with_columns(head=["_"] * len(tree), deprel=["_"] * len(tree))).mask for tree in some],
    }
    everything = [np.ones_like(mask.arcs) for mask in masks["known"] if mask is not None]
    assert all(mask is None for mask in masks["open"])
    free = [
        mask._replace(roots=np.ones_like(mask.roots), arcs=a)
        for mask, a in zip(masks["known"], everything, strict=True)
    ]
    learned = {
        name: learn_factors(empty, grammar, encoded, heads, mine, n_epochs=1, rng=np.random.default_rng(0))[0]
        for name, mine in (("trees", masks["trees"]), ("known", masks["known"]), ("open", free))
    }
    np.testing.assert_allclose(learned["known"].arc_weights, learned["trees"].arc_weights, atol=1e-5)
    assert np.abs(learned["trees"].arc_weights).max() > 0.01
    assert np.abs(learned["open"].arc_weights).max() < 1e-6


def test_sentences_without_any_whole_tree_are_enough() -> None:
    rng = np.random.default_rng(1)
    parser = DependencyParser(preset="fast", n_jobs=1).fit([with_holes(tree, rng, 0.3) for tree in TRAIN[:60]])
    assert parser.evaluate(TEST)["uas"] > 80


def test_a_few_tiny_trees_do_not_complete_the_others() -> None:
    """Words that happen to be complete sentences know next to nothing about the relations of all others."""
    given: list[list[Sentence]] = []

    def learn(trees: Sequence[Sentence], _: Sequence[ArcMask | None]) -> Model:
        given.append(list(trees))
        return DependencyParser(preset="fast", factors=False, max_iter=1, n_jobs=1).fit(trees).model_

    rng = np.random.default_rng(3)
    holes = [with_holes(tree, rng, 0.5) for tree in TRAIN[:30]]
    tiny = [Sentence.from_words(["Hello"], upos=["INTJ"], xpos=["UH"], head=["0"], deprel=["root"])] * 6
    found, _ = complete_trees([*tiny, *holes], learn)
    assert [len(trees) for trees in given] == [36], "one round, of all sentences"
    assert [tree.deprels for tree in given[0][6:]] == [tree.deprels for tree in holes], "only known relations teach"
    assert all("_" not in (*tree.deprels, *tree.column("head")) for tree in found)
    given.clear()
    complete_trees([*TRAIN[30:60], *holes], learn)
    assert len(given) == 2 and 30 <= len(given[0]) < len(given[1]) == 60, "enough complete ones come first"


def test_no_sentence_is_completed_at_last_by_a_model_that_learned_from_it() -> None:
    given: list[list[str]] = []
    rng = np.random.default_rng(4)
    holes = [with_holes(tree, rng, 0.5).with_columns(misc=[f"n={i}"] * len(tree)) for i, tree in enumerate(TRAIN[:50])]

    def learn(trees: Sequence[Sentence], _: Sequence[ArcMask | None]) -> Model:
        given.append([tree.column("misc")[0] for tree in trees])
        model = DependencyParser(preset="fast", factors=False, max_iter=1, n_jobs=1).fit(trees).model_
        # Its relations say which model it was.
        return replace(
            model, labels=replace(model.labels, names=tuple(f"model {len(given)}" for _ in model.labels.names))
        )

    found, _ = complete_trees(holes, learn)
    assert [len(trees) for trees in given] == [50] + [40] * 5
    n_made = 0
    for number, (tree, hole) in enumerate(zip(found, holes, strict=True)):
        pairs = zip(tree.deprels, hole.deprels, strict=True)
        made = {name for name, before in pairs if before == "_" and name.startswith("model")}
        n_made += len(made)
        assert all(f"n={number}" not in given[int(name[6:]) - 1] for name in made)
    assert n_made > 40


def test_sentences_without_heads_are_left_out_and_nothing_is_refused() -> None:
    empty = TRAIN[0].with_columns(head=["_"] * len(TRAIN[0]))
    parser = DependencyParser(preset="fast", n_jobs=1)
    assert parser.fit([*TRAIN[:20], empty]).summary_["sentences"] == 20
    with pytest.raises(InputError, match="has no head"):
        parser.fit([empty])
    cycle = TRAIN[0].with_columns(head=["2", "1", *["_"] * (len(TRAIN[0]) - 2)])
    with pytest.raises(InputError, match="cycle"):
        parser.fit([*TRAIN[:5], cycle])


def test_short_arcs_agree_with_what_is_known() -> None:
    given = Sentence.from_words(["a", "b", "c", "d"], head=["4", "_", "_", "0"])
    assert short_arcs(Known.of(given)).tolist() in ([4, 1, 4, 0], [4, 3, 4, 0], [4, 4, 4, 0], [4, 1, 2, 0])
