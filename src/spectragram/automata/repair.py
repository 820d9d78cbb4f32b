"""Make an approximation of a next oracle safe to predict with.

An automaton with fewer states than the oracle needs gives some symbols negative scores, and after improbable strings
its weights may cancel. Strings drawn from the oracle say, for every recent past of up to two symbols, what follows on
average and in which state the automaton is on average. The first is mixed into every prediction, the second into every
state, with shares that are chosen on other strings.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from spectragram.automata.contexts import PAST, ContextTree
from spectragram.automata.model import Weighted
from spectragram.automata.ngram import Ngrams
from spectragram.automata.oracles import NextOracle, String
from spectragram.inference.prefix_tree import PrefixTree, grow_prefix_tree

__all__ = ["divergences", "prefixes_of", "repaired"]

MAX_PASTS = 2000
"""Pasts of two symbols are used up to this many, otherwise of one. Chosen by hand to bound memory."""
STATE_SHARES = (0.0, 0.02, 0.1, 0.3)
BACKOFF_SHARES = (0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Shares that are tried. Chosen by hand, not tuned."""
PARENT_WEIGHT = 1.0
"""How many strings the average of a shorter past counts as in a longer one. Chosen by hand, not tuned."""
TINY = 1e-300
"""A guard against the logarithm of zero and division by zero; any tiny value does."""


def prefixes_of(strings: list[String]) -> tuple[PrefixTree, list[String]]:
    """The tree of all prefixes of strings, and the prefix at each node."""
    offsets = np.concatenate([[0], np.cumsum([len(string) for string in strings])])
    tree = grow_prefix_tree(np.array([s for string in strings for s in string], np.int64), offsets)
    paths: list[String] = [()]
    for node in range(1, len(tree)):
        paths.append((*paths[tree.parent[node]], int(tree.symbol[node])))
    return tree, paths


def divergences(true: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Kullback-Leibler divergence of each row of ``found`` from that of ``true``, in bits: (n, k + 1) twice -> (n,)."""
    return (true * (np.log2(np.maximum(true, TINY)) - np.log2(np.maximum(found, TINY)))).sum(axis=1)


def repaired(part: Weighted, oracle: NextOracle, drawn: list[String]) -> Weighted:
    """The automaton with averages of recent pasts mixed in, as much as brings it nearest to the oracle."""
    n_symbols = part.wfa.n_symbols
    half = len(drawn) // 2
    tree, paths = prefixes_of(drawn[:half])
    judges, judged = prefixes_of(drawn[half:])
    true, wanted = oracle.rows(paths), oracle.rows(judged)
    longest = 2 if n_symbols**2 <= MAX_PASTS else 1
    pasts = [past for length in range(1, longest + 1) for past in product(range(n_symbols), repeat=length)]
    contexts = ContextTree.of([(), *pasts], n_symbols, PAST)
    table = _averages(contexts, tree, true, tree.through)
    states, scales = part.states(tree)
    kept = tree.through * (scales != 0) * np.isfinite(states).all(axis=1)
    means = _averages(contexts, tree, np.nan_to_num(states), kept)
    candidates = [
        replace(
            part,
            contexts=contexts,
            context_states=means,
            context_share=state_share,
            backoff=Ngrams(contexts, table),
            backoff_share=share,
        )
        for state_share in STATE_SHARES
        for share in BACKOFF_SHARES
    ]
    errors = [judges.through @ divergences(wanted, one.next_distributions(judges)[0]) for one in candidates]
    return candidates[int(np.argmin(errors))]


def _averages(contexts: ContextTree, tree: PrefixTree, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The mean of rows (n_nodes, d) after each past, (n_pasts, d); rare pasts lean on shorter ones."""
    at = contexts.locate_nodes(tree)
    sums: np.ndarray = np.zeros((len(contexts.parent), rows.shape[1]))
    mass: np.ndarray = np.zeros(len(contexts.parent))
    np.add.at(sums, at, weights[:, None] * rows)
    np.add.at(mass, at, weights)
    above = contexts.ancestors().T  # what fits a past fits its shorter versions too
    sums, mass = np.asarray(above @ sums), np.asarray(above @ mass)
    found = sums / np.maximum(mass, TINY)[:, None]
    for node in range(1, len(found)):  # parents come first
        shorter = found[contexts.parent[node]]
        found[node] = (sums[node] + PARENT_WEIGHT * shorter) / (mass[node] + PARENT_WEIGHT)
    return found
