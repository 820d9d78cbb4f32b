"""The parameters of the estimator, checked and completed by the preset: what learners read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from spectragram.automata.hankel import STATISTICS, BasisChoice, check_basis
from spectragram.engine import resolve_jobs
from spectragram.errors import ParameterError

if TYPE_CHECKING:
    from spectragram.automata.estimator import Automaton

__all__ = ["LEARNERS", "PRESETS", "Effort", "Settings", "settings_of"]

STARTS = {"em": "random", "spectral+em": "cluster", "pivot+em": "pivot", "merge+em": "merge", "hmm": "hmm"}
"""Learners that run EM from one kind of start."""
ORDERS = {"unigram": 1, "bigram": 2}
"""Learners that are k-grams with a fixed k."""
LEARNERS = ("auto", "spectral", "pivot", "merge", *STARTS, *ORDERS, "ngram")


@dataclass(frozen=True)
class Effort:
    """How hard to search, and where (:mod:`spectragram.automata.search`).

    Attributes
    ----------
    kinds : tuple of str
        Starts that are tried: "merge", "pivot", "cluster" (of spectral states), "random", and "hmm", which is "pivot"
        with independent next symbols and next states.
    sizes : tuple of int
        Numbers of states that are tried.
    bases : tuple of int
        Sizes of the Hankel bases that the starts are computed from.
    rounds : tuple of int
        EM iterations of each round; after each round the better half of the candidates goes on.
    finalists : int
        How many candidates are mixed.
    explored_tokens : int
        The rounds use a sample of about this many tokens.
    budget : float
        Floating-point operations for the last EM iterations of all finalists.
    orders : tuple of int
        k-gram models that join the mixture.
    """

    kinds: tuple[str, ...]
    sizes: tuple[int, ...]
    bases: tuple[int, ...]
    rounds: tuple[int, ...]
    finalists: int
    explored_tokens: int
    budget: float
    orders: tuple[int, ...]


MAX_ITER = 100
"""EM iterations of each finalist, at most. Chosen by hand: held-out strings or the budget stop EM earlier."""

PRESETS: dict[str, dict[str, Any]] = {
    "fast": {
        "max_iter": MAX_ITER,
        "effort": Effort(
            kinds=("merge", "pivot"),
            sizes=(16, 40),
            bases=(500,),
            rounds=(12,),
            finalists=1,
            explored_tokens=100_000,
            budget=5e10,
            orders=(2, 3),
        ),
    },
    "default": {
        "max_iter": MAX_ITER,
        "effort": Effort(
            kinds=("merge", "pivot", "hmm"),
            sizes=(5, 12, 24, 40, 64),
            bases=(500, 2000),
            rounds=(12, 24),
            finalists=4,
            explored_tokens=150_000,
            budget=3e11,
            orders=(2, 4),
        ),
    },
    "best": {
        "max_iter": MAX_ITER,
        "effort": Effort(
            kinds=("merge", "pivot", "hmm"),
            sizes=(5, 8, 14, 20, 30, 45, 64, 90),
            bases=(500, 2000),
            rounds=(20, 40, 60),
            finalists=6,
            explored_tokens=500_000,
            budget=3e12,
            orders=(2, 3, 5),
        ),
    },
}
"""What each preset gives to parameters that are None, and how hard it searches.

The default was chosen on PAutomaC so that a problem (20,000 strings) takes at most half a minute on two cores; the
other presets scale it by hand, ``fast`` to some seconds and ``best`` to minutes. Only learners with EM read the
effort.
"""


@dataclass(frozen=True)
class Settings:
    """Checked parameters; see :class:`~spectragram.automata.Automaton` for what they mean."""

    learner: str
    n_states: int | None
    basis: BasisChoice
    statistic: str
    prior: float
    max_iter: int
    order: int
    effort: Effort
    seed: int
    n_jobs: int


def settings_of(model: Automaton) -> Settings:
    """Check the parameters of an estimator; the preset replaces None."""
    model._choose("learner", model.learner, LEARNERS)
    model._choose("statistic", model.statistic, STATISTICS)
    model._check_whole("n_states")
    model._check_whole("max_iter", 0)
    model._check_whole("order", or_else=())
    model._check_number("prior")
    if model.prior is None:
        raise ParameterError("prior", None, remedy="give a number of at least 0")
    check_basis(model.basis)
    chosen = model._with_preset(PRESETS)
    return Settings(
        learner=model.learner,
        n_states=model.n_states,
        basis=model.basis,
        statistic=model.statistic,
        prior=model.prior,
        max_iter=chosen["max_iter"],
        order=ORDERS.get(model.learner, model.order),
        effort=_narrowed(chosen["effort"], model.learner, model.n_states),
        seed=model.random_state,
        n_jobs=resolve_jobs(model.n_jobs),
    )


def _narrowed(effort: Effort, learner: str, n_states: int | None) -> Effort:
    """The effort for one learner and one number of states, if they are given."""
    if learner in STARTS:
        effort = replace(effort, kinds=(STARTS[learner],), finalists=1, orders=())
    if n_states is not None:
        effort = replace(effort, sizes=(n_states,))
    return effort
