"""An EM step against all assignments of states to the nodes of small trees."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spectragram.constituency.em import TrainingTrees, em_steps, member_from_counts, member_from_shares
from spectragram.constituency.model import Member
from spectragram.inference.chart_rules import layout
from spectragram.inference.fixed_tree import BINARY, LEXICAL, UNARY, Counts, expected_counts
from tests.constituency.brute import random_member, random_trees, training_trees


@pytest.fixture(scope="module")
def data() -> TrainingTrees:
    return training_trees(random_trees(np.random.default_rng(7), 12, 3))


def expect(data: TrainingTrees, member: Member) -> tuple[Counts, float]:
    """Expected counts and log-likelihood, from the value of every assignment of states to every tree."""
    o, nodes = member.operators, data.nodes
    vectors = member.lexicon.row_vectors()
    binary, unary, bottom, kept, root = (np.zeros_like(x) for x in (o.binary, o.unary, o.kept, o.kept, o.root))
    lexical = np.zeros_like(vectors)
    log_values = []
    for first, last in zip(nodes.tree_start[:-1], nodes.tree_start[1:], strict=True):
        found = []
        for states in product(*(range(o.n_states[nodes.symbol[n]]) for n in range(first, last))):
            value, used = 1.0, []
            for n, x in zip(range(first, last), states, strict=True):
                flat, rule = o.state_start[nodes.symbol[n]] + x, nodes.rule[n]
                children = [(c, states[c - first]) for c in (nodes.left[n], nodes.right[n]) if c >= 0]
                sizes = [o.n_states[nodes.symbol[c]] for c, _ in children]
                if nodes.kind[n] == LEXICAL:
                    used.append((lexical, (rule, x), vectors[rule, x]))
                elif nodes.kind[n] == UNARY:
                    at = o.unary_start[rule] + x * sizes[0] + children[0][1]
                    used.append((unary, at, o.unary[at]))
                else:
                    at = o.binary_start[rule] + (x * sizes[0] + children[0][1]) * sizes[1] + children[1][1]
                    used.append((binary, at, o.binary[at]))
                if nodes.kind[n] != UNARY:
                    used.append((bottom, flat, 1.0))
                if nodes.kept[n]:
                    used.append((kept, flat, o.kept[flat]))
                if n == last - 1:
                    used.append((root, flat, o.root[flat]))
            for _, _, weight in used:
                value *= weight
            found.append((value, used))
        total = sum(value for value, _ in found)
        log_values.append(np.log(total))
        for value, used in found:
            for table, at, _ in used:
                table[at] += value / total
    return Counts(binary, unary, lexical, bottom, kept, root, np.array(log_values)), float(np.sum(log_values))


def test_the_trees_have_all_kinds_of_nodes(data):
    assert set(data.nodes.kind) == {LEXICAL, UNARY, BINARY}


def test_an_em_step_is_that_of_brute_force(data):
    member = random_member(data, np.random.default_rng(0), 3)
    counts, log_likelihood = expect(data, member)
    expected = member_from_counts(data, member.operators.n_states, counts)
    found, value = next(em_steps(data, member))
    assert value == pytest.approx(log_likelihood, rel=1e-10)
    for name in ("binary", "unary", "kept", "root"):
        np.testing.assert_allclose(getattr(found.operators, name), getattr(expected.operators, name), rtol=1e-8)
    np.testing.assert_allclose(found.lexicon.row_vectors(), expected.lexicon.row_vectors(), rtol=1e-8)


def test_threads_do_not_change_a_step(data):
    member = random_member(data, np.random.default_rng(0))
    one, three = (next(em_steps(data, member, n_jobs))[0] for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.operators.binary, three.operators.binary)
    np.testing.assert_array_equal(one.lexicon.row_vectors(), three.lexicon.row_vectors())


def rule_sums(data: TrainingTrees, member: Member) -> tuple[np.ndarray, np.ndarray]:
    """What the probabilities of the binary rules, and of the unary rules and none, of each state add up to."""
    o = member.operators
    below, above = np.zeros_like(o.kept), o.kept.copy()
    for r, (a, b, c) in enumerate(data.rules.binary):
        tensor = o.binary[o.binary_start[r] : o.binary_start[r + 1]].reshape(o.n_states[[a, b, c]])
        below[o.state_start[a] : o.state_start[a + 1]] += tensor.sum(axis=(1, 2))
    for u, (a, b) in enumerate(data.rules.unary):
        matrix = o.unary[o.unary_start[u] : o.unary_start[u + 1]].reshape(o.n_states[[a, b]])
        above[o.state_start[a] : o.state_start[a + 1]] += matrix.sum(axis=1)
    return below, above


@pytest.mark.parametrize("smooth", [0.0, 0.01, 0.5])
def test_probabilities_add_up_to_one(data, smooth):
    start = random_member(data, np.random.default_rng(3), 3)
    counts, _ = expect(data, start)
    member = member_from_counts(data, start.operators.n_states, counts, smooth)
    below, above = rule_sums(data, member)
    symbols = np.repeat(np.arange(len(start.operators.n_states)), start.operators.n_states)
    phrases = np.isin(symbols, data.rules.binary[:, 0])
    np.testing.assert_allclose(below[phrases], 1.0, rtol=1e-10)
    np.testing.assert_array_equal(below[~phrases], 0.0)
    np.testing.assert_allclose(above, 1.0, rtol=1e-10)
    assert member.operators.root.sum() == pytest.approx(1.0)


def test_smoothing_draws_states_towards_their_mean(data):
    start = random_member(data, np.random.default_rng(3), 3)
    counts, _ = expect(data, start)
    n_states = start.operators.n_states
    plain, smooth = (member_from_counts(data, n_states, counts, s).operators for s in (0.0, 0.3))
    for r, rule in enumerate(data.rules.binary):
        before, after = (
            o.binary[o.binary_start[r] : o.binary_start[r + 1]].reshape(n_states[rule]) for o in (plain, smooth)
        )
        np.testing.assert_allclose(after, 0.7 * before + 0.3 * before.mean(axis=0), rtol=1e-10)


def test_the_likelihood_never_falls_without_smoothing(data):
    """The lexicon backs off to classes of words, so words have their plain probabilities here."""
    member = random_member(data, np.random.default_rng(2), 3)
    tags, n_trees = data.words.tags, len(data.treebank)

    def plain_vectors(counts: np.ndarray) -> np.ndarray:
        total = np.zeros((int(tags.max()) + 1, counts.shape[1]))
        np.add.at(total, tags, counts)
        return counts / np.maximum(total[tags], 1e-300)

    rng = np.random.default_rng(1)
    lexical = plain_vectors(rng.random((len(tags), int(member.operators.n_states.max()))))
    values = []
    for _ in range(15):
        counts = expected_counts(member.operators, lexical, data.nodes, 0, n_trees)
        values.append(counts.log_value.sum())
        member = member_from_counts(data, member.operators.n_states, counts, smooth=0.0)
        lexical = plain_vectors(counts.lexical)
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > values[0] + 1.0


def test_one_state_is_the_relative_frequency_of_rules(data):
    one = np.ones(data.rules.n_symbols, np.int32)
    member = member_from_shares(data, one, np.ones((data.treebank.n_nodes, 1)))
    treebank = data.treebank
    times = np.bincount(treebank.rule[treebank.kind == BINARY], minlength=len(data.rules.binary))
    parents = data.rules.binary[:, 0]
    total = np.bincount(parents, times, minlength=data.rules.n_symbols)
    np.testing.assert_allclose(member.operators.binary, times / total[parents])
    roots = np.bincount(treebank.symbol[treebank.roots], minlength=data.rules.n_symbols)
    np.testing.assert_allclose(member.operators.root, roots / roots.sum())


def test_a_state_that_nothing_uses_has_no_say(data):
    n_states = np.full(data.rules.n_symbols, 2, np.int32)
    shares = np.zeros((data.treebank.n_nodes, 2))
    shares[:, 0] = 1.0
    member = member_from_shares(data, n_states, shares)
    start = layout(data.rules, n_states)[0]
    assert (member.operators.root[start[:-1] + 1] == 0.0).all()
    assert np.isfinite(member.lexicon.row_vectors()).all()
