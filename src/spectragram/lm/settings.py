"""The parameters of language models, checked, and what they mean for the text at hand."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from spectragram.engine import parse_memory, require_memory, resolve_jobs
from spectragram.errors import ParameterError
from spectragram.learning.ngram_tree import LONGEST
from spectragram.lm.mixture import CONTEXT
from spectragram.lm.pivot import (
    CANDIDATES_PER_ANCHOR,
    HISTORY_STEPS,
    KAPPA,
    MAX_CONTEXTS,
    MEMBERSHIP_TOLERANCE,
    SMOOTHING,
    Anchoring,
)

if TYPE_CHECKING:
    from spectragram.lm.estimator import LanguageModel

__all__ = ["LEARNERS", "PRESETS", "RECIPES", "Settings", "settings_of"]

LEARNERS = ("mixed", "em", "pivot", "pivot+em", "kn")

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


RECIPES: dict[str, dict[str, Any]] = {
    "ours": {
        "learner": "mixed",
        "prior": 10.0,
        "start_shape": 50.0,
        "modified": True,
        "kappa": KAPPA,
        "max_contexts": MAX_CONTEXTS,
        "candidates": CANDIDATES_PER_ANCHOR,
        "membership_tolerance": MEMBERSHIP_TOLERANCE,
        "smoothing": SMOOTHING,
        "history_steps": HISTORY_STEPS,
        "history_tolerance": 0.0,
    },
    "paper": {
        "learner": "pivot",
        "n_states": 128,
        "max_iter": 50,
        "prior": 0.0,
        "start_shape": 1.0,
        "modified": False,
        "kappa": 0.0,
        "max_contexts": 0,
        "candidates": 0,
        "membership_tolerance": 1e-14,
        "smoothing": 0.0,
        "history_steps": 200,
        "history_tolerance": 1e-6,
    },
}
"""``paper`` is section 8 of Cohen & Collins 2014: canonical correlation analysis of the whole bigram matrix, anchors
among all words, r by EM on its concave likelihood until it gains nothing (a millionth of a nat for a word); EM from a
flat random start without a prior; Kneser-Ney n-grams with one discount in each order, as in Kneser and Ney (1995).
128 classes are the paper's best on the Brown corpus, and its EM took up to 42 iterations. In ``ours`` the prior and the
shape of the start were chosen on the development part of the Brown split; the other constants stand in
:mod:`~spectragram.lm.pivot`."""


BASE_BYTES, BYTES_PER_WORD, READ_BYTES, TOKEN_BYTES = 250 * 10**6, 6, 12, 4
"""Memory of the process beside text and tables; bytes of a word of text with the blank after it, about the mean of many
languages; memory of a token while text is read, and later."""
TABLE_BYTES, TABLES, TABLES_IN_EM = 8, 2, 7
"""Memory of a word and class in a table; tables of a class model; and while EM runs: the best model, that of the last
step, the next one, and parts of a table on their way."""


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
    modified: bool
    anchoring: Anchoring
    max_iter: int
    min_count: int
    boundaries: bool
    seed: int
    n_jobs: int
    memory: int | None
    verbose: bool

    @property
    def width(self) -> int:
        """Words of context that the models look at."""
        return max(CONTEXT, self.order - 1)

    def class_sizes(self, n_words: int) -> list[int]:
        """Numbers of hidden classes of the class models for a vocabulary, in increasing order."""
        n_states = self._states_for(n_words)
        sizes = self.sizes if self.learner == "mixed" else (1.0,)
        return sorted({min(max(1, int(size * n_states)), max(n_states, n_words - 1)) for size in sizes})

    def require_memory_to_read(self, n_bytes: int) -> None:
        """Refuse a text of that many bytes before it is read, if its words alone would not fit."""
        n_tokens = n_bytes / BYTES_PER_WORD
        remedy = "give less text, or allow more memory"
        require_memory(BASE_BYTES + READ_BYTES * n_tokens, f"a text of {n_bytes / 1e9:.3g} GB", remedy, self.memory)

    def require_memory_for_classes(self, n_words: int, n_tokens: int) -> None:
        """Refuse class models whose tables would not fit beside the text, before they are learned."""
        if self.learner == "kn":
            return
        sizes = self.class_sizes(n_words)
        n_states = sum(sizes) * (2 if self.learner == "mixed" else 1)
        n_columns = TABLES * (n_states - max(sizes)) + TABLES_IN_EM * max(sizes)
        what = f"a model of {n_words} words with {n_states} classes in all"
        remedy = "ask for fewer classes or rarer words, or allow more memory"
        n_bytes = BASE_BYTES + TOKEN_BYTES * n_tokens + TABLE_BYTES * n_words * n_columns
        require_memory(n_bytes, what, remedy, self.memory)

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
    for name in ("n_states", "history_steps"):
        estimator._check_whole(name)
    for name in ("max_iter", "max_contexts", "candidates"):
        estimator._check_whole(name, 0)
    estimator._check_whole("min_count", or_else=())
    for name in ("prior", "kappa", "membership_tolerance", "smoothing", "history_tolerance"):
        estimator._check_number(name)
    estimator._check_number("start_shape", above=True)
    chosen = estimator._with_preset(PRESETS, RECIPES)
    learner = estimator._choose("learner", chosen["learner"], LEARNERS)
    estimator._check_whole("order", or_else=())
    if estimator.order > LONGEST:
        raise ParameterError("order", estimator.order, remedy=f"give a length of at most {LONGEST}")
    names = [field.name for field in fields(Anchoring)]
    return Settings(
        learner=learner,
        n_states=chosen.get("n_states", estimator.n_states),
        most_states=chosen["most_states"],
        sizes=chosen["sizes"],
        order=estimator.order,
        prior=chosen["prior"],
        start_shape=chosen["start_shape"],
        modified=bool(chosen["modified"]),
        anchoring=Anchoring(**{name: chosen[name] for name in names}),
        max_iter=chosen["max_iter"],
        min_count=estimator.min_count,
        boundaries=estimator.boundaries,
        seed=estimator.random_state,
        n_jobs=resolve_jobs(estimator.n_jobs),
        memory=parse_memory(estimator.memory),
        verbose=estimator.verbose,
    )
