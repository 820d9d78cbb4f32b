"""The parameters of the parser, checked and complete; training reads nothing else."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spectragram.automata.hankel import MAX_LENGTH, STATISTICS
from spectragram.automata.settings import SCALINGS
from spectragram.automata.spectral import KAPPA, SMALLEST
from spectragram.data.word_paths import WordPaths
from spectragram.dependency.em import SHRINKAGE
from spectragram.dependency.grammar import ROOT_PRIOR
from spectragram.dependency.spectral import PSEUDO_SEQUENCES
from spectragram.engine import resolve_jobs
from spectragram.errors import ParameterError
from spectragram.word_paths import paths_for_factors

if TYPE_CHECKING:
    from spectragram.dependency.estimator import DependencyParser

__all__ = ["LEARNERS", "PRESETS", "RECIPES", "Settings", "settings_of"]

FACTORS_NEEDED = "use factors and words, or leave the clusters out"
LEARNERS = ("spectral+em", "em", "spectral", "det+f", "det")

PRESETS: dict[str, dict[str, int]] = {
    "fast": {"n_states": 4, "max_iter": 10, "n_epochs": 2, "n_models": 1},
    "default": {"n_states": 8, "max_iter": 20, "n_epochs": 6, "n_models": 1},
    "best": {"n_states": 8, "max_iter": 20, "n_epochs": 6, "n_models": 4},
}
"""Sizes by preset, chosen on the dev part of the WSJ sample; docs/dependency.md has the score and the time of each."""
SMALL_TREEBANK, FEW_STATES = 50_000, 4
"""Words below which automata get no more than so many states, unless their number is given; with factors of siblings,
which know more than states do, automata of all treebanks.

On the held-out parts of seven treebanks of 5,000 to 23,000 words 4 states instead of 8 gain 0.5 LAS, and 2 states gain
0.4. With factors of siblings they gain 0.1 UAS on the WSJ sample (70,000 words, mean of two seeds) and 0.5 LAS on EWT
(205,000 words, one seed); without, they lost 0.4 UAS on the WSJ sample.
"""


RECIPES: dict[str, dict[str, Any]] = {
    "ours": {
        "learner": "spectral+em",
        "factors": True,
        "crossing": True,
        "basis": 3.0,
        "empty_on_top": False,
        "statistic": "marked",
        "max_length": MAX_LENGTH,
        "scaling": "cca",
        "kappa": KAPPA,
        "smallest": SMALLEST,
        "min_mass": 0.0,
        "det_sequences": PSEUDO_SEQUENCES,
        "shrinkage": SHRINKAGE,
        "root_prior": ROOT_PRIOR,
        "fallback": True,
    },
    "paper": {
        "n_states": 9,
        "max_iter": 50,
        "learner": "spectral",
        "factors": False,
        "crossing": False,
        "basis": "sigma-lambda",
        "empty_on_top": True,
        "statistic": "substring",
        "max_length": 4,
        "scaling": "none",
        "kappa": 0.0,
        "smallest": 0.0,
        "min_mass": 0.0,
        "det_sequences": 0.0,
        "shrinkage": 0.0,
        "root_prior": 0.0,
        "fallback": False,
    },
}
"""``paper`` is Balle et al. 2014, sections 6.2 and 7.1: for every head and direction plain substring expectations of
its own modifiers, a decomposition cut at min(|alphabet|, n) states, Lemma 3.1; counts without smoothing for DET, DET+F
and EM; minimum-risk trees. n = 9 and 50 iterations of EM are what the paper's section 7.2 finds best and sufficient.
The constants of ``ours`` stand where they are used."""


@dataclass(frozen=True)
class Settings:
    """The checked parameters; see :class:`~spectragram.dependency.DependencyParser`."""

    learner: str
    factors: bool
    words: bool
    tag_column: str
    crossing: bool
    basis: str | float
    empty_on_top: bool
    statistic: str
    max_length: int
    scaling: str
    kappa: float
    smallest: float
    min_mass: float
    det_sequences: float
    shrinkage: float
    root_prior: float
    fallback: bool
    seed: int
    n_jobs: int
    verbose: bool
    n_states: int
    max_iter: int
    n_epochs: int
    n_models: int
    states_given: bool
    paths: WordPaths | None = None

    def states_for(self, n_tokens: int) -> int:
        """States of each automaton for a treebank of this size: those given or, if none are, no more than suit it."""
        has_siblings = self.factors and self.words
        if self.states_given or (n_tokens >= SMALL_TREEBANK and not has_siblings):
            return self.n_states
        return min(self.n_states, FEW_STATES)


def settings_of(parser: DependencyParser) -> Settings:
    """Check the parameters of a parser; None takes the value of the recipe or the preset."""
    parser._choose("tag_column", parser.tag_column, ("auto", "xpos", "upos"))
    for name, least in (("n_states", 1), ("max_iter", 0), ("n_epochs", 0), ("n_models", 1), ("max_length", 1)):
        parser._check_whole(name, least)
    for name in ("kappa", "smallest", "det_sequences", "shrinkage", "root_prior"):
        parser._check_number(name)
    parser._check_share("min_mass")
    chosen = parser._with_preset(PRESETS, RECIPES)
    parser._choose("learner", chosen["learner"], LEARNERS)
    parser._choose("statistic", chosen["statistic"], STATISTICS)
    parser._choose("scaling", chosen["scaling"], SCALINGS)
    chosen |= {name: bool(chosen[name]) for name in ("factors", "crossing", "empty_on_top", "fallback")}
    return Settings(
        words=bool(parser.words),
        tag_column=parser.tag_column,
        seed=parser.random_state,
        n_jobs=resolve_jobs(parser.n_jobs),
        verbose=parser.verbose,
        states_given=parser.n_states is not None or "n_states" in RECIPES[parser.recipe],
        paths=paths_for_factors(parser.clusters, bool(chosen["factors"] and parser.words), FACTORS_NEEDED),
        **chosen | {"basis": _basis(chosen["basis"])},
    )


def _basis(basis: object) -> str | float:
    """Any number is a factor: heads have alphabets of very different sizes, so no absolute size suits them all."""
    if basis == "sigma-lambda":
        return "sigma-lambda"
    if isinstance(basis, numbers.Real) and not isinstance(basis, bool) and 0 < float(basis) < math.inf:
        return float(basis)
    remedy = "give sigma-lambda, or a number above 0: substrings for each symbol"
    raise ParameterError("basis", basis, "is not a basis", remedy=remedy)
