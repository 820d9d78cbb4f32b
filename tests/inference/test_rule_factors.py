"""Distributions over the derivations of a forest against all derivations; scores of steps, and steps of AdaGrad."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from spectragram.inference.chart_forest import forest_posteriors
from spectragram.inference.chart_rules import Forest
from spectragram.inference.rule_factors import (
    Choices,
    Shown,
    choice_posteriors,
    edge_places,
    link_scores,
    step_links,
    step_places,
    table_scores,
)
from spectragram.inference.span_factors import OWN
from spectragram.learning.factors import start_weights
from tests.inference.test_chart_forest import full_forest, part_of_edge, part_of_item, part_of_link
from tests.inference.tiny_grammar import tiny_grammar


def parts_of(forest: Forest, edges, links, items) -> dict:
    found = {part_of_edge(forest, e): edges[e] for e in range(len(edges))}
    found |= {part_of_link(forest, e): links[e] for e in range(len(links))}
    return found | {part_of_item(forest, t): items[t] for t in range(len(items))}


@pytest.mark.parametrize("n", [1, 2, 4])
def test_posteriors_equal_those_of_all_derivations(rng, n):
    grammar = tiny_grammar(rng, signed=False)
    forest = full_forest(grammar, n)
    choices = Choices(*(3.0 * rng.standard_normal(len(part)) for part in (forest.edges, forest.links, forest.items)))
    weight = parts_of(forest, choices.edges, choices.links, np.zeros(len(forest.items)))
    root = {part_of_item(forest, t): choices.roots[t] for t in range(len(forest.items))}
    expected: dict = defaultdict(float)
    for _, parts in grammar.derivations(n):
        top = next(part for part in parts if part[0] == "item" and part[4] == 1 and part[2:4] == (0, n))
        value = np.exp(sum(weight[part] for part in parts) + root[top])
        expected["all"] += value
        for part in parts:
            expected[part] += value
    edges, links, items, total = choice_posteriors(forest, choices)
    assert total == pytest.approx(np.log(expected["all"]))
    for part, found in parts_of(forest, edges, links, items).items():
        assert found == pytest.approx(expected[part] / expected["all"], abs=1e-12), part


def test_choices_made_of_averaged_posteriors_have_these_posteriors(rng):
    forest = full_forest(tiny_grammar(rng, signed=False), 4)
    members = [tiny_grammar(rng, signed=False) for _ in range(3)]
    found = [
        forest_posteriors(one.rules, forest, one.operators, one.lexical_of(forest.items, forest.spans))
        for one in members
    ]
    edges, links, items = (np.mean(part, axis=0) for part in zip(*(one[2:] for one in found), strict=True))
    choices = Choices(
        np.log(edges / items[forest.edges[:, 0]]), np.log(links / items[forest.links[:, 0]]), np.log(items)
    )
    again = choice_posteriors(forest, choices)
    for ours, theirs in zip(again[:3], (edges, links, items), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert again[3] == pytest.approx(0.0, abs=1e-12)


def test_a_forest_without_a_tree_has_no_posteriors(rng):
    forest = full_forest(tiny_grammar(rng, signed=False), 2)
    choices = Choices(*(np.full(len(part), -np.inf) for part in (forest.edges, forest.links, forest.items)))
    edges, links, items, total = choice_posteriors(forest, choices)
    assert total == -np.inf and not edges.any() and not links.any() and not items.any()


def test_edges_are_seen_from_both_ends_the_split_and_by_the_lengths_of_their_halves(rng):
    forest = full_forest(tiny_grammar(rng, signed=False), 4)
    columns = np.arange(4, dtype=np.int64)[None]
    grades = np.arange(5)
    atoms = [[0, 0, 0]], [[0, 1, 0]], [[0, 2, -1]], [[0, OWN, 0]]
    numbers = np.zeros(len(forest.edges), np.int64)
    places = edge_places(columns, forest, np.array(atoms, np.int64), grades, numbers, 5, 1 << 20)
    where = [part_of_edge(forest, e)[2:] for e in range(len(forest.edges))]
    for t, seen in enumerate([lambda i, k, j: i, lambda i, k, j: j, lambda i, k, j: k, lambda i, k, j: (k - i, j - k)]):
        place_of = {seen(*spot): places[e, t] for e, spot in enumerate(where)}
        assert all(places[e, t] == place_of[seen(*spot)] for e, spot in enumerate(where))
        assert len(set(place_of.values())) == len(place_of) > 1
    moved = edge_places(columns, forest, np.array(atoms, np.int64), grades, numbers + 3, 5, 1 << 20)
    np.testing.assert_array_equal(moved, (places + 3) % (1 << 20))
    assert (edge_places(columns, forest, np.array(atoms, np.int64), grades, numbers, 6, 1 << 20) != places).all()


def test_scores_are_sums_of_weights_and_steps_climb_them(rng):
    forest = full_forest(tiny_grammar(rng, signed=False), 3)
    table = rng.standard_normal(64).astype(np.float32)
    n_links = len(forest.links)
    lengths = rng.integers(1, 3, n_links)
    start = np.concatenate([[0], np.cumsum(lengths)])
    shown = Shown(start, rng.integers(0, 500, start[-1]), rng.integers(0, 500, n_links))
    places = rng.integers(0, 64, (len(forest.spans), 2)).astype(np.int32)
    scores = link_scores(forest, shown, places, table)
    for e in range(n_links):
        own = places[forest.items[forest.links[e, 0], 2]]
        wanted = table[shown.rules[e] % 64] + sum(
            table[(place + label) % 64] for place in own for label in shown.labels[start[e] : start[e + 1]]
        )
        assert scores[e] == pytest.approx(float(wanted), abs=1e-5)
    of_edges = rng.integers(0, 64, (len(forest.edges), 3)).astype(np.int32)
    np.testing.assert_allclose(table_scores(of_edges, table), table[of_edges].sum(axis=1), atol=1e-5)
    for score, step, parts in (
        (
            lambda weights: link_scores(forest, shown, places, weights),
            lambda *a: step_links(forest, shown, places, *a),
            n_links,
        ),
        (lambda weights: table_scores(of_edges, weights), lambda *a: step_places(of_edges, *a), len(of_edges)),
    ):
        gradient = np.zeros(parts)
        gradient[1] = 1.0
        weights = start_weights(table)
        step(gradient, weights, 0.1, 1)
        assert score(weights.table)[1] > score(table)[1] + 0.1
        step(-gradient, weights, 0.1, 2)
        assert score(weights.table)[1] == pytest.approx(score(table)[1], abs=0.5)
