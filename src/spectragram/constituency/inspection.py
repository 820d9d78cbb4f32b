"""What a grammar learned, in rows for tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectragram.constituency.parsing import BinaryGrammar

__all__ = ["label_rows", "state_rows"]


def label_rows(grammar: BinaryGrammar) -> list[list[Any]]:
    """Label, bottom nodes it stands for in training, number of states; most frequent first."""
    n_states = grammar.models[0].operators.n_states
    shares = _symbol_counts(grammar)
    order = np.argsort(-shares, kind="stable")
    return [[grammar.productions.labels[a], round(float(shares[a])), int(n_states[a])] for a in order]


def state_rows(grammar: BinaryGrammar, n_rules: int, n_labels: int = 12) -> list[list[Any]]:
    """For the states of the most frequent labels: the words or rules each is most likely to produce."""
    order = np.argsort(-_symbol_counts(grammar), kind="stable")[:n_labels]
    rows = []
    for a in order:
        describe = _words if a < grammar.productions.n_tags else _rules
        weights, names = describe(grammar, int(a))
        total = weights.sum(axis=0)
        for x in np.argsort(-total, kind="stable"):
            best = np.argsort(-weights[:, x], kind="stable")[:n_rules]
            share = float(total[x] / max(total.sum(), 1e-12))
            shown = "  ".join(names[b] for b in best if weights[b, x] > 0)
            rows.append([grammar.productions.labels[a], int(x), share, shown])
    return rows


def _symbol_counts(grammar: BinaryGrammar) -> np.ndarray:
    """How often each symbol occurs: tags in the word table, phrases by expected numbers in a derivation."""
    table = grammar.coarse.lexicon.table
    counts = np.zeros(grammar.productions.n_symbols)
    np.add.at(counts, table.tags, table.counts)
    counts[grammar.productions.n_tags :] = _expected_phrases(grammar)[grammar.productions.n_tags :] * _n_trees(grammar)
    return counts


def _n_trees(grammar: BinaryGrammar) -> float:
    """Number of training trees: sentences begin with a type marked as initial."""
    table = grammar.coarse.lexicon.table
    return float(table.counts[table.initial].sum())


def _expected_phrases(grammar: BinaryGrammar) -> np.ndarray:
    """Expected number of bottom items of each symbol in a tree of the coarse grammar."""
    operators, rules = grammar.coarse.operators, grammar.rules
    n = rules.n_symbols
    closing = np.diag(operators.kept)
    np.add.at(closing, (rules.unary[:, 0], rules.unary[:, 1]), operators.unary)
    below = np.zeros((n, n))
    for child in (1, 2):
        np.add.at(below, (rules.binary[:, 0], rules.binary[:, child]), operators.binary)
    return np.linalg.solve(np.eye(n) - (below @ closing).T, operators.root @ closing)


def _words(grammar: BinaryGrammar, tag: int) -> tuple[np.ndarray, list[str]]:
    lexicon = grammar.models[0].lexicon
    rows = np.flatnonzero(lexicon.table.tags == tag)
    m = int(grammar.models[0].operators.n_states[tag])
    return lexicon.values[rows, :m], [lexicon.table.words[r] for r in rows]


def _rules(grammar: BinaryGrammar, symbol: int) -> tuple[np.ndarray, list[str]]:
    operators, rules, labels = grammar.models[0].operators, grammar.rules, grammar.productions.labels
    m = int(operators.n_states[symbol])
    weights, names = [], []
    for r in np.flatnonzero(rules.binary[:, 0] == symbol):
        tensor = operators.binary[operators.binary_start[r] : operators.binary_start[r + 1]]
        weights.append(tensor.reshape(m, -1).sum(axis=1))
        names.append(" ".join(labels[child] for child in rules.binary[r, 1:]))
    for u in np.flatnonzero(rules.unary[:, 0] == symbol):
        matrix = operators.unary[operators.unary_start[u] : operators.unary_start[u + 1]]
        weights.append(matrix.reshape(m, -1).sum(axis=1))
        names.append(
            "-".join([*grammar.productions.chains[grammar.productions.unary[u, 2]], labels[rules.unary[u, 1]]])
        )
    return (np.array(weights), names) if weights else (np.zeros((1, m)), [""])
