"""What the estimator was asked for, checked and complete, as learners read it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from spectragram.automata.em import PRIOR
from spectragram.automata.hankel import STATISTICS, Basis, check_basis
from spectragram.automata.search import EFFORTS
from spectragram.data.vocabulary import Vocabulary
from spectragram.engine import resolve_jobs
from spectragram.errors import InputError

if TYPE_CHECKING:
    from spectragram.automata.estimator import Automaton

__all__ = ["LEARNERS", "STARTS", "Settings", "settings_of", "with_given_basis"]

STARTS = {"em": "random", "spectral+em": "cluster", "pivot+em": "pivot", "merge+em": "merge", "hmm": "hmm"}
"""Learners that are one kind of start followed by EM."""
LEARNERS = ("auto", "spectral", "pivot", "merge", *STARTS, "unigram", "bigram", "ngram")


@dataclass(frozen=True)
class Settings:
    """What the estimator was asked for; see :class:`~spectragram.automata.Automaton`."""

    learner: str = "auto"
    n_states: int | None = None
    basis: str | int | float | Basis = 2000
    statistic: str = "marked"
    prior: float = PRIOR
    max_iter: int = 100
    order: int = 4
    preset: str = "default"
    seed: int = 0
    n_jobs: int = 1


def settings_of(model: Automaton) -> Settings:
    """Check the parameters of a model; None, and a basis given by hand, become the default for now."""
    model._choose("learner", model.learner, LEARNERS)
    model._choose("statistic", model.statistic, STATISTICS)
    model._choose("preset", model.preset, tuple(EFFORTS))
    model._check_whole("n_states", or_else=("auto", None))
    model._check_whole("max_iter", 0)
    model._check_whole("order")
    model._check_number("prior")
    if not isinstance(model.basis, dict):
        check_basis(model.basis)
    asked: dict[str, Any] = {
        "n_states": None if model.n_states == "auto" else model.n_states,
        "basis": None if isinstance(model.basis, dict) else model.basis,
        "prior": model.prior,
        "max_iter": model.max_iter,
        "order": model.order,
    }
    return Settings(
        learner=model.learner,
        statistic=model.statistic,
        preset=model.preset,
        seed=model.random_state,
        n_jobs=resolve_jobs(model.n_jobs),
        **{name: value for name, value in asked.items() if value is not None},
    )


def with_given_basis(settings: Settings, given: object, vocabulary: Vocabulary) -> Settings:
    """The settings with a basis of the user's own strings, ``{"prefixes": [...], "suffixes": [...]}``, if it is one."""
    if not isinstance(given, dict):
        return settings
    if set(given) != {"prefixes", "suffixes"}:
        raise InputError(f"a basis of {', '.join(map(str, given))}", remedy="give prefixes and suffixes")
    encoded = {side: [vocabulary.encode(string).tolist() for string in given[side]] for side in given}
    if any(-1 in string for side in encoded.values() for string in side):
        raise InputError("a basis with symbols that the strings do not hold", remedy="use their alphabet")
    basis = Basis.of(encoded["prefixes"], encoded["suffixes"], len(vocabulary), settings.statistic)
    return replace(settings, basis=basis)
