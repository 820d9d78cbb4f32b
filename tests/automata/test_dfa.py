"""Languages of deterministic automata, against all short strings; weighted and Boolean determinisation."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.automata import DFA, WFA, Automaton, determinize
from spectragram.automata.comparison import is_deterministic
from spectragram.errors import InputError, RankError
from spectragram.plots.automata import automaton_dot, draw_automaton, graph_of_dfa
from spectragram.synthetic.automata import PNFA, all_strings

STRINGS = all_strings(2, 7)


def random_dfa(rng, n_states=6, n_symbols=2) -> DFA:
    """Some moves lead nowhere, and some states cannot be reached."""
    return DFA(rng.integers(-1, n_states, (n_states, n_symbols)), rng.random(n_states) < 0.4)


def language(dfa: DFA) -> list[bool]:
    return [dfa.accept(string) for string in STRINGS]


def nerode_index(dfa: DFA) -> int:
    """Number of residual languages of short prefixes, told apart by short strings."""
    residuals = {tuple(dfa.accept((*u, *v)) for v in all_strings(2, 5)) for u in all_strings(2, 5)}
    return len(residuals)


@pytest.mark.parametrize("seed", range(25))
def test_operations_on_languages(seed) -> None:
    rng = np.random.default_rng(seed)
    f, g = random_dfa(rng), random_dfa(rng, 4)
    a, b = np.array(language(f)), np.array(language(g))
    for found, expected in (
        (~f, ~a), (f & g, a & b), (f | g, a | b), (f - g, a & ~b), (f ^ g, a != b), (f.complete(), a), (f.minimize(), a)
    ):  # fmt: skip
        assert language(found) == expected.tolist()
    np.testing.assert_array_equal(f.to_wfa().values(STRINGS), a.astype(float))
    smallest = f.minimize()
    assert smallest.n_states == nerode_index(f)
    assert smallest.minimize().target.tolist() == smallest.target.tolist()
    # The shortest difference is the first in the order of lengths, and the canonical forms differ just if there is one.
    first = next((string for string, x, y in zip(STRINGS, a, b, strict=True) if x != y), None)
    found = f.counterexample(g)
    assert (found is None) == (first is None)
    if found is not None and first is not None:
        assert len(found) == len(first) and f.accept(found) != g.accept(found)
    assert f.is_equivalent(smallest) and smallest.is_equivalent(f)
    shortest = f.shortest()
    accepted = [string for string, x in zip(STRINGS, a, strict=True) if x]
    assert (shortest is None) == (not accepted)
    assert shortest is None or len(shortest) == len(accepted[0])


def test_equivalent_automata_have_one_canonical_form(rng) -> None:
    dfa = random_dfa(rng).complete()
    order = np.concatenate([[0], 1 + rng.permutation(dfa.n_states - 1)])
    place = np.argsort(order)
    shuffled = DFA(place[dfa.target[order]], dfa.accepts[order])
    assert shuffled.minimize() == dfa.minimize() != ~dfa.minimize()
    assert len({shuffled.minimize(), dfa.minimize(), dfa}) == 1 + (dfa.minimize() != dfa)


def test_symbols_of_a_dfa() -> None:
    ends_in_b = DFA([[0, 1], [0, 1]], [False, True], ("a", "b"))
    same = DFA([[1, 0], [1, 0]], [False, True], ("b", "a"))
    assert ends_in_b.accept(list("aab")) and not ends_in_b.accept(list("aba")) and not ends_in_b.accept(["c"])
    assert ends_in_b.is_equivalent(same)
    assert (ends_in_b ^ (ends_in_b & ~same)).shortest() == ["b"]
    with pytest.raises(InputError, match="different alphabets"):
        ends_in_b & DFA([[0]], [True])
    with pytest.raises(InputError, match="not there"):
        DFA([[3]], [True])
    with pytest.raises(InputError, match="shape"):
        DFA([[0]], [True, False])
    with pytest.raises(InputError, match="1 symbols for 2 columns"):
        DFA([[0, 0]], [True], ("a", "a"))


def nth_from_the_end(n: int) -> WFA:
    """The Boolean automaton of strings whose n-th symbol from the end is 1: its DFA has 2^n states."""
    operators = np.zeros((2, n + 1, n + 1))
    operators[:, 0, 0] = 1
    operators[1, 0, 1] = 1
    for i in range(1, n):
        operators[:, i, i + 1] = 1
    return WFA(np.eye(n + 1)[0], operators, np.eye(n + 1)[n])


def test_subset_construction() -> None:
    dfa = DFA.from_wfa(nth_from_the_end(4))
    assert language(dfa) == [len(string) >= 4 and string[-4] == 1 for string in STRINGS]
    assert dfa.minimize().n_states == 16
    with pytest.raises(RankError, match="more than 100 states"):
        DFA.from_wfa(nth_from_the_end(8), max_states=100)
    with pytest.raises(InputError, match="negative"):
        DFA.from_wfa(-1.0 * nth_from_the_end(2))


def test_weighted_determinisation(rng) -> None:
    # A mixture of two deterministic automata over different symbols is finite; one in which they overlap is not.
    drawn = PNFA.random(3, 2, rng=rng)
    wfa = WFA(drawn.initial, drawn.operators, drawn.final)
    with pytest.raises(RankError, match="never ends"):
        determinize(wfa, max_states=50)
    target = DFA([[1, 0], [2, 2], [0, 1]], [True, False, True])
    tilted = (0.5 * target.to_wfa()).change_of_basis(rng.normal(size=(3, 3))) + 0.0 * wfa
    found = determinize(tilted)
    assert is_deterministic(found) and not is_deterministic(tilted)
    np.testing.assert_allclose(found.values(STRINGS), tilted.values(STRINGS), atol=1e-9)
    scaled = WFA(np.ones(1), np.array([[[0.3]], [[2.0]]]), np.ones(1))
    np.testing.assert_allclose(determinize(scaled).values(STRINGS), scaled.values(STRINGS))


def test_languages_are_found_exactly_from_their_functions() -> None:
    parity = Automaton.from_function(lambda s: float(s.count("a") % 2 == 0), ["a", "b"]).to_dfa()
    assert parity.n_states == 2
    assert parity.is_equivalent(DFA([[1, 0], [0, 1]], [True, False], ("a", "b")))
    no_aa = Automaton.from_function(lambda s: float("aa" not in "".join(s)), ["a", "b"]).to_dfa()
    assert no_aa.n_states == 3
    assert no_aa.is_equivalent(DFA([[1, 0], [2, 0], [2, 2]], [True, True, False], ("a", "b")))
    assert (no_aa.target >= 0).all()  # the dead state is there


def test_a_deterministic_distribution_keeps_its_states(rng) -> None:
    operators = np.zeros((2, 3, 3))
    operators[0, 0, 1], operators[1, 0, 2], operators[0, 1, 0], operators[1, 2, 2] = 0.5, 0.3, 0.9, 0.6
    true = WFA(np.eye(3)[0], operators, np.array([0.2, 0.1, 0.4]))
    tilted = Automaton.from_wfa(true.change_of_basis(rng.normal(size=(3, 3))), ["a", "b"])
    dfa = tilted.to_dfa()
    assert dfa.n_states == 4  # and a dead one
    drawn = tilted.sample(300)
    assert all(dfa.accept(string) for string in drawn)
    assert not dfa.accept(["a", "b"]) and dfa.accept(["b", "b", "b"])
    given = tilted.to_dfa([["a"], ["b", "b"], ["b"]])
    assert given.counts[:, -1].sum() == 3
    assert given.moves_of(0) == ["b->2 67%", "a->1 33%"]


def test_approximations_have_at_most_the_states_asked_for(rng) -> None:
    drawn = PNFA.random(4, 3, rng=rng)
    model = Automaton.from_wfa(WFA(drawn.initial, drawn.operators, drawn.final))
    dfa = model.to_dfa(n_states=5)
    assert 1 < dfa.n_states <= 5
    growing = Automaton.from_function(lambda s: float(s.count("a")), ["a", "b"])
    assert growing.to_dfa(n_states=4).n_states <= 4  # a function that diverges and is not a language either


def test_pictures_ring_the_states_that_accept() -> None:
    no_aa = Automaton.from_function(lambda s: float("aa" not in "".join(s)), ["a", "b"], compared=0).to_dfa()
    assert no_aa.accepts.tolist() == [True, True, False]
    lines = automaton_dot(graph_of_dfa(no_aa)).splitlines()
    assert ["doublecircle" in line for line in lines[3:6]] == [True, True, False]
    assert "end" not in lines[5]
    assert str(draw_automaton(graph_of_dfa(no_aa))).count("<circle") == 5


def test_dfas_draw_themselves() -> None:
    import xml.etree.ElementTree as ET

    dfa = DFA([[1, 0], [0, 1]], [True, False], ("<x>", "b"))
    root = ET.fromstring(str(dfa._repr_svg_()))
    texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("<x>") == texts.count("b") == 2
    assert DFA(np.zeros((99, 1)), np.ones(99))._repr_svg_() is None
