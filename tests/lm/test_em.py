"""EM for hidden classes: exact expected counts, rising likelihood, the prior, threads."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from spectragram.learning.counts import TupleCounts, count_ngrams
from spectragram.lm.em import (
    ClassModel,
    Expectation,
    bigram_matrix,
    by_second_word,
    em,
    em_step,
    history_step,
    random_start,
)


@pytest.fixture
def counts(rng: np.random.Generator) -> TupleCounts:
    return count_ngrams(rng.integers(0, 9, 400).astype(np.int32), 2, 9)


def both_ways(counts: TupleCounts, n_jobs: int = 1) -> tuple[Expectation, Expectation]:
    matrix = bigram_matrix(counts)
    return Expectation(matrix, n_jobs), Expectation(matrix.T.tocsr(), n_jobs)


def likelihood(counts: TupleCounts, model: ClassModel) -> float:
    return float(counts.counts @ np.log(model.prob(counts.contexts, counts.words)))


@pytest.mark.parametrize("n_states", [1, 3, 6])
def test_one_step_equals_enumeration(counts: TupleCounts, n_states: int, rng: np.random.Generator) -> None:
    model = random_start(9, n_states, rng)
    dense = np.zeros((9, 9))
    dense[counts.contexts, counts.words] = counts.counts
    posterior = model.histories[:, None, :] * model.emissions[None, :, :]  # (w1, w2, h)
    posterior /= posterior.sum(axis=2, keepdims=True)
    expected = dense[:, :, None] * posterior
    histories = expected.sum(axis=1) / expected.sum(axis=(1, 2))[:, None]
    emissions = expected.sum(axis=0) / expected.sum(axis=(0, 1))
    stepped, log_likelihood = em_step(*both_ways(counts), model)
    np.testing.assert_allclose(stepped.histories, histories, rtol=1e-12)
    np.testing.assert_allclose(stepped.emissions, emissions, rtol=1e-12)
    np.testing.assert_allclose(stepped.mix, expected.sum(axis=(0, 1)) / dense.sum(), rtol=1e-12)
    assert log_likelihood == pytest.approx(likelihood(counts, model))


def test_likelihood_never_falls_and_tables_stay_distributions(counts: TupleCounts, rng: np.random.Generator) -> None:
    model, pairs = random_start(9, 4, rng), both_ways(counts)
    last = -np.inf
    for _ in range(20):
        model, now = em_step(*pairs, model)
        assert now >= last - 1e-9
        last = now
        np.testing.assert_allclose(model.histories.sum(axis=1), 1)
        np.testing.assert_allclose(model.emissions.sum(axis=0), 1)


def test_the_history_step_is_concave_so_starts_do_not_matter(counts: TupleCounts, rng: np.random.Generator) -> None:
    expect = Expectation(bigram_matrix(counts))
    emissions = random_start(9, 3, rng).emissions
    ends = []
    for _ in range(2):
        model = ClassModel(random_start(9, 3, rng).histories, emissions, np.full(3, 1 / 3))
        for _ in range(3000):
            model, value = history_step(expect, model)
        ends.append(value)
    assert ends[0] == pytest.approx(ends[1], rel=1e-7)


def test_prior_pulls_rare_histories_only(rng: np.random.Generator) -> None:
    stream = np.concatenate([np.tile([0, 1, 2, 3], 200), [4, 0]]).astype(np.int32)
    counts = count_ngrams(stream, 2, 6)
    pairs = both_ways(counts)
    model, _ = em_step(*pairs, random_start(6, 2, rng), prior=10.0)
    free, _ = em_step(*pairs, random_start(6, 2, np.random.default_rng(20120708)), prior=0.0)
    assert np.abs(model.histories[4] - model.mix).max() < 0.1 * max(np.abs(free.histories[4] - free.mix).max(), 0.1)
    np.testing.assert_allclose(model.histories[5], model.mix)  # never seen as a history


def test_threads_do_not_show(counts: TupleCounts, rng: np.random.Generator) -> None:
    model = random_start(9, 5, rng)
    one, _ = em_step(*both_ways(counts, 1), model)
    two, _ = em_step(*both_ways(counts, 2), model)
    np.testing.assert_array_equal(one.histories, two.histories)
    np.testing.assert_array_equal(one.emissions, two.emissions)


def test_early_stopping_returns_the_best_model(counts: TupleCounts, rng: np.random.Generator) -> None:
    losses = iter([5.0, 4.0, 3.0, 3.5, 3.6, 1.0])
    start = random_start(9, 2, rng)
    model, best, seen = em(counts, start, max_iter=9, loss=lambda _: next(losses), patience=2)
    assert best == 2
    assert seen == [5.0, 4.0, 3.0, 3.5, 3.6]
    again, _, _ = em(counts, start, max_iter=2)
    np.testing.assert_array_equal(model.histories, again.histories)


def test_start_of_text_uses_the_mix(rng: np.random.Generator) -> None:
    model = random_start(5, 3, rng)
    got = model.prob(np.full(5, -1), np.arange(5))
    np.testing.assert_allclose(got, model.emissions @ model.mix)
    assert got.sum() == pytest.approx(1)
    np.testing.assert_allclose(model.next(-1), got)
    np.testing.assert_allclose(model.next(3), model.prob(np.full(5, 3), np.arange(5)))


def test_counts_on_disk_teach_the_same(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spectragram.learning.counts.SHARD_TOKENS", 100)
    monkeypatch.setattr("spectragram.learning.counts.KEYS_PER_RUN", 64)  # several slices
    stream = rng.integers(0, 30, 3000).astype(np.int32)
    here, on_disk = (count_ngrams(stream, 2, 30, memory=memory) for memory in (None, 2000))
    matrix = bigram_matrix(on_disk)
    transposed = by_second_word(on_disk, matrix)
    for array in (matrix.data, matrix.indices, transposed.data, transposed.indices):
        while isinstance(array, np.ndarray):
            array = array.base
        assert isinstance(array, mmap.mmap)
    np.testing.assert_array_equal(matrix.toarray(), bigram_matrix(here).toarray())
    np.testing.assert_array_equal(transposed.toarray(), matrix.toarray().T)
    start = random_start(30, 4, rng)
    models = [em(counts, start, max_iter=3)[0] for counts in (here, on_disk)]
    np.testing.assert_array_equal(models[0].histories, models[1].histories)
    np.testing.assert_array_equal(models[0].emissions, models[1].emissions)
