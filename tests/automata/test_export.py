"""Formats of other tools: written, read back, refused where they cannot hold a model."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.automata import DFA, WFA, Automaton
from spectragram.automata.export import (
    dfa_from_dot,
    dfa_to_dot,
    from_json,
    from_openfst,
    symbol_table,
    to_json,
    to_openfst,
    to_pautomac,
)
from spectragram.data.pautomac import read_pautomac_model, write_pautomac_model
from spectragram.errors import InputError
from spectragram.plots.automata import automaton_dot, draw_automaton, graph_of_dfa, graph_of_wfa
from spectragram.synthetic.automata import PNFA, all_strings

WORDS = ["a", "<b>", 'c"&']
STRINGS = all_strings(3, 3)


@pytest.fixture
def wfa(rng) -> WFA:
    drawn = PNFA.random(3, 3, rng=rng)
    return WFA(drawn.initial, drawn.operators, drawn.final)


def test_openfst_round_trip(wfa) -> None:
    text = to_openfst(wfa, WORDS)
    back, words = from_openfst(text, WORDS)
    assert back.n_states == 3 and words == WORDS
    np.testing.assert_allclose(back.values(STRINGS), wfa.values(STRINGS), rtol=1e-12)
    assert from_openfst(text)[1] == sorted(WORDS)
    fields = [line.split("\t") for line in text.splitlines()]
    assert {len(f) for f in fields} == {2, 4}
    names = {line.split("\t")[0] for line in symbol_table(WORDS).splitlines()}
    assert {f[2] for f in fields if len(f) == 4} <= names
    with pytest.raises(InputError, match="line 2"):
        from_openfst("0 1 a\n0 1 2 3 4 5", WORDS)
    with pytest.raises(InputError, match="line 1"):
        from_openfst("x 1 a", WORDS)
    with pytest.raises(InputError, match="'z' is not in the alphabet"):
        from_openfst("0 1 z", WORDS)
    with pytest.raises(InputError, match="no states"):
        from_openfst("", WORDS)


def test_openfst_of_others() -> None:
    """Without costs, with other numbers of states, and with epsilon arcs in the middle."""
    text = "7 3 a\n3 9 <eps> 0.6931471805599453\n3 3 b 1.3862943611198906\n9 7 a\n9\n3 2.302585092994046\n5 6 a\n"
    wfa, words = from_openfst(text)
    assert words == ["a", "b"] and wfa.n_states == 3
    exact = {"a": 0.1 + 0.5, "": 0.0, "b": 0.0, "ab": 0.25 * (0.1 + 0.5), "aaa": 0.5 * 0.6, "abaa": 0.25 * 0.5 * 0.6}
    for string, value in exact.items():
        assert wfa.value([words.index(symbol) for symbol in string]) == pytest.approx(value)
    with pytest.raises(InputError, match="loop of epsilon"):
        from_openfst("0 0 <eps> 0\n0 1 a\n1")


def test_dots_of_aalpy(tmp_path) -> None:
    dfa = DFA([[1, 0, -1], [0, 2, 1], [2, 2, 2]], [True, False, True], ("a", 'b"', "c d"))
    text = dfa_to_dot(dfa)
    back = dfa_from_dot(text)
    assert back.symbols == tuple(sorted(dfa.symbols))
    assert back.is_equivalent(dfa)
    learned = """digraph learnedModel {
s0 [label="s0"];
s1 [label="s1", shape=doublecircle];
s0 -> s0  [label="0"];
s0 -> s1  [label="1"];
s1 -> s1  [label="0"];
s1 -> s0  [label="1"];
__start0 [label="", shape=none];
__start0 -> s0  [label=""];
}"""
    odd = dfa_from_dot(learned)
    numbers = DFA([[1, 0], [0, 1]], [True, False], [10, 9])
    assert dfa_from_dot(dfa_to_dot(numbers), [10, 9]) == numbers
    with pytest.raises(InputError, match="the symbol '9' is not in the alphabet"):
        dfa_from_dot(dfa_to_dot(numbers), [10, 8])
    assert odd.accept(["1", "0"]) and not odd.accept(["1", "1"])
    with pytest.raises(InputError, match="__start0"):
        dfa_from_dot("digraph { a -> b; }")


def test_openfst_refuses_negative_weights(wfa, rng) -> None:
    with pytest.raises(InputError, match="negative"):
        to_openfst(wfa.change_of_basis(rng.normal(size=(3, 3))), WORDS)


def test_json_round_trip_of_signed_weights(wfa, rng) -> None:
    tilted = wfa.change_of_basis(rng.normal(size=(3, 3)))
    back, words = from_json(to_json(tilted, WORDS))
    assert words == WORDS
    np.testing.assert_array_equal(back.operators, tilted.operators)
    with pytest.raises(InputError, match="not an automaton"):
        from_json('{"symbols": ["a"]}')


def test_pautomac_round_trip(wfa, rng, tmp_path) -> None:
    write_pautomac_model(to_pautomac(wfa), tmp_path / "model")
    back = read_pautomac_model(tmp_path / "model").to_wfa()
    np.testing.assert_allclose(back.values(STRINGS), wfa.values(STRINGS), rtol=1e-12)
    with pytest.raises(InputError, match="probabilistic"):
        to_pautomac(wfa.change_of_basis(rng.normal(size=(3, 3))))


def test_pictures_hold_every_state_and_escape_symbols(wfa) -> None:
    import xml.etree.ElementTree as ET

    for graph in (
        graph_of_wfa(wfa, WORDS),
        graph_of_dfa(Automaton(learner="merge").fit([list("ab")] * 9).to_dfa([list("ab")] * 9, 3)),
    ):
        root = ET.fromstring(str(draw_automaton(graph, "title <&>")))
        texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
        assert set(graph.names) <= set(texts)
        box = [float(x) for x in root.attrib["viewBox"].split()]
        for circle in root.iter("{http://www.w3.org/2000/svg}circle"):
            assert 0 < float(circle.attrib["cx"]) < box[2]
            assert 0 < float(circle.attrib["cy"]) < box[3]
        dot = automaton_dot(graph)
        assert dot.startswith("digraph") and dot.count("->") == len(graph.edges)
    assert r"c\"&" in automaton_dot(graph_of_wfa(wfa, WORDS, smallest=0.0))
