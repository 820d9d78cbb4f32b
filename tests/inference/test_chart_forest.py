"""Charts against brute-force enumeration of all derivations, operators of any sign."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from spectragram.inference.chart_coarse import CoarseChart, coarse_inside, fewest_pieces
from spectragram.inference.chart_forest import forest_posteriors
from spectragram.inference.chart_prune import coarse_forest, thin_forest, thin_with_posteriors
from spectragram.inference.chart_rules import Forest, free_mask
from tests.inference.tiny_grammar import TinyGrammar, tiny_grammar


def full_forest(grammar: TinyGrammar, n: int) -> Forest:
    forest = coarse_forest(grammar.rules, grammar.weights, grammar.coarse_lexical(n), 0.0)
    assert forest is not None
    return forest


def part_of_edge(forest: Forest, e: int) -> tuple:
    _, rule, left, right = forest.edges[e]
    i, k = forest.spans[forest.items[left, 2]]
    j = forest.spans[forest.items[right, 2], 1]
    return "edge", int(rule), int(i), int(k), int(j)


def part_of_link(forest: Forest, e: int) -> tuple:
    top, rule, _ = forest.links[e]
    i, j = forest.spans[forest.items[top, 2]]
    return "link", int(rule), int(i), int(j), int(forest.items[top, 0])


def part_of_item(forest: Forest, t: int) -> tuple:
    symbol, top, span = forest.items[t]
    return "item", int(symbol), int(forest.spans[span, 0]), int(forest.spans[span, 1]), int(top)


def posteriors_by_part(grammar: TinyGrammar, forest: Forest) -> tuple[float, dict]:
    lexical = grammar.lexical_of(forest.items, forest.spans)
    found = forest_posteriors(grammar.rules, forest, grammar.operators, lexical)
    parts = {part_of_edge(forest, e): found.edges[e] for e in range(len(forest.edges))}
    parts |= {part_of_link(forest, e): found.links[e] for e in range(len(forest.links))}
    parts |= {part_of_item(forest, t): found.items[t] for t in range(len(forest.items))}
    return found.sign * np.exp(found.log_value), parts


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n_states", [(1, 1, 1, 1), (2, 1, 3, 2)])
def test_values_and_posteriors_equal_those_of_all_derivations(rng, n, signed, n_states):
    grammar = tiny_grammar(rng, signed=signed, n_states=n_states)
    derivations = grammar.derivations(n)
    total = sum(value for value, _ in derivations)
    expected: dict = defaultdict(float)
    for value, parts in derivations:
        for part in parts:
            expected[part] += value / total
    value, found = posteriors_by_part(grammar, full_forest(grammar, n))
    assert value == pytest.approx(total, rel=1e-10)
    assert set(found) == set(expected)
    for part, posterior in expected.items():
        assert found[part] == pytest.approx(posterior, rel=1e-8, abs=1e-10), part


def test_the_coarse_pass_keeps_what_reaches_the_threshold_and_little_else(rng):
    grammar = tiny_grammar(rng, signed=False, n_states=(1, 1, 1, 1))
    weights = grammar.weights._replace(by_children=rng.random(len(grammar.rules.binary)) ** 4)
    lexical = grammar.coarse_lexical(5)
    full = coarse_forest(grammar.rules, weights, lexical, 0.0)
    thin = coarse_forest(grammar.rules, weights, lexical, 0.05)
    assert full is not None and thin is not None
    operators = grammar.operators._replace(
        binary=weights.by_children[np.argsort(grammar.rules.by_children[:, 1])],
        binary_up=weights.by_children[np.argsort(grammar.rules.by_children[:, 1])],
        unary=weights.by_child[np.argsort(grammar.rules.by_child[:, 1])],
        kept=weights.kept,
        root=weights.root,
    )
    words = np.full(sum((t == 0 and s < 2 and full.spans[p, 1] - full.spans[p, 0] == 1) for s, t, p in full.items), 0.8)
    found = forest_posteriors(grammar.rules, full, operators, words)
    likely = {part_of_edge(full, e) for e in range(len(full.edges)) if found.edges[e] >= 0.05}
    kept = {part_of_edge(thin, e) for e in range(len(thin.edges))}
    assert 0 < len(kept) < len(full.edges)
    # Pruned outsides are a little too small, so an edge just above the threshold may go; none below it may stay.
    assert kept <= likely
    assert len(kept) >= 0.8 * len(likely)


def test_thinning_keeps_exactly_the_likely_part(rng):
    grammar = tiny_grammar(rng, signed=False)
    forest = full_forest(grammar, 5)
    lexical = grammar.lexical_of(forest.items, forest.spans)
    found = forest_posteriors(grammar.rules, forest, grammar.operators, lexical)
    thin = thin_forest(forest, found, 0.02)
    kept = {part_of_edge(thin, e) for e in range(len(thin.edges))}
    assert kept == {part_of_edge(forest, e) for e in range(len(forest.edges)) if found.edges[e] >= 0.02}
    assert 0 < len(thin.edges) < len(forest.edges)
    again = forest_posteriors(grammar.rules, thin, grammar.operators, grammar.lexical_of(thin.items, thin.spans))
    assert again.log_value < found.log_value


def test_posteriors_follow_the_part_of_a_forest_that_is_kept(rng):
    grammar = tiny_grammar(rng, signed=False)
    forest = full_forest(grammar, 5)
    found = forest_posteriors(grammar.rules, forest, grammar.operators, grammar.lexical_of(forest.items, forest.spans))
    thin, kept = thin_with_posteriors(forest, found, 0.02)
    for part_of, of_all, of_kept in (
        (part_of_edge, found.edges, kept.edges),
        (part_of_link, found.links, kept.links),
        (part_of_item, found.items, kept.items),
    ):
        everything = {part_of(forest, number): value for number, value in enumerate(of_all)}
        left = {part_of(thin, number): value for number, value in enumerate(of_kept)}
        assert left == {part: value for part, value in everything.items() if value >= 0.02}
        assert 0 < len(left) < len(everything)
    assert kept.sign == found.sign


def test_long_sentences_neither_vanish_nor_overflow(rng):
    grammar = tiny_grammar(rng, signed=False, n_words=120)
    for scale in (1e-30, 1.0, 1e30):
        scaled = TinyGrammar(grammar.rules, grammar.operators, grammar.lexical * scale)
        forest = full_forest(scaled, 120)
        lexical = scaled.lexical_of(forest.items, forest.spans)
        found = forest_posteriors(scaled.rules, forest, scaled.operators, lexical)
        if scale == 1e-30:
            reference = found
        assert np.isfinite(found.log_value)
        np.testing.assert_allclose(found.edges, reference.edges, rtol=1e-6, atol=1e-12)


def test_pieces_are_the_fewest_and_among_those_the_likeliest(rng):
    n = 4
    n_active = np.zeros(n * (n + 1) // 2, np.int32)
    top = np.zeros((len(n_active), 1))
    for i, j, value in ((0, 2, 0.1), (0, 1, 0.1), (1, 4, 0.1), (2, 3, 0.1), (3, 4, 0.1), (2, 4, 0.1)):
        n_active[j * (j - 1) // 2 + i] = 1
        top[j * (j - 1) // 2 + i] = value
    exponent = np.zeros(len(n_active), np.int64)
    active = np.zeros((len(n_active), 1), np.int16)
    exponent[4 * 3 // 2 + 1] = 3  # (1, 4) is eight times as likely as (2, 4)
    assert fewest_pieces(n, CoarseChart(top, top, exponent, active, n_active)).tolist() == [[0, 1], [1, 4]]
    exponent[2 * 1 // 2 + 0] = 6  # and (0, 2) more so than (0, 1)
    assert fewest_pieces(n, CoarseChart(top, top, exponent, active, n_active)).tolist() == [[0, 2], [2, 4]]
    grammar = tiny_grammar(rng, signed=False)
    inside = coarse_inside(grammar.rules, grammar.weights, *grammar.coarse_lexical(n), free_mask(grammar.rules, n))
    assert fewest_pieces(n, inside).tolist() == [[0, 4]]
