"""Automata in the formats of other tools: OpenFst text, DOT, PAutomaC models, JSON.

format      holds                              reads back to
openfst     arcs with weight -log(w), w > 0    the same automaton, and any other acceptor
pautomac    probabilities I, F, S, T           the same automaton (PautomacModel.to_wfa)
json        any weights, signed too            the same automaton
dot         a drawing for graphviz             nothing; DFAs as AALpy writes them read back
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from spectragram.automata.dfa import DFA
from spectragram.automata.wfa import WFA
from spectragram.data.pautomac import PautomacModel
from spectragram.data.symbols import spell, symbol_from_json, symbol_to_json
from spectragram.errors import InputError

__all__ = [
    "dfa_from_dot",
    "dfa_to_dot",
    "from_json",
    "from_openfst",
    "symbol_table",
    "to_dot",
    "to_json",
    "to_openfst",
    "to_pautomac",
]

EPSILON = "<eps>"
DOT_ARC = re.compile(r'\s*"?(\w+)"?\s*->\s*"?(\w+)"?\s*\[.*?label="((?:[^"\\]|\\.)*)"')
DOT_NODE = re.compile(r'\s*"?(\w+)"?\s*\[(.*)\]')


def to_openfst(wfa: WFA, words: Sequence[Any], *, smallest: float = 0.0) -> str:
    """Text for ``fstcompile --acceptor --isymbols=...`` with weights -log(w); see :func:`symbol_table`.

    A state 0 is added, from which epsilon arcs lead to every state with its initial weight. Weights of at most
    ``smallest`` are left out.
    """
    if min(wfa.initial.min(), wfa.operators.min(initial=0.0), wfa.final.min()) < 0:
        raise InputError(
            "OpenFst's semirings cannot hold the negative weights of this automaton",
            remedy="export to json, or train a probabilistic learner (pivot, em, pivot+em, ...)",
        )
    names = _safe_words(words)
    lines = [f"0\t{i + 1}\t{EPSILON}\t{_cost(w)}" for i, w in enumerate(wfa.initial) if w > smallest]
    for symbol, source, target in np.argwhere(wfa.operators > smallest).tolist():
        cost = _cost(wfa.operators[symbol, source, target])
        lines.append(f"{source + 1}\t{target + 1}\t{names[symbol]}\t{cost}")
    lines += [f"{i + 1}\t{_cost(w)}" for i, w in enumerate(wfa.final) if w > smallest]
    return "\n".join(lines) + "\n"


def symbol_table(words: Sequence[Any]) -> str:
    """The symbol table that belongs to :func:`to_openfst`: epsilon is 0, symbol k is k + 1."""
    return "".join(f"{word}\t{i}\n" for i, word in enumerate([EPSILON, *_safe_words(words)]))


def from_openfst(text: str, words: Sequence[Any] | None = None) -> tuple[WFA, list[Any]]:
    """Read OpenFst's text of an acceptor with weights -log(w), and its symbols.

    Lines are ``source target symbol [cost]`` or ``state [cost]``, in which no cost means a weight of 1; the start is
    the source of the first line. Epsilon arcs may be anywhere: they are summed over and removed.

    Parameters
    ----------
    text : str
        What :func:`to_openfst` or ``fstprint --acceptor`` wrote.
    words : sequence of hashable symbols, optional
        The alphabet, spelled in the text; by default the symbols of the text, sorted.
    """
    arcs: list[tuple[str, int, int, float]] = []
    ends: dict[int, float] = {}
    number_of: dict[str, int] = {}

    def state(name: str) -> int:
        return number_of.setdefault(str(int(name)), len(number_of))

    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split()
        try:
            if len(fields) in (3, 4):
                weight = math.exp(-float(fields[3])) if len(fields) == 4 else 1.0
                arcs.append((fields[2], state(fields[0]), state(fields[1]), weight))
            elif fields:
                ends[state(fields[0])] = math.exp(-float(fields[1])) if len(fields) == 2 else 1.0
                if len(fields) > 2:
                    raise ValueError(f"{len(fields)} fields")
        except ValueError as trouble:
            raise InputError(
                f"{line[:60]!r} ({trouble})", line=number, remedy="expected: source target symbol cost, or state cost"
            ) from None
    if not number_of:
        raise InputError("no states in this OpenFst text", remedy="give the text of an acceptor")
    found = sorted({symbol for symbol, *_ in arcs} - {EPSILON})
    alphabet = list(found if words is None else words)
    index = {word: i for i, word in enumerate(_safe_words(alphabet))}
    _require_all(found, index)
    m = len(number_of)
    moves = np.zeros((len(alphabet) + 1, m, m))
    for symbol, source, target, weight in arcs:
        moves[index.get(symbol, len(alphabet)), source, target] += weight
    final = np.zeros(m)
    final[list(ends)] = list(ends.values())
    return _without_epsilon(moves[:-1], moves[-1], final), alphabet


def _without_epsilon(operators: np.ndarray, epsilon: np.ndarray, final: np.ndarray) -> WFA:
    """The automaton that starts in state 0, without states that no string with a value passes.

    Any number of epsilon moves may follow the start and each symbol: (I - E)^-1 = I + E + E^2 + ...
    """
    if np.abs(np.linalg.eigvals(epsilon)).max() >= 1.0 - 1e-12:  # near the rounding error
        raise InputError("the weights of a loop of epsilon arcs do not sum", remedy="make its cost larger")
    closure = np.linalg.inv(np.eye(len(final)) - epsilon)
    initial, operators = closure[0], operators @ closure
    step = (operators != 0).any(axis=0)
    useful = _reached(initial != 0, step) & _reached(final != 0, step.T)
    kept = np.flatnonzero(useful) if useful.any() else np.array([0])
    return WFA(initial[kept], operators[:, kept][:, :, kept], final[kept])


def _reached(states: np.ndarray, step: np.ndarray) -> np.ndarray:
    """States (m,) from which, or the given ones, moves (m, m) lead to."""
    while True:
        more = states | step[states].any(axis=0)
        if (more == states).all():
            return states
        states = more


def to_pautomac(wfa: WFA) -> PautomacModel:
    """A probabilistic automaton in the competition's form: A[s, i, j] = (1 - F[i]) S[i, s] T[s, i, j]."""
    if not wfa.is_probabilistic(1e-6):
        raise InputError(
            "the PAutomaC format holds only probabilistic automata, and this one is not",
            remedy="train with learner pivot, em, merge+em, ... instead of spectral",
        )
    going = wfa.operators.sum(axis=2).T  # (m, k)
    leaving = np.maximum(1.0 - wfa.final, 1e-300)  # a guard against division by zero
    symbol = np.where(wfa.final[:, None] < 1.0, going / leaving[:, None], 0.0)
    transition = wfa.operators / np.where(going.T > 0, going.T, 1.0)[:, :, None]
    return PautomacModel(wfa.initial, wfa.final, symbol, transition)


def to_json(wfa: WFA, words: Sequence[Any]) -> str:
    """A JSON object with ``symbols``, ``initial``, ``final`` and ``operators``, a matrix for each symbol in order.

    Symbols that JSON does not have are written as :mod:`spectragram.data.symbols` says.
    """
    return json.dumps(
        {
            "symbols": [symbol_to_json(word) for word in words],
            "initial": wfa.initial.tolist(),
            "final": wfa.final.tolist(),
            "operators": wfa.operators.tolist(),
        }
    )


def from_json(text: str) -> tuple[WFA, list[Any]]:
    """Read what :func:`to_json` wrote: the automaton and its symbols."""
    try:
        content = json.loads(text)
        words = [symbol_from_json(symbol) for symbol in content["symbols"]]
        m = len(content["initial"])
        operators = np.array(content["operators"], np.float64).reshape(len(words), m, m)
        return WFA(np.array(content["initial"]), operators, np.array(content["final"])), words
    except (KeyError, TypeError, ValueError) as trouble:
        raise InputError(
            f"this JSON is not an automaton ({type(trouble).__name__}: {trouble})", remedy="give what export wrote"
        ) from None


def to_dot(
    edges: Iterable[tuple[int, int, str]], labels: Sequence[str], starts: Iterable[int], ends: Iterable[int]
) -> str:
    """DOT text of states with ``labels``, labelled edges, start states (bold) and end states (double circles)."""
    starts, ends = set(starts), set(ends)
    lines = ["digraph automaton {", "  rankdir=LR;", "  node [shape=circle];"]
    for i, label in enumerate(labels):
        style = (", shape=doublecircle" if i in ends else "") + (", style=bold" if i in starts else "")
        lines.append(f"  {i} [label={_quoted(label)}{style}];")
    lines += [f"  {source} -> {target} [label={_quoted(label)}];" for source, target, label in edges]
    return "\n".join([*lines, "}"]) + "\n"


def dfa_to_dot(dfa: DFA) -> str:
    """The DOT text of a deterministic automaton, as AALpy and graphviz read it; symbols are spelled.

    AALpy reads it with ``aalpy.utils.load_automaton_from_file(path, "dfa")``.
    """
    lines = ["digraph dfa {"]
    for state, accepts in enumerate(dfa.accepts.tolist()):
        lines.append(f'  s{state} [label="s{state}"{", shape=doublecircle" if accepts else ""}];')
    for state, symbol in np.argwhere(dfa.target >= 0).tolist():
        lines.append(f"  s{state} -> s{dfa.target[state, symbol]} [label={_quoted(spell(dfa.symbols[symbol]))}];")
    return "\n".join([*lines, '  __start0 [label="", shape=none];', '  __start0 -> s0 [label=""];', "}"]) + "\n"


def dfa_from_dot(text: str, words: Sequence[Any] | None = None) -> DFA:
    """Read the DOT text of a deterministic automaton that AALpy or :func:`dfa_to_dot` wrote.

    States with double circles accept, and ``__start0`` points to the start.

    Parameters
    ----------
    text : str
    words : sequence of hashable symbols, optional
        The alphabet, spelled in the text; by default the strings of the text, sorted.
    """
    accepting: set[str] = set()
    states: dict[str, int] = {}
    start = None
    arcs: list[tuple[str, str, str]] = []
    for line in text.splitlines():
        arc, node = DOT_ARC.match(line), DOT_NODE.match(line)
        if arc and arc[1] == "__start0":
            start = arc[2]
        elif arc:
            arcs.append((arc[1], re.sub(r"\\(.)", r"\1", arc[3]), arc[2]))
        elif node and not node[1].startswith("__start") and node[1] not in ("node", "edge", "graph"):
            states[node[1]] = len(states)
            if "doublecircle" in node[2]:
                accepting.add(node[1])
    if start not in states or not all(source in states and target in states for source, _, target in arcs):
        raise InputError("this DOT text is not an automaton of AALpy", remedy="it needs all states and __start0 -> s0")
    names = [start, *(name for name in states if name != start)]
    found = sorted({symbol for _, symbol, _ in arcs})
    symbols = list(found if words is None else words)
    index = {spell(word): i for i, word in enumerate(symbols)}
    _require_all(found, index)
    target = np.full((len(names), len(symbols)), -1)
    for source, symbol, following in arcs:
        target[names.index(source), index[symbol]] = names.index(following)
    return DFA(target, np.array([name in accepting for name in names]), tuple(symbols))


def _require_all(found: Iterable[str], index: Mapping[str, int]) -> None:
    """Refuse symbols of a text that the alphabet does not have."""
    missing = sorted(set(found) - set(index))
    if missing:
        raise InputError(f"the symbol {missing[0]!r} is not in the alphabet", remedy="give all symbols of the text")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _cost(weight: float) -> str:
    return repr(-math.log(weight) + 0.0)


def _safe_words(words: Sequence[Any]) -> list[str]:
    """Symbols as OpenFst can hold them: without blanks, and none that means epsilon."""
    safe = [spell(word).replace("\t", "_").replace(" ", "_") for word in words]
    if EPSILON in safe or len(set(safe)) < len(safe):
        raise InputError(f"OpenFst cannot tell some symbols apart, or from {EPSILON}", remedy="rename them")
    return safe
