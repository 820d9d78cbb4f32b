"""Every learner by name, from sequences to a model.

spectral+em    EM from clusters of places (:mod:`spectragram.hmm.starts`)
spectral       these clusters alone, counted
em             EM from random starts

The best of several starts goes on. Without a number of states, sizes are tried until the Bayesian information criterion
stops falling (or the log-likelihood of held-out sequences, if there are any, stops rising).
"""

from __future__ import annotations

import numpy as np

from spectragram.data.number_sequences import NumberSequences
from spectragram.engine import require_memory
from spectragram.engine.progress import Report, silent
from spectragram.errors import InputError
from spectragram.hmm.em import Prepared, prepare, steps
from spectragram.hmm.model import Model
from spectragram.hmm.settings import Settings
from spectragram.hmm.starts import random_start, spectral_start
from spectragram.learning.em import Refined, refine

__all__ = ["learn"]

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
"""Numbers of states that are tried if none is given: each about a third larger. Chosen by hand."""
TRIAL_ITERATIONS = 5
"""EM iterations after which starts are compared. Chosen by hand: the order rarely changes later."""
COPIES = 3
"""Arrays of one number for each place and state in memory at a time."""


def learn(
    data: NumberSequences, settings: Settings, dev: NumberSequences | None = None, report: Report = silent
) -> Model:
    """The model of the number of states asked for, or of the best number."""
    prepared = prepare(data, settings.n_symbols)
    if settings.n_states is not None:
        _require_room(data, settings.n_states)
        return _of_size(prepared, settings.n_states, settings, dev, report)
    best, best_score = None, -np.inf
    for size in SIZES:
        if size > len(data.values) and best is not None:
            break
        model = _of_size(prepared, size, settings, dev, report)
        score = float(model.log_probs(dev).sum()) if dev is not None else -_bic(model, data)
        if score <= best_score:
            break
        best, best_score = model, score
    assert best is not None
    return best


def _of_size(
    prepared: Prepared, n_states: int, settings: Settings, dev: NumberSequences | None, report: Report
) -> Model:
    rng = np.random.default_rng(settings.seed)
    make = random_start if settings.learner == "em" else spectral_start
    n_starts = settings.n_starts if settings.learner != "spectral" and n_states > 1 else 1
    starts = [make(prepared, n_states, settings.full, settings.prior, rng) for _ in range(n_starts)]
    if settings.learner == "spectral":
        report()
        return starts[0]

    def climb(start: Model, iterations: int, judged: bool = False) -> Refined[Model]:
        return refine(
            steps(prepared, start, settings.prior, settings.full, settings.n_jobs),
            start=start,
            max_iter=iterations,
            judge=(lambda model: float(model.log_probs(dev).sum())) if judged and dev is not None else None,
            patience=3,
            tolerance=settings.tolerance,
            report=report,
        )

    if n_starts > 1:
        trials = [climb(start, min(TRIAL_ITERATIONS, settings.max_iter)) for start in starts]
        starts = [max(trials, key=lambda trial: trial.score).model]
    return climb(starts[0], settings.max_iter, judged=True).model


def _bic(model: Model, data: NumberSequences) -> float:
    """Bayesian information criterion: -2 log p + parameters log n; smaller is better."""
    return model.n_parameters * np.log(len(data.values)) - 2.0 * float(model.log_probs(data).sum())


def _require_room(data: NumberSequences, n_states: int) -> None:
    if n_states > len(data.values):
        raise InputError(
            f"{n_states} states for {len(data.values)} observations", remedy="use fewer states, or more observations"
        )
    require_memory(COPIES * 8.0 * len(data.values) * n_states, f"{n_states} states at every place", "use fewer states")
