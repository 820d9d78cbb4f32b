"""The trained parser as data: what a file holds is what memory holds, and nonsense is refused."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.constituency import ConstituencyParser
from spectragram.constituency.model import Member, Model
from spectragram.data.binarization import base_label, is_intermediate
from spectragram.synthetic.english import english_trees


@pytest.fixture(scope="module")
def model() -> Model:
    parser = ConstituencyParser(3, preset="fast", n_models=3, max_iter=1, binarisations=["right", "left"])
    return parser.fit(english_trees(40)).model_


def test_models_in_memory_are_those_of_files(model):
    values, arrays = model.to_state()
    restored = Model.from_state(values, arrays)
    for ours, theirs in zip(model.grammars, restored.grammars, strict=True):
        left, right = ((g.coarse, g.middle, *g.members) for g in (ours, theirs))
        for a, b in zip(left, right, strict=True):
            for name in a.operators._fields:
                np.testing.assert_array_equal(getattr(a.operators, name), getattr(b.operators, name))
            np.testing.assert_array_equal(a.lexicon.row_vectors(), b.lexicon.row_vectors())
        np.testing.assert_array_equal(ours.weights.by_children, theirs.weights.by_children)


def test_members_take_turns_with_binarisations(model):
    assert [len(grammar.members) for grammar in model.grammars] == [2, 1]


def test_grammars_share_labels_and_words(model):
    restored = Model.from_state(*model.to_state())
    for part in (model, restored):
        first, second = part.grammars
        tables = {id(m.lexicon.table) for g in part.grammars for m in (g.coarse, g.middle, *g.members)}
        assert tables == {id(part.words)}
        assert first.labels.phrases == second.labels.phrases == part.labels.phrases
        assert part.labels.tags == list(first.productions.labels[: first.productions.n_tags])


def test_rounding_keeps_seven_digits(model):
    member = model.grammars[0].members[0]
    thirds = member.operators.binary.astype(np.float64) / 3.0
    exact = Member(member.operators._replace(binary=thirds), member.lexicon)
    found = exact.rounded()
    assert not np.array_equal(found.operators.binary, exact.operators.binary)
    np.testing.assert_allclose(found.operators.binary, exact.operators.binary, rtol=1e-7)
    np.testing.assert_array_equal(found.rounded().operators.binary, found.operators.binary)


def test_label_maps_show_what_trees_show(model):
    for grammar in model.grammars:
        shown, start, labels = grammar.label_maps
        productions, phrases = grammar.productions, grammar.labels.phrases
        for a, label in enumerate(productions.labels):
            hidden = a < productions.n_tags or is_intermediate(label)
            assert shown[a] == -1 if hidden else phrases[shown[a]] == base_label(label)
        for u, (upper, _, chain) in enumerate(productions.unary):
            names = [phrases[label] for label in labels[start[u] : start[u + 1]]]
            assert names == [base_label(productions.labels[upper]), *map(base_label, productions.chains[chain])]


def changed(model: Model, name: str, value: object) -> tuple[dict, dict]:
    values, arrays = model.to_state()
    return (values | {name: value}, arrays) if name in values else (values, arrays | {name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("decoder", "nonsense"),
        ("grammars", []),
        ("grammar0.member0.n_states", np.ones(3, np.int32)),
        ("grammar0.member0.binary", np.ones(3, np.float32)),
        ("grammar0.coarse.root", np.ones((2, 2), np.float32)),
    ],
)
def test_parts_that_do_not_fit_are_refused(model, name, value):
    with pytest.raises(ValueError, match=r"do not fit|shape|decoder"):
        Model.from_state(*changed(model, name, value))


def test_a_missing_part_is_refused(model):
    values, arrays = model.to_state()
    del arrays["grammar1.member0.kept"]
    with pytest.raises(KeyError):
        Model.from_state(values, arrays)
    values["grammars"][0]["n_members"] = 0
    with pytest.raises(ValueError, match="without members"):
        Model.from_state(values, arrays)
