"""The EM driver: which model wins, when it stops, what it reports."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np
import pytest

from spectragram.learning.em import refine


def numbered(log_likelihoods: list[float] | None = None) -> Iterator[tuple[int, float]]:
    """Models 1, 2, 3, ... with the given log-likelihoods, or with those that never settle."""
    values = count(10.0) if log_likelihoods is None else iter(log_likelihoods)
    return ((number, value) for number, value in enumerate(values, start=1))


def scores(*values: float):
    """A judge of models 0, 1, 2, ..."""
    return lambda model: values[model]


def test_without_a_judge_the_last_model_wins() -> None:
    found = refine(numbered(), start=0, max_iter=3)
    assert (found.model, found.iteration, found.score) == (3, 3, 12.0)
    assert (found.log_likelihoods, found.scores) == ([10.0, 11.0, 12.0], [])


@pytest.mark.parametrize("judge", [None, scores(0.5)])
def test_without_iterations_the_start_wins(judge) -> None:
    found = refine(numbered(), start=0, max_iter=0, judge=judge)
    assert (found.model, found.iteration) == (0, 0)
    assert found.score == (-np.inf if judge is None else 0.5)


def test_no_step_is_taken_beyond_the_last() -> None:
    taken = []

    def steps() -> Iterator[tuple[int, float]]:
        for number in count(1):
            taken.append(number)
            yield number, 0.0

    refine(steps(), start=0, max_iter=2)
    assert taken == [1, 2]


def test_with_a_judge_the_best_wins_and_the_first_of_equals() -> None:
    found = refine(numbered(), start=0, max_iter=4, judge=scores(1.0, 3.0, 2.0, 3.0, 0.0))
    assert (found.model, found.iteration, found.score) == (1, 1, 3.0)
    assert found.scores == [1.0, 3.0, 2.0, 3.0, 0.0]


def test_the_start_can_win_unless_it_is_not_judged() -> None:
    judge = scores(9.0, 1.0, 2.0)
    assert refine(numbered(), start=0, max_iter=2, judge=judge).model == 0
    found = refine(numbered(), start=0, max_iter=2, judge=judge, judge_start=False)
    assert (found.model, found.scores) == (2, [1.0, 2.0])


def test_patience_counts_judgements_in_a_row() -> None:
    found = refine(numbered(), start=0, max_iter=9, judge=scores(0, 1, 0, 2, 1, 1, 9), patience=2)
    assert (found.model, found.scores) == (3, [0, 1, 0, 2, 1, 1])


def test_small_gains_do_not_restore_patience_but_are_kept() -> None:
    judge = scores(0.0, 1.0, 1.05, 1.1, 9.0)
    found = refine(numbered(), start=0, max_iter=4, judge=judge, patience=2, tolerance=0.5)
    assert (found.model, found.score) == (3, 1.1)


def test_judged_every_few_iterations_and_at_the_end() -> None:
    judged = []
    refine(numbered(), start=0, max_iter=7, judge=lambda model: judged.append(model) or 0.0, check_every=3)
    assert judged == [0, 3, 6, 7]


@pytest.mark.parametrize("judged", [False, True])
def test_tolerance_stops_when_the_likelihood_settles(judged) -> None:
    seen = []
    judge = (lambda model: seen.append(model) or float(model)) if judged else None
    steps = numbered([-9.0, -5.0, -4.0, -3.95, -1.0])
    found = refine(steps, start=0, max_iter=9, judge=judge, tolerance=0.1, check_every=100)
    assert (found.model, found.log_likelihoods) == (4, [-9.0, -5.0, -4.0, -3.95])
    assert seen == ([0, 4] if judged else []), "the model that settled is judged"


def test_iterations_without_a_model_count_but_are_not_judged() -> None:
    steps = iter([(1, -3.0), None, (2, -2.0), None, (3, -1.0)])
    found = refine(steps, start=0, max_iter=4, judge=scores(0, 1, 2, 3))
    assert (found.model, found.iteration, found.scores) == (2, 3, [0, 1, 2])
    never = refine(iter([(1, -3.0), None]), start=0, max_iter=2, judge=scores(0, 1), judge_start=False, check_every=2)
    assert (never.model, never.scores) == (1, [])


def test_reports_one_fact_for_each_model() -> None:
    facts = []
    refine(
        numbered(),
        start=0,
        max_iter=3,
        judge=scores(0, 0.5, 0.25, 0.75),
        check_every=2,
        report=lambda **f: facts.append(f),
    )
    assert facts == [{"log_likelihood": "10"}, {"dev": "0.25"}, {"dev": "0.75"}]
