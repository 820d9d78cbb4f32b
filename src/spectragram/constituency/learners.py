"""From a treebank to a trained parser: which member is learned how, and in what order.

trees -> binarise -> coarse PCFG -> features -> middle model     once for each binarisation
      -> project, with noise -> start -> EM                      once for each member
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from spectragram.constituency.brackets import LabelSet
from spectragram.constituency.em import TrainingTrees, em_steps, member_from_shares
from spectragram.constituency.features import (
    FeatureColumns,
    Projection,
    cluster_shares,
    extract_features,
    project_labels,
    random_shares,
    states_by_count,
)
from spectragram.constituency.lexicon import WordTable
from spectragram.constituency.model import Grammar, Member, Model
from spectragram.constituency.parsing import HeldOutF1
from spectragram.constituency.pivot import learn_pivot
from spectragram.constituency.settings import Settings
from spectragram.constituency.spectral import learn_spectral
from spectragram.data.binarization import Binarizer
from spectragram.data.heads import HeadRules, learn_head_rules
from spectragram.data.treebank import Treebank
from spectragram.data.trees import Tree
from spectragram.engine import resolve_jobs
from spectragram.engine.progress import Report, silent
from spectragram.learning.em import refine
from spectragram.learning.ensembles import train_members

__all__ = ["train"]

MIDDLE_STATES, MIDDLE_ITERATIONS = 4, 3
"""States and EM iterations of the model that prunes for the others. Four states are enough to drop nine of ten edges
that the coarse PCFG leaves; both are chosen by hand, not tuned."""
DIMENSIONS = 16
"""Dimensions of the vectors that are clustered, or more if there are more states; tuned on the dev part of wsj-sample.
The learner ``spectral`` has one dimension for each state."""


@dataclass(frozen=True)
class _Prepared:
    """One binarisation of the treebank with everything that its members share."""

    trees: TrainingTrees
    columns: FeatureColumns | None
    grammar: Grammar

    def project(self, dimensions: int, noise: float, seed: int, n_jobs: int) -> list[Projection]:
        treebank = self.trees.treebank
        assert self.columns is not None
        n_symbols = treebank.productions.n_symbols
        return project_labels(
            self.columns, treebank.symbol, n_symbols, dimensions, noise=noise, random_state=seed, n_jobs=n_jobs
        )

    def states(self, n_states: int) -> np.ndarray:
        symbols = self.trees.treebank.symbol
        return states_by_count(np.bincount(symbols, minlength=self.trees.rules.n_symbols), n_states)


def train(
    trees: Sequence[Tree],
    settings: Settings,
    *,
    judge: HeldOutF1 | None = None,
    n_jobs: int = 1,
    report: Report = silent,
) -> tuple[Model, list[dict[str, float]]]:
    """Train a parser; also returns how the training of each member went.

    With a ``judge`` every EM iteration is scored and the best member kept.
    """
    directions = settings.binarisations[: settings.n_models]
    # Members of different binarisations take turns.
    plan = [(m % len(directions), settings.random_state + m) for m in range(settings.n_models)]
    head_rules = learn_head_rules(trees)
    prepared: list[_Prepared] = []
    for direction in directions:
        words = prepared[0].trees.words if prepared else None
        prepared.append(_prepare(trees, words, head_rules, direction, settings, resolve_jobs(n_jobs)))

    def learn(number: int, n_jobs: int) -> tuple[Member, dict[str, float]]:
        which, seed = plan[number]
        return _train_member(prepared[which], settings, seed, judge, n_jobs, report)

    trained = train_members(learn, settings.n_models, n_jobs)
    grammars = []
    for which, part in enumerate(prepared):
        members = [member for (w, _), (member, _) in zip(plan, trained, strict=True) if w == which]
        grammars.append(_rounded(part.grammar, members))
    return Model(tuple(grammars), settings.decoder, settings.probabilistic), [facts for _, facts in trained]


def _rounded(grammar: Grammar, members: Sequence[Member]) -> Grammar:
    """The grammar with these members, all weights in single precision: exactly what a model file will hold."""
    return replace(
        grammar,
        coarse=grammar.coarse.rounded(),
        middle=grammar.middle.rounded(),
        members=tuple(member.rounded() for member in members),
    )


def _prepare(
    trees: Sequence[Tree],
    words: WordTable | None,
    head_rules: HeadRules,
    direction: str,
    settings: Settings,
    n_jobs: int,
) -> _Prepared:
    """Binarise, count the plain PCFG, and learn the model with few states that prunes for the others."""
    treebank = Treebank.from_trees(trees, Binarizer(direction, head_rules=head_rules))  # type: ignore[arg-type]
    data = TrainingTrees.of(treebank, words)
    one_state = np.ones(treebank.productions.n_symbols, np.int32)
    coarse = member_from_shares(data, one_state, np.ones((treebank.n_nodes, 1)))
    labels = LabelSet.of_treebank(treebank)
    grammar = Grammar(treebank.productions, data.rules, labels, coarse, coarse, (coarse,))
    if settings.learner == "pcfg":
        return _Prepared(data, None, grammar)
    columns = extract_features(treebank, head_rules, data.words.word_counts)
    prepared = _Prepared(data, columns, grammar)
    few = prepared.states(min(MIDDLE_STATES, settings.n_states))
    projections = prepared.project(DIMENSIONS, 0.0, settings.random_state, n_jobs)
    shares = cluster_shares(projections, few, treebank.n_nodes, settings.random_state, n_jobs)
    start = member_from_shares(data, few, shares)
    middle, _ = next(islice(em_steps(data, start, n_jobs), MIDDLE_ITERATIONS - 1, None))
    return replace(prepared, grammar=replace(grammar, middle=middle))


def _train_member(
    prepared: _Prepared, settings: Settings, seed: int, judge: HeldOutF1 | None, n_jobs: int, report: Report
) -> tuple[Member, dict[str, float]]:
    """A member, and the iteration that it comes from with its held-out score."""
    member = _first_member(prepared, settings, seed, n_jobs)
    report()
    if not settings.learner.endswith("em"):
        return member, {"iterations": 0}
    found = refine(
        em_steps(prepared.trees, member, n_jobs),
        start=member,
        max_iter=settings.max_iter,
        judge=None if judge is None else partial(judge, prepared.grammar),
        report=report,
    )
    return found.model, {"iterations": found.iteration} | ({} if judge is None else {"dev": found.score})


def _first_member(prepared: _Prepared, settings: Settings, seed: int, n_jobs: int) -> Member:
    """The member before EM, which the learner is named after."""
    trees, learner = prepared.trees, settings.learner
    n_states = prepared.states(settings.n_states)
    treebank = trees.treebank
    if learner == "pcfg":
        return prepared.grammar.coarse
    if learner == "em":
        shares = random_shares(treebank.symbol, n_states, np.random.default_rng(seed))
        return member_from_shares(trees, n_states, shares)
    if learner == "spectral":
        projections = prepared.project(settings.n_states, settings.noise, seed, n_jobs)
        return learn_spectral(trees, [projection.first(m) for projection, m in zip(projections, n_states, strict=True)])
    projections = prepared.project(max(DIMENSIONS, settings.n_states), settings.noise, seed, n_jobs)
    if learner == "spectral+em":
        shares = cluster_shares(projections, n_states, treebank.n_nodes, seed, n_jobs)
        return member_from_shares(trees, n_states, shares)
    assert prepared.columns is not None
    return learn_pivot(trees, prepared.columns, projections, n_states)
