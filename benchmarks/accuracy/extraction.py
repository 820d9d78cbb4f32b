"""Automata from functions alone: how many of 20 random weighted automata and 10 regular languages come back exactly.

Each is a function on strings; nothing else is known of it. What was learned is compared with the truth by the
equivalence test, which decides about all strings. Queries are different strings that the function was asked for, those
that test the automaton included.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Row, row
from spectragram.automata import DFA, WFA, Automaton
from spectragram.synthetic.automata import PNFA

AUTOMATA = 20
TOLERANCE = 1e-6
"""Share of its terms by which a value may differ: the random automata are known to about 1e-9 of it."""


def run(quick: bool) -> list[Row]:
    rng = np.random.default_rng(0)
    rows = _rows("random weighted automata", [random_automaton(rng, i) for i in range(AUTOMATA)])
    return rows + _rows("regular languages", [language.to_wfa() for language in languages().values()])


def _rows(name: str, automata: list[WFA]) -> list[Row]:
    exact, queries, distances = 0, [], []
    for true in automata:
        model = Automaton.from_function(true.value, range(true.n_symbols), compared=0)
        exact += model.wfa_.is_equivalent(true, TOLERANCE)
        queries.append(model.extraction_.n_queries)
        distances.append(model.wfa_.n_states - true.minimize().n_states)
    name = f"{len(automata)} {name}"
    return [
        row(name, "equivalent to the truth", float(exact), float(len(automata)), "goal", "higher"),
        row(name, "states too many or too few", float(np.abs(distances).sum()), 0.0, "goal"),
        row(name, "queries, median", float(np.median(queries)), None, ""),
        row(name, "queries, most", float(max(queries)), None, ""),
    ]


def random_automaton(rng: np.random.Generator, number: int) -> WFA:
    """Of 2 to 8 states over 2 to 4 symbols: every other one is a distribution, the others have signed weights."""
    n_states, n_symbols = int(rng.integers(2, 9)), int(rng.integers(2, 5))
    if number % 2:
        drawn = PNFA.random(n_states, n_symbols, rng=rng, conditioning=1e-3)
        return WFA(drawn.initial, drawn.operators, drawn.final)
    operators = rng.normal(size=(n_symbols, n_states, n_states)) / np.sqrt(n_states)
    return WFA(rng.normal(size=n_states), operators, rng.normal(size=n_states))


def languages() -> dict[str, DFA]:
    """Tomita's seven languages over 0 and 1, and three more."""
    third_from_the_end = np.zeros((2, 4, 4))
    third_from_the_end[:, 0, 0] = third_from_the_end[1, 0, 1] = 1
    third_from_the_end[:, 1, 2] = third_from_the_end[:, 2, 3] = 1
    return {
        "1*": DFA([[1, 0], [1, 1]], [True, False]),
        "(10)*": DFA([[2, 1], [0, 2], [2, 2]], [True, False, False]),
        "no odd zeros after odd ones": DFA([[0, 1], [2, 0], [3, 4], [2, 1], [4, 4]], [True, True, False, True, False]),
        "no 000": DFA([[1, 0], [2, 0], [3, 0], [3, 3]], [True, True, True, False]),
        "even zeros and ones": DFA([[2, 1], [3, 0], [0, 3], [1, 2]], [True, False, False, False]),
        "zeros minus ones mod 3": DFA([[1, 2], [2, 0], [0, 1]], [True, False, False]),
        "0*1*0*1*": DFA([[0, 1], [2, 1], [2, 3], [4, 3], [4, 4]], [True, True, True, True, False]),
        "contains 0101": DFA([[1, 0], [1, 2], [3, 0], [1, 4], [4, 4]], [False, False, False, False, True]),
        "multiples of 5": DFA([[2 * s % 5, (2 * s + 1) % 5] for s in range(5)], [True, False, False, False, False]),
        "third from the end is 1": DFA.from_wfa(WFA(np.eye(4)[0], third_from_the_end, np.eye(4)[3])).minimize(),
    }
