"""Tables of what a parser has learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectragram.constituency.model import Grammar, Model
from spectragram.inference.chart_rules import Operators, Rules

__all__ = ["label_rows", "state_rows"]


def label_rows(model: Model) -> list[list[Any]]:
    """Label, number of nodes in the treebank, and number of states, most frequent labels first.

    All tables are about the first member of the first grammar.
    """
    grammar = model.grammars[0]
    n_states = grammar.members[0].operators.n_states
    counts = _symbol_counts(grammar)
    order = np.argsort(-counts, kind="stable")
    return [[grammar.productions.labels[a], round(float(counts[a])), int(n_states[a])] for a in order]


def state_rows(model: Model, n_rules: int, n_labels: int = 12) -> list[list[Any]]:
    """Label, state, share of the state, and its most probable words or rules, for the most frequent labels.

    For probabilistic models only.
    """
    grammar = model.grammars[0]
    operators = grammar.members[0].operators
    visits = _visits(grammar.rules, operators)
    rows = []
    for a in np.argsort(-_symbol_counts(grammar), kind="stable")[:n_labels]:
        describe = _words if a < grammar.productions.n_tags else _rules
        weights, names = describe(grammar, int(a))
        own = visits[operators.state_start[a] : operators.state_start[a + 1]]
        for x in np.argsort(-own, kind="stable"):
            best = np.argsort(-weights[:, x], kind="stable")[:n_rules]
            shown = "  ".join(names[b] for b in best if weights[b, x] > 0)
            rows.append([grammar.productions.labels[a], int(x), float(own[x] / own.sum()), shown])
    return rows


def _symbol_counts(grammar: Grammar) -> np.ndarray:
    """How many nodes of the treebank each symbol labels: number of trees times the expected number in a tree."""
    table = grammar.coarse.lexicon.table
    n_trees = float(table.counts[table.initial].sum())
    return n_trees * _visits(grammar.rules, grammar.coarse.operators)


def _visits(rules: Rules, operators: Operators) -> np.ndarray:
    """Expected number of nodes of each symbol and state in a tree, (n_all_states,)."""
    start, n_states = operators.state_start, operators.n_states
    size = int(start[-1])
    closing = np.diag(operators.kept)  # top to bottom
    for u, (a, b) in enumerate(rules.unary):
        matrix = operators.unary[operators.unary_start[u] : operators.unary_start[u + 1]]
        closing[start[a] : start[a + 1], start[b] : start[b + 1]] += matrix.reshape(n_states[a], n_states[b])
    below = np.zeros((size, size))  # bottom to the tops of its two parts
    for r, (a, b, c) in enumerate(rules.binary):
        tensor = operators.binary[operators.binary_start[r] : operators.binary_start[r + 1]]
        tensor = tensor.reshape(n_states[a], n_states[b], n_states[c])
        below[start[a] : start[a + 1], start[b] : start[b + 1]] += tensor.sum(axis=2, dtype=np.float64)
        below[start[a] : start[a + 1], start[c] : start[c + 1]] += tensor.sum(axis=1, dtype=np.float64)
    tops = np.linalg.solve(np.eye(size) - (closing @ below).T, operators.root)
    # A kept node is a top and a bottom item at once.
    return tops + tops @ closing - tops * operators.kept


def _words(grammar: Grammar, tag: int) -> tuple[np.ndarray, list[str]]:
    """Weights of the words of a tag for each state, (n_words, n_states), and the words."""
    lexicon = grammar.members[0].lexicon
    rows = np.flatnonzero(lexicon.table.tags == tag)
    m = int(grammar.members[0].operators.n_states[tag])
    return lexicon.values[rows, :m], [lexicon.table.words[r] for r in rows]


def _rules(grammar: Grammar, symbol: int) -> tuple[np.ndarray, list[str]]:
    """Probabilities of the rules of a phrase for each state, (n_rules, n_states), and their right-hand sides."""
    operators, rules, productions = grammar.members[0].operators, grammar.rules, grammar.productions
    m = int(operators.n_states[symbol])
    # Binary rules are conditional on there being no unary rule.
    kept = operators.kept[operators.state_start[symbol] : operators.state_start[symbol + 1]]
    weights, names = [], []
    for r in np.flatnonzero(rules.binary[:, 0] == symbol):
        tensor = operators.binary[operators.binary_start[r] : operators.binary_start[r + 1]]
        weights.append(kept * tensor.reshape(m, -1).sum(axis=1, dtype=np.float64))
        names.append(" ".join(productions.labels[child] for child in rules.binary[r, 1:]))
    for u in np.flatnonzero(rules.unary[:, 0] == symbol):
        matrix = operators.unary[operators.unary_start[u] : operators.unary_start[u + 1]]
        weights.append(matrix.reshape(m, -1).sum(axis=1))
        chain = productions.chains[productions.unary[u, 2]]
        names.append("-".join([*chain, productions.labels[rules.unary[u, 1]]]))
    return (np.array(weights), names) if weights else (np.zeros((1, m)), [""])
