"""Random trees from the members of a trained parser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.constituency.model import Grammar, Model
from spectragram.data.binarization import unbinarize
from spectragram.data.productions import BINARY, LEXICAL, UNARY
from spectragram.data.trees import Tree, make_tree
from spectragram.inference.chart_prefix import PrefixGrammar
from spectragram.learning.prefix_mixture import Part

__all__ = ["sample_tree"]

MAX_NODES = 2000
"""A random tree with more nodes is drawn again. Chosen by hand: far more than any sentence needs."""


def sample_tree(model: Model, parts: Sequence[Part], rng: np.random.Generator) -> Tree:
    """Draw a member, then a tree from the root down; the parts of the mixture begin with the members in order."""
    grammars = [grammar for grammar in model.grammars for _ in grammar.members]
    while True:
        number = int(rng.integers(len(grammars)))
        grammar = grammars[number]
        drawn = _draw(grammar, parts[number], rng)
        if drawn is not None:
            break
    kinds, symbols, rules = zip(*drawn[0], strict=True)
    tree = unbinarize(grammar.productions.tree(kinds, symbols, rules, drawn[1]))
    outer = grammar.labels.outer
    return tree if outer is None else make_tree(outer, (tree,))


def _draw(
    grammar: Grammar, part: Part, rng: np.random.Generator
) -> tuple[list[tuple[int, int, int]], list[str]] | None:
    """Kind, symbol and rule of the nodes of a random tree, children before parents, and its words.

    None if the tree grows too large.
    """
    assert isinstance(part.model, PrefixGrammar)
    operators, rules = part.model.operators, grammar.rules
    place = _choose(rng, operators.root)
    symbol = int(np.searchsorted(operators.state_start, place, side="right")) - 1
    stack = [(symbol, place - int(operators.state_start[symbol]), True)]
    nodes: list[tuple[int, int, int]] = []
    leaves: list[tuple[int, int]] = []
    while stack:
        if len(nodes) > MAX_NODES:
            return None
        a, x, is_top = stack.pop()
        rule, y = _choose_unary(part.model, rng, a, x) if is_top else (-1, 0)
        if rule >= 0:
            nodes.append((UNARY, a, rule))
            stack.append((int(rules.unary[rule, 1]), y, False))
        elif a < grammar.productions.n_tags:
            nodes.append((LEXICAL, a, 0))
            leaves.append((a, x))
        else:
            rule, y, z = _choose_binary(part.model, rng, a, x)
            nodes.append((BINARY, a, rule))
            # The right child is drawn first: read backwards, the nodes are children before parents, left to right.
            stack.append((int(rules.binary[rule, 1]), y, True))
            stack.append((int(rules.binary[rule, 2]), z, True))
    words = [part.emissions.draw(tag, x, i == 0, rng) for i, (tag, x) in enumerate(leaves[::-1])]
    return nodes[::-1], words


def _choose_unary(grammar: PrefixGrammar, rng: np.random.Generator, a: int, x: int) -> tuple[int, int]:
    """A unary rule over a top item and the state of its child; (-1, 0) if the item is kept as it is."""
    operators, rules = grammar.operators, grammar.rules
    own = np.flatnonzero(rules.unary[:, 0] == a)
    here = operators.state_start[a] + x
    pieces = [operators.kept[here : here + 1]]
    for u in own:
        m = operators.n_states[rules.unary[u, 1]]
        first = operators.unary_start[u] + x * m
        pieces.append(operators.unary[first : first + m])
    which, y = _choose_piece(rng, pieces)
    return (int(own[which - 1]), y) if which else (-1, 0)


def _choose_binary(grammar: PrefixGrammar, rng: np.random.Generator, a: int, x: int) -> tuple[int, int, int]:
    """A binary rule under a bottom item and the states of its left and right child."""
    operators, rules = grammar.operators, grammar.rules
    own = np.flatnonzero(rules.binary[:, 0] == a)
    pieces = []
    for r in own:
        size = operators.n_states[rules.binary[r, 1]] * operators.n_states[rules.binary[r, 2]]
        first = operators.binary_start[r] + x * size
        pieces.append(operators.binary[first : first + size])
    which, pair = _choose_piece(rng, pieces)
    rule = int(own[which])
    return rule, *divmod(pair, int(operators.n_states[rules.binary[rule, 2]]))


def _choose(rng: np.random.Generator, weights: np.ndarray) -> int:
    """Draw a place in proportion to its weight."""
    total = np.cumsum(np.maximum(weights, 0.0))
    return min(int(np.searchsorted(total, rng.random() * total[-1], side="right")), len(weights) - 1)


def _choose_piece(rng: np.random.Generator, pieces: list[np.ndarray]) -> tuple[int, int]:
    """Draw from several arrays of weights: the number of the array, and a place in it."""
    which = _choose(rng, np.array([piece.sum() for piece in pieces]))
    return which, _choose(rng, pieces[which])
