"""The parameters of the parser, checked and complete; training reads nothing else."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spectragram.engine import resolve_jobs
from spectragram.errors import ParameterError

if TYPE_CHECKING:
    from spectragram.dependency.estimator import DependencyParser

__all__ = ["LEARNERS", "PRESETS", "Settings", "settings_of"]

LEARNERS = ("spectral+em", "em", "spectral", "det+f", "det")

PRESETS: dict[str, dict[str, int]] = {
    "fast": {"n_states": 4, "max_iter": 10, "n_epochs": 2, "n_models": 1},
    "default": {"n_states": 8, "max_iter": 20, "n_epochs": 6, "n_models": 1},
    "best": {"n_states": 8, "max_iter": 20, "n_epochs": 6, "n_models": 4},
}
"""Sizes by preset, chosen on the dev part of the WSJ sample; docs/dependency.md has the score and the time of each."""
SMALL_TREEBANK, FEW_STATES = 50_000, 4
"""Words below which automata get no more than so many states, unless their number is given.

On the WSJ sample (70,000 words) 4 states instead of 8 lose 0.4 UAS. On the held-out parts of seven treebanks of 5,000
to 23,000 words they gain 0.5 LAS, and 2 states gain 0.4. On EWT (205,000 words) they gain 0.2 LAS.
"""


@dataclass(frozen=True)
class Settings:
    """The checked parameters; see :class:`~spectragram.dependency.DependencyParser`."""

    learner: str
    factors: bool
    words: bool
    tag_column: str
    crossing: bool
    basis: str | float
    min_mass: float
    seed: int
    n_jobs: int
    verbose: bool
    n_states: int
    max_iter: int
    n_epochs: int
    n_models: int
    states_given: bool

    def states_for(self, n_tokens: int) -> int:
        """States of each automaton for a treebank of this size: those given or, if none are, no more than suit it."""
        if self.states_given or n_tokens >= SMALL_TREEBANK:
            return self.n_states
        return min(self.n_states, FEW_STATES)


def settings_of(parser: DependencyParser) -> Settings:
    """Check the parameters of a parser; None takes the preset's value."""
    parser._choose("learner", parser.learner, LEARNERS)
    parser._choose("tag_column", parser.tag_column, ("auto", "xpos", "upos"))
    for name, least in (("n_states", 1), ("max_iter", 0), ("n_epochs", 0), ("n_models", 1)):
        parser._check_whole(name, least)
    parser._check_number("min_mass")
    if (parser.min_mass or 0.0) > 1:
        raise ParameterError("min_mass", parser.min_mass, remedy="give a share of the singular values, 0 to 1")
    return Settings(
        learner=parser.learner,
        factors=bool(parser.factors),
        words=bool(parser.words),
        tag_column=parser.tag_column,
        crossing=bool(parser.crossing),
        basis=_basis(parser.basis),
        min_mass=parser.min_mass or 0.0,
        seed=parser.random_state,
        n_jobs=resolve_jobs(parser.n_jobs),
        verbose=parser.verbose,
        states_given=parser.n_states is not None,
        **parser._with_preset(PRESETS),
    )


def _basis(basis: object) -> str | float:
    """Any number is a factor: heads have alphabets of very different sizes, so no absolute size suits them all."""
    if basis == "sigma-lambda":
        return "sigma-lambda"
    if isinstance(basis, numbers.Real) and not isinstance(basis, bool) and 0 < float(basis) < math.inf:
        return float(basis)
    remedy = "give sigma-lambda, or a number above 0: substrings for each symbol"
    raise ParameterError("basis", basis, "is not a basis", remedy=remedy)
