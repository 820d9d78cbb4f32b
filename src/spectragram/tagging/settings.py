"""How to learn: what a user gave, completed by presets and by what the data are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spectragram.errors import InputError
from spectragram.tagging.features import SPEECH_VIEWS, Views, text_views

__all__ = ["DECODINGS", "EMISSIONS", "LEARNERS", "PRESETS", "Settings", "check_parameters", "settle", "usual_views"]

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
    smoothing: float
    ridge: float
    emission_weight: float
    gaussian: bool
    tokens_a_state: int
    n_jobs: int
    verbose: bool


def check_parameters(given: dict[str, Any]) -> None:
    """Refuse parameters of a tagger that make no sense."""
    for name, choices in (
        ("learner", LEARNERS),
        ("preset", tuple(PRESETS)),
        ("decoding", DECODINGS),
        ("emissions", EMISSIONS),
    ):
        if given[name] not in choices:
            raise InputError(f"{name}={given[name]!r} is unknown", remedy=f"choose one of {', '.join(choices)}")
    least = {"n_states": 1, "n_models": 1, "n_starts": 1, "n_codes": 1, "max_iter": 0, "smoothing": 0, "ridge": 0}
    for name, bound in least.items():
        if given[name] is not None and given[name] < bound:
            raise InputError(f"{name}={given[name]!r}", remedy=f"give at least {bound}")
    for name in ("backoff", "emission_weight"):
        if given[name] is not None and not given[name] > 0:
            raise InputError(f"{name}={given[name]!r}", remedy="give a number above 0")


def settle(given: dict[str, Any], *, frames: bool) -> Settings:
    """Complete the parameters of a tagger for text or for frames of speech."""
    learner, emissions = given["learner"], given["emissions"]
    gaussian = frames and emissions != "classes" and learner in WITH_GAUSSIANS
    if frames and emissions == "gaussian" and not gaussian:
        raise InputError(
            f"learner={learner!r} knows no Gaussians",
            remedy=f"use one of {', '.join(WITH_GAUSSIANS)}, or emissions='classes'",
        )
    usual: dict[str, Any] = dict(PRESETS[given["preset"]])
    usual |= {"smoothing": SMOOTHING_OF_TEXT, "emission_weight": 1.0}
    if frames:
        usual |= {"n_states": STATES_OF_CLASSES, "smoothing": SMOOTHING_OF_FRAMES, "emission_weight": WEIGHT_OF_FRAMES}
    if gaussian:
        usual["n_states"] = STATES_OF_GAUSSIANS
        usual["n_models"] = MODELS_OF_GAUSSIANS[given["preset"]]
        # The clusters are the optimum already: iterations of EM only over-fit the few frames of a state.
        usual["max_iter"] = 0 if learner == "spectral+em" else usual["max_iter"]
    if learner == "hmm":
        usual["n_models"] = 1  # nothing about it is random
    chosen = {name: value if given[name] is None else given[name] for name, value in usual.items()}
    return Settings(
        learner=learner,
        n_starts=given["n_starts"],
        ridge=given["ridge"],
        gaussian=gaussian,
        tokens_a_state=FRAMES_A_STATE if gaussian else TOKENS_A_STATE,
        n_jobs=given["n_jobs"],
        verbose=given["verbose"],
        **chosen,
    )


def usual_views(settings: Settings, n_columns: int, *, frames: bool) -> Views:
    """The four views for this kind of data."""
    if not frames:
        return text_views(n_columns)
    if not settings.gaussian:
        return SPEECH_VIEWS
    # Clusters for Gaussians: where in which phone between which others, but not what the neighbouring frames are like.
    return SPEECH_VIEWS.replaced({"destiny": SPEECH_VIEWS.without("word").destiny})
