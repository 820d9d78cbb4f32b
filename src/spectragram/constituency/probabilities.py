"""Probabilities of sentences and of their beginnings, and random trees, from the first model of a grammar."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.constituency.model import Model
from spectragram.constituency.parsing import BinaryGrammar
from spectragram.data.binarization import unbinarize
from spectragram.data.productions import BINARY, LEXICAL, UNARY
from spectragram.data.trees import Tree, make_tree
from spectragram.inference.chart_prefix import close_span, combine, left_corner_closure

__all__ = ["prefix_log_probs", "sample_tree", "sentence_log_prob", "word_log_prob"]

MAX_NODES = 2000
"""A random tree that grows beyond this is drawn again."""
KEEP_IN_RANGE = 20.0
"""Word vectors are scaled to this maximum, so that products over many words neither vanish nor overflow."""


def word_log_prob(model: Model, word: str) -> float:
    """log p(word) by relative frequency; all unknown words share the mass of the words seen once (Good-Turing)."""
    table = model.lexicon.table
    once = sum(count == 1.0 for count in table.word_counts.values())
    return float(np.log(table.word_counts.get(word, max(once, 1)) / (table.n_tokens + max(once, 1))))


def _word_vectors(model: Model, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """p(word | tag, state) for all words, (n, n_all_states), scaled; and the logs of what they were divided by."""
    operators = model.operators
    vectors = np.zeros((len(words), int(operators.state_start[-1])))
    scales = np.zeros(len(words))
    for i, word in enumerate(words):
        tags, values = model.lexicon.vectors(word, i == 0)
        scale = max(float(np.abs(values).max()), 1e-300) / KEEP_IN_RANGE
        for tag, value in zip(tags, values, strict=True):
            m = operators.n_states[tag]
            vectors[i, operators.state_start[tag] : operators.state_start[tag] + m] = value[:m] / scale
        scales[i] = np.log(scale) + word_log_prob(model, word)
    return vectors, scales


def _inside(grammar: BinaryGrammar, model: Model, vectors: np.ndarray) -> np.ndarray:
    """Top vectors of all spans, (n, n + 1, n_all_states)."""
    n = len(vectors)
    top = np.zeros((n, n + 1, vectors.shape[1]))
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            bottom = vectors[i]
            if length > 1:
                bottom = combine(grammar.rules, model.operators, top[i, i + 1 : j].copy(), top[i + 1 : j, j].copy())
            top[i, j] = close_span(grammar.rules, model.operators, bottom)
    return top


def sentence_log_prob(grammar: BinaryGrammar, words: Sequence[str]) -> float:
    """log p(words), every tree counted; NaN for a negative value of a signed model, -inf without a parse."""
    model = grammar.models[0]
    vectors, scales = _word_vectors(model, words)
    value = float(model.operators.root @ _inside(grammar, model, vectors)[0, len(words)])
    if value < 0.0:
        return float("nan")
    return float(np.log(value) + scales.sum()) if value > 0.0 else -np.inf


def prefix_log_probs(grammar: BinaryGrammar, words: Sequence[str]) -> np.ndarray:
    """log p(first i words begin a sentence) for i = 0 .. n, then log p(words); shape (n + 2,)."""
    model = grammar.models[0]
    operators = model.operators
    vectors, scales = _word_vectors(model, words)
    top = _inside(grammar, model, vectors)
    closure = left_corner_closure(grammar.rules, operators)
    n = len(words)
    values = np.ones(n + 2)
    for end in range(1, n + 1):
        # open_top[i]: weight of top items that begin at i and are still open at the end of the prefix
        open_top = np.zeros((end, vectors.shape[1]))
        for i in range(end - 1, -1, -1):
            bottom = vectors[i]
            if i < end - 1:
                bottom = combine(grammar.rules, operators, top[i, i + 1 : end].copy(), open_top[i + 1 : end].copy())
            open_top[i] = close_span(grammar.rules, operators, closure @ bottom)
        values[end] = operators.root @ open_top[0]
    values[n + 1] = operators.root @ top[0, n]
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    logs[1 : n + 1] += np.cumsum(scales)
    logs[n + 1] += scales.sum()
    return logs


def sample_tree(grammar: BinaryGrammar, rng: np.random.Generator) -> Tree:
    """Draw a tree top-down."""
    while True:
        drawn = _draw(grammar, grammar.models[0], rng)
        if drawn is not None:
            break
    kinds, symbols, rules, words = drawn
    tree = unbinarize(grammar.productions.tree(kinds, symbols, rules, words))
    outer = grammar.labels.outer
    return tree if outer is None else make_tree(outer, (tree,))


def _draw(
    grammar: BinaryGrammar, model: Model, rng: np.random.Generator
) -> tuple[list[int], list[int], list[int], list[str]] | None:
    """Nodes of a random tree, children before parents; None when it grows too large."""
    operators, rules = model.operators, grammar.rules
    start, n_states = operators.state_start, operators.n_states
    table, n_tags = model.lexicon.table, grammar.productions.n_tags
    place = _choose(rng, operators.root)
    symbol = int(np.searchsorted(start, place, side="right")) - 1
    stack = [(symbol, place - int(start[symbol]), True)]
    nodes: list[tuple[int, int, int]] = []
    words: list[str] = []
    while stack:
        if len(nodes) > MAX_NODES:
            return None
        a, x, is_top = stack.pop()
        own = np.flatnonzero(rules.unary[:, 0] == a) if is_top else np.zeros(0, np.int64)
        pieces = [operators.kept[start[a] + x : start[a] + x + 1]] if is_top else [np.ones(1)]
        for u in own:
            m = n_states[rules.unary[u, 1]]
            first = operators.unary_start[u] + x * m
            pieces.append(operators.unary[first : first + m])
        which, y = _choose_piece(rng, pieces)
        if which > 0:
            rule = int(own[which - 1])
            nodes.append((UNARY, a, rule))
            stack.append((int(rules.unary[rule, 1]), y, False))
        elif a < n_tags:
            rows = np.flatnonzero(table.tags == a)
            row = rows[_choose(rng, model.lexicon.values[rows, x])]
            nodes.append((LEXICAL, a, 0))
            words.append(table.words[row])
        else:
            own = np.flatnonzero(rules.binary[:, 0] == a)
            pieces = list[np.ndarray]()
            for r in own:
                size = n_states[rules.binary[r, 1]] * n_states[rules.binary[r, 2]]
                first = operators.binary_start[r] + x * size
                pieces.append(operators.binary[first : first + size])
            which, pair = _choose_piece(rng, pieces)
            rule = int(own[which])
            nodes.append((BINARY, a, rule))
            n_right = int(n_states[rules.binary[rule, 2]])
            # The right child is drawn first: backwards, the order is children before parents, left to right.
            stack.append((int(rules.binary[rule, 1]), pair // n_right, True))
            stack.append((int(rules.binary[rule, 2]), pair % n_right, True))
    kinds, symbols, numbers = (list(column) for column in zip(*reversed(nodes), strict=True))
    return kinds, symbols, numbers, words[::-1]


def _choose(rng: np.random.Generator, weights: np.ndarray) -> int:
    total = np.cumsum(np.maximum(weights, 0.0))
    return min(int(np.searchsorted(total, rng.random() * total[-1], side="right")), len(weights) - 1)


def _choose_piece(rng: np.random.Generator, pieces: list[np.ndarray]) -> tuple[int, int]:
    """Draw from several arrays of weights: which array, and the place in it."""
    which = _choose(rng, np.array([piece.sum() for piece in pieces]))
    return which, _choose(rng, pieces[which])
