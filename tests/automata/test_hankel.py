"""Hankel blocks against counting by hand, bases, and exact recovery by the spectral learner."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.automata.contexts import FUTURE, PAST, ContextTree, find_gaps, frequent_contexts
from spectragram.automata.hankel import Basis, ExactBlock, count_hankel, find_basis
from spectragram.automata.spectral import automaton_from_block, learn_spectral
from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.errors import InputError
from spectragram.synthetic.automata import PNFA, all_strings

STRINGS = [(0, 1, 0), (0, 1), (1,), (), (0, 0, 1, 1), (1, 0, 1)] * 2


def corpus_of(strings, n_symbols=2) -> Corpus:
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in strings])])
    words = Vocabulary([str(i) for i in range(n_symbols)])
    return Corpus(np.array([x for s in strings for x in s], np.int32), offsets, words)


def count_by_hand(w, statistic) -> float:
    if statistic == "string":
        return sum(s == w for s in STRINGS) / len(STRINGS)
    if statistic == "prefix":
        return sum(s[: len(w)] == w for s in STRINGS) / len(STRINGS)
    places = [(s, i) for s in STRINGS for i in range(len(s) - len(w) + 1)]
    return sum(s[i : i + len(w)] == w for s, i in places) / len(STRINGS)


@pytest.mark.parametrize("statistic", ["string", "prefix", "substring"])
def test_counts_equal_counting_by_hand(statistic) -> None:
    prefixes, suffixes = [(), (0,), (1,), (0, 1)], [(), (1,), (1, 0)]
    block = count_hankel(corpus_of(STRINGS), Basis.of(prefixes, suffixes, 2, statistic))
    expected = np.array([[count_by_hand(u + v, statistic) for v in suffixes] for u in prefixes])
    np.testing.assert_allclose(block.matrix, expected)
    shifted = block.shifted(np.eye(3))
    for symbol in range(2):
        hand = [[count_by_hand((*u, symbol, *v), statistic) for v in suffixes] for u in prefixes]
        np.testing.assert_allclose(shifted[symbol], hand)
    np.testing.assert_allclose(block.initial_row, [count_by_hand(v, statistic) for v in suffixes])
    np.testing.assert_allclose(block.final_column, [count_by_hand(u, statistic) for u in prefixes])


def test_marked_counts_join_all_statistics() -> None:
    block = count_hankel(corpus_of(STRINGS), Basis.of([(), (0,)], [(), (1,)], 2))
    begin, end = block.basis.pasts.elements.index((2,)), block.basis.futures.elements.index((2,))
    one = block.basis.futures.elements.index((1,))
    assert block.matrix[begin, one] == pytest.approx(count_by_hand((1,), "prefix"))
    assert block.matrix[begin, end] == pytest.approx(count_by_hand((), "string"))
    np.testing.assert_allclose(block.initial_row, block.matrix[begin])
    np.testing.assert_allclose(block.final_column, block.matrix[:, end])


def test_blocks_of_parts_add_up_and_weights_repeat_strings() -> None:
    corpus = corpus_of(STRINGS)
    basis = find_basis(corpus, 20)
    whole = count_hankel(corpus, basis)
    parts = count_hankel(corpus.slice(0, 5), basis) + count_hankel(corpus.slice(5, len(corpus)), basis)
    np.testing.assert_allclose(parts.matrix, whole.matrix)
    np.testing.assert_allclose(
        parts.shifted(np.eye(whole.matrix.shape[1])), whole.shifted(np.eye(whole.matrix.shape[1]))
    )
    once = corpus.slice(0, 6)
    doubled = count_hankel(once, basis, weights=np.full(6, 2.0))
    np.testing.assert_allclose(doubled.matrix, whole.matrix)


def test_frequent_contexts_are_the_most_frequent() -> None:
    corpus = corpus_of(STRINGS)
    gaps = find_gaps(corpus.tokens, corpus.offsets, 2)
    found = frequent_contexts(gaps, FUTURE, 6, max_length=3, markers=False)
    counts = {w: count_by_hand(w, "substring") for w in all_strings(2, 3) if w}
    best = sorted(counts.values(), reverse=True)[:5]
    assert found[0] == ()
    assert sorted((counts[w] for w in found[1:]), reverse=True) == best
    marked = frequent_contexts(gaps, PAST, 6, max_length=3, markers=True)
    assert {(), (2,)} <= set(marked)
    assert all(2 not in element[1:] for element in marked)


def test_bases_by_name_number_and_factor() -> None:
    corpus = corpus_of(STRINGS)
    assert set(find_basis(corpus, "sigma").pasts.elements) == {(0,), (1,), (2,)}
    assert () in find_basis(corpus, "sigma-lambda").pasts.elements
    assert find_basis(corpus, 7).shape == find_basis(corpus, np.int64(7)).shape == (7, 7)
    assert find_basis(corpus, 3.0).shape == (6, 6)
    for bad in (0, -1, "all", True, None, float("nan")):
        with pytest.raises(InputError, match="basis"):
            find_basis(corpus, bad)
    with pytest.raises(InputError, match="alphabet of 2"):
        ContextTree.of([(0, 3)], 2, PAST)
    with pytest.raises(InputError, match="choose"):
        Basis.of([], [], 2, "words")


@pytest.mark.parametrize("statistic", ["string", "prefix", "substring"])
def test_exact_blocks_give_the_automaton_back(rng, statistic) -> None:
    true = PNFA.random(5, 3, rng=rng)
    strings = all_strings(3, 2)
    shifted = np.stack([true.hankel(strings, strings, statistic=statistic, symbol=s) for s in range(3)])
    H = true.hankel(strings, strings, statistic=statistic)
    block = ExactBlock(H, shifted, H[0], H[:, 0])
    learned, *_ = automaton_from_block(block, 5, smallest=1e-12)
    assert learned.n_states == 5
    long = [tuple(rng.integers(0, 3, n)) for n in range(12)]
    exact = np.array([true.value(x, statistic) for x in long])
    np.testing.assert_allclose(learned.values(long), exact, atol=1e-9)
    as_strings = learned.change_statistic(statistic, "string").values(long)
    np.testing.assert_allclose(as_strings, [true.value(x) for x in long], atol=1e-9)


@pytest.mark.parametrize("statistic", ["marked", "substring", "prefix"])
def test_the_error_falls_with_the_sample(rng, statistic) -> None:
    true = PNFA.random(3, 2, rng=rng, conditioning=0.15)
    exact = WFA(true.initial, true.operators, true.final)
    strings = all_strings(2, 4)
    errors = []
    for n in (2_000, 128_000):
        found = []
        for _ in range(3):
            sample = true.sample(n, rng)
            model = learn_spectral(count_hankel(sample, find_basis(sample, "sigma-lambda", statistic)), 3, smallest=0.0)
            found.append(np.abs(model.wfa.values(strings) - exact.values(strings)).sum())
        errors.append(np.median(found))
    # 64 times the strings: an eighth of the error, give or take.
    assert errors[1] < errors[0] / 3


def test_singular_values_below_the_threshold_are_not_inverted(rng) -> None:
    true = PNFA.random(2, 2, rng=rng, conditioning=0.2)
    sample = true.sample(20_000, rng)
    block = count_hankel(sample, find_basis(sample, 60))
    assert learn_spectral(block, 20, smallest=0.1).wfa.n_states < 20
    model = learn_spectral(block, 20, smallest=0.0)
    assert model.wfa.n_states == 20
    assert model.truncated(2).wfa.n_states == 2
    np.testing.assert_allclose(model.truncated(2).context_states @ model.total[:2], 1.0)
