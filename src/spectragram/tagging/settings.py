"""How to learn: the parameters of a tagger, checked, and completed by its preset and by the kind of data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spectragram.data.word_paths import WordPaths
from spectragram.errors import ParameterError
from spectragram.learning.views import KAPPA, MIN_COUNT, TOLERANCE, Decomposition
from spectragram.tagging.em import EMISSION_MIX, INITIAL_SMOOTHING, LABEL_SMOOTHING, PULL_OF_LABEL, Pulls
from spectragram.tagging.factors import RATE
from spectragram.tagging.features import SPEECH_VIEWS, Views, text_views
from spectragram.tagging.projection import DECOMPOSITION, SMALLEST, TOKENS_A_DIMENSION
from spectragram.word_paths import paths_for_factors

if TYPE_CHECKING:
    from spectragram.tagging.estimator import Tagger

__all__ = ["DECODINGS", "EMISSIONS", "LEARNERS", "RECIPES", "Settings", "settings_of"]

LEARNERS = ("spectral+em", "spectral", "pivot", "pivot+em", "em", "segments", "hmm", "unigram")
DECODINGS = ("auto", "marginal", "legal", "f1")
EMISSIONS = ("auto", "classes", "gaussian")
SCALINGS = ("cca", "none")
EM_STARTS = ("states", "shares")
WITH_GAUSSIANS = ("spectral+em", "em", "segments", "hmm")
"""Learners whose states can emit vectors."""
CHOICES = {
    "learner": LEARNERS,
    "decoding": DECODINGS,
    "emissions": EMISSIONS,
    "scaling": SCALINGS,
    "em_start": EM_STARTS,
}
"""Parameters with a few possible values."""
PULL_OF_CLASS = 5.0
"""How many tokens the coarser class is worth in averages of projected destinies. Chosen by hand, not tuned."""
DEFAULT_PULLS = Pulls()
WITH_FACTORS = ("spectral+em", "em", "pivot+em", "segments", "hmm")
"""Learners whose model has probabilities, so that factors can be fitted to it."""
FACTORS_NEEDED = f"use text, factors and one of the learners {', '.join(WITH_FACTORS)}, or leave the clusters out"
PRESETS: dict[str, dict[str, int]] = {
    "fast": {"n_states": 8, "max_iter": 4, "n_models": 1, "n_epochs": 0},
    "default": {"n_states": 24, "max_iter": 8, "n_models": 1, "n_epochs": 0},
    "best": {"n_states": 24, "max_iter": 8, "n_models": 4, "n_epochs": 0},
}
"""Chosen on the dev parts of EWT and CoNLL-2000; docs/tagger.md has the figures. With 8 states tagging is almost three
times as fast as with 24."""
FACTOR_PRESETS: dict[str, dict[str, int]] = {
    "fast": {"n_states": 8, "max_iter": 4, "n_models": 1, "n_epochs": 3},
    "default": {"n_states": 8, "max_iter": 4, "n_models": 2, "n_epochs": 4},
    "best": {"n_states": 8, "max_iter": 4, "n_models": 4, "n_epochs": 4},
}
"""With factors, chosen after trials with one seed on the dev parts of EWT, CoNLL-2000, CoNLL-2002 and WNUT-17; not
every combination was tried on every corpus. Factors tell much of what many states would. With 8 states instead of 24,
two models take the time of one."""
STATES_OF_CLASSES, STATES_OF_GAUSSIANS = 4, 9
"""Chosen on the dev part of the TIMIT sample."""
MODELS_OF_GAUSSIANS = {"fast": 1, "default": 4, "best": 8}
"""Clusters of vectors depend on their random start more than those of words do, and train in a second. Chosen by
hand."""
WEIGHT_OF_FRAMES = 0.6
"""Exponent of the likelihood of a frame, whose neighbours repeat most of what it says. Chosen on the dev part of the
TIMIT sample."""
SMOOTHING_OF_TEXT, SMOOTHING_OF_FRAMES = 60.0, 20.0
"""C of lambda = sqrt(c) / (C + sqrt(c)). Chosen on the dev parts of EWT and CoNLL-2000, and of the TIMIT sample."""
TOKENS_A_STATE, FRAMES_A_STATE = 100, 60
"""The first was chosen on the dev parts of EWT and CoNLL-2000; the second by hand, not tuned."""


SEGMENTS = 3
"""States of the learner ``segments``: begin, middle and end, as is usual for phones."""
RECIPES: dict[str, dict[str, Any]] = {
    "ours": {
        "learner": "spectral+em",
        "factors": True,
        "n_starts": 3,
        "em_start": "states",
        "decoding": "auto",
        "sign_rule": True,
        "emissions": "auto",
        "n_codes": 1000,
        "normalised": True,
        "centred": True,
        "scaling": "cca",
        "kappa": KAPPA,
        "min_count": MIN_COUNT,
        "smallest": SMALLEST,
        "svd_tolerance": TOLERANCE,
        "tokens_a_dimension": TOKENS_A_DIMENSION,
        "ridge": 0.2,
        "trusted": math.inf,
        "backoff": 3.0,
        "class_pull": PULL_OF_CLASS,
        "label_pull": PULL_OF_LABEL,
        "label_smoothing": LABEL_SMOOTHING,
        "initial_smoothing": INITIAL_SMOOTHING,
        "emission_mix": EMISSION_MIX,
    },
    "paper": {
        "n_states": 24,
        "n_models": 1,
        "max_iter": 200,
        "smoothing": 30.0,
        "emission_weight": 1.0,
        "tokens_a_state": 1,
        "learner": "spectral",
        "factors": False,
        "n_starts": 1,
        "em_start": "shares",
        "decoding": "marginal",
        "sign_rule": False,
        "emissions": "classes",
        "n_codes": 10_000,
        "normalised": False,
        "centred": False,
        "scaling": "none",
        "kappa": 0.0,
        "min_count": 1,
        "smallest": 0.0,
        "svd_tolerance": 1e-10,
        "tokens_a_dimension": 1,
        "ridge": 0.0,
        "trusted": 1000.0,
        "backoff": 0.0,
        "class_pull": 0.0,
        "label_pull": 0.0,
        "label_smoothing": 0.0,
        "initial_smoothing": 0.0,
        "emission_mix": 0.0,
    },
}
"""``paper`` is Stratos et al. 2013, figures 2 and 4 and section 7: plain binary features, one decomposition for each
label and pair of views, moments inverted as they are, smoothed by the method of Cohen et al. 2013 (C = 30 below 1000
examples, as there), argmax of the marginals; 10,000 classes of frames, 24 states; EM from random probabilities for 200
iterations without smoothing. Every position is a sample, not one for each sequence: given the state, past and future
are independent at a given position, but not at one drawn with a probability that depends on the length.
In ``ours`` the ridge was chosen on the dev parts of EWT and CoNLL-2000, the number of classes on that of the TIMIT
sample, and ``n_starts`` and ``backoff`` by hand; the other constants stand where they are used."""


@dataclass(frozen=True)
class Settings:
    """Every choice made; see :class:`spectragram.tagging.Tagger` for the meaning of most.

    Attributes
    ----------
    factors : bool
        Whether log-linear factors are fitted beside the refinement HMM.
    gaussian : bool
        Whether hidden states emit vectors.
    tokens_a_state : int
        A label gets one state for every ``tokens_a_state`` tokens, at most ``n_states``.
    views : dict
        Templates that replace those of the usual views.
    decomposition : Decomposition
        How views are projected.
    pulls : Pulls
        How strongly estimates are drawn to coarser ones.
    rate : float
        Step size of the factors.
    paths : WordPaths or None
        Paths of the clusters of words.
    """

    learner: str
    n_states: int
    n_models: int
    max_iter: int
    n_epochs: int
    n_starts: int
    em_start: str
    backoff: float
    smoothing: float
    trusted: float
    ridge: float
    emission_weight: float
    emission_mix: float
    class_pull: float
    factors: bool
    gaussian: bool
    tokens_a_state: int
    tokens_a_dimension: int
    n_codes: int
    normalised: bool
    decoding: str
    sign_rule: bool
    views: Mapping[str, list[str]]
    random_state: int
    decomposition: Decomposition = DECOMPOSITION
    pulls: Pulls = DEFAULT_PULLS
    rate: float = RATE
    paths: WordPaths | None = None

    @property
    def n_steps(self) -> int:
        """Steps of training that are reported: each member's end, every EM iteration and every epoch before it."""
        if self.learner == "unigram":
            return 1
        starts = (
            self.n_starts if self.learner == "em" else int(self.learner.endswith("+em") or self.learner == "segments")
        )
        return self.n_models * (1 + starts * self.max_iter + (self.n_epochs if self.factors else 0))

    def views_for(self, n_columns: int, *, frames: bool) -> Views:
        """The four views for this kind of data."""
        usual = SPEECH_VIEWS if frames else text_views(n_columns)
        if self.gaussian:
            # For clusters of frames: where in which phone between which others, but not what neighbouring frames are
            # like.
            usual = usual.replaced({"destiny": SPEECH_VIEWS.without("word").destiny})
        return usual.replaced(self.views)


def settings_of(tagger: Tagger, *, frames: bool) -> Settings:
    """The checked parameters of a tagger, for text or for frames of speech."""
    _check(tagger)
    chosen = tagger._with_preset(PRESETS, RECIPES)
    for name, choices in CHOICES.items():
        tagger._choose(name, chosen[name], choices)
    learner = chosen["learner"]
    gaussian = _emits_gaussians(learner, chosen["emissions"], frames=frames)
    factors = bool(chosen["factors"]) and not frames and learner in WITH_FACTORS
    presets = {name: _usual(name, learner, frames, gaussian, factors) for name in PRESETS}
    chosen = tagger._with_preset(presets, RECIPES)
    decomposition = Decomposition(
        centred=bool(chosen.pop("centred")),
        solver="krylov",
        least_share=chosen.pop("smallest"),
        tolerance=chosen.pop("svd_tolerance"),
        scaled=chosen.pop("scaling") != "none",
        kappa=chosen.pop("kappa"),
        min_count=chosen.pop("min_count"),
    )
    pulls = Pulls(*(chosen.pop(name) for name in ("label_pull", "label_smoothing", "initial_smoothing")))
    del chosen["emissions"]
    return Settings(
        **chosen | {"factors": factors, "sign_rule": bool(chosen["sign_rule"])},
        gaussian=gaussian,
        decomposition=decomposition,
        pulls=pulls,
        views=dict(tagger.views or {}),
        random_state=tagger.random_state,
        paths=paths_for_factors(tagger.clusters, factors, FACTORS_NEEDED),
    )


def _check(tagger: Tagger) -> None:
    for name, least in (("n_states", 1), ("n_models", 1), ("max_iter", 0), ("n_epochs", 0)):
        tagger._check_whole(name, least)
    for name in ("n_starts", "n_codes", "min_count", "tokens_a_state", "tokens_a_dimension"):
        tagger._check_whole(name)
    for name in ("smoothing", "ridge", "kappa", "backoff", "class_pull", "label_pull", "label_smoothing"):
        tagger._check_number(name)
    tagger._check_number("initial_smoothing")
    tagger._check_number("trusted", infinite=True)
    for name in ("smallest", "svd_tolerance", "emission_mix"):
        tagger._check_share(name)
    tagger._check_number("emission_weight", above=True)
    if tagger.views is not None and not isinstance(tagger.views, dict):
        raise ParameterError("views", tagger.views, remedy="give a dict with a list of templates for each view")


def _emits_gaussians(learner: str, emissions: str, *, frames: bool) -> bool:
    """Whether states emit vectors; refuses data and learners that cannot."""
    if emissions == "gaussian" and not frames:
        raise ParameterError("emissions", emissions, "for text", remedy="only speech frames can have Gaussians")
    if emissions == "gaussian" and learner not in WITH_GAUSSIANS:
        raise ParameterError(
            "emissions",
            emissions,
            f"but learner {learner} has no Gaussians",
            remedy=f"use classes of frames, or one of the learners {', '.join(WITH_GAUSSIANS)}",
        )
    return frames and emissions != "classes" and learner in WITH_GAUSSIANS


def _usual(preset: str, learner: str, frames: bool, gaussian: bool, factors: bool) -> dict[str, Any]:
    """The values of a preset for the parameters that may be None."""
    sizes = (FACTOR_PRESETS if factors else PRESETS)[preset]
    usual = {**sizes, "smoothing": SMOOTHING_OF_TEXT, "emission_weight": 1.0}
    usual["tokens_a_state"] = FRAMES_A_STATE if gaussian else TOKENS_A_STATE
    if frames:
        usual |= {"n_states": STATES_OF_CLASSES, "smoothing": SMOOTHING_OF_FRAMES, "emission_weight": WEIGHT_OF_FRAMES}
    if gaussian:
        usual |= {"n_states": STATES_OF_GAUSSIANS, "n_models": MODELS_OF_GAUSSIANS[preset]}
        # The clusters are the optimum already: iterations of EM only over-fit the few frames of a state.
        usual["max_iter"] = 0 if learner == "spectral+em" else usual["max_iter"]
    if learner == "segments":
        usual |= {"n_states": SEGMENTS}
    if learner in ("hmm", "segments") and not factors:
        usual["n_models"] = 1  # nothing about it is random
    return usual
