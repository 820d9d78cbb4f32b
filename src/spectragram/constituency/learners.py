"""From a treebank to a trained parser: which member is learned how, and in what order.

trees -> binarise -> coarse PCFG -> features -> middle model     once for each binarisation
      -> project, with noise -> start -> EM                      once for each member
      -> grammars of three quarters parse the rest -> factors    once
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from spectragram.constituency.brackets import LabelSet
from spectragram.constituency.em import TrainingTrees, em_steps, member_from_shares, perturbed_member
from spectragram.constituency.features import (
    DECOMPOSITION,
    FeatureColumns,
    Projection,
    cluster_shares,
    extract_features,
    project_labels,
    random_shares,
    states_by_count,
)
from spectragram.constituency.jackknife import fit_factors
from spectragram.constituency.lexicon import WordTable
from spectragram.constituency.model import Grammar, Member, Model
from spectragram.constituency.nodes import require_recoverable, user_features, user_templates
from spectragram.constituency.parsing import HeldOutF1
from spectragram.constituency.pivot import learn_pivot
from spectragram.constituency.pivot_features import learn_pivot_features
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
from spectragram.learning.views import Decomposition

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
    decomposition: Decomposition = DECOMPOSITION
    by_count: bool = True

    def project(self, dimensions: int, noise: float, seed: int, n_jobs: int) -> list[Projection]:
        treebank = self.trees.treebank
        assert self.columns is not None
        n_symbols = treebank.productions.n_symbols
        return project_labels(
            self.columns,
            treebank.symbol,
            n_symbols,
            dimensions,
            noise=noise,
            random_state=seed,
            n_jobs=n_jobs,
            how=self.decomposition,
        )

    def states(self, n_states: int) -> np.ndarray:
        counts = np.bincount(self.trees.treebank.symbol, minlength=self.trees.rules.n_symbols)
        return states_by_count(counts, n_states) if self.by_count else np.full(len(counts), n_states, np.int32)


def train(
    trees: Sequence[Tree],
    settings: Settings,
    *,
    weights: np.ndarray | None = None,
    judge: HeldOutF1 | None = None,
    n_jobs: int = 1,
    report: Report = silent,
) -> tuple[Model, list[dict[str, float]]]:
    """Train a parser; also returns how the training of each member went.

    ``weights`` (n_trees,) say how often each tree counts in probabilities; features and states are those of all trees
    alike. With a ``judge`` every EM iteration is scored and the best member kept.
    """
    model, facts = _train_grammars(trees, settings, weights=weights, judge=judge, n_jobs=n_jobs, report=report)
    if not settings.factors:
        return model, facts

    # One member for each binarisation: what factors must get used to is how sure grammars are of new sentences.
    learn = _LearnFold(replace(settings, n_models=min(settings.n_models, len(settings.binarisations))))
    seed = settings.random_state
    found = fit_factors(
        trees,
        model.labels,
        learn,
        weights=weights,
        paths=settings.paths,
        random_state=seed,
        n_jobs=n_jobs,
        report=report,
    )
    return model if found is None else replace(model, factors=found[0], rule_factors=found[1]), facts


def _train_grammars(
    trees: Sequence[Tree],
    settings: Settings,
    *,
    weights: np.ndarray | None = None,
    judge: HeldOutF1 | None = None,
    n_jobs: int = 1,
    report: Report = silent,
) -> tuple[Model, list[dict[str, float]]]:
    """The same without factors."""
    directions = settings.binarisations[: settings.n_models]
    # Members of different binarisations take turns.
    plan = [(m % len(directions), settings.random_state + m) for m in range(settings.n_models)]
    head_rules = learn_head_rules(trees)
    prepared: list[_Prepared] = []
    for direction in directions:
        words = prepared[0].trees.words if prepared else None
        prepared.append(_prepare(trees, words, head_rules, direction, settings, weights, resolve_jobs(n_jobs)))
    trained = train_members(_Learn(prepared, plan, settings, judge), settings.n_models, n_jobs, report)
    grammars = []
    for which, part in enumerate(prepared):
        members = [member for (w, _), (member, _) in zip(plan, trained, strict=True) if w == which]
        grammars.append(_rounded(part.grammar, members))
    how = settings.decoder, settings.probabilistic, settings.absolute
    model = Model(tuple(grammars), *how, temperature=settings.temperature)
    return model, [facts for _, facts in trained]


@dataclass(frozen=True)
class _LearnFold:
    """Trains the grammars of a fold, here or on a worker."""

    settings: Settings

    def __call__(self, trees: Sequence[Tree], weights: np.ndarray | None, fold: int, n_jobs: int) -> Model:
        settings = replace(self.settings, random_state=self.settings.random_state + fold)
        return _train_grammars(trees, settings, weights=weights, n_jobs=n_jobs)[0]


@dataclass(frozen=True)
class _Learn:
    """What it takes to train any member, here or on a worker; features are extracted already."""

    prepared: list[_Prepared]
    plan: list[tuple[int, int]]
    settings: Settings
    judge: HeldOutF1 | None

    def __call__(self, number: int, n_jobs: int, report: Report) -> tuple[Member, dict[str, float]]:
        which, seed = self.plan[number]
        return _train_member(self.prepared[which], self.settings, seed, self.judge, n_jobs, report)

    def __getstate__(self) -> dict[str, Any]:
        # Functions of the user's own may not pickle, and nothing asks for them any more.
        return vars(self) | {"settings": replace(self.settings, inside_features=None, outside_features=None)}


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
    weights: np.ndarray | None,
    n_jobs: int,
) -> _Prepared:
    """Binarise, count the plain PCFG, and learn the model with few states that prunes for the others."""
    treebank = Treebank.from_trees(trees, Binarizer(direction, head_rules=head_rules))  # type: ignore[arg-type]
    data = TrainingTrees.of(
        treebank,
        words,
        trust=(settings.trust_word, settings.trust_class),
        paths=settings.paths,
        weights=weights,
        smooth_rules=settings.smooth_rules,
        smooth_words=settings.smooth_states,
    )
    one_state = np.ones(treebank.productions.n_symbols, np.int32)
    coarse = member_from_shares(data, one_state, np.ones((treebank.n_nodes, 1)))
    labels = LabelSet.of_treebank(treebank)
    grammar = Grammar(treebank.productions, data.rules, labels, coarse, coarse, (coarse,), settings.thresholds)
    if settings.learner == "pcfg":
        return _Prepared(data, None, grammar)
    columns = _columns(treebank, head_rules, data, settings)
    prepared = _Prepared(data, columns, grammar, settings.decomposition, settings.states_by_count)
    if settings.thresholds.middle == 0.0:
        return prepared
    # It only prunes, so it is learned in the same way whatever the recipe.
    usual = replace(prepared, decomposition=DECOMPOSITION, by_count=True)
    few = usual.states(min(MIDDLE_STATES, settings.n_states))
    projections = usual.project(DIMENSIONS, 0.0, settings.random_state, n_jobs)
    shares = cluster_shares(projections, few, treebank.n_nodes, settings.random_state, n_jobs)
    start = member_from_shares(data, few, shares)
    middle, _ = next(islice(em_steps(data, start, n_jobs), MIDDLE_ITERATIONS - 1, None))
    return replace(prepared, grammar=replace(grammar, middle=middle))


def _columns(treebank: Treebank, head_rules: HeadRules, data: TrainingTrees, settings: Settings) -> FeatureColumns:
    """The usual features, or the user's own on either side."""
    usual = extract_features(treebank, head_rules, data.words.word_counts, exact_words=settings.exact_words)
    pivot = settings.learner.startswith("pivot")
    read = user_templates if pivot else user_features
    own = {
        side: read(treebank, function, f"{side}_features")
        for side, function in (("inside", settings.inside_features), ("outside", settings.outside_features))
        if function is not None
    }
    columns = replace(usual, **own)
    if pivot and own and settings.evidence == "combinations":
        require_recoverable(treebank, columns.inside, columns.outside)
    return columns


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
        rng = np.random.default_rng(seed)
        if settings.em_start == "perturbed":
            return perturbed_member(trees, n_states, rng)
        return member_from_shares(trees, n_states, random_shares(treebank.symbol, n_states, rng))
    if learner == "spectral":
        projections = prepared.project(settings.n_states, settings.noise, seed, n_jobs)
        chosen = [projection.first(m) for projection, m in zip(projections, n_states, strict=True)]
        return learn_spectral(
            trees, chosen, settings.shrink, trusted=settings.trusted, smooth_words=settings.smooth_words
        )
    if settings.evidence == "combinations" and learner.startswith("pivot"):
        projections = prepared.project(settings.n_states, settings.noise, seed, n_jobs)
        assert prepared.columns is not None
        return learn_pivot_features(trees, prepared.columns, projections, n_states, settings.separation)
    projections = prepared.project(max(DIMENSIONS, settings.n_states), settings.noise, seed, n_jobs)
    if learner == "spectral+em":
        shares = cluster_shares(projections, n_states, treebank.n_nodes, seed, n_jobs)
        return member_from_shares(trees, n_states, shares)
    assert prepared.columns is not None
    return learn_pivot(trees, prepared.columns, projections, n_states, settings.separation, settings.smooth_membership)
