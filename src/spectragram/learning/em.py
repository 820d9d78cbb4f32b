"""The driver of EM: run steps, judge models on held-out data, keep the best and stop in time.

A learner writes its E- and M-step as a generator and leaves the rest to :func:`refine`:

    def steps(model):
        while True:
            expected, log_likelihood = expect(model)
            model = maximize(expected)
            yield model, log_likelihood

    found = refine(steps(start), start=start, max_iter=20, judge=held_out_score, patience=2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

import numpy as np

from spectragram.engine.progress import Report, silent

__all__ = ["Refined", "refine"]

Model = TypeVar("Model")


@dataclass
class Refined(Generic[Model]):
    """The result of :func:`refine`.

    Attributes
    ----------
    model
        The best model, or the last one without a judge.
    iteration : int
        The iteration it comes from; 0 is the start.
    score : float
        Its score; without a judge, the last log-likelihood seen (minus infinity if there was none).
    log_likelihoods : list of float
        Log-likelihood of the training data under the model before each step.
    scores : list of float
        What the judge said, in order, the start included if it was judged.
    """

    model: Model
    iteration: int = 0
    score: float = -np.inf
    log_likelihoods: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)

    def last_change(self) -> float:
        """By how much the log-likelihood changed in the last step; infinite before there were two."""
        values = self.log_likelihoods
        return abs(values[-1] - values[-2]) if len(values) > 1 else np.inf

    def keep(self, model: Model, iteration: int, score: float) -> None:
        """Take a better model over."""
        self.model, self.iteration, self.score = model, iteration, score


def refine(
    steps: Iterable[tuple[Model, float] | None],
    *,
    start: Model | None = None,
    max_iter: int,
    judge: Callable[[Model], float] | None = None,
    judge_start: bool = True,
    patience: int | None = None,
    check_every: int = 1,
    tolerance: float | None = None,
    report: Report = silent,
) -> Refined[Model]:
    """Run EM and return the best model: by the judge if there is one, otherwise the last.

    Parameters
    ----------
    steps, start, max_iter
        Steps yield the next model and the log-likelihood of the one before, or None if an iteration was wasted and
        brought no new model. The first step begins at ``start``; at most ``max_iter`` are taken. Without it, what the
        steps yield first is the start; nobody else then holds it, so that large models are given up as others come.
    judge, judge_start
        Score of a model on held-out data, higher is better; and whether the start is judged, too, and may be returned.
    patience : int, optional
        Stop after this many judgements in a row without an improvement; never by default.
    check_every : int
        Iterations between two judgements; the last one is always judged.
    tolerance : float, optional
        Stop if the log-likelihood changes by less than this; and a score must rise by more to restore the patience.
    report
        Called once for each model: ``report(dev=...)`` if it was judged, ``report(log_likelihood=...)`` if not.
    """
    steps = iter(steps)
    found = Refined(_first(steps) if start is None else start)
    del start
    if judge is not None and judge_start:
        found.score = judge(found.model)
        found.scores.append(found.score)
    model, waited = found.model, 0
    for iteration, step in enumerate(islice(steps, max_iter), start=1):
        if step is None:
            continue
        model, log_likelihood = step
        found.log_likelihoods.append(log_likelihood)
        settled = tolerance is not None and found.last_change() < tolerance
        if judge is not None and (iteration % check_every == 0 or settled or iteration == max_iter):
            score = judge(model)
            found.scores.append(score)
            report(dev=f"{score:.5g}")
            waited = 0 if score > found.score + (tolerance or 0.0) else waited + 1
            if score > found.score:
                found.keep(model, iteration, score)
        else:
            report(log_likelihood=f"{log_likelihood:.5g}")
        if judge is None:
            found.keep(model, iteration, log_likelihood)
        if settled or (patience is not None and waited >= patience):
            break
    if judge is not None and not found.scores:
        found.model = model  # nothing was judged, so the last model wins
    return found


def _first(steps: Iterator[tuple[Model, float] | None]) -> Model:
    step = next(steps)
    assert step is not None
    return step[0]
