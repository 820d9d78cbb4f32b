"""Moving words: every gain is real, nothing drifts, the end is a local optimum."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.clusters import exchange as module
from spectragram.clusters import exchange_classes
from spectragram.clusters.exchange import exchange
from spectragram.clusters.exchange_classes import Classes, refresh, relabel
from spectragram.clusters.exchange_gains import add_gains, by_class
from spectragram.clusters.information import TABLE, class_mutual_information, class_table, nlogn_array
from tests.clusters.brute import bigrams_of, class_counts, information, random_pairs


def test_class_table_and_information_follow_their_definition(rng: np.random.Generator) -> None:
    pairs = random_pairs(rng, 12)
    labels = np.arange(12, dtype=np.int32) % 4
    np.testing.assert_array_equal(class_table(bigrams_of(pairs), labels, 4), class_counts(pairs, labels))
    expected = information(class_counts(pairs, labels))
    assert class_mutual_information(bigrams_of(pairs), labels) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("closed", [0, 1])
def test_gains_add_up_to_the_rise_of_the_information(rng: np.random.Generator, closed: int) -> None:
    pairs = random_pairs(rng, 40)
    bigrams = bigrams_of(pairs)
    start = np.append(np.arange(39) % (6 - closed), 5).astype(np.int32)
    before = start.copy()
    labels, gains = exchange(bigrams, start, n_classes=6, n_movable=40 - closed, tolerance=-1.0, max_passes=4)
    np.testing.assert_array_equal(start, before)
    rise = information(class_counts(pairs, labels)) - information(class_counts(pairs, start))
    assert len(gains) == 4
    assert all(gain >= 0 for gain in gains)
    assert sum(gains) == pytest.approx(rise, abs=1e-10)
    assert rise > 0.05


def test_sums_kept_up_to_date_are_those_of_a_fresh_start(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several moves that touch the same cells, brought up to date together and by several threads."""
    monkeypatch.setattr(exchange_classes, "MOST_STEPS", 5)
    monkeypatch.setattr(exchange_classes, "LONG_TEXT", 1)
    bigrams = bigrams_of(random_pairs(rng, 20, mean=2.0))
    classes = Classes.start(bigrams, np.arange(20) % 4, 4, TABLE, 6)
    for word, c in ((3, 1), (7, 1), (8, 1), (3, 2), (9, 0), (3, 3)):
        s, p, seen_s, seen_p = np.zeros((4, 4), np.int64)
        n_s, itself = by_class(*bigrams[:3], word, classes.labels, s, seen_s)
        n_p, _ = by_class(*bigrams[3:6], word, classes.labels, p, seen_p)
        relabel(bigrams, classes, word, classes.labels[word], c, s, seen_s, n_s, p, seen_p, n_p, itself, TABLE)
    for i in range(3):
        refresh(classes, i, 3, TABLE)
    fresh = Classes.start(bigrams, classes.labels, 4, TABLE, 6)
    for name in set(Classes._fields) - {"stale_cells", "n_stale"}:
        np.testing.assert_array_equal(getattr(classes, name), getattr(fresh, name), err_msg=name)
    assert fresh.step.shape == (5, 4, 4)
    np.testing.assert_allclose(fresh.step[2], nlogn_array(fresh.n + 3) - nlogn_array(fresh.n), rtol=1e-6)


@pytest.mark.parametrize("long_text", [1, 10**7])
def test_no_single_move_improves_the_result(
    long_text: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange_classes, "LONG_TEXT", long_text)
    pairs = random_pairs(rng, 24, mean=2.0)
    labels, gains = exchange(
        bigrams_of(pairs), np.arange(24) % 4, n_classes=4, n_movable=24, max_passes=50, tolerance=0.0
    )
    assert gains[-1] == 0
    best = information(class_counts(pairs, labels))
    for word in range(24):
        if (labels == labels[word]).sum() == 1:
            continue
        for other in range(4):
            moved = labels.copy()
            moved[word] = other
            assert information(class_counts(pairs, moved)) <= best + 1e-6


def test_closed_words_stay_alone_and_no_class_is_emptied(rng: np.random.Generator) -> None:
    pairs = random_pairs(rng, 30)
    labels, _ = exchange(
        bigrams_of(pairs), np.append(np.arange(29) % 9, 9), n_classes=10, n_movable=29, max_passes=8, tolerance=-1.0
    )
    assert (labels == 9).nonzero()[0].tolist() == [29]
    assert len(np.unique(labels)) == 10


@pytest.mark.parametrize("long_text", [1, 10**7])
def test_threads_do_not_show(long_text: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_classes, "LONG_TEXT", long_text)
    pairs = random_pairs(rng, 300)
    bigrams = bigrams_of(pairs)
    one, three = (
        exchange(bigrams, np.arange(300) % 20, n_classes=20, n_movable=300, max_passes=3, n_jobs=n)[0] for n in (1, 3)
    )
    np.testing.assert_array_equal(one, three)


def test_counts_beyond_the_table_of_logarithms(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same moves whether f(n) is looked up or computed."""
    pairs = random_pairs(rng, 60, mean=20.0)
    expected = exchange(bigrams_of(pairs), np.arange(60) % 5, n_classes=5, n_movable=60, max_passes=3)[0]
    monkeypatch.setattr(module, "TABLE", module.TABLE[:64].copy())
    again = exchange(bigrams_of(pairs), np.arange(60) % 5, n_classes=5, n_movable=60, max_passes=3)[0]
    np.testing.assert_array_equal(again, expected)


def test_waiting_words_enter_the_class_where_they_gain_most(rng: np.random.Generator) -> None:
    pairs = random_pairs(rng, 30)
    start = np.append(np.arange(28) % 5, [6, 5])  # word 28 waits in the last class, word 29 stands for unknown words
    labels, gains = exchange(
        bigrams_of(pairs), start, n_classes=7, n_movable=29, n_open=5, first=28, max_passes=1, tolerance=-1.0
    )
    np.testing.assert_array_equal(np.delete(labels, 28), np.delete(start, 28))
    found = {c: information(class_counts(pairs, np.where(np.arange(30) == 28, c, start))) for c in range(5)}
    assert labels[28] == max(found, key=found.__getitem__)
    before = information(class_counts(pairs, start))
    assert gains[0] == pytest.approx(found[int(labels[28])] - before, abs=1e-10)


@pytest.mark.parametrize(("s", "scale"), [(2, 10**5), (700, 10**5), (3000, 10**6), (40_000, 10**6)])
def test_gains_beside_classes_of_long_texts(s: int, scale: int, rng: np.random.Generator) -> None:
    """Counts on both sides of the end of the table, where f(n + s) - f(n) is looked up or a series."""
    n = rng.poisson(rng.gamma(0.3, scale, (3, 500)))
    step = (nlogn_array(n + 1) - nlogn_array(n)).astype(np.float32)[None]
    total = np.zeros(500, np.float32)
    add_gains(total, n, step, np.ones(3, bool), np.full(3, s), np.arange(3), 3, 1, TABLE)
    exact = (nlogn_array(n + s) - nlogn_array(n))[[0, 2]].sum(axis=0)
    np.testing.assert_allclose(total, exact, rtol=2e-4)
