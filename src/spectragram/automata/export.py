"""Automata in the formats of other tools: OpenFst text, DOT, PAutomaC models, JSON.

format      holds                              reads back to
openfst     arcs with weight -log(w), w > 0    the same function (with one more state, the start)
pautomac    probabilities I, F, S, T           the same automaton
json        any weights, signed too            the same automaton
dot         a drawing for graphviz             nothing
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from spectragram.automata.wfa import WFA
from spectragram.data.pautomac import PautomacModel
from spectragram.data.symbols import spell, symbol_from_json, symbol_to_json
from spectragram.errors import InputError

__all__ = [
    "from_json",
    "from_openfst",
    "from_pautomac",
    "symbol_table",
    "to_dot",
    "to_json",
    "to_openfst",
    "to_pautomac",
]

EPSILON = "<eps>"


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


def from_openfst(text: str, words: Sequence[Any]) -> WFA:
    """Read what :func:`to_openfst` wrote; only the start state may have epsilon arcs."""
    index = {word: i for i, word in enumerate(_safe_words(words))}
    arcs: list[tuple[int, int, int, float]] = []
    starts: dict[int, float] = {}
    ends: dict[int, float] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split("\t")
        try:
            if len(fields) == 4 and fields[2] == EPSILON and fields[0] == "0":
                starts[int(fields[1])] = math.exp(-float(fields[3]))
            elif len(fields) == 4:
                arcs.append((index[fields[2]], int(fields[0]), int(fields[1]), math.exp(-float(fields[3]))))
            elif len(fields) == 2:
                ends[int(fields[0])] = math.exp(-float(fields[1]))
            else:
                raise ValueError(f"{len(fields)} fields")
        except (KeyError, ValueError) as trouble:
            raise InputError(
                f"{line[:60]!r} ({trouble})", line=number, remedy="expected: source target symbol cost, or state cost"
            ) from None
    m = max([*starts, *ends, *(state for _, a, b, _ in arcs for state in (a, b))], default=0)
    if not m:
        raise InputError("no states in this OpenFst text", remedy="give text that export wrote")
    initial, final, operators = np.zeros(m), np.zeros(m), np.zeros((len(words), m, m))
    for state, weight in starts.items():
        initial[state - 1] = weight
    for state, weight in ends.items():
        final[state - 1] = weight
    for symbol, source, target, weight in arcs:
        operators[symbol, source - 1, target - 1] += weight
    return WFA(initial, operators, final)


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


def from_pautomac(model: PautomacModel) -> WFA:
    """The automaton of a PAutomaC model."""
    return WFA(model.initial, model.operators, model.final)


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
