"""How to learn: what a user gave, completed by presets and by what the data are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spectragram.errors import InputError
from spectragram.tagging.features import SPEECH_VIEWS, Views, text_views

__all__ = [
    "DECODINGS",
    "EMISSIONS",
    "FRAMES_A_STATE",
    "LEARNERS",
    "TOKENS_A_STATE",
    "Settings",
    "emits_gaussians",
    "presets",
    "usual_views",
]

LEARNERS = ("spectral+em", "spectral", "pivot", "pivot+em", "em", "hmm", "unigram")
DECODINGS = ("auto", "marginal", "legal")
EMISSIONS = ("auto", "classes", "gaussian")
PRESETS: dict[str, dict[str, int]] = {
    "fast": {"n_states": 8, "max_iter": 4, "n_models": 1},
    "default": {"n_states": 24, "max_iter": 8, "n_models": 1},
    "best": {"n_states": 24, "max_iter": 8, "n_models": 4},
}
WITH_GAUSSIANS = ("spectral+em", "em", "hmm")
"""Learners whose states can emit vectors."""
STATES_OF_CLASSES, STATES_OF_GAUSSIANS = 4, 9
MODELS_OF_GAUSSIANS = {"fast": 1, "default": 4, "best": 8}
"""Clusters of vectors depend on their random start more than those of words do, and train in a second."""
WEIGHT_OF_FRAMES = 0.6
"""Exponent of the likelihood of a frame, whose neighbours repeat most of what it says."""
SMOOTHING_OF_TEXT, SMOOTHING_OF_FRAMES = 60.0, 20.0
TOKENS_A_STATE, FRAMES_A_STATE = 100, 60


@dataclass(frozen=True)
class Settings:
    """Every choice made; see :class:`spectragram.tagging.Tagger` for what they mean.

    ``tokens_a_state``: a label gets one state for every so many tokens, at most ``n_states``.
    """

    learner: str
    n_states: int
    n_models: int
    max_iter: int
    n_starts: int
    backoff: float
    smoothing: float
    ridge: float
    emission_weight: float
    gaussian: bool
    tokens_a_state: int
    n_codes: int
    random_state: int
    n_jobs: int

    @property
    def n_steps(self) -> int:
        """Steps of training that are reported: each member's end, and every EM iteration before it."""
        if self.learner == "unigram":
            return 1
        starts = self.n_starts if self.learner == "em" else int(self.learner.endswith("+em"))
        return self.n_models * (1 + starts * self.max_iter)


def emits_gaussians(learner: str, emissions: str, *, frames: bool) -> bool:
    """Whether states emit vectors; refuses a learner whose states cannot."""
    if emissions == "gaussian" and not frames:
        raise InputError("emissions='gaussian' for text", remedy="only frames of speech have Gaussians; leave it out")
    gaussian = frames and emissions != "classes" and learner in WITH_GAUSSIANS
    if frames and emissions == "gaussian" and not gaussian:
        raise InputError(
            f"learner={learner!r} knows no Gaussians",
            remedy=f"use one of {', '.join(WITH_GAUSSIANS)}, or emissions='classes'",
        )
    return gaussian


def presets(learner: str, *, frames: bool, gaussian: bool) -> dict[str, dict[str, Any]]:
    """What each preset gives to the parameters that are None, for text or for frames of speech."""
    return {name: _usual(name, learner, frames, gaussian) for name in PRESETS}


def _usual(preset: str, learner: str, frames: bool, gaussian: bool) -> dict[str, Any]:
    usual = {**PRESETS[preset], "smoothing": SMOOTHING_OF_TEXT, "emission_weight": 1.0}
    if frames:
        usual |= {"n_states": STATES_OF_CLASSES, "smoothing": SMOOTHING_OF_FRAMES, "emission_weight": WEIGHT_OF_FRAMES}
    if gaussian:
        usual |= {"n_states": STATES_OF_GAUSSIANS, "n_models": MODELS_OF_GAUSSIANS[preset]}
        # The clusters are the optimum already: iterations of EM only over-fit the few frames of a state.
        usual["max_iter"] = 0 if learner == "spectral+em" else usual["max_iter"]
    if learner == "hmm":
        usual["n_models"] = 1  # nothing about it is random
    return usual


def usual_views(settings: Settings, n_columns: int, *, frames: bool) -> Views:
    """The four views for this kind of data."""
    if not frames:
        return text_views(n_columns)
    if not settings.gaussian:
        return SPEECH_VIEWS
    # Clusters for Gaussians: where in which phone between which others, but not what the neighbouring frames are like.
    return SPEECH_VIEWS.replaced({"destiny": SPEECH_VIEWS.without("word").destiny})
