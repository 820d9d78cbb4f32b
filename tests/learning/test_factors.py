"""Hashed log-linear models: gradients against finite differences, averages against naive ones, choice by a judge."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spectragram.inference.hashed import STIR, Weights, find_place, label_scores, step_labels, table_shift
from spectragram.learning.factors import (
    SMALLEST_WEIGHT,
    averaged,
    choice_gradient,
    empty_table,
    fit_weights,
    parse_atoms,
    require_table,
    split_templates,
    start_weights,
)

RNG = np.random.default_rng(0)
N_ITEMS, N_FEATURES, N_LABELS = 6, 3, 4
RATE = 0.1
KEYS = RNG.integers(2**63, size=(N_ITEMS, N_FEATURES)).astype(np.uint64)
GOLD = np.array([0, 1, 2, 3, 1, 0])
CANDIDATES = np.ones((N_ITEMS, N_LABELS), np.bool_)
CANDIDATES[0, 2] = CANDIDATES[1, 3] = False
CANDIDATES[5] = False  # an item that has no label at all takes no part
TABLE = RNG.normal(size=32).astype(np.float32)  # so small that features share places


def log_likelihood(table: np.ndarray) -> float:
    """The definition: enumerate the labels of every item, add up the weights of its features."""
    total = 0.0
    shift = table_shift(table)
    for item in range(N_ITEMS - 1):
        scores = {}
        for label in np.flatnonzero(CANDIDATES[item]):
            hashed = (KEYS[item] ^ np.uint64(label + 1)) * STIR
            scores[int(label)] = sum(float(table[find_place(key, shift)]) for key in hashed)
        total += scores[int(GOLD[item])] - np.log(sum(np.exp(score) for score in scores.values()))
    return total


def test_steps_follow_the_gradient_of_the_likelihood() -> None:
    gradient = choice_gradient(label_scores(KEYS, CANDIDATES, TABLE), GOLD)
    # With a huge damping every step of AdaGrad is proportional to the gradient.
    huge = 1e12
    zeros = np.zeros_like(TABLE)
    steps = Weights(zeros.copy(), np.full_like(TABLE, huge), zeros.copy())
    step_labels(KEYS, gradient, steps, RATE, 1)
    found = steps.table.astype(np.float64) * np.sqrt(huge) / RATE
    table, h = TABLE.astype(np.float64), 1e-5
    for place in range(len(table)):
        above, below = table.copy(), table.copy()
        above[place] += h
        below[place] -= h
        expected = (log_likelihood(above) - log_likelihood(below)) / (2 * h)
        # Gradients below SMALLEST_STEP are left out, so a few thousandths may be missing.
        assert found[place] == pytest.approx(expected, abs=5e-3)
    assert np.abs(found).max() > 0.1


def test_an_item_without_labels_has_no_gradient() -> None:
    scores = label_scores(KEYS, CANDIDATES, TABLE)
    assert np.isneginf(scores[5]).all()
    assert not choice_gradient(scores, GOLD)[5].any()
    assert np.isfinite(choice_gradient(scores, GOLD)).all()


def trained(
    n_epochs: int = 3,
    *,
    n_jobs: int = 1,
    batch_size: int = 2,
    seen: list[np.ndarray] | None = None,
    judge: Callable[[list[np.ndarray]], float] | None = None,
):
    """Train on the items one by one; ``seen`` collects the table before every batch."""
    weights = start_weights(np.zeros(32, np.float32))
    last = 0

    def gradient(item: int) -> tuple[np.ndarray, np.ndarray] | None:
        keys, scores = KEYS[item : item + 1], label_scores(KEYS, CANDIDATES, weights.table)[item : item + 1]
        return None if item == 5 else (keys, choice_gradient(scores, GOLD[item : item + 1]))

    def step(found: tuple[np.ndarray, np.ndarray], now: int) -> None:
        nonlocal last
        if seen is not None and now > last:
            seen.append(weights.table.copy())
        last = now
        step_labels(*found, weights, RATE, now)

    fitted = fit_weights(
        gradient, step, [weights], np.arange(N_ITEMS), n_epochs=n_epochs, batch_size=batch_size,
        rng=np.random.default_rng(1), n_jobs=n_jobs, judge=judge,
    )  # fmt: skip
    return fitted, weights


def test_the_result_is_the_average_of_the_tables_before_every_step() -> None:
    seen: list[np.ndarray] = []
    fitted, _ = trained(seen=seen)
    assert len(seen) == 3 * 3
    mean = np.mean(seen, axis=0)
    mean[np.abs(mean) < SMALLEST_WEIGHT] = 0.0
    np.testing.assert_allclose(fitted.tables[0], mean, rtol=1e-3)  # half precision
    assert np.abs(fitted.tables[0]).max() > 0.01


def test_training_raises_the_likelihood() -> None:
    few, _ = trained(1)
    many, _ = trained(20)
    assert log_likelihood(np.zeros(32)) < log_likelihood(few.tables[0]) < log_likelihood(many.tables[0])


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_threads_do_not_show(n_jobs: int) -> None:
    one, _ = trained(n_jobs=1, batch_size=4)
    several, _ = trained(n_jobs=n_jobs, batch_size=4)
    np.testing.assert_array_equal(one.tables[0], several.tables[0])


def test_the_judge_chooses_the_epoch() -> None:
    scores = iter([1.0, 3.0, 2.0, 3.0])
    judged, _ = trained(4, judge=lambda tables: next(scores))
    assert (judged.epoch, judged.score) == (2, 3.0)
    alone, _ = trained(2)
    np.testing.assert_array_equal(judged.tables[0], alone.tables[0])
    assert trained(4)[0].epoch == 4


def test_no_epochs_leave_the_table_alone() -> None:
    fitted, _ = trained(0)
    assert not fitted.tables[0].any()
    assert fitted.epoch == 0


def test_the_average_before_any_step_is_the_table() -> None:
    np.testing.assert_allclose(averaged(start_weights(TABLE), 0), TABLE, rtol=1e-3)  # half precision


def test_small_weights_vanish_and_files_hold_the_others_exactly() -> None:
    table = np.float32([0.0049, -0.0049, 0.0051, -0.3, 1e9])
    found = averaged(start_weights(table), 0)
    assert found[:2].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(found[2:4], table[2:4], rtol=1e-3)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found.astype(np.float16).astype(np.float32), found)


def test_templates_are_read() -> None:
    text = """
        t0 t-1  w0
        t+2
    """
    assert split_templates(text) == ("t0 t-1", "w0", "t+2")
    assert parse_atoms(split_templates(text), "tw")[0].tolist() == [[0, 0], [0, -1]]
    assert parse_atoms([""], "tw").shape == (1, 0, 2)
    for wrong in ("x0", "t", "ta"):
        with pytest.raises(ValueError):
            parse_atoms([wrong], "tw")


def test_tables_are_powers_of_two_and_others_are_refused() -> None:
    for n_tokens in (0, 10, 5000, 10**9):
        require_table(empty_table(n_tokens))
    assert empty_table(0).size == 1 << 14
    assert empty_table(10**9).size == 1 << 22
    good = empty_table(10)
    for wrong in (good[:-1], good.astype(np.float64), good.reshape(2, -1), good[:1]):
        with pytest.raises(ValueError, match="table"):
            require_table(wrong)
