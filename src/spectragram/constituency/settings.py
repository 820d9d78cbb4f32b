"""The parameters of a parser, checked and complete, as the learners read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from spectragram.constituency import factors, rule_factors
from spectragram.constituency.nodes import FeatureFunction
from spectragram.data.word_paths import WordPaths
from spectragram.errors import ParameterError
from spectragram.learning.temperature import COLDEST, HOTTEST
from spectragram.learning.views import Decomposition
from spectragram.word_paths import load_word_paths

if TYPE_CHECKING:
    from spectragram.constituency.estimator import ConstituencyParser

__all__ = [
    "BINARISATIONS",
    "DECODERS",
    "FACTOR_STEPS",
    "LEARNERS",
    "PAPER_PIVOT",
    "PRESETS",
    "RECIPES",
    "Separation",
    "Settings",
    "Thresholds",
    "settings_of",
]

FACTOR_STEPS = factors.FOLDS + factors.EPOCHS + rule_factors.EPOCHS
"""Training steps of factors that are reported: each fold that is parsed, and each pass over the trees."""
LEARNERS = ("spectral+em", "spectral", "em", "pivot", "pivot+em", "pcfg")
DECODERS = ("mbr", "max-rule", "goodman")
BINARISATIONS = ("right", "left", "head")
PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"n_models": 1, "n_states": 16, "max_iter": 4, "binarisations": ("right",)},
    "default": {"n_models": 4, "n_states": 16, "max_iter": 4, "binarisations": ("right", "left")},
    "best": {"n_models": 9, "n_states": 24, "max_iter": 5, "binarisations": ("right", "left", "head")},
}
"""The values that each preset gives to parameters that are None.

Tuned on the dev part of wsj-sample. Going from 8 to 16 states gains 1.3 F1, from 16 to 32 only 0.4 at four times the
cost. Four models gain 1.7 over one, and a second binarisation 0.7 more. From a spectral start a few EM iterations are
enough, and twenty overfit.
"""


SCALINGS = ("cca", "none")
DECOMPOSITIONS = ("power", "exact")
EVIDENCE = ("mean", "combinations")
EM_STARTS = ("shares", "perturbed")
EXACT = 1e-10
"""Residuals of an exact decomposition: about the precision of the arithmetic."""
RECIPES: dict[str, dict[str, Any]] = {
    "ours": {
        "learner": "spectral+em",
        "decoder": "mbr",
        "factors": None,
        "absolute": True,
        "noise": 0.3,
        "states_by_count": True,
        "scaling": "cca",
        "kappa": 5.0,
        "min_count": 2,
        "decomposition": "power",
        "smallest": 0.01,
        "shrink": 30.0,
        "trusted": 1000.0,
        "smooth_words": 0.4,
        "trust_word": 1.0,
        "trust_class": 5.0,
        "smooth_rules": 0.01,
        "smooth_states": 0.1,
        "prune": 3e-5,
        "prune_middle": 1e-4,
        "prune_tags": 1e-5,
        "em_start": "shares",
        "exact_words": False,
        "evidence": "mean",
        "pivot_count": 20,
        "smooth_membership": 1e-3,
        "align_iterations": 50,
        "rule_iterations": 15,
        "rule_tolerance": 1e-4,
    },
    "paper": {
        "n_states": 8,
        "n_models": 1,
        "binarisations": ("right",),
        "max_iter": 40,
        "learner": "spectral",
        "decoder": "goodman",
        "factors": False,
        "absolute": False,
        "noise": 0.0,
        "states_by_count": False,
        "scaling": "none",
        "kappa": 0.0,
        "min_count": 1,
        "decomposition": "exact",
        "smallest": 0.0,
        "shrink": 0.0,
        "trusted": 1000.0,
        "smooth_words": 0.0,
        "trust_word": 0.0,
        "trust_class": 0.0,
        "smooth_rules": 0.0,
        "smooth_states": 0.0,
        "prune": 0.0,
        "prune_middle": 0.0,
        "prune_tags": 0.0,
        "em_start": "perturbed",
        "exact_words": True,
        "evidence": "combinations",
        "pivot_count": 1,
        "smooth_membership": 0.0,
        "align_iterations": 1000,
        "rule_iterations": 1000,
        "rule_tolerance": 1e-10,
    },
}
"""``paper`` is, for ``spectral``, Cohen et al. 2012 (figures 3 to 5: plain features, exact decompositions of m
dimensions for every label, moments inverted as they are, the whole chart, Goodman's decoder) and, for ``pivot``,
``pivot+em`` and ``em``, Cohen & Collins 2014. Both leave m open; 8 is the smallest of the latter's table 1, where EM
took up to 40 iterations. All nodes are samples, as Cohen et al. recommend. The constants of ``ours`` are explained
where they are used: :mod:`~spectragram.constituency.features`, ``spectral``, ``lexicon``, ``em``, ``model`` and
``pivot``; the noise was tuned on the dev part of wsj-sample."""
PAPER_PIVOT = {"scaling": "cca"}
"""Section 5.2 of Cohen & Collins 2014 gets its vectors by canonical correlation analysis."""


class Thresholds(NamedTuple):
    """Smallest posteriors that pruning keeps, after the coarse and after the middle pass, and smallest value of a tag.

    Tags whose value for a word is smaller than the best tag's by this factor are left out of the chart. With zeros the
    whole chart is used, as in the papers. Chosen by hand, not tuned: larger values are faster and lose more parses. For
    a plain PCFG 1e-4 to 1e-5 is usual; that of tags is below it, since the coarse pass would prune most of them anyway.
    """

    coarse: float = 3e-5
    middle: float = 1e-4
    tags: float = 1e-5


@dataclass(frozen=True)
class Separation:
    """How states are separated; the defaults are those of the paper, except that EM has to stop somewhere.

    Attributes
    ----------
    pivot_count : int
        Rarer features cannot be pivots.
    align_iterations, rule_iterations : int
        Most EM iterations for eq. 3 and for eq. 1,
    tolerance : float
        which stop earlier if the mean log-likelihood gains less than this.
    """

    pivot_count: int = 1
    align_iterations: int = 1000
    rule_iterations: int = 1000
    tolerance: float = 1e-10


@dataclass(frozen=True)
class Settings:
    """What to learn; :class:`~spectragram.constituency.ConstituencyParser` explains the parameters."""

    learner: str
    n_states: int
    n_models: int
    max_iter: int
    binarisations: tuple[str, ...]
    decoder: str
    factors: bool
    absolute: bool
    noise: float
    states_by_count: bool
    decomposition: Decomposition
    shrink: float
    trusted: float
    smooth_words: float
    trust_word: float
    trust_class: float
    smooth_rules: float
    smooth_states: float
    thresholds: Thresholds
    em_start: str
    exact_words: bool
    evidence: str
    smooth_membership: float
    separation: Separation
    inside_features: FeatureFunction | None
    outside_features: FeatureFunction | None
    random_state: int
    temperature: float = 1.0
    paths: WordPaths | None = None

    @property
    def n_steps(self) -> int:
        """Number of training steps that are reported: the start of each model, each of its EM iterations, and for
        factors each fold that is parsed and each pass over the trees."""
        grammars = self.n_models * (1 + self.max_iter * self.learner.endswith("em"))
        return grammars + (FACTOR_STEPS if self.factors else 0)

    @property
    def probabilistic(self) -> bool:
        """Whether the learner gives a probability distribution over trees."""
        return self.learner != "spectral"


def settings_of(parser: ConstituencyParser) -> Settings:
    """Check the parameters of an estimator and fill in the values of its recipe and its preset."""
    _check(parser)
    learner = parser._choose("learner", parser._with_preset(PRESETS, RECIPES)["learner"], LEARNERS)
    recipes = RECIPES | {"paper": RECIPES["paper"] | (PAPER_PIVOT if learner.startswith("pivot") else {})}
    chosen = parser._with_preset(PRESETS, recipes)
    for name, choices in CHOICES.items():
        parser._choose(name, chosen[name], choices)
    directions = chosen["binarisations"]
    if not isinstance(directions, (list, tuple)) or not directions:
        raise ParameterError("binarisations", directions, remedy=f"give a list of {', '.join(BINARISATIONS)}")
    for name in directions:
        parser._choose("binarisations", name, BINARISATIONS)
    if learner == "pcfg":
        # All models of a binarisation would be the same.
        chosen["n_models"] = min(chosen["n_models"], len(directions))
    if learner == "spectral" and chosen["n_models"] == 1:
        # EM profits from a noisy start even in a single model; operators that are used as they are do not.
        chosen["noise"] = 0.0
    if chosen["factors"] is None:
        # The other learners, and features of the user's own, are there to be compared; factors take several times as
        # long to train as a single grammar, which is all that the preset "fast" trains.
        own = parser.inside_features is not None or parser.outside_features is not None
        chosen["factors"] = learner == "spectral+em" and not own and parser.preset != "fast"
    if chosen["factors"] and learner == "spectral":
        raise ParameterError("factors", True, "for the learner spectral", remedy="use a learner with probabilities")
    names = ("pivot_count", "align_iterations", "rule_iterations", "rule_tolerance")
    separation = Separation(*(chosen.pop(name) for name in names))
    thresholds = Thresholds(*(chosen.pop(name) for name in ("prune", "prune_middle", "prune_tags")))
    how = _decomposition(chosen)
    return Settings(
        **chosen
        | {
            "binarisations": tuple(directions),
            "decomposition": how,
            "separation": separation,
            "thresholds": thresholds,
            "inside_features": parser.inside_features,
            "outside_features": parser.outside_features,
            "random_state": parser.random_state,
            "temperature": 1.0 if parser.temperature is None else float(parser.temperature),
            "paths": None if parser.clusters is None else load_word_paths(parser.clusters),
        }
    )


CHOICES = {
    "decoder": DECODERS,
    "scaling": SCALINGS,
    "decomposition": DECOMPOSITIONS,
    "evidence": EVIDENCE,
    "em_start": EM_STARTS,
}
"""Parameters with a few possible values."""


def _check(parser: ConstituencyParser) -> None:
    for name, least in (("n_states", 1), ("n_models", 1), ("max_iter", 0), ("min_count", 1), ("pivot_count", 1)):
        parser._check_whole(name, least)
    for name in ("align_iterations", "rule_iterations"):
        parser._check_whole(name)
    for name in ("noise", "kappa", "smallest", "shrink", "trust_word", "trust_class", "rule_tolerance"):
        parser._check_number(name)
    parser._check_number("trusted", infinite=True)
    parser._check_number("temperature", COLDEST)
    if parser.temperature is not None and parser.temperature > HOTTEST:
        raise ParameterError("temperature", parser.temperature, remedy=f"give a number of at most {HOTTEST:g}")
    for name in ("smooth_words", "smooth_rules", "smooth_states", "smooth_membership"):
        parser._check_share(name)
    for name in ("prune", "prune_middle", "prune_tags"):
        parser._check_share(name)
    for name in ("inside_features", "outside_features"):
        function = getattr(parser, name)
        if function is not None and not callable(function):
            raise ParameterError(name, function, remedy="give a function of a node, or None")


def _decomposition(chosen: dict[str, Any]) -> Decomposition:
    """How features are projected; takes its parameters out of ``chosen``."""
    exact = chosen.pop("decomposition") == "exact"
    return Decomposition(
        centred=False,
        solver="krylov" if exact else "power",
        least=max(chosen.pop("smallest"), EXACT),
        tolerance=EXACT,
        scaled=chosen.pop("scaling") != "none",
        kappa=chosen.pop("kappa"),
        min_count=chosen.pop("min_count"),
    )
