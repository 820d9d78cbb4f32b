"""Parsing under constraints against the enumeration of every derivation that agrees with them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spectragram.constituency import ConstituencyParser
from spectragram.constituency.constraints import chart_constraints
from spectragram.constituency.derivations import best_derivation, k_best_derivations, tree_log_prob
from spectragram.constituency.parsing import Status, average_posteriors, prune
from spectragram.data import SpanConstraints, Tree, parse_tree
from spectragram.data.known_spans import is_partial
from spectragram.data.trees import ROOTS
from spectragram.errors import InputError
from spectragram.inference.chart_coarse import span_id
from tests.constituency.brute import Enumeration, make_grammar, random_member, random_trees, training_trees

WORDS = ("x", "y", "z", "x")
CASES = [
    SpanConstraints(WORDS),
    SpanConstraints(WORDS, required=((1, 3, None),)),
    SpanConstraints(WORDS, required=((0, 2, "A"),)),
    SpanConstraints(WORDS, required=((1, 4, "B"), (1, 4, "A"))),
    SpanConstraints(WORDS, forbidden=((0, 2, None), (2, 4, "A"))),
    SpanConstraints(WORDS, forbidden=((0, 4, "A"), (1, 4, None))),
    SpanConstraints(WORDS, required=((2, 3, "B"),), forbidden=((0, 1, None),)),
    SpanConstraints(WORDS, ("s", None, None, "t"), required=((0, 3, None),)),
    SpanConstraints(WORDS, (None, "t", "s", None), forbidden=((0, 3, "B"), (3, 4, "A"))),
]


def obeys(tree: Tree, given: SpanConstraints) -> bool:
    """By the definition, on the finished tree."""
    inner = tree.children[0] if tree.label in ROOTS else tree
    labels: dict[tuple[int, int], set[str]] = {}
    for label, i, j in inner.spans():
        labels.setdefault((i, j), set()).add(label)
    tags = all(known is None or known == tag for known, tag in zip(given.tags, tree.tags(), strict=True))
    required = all((i, j) in labels and (label is None or label in labels[i, j]) for i, j, label in given.required)
    forbidden = any((i, j) in labels and (label is None or label in labels[i, j]) for i, j, label in given.forbidden)
    return tags and required and not forbidden


@pytest.mark.parametrize("direction", ["right", "left", "head"])
@pytest.mark.parametrize("given", CASES)
def test_posteriors_lists_and_decoders_equal_enumeration(given: SpanConstraints, direction: str) -> None:
    rng = np.random.default_rng(16)
    data = training_trees(random_trees(rng, 7, 4), direction)
    member = random_member(data, rng)
    grammar = make_grammar(data, [member])
    every = [(d.value, d.tree(grammar, WORDS)) for d in Enumeration(grammar, member, WORDS).derivations()]
    good = [(value, tree) for value, tree in every if value > 0.0 and obeys(tree, given)]
    total = sum(value for value, _ in good)
    assert good, "the case tests something"
    assert given.is_empty or len(good) < len(every)
    labels = grammar.labels
    spans, tags = np.zeros((10, len(labels.phrases))), np.zeros((4, len(labels.tags)))
    for value, tree in good:
        inner = tree.children[0] if tree.label in ROOTS else tree
        for label, i, j in inner.spans():
            spans[span_id(i, j), labels.phrase_index[label]] += value / total
        tags[np.arange(4), [labels.tag_index[tag] for tag in tree.tags()]] += value / total
    found, status, _, _ = average_posteriors([grammar], WORDS, given)
    assert status == Status.PRUNED
    np.testing.assert_allclose(found.spans, spans, atol=1e-9)
    np.testing.assert_allclose(found.tags, tags, atol=1e-9)

    shares: dict[str, float] = {}
    for value, tree in good:
        shares[str(tree)] = shares.get(str(tree), 0.0) + value / total
    listed, _ = k_best_derivations(grammar, WORDS, len(good) + 5, given)
    assert {str(tree) for tree, _ in listed} == set(shares)
    for tree, value in listed:
        assert np.exp(value) == pytest.approx(shares[str(tree)], rel=1e-6)
    for tree, _ in listed[::7]:
        assert np.exp(tree_log_prob(grammar, tree, given)) == pytest.approx(shares[str(tree)], rel=1e-6)
    for decoder in ("max-rule", "goodman"):
        tree, _, _ = best_derivation(grammar, WORDS, decoder, given)
        assert tree is not None and str(tree) in shares


@pytest.fixture(scope="module")
def parser() -> ConstituencyParser:
    trees = random_trees(np.random.default_rng(16), 7, 4)
    return ConstituencyParser(2, n_models=2, binarisations=("right", "left"), max_iter=1, n_jobs=1).fit(trees)


def all_demands() -> list[SpanConstraints]:
    rng = np.random.default_rng(0)
    words = ("x", "y", "z", "x", "y")
    spans = [(i, j) for j in range(1, 6) for i in range(j)]
    found = []
    while len(found) < 60:
        required = [(*spans[k], str(rng.choice(["A", "B", "?"]))) for k in rng.choice(15, 2)]
        forbidden = [(*spans[k], str(rng.choice(["A", "B", "?"]))) for k in rng.choice(15, 2)]
        demands = [tuple((i, j, None if a == "?" else a) for i, j, a in some) for some in (required, forbidden)]
        tags = tuple(rng.choice([None, None, "s", "t"], 5))
        try:
            found.append(SpanConstraints(words, tags, *demands))
        except InputError:
            continue
    return found


@pytest.mark.parametrize("decoder", ["mbr", "max-rule", "goodman"])
def test_every_decoder_obeys_every_demand(parser: ConstituencyParser, decoder: str) -> None:
    demands = all_demands()
    trees = parser.predict(demands, decoder=decoder)
    assert all(obeys(tree, given) for tree, given in zip(trees, demands, strict=True))
    assert trees.diagnostics["relaxed"] > 0, "some demands are too much for the grammar"
    for sure, given, tree in zip(parser.confidence(demands, decoder=decoder), demands, trees, strict=True):
        assert sure.tree == tree
        known = {(label, i, j) for i, j, label in given.required if label is not None}
        assert all(p == 1.0 for label, i, j, p in sure.spans if (label, i, j) in known)
        assert all(0.0 <= p <= 1.0 for *_, p in sure.spans)
        assert 0.0 <= sure.whole <= 1.0


def test_labels_and_tags_that_the_grammar_lacks_are_drawn_anyway(parser: ConstituencyParser) -> None:
    given = SpanConstraints(("x", "y", "z"), ("new", None, None), required=((1, 3, "NEW"),))
    trees = parser.predict([given])
    assert "(NEW " in str(trees[0])
    assert trees[0].tags()[0] == "new"
    assert trees.diagnostics["relaxed"] == 1
    assert chart_constraints(parser.model_.grammars[0], given) is None
    assert parser.kbest([given], 3)[0] == [(trees[0], -np.inf)]


def test_brackets_count_only_when_asked(parser: ConstituencyParser) -> None:
    odd = "(? x (B y z) x)"
    assert "(B " in str(parser.predict([odd], constrained=True)[0])
    given = SpanConstraints.from_tree(parse_tree(odd))
    np.testing.assert_array_equal(
        parser.marginals([odd], constrained=True)[0].spans, parser.marginals([given])[0].spans
    )
    free = parser.marginals([parse_tree(odd)])[0].spans
    assert not np.allclose(free, parser.marginals([given])[0].spans)


def test_files_may_hold_brackets_and_plain_lines(parser: ConstituencyParser, tmp_path) -> None:
    path = tmp_path / "known.txt"
    path.write_text("(? x (B y z))\nx y z\n")
    first, second = parser.predict(path, constrained=True)
    assert obeys(first, SpanConstraints(("x", "y", "z"), required=((1, 3, "B"),)))
    assert second == parser.predict(["x y z"])[0]
    path.write_text("x y\n(? x (B y z)\n")
    with pytest.raises(InputError, match=r"known.txt:2: unbalanced"):
        parser.predict(path, constrained=True)


def test_demands_are_read_from_brackets_and_written_back() -> None:
    given = SpanConstraints.from_tree(parse_tree("(TOP (? (NP the (NN dog)) (! (? barked) loudly)))"))
    assert given.words == ("the", "dog", "barked", "loudly")
    assert given.tags == (None, "NN", None, None)
    assert (given.required, given.forbidden) == (((0, 2, "NP"),), ((2, 4, None),))
    assert SpanConstraints.from_tree(given.to_tree()) == given
    assert is_partial(given.to_tree())
    assert not is_partial(parse_tree("(S (NP (DT the) (NN dog)) (VP (VBD barked)))"))
    crossing = SpanConstraints(("a", "b", "c"), required=((0, 2, None),), forbidden=((1, 3, None),))
    with pytest.raises(InputError, match="cross"):
        crossing.to_tree()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"required": ((0, 2, None), (1, 3, None))}, "crosses one that ends at 2"),
        ({"required": ((0, 2, "A"),), "forbidden": ((0, 2, None),)}, r"\(0, 2\) is both required and forbidden"),
        ({"required": ((0, 2, "A"),), "forbidden": ((0, 2, "A"),)}, "both required and forbidden"),
        ({"forbidden": ((0, 3, None),)}, "the whole sentence is not to be a constituent"),
        ({"required": ((2, 2, None),)}, r"the span \(2, 2\) of 3 words"),
        ({"tags": ("A",)}, "1 tags for 3 words"),
    ],
)
def test_contradictions_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message + r".*in the sentence 'x y z'"):
        SpanConstraints(("x", "y", "z"), **options)


def test_no_words_are_refused() -> None:
    for words in ((), ("a", "")):
        with pytest.raises(InputError, match="without words"):
            SpanConstraints(words)


def test_a_mask_leaves_exactly_the_trees_that_agree() -> None:
    """All labels, tags and places on three words: the forest is empty exactly if no derivation agrees."""
    rng = np.random.default_rng(5)
    data = training_trees(random_trees(rng, 6, 3))
    member = random_member(data, rng)
    grammar = make_grammar(data, [member])
    words = ("x", "y", "z")
    trees = [d.tree(grammar, words) for d in Enumeration(grammar, member, words).derivations() if d.value > 0.0]
    spans = [(i, j) for j in range(1, 4) for i in range(j)]
    for span, label, place in product(spans, ["A", "B", None], ["required", "forbidden"]):
        try:
            given = SpanConstraints(words, **{place: ((*span, label),)})
        except InputError:
            continue
        known = chart_constraints(grammar, given)
        assert known is not None
        forest, _ = prune(grammar, words, known=known)
        assert (forest is None) == (not any(obeys(tree, given) for tree in trees))
