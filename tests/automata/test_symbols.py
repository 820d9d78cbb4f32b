"""Symbols of any hashable kind: in every method, in files, and in the formats of other tools."""

from __future__ import annotations

import json

import numpy as np
import pytest

from spectragram import load
from spectragram.automata import Automaton
from spectragram.automata.export import from_json, from_openfst, symbol_table, to_json, to_openfst
from spectragram.data.corpus import END, Corpus, Vocabulary
from spectragram.data.symbols import symbol_from_json, symbol_to_json
from spectragram.errors import InputError

TEXTS = [["a", "b"] * n + ["c"] * (n % 3) for n in (1, 2, 3, 1, 2, 4)] * 8 + [["c", "a"], [], ["b"]] * 3
RENAMED = [
    {"a": 0, "b": 1, "c": 2},
    {"a": ("x", 1), "b": ("x", 2), "c": ("y", (3, "z"))},
    {"a": -1.5, "b": 2, "c": "q"},
    {"a": b"a\xff", "b": frozenset({1, 2}), "c": None},
]


@pytest.mark.parametrize("names", RENAMED, ids=["integers", "tuples", "mixed", "others"])
@pytest.mark.parametrize("learner", ["spectral", "bigram"])
def test_symbols_of_any_kind_behave_like_texts(names, learner, tmp_path) -> None:
    strings = [[names[symbol] for symbol in string] for string in TEXTS]
    texts = Automaton(3, learner, preset="fast", n_jobs=1).fit(TEXTS)
    model = Automaton(3, learner, preset="fast", n_jobs=1).fit(strings)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.vocabulary_ == model.vocabulary_
    assert [type(word) for word in loaded.vocabulary_.words] == [type(word) for word in model.vocabulary_.words]
    for found in (model, loaded):
        # Another order of symbols is another order of sums, so the weights agree up to rounding.
        np.testing.assert_allclose(found.log_prob(strings), texts.log_prob(TEXTS), rtol=1e-6, atol=1e-9)
        back = {symbol: name for name, symbol in names.items()} | {END: END}
        assert [[back[s] for s in one] for one in found.predict(strings[:6])] == list(texts.predict(TEXTS[:6]))
        order = [*(found.vocabulary_.index[names[s]] for s in "abc"), 3]
        np.testing.assert_allclose(found.next(strings)[:, order], texts.next(TEXTS), atol=1e-7)
        np.testing.assert_allclose(found.value(strings), texts.value(TEXTS), atol=1e-7)
        assert {symbol for string in found.sample(20) for symbol in string} <= set(names.values())
        assert found.to_dfa(strings, 3).n_states <= 3


def test_functions_of_integers_are_learned_and_asked() -> None:
    ones = Automaton.from_function(lambda string: float(sum(string)), [0, 1])
    np.testing.assert_allclose(ones.value([[0, 1, 1], np.array([1, 1, 1]), (), "0 1"]), [2, 3, 0, 1], atol=1e-9)
    pairs = Automaton.from_function(lambda s: 0.5 ** len(s), [("up", 1), ("down", 2)])
    np.testing.assert_allclose(pairs.value([[("up", 1), ("down", 2)]]), 0.25)


def test_files_and_texts_spell_symbols(tmp_path) -> None:
    strings = [[0, 2], [2, 2, 10], []] * 10
    model = Automaton(learner="bigram").fit(strings)
    assert model.vocabulary_.words == (0, 2, 10)  # in the order of numbers
    (tmp_path / "strings.txt").write_text("0 2\n2 2 10\n\n")
    np.testing.assert_array_equal(model.log_prob(tmp_path / "strings.txt"), model.log_prob(strings[:3]))
    np.testing.assert_array_equal(model.log_prob(["0 2", "2 2 10", ""]), model.log_prob(strings[:3]))
    np.testing.assert_array_equal(model.log_prob(Corpus.from_sequences(["0 2"])), model.log_prob([[0, 2]]))
    assert np.isfinite(model.log_prob([[0, 7]])).all()  # an unknown number is an unknown symbol
    with pytest.raises(InputError, match="'x' is not the spelling"):
        model.log_prob(["0 x"])
    both = Automaton(learner="bigram").fit([[1, "1"]] * 10)
    assert np.exp(both.log_prob([[1, "1"]]))[0] > 0.5
    with pytest.raises(InputError, match="both written '1'"):
        both.log_prob(["1 1"])


def test_symbols_of_a_type_that_was_never_seen_are_refused() -> None:
    texts, numbers = Automaton(learner="bigram").fit([["0", "1"]]), Automaton(learner="bigram").fit([[0, 1]])
    with pytest.raises(InputError, match=r"type int \(0\) for an alphabet of type str"):
        texts.log_prob([[0, 1]])
    with pytest.raises(InputError, match=r"type str \('0'\) for an alphabet of type int"):
        numbers.log_prob([["0", 1]])
    with pytest.raises(InputError, match="hashable"):
        numbers.log_prob([[[0]]])
    for wrong in (float("nan"), ""):
        with pytest.raises(InputError, match="equal to themselves"):
            Automaton().fit([[wrong, 1]])


def test_only_plain_symbols_are_saved(tmp_path) -> None:
    class Thing:
        """Hashable, but no file holds it."""

    thing = Thing()
    model = Automaton(learner="bigram").fit([[thing, thing], [thing]])
    assert model.predict([[thing]])[0][0] is thing
    with pytest.raises(InputError, match=r"type Thing .* cannot be saved"):
        model.save(tmp_path / "model")
    with pytest.raises(InputError, match="cannot be saved"):
        symbol_to_json(float("inf"))
    for wrong in ({"tuple": 3}, {"os.system": ["true"]}, {"tuple": [], "bytes": ""}, [1]):
        with pytest.raises(ValueError, match="not a symbol"):
            symbol_from_json(wrong)
    with pytest.raises(ValueError):
        Vocabulary.from_state({"unknown": None, "symbols": "json"}, {"words": ['{"set": []}'], "counts": [1]})


def test_formats_of_other_tools_round_trip() -> None:
    words = [0, ("a", 1), "b c"]
    wfa = Automaton(learner="bigram").fit([words, words[:2]] * 5).wfa_
    back, found = from_json(to_json(wfa, words))
    assert found == words
    np.testing.assert_array_equal(back.operators, wfa.operators)
    assert json.loads(to_json(wfa, words))["symbols"] == [0, {"tuple": ["a", 1]}, "b c"]
    again, found = from_openfst(to_openfst(wfa, words), words)
    assert found == words
    np.testing.assert_allclose(again.values([[0, 1], [2], []]), wfa.values([[0, 1], [2], []]))
    assert "('a',_1)\t2\n" in symbol_table(words)
