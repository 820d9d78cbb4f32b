"""How to learn: the parameters of a tagger, checked, and completed by its preset and by the kind of data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spectragram.errors import ParameterError
from spectragram.tagging.factors import RATE
from spectragram.tagging.features import SPEECH_VIEWS, Views, text_views

if TYPE_CHECKING:
    from spectragram.tagging.estimator import Tagger

__all__ = ["DECODINGS", "EMISSIONS", "LEARNERS", "Settings", "settings_of"]

LEARNERS = ("spectral+em", "spectral", "pivot", "pivot+em", "em", "hmm", "unigram")
DECODINGS = ("auto", "marginal", "legal")
EMISSIONS = ("auto", "classes", "gaussian")
WITH_GAUSSIANS = ("spectral+em", "em", "hmm")
"""Learners whose states can emit vectors."""
WITH_FACTORS = ("spectral+em", "em", "pivot+em", "hmm")
"""Learners whose model has probabilities, so that factors can be fitted to it."""
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
    rate : float
        Step size of the factors.
    """

    learner: str
    n_states: int
    n_models: int
    max_iter: int
    n_epochs: int
    n_starts: int
    backoff: float
    smoothing: float
    ridge: float
    emission_weight: float
    factors: bool
    gaussian: bool
    tokens_a_state: int
    n_codes: int
    decoding: str
    views: Mapping[str, list[str]]
    random_state: int
    rate: float = RATE

    @property
    def n_steps(self) -> int:
        """Steps of training that are reported: each member's end, every EM iteration and every epoch before it."""
        if self.learner == "unigram":
            return 1
        starts = self.n_starts if self.learner == "em" else int(self.learner.endswith("+em"))
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
    gaussian = _emits_gaussians(tagger.learner, tagger.emissions, frames=frames)
    factors = bool(tagger.factors) and not frames and tagger.learner in WITH_FACTORS
    presets = {name: _usual(name, tagger.learner, frames, gaussian, factors) for name in PRESETS}
    return Settings(
        learner=tagger.learner,
        n_starts=tagger.n_starts,
        backoff=tagger.backoff,
        ridge=tagger.ridge,
        factors=factors,
        gaussian=gaussian,
        tokens_a_state=FRAMES_A_STATE if gaussian else TOKENS_A_STATE,
        n_codes=tagger.n_codes,
        decoding=tagger.decoding,
        views=dict(tagger.views or {}),
        random_state=tagger.random_state,
        **tagger._with_preset(presets),
    )


def _check(tagger: Tagger) -> None:
    for name, choices in (("learner", LEARNERS), ("decoding", DECODINGS), ("emissions", EMISSIONS)):
        tagger._choose(name, getattr(tagger, name), choices)
    for name, least in (("n_states", 1), ("n_models", 1), ("max_iter", 0), ("n_epochs", 0)):
        tagger._check_whole(name, least)
    for name in ("n_starts", "n_codes"):
        tagger._check_whole(name, 1, or_else=())
    for name in ("ridge", "backoff"):
        if getattr(tagger, name) is None:
            raise ParameterError(name, None, remedy="give a number")
    for name in ("smoothing", "ridge"):
        tagger._check_number(name)
    for name in ("backoff", "emission_weight"):
        tagger._check_number(name, above=True)
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
    if frames:
        usual |= {"n_states": STATES_OF_CLASSES, "smoothing": SMOOTHING_OF_FRAMES, "emission_weight": WEIGHT_OF_FRAMES}
    if gaussian:
        usual |= {"n_states": STATES_OF_GAUSSIANS, "n_models": MODELS_OF_GAUSSIANS[preset]}
        # The clusters are the optimum already: iterations of EM only over-fit the few frames of a state.
        usual["max_iter"] = 0 if learner == "spectral+em" else usual["max_iter"]
    if learner == "hmm" and not factors:
        usual["n_models"] = 1  # nothing about it is random
    return usual
