"""The parameters of the pipeline, checked and complete; training reads nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spectragram.engine import resolve_jobs
from spectragram.files import Source

if TYPE_CHECKING:
    from spectragram.pipeline.estimator import Pipeline

__all__ = ["LEARNERS", "PRESETS", "Settings", "settings_of"]

LEARNERS = ("spectral+em", "em")
"""Learners whose models have probabilities, which factors need."""
PRESETS: dict[str, dict[str, int | None]] = {
    "fast": {"n_states": None, "n_models": 1, "n_folds": 3},
    "default": {"n_states": None, "n_models": None, "n_folds": 4},
    "best": {"n_states": None, "n_models": None, "n_folds": 8},
}
"""None leaves the number to the presets of the parts. Folds are chosen by hand, not tuned: with 4 folds a tagger of the
jackknife sees three quarters of the sentences."""


@dataclass(frozen=True)
class Settings:
    """The checked parameters; see :class:`~spectragram.pipeline.Pipeline`."""

    learner: str
    preset: str
    n_states: int | None
    n_models: int | None
    n_folds: int
    clusters: Source | None
    seed: int
    n_jobs: int
    verbose: bool


def settings_of(pipeline: Pipeline) -> Settings:
    """Check the parameters of a pipeline; None takes the preset's value."""
    pipeline._choose("learner", pipeline.learner, LEARNERS)
    pipeline._check_whole("n_states")
    pipeline._check_whole("n_models")
    pipeline._check_whole("n_folds", 0)
    return Settings(
        learner=pipeline.learner,
        preset=pipeline.preset,
        clusters=pipeline.clusters,
        seed=pipeline.random_state,
        n_jobs=resolve_jobs(pipeline.n_jobs),
        verbose=pipeline.verbose,
        **pipeline._with_preset(PRESETS),
    )
