"""The parameters of the estimator, checked and completed by the preset: what learners read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spectragram.engine import resolve_jobs
from spectragram.errors import ParameterError

if TYPE_CHECKING:
    from spectragram.hmm.estimator import HMM

__all__ = ["COVARIANCES", "EMISSIONS", "LEARNERS", "Settings", "settings_of"]

LEARNERS = ("spectral+em", "spectral", "em")
EMISSIONS = ("auto", "categorical", "gaussian")
COVARIANCES = ("diag", "full")
PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"max_iter": 20, "n_starts": 1},
    "default": {"max_iter": 500, "n_starts": 3},
    "best": {"max_iter": 2000, "n_starts": 10},
}
"""Most EM iterations, and how many starts are tried; the best one goes on. Chosen by hand: states that overlap need
hundreds of iterations (500 for two dice of which one is loaded), and the tolerance stops EM earlier elsewhere."""


@dataclass(frozen=True)
class Settings:
    """Checked parameters; see :class:`~spectragram.hmm.HMM` for what they mean."""

    n_states: int | None
    learner: str
    emissions: str
    full: bool
    n_symbols: int | None
    prior: float
    tolerance: float
    max_iter: int
    n_starts: int
    seed: int
    n_jobs: int


def settings_of(model: HMM) -> Settings:
    """Check the parameters of an estimator; the preset replaces None."""
    model._choose("learner", model.learner, LEARNERS)
    model._choose("emissions", model.emissions, EMISSIONS)
    model._choose("covariance", model.covariance, COVARIANCES)
    model._check_whole("n_states")
    model._check_whole("n_symbols")
    model._check_whole("max_iter", 0)
    for name in ("prior", "tolerance"):
        model._check_number(name)
        if getattr(model, name) is None:
            raise ParameterError(name, None, remedy="give a number of at least 0")
    chosen = model._with_preset(PRESETS)
    return Settings(
        n_states=model.n_states,
        learner=model.learner,
        emissions=model.emissions,
        full=model.covariance == "full",
        n_symbols=model.n_symbols,
        prior=model.prior,
        tolerance=model.tolerance,
        max_iter=chosen["max_iter"],
        n_starts=chosen["n_starts"],
        seed=model.random_state,
        n_jobs=resolve_jobs(model.n_jobs),
    )
