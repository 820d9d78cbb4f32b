"""Formats of other tools: written, read back, refused where they cannot hold a model."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.automata import WFA, Automaton
from spectragram.automata.export import (
    from_json,
    from_openfst,
    from_pautomac,
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
    np.testing.assert_allclose(from_openfst(text, WORDS).values(STRINGS), wfa.values(STRINGS), rtol=1e-12)
    fields = [line.split("\t") for line in text.splitlines()]
    assert {len(f) for f in fields} == {2, 4}
    names = {line.split("\t")[0] for line in symbol_table(WORDS).splitlines()}
    assert {f[2] for f in fields if len(f) == 4} <= names
    with pytest.raises(InputError, match="line 1"):
        from_openfst("0 1 x", WORDS)
    with pytest.raises(InputError, match="no states"):
        from_openfst("", WORDS)


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
    back = from_pautomac(read_pautomac_model(tmp_path / "model"))
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
