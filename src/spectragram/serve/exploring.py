"""Word clusters to search, and automata and language models to walk through."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectragram.errors import InputError
from spectragram.files import split_words
from spectragram.serve.pictures import options_of, rounded

__all__ = ["cluster_word", "subtree", "walk"]

N_NEIGHBOURS = 12
"""Neighbours of a word that are sent. Chosen by hand: about what a person reads."""
N_SHOWN = 30
"""Words of a cluster that are sent. Chosen by hand."""
N_SUGGESTED = 8
"""Words suggested while somebody types. Chosen by hand."""
N_NEXT = 12
"""Continuations of a prefix that are sent. Chosen by hand."""
MAX_PREFIX = 500
"""Symbols of a prefix; walking takes as many steps."""
DEPTH = 4
"""Levels below a node of the tree that are sent: at most sixteen leaves."""


def cluster_word(model: Any, word: object) -> dict[str, Any]:
    """The path of a word, its neighbours by vectors, and its cluster; suggestions if it is not known."""
    if not isinstance(word, str) or not word.strip():
        raise InputError("no word", remedy="type a word of the training text")
    known = model.model_.options.normalised(word.strip())
    if known not in model.vocabulary_:
        return {"word": known, "path": None, "suggestions": _suggestions(model, known)}
    path = model.paths_[known]
    has_vectors = model.vectors_.shape[1] > 0
    neighbours = model.nearest(known, N_NEIGHBOURS) if has_vectors else []
    return {
        "word": known,
        "path": path,
        "count": int(model.vocabulary_.counts[model.vocabulary_.index[known]]),
        "neighbours": [[other, round(cosine, 3)] for other, cosine in neighbours],
        "cluster": _members(model, path)[:N_SHOWN],
        "suggestions": _suggestions(model, known),
    }


def _suggestions(model: Any, prefix: str) -> list[str]:
    """Frequent words that begin like this one."""
    found = (other for other in model.vocabulary_.words if other.startswith(prefix) and other != prefix)
    return [other for other, _ in zip(found, range(N_SUGGESTED), strict=False)]


def _members(model: Any, prefix: str) -> list[str]:
    """Words whose path begins with ``prefix``, most frequent first."""
    inside = [path.startswith(prefix) for path in model.cluster_paths_]
    return [word for word, c in zip(model.vocabulary_.words, model.clusters_.tolist(), strict=True) if inside[c]]


def subtree(model: Any, path: object) -> dict[str, Any]:
    """The node of the hierarchy with this path, a few levels below it, and frequent words of each node."""
    if not isinstance(path, str) or set(path) - {"0", "1"}:
        raise InputError(f"the path {path!r:.60}", remedy="give bits, such as 0110; none for the root")
    paths = model.cluster_paths_
    if not any(full.startswith(path) for full in paths):
        raise InputError(f"no node {path!r:.60} in the tree", remedy="give the beginning of a word's path")
    words, clusters = model.vocabulary_.words, model.clusters_.tolist()
    shown: dict[str, list[str]] = {node: [] for node in _nodes_below(paths, path)}
    sizes = dict.fromkeys(shown, 0)
    for word, cluster in zip(words, clusters, strict=True):
        full = paths[cluster]
        for depth in range(len(path), min(len(path) + DEPTH, len(full)) + 1):
            node = full[:depth]
            if node in shown:
                sizes[node] += 1
                if len(shown[node]) < N_SUGGESTED:
                    shown[node].append(word)
    nodes = [{"path": node, "words": own, "size": sizes[node], "leaf": node in paths} for node, own in shown.items()]
    return {"path": path, "nodes": nodes}


def _nodes_below(paths: list[str], path: str) -> list[str]:
    """Paths of the node and of those a few levels below it, parents first, in the order of the tree."""
    deepest = len(path) + DEPTH
    found = {full[:depth] for full in paths if full.startswith(path) for depth in range(len(path), deepest + 1)}
    return sorted(found, key=lambda node: (len(node), node))


def walk(model: Any, text: object) -> dict[str, Any]:
    """What follows a prefix: the state after each of its symbols, and the distribution of the next one."""
    if not isinstance(text, str):
        raise InputError("no prefix", remedy="give symbols with spaces between them, or nothing")
    symbols = split_words(text)
    if len(symbols) > MAX_PREFIX:
        raise InputError(f"a prefix of {len(symbols)} symbols", remedy=f"give at most {MAX_PREFIX}")
    vocabulary = model.vocabulary_ if model.vocabulary_.is_text else model.vocabulary_.spelled
    names = [*map(str, vocabulary.words), "</s>"]
    following = model.next([" ".join(symbols)])[0]
    state, named = _state(model, symbols)
    return {
        "symbols": symbols,
        "unknown": [symbol not in vocabulary for symbol in symbols],
        "bits": [None if not np.isfinite(b) else round(float(b), 3) for b in model.surprisal([" ".join(symbols)])[0]],
        "next": options_of(following, names[: len(following)], N_NEXT),
        "rest": rounded([1.0 - np.sort(following)[-N_NEXT:].sum()])[0],
        "state": state,
        "state_is": named,
        "alphabet": names[: min(len(following), N_SHOWN)],
    }


def _state(model: Any, symbols: list[str]) -> tuple[list[float], str]:
    """The vector of the automaton after the prefix, scaled to a largest entry of one, and what it is."""
    if model.kind != "automaton":
        return [], "none"
    from spectragram.data.inputs import as_strings
    from spectragram.inference.prefix_tree import grow_prefix_tree

    corpus = as_strings([" ".join(symbols)], model.vocabulary_)
    tokens = np.where(corpus.tokens < 0, model.model_.n_symbols, corpus.tokens).astype(np.int32)
    tree = grow_prefix_tree(tokens, corpus.offsets)
    state = model.model_.states(tree)[tree.end_of[0]]
    largest = float(np.abs(state).max(initial=0.0)) or 1.0
    return [round(float(value) / largest, 4) for value in state], "state of the automaton, its largest entry set to 1"
