"""Decoders against exhaustive search."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.inference.chart_coarse import span_id
from spectragram.inference.chart_decode import add_label_posteriors, best_brackets, viterbi
from tests.inference.test_chart_forest import full_forest, part_of_edge, part_of_item, part_of_link
from tests.inference.tiny_grammar import tiny_grammar


@pytest.mark.parametrize("n", [1, 2, 4])
def test_viterbi_finds_the_best_derivation(rng, n):
    grammar = tiny_grammar(rng, signed=False)
    forest = full_forest(grammar, n)
    edges, links, items = (rng.standard_normal(len(part)) for part in (forest.edges, forest.links, forest.items))
    root = rng.standard_normal(4)
    weight = {part_of_edge(forest, e): edges[e] for e in range(len(edges))}
    weight |= {part_of_link(forest, e): links[e] for e in range(len(links))}
    weight |= {part_of_item(forest, t): items[t] * (forest.items[t, 1] == 0) for t in range(len(items))}
    best = max(
        sum(weight[part] for part in parts) + root[next(p[1] for p in parts if p[0] == "item" and p[4] == 1)]
        for _, parts in grammar.derivations(n)
    )
    _, score, top = viterbi(forest, edges, links, items, root)
    assert score[top] + root[forest.items[top, 0]] == pytest.approx(best)


def bracketings(i: int, j: int) -> list[list[tuple[int, int]]]:
    """All binary bracketings of words i .. j-1."""
    if j - i == 1:
        return [[(i, j)]]
    return [
        [(i, j), *left, *right] for k in range(i + 1, j) for left in bracketings(i, k) for right in bracketings(k, j)
    ]


@pytest.mark.parametrize("n", [1, 3, 6])
def test_brackets_gain_the_most(rng, n):
    posteriors = rng.random((n * (n + 1) // 2, 3))
    gain = np.maximum(posteriors - 0.4, 0.0).sum(axis=1)
    best = max(sum(gain[span_id(i, j)] for i, j in spans) for spans in bracketings(0, n))
    split = best_brackets(n, posteriors, 0.4)
    found, stack = 0.0, [(0, n)]
    while stack:
        i, j = stack.pop()
        found += gain[span_id(i, j)]
        if j - i > 1:
            k = int(split[span_id(i, j)])
            stack += [(i, k), (k, j)]
    assert found == pytest.approx(best)


def test_label_posteriors_sum_items_and_the_labels_of_chains(rng):
    grammar = tiny_grammar(rng, signed=False)
    forest = full_forest(grammar, 3)
    items, links = rng.random(len(forest.items)), rng.random(len(forest.links))
    # Symbol 2 shows label 0, symbol 3 none; unary rule 0 shows labels 0 and 1, rule 3 label 1.
    shown = np.array([-1, -1, 0, -1], np.int32)
    chain_start = np.array([0, 2, 2, 2, 3], np.int32)
    chain_labels = np.array([0, 1, 1], np.int32)
    out = np.zeros((6, 2))
    add_label_posteriors(forest, items, links, shown, chain_start, chain_labels, 0.5, out)
    expected = np.zeros((6, 2))
    for t, (symbol, top, span) in enumerate(forest.items):
        if symbol == 2 and not top:
            expected[span_id(*forest.spans[span]), 0] += 0.5 * items[t]
    for e, (top, rule, _) in enumerate(forest.links):
        for label in {0: (0, 1), 3: (1,)}.get(int(rule), ()):
            expected[span_id(*forest.spans[forest.items[top, 2]]), label] += 0.5 * links[e]
    np.testing.assert_allclose(out, expected)
