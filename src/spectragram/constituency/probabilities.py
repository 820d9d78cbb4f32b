"""Probabilities of sentences and of their prefixes, and random trees, from the first member of a grammar.

p(w_1 .. w_n) = sum over trees of p(tree) times product over i of p(w_i | tag, state)
p(w | t, x)   = p(w) P(t, x | w) / P(t, x)          the lexicon gives the ratio, word_log_prob gives p(w)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.constituency.model import Grammar, Member
from spectragram.data.binarization import unbinarize
from spectragram.data.productions import BINARY, LEXICAL, UNARY
from spectragram.data.trees import Tree, make_tree
from spectragram.inference.chart_prefix import close_span, combine, left_corner_closure

__all__ = ["prefix_log_probs", "sample_tree", "sentence_log_prob", "word_log_prob"]

MAX_NODES = 2000
"""A random tree with more nodes is drawn again. Chosen by hand: far more than any sentence needs."""
KEEP_IN_RANGE = 20.0
"""Word vectors are scaled to this maximum, so that products over many words neither vanish nor overflow. Chosen by
hand: on average it makes up for the probabilities of rules, which are small."""
SMALLEST = 1e-300
"""A guard against division by zero; any tiny value does."""


def word_log_prob(member: Member, word: str) -> float:
    """log p(word) by relative frequency; all unknown words share the mass of the words seen once (Good-Turing)."""
    table = member.lexicon.table
    once = sum(count == 1.0 for count in table.word_counts.values())
    return float(np.log(table.word_counts.get(word, max(once, 1)) / (table.n_tokens + max(once, 1))))


def _word_vectors(member: Member, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """p(word | tag, state) of all words, (n, n_all_states), each scaled, and the logarithms of the scales, (n,)."""
    operators = member.operators
    vectors = np.zeros((len(words), int(operators.state_start[-1])))
    scales = np.zeros(len(words))
    for i, word in enumerate(words):
        tags, values = member.lexicon.vectors(word, i == 0)
        scale = max(float(np.abs(values).max()), SMALLEST) / KEEP_IN_RANGE
        for tag, value in zip(tags, values, strict=True):
            m = operators.n_states[tag]
            vectors[i, operators.state_start[tag] : operators.state_start[tag] + m] = value[:m] / scale
        scales[i] = np.log(scale) + word_log_prob(member, word)
    return vectors, scales


def _inside(grammar: Grammar, vectors: np.ndarray) -> np.ndarray:
    """Top vectors of all spans, (n, n + 1, n_all_states)."""
    rules, operators = grammar.rules, grammar.members[0].operators
    n = len(vectors)
    top = np.zeros((n, n + 1, vectors.shape[1]))
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            bottom = vectors[i]
            if length > 1:
                bottom = combine(rules, operators, top[i, i + 1 : j].copy(), top[i + 1 : j, j].copy())
            top[i, j] = close_span(rules, operators, bottom)
    return top


def sentence_log_prob(grammar: Grammar, words: Sequence[str]) -> float:
    """log p(words), summed over all trees: NaN if the value of a signed model is negative, -inf without a parse."""
    member = grammar.members[0]
    vectors, scales = _word_vectors(member, words)
    value = float(member.operators.root @ _inside(grammar, vectors)[0, len(words)])
    if value < 0.0:
        return float("nan")
    return float(np.log(value) + scales.sum()) if value > 0.0 else -np.inf


def prefix_log_probs(grammar: Grammar, words: Sequence[str]) -> tuple[np.ndarray, float]:
    """log p(a sentence begins with the first i words) for i = 0 .. n, (n + 1,), and log p(words)."""
    operators, rules = grammar.members[0].operators, grammar.rules
    vectors, scales = _word_vectors(grammar.members[0], words)
    top = _inside(grammar, vectors)
    closure = left_corner_closure(rules, operators)
    n = len(words)
    values = np.ones(n + 1)
    for end in range(1, n + 1):
        # open_top[i]: weight of top items that begin at i and are still open at the end of the prefix
        open_top = np.zeros((end, vectors.shape[1]))
        for i in range(end - 1, -1, -1):
            bottom = vectors[i]
            if i < end - 1:
                bottom = combine(rules, operators, top[i, i + 1 : end].copy(), open_top[i + 1 : end].copy())
            open_top[i] = close_span(rules, operators, closure @ bottom)
        values[end] = operators.root @ open_top[0]
    with np.errstate(divide="ignore"):
        logs = np.log(np.append(values, operators.root @ top[0, n]))
    logs[1 : n + 1] += np.cumsum(scales)
    return logs[:-1], float(logs[-1] + scales.sum())


def sample_tree(grammar: Grammar, rng: np.random.Generator) -> Tree:
    """Draw a tree from the root down."""
    while True:
        drawn = _draw(grammar, rng)
        if drawn is not None:
            break
    nodes, words = drawn
    kinds, symbols, rules = zip(*nodes, strict=True)
    tree = unbinarize(grammar.productions.tree(kinds, symbols, rules, words))
    outer = grammar.labels.outer
    return tree if outer is None else make_tree(outer, (tree,))


def _draw(grammar: Grammar, rng: np.random.Generator) -> tuple[list[tuple[int, int, int]], list[str]] | None:
    """Kind, symbol and rule of the nodes of a random tree, children before parents, and its words.

    None if the tree grows too large.
    """
    operators, rules = grammar.members[0].operators, grammar.rules
    place = _choose(rng, operators.root)
    symbol = int(np.searchsorted(operators.state_start, place, side="right")) - 1
    stack = [(symbol, place - int(operators.state_start[symbol]), True)]
    nodes: list[tuple[int, int, int]] = []
    words: list[str] = []
    while stack:
        if len(nodes) > MAX_NODES:
            return None
        a, x, is_top = stack.pop()
        rule, y = _choose_unary(grammar, rng, a, x) if is_top else (-1, 0)
        if rule >= 0:
            nodes.append((UNARY, a, rule))
            stack.append((int(rules.unary[rule, 1]), y, False))
        elif a < grammar.productions.n_tags:
            nodes.append((LEXICAL, a, 0))
            words.append(_choose_word(grammar, rng, a, x))
        else:
            rule, y, z = _choose_binary(grammar, rng, a, x)
            nodes.append((BINARY, a, rule))
            # The right child is drawn first: read backwards, the nodes are children before parents, left to right.
            stack.append((int(rules.binary[rule, 1]), y, True))
            stack.append((int(rules.binary[rule, 2]), z, True))
    return nodes[::-1], words[::-1]


def _choose_unary(grammar: Grammar, rng: np.random.Generator, a: int, x: int) -> tuple[int, int]:
    """A unary rule over a top item and the state of its child; (-1, 0) if the item is kept as it is."""
    operators, rules = grammar.members[0].operators, grammar.rules
    own = np.flatnonzero(rules.unary[:, 0] == a)
    here = operators.state_start[a] + x
    pieces = [operators.kept[here : here + 1]]
    for u in own:
        m = operators.n_states[rules.unary[u, 1]]
        first = operators.unary_start[u] + x * m
        pieces.append(operators.unary[first : first + m])
    which, y = _choose_piece(rng, pieces)
    return (int(own[which - 1]), y) if which else (-1, 0)


def _choose_binary(grammar: Grammar, rng: np.random.Generator, a: int, x: int) -> tuple[int, int, int]:
    """A binary rule under a bottom item and the states of its left and right child."""
    operators, rules = grammar.members[0].operators, grammar.rules
    own = np.flatnonzero(rules.binary[:, 0] == a)
    pieces = []
    for r in own:
        size = operators.n_states[rules.binary[r, 1]] * operators.n_states[rules.binary[r, 2]]
        first = operators.binary_start[r] + x * size
        pieces.append(operators.binary[first : first + size])
    which, pair = _choose_piece(rng, pieces)
    rule = int(own[which])
    return rule, *divmod(pair, int(operators.n_states[rules.binary[rule, 2]]))


def _choose_word(grammar: Grammar, rng: np.random.Generator, tag: int, x: int) -> str:
    """One of the words that were seen with the tag."""
    lexicon = grammar.members[0].lexicon
    rows = np.flatnonzero(lexicon.table.tags == tag)
    return lexicon.table.words[rows[_choose(rng, lexicon.values[rows, x])]]


def _choose(rng: np.random.Generator, weights: np.ndarray) -> int:
    """Draw a place in proportion to its weight."""
    total = np.cumsum(np.maximum(weights, 0.0))
    return min(int(np.searchsorted(total, rng.random() * total[-1], side="right")), len(weights) - 1)


def _choose_piece(rng: np.random.Generator, pieces: list[np.ndarray]) -> tuple[int, int]:
    """Draw from several arrays of weights: the number of the array, and a place in it."""
    which = _choose(rng, np.array([piece.sum() for piece in pieces]))
    return which, _choose(rng, pieces[which])
