"""Models and grammars in model files: plain values and named arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectragram.constituency.brackets import LabelSet
from spectragram.constituency.lexicon import Lexicon, WordTable
from spectragram.constituency.model import Model
from spectragram.constituency.parsing import BinaryGrammar, Thresholds
from spectragram.data.productions import Productions
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.inference.chart_operators import layout, make_operators
from spectragram.inference.chart_rules import Rules, make_rules

__all__ = ["grammar_from_state", "grammar_to_state", "rounded"]

ARRAYS = ("binary", "unary", "kept", "root", "values", "divisor", "mean")


def _arrays(model: Model) -> dict[str, np.ndarray]:
    """What makes up a model, in single precision: half the size, and as exact as counting is."""
    operators, lexicon = model.operators, model.lexicon
    parts = (
        operators.binary,
        operators.unary,
        operators.kept,
        operators.root,
        lexicon.values,
        lexicon.divisor,
        lexicon.mean,
    )
    arrays = {name: part.astype(np.float32) for name, part in zip(ARRAYS, parts, strict=True)}
    return arrays | {"n_states": operators.n_states, "smooth": np.array([lexicon.smooth])}


def _model(rules: Rules, words: WordTable, arrays: dict[str, np.ndarray]) -> Model:
    n_states = np.asarray(arrays["n_states"], np.int32)
    if n_states.shape != (rules.n_symbols,) or (n_states < 1).any():
        raise ValueError("numbers of states that do not fit the grammar")
    state_start, binary_start, unary_start = layout(rules, n_states)
    for name, size in (("binary", binary_start), ("unary", unary_start), ("kept", state_start), ("root", state_start)):
        if arrays[name].shape != (size[-1],):
            raise ValueError(f"'{name}' has {arrays[name].shape} entries, expected {size[-1]}")
    wide = {name: np.asarray(arrays[name], np.float64) for name in ARRAYS}
    operators = make_operators(rules, n_states, *(wide[name] for name in ARRAYS[:4]))
    smooth = float(np.asarray(arrays["smooth"]).ravel()[0])
    return Model(operators, Lexicon(words, wide["values"], wide["divisor"], wide["mean"], smooth))


def rounded(model: Model, rules: Rules) -> Model:
    """The model as it comes back from a file."""
    return _model(rules, model.lexicon.table, _arrays(model))


def grammar_to_state(grammar: BinaryGrammar) -> State:
    """Values and arrays of a grammar; names of arrays hold the model they belong to."""
    productions, rules = grammar.productions.to_state()
    words, word_arrays = grammar.coarse.lexicon.table.to_state()
    values = {
        "productions": productions,
        "words": words,
        "labels": grammar.labels.to_state(),
        "thresholds": list(grammar.thresholds),
        "n_models": len(grammar.models),
    }
    arrays = prefixed("rules", rules) | prefixed("words", word_arrays)
    for number, model in enumerate([grammar.coarse, grammar.middle, *grammar.models]):
        arrays |= prefixed(f"model{number}", _arrays(model))
    return values, arrays


def grammar_from_state(values: dict[str, Any], arrays: dict[str, np.ndarray]) -> BinaryGrammar:
    """Inverse of :func:`grammar_to_state`; ``ValueError`` or ``KeyError`` for what does not fit together."""
    productions = Productions.from_state(values["productions"], without_prefix("rules", arrays))
    words = WordTable.from_state(values["words"], without_prefix("words", arrays))
    rules = make_rules(productions.binary, productions.unary[:, :2], productions.n_symbols)
    models = [_model(rules, words, without_prefix(f"model{n}", arrays)) for n in range(2 + int(values["n_models"]))]
    labels = LabelSet.from_state(values["labels"])
    return BinaryGrammar(productions, models[0], models[1], models[2:], labels, Thresholds(*values["thresholds"]))
