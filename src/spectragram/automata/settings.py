"""The parameters of the estimator, checked and completed by the preset: what learners read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from spectragram.automata.em import PRIOR, TOLERANCE
from spectragram.automata.hankel import MAX_LENGTH, STATISTICS, BasisChoice, check_basis
from spectragram.automata.ngram import DISCOUNT
from spectragram.automata.spectral import KAPPA, SMALLEST
from spectragram.engine import resolve_jobs
from spectragram.errors import ParameterError

if TYPE_CHECKING:
    from spectragram.automata.estimator import Automaton

__all__ = ["LEARNERS", "PRESETS", "RECIPES", "Effort", "Settings", "settings_of"]

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
    samplers : int
        How many Gibbs samplers join the mixture.
    sampled_sizes : tuple of int
        Numbers of states of samplers that start at random.
    sampling : float
        Floating-point operations for all sweeps; 0 for none.
    """

    kinds: tuple[str, ...]
    sizes: tuple[int, ...]
    bases: tuple[int, ...]
    rounds: tuple[int, ...]
    finalists: int
    explored_tokens: int
    budget: float
    orders: tuple[int, ...]
    samplers: int
    sampled_sizes: tuple[int, ...]
    sampling: float


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
            samplers=0,
            sampled_sizes=(),
            sampling=0.0,
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
            budget=2e11,
            orders=(2, 4),
            samplers=4,
            sampled_sizes=(40,),
            sampling=2.2e12,
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
            samplers=8,
            sampled_sizes=(24, 40, 64),
            sampling=2.2e13,
        ),
    },
}
"""What each preset gives to parameters that are None, and how hard it searches.

The default was chosen on PAutomaC so that a problem (20,000 strings) takes at most half a minute on two cores; the
other presets scale it by hand, ``fast`` to some seconds and ``best`` to minutes. Only learners with EM read the
effort.
"""


SCALINGS = ("cca", "none")
AUTO = "auto"
"""A share that held-out strings choose."""
RECIPES: dict[str, dict[str, Any]] = {
    "ours": {
        "n_states": None,
        "learner": "auto",
        "basis": 2000,
        "statistic": "marked",
        "max_length": MAX_LENGTH,
        "scaling": "cca",
        "kappa": KAPPA,
        "smallest": SMALLEST,
        "context_share": AUTO,
        "backoff_share": AUTO,
        "reset": True,
        "prior": PRIOR,
        "tolerance": TOLERANCE,
        "over_relaxed": True,
        "early_stopping": True,
        "discount": DISCOUNT,
    },
    "paper": {
        "n_states": 8,
        "learner": "spectral",
        "basis": "sigma",
        "statistic": "substring",
        "max_length": 4,
        "scaling": "none",
        "kappa": 0.0,
        "smallest": 0.0,
        "context_share": 0.0,
        "backoff_share": 0.0,
        "reset": False,
        "prior": 0.0,
        "tolerance": 0.0,
        "over_relaxed": False,
        "early_stopping": False,
        "discount": 0.0,
        "max_iter": 100,
    },
}
"""``paper`` is Balle et al. 2014, sections 4.2 and 5.1: plain substring expectations of single symbols (or of the k
most frequent substrings of up to 4), one singular value decomposition cut at n states, Lemma 3.1, states that are
divided by their total; EM from a random start for 100 iterations (figure 4); k-grams without smoothing. The paper's
method takes the number of states as a parameter: 8 is where its Sigma basis is ahead of the bigram on both of its sets
of tags. The constants of ``ours`` stand where they are used."""


@dataclass(frozen=True)
class Settings:
    """Checked parameters; see :class:`~spectragram.automata.Automaton` for what they mean."""

    learner: str
    n_states: int | None
    basis: BasisChoice
    statistic: str
    max_length: int
    scaling: str
    kappa: float
    smallest: float
    context_share: float | str
    backoff_share: float | str
    reset: bool
    prior: float
    tolerance: float
    over_relaxed: bool
    early_stopping: bool
    discount: float
    max_iter: int
    order: int
    effort: Effort
    seed: int
    n_jobs: int


def settings_of(model: Automaton) -> Settings:
    """Check the parameters of an estimator; the recipe and the preset replace None."""
    for name, least in (("n_states", 1), ("max_iter", 0), ("max_length", 1)):
        model._check_whole(name, least)
    model._check_whole("order", or_else=())
    for name in ("kappa", "smallest", "prior", "tolerance", "discount"):
        model._check_number(name)
    for name in ("context_share", "backoff_share"):
        if getattr(model, name) != AUTO:
            model._check_share(name)
    model._check_share("discount")
    chosen = model._with_preset(PRESETS, RECIPES)
    learner = model._choose("learner", chosen["learner"], LEARNERS)
    model._choose("statistic", chosen["statistic"], STATISTICS)
    model._choose("scaling", chosen["scaling"], SCALINGS)
    check_basis(chosen["basis"])
    if learner in STARTS and not chosen["early_stopping"] and chosen["n_states"] is None:
        raise ParameterError("n_states", None, remedy="give a number: without held-out strings none can be chosen")
    effort = _narrowed(chosen.pop("effort"), learner, chosen["n_states"])
    order = ORDERS.get(learner, model.order)
    return Settings(**chosen, order=order, effort=effort, seed=model.random_state, n_jobs=resolve_jobs(model.n_jobs))


def _narrowed(effort: Effort, learner: str, n_states: int | None) -> Effort:
    """The effort for one learner and one number of states, if they are given."""
    if learner in STARTS:
        effort = replace(effort, kinds=(STARTS[learner],), finalists=1, orders=(), sampling=0.0)
    if n_states is not None:
        effort = replace(effort, sizes=(n_states,), sampled_sizes=(n_states,))
    return effort
