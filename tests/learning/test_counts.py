"""Packed counts: equal to counting tuples one by one, the same however they are cut, refused where they cannot be."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.learning import counts as module
from spectragram.learning.counts import RunningCounts, TupleCounts, count_ngrams, pack


def as_counter(counts: TupleCounts) -> Counter[tuple[int, ...]]:
    n, order = counts.n_ids, counts.order
    tuples = [tuple(int(key) // n ** (order - 1 - i) % n for i in range(order)) for key in counts.keys]
    return Counter(dict(zip(tuples, counts.counts.tolist(), strict=True)))


def same(one: TupleCounts, other: TupleCounts) -> bool:
    return (one.n_ids, one.order) == (other.n_ids, other.order) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("keys", "counts")
    )


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("gap", [0, 1])
def test_ngrams_are_those_of_the_stream(order: int, gap: int, rng: np.random.Generator) -> None:
    stream = rng.integers(0, 5, 200).astype(np.int32)
    reach = (order - 1) * (gap + 1)
    expected = Counter(tuple(stream[i : i + reach + 1 : gap + 1].tolist()) for i in range(len(stream) - reach))
    counts = count_ngrams(stream, order, 5, gap=gap)
    assert as_counter(counts) == expected
    assert counts.keys.dtype == counts.counts.dtype == np.int64
    assert (np.diff(counts.keys) > 0).all()
    assert counts.counts.sum() == len(stream) - reach


def test_a_stream_too_short_for_an_ngram() -> None:
    counts = count_ngrams(np.array([1], np.int32), 3, 5)
    assert len(counts.keys) == len(counts.counts) == 0
    assert counts.lookup(np.array([3, 4])).tolist() == [0, 0]


def test_counts_are_the_same_in_shards_in_runs_and_added(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    stream = rng.integers(0, 12, 3000).astype(np.int32)
    whole = count_ngrams(stream, 3, 12)
    monkeypatch.setattr(module, "SHARD_TOKENS", 100)
    assert same(count_ngrams(stream, 3, 12), whole)
    keys = pack([stream[:-2], stream[1:-1], stream[2:]], 12)
    monkeypatch.setattr(module, "KEYS_PER_RUN", 64)
    running = RunningCounts(12, 3)
    for part in np.array_split(keys, 37):
        running.add(part)
    assert same(running.result(), whole)
    assert same(TupleCounts.from_keys(keys[:900], 12, 3) + TupleCounts.from_keys(keys[900:], 12, 3), whole)
    twice = TupleCounts.from_weighted_keys(np.tile(whole.keys[::-1], 2), np.tile(whole.counts[::-1], 2), 12, 3)
    assert same(whole + whole, twice)


def test_nothing_was_counted() -> None:
    nothing = RunningCounts(7).result()
    assert len(nothing.keys) == 0
    some = TupleCounts.from_keys(np.array([3, 3]), 7)
    assert same(nothing + some, some)
    assert same(some + nothing, some)
    empty = np.empty(0, np.int64)
    assert same(TupleCounts.from_weighted_keys(empty, empty, 7), nothing)


def test_tuples_come_apart_again(rng: np.random.Generator) -> None:
    first, second = rng.integers(0, 9, (2, 50))
    counts = TupleCounts.from_keys(pack([first, second], 9), 9)
    assert set(zip(counts.contexts.tolist(), counts.words.tolist(), strict=True)) == set(
        zip(first.tolist(), second.tolist(), strict=True)
    )
    present = pack([first[:1], second[:1]], 9)
    assert counts.lookup(present)[0] == ((first == first[0]) & (second == second[0])).sum()


def test_a_vocabulary_too_large_to_pack_is_refused() -> None:
    with pytest.raises(InputError, match="keep fewer words"):
        count_ngrams(np.zeros(5, np.int32), 3, 3_000_000)


@pytest.mark.parametrize(
    ("keys", "counts", "problem"),
    [
        ([3, 2], [1, 1], "sorted"),
        ([2, 2], [1, 1], "sorted"),
        ([2, 3], [1, 0], "sorted"),
        ([2, 3], [1], "sorted"),
        ([2, 16], [1, 1], "leave"),
        ([-1, 3], [1, 1], "leave"),
    ],
)
def test_arrays_that_are_not_counts(keys: list[int], counts: list[int], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        TupleCounts.from_arrays(np.array(keys), np.array(counts), 4)


def test_arrays_that_are_counts() -> None:
    assert TupleCounts.from_arrays(np.array([2, 15]), np.array([1, 9], np.int32), 4).counts.dtype == np.int64
