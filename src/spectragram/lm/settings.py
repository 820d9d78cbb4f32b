"""The parameters of language models, checked, and what they mean for the text at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spectragram.engine import resolve_jobs
from spectragram.errors import ParameterError

if TYPE_CHECKING:
    from spectragram.lm.estimator import LanguageModel

__all__ = ["LEARNERS", "PRESETS", "Settings", "settings_of"]

LEARNERS = ("mixed", "em", "pivot", "pivot+em", "kn")

ORDERS = (1, 2, 3)
"""Lengths of the longest n-gram; models look at two words of context."""

WORDS_PER_STATE = 8
"""A small vocabulary gets at most one hidden class for every eight words. Chosen by hand, not tuned."""

PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"most_states": 32, "sizes": (1.0,), "max_iter": 1},
    "default": {"most_states": 128, "sizes": (1.0,), "max_iter": 30},
    "best": {"most_states": 128, "sizes": (0.125, 0.5, 1.0, 2.0), "max_iter": 30},
}
"""Hidden classes for a large vocabulary, sizes of the class models that are mixed (as multiples of that number), and EM
iterations at most. Chosen on the development part of the Brown split, where their perplexity is 298.7, 293.3 and 290.1.
More classes in one model make it worse (256: 297.8); models of several sizes together make it better."""


@dataclass(frozen=True)
class Settings:
    """Checked parameters of :class:`~spectragram.lm.LanguageModel`, which documents them.

    ``n_states`` is None unless it was given; ``most_states`` is what the preset allows then. ``sizes`` are multiples of
    the number of classes: learner ``mixed`` has class models of each size.
    """

    learner: str
    n_states: int | None
    most_states: int
    sizes: tuple[float, ...]
    order: int
    prior: float
    start_shape: float
    max_iter: int
    min_count: int
    boundaries: bool
    seed: int
    n_jobs: int

    def class_sizes(self, n_words: int) -> list[int]:
        """Numbers of hidden classes of the class models for a vocabulary, in increasing order."""
        n_states = self._states_for(n_words)
        sizes = self.sizes if self.learner == "mixed" else (1.0,)
        return sorted({min(max(1, int(size * n_states)), max(n_states, n_words - 1)) for size in sizes})

    def _states_for(self, n_words: int) -> int:
        """Number of hidden classes for a vocabulary: what was asked for, if it allows them, or what suits it."""
        if n_words < 2 and self.learner != "kn":
            raise ParameterError(
                "min_count", self.min_count, "leaves no word", remedy="give a smaller number, or more text"
            )
        if self.n_states is None:
            return max(1, min(self.most_states, n_words // WORDS_PER_STATE))
        if self.n_states >= n_words and self.learner != "kn":
            raise ParameterError(
                "n_states",
                self.n_states,
                f"is too many for {n_words} words seen at least {self.min_count} times",
                remedy=f"ask for less than {n_words}, give more text, or keep rarer words",
            )
        return self.n_states


def settings_of(estimator: LanguageModel) -> Settings:
    """The parameters of an estimator; those that cannot be used are refused."""
    estimator._choose("learner", estimator.learner, LEARNERS)
    chosen = estimator._with_preset(PRESETS)
    if estimator.order not in ORDERS:
        raise ParameterError("order", estimator.order, remedy=f"choose one of {', '.join(map(str, ORDERS))}")
    for name in ("prior", "start_shape"):
        if getattr(estimator, name) is None:
            raise ParameterError(name, None, remedy="give a number")
    estimator._check_number("start_shape", above=True)
    estimator._check_number("prior")
    estimator._check_whole("n_states")
    estimator._check_whole("max_iter", 0)
    estimator._check_whole("min_count", or_else=())
    return Settings(
        learner=estimator.learner,
        n_states=estimator.n_states,
        most_states=chosen["most_states"],
        sizes=chosen["sizes"],
        order=estimator.order,
        prior=estimator.prior,
        start_shape=estimator.start_shape,
        max_iter=chosen["max_iter"],
        min_count=estimator.min_count,
        boundaries=estimator.boundaries,
        seed=estimator.random_state,
        n_jobs=resolve_jobs(estimator.n_jobs),
    )
