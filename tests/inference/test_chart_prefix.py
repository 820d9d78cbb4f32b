"""Inside and prefix probabilities against enumeration of a finite language."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spectragram.inference.chart_prefix import close_span, combine, left_corner_closure
from spectragram.inference.chart_rules import make_operators, make_rules

N_WORDS = 3


def recursive_grammar(rng: np.random.Generator):
    """A proper grammar with left and right recursion: tag 0; phrases 1, 2. Two states each."""
    binary = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 2], [2, 0, 1], [2, 2, 0]])
    unary = np.array([[1, 0], [2, 1]])
    rules = make_rules(binary, unary, 3)
    m = 2
    tensors = rng.random((5, m, m, m)) * np.array([1.0, 0.3, 0.3, 1.0, 0.3])[:, None, None, None]
    for a in (1, 2):
        own = rules.binary[:, 0] == a
        tensors[own] /= tensors[own].sum(axis=(0, 2, 3))[None, :, None, None]
    matrices = rng.random((2, m, m)) * 0.2
    kept = np.ones((3, m))
    kept[1] -= matrices[0].sum(axis=1)
    kept[2] -= matrices[1].sum(axis=1)
    root = rng.random((3, m))
    root[0] = 0.0
    root /= root.sum()
    words = rng.random((N_WORDS, m))
    words /= words.sum(axis=0)
    operators = make_operators(
        rules, np.full(3, m, np.int32), tensors.ravel(), matrices.ravel(), kept.ravel(), root.ravel()
    )
    return rules, operators, words


def inside(rules, operators, vectors):
    n = len(vectors)
    top = np.zeros((n, n + 1, vectors.shape[1]))
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            bottom = vectors[i]
            if length > 1:
                bottom = combine(rules, operators, top[i, i + 1 : j].copy(), top[i + 1 : j, j].copy())
            top[i, j] = close_span(rules, operators, bottom)
    return top


def test_a_prefix_is_as_likely_as_all_sentences_that_begin_with_it(rng):
    rules, operators, words = recursive_grammar(rng)
    size = int(operators.state_start[-1])

    def vectors_of(sentence):
        out = np.zeros((len(sentence), size))
        out[:, :2] = words[list(sentence)]
        return out

    closure = left_corner_closure(rules, operators)
    prefix = (0, 2)
    top = inside(rules, operators, vectors_of(prefix))
    open_last = close_span(rules, operators, closure @ vectors_of(prefix)[1])
    bottom = combine(rules, operators, top[0, 1:2].copy(), open_last[None])
    value = operators.root @ close_span(rules, operators, closure @ bottom)
    # Sentences of a length have the same value for all words of a marginalised position: sum by unknown words.
    total = 0.0
    everything = np.zeros(size)
    everything[:2] = 1.0
    for n_more in range(0, 22):
        vectors = np.vstack([vectors_of(prefix), np.tile(everything, (n_more, 1))])
        total += operators.root @ inside(rules, operators, vectors)[0, 2 + n_more]
    assert total == pytest.approx(value, rel=2e-3)
    assert total < value


def test_all_first_words_together_are_certain(rng):
    rules, operators, words = recursive_grammar(rng)
    closure = left_corner_closure(rules, operators)
    total = 0.0
    for word in range(N_WORDS):
        bottom = np.zeros(int(operators.state_start[-1]))
        bottom[:2] = words[word]
        total += operators.root @ close_span(rules, operators, closure @ bottom)
    assert total == pytest.approx(1.0, rel=1e-10)


def test_inside_sums_to_the_probability_of_the_length(rng):
    rules, operators, words = recursive_grammar(rng)
    size = int(operators.state_start[-1])
    total = 0.0
    for sentence in product(range(N_WORDS), repeat=3):
        vectors = np.zeros((3, size))
        vectors[:, :2] = words[list(sentence)]
        total += operators.root @ inside(rules, operators, vectors)[0, 3]
    everything = np.zeros((3, size))
    everything[:, :2] = 1.0
    assert total == pytest.approx(operators.root @ inside(rules, operators, everything)[0, 3], rel=1e-10)
