"""Known trees against sums over all assignments of hidden states."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spectragram.inference.chart_rules import layout, make_operators, make_rules
from spectragram.inference.fixed_tree import BINARY, LEXICAL, UNARY, Counts, Nodes, expected_counts, tree_values
from spectragram.inference.tree_assignments import count_assignments
from tests.inference.tiny_grammar import TinyGrammar, tiny_grammar

# (2 (1 w0) (3 (0 w1) (2 (0 w2)))): rule 1 is 2 -> 1 3, rule 3 is 3 -> 0 2, unary rule 0 is 2 -> 0.
# Nodes 0-2: tags 1, 0, 0 over words 0, 1, 2; node 3: symbol 2 over tag 0; node 4: 3 -> 0 2; node 5: 2 -> 1 3.
NODES = Nodes(
    kind=np.array([LEXICAL, LEXICAL, LEXICAL, UNARY, BINARY, BINARY], np.int8),
    symbol=np.array([1, 0, 0, 2, 3, 2], np.int32),
    rule=np.array([0, 1, 2, 0, 3, 1], np.int32),
    left=np.array([-1, -1, -1, 2, 1, 0], np.int32),
    right=np.array([-1, -1, -1, -1, 3, 4], np.int32),
    kept=np.array([1, 1, 0, 0, 1, 1], np.uint8),
    tree_start=np.array([0, 6], np.int64),
    weight=np.ones(1),
)
TAGS = [1, 0, 0]


def assignments(grammar: TinyGrammar):
    """Every assignment of states to the six nodes, with its value."""
    operators = grammar.operators
    sizes = operators.n_states[NODES.symbol]
    kept = [operators.kept[operators.state_start[s] : operators.state_start[s + 1]] for s in NODES.symbol]
    root = operators.root[operators.state_start[2] : operators.state_start[3]]
    for h in product(*(range(m) for m in sizes)):
        value = root[h[5]] * grammar.tensor(1)[h[5], h[0], h[4]] * grammar.tensor(3)[h[4], h[1], h[3]]
        value *= grammar.matrix(0)[h[3], h[2]]
        for word, tag in enumerate(TAGS):
            value *= grammar.lexical[word, tag, h[word]]
        for n in np.flatnonzero(NODES.kept):
            value *= kept[n][h[n]]
        yield h, value


def lexical_rows(grammar: TinyGrammar) -> np.ndarray:
    return np.array([grammar.lexical[word, tag] for word, tag in enumerate(TAGS)])


@pytest.mark.parametrize("signed", [False, True])
def test_the_value_of_a_tree_is_the_sum_over_its_states(rng, signed):
    grammar = tiny_grammar(rng, signed=signed)
    sign, log_value = tree_values(grammar.operators, lexical_rows(grammar), NODES)
    assert sign[0] * np.exp(log_value[0]) == pytest.approx(sum(v for _, v in assignments(grammar)), rel=1e-10)


def test_expected_counts_equal_those_of_all_assignments(rng):
    grammar = tiny_grammar(rng, signed=False)
    counts = expected_counts(grammar.operators, lexical_rows(grammar), NODES, 0, 1)
    operators = grammar.operators
    total = sum(value for _, value in assignments(grammar))
    binary, unary = np.zeros_like(counts.binary), np.zeros_like(counts.unary)
    lexical, bottom, kept, root = (np.zeros_like(part) for part in counts[2:6])
    for h, value in assignments(grammar):
        share = value / total
        for r, (x, y, z) in ((1, (h[5], h[0], h[4])), (3, (h[4], h[1], h[3]))):
            b, c = operators.n_states[grammar.rules.binary[r, 1:]]
            binary[operators.binary_start[r] + (x * b + y) * c + z] += share
        unary[operators.unary_start[0] + h[3] * operators.n_states[0] + h[2]] += share
        for n in range(6):
            at = operators.state_start[NODES.symbol[n]] + h[n]
            bottom[at] += share * (NODES.kind[n] != UNARY)
            kept[at] += share * NODES.kept[n]
        for word in range(3):
            lexical[word, h[word]] += share
        root[operators.state_start[2] + h[5]] += share
    for found, expected in zip(counts, (binary, unary, lexical, bottom, kept, root), strict=False):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert counts.log_value[0] == pytest.approx(np.log(total))


def test_counting_certain_states_counts_nodes(rng):
    grammar = tiny_grammar(rng, signed=False, n_states=(1, 1, 1, 1))
    one = np.ones((6, 1))
    counts = count_assignments(layout(grammar.rules, np.ones(4, np.int32)), np.ones(4, np.int32), NODES, one, one, 3)
    assert isinstance(counts, Counts)
    assert counts.binary.tolist() == [0, 1, 0, 1, 0, 0]
    assert counts.unary.tolist() == [1, 0, 0, 0]
    assert counts.lexical.ravel().tolist() == [1, 1, 1]
    assert counts.bottom.tolist() == [2, 1, 1, 1]
    assert counts.kept.tolist() == [1, 1, 1, 1]
    assert counts.root.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("signed", [False, True])
def test_a_right_branching_tree_is_a_chain(rng, signed):
    """Section 8 of Cohen et al. (2012): a hidden Markov model is an L-PCFG over right-branching trees."""
    m, n = 3, 6
    transition, final, start = rng.random((m, m)), rng.random(m), rng.random(m)
    emission = rng.random((n, m))
    if signed:
        transition, final = transition - 0.5, final - 0.5
    # Tag 0 is in the state of its parent: 1 -> 0 1 at every word but the last, 1 -> 0 there.
    rules = make_rules(np.array([[1, 0, 1]]), np.array([[1, 0]]), 2)
    tensor = np.einsum("xy,xz->xyz", np.eye(m), transition)
    operators = make_operators(
        rules,
        np.full(2, m, np.int32),
        tensor.ravel(),
        np.diag(final).ravel(),
        np.ones(2 * m),
        np.concatenate([np.zeros(m), start]),
    )
    kinds = [LEXICAL] * n + [UNARY] + [BINARY] * (n - 1)
    left = [-1] * n + [n - 1] + list(range(n - 2, -1, -1))
    right = [-1] * (n + 1) + list(range(n, 2 * n - 1))
    nodes = Nodes(
        np.array(kinds, np.int8),
        np.array([0] * n + [1] * n, np.int32),
        np.array(list(range(n)) + [0] * n, np.int32),
        np.array(left, np.int32),
        np.array(right, np.int32),
        np.array([1] * (n - 1) + [0, 0] + [1] * (n - 1), np.uint8),
        np.array([0, 2 * n], np.int64),
        np.ones(1),
    )
    sign, log_value = tree_values(operators, emission, nodes)
    state = start * emission[0]
    for word in range(1, n):
        state = (state @ transition) * emission[word]
    assert sign[0] * np.exp(log_value[0]) == pytest.approx(state @ final, rel=1e-10)


def test_a_tree_counts_as_often_as_its_weight_says(rng):
    """Two copies of a tree that weigh 0.75 and 1.25 count as much as it does twice; roots, words and rules alike."""
    grammar = tiny_grammar(rng, signed=False)
    twice = [np.concatenate([part, part + 6 if name in ("left", "right") else part]) for name, part in _of_nodes()]
    both = Nodes(*twice, np.array([0, 6, 12], np.int64), np.array([0.75, 1.25]))
    one = np.ones((12, 1))
    sizes = np.ones(4, np.int32)
    places, rows = layout(grammar.rules, sizes), lexical_rows(grammar)
    pairs = [
        (expected_counts(grammar.operators, rows, NODES, 0, 1), expected_counts(grammar.operators, rows, both, 0, 2)),
        (
            count_assignments(places, sizes, NODES, one, one, 3),
            count_assignments(places, sizes, both, one, one, 3),
        ),
    ]
    for alone, counts in pairs:
        for name in Counts._fields[:-1]:
            np.testing.assert_allclose(getattr(counts, name), 2 * getattr(alone, name), err_msg=name)
    assert pairs[0][1].log_value.tolist() == [pairs[0][0].log_value[0]] * 2


def _of_nodes() -> list[tuple[str, np.ndarray]]:
    return [(name, getattr(NODES, name)) for name in ("kind", "symbol", "rule", "left", "right", "kept")]
