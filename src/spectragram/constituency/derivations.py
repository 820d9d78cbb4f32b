"""Find whole derivations in a forest, the best one or the k best ones, and turn them into trees.

max-rule   maximise the product of the posteriors of all rules (Petrov & Klein 2007), "no unary rule here" included
goodman    maximise the sum of the posteriors of all labels (Goodman 1996)
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import numpy as np

from spectragram.constituency.constraints import chart_constraints, exact_constraints
from spectragram.constituency.model import Grammar, Member
from spectragram.constituency.parsing import Status, posteriors, prune
from spectragram.data.binarization import unbinarize
from spectragram.data.known_spans import SpanConstraints
from spectragram.data.productions import BINARY, LEXICAL, UNARY
from spectragram.data.trees import Tree, make_tree
from spectragram.inference.chart_decode import viterbi
from spectragram.inference.chart_forest import Posteriors
from spectragram.inference.chart_rules import Forest
from spectragram.inference.fixed_tree import Nodes, tree_values

__all__ = ["best_derivation", "k_best_derivations", "tree_log_prob"]

FLOOR = 1e-12
"""Posteriors are raised to this before their logarithm is taken, since signed models have negative ones. Any value far
below the thresholds of pruning does."""

Way = tuple[int, tuple[int, ...]]
"""How an item is built: an edge or link (-1 for a word), and for each of its parts the rank of the derivation used."""
Nodelist = list[tuple[int, int, int]]
"""Kind, symbol and rule of the nodes of a derivation, children before parents."""


def _forest(grammar: Grammar, words: Sequence[str], given: SpanConstraints | None) -> tuple[Forest | None, Status]:
    """The forest of the trees that agree with what is given."""
    if given is None or given.is_empty:
        return prune(grammar, words)
    known = chart_constraints(grammar, given)
    return (None, Status.GLUED) if known is None else prune(grammar, words, known=known)


def best_derivation(
    grammar: Grammar,
    words: Sequence[str],
    decoder: str,
    given: SpanConstraints | None = None,
    *,
    absolute: bool = True,
) -> tuple[Tree | None, Status, int]:
    """The best tree by ``max-rule`` or ``goodman``, or None if there is no parse that agrees with what is ``given``.

    If the grammar has several members, their products are multiplied or their sums added up. ``goodman`` adds up
    absolute values unless ``absolute`` is False. Also the status of the sentence, and the number of negative
    posteriors.
    """
    forest, status = _forest(grammar, words, given)
    if forest is None:
        return None, status, 0
    found = [posteriors(grammar, member, forest, words) for member in grammar.members]
    good = [value for value in found if value.sign != 0.0]
    if not good:
        return None, status, 0
    edges, links, items = _weights(forest, good, decoder, absolute)
    choice, _, root = viterbi(forest, edges, links, items, np.zeros(grammar.rules.n_symbols))
    if root < 0:
        return None, status, 0
    nodes = _unfold(forest, root, 0, lambda item, _: (int(choice[item]), (0, 0)))
    return _tree(grammar, nodes, words), status, sum(value.n_negative for value in good)


def _weights(
    forest: Forest, found: Sequence[Posteriors], decoder: str, absolute: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights of edges, links and bottom items, which a decoder adds up."""
    if decoder == "goodman":
        # Posteriors are mu / p(x). Where the estimate of p(x) is negative, mu itself has the other sign.
        items, links = (
            np.mean([part if absolute else value.sign * part for part, value in zip(parts, found, strict=True)], axis=0)
            for parts in zip(*((value.items, value.links) for value in found), strict=True)
        )
        items, links = (np.abs(items), np.abs(links)) if absolute else (items, links)
        # Links count too: they choose between the labels of unary rules and none.
        return np.zeros(len(found[0].edges)), links, items
    edges, links, items = (
        np.mean([np.log(np.maximum(part, FLOOR)) for part in parts], axis=0)
        for parts in zip(*((value.edges, value.links, value.items) for value in found), strict=True)
    )
    # Items count only over single words, where they stand for tag -> word; elsewhere the rule is the edge.
    return edges, links, np.where(_lengths(forest) == 1, items, 0.0)


def _lengths(forest: Forest) -> np.ndarray:
    """Number of words below each item, (n_items,)."""
    span = forest.items[:, 2]
    return np.asarray(forest.spans[span, 1] - forest.spans[span, 0])


def _unfold(forest: Forest, root: int, rank: int, way_of: Callable[[int, int], Way]) -> Nodelist:
    """The nodes of a derivation; ``way_of(item, rank)`` says how the derivation of this rank builds the item."""
    nodes: Nodelist = []
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


def _tree(grammar: Grammar, nodes: Nodelist, words: Sequence[str]) -> Tree:
    kinds, symbols, rules = zip(*nodes, strict=True)
    tree = unbinarize(grammar.productions.tree(kinds, symbols, rules, words))
    outer = grammar.labels.outer
    return tree if outer is None else make_tree(outer, (tree,))


def k_best_derivations(
    grammar: Grammar, words: Sequence[str], k: int, given: SpanConstraints | None = None
) -> tuple[list[tuple[Tree, float]], int]:
    """The different trees of the ``k`` best derivations by the max-rule score, each with log p(tree | sentence).

    Only trees that agree with what is ``given`` count. Scores and probabilities are those of the first member. Also the
    number of negative posteriors.
    """
    forest, _ = _forest(grammar, words, given)
    if forest is None:
        return [], 0
    found = posteriors(grammar, grammar.members[0], forest, words)
    if found.sign == 0.0:
        return [], 0
    shares: dict[Tree, float] = {}
    for nodes in _k_best(forest, *_weights(forest, [found], "max-rule"), k):
        tree = _tree(grammar, nodes, words)
        share = _log_value(grammar.members[0], nodes, words) - found.log_value
        # With the binarisation "head", several derivations can stand for one tree.
        shares[tree] = float(np.logaddexp(shares.get(tree, -np.inf), share))
    return list(shares.items()), found.n_negative


def tree_log_prob(grammar: Grammar, tree: Tree, given: SpanConstraints | None = None) -> float:
    """log p(tree | its words, what is given) under the first member; minus infinity if the grammar cannot derive it.

    It is the share of the forest of this tree alone in the forest of all trees that agree with what is given.
    """
    words = tree.leaves()
    known = exact_constraints(grammar, tree)
    alone = None if known is None else prune(grammar, words, known=known)[0]
    every, _ = _forest(grammar, words, given)
    if alone is None or every is None:
        return -np.inf
    member = grammar.members[0]
    own, whole = posteriors(grammar, member, alone, words), posteriors(grammar, member, every, words)
    # Pruning may leave this very tree out of the sum.
    return min(own.log_value - whole.log_value, 0.0) if own.sign * whole.sign > 0.0 else -np.inf


def _k_best(forest: Forest, edges: np.ndarray, links: np.ndarray, items: np.ndarray, k: int) -> list[Nodelist]:
    """The ``k`` best derivations (algorithm 2 of Huang & Chiang 2005)."""
    best: list[list[tuple[float, Way]]] = []
    incoming: list[list[tuple[float, int, tuple[int, ...]]]] = [[] for _ in forest.items]
    for e, (parent, _, left, right) in enumerate(forest.edges.tolist()):
        incoming[parent].append((float(edges[e]), e, (left, right)))
    for e, (top, _, bottom) in enumerate(forest.links.tolist()):
        incoming[top].append((float(links[e]), e, (bottom,)))
    lengths = _lengths(forest)
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
    """The ``k`` best ways to build an item from the best ways to build its parts."""
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


def _log_value(member: Member, nodes: Nodelist, words: Sequence[str]) -> float:
    """log |value| of a derivation, with the same vectors of words as in the forest."""
    kind, symbol, rule = (np.array(column, np.int32) for column in zip(*nodes, strict=True))
    left, right = np.full(len(nodes), -1, np.int32), np.full(len(nodes), -1, np.int32)
    kept = np.ones(len(nodes), np.uint8)
    waiting: list[int] = []
    n_words = 0
    lexical = np.zeros((len(words), int(member.operators.n_states.max())))
    for n, node_kind in enumerate(kind):
        if node_kind == LEXICAL:
            tags, vectors = member.lexicon.vectors(words[n_words], n_words == 0)
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
    bounds = np.array([0, len(nodes)], np.int64)
    tree = Nodes(kind.astype(np.int8), symbol, rule, left, right, kept, bounds, np.ones(1))
    return float(tree_values(member.operators, lexical, tree)[1][0])
