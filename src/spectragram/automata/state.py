"""Models to plain values and arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectragram.automata.contexts import PAST, ContextTree
from spectragram.automata.model import Mixture, Part, Weighted
from spectragram.automata.ngram import Ngrams
from spectragram.automata.wfa import WFA
from spectragram.estimator import State, prefixed, without_prefix

__all__ = ["mixture_from_state", "mixture_to_state"]


def mixture_to_state(mixture: Mixture) -> State:
    """Values and arrays of all parts, numbered."""
    described: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {"weights": mixture.weights}
    for i, part in enumerate(mixture.parts):
        values, own = _part_to_state(part)
        described.append(values)
        arrays |= prefixed(str(i), own)
    return {"parts": described}, arrays


def mixture_from_state(values: dict[str, Any], arrays: dict[str, np.ndarray], n_symbols: int) -> Mixture:
    """Inverse of :func:`mixture_to_state`."""
    parts = []
    for i, described in enumerate(values["parts"]):
        parts.append(_part_from_state(described, without_prefix(str(i), arrays), n_symbols))
    if len(parts) != len(arrays["weights"]) or not parts:
        raise ValueError(f"{len(parts)} parts with {len(arrays['weights'])} weights")
    return Mixture(tuple(parts), arrays["weights"])


def _part_to_state(part: Part) -> State:
    if isinstance(part, Ngrams):
        return {"type": "ngrams"}, _ngrams_to_arrays(part)
    assert isinstance(part, Weighted)
    values = {
        "type": "weighted",
        "context_share": part.context_share,
        "backoff_share": part.backoff_share,
        "has_backoff": part.backoff is not None,
    }
    arrays = {
        "initial": part.wfa.initial,
        "operators": part.wfa.operators,
        "final": part.wfa.final,
        "total": part.total,
        "context_states": part.context_states,
        **prefixed("contexts", _tree_to_arrays(part.contexts)),
    }
    if part.backoff is not None:
        arrays |= prefixed("backoff", _ngrams_to_arrays(part.backoff))
    return values, arrays


def _part_from_state(values: dict[str, Any], arrays: dict[str, np.ndarray], n_symbols: int) -> Part:
    if values["type"] == "ngrams":
        return _ngrams_from_arrays(arrays, n_symbols)
    wfa = WFA(arrays["initial"], arrays["operators"], arrays["final"])
    if wfa.n_symbols != n_symbols or arrays["total"].shape != wfa.final.shape:
        raise ValueError(f"an automaton over {wfa.n_symbols} symbols for an alphabet of {n_symbols}")
    backoff = None
    if values["has_backoff"]:
        backoff = _ngrams_from_arrays(without_prefix("backoff", arrays), n_symbols)
    contexts = _tree_from_arrays(without_prefix("contexts", arrays), n_symbols)
    if arrays["context_states"].shape != (len(contexts.parent), wfa.n_states):
        raise ValueError("contexts and their states do not fit")
    return Weighted(
        wfa,
        arrays["total"],
        contexts,
        arrays["context_states"],
        float(values["context_share"]),
        backoff,
        float(values["backoff_share"]),
    )


def _ngrams_to_arrays(grams: Ngrams) -> dict[str, np.ndarray]:
    return {"table": grams.table, **prefixed("contexts", _tree_to_arrays(grams.contexts))}


def _ngrams_from_arrays(arrays: dict[str, np.ndarray], n_symbols: int) -> Ngrams:
    contexts = _tree_from_arrays(without_prefix("contexts", arrays), n_symbols)
    if arrays["table"].shape != (len(contexts.parent), n_symbols + 1):
        raise ValueError("contexts and their distributions do not fit")
    return Ngrams(contexts, arrays["table"])


def _tree_to_arrays(tree: ContextTree) -> dict[str, np.ndarray]:
    """Elements one after the other, with their lengths: everything else follows from them."""
    lengths = np.array([len(element) for element in tree.elements], np.int64)
    symbols = np.array([s for element in tree.elements for s in element], np.int64)
    return {"lengths": lengths, "symbols": symbols}


def _tree_from_arrays(arrays: dict[str, np.ndarray], n_symbols: int) -> ContextTree:
    ends = np.cumsum(arrays["lengths"])
    elements = [tuple(part.tolist()) for part in np.split(arrays["symbols"], ends[:-1])] if len(ends) else []
    return ContextTree.of(elements, n_symbols, PAST)
