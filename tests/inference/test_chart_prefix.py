"""Prefix probabilities and entropies of derivations against enumeration of all derivations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.inference.chart_entropy import EntropyGrammar
from spectragram.inference.chart_prefix import PrefixGrammar
from spectragram.inference.chart_rules import Operators, Rules, make_operators, make_rules
from spectragram.inference.chart_spans import Spans

N_TAGS = 2
WORDS = np.array([[0.5, 0.3, 0.0, 0.2], [0.5, 0.1, 0.6, 0.3], [0.0, 0.6, 0.4, 0.5]])
"""p(word | tag, state): three words, tag 0 with three states, tag 1 with one."""
ENTROPIES = -(WORDS * np.log(np.where(WORDS > 0, WORDS, 1.0))).sum(axis=0)


def random_operators(rng: np.random.Generator, binary: list, unary: list, n_symbols: int) -> tuple[Rules, Operators]:
    """A proper grammar: every item's choices sum to one; tag 0 has three states, tag 1 one, phrases have two."""
    rules = make_rules(np.array(binary), np.array(unary), n_symbols)
    sizes = np.array([3, 1] + [2] * (n_symbols - N_TAGS), np.int32)
    tensors = [rng.random(sizes[rule]) * (0.25 if rule[0] in rule[1:] else 1.0) for rule in rules.binary]
    for a in range(N_TAGS, n_symbols):
        own = [r for r, rule in enumerate(rules.binary) if rule[0] == a]
        total = sum(tensors[r].sum(axis=(1, 2)) for r in own)
        for r in own:
            tensors[r] /= total[:, None, None]
    matrices = [0.2 * rng.random(sizes[rule]) for rule in rules.unary]
    kept = [np.ones(size) for size in sizes]
    for (a, _), matrix in zip(rules.unary, matrices, strict=True):
        kept[a] = kept[a] - matrix.sum(axis=1)
    root = np.concatenate([np.zeros(4), rng.random(int(sizes[N_TAGS:].sum()))])

    def flat(parts: list) -> np.ndarray:
        return np.concatenate([np.ravel(part) for part in parts])

    return rules, make_operators(rules, sizes, flat(tensors), flat(matrices), flat(kept), root / root.sum())


@pytest.fixture
def finite(rng):
    """At most four words: 4 -> 3 1 | 0 2, 3 -> 2 0, 2 -> 0 1 | 1 1; with unary rules."""
    binary = [[4, 3, 1], [4, 0, 2], [3, 2, 0], [2, 0, 1], [2, 1, 1]]
    return random_operators(rng, binary, [[4, 3], [3, 0], [2, 1]], 5)


@pytest.fixture
def recursive(rng):
    """Left and right recursion, direct and indirect."""
    return random_operators(
        rng, [[2, 0, 1], [2, 2, 0], [2, 1, 3], [3, 0, 2], [3, 3, 1], [3, 2, 1]], [[2, 0], [3, 2]], 4
    )


def all_derivations(rules: Rules, operators: Operators) -> list[tuple[float, tuple[int, ...]]]:
    """Probability and words of every derivation with states, of a grammar with finitely many."""
    start, sizes = operators.state_start, operators.n_states

    @cache
    def bottom(a: int, x: int) -> list:
        if a < N_TAGS:
            column = WORDS[:, int(start[a]) + x]
            return [(p, (w,)) for w, p in enumerate(column.tolist()) if p > 0]
        return list(binary(a, x))

    def binary(a: int, x: int) -> Iterator:
        for r, (parent, b, c) in enumerate(rules.binary.tolist()):
            if parent == a:
                tensor = operators.binary[operators.binary_start[r] : operators.binary_start[r + 1]]
                for y, z in np.ndindex(int(sizes[b]), int(sizes[c])):
                    p = tensor.reshape(sizes[[a, b, c]])[x, y, z]
                    yield from ((p * q * s, u + v) for q, u in top(b, y) for s, v in top(c, z))

    @cache
    def top(a: int, x: int) -> list:
        found = [(operators.kept[start[a] + x] * p, words) for p, words in bottom(a, x)]
        for u, (parent, b) in enumerate(rules.unary.tolist()):
            if parent == a:
                matrix = operators.unary[operators.unary_start[u] : operators.unary_start[u + 1]].reshape(sizes[[a, b]])
                found += [(matrix[x, y] * p, words) for y in range(sizes[b]) for p, words in bottom(b, y)]
        return found

    places = [(a, x) for a in range(len(sizes)) for x in range(sizes[a]) if operators.root[start[a] + x] > 0]
    return [(operators.root[start[a] + x] * p, words) for a, x in places for p, words in top(a, x)]


def conditionals(grammar: PrefixGrammar, sentence: tuple[int, ...]) -> list[float]:
    """p(each word and the end | those before)."""
    (found,) = grammar.prefixes([WORDS[list(sentence)]])
    steps = [float(found.opened[i] @ WORDS[w]) for i, w in enumerate(sentence)]
    return [*steps, float(found.ends[len(sentence)])]


@pytest.mark.parametrize("sentence", [(0, 1), (1, 2, 1), (0, 2, 1, 2)], ids=str)
def test_prefixes_are_as_probable_as_all_derivations_that_begin_with_them(finite, sentence):
    derivations = all_derivations(*finite)
    assert sum(p for p, _ in derivations) == pytest.approx(1.0)
    totals = [sum(p for p, words in derivations if words[:i] == sentence[:i]) for i in range(len(sentence) + 1)]
    totals.append(sum(p for p, words in derivations if words == sentence))
    expected = [after / before for before, after in pairwise(totals)]
    assert conditionals(PrefixGrammar(*finite, N_TAGS), sentence) == pytest.approx(expected, rel=1e-5)


def test_left_recursion_is_summed_to_its_limit(recursive):
    """Of sentences with up to 30 more words of any kind, which are all but a small part of those that begin so."""
    rules, operators = recursive
    grammar = PrefixGrammar(rules, operators, N_TAGS)
    sentence = (0, 2, 1)
    found = float(np.prod(conditionals(grammar, sentence)[:-1]))
    total = 0.0
    for n_more in range(31):
        vectors = np.vstack([WORDS[list(sentence)], np.ones((n_more, 4))])
        (whole,) = grammar.prefixes([vectors])
        steps = [float(whole.opened[i] @ vector) for i, vector in enumerate(vectors)]
        total += float(np.prod(steps)) * whole.ends[-1]
    assert total == pytest.approx(found, rel=2e-3)
    assert total < found


def test_next_words_and_the_end_sum_to_one(recursive):
    grammar = PrefixGrammar(*recursive, N_TAGS)
    for found in grammar.prefixes([WORDS[[0, 1, 2, 0, 0, 1]], WORDS[[2]], WORDS[[]]]):
        assert found.opened.sum(axis=1) + found.ends == pytest.approx(1.0, abs=1e-12)
        assert found.opened.min() >= 0.0


def test_sentences_together_are_as_sentences_alone(recursive):
    grammar = PrefixGrammar(*recursive, N_TAGS)
    sentences = [(0, 1, 2, 2), (1,), (2, 0, 1, 0, 1, 1, 0), ()]
    together = grammar.prefixes([WORDS[list(sentence)] for sentence in sentences])
    for sentence, found in zip(sentences, together, strict=True):
        (alone,) = grammar.prefixes([WORDS[list(sentence)]])
        np.testing.assert_allclose(found.opened, alone.opened, rtol=1e-5, atol=1e-12)
        np.testing.assert_allclose(found.ends, alone.ends, rtol=1e-5)


def test_scales_of_words_change_nothing(recursive):
    """Unknown words are spelled out and may be improbable beyond single precision."""
    grammar = PrefixGrammar(*recursive, N_TAGS)
    vectors = WORDS[[0, 1, 2, 0]]
    (plain,), (scaled,) = grammar.prefixes([vectors]), grammar.prefixes([vectors * 1e-60])
    np.testing.assert_allclose(scaled.opened, plain.opened, rtol=1e-6)


def test_long_sentences_keep_their_probabilities(recursive):
    grammar = PrefixGrammar(*recursive, N_TAGS)
    (found,) = grammar.prefixes([np.tile(WORDS[[0, 1, 2]], (60, 1))])
    assert (found.opened.sum(axis=1) > 0.1).all()


def test_after_an_impossible_prefix_nothing_follows(finite):
    (found,) = PrefixGrammar(*finite, N_TAGS).prefixes([WORDS[[1, 1, 1, 1, 1, 1]]])
    assert found.ends[4] > 0.99
    assert found.opened[5:].sum() == found.ends[5:].sum() == 0.0


def test_endless_left_recursion_is_refused():
    rules = make_rules(np.array([[2, 2, 0]]), np.zeros((0, 2)), 3)
    sizes = np.ones(3, np.int32)
    operators = make_operators(rules, sizes, np.ones(1), np.zeros(0), np.ones(3), np.array([0.0, 0.0, 1.0]))
    with pytest.raises(InputError, match="for ever"):
        PrefixGrammar(rules, operators, N_TAGS)


def test_splits_are_numbered_as_spans():
    chart = Spans([3, 0, 2])
    assert chart.n_spans == 6 + 3
    names = {}
    for length in range(1, 4):
        here = chart.of_length(length)
        pairs = [(s, i, i + length) for s, n in enumerate([3, 0, 2]) for i in range(n - length + 1)]
        names.update(zip(range(here.start, here.stop), pairs, strict=True))
    assert len(names) == chart.n_spans
    for length in (2, 3):
        for span, parts in zip(range(99), chart.splits(length), strict=False):
            s, i, j = names[chart.of_length(length).start + span]
            assert [(names[a], names[b]) for a, b in parts] == [((s, i, k), (s, k, j)) for k in range(i + 1, j)]


# Entropies of derivations


@pytest.mark.parametrize("sentence", [(0, 1), (1, 2, 1), (0, 2, 1, 2)], ids=str)
def test_entropies_are_those_of_all_derivations_that_begin_so(finite, sentence):
    derivations = all_derivations(*finite)
    grammar = EntropyGrammar(*finite, N_TAGS, ENTROPIES)
    found = grammar.prefixes([WORDS[list(sentence)], WORDS[[0]]], entropy=True)[0]
    for i in range(len(sentence) + 1):
        p = np.array([p for p, words in derivations if words[:i] == sentence[:i]])
        q = p / p.sum()
        assert found.entropies[i] == pytest.approx(-(q * np.log(q)).sum(), abs=1e-4), i
    (plain,) = grammar.prefixes([WORDS[list(sentence)]])
    np.testing.assert_allclose(found.opened, plain.opened, rtol=1e-5, atol=1e-9)


def test_the_entropy_of_the_empty_prefix_is_that_of_the_grammar(recursive):
    """By the linear system alone: the roots' own choice, then the entropy below them."""
    rules, operators = recursive
    grammar = EntropyGrammar(rules, operators, N_TAGS, ENTROPIES)
    root = grammar.operators.root
    expected = -(root * np.log(np.where(root > 0, root, 1.0))).sum() + root @ grammar.top_entropies
    (found,) = grammar.prefixes([WORDS[[]]], entropy=True)
    assert found.entropies[0] == pytest.approx(expected, rel=1e-6)


def test_entropies_of_a_recursive_grammar_fall_on_average_by_the_entropy_of_the_word(recursive):
    """H(derivations) = H(first word) + sum over first words of p(word) H(derivations | word)."""
    grammar = EntropyGrammar(*recursive, N_TAGS, ENTROPIES)
    found = grammar.prefixes([WORDS[[w]] for w in range(3)], entropy=True)
    chances = np.array([one.opened[0] @ WORDS[w] for w, one in enumerate(found)])
    assert chances.sum() == pytest.approx(1.0)
    expected = -(chances * np.log(chances)).sum() + sum(
        p * one.entropies[1] for p, one in zip(chances, found, strict=True)
    )
    assert found[0].entropies[0] == pytest.approx(expected, abs=1e-4)
