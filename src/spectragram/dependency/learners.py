"""The learners of head automata by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.dependency.deterministic import learn_deterministic
from spectragram.dependency.em import learn_em
from spectragram.dependency.features import ModifierSequences
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.spectral import learn_spectral
from spectragram.engine.progress import Report, silent

__all__ = ["LEARNERS", "Training", "learn_grammar", "n_steps"]

LEARNERS = ("spectral+em", "em", "spectral", "det+f", "det")


@dataclass(frozen=True)
class Training:
    """What learners read: sequences, how often each tag occurs and the number of its coarse tag, both (k,)."""

    sequences: ModifierSequences
    tag_counts: np.ndarray
    coarse_of: np.ndarray


def n_steps(learner: str, training: Training, max_iter: int) -> int:
    """How often :func:`learn_grammar` reports: an automaton or an iteration for all of them at a time."""
    return {"det": 1, "det+f": 1, "spectral": 2 * training.sequences.n_symbols}.get(learner, 2 * max_iter)


def learn_grammar(
    learner: str,
    training: Training,
    n_states: int,
    *,
    max_iter: int,
    basis: str | float,
    min_mass: float,
    rng: np.random.Generator,
    n_jobs: int,
    report: Report = silent,
) -> Grammar:
    """Head automata by one of :data:`LEARNERS`."""
    everything = training.sequences, training.tag_counts, training.coarse_of
    if learner in ("det", "det+f"):
        grammar = learn_deterministic(*everything, first=learner == "det+f")
        report()
        return grammar
    if learner == "spectral":
        deterministic = learn_deterministic(*everything, first=False)
        return learn_spectral(
            training.sequences, deterministic, n_states, basis=basis, min_mass=min_mass, report=report
        )
    return learn_em(
        *everything,
        n_states,
        max_iter=max_iter,
        spectral_start=learner == "spectral+em",
        rng=rng,
        n_jobs=n_jobs,
        report=report,
    )
