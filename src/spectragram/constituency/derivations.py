"""Whole derivations from a forest: the best one, or the k best ones, as trees."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import numpy as np

from spectragram.constituency.parsing import BinaryGrammar, Status
from spectragram.data.binarization import unbinarize
from spectragram.data.productions import BINARY, LEXICAL, UNARY
from spectragram.data.trees import Tree, make_tree
from spectragram.inference.chart_decode import viterbi
from spectragram.inference.chart_forest import Posteriors
from spectragram.inference.chart_rules import Forest
from spectragram.inference.fixed_tree import Nodes, tree_values

__all__ = ["best_derivation", "k_best_derivations"]

FLOOR = 1e-12
"""Posteriors are at least this before their logarithm is taken; signed models have negative ones."""

Way = tuple[int, tuple[int, ...]]
"""How an item is built: an edge or link (-1 for a word), and which of the best ways of its parts."""


def best_derivation(grammar: BinaryGrammar, words: Sequence[str], decoder: str) -> tuple[Tree | None, Status, int]:
    """The tree of the largest product of rule posteriors (``max-rule``) or sum of label posteriors (``goodman``).

    Several models multiply or add up theirs. None when there is no parse. Also how it was found, and how many
    posteriors were negative.
    """
    forest, status = grammar.prune(words)
    if forest is None:
        return None, status, 0
    found = [grammar.posteriors(model, forest, words) for model in grammar.models]
    good = [value for value in found if value.sign != 0.0]
    if not good:
        return None, status, 0
    edges, links, items = _weights(good, decoder)
    choice, _, root = viterbi(forest, edges, links, items, np.zeros(grammar.rules.n_symbols))
    if root < 0:
        return None, status, 0
    nodes = _unfold(forest, root, 0, lambda item, _: (int(choice[item]), (0, 0)))
    return _tree(grammar, nodes, words), status, sum(value.n_negative for value in good)


def _weights(found: Sequence[Posteriors], decoder: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if decoder == "goodman":
        items = np.abs(np.mean([value.items for value in found], axis=0))
        return np.zeros(len(found[0].edges)), np.zeros(len(found[0].links)), items
    edges, links, items = (
        np.mean([np.log(np.maximum(part, FLOOR)) for part in parts], axis=0)
        for parts in zip(*((value.edges, value.links, value.items) for value in found), strict=True)
    )
    # An edge stands for its parent item; items count for words only, which no edge builds.
    return edges, links, items


def _unfold(forest: Forest, root: int, rank: int, way_of: Callable[[int, int], Way]) -> list[tuple[int, int, int]]:
    """Nodes (kind, symbol, rule) of a derivation, children before parents.

    ``way_of(item, rank)`` says how the item's derivation of this rank is built.
    """
    nodes: list[tuple[int, int, int]] = []
    stack = [(root, rank)]
    while stack:
        item, rank = stack.pop()
        way, ranks = way_of(item, rank)
        symbol, top, _ = (int(value) for value in forest.items[item])
        if top:
            _, rule, bottom = (int(value) for value in forest.links[way])
            if rule >= 0:
                nodes.append((UNARY, symbol, rule))
            stack.append((bottom, ranks[0]))
        elif way < 0:
            nodes.append((LEXICAL, symbol, 0))
        else:
            _, rule, left, right = (int(value) for value in forest.edges[way])
            nodes.append((BINARY, symbol, rule))
            stack += [(left, ranks[0]), (right, ranks[1])]
    return nodes[::-1]


def _tree(grammar: BinaryGrammar, nodes: list[tuple[int, int, int]], words: Sequence[str]) -> Tree:
    kinds, symbols, rules = zip(*nodes, strict=True)
    tree = unbinarize(grammar.productions.tree(kinds, symbols, rules, words))
    outer = grammar.labels.outer
    return tree if outer is None else make_tree(outer, (tree,))


def k_best_derivations(grammar: BinaryGrammar, words: Sequence[str], k: int) -> tuple[list[tuple[Tree, float]], int]:
    """Up to ``k`` trees by the max-rule score, each with log p(tree | sentence) under the grammar's first model.

    Also how many posteriors were negative.
    """
    forest, _ = grammar.prune(words)
    model = grammar.models[0]
    if forest is None:
        return [], 0
    posteriors = grammar.posteriors(model, forest, words)
    if posteriors.sign == 0.0:
        return [], 0
    edges, links, items = _weights([posteriors], "max-rule")
    found: list[tuple[Tree, float]] = []
    for nodes in _k_best(forest, edges, links, items, k):
        value = _tree_log_value(grammar, nodes, words)
        found.append((_tree(grammar, nodes, words), value - posteriors.log_value))
    return found, posteriors.n_negative


def _k_best(
    forest: Forest, edges: np.ndarray, links: np.ndarray, items: np.ndarray, k: int
) -> list[list[tuple[int, int, int]]]:
    """Node lists of the ``k`` best derivations (algorithm 2 of Huang & Chiang 2005)."""
    best: list[list[tuple[float, Way]]] = []
    incoming: list[list[tuple[float, int, tuple[int, ...]]]] = [[] for _ in forest.items]
    for e, (parent, _, left, right) in enumerate(forest.edges.tolist()):
        incoming[parent].append((float(edges[e]), e, (left, right)))
    for e, (top, _, bottom) in enumerate(forest.links.tolist()):
        incoming[top].append((float(links[e]), e, (bottom,)))
    lengths = forest.spans[forest.items[:, 2], 1] - forest.spans[forest.items[:, 2], 0]
    for item in range(len(forest.items)):
        if lengths[item] == 1 and forest.items[item, 1] == 0:
            best.append([(float(items[item]), (-1, ()))])
        else:
            best.append(_merge(incoming[item], best, k))
    last = int(forest.first_item[-2])
    roots = [t for t in range(last, len(forest.items)) if forest.items[t, 1] == 1]
    ranked = sorted(((-score, t, place) for t in roots for place, (score, _) in enumerate(best[t])))[:k]
    return [_unfold(forest, t, place, lambda item, rank: best[item][rank][1]) for _, t, place in ranked]


def _merge(
    incoming: list[tuple[float, int, tuple[int, ...]]], best: list[list[tuple[float, Way]]], k: int
) -> list[tuple[float, Way]]:
    """The ``k`` best ways to build an item from the best ways of its parts."""
    heap: list[tuple[float, int, tuple[int, ...]]] = []
    parts_of: dict[int, tuple[int, ...]] = {}
    weight_of: dict[int, float] = {}
    seen: set[tuple[int, tuple[int, ...]]] = set()

    def push(number: int, places: tuple[int, ...]) -> None:
        if (number, places) in seen or any(
            p >= len(best[part]) for p, part in zip(places, parts_of[number], strict=True)
        ):
            return
        seen.add((number, places))
        score = weight_of[number] + sum(best[part][p][0] for p, part in zip(places, parts_of[number], strict=True))
        heapq.heappush(heap, (-score, number, places))

    for weight, number, parts in incoming:
        parts_of[number], weight_of[number] = parts, weight
        push(number, (0,) * len(parts))
    ways: list[tuple[float, Way]] = []
    while heap and len(ways) < k:
        score, number, places = heapq.heappop(heap)
        ways.append((-score, (number, places)))
        for at in range(len(places)):
            push(number, (*places[:at], places[at] + 1, *places[at + 1 :]))
    return ways


def _tree_log_value(grammar: BinaryGrammar, nodes: list[tuple[int, int, int]], words: Sequence[str]) -> float:
    """log |value| of a derivation, words scored as in the forest."""
    model = grammar.models[0]
    kind = np.array([node[0] for node in nodes], np.int8)
    symbol = np.array([node[1] for node in nodes], np.int32)
    rule = np.array([node[2] for node in nodes], np.int32)
    left, right = np.full(len(nodes), -1, np.int32), np.full(len(nodes), -1, np.int32)
    kept = np.ones(len(nodes), np.uint8)
    waiting: list[int] = []
    n_words = 0
    lexical = np.zeros((len(words), int(model.operators.n_states.max())))
    for n, node_kind in enumerate(kind):
        if node_kind == LEXICAL:
            tags, vectors = model.lexicon.vectors(words[n_words], n_words == 0)
            lexical[n_words, : vectors.shape[1]] = vectors[int(np.searchsorted(tags, symbol[n]))]
            rule[n] = n_words
            n_words += 1
        elif node_kind == BINARY:
            right[n] = waiting.pop()
            left[n] = waiting.pop()
        else:
            left[n] = waiting.pop()
            kept[n] = kept[left[n]] = 0
        waiting.append(n)
    tree = Nodes(kind, symbol, rule, left, right, kept, np.array([0, len(nodes)], np.int64))
    return float(tree_values(model.operators, lexical, tree)[1][0])
