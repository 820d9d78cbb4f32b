"""From a treebank to the grammars of a parser: which model is learned how, and in what order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from spectragram.constituency.brackets import LabelSet
from spectragram.constituency.clusters import cluster_shares, random_shares, states_by_count
from spectragram.constituency.em import em_steps, model_from_shares
from spectragram.constituency.features import FeatureColumns, extract_features
from spectragram.constituency.model import Model, TrainingTrees
from spectragram.constituency.parsing import BinaryGrammar
from spectragram.constituency.projection import Projection, project_labels
from spectragram.constituency.spectral import learn_spectral
from spectragram.data.binarization import Binarizer
from spectragram.data.heads import learn_head_rules
from spectragram.data.treebank import Treebank
from spectragram.data.trees import Tree
from spectragram.engine import resolve_jobs
from spectragram.engine.progress import Report, silent
from spectragram.learning.em import refine
from spectragram.learning.ensembles import train_members

__all__ = ["LEARNERS", "Recipe", "train_grammars"]

LEARNERS = ("spectral+em", "spectral", "em", "pivot", "pivot+em", "pcfg")
MIDDLE_STATES, MIDDLE_ITERATIONS = 4, 3
DIMENSIONS = 16
"""Of the vectors that are clustered; the spectral and pivot learners use as many as they have states."""

Judge = Callable[[BinaryGrammar, Model], float]
"""How good a model is on held-out trees: higher is better."""


@dataclass(frozen=True)
class Recipe:
    """What to learn; see :class:`spectragram.constituency.ConstituencyParser` for the meaning of each field."""

    learner: str
    n_states: int
    n_models: int
    max_iter: int
    binarisations: Sequence[str]
    noise: float
    random_state: int

    @property
    def n_steps(self) -> int:
        """Steps of training that are reported: each model's start, and every EM iteration after it."""
        return self.n_models * (1 + self.max_iter * self.learner.endswith("em"))


@dataclass(frozen=True)
class _Prepared:
    """One binarisation of the treebank with what all its models share."""

    trees: TrainingTrees
    columns: FeatureColumns | None
    grammar: BinaryGrammar

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


def train_grammars(
    trees: Sequence[Tree],
    recipe: Recipe,
    *,
    judge: Judge | None = None,
    n_jobs: int = 1,
    report: Report = silent,
) -> tuple[list[BinaryGrammar], list[dict[str, float]]]:
    """The grammars, one for each binarisation in use, and how the training of each model went.

    With a ``judge`` every EM iteration is scored and the best model kept.
    """
    directions = list(recipe.binarisations)[: recipe.n_models]
    # Models of different binarisations take turns.
    members = [(m % len(directions), recipe.random_state + m) for m in range(recipe.n_models)]
    prepared = [_prepare(trees, direction, recipe, resolve_jobs(n_jobs)) for direction in directions]

    def train(number: int, n_jobs: int) -> tuple[Model, dict[str, float]]:
        which, seed = members[number]
        return _train_member(prepared[which], recipe, seed, judge, n_jobs, report)

    trained = train_members(train, recipe.n_models, n_jobs)
    grammars = []
    for which, part in enumerate(prepared):
        models = [model for (w, _), (model, _) in zip(members, trained, strict=True) if w == which]
        grammars.append(replace(part.grammar, models=models))
    return grammars, [facts for _, facts in trained]


def _prepare(trees: Sequence[Tree], direction: str, recipe: Recipe, n_jobs: int) -> _Prepared:
    """Binarise, count the plain PCFG, and learn the model with few states that prunes for the others."""
    head_rules = learn_head_rules(trees)
    treebank = Treebank.from_trees(trees, Binarizer(direction, head_rules=head_rules))  # type: ignore[arg-type]
    data = TrainingTrees.of(treebank)
    one_state = np.ones(treebank.productions.n_symbols, np.int32)
    coarse = model_from_shares(data, one_state, np.ones((treebank.n_nodes, 1)))
    grammar = BinaryGrammar(treebank.productions, coarse, coarse, [coarse], LabelSet.of_treebank(treebank))
    if recipe.learner == "pcfg":
        return _Prepared(data, None, grammar)
    columns = extract_features(treebank, head_rules, data.words.word_counts)
    prepared = _Prepared(data, columns, grammar)
    few = prepared.states(min(MIDDLE_STATES, recipe.n_states))
    projections = prepared.project(DIMENSIONS, 0.0, recipe.random_state, n_jobs)
    shares = cluster_shares(projections, few, treebank.n_nodes, recipe.random_state, n_jobs)
    start = model_from_shares(data, few, shares)
    middle, _ = next(islice(em_steps(data, start, n_jobs), MIDDLE_ITERATIONS - 1, None))
    return replace(prepared, grammar=replace(grammar, middle=middle))


def _train_member(
    prepared: _Prepared, recipe: Recipe, seed: int, judge: Judge | None, n_jobs: int, report: Report
) -> tuple[Model, dict[str, float]]:
    """A model, and the iteration that it comes from with its held-out score."""
    model = _first_model(prepared, recipe, seed, n_jobs)
    report()
    if not recipe.learner.endswith("em"):
        return model, {"iterations": 0}
    found = refine(
        em_steps(prepared.trees, model, n_jobs),
        start=model,
        max_iter=recipe.max_iter,
        judge=None if judge is None else partial(judge, prepared.grammar),
        report=report,
    )
    return found.model, {"iterations": found.iteration} | ({} if judge is None else {"dev": found.score})


def _first_model(prepared: _Prepared, recipe: Recipe, seed: int, n_jobs: int) -> Model:
    """The model before EM: what its learner is named after."""
    trees, learner = prepared.trees, recipe.learner
    n_states = prepared.states(recipe.n_states)
    treebank = trees.treebank
    if learner == "pcfg":
        return prepared.grammar.coarse
    if learner == "em":
        return model_from_shares(trees, n_states, random_shares(treebank.symbol, n_states, np.random.default_rng(seed)))
    if learner == "spectral":
        projections = prepared.project(recipe.n_states, recipe.noise, seed, n_jobs)
        return learn_spectral(trees, [projection.first(m) for projection, m in zip(projections, n_states, strict=True)])
    projections = prepared.project(max(DIMENSIONS, recipe.n_states), recipe.noise, seed, n_jobs)
    if learner == "spectral+em":
        shares = cluster_shares(projections, n_states, treebank.n_nodes, seed, n_jobs)
        return model_from_shares(trees, n_states, shares)
    from spectragram.constituency.pivot import learn_pivot

    assert prepared.columns is not None
    return learn_pivot(trees, prepared.columns, projections, n_states)
