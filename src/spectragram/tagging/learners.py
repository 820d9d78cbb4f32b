"""From an encoded corpus to a trained member, one function per learner.

spectral      figure 4 of Stratos et al. (2013): operators from projected views, no iterations
spectral+em   hidden states from clusters of the projected views, then a few smoothed EM iterations
pivot         states identified by anchor features; probabilities by convex least squares
pivot+em      the same, then EM
em            random states, then EM; the best of several starts
hmm           one state per label: counting
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from spectragram.engine.progress import Report, silent
from spectragram.learning.em import refine
from spectragram.learning.word_cells import Cells
from spectragram.tagging.clusters import cluster_states, states_per_label
from spectragram.tagging.em import CellEmissions, RefinedChain, TrainingChain, chain_from_states, run_em
from spectragram.tagging.features import Views, extract_views, token_atoms
from spectragram.tagging.gaussians import GaussianEmissions
from spectragram.tagging.lexicon import CellVectors, learn_lexicon
from spectragram.tagging.model import Member
from spectragram.tagging.pivot import pivot_chain
from spectragram.tagging.projection import Projection, project_views
from spectragram.tagging.sequences import Observations
from spectragram.tagging.settings import Settings
from spectragram.tagging.spectral import Samples, estimate_operators, inverted, with_constant

__all__ = ["Judge", "Training", "learn", "prefers_looks"]

CLUSTER_DIMS = 12
PULL_OF_CLASS = 5.0
"""Tokens that the coarser class is worth in averages of projected destinies."""
HELD_OUT = 10
"""Every so many-th sequence decides choices that training makes for itself."""
WITHOUT_FEATURES = ("hmm", "em")
"""Learners that never look at the views."""

Judge = Callable[[Member], float]
"""Accuracy of a member on held-out data."""


@dataclass(frozen=True)
class Training:
    """An encoded corpus: observations, labels, where they fall in the lexicon, and the views to look through."""

    observed: Observations
    labels: np.ndarray
    n_labels: int
    cells: Cells
    views: Views
    settings: Settings
    judge: Judge | None = None
    report: Report = silent

    @cached_property
    def features(self) -> dict[str, np.ndarray]:
        """Feature numbers of all tokens by view."""
        atoms = token_atoms(self.observed, self.labels)
        names = ("future", "past", "present", "destiny")
        found = {name: extract_views(atoms, self.observed.offsets, getattr(self.views, name)) for name in names}
        if self.settings.gaussian and self.observed.frames is not None:
            found["present"] = self.observed.frames  # the vector itself, not the class it falls into
        return found

    def with_jobs(self, n_jobs: int) -> Training:
        """The same training on another number of threads; features are computed once for all copies."""
        copy = replace(self, settings=replace(self.settings, n_jobs=n_jobs))
        if self.settings.learner not in WITHOUT_FEATURES:
            copy.__dict__["features"] = self.features
        return copy

    def along(self, n_dims: int, seed: int, noise: float) -> Projection:
        """Future against past."""
        return self._project("future", "past", n_dims, 2 * seed, noise)

    def across(self, n_dims: int, seed: int, noise: float) -> Projection:
        """Present against destiny."""
        return self._project("present", "destiny", n_dims, 2 * seed + 1, noise)

    def _project(self, left: str, right: str, n_dims: int, seed: int, noise: float) -> Projection:
        views = (self.features[left], self.features[right])
        n_jobs = self.settings.n_jobs
        return project_views(self.labels, self.n_labels, *views, n_dims, seed=seed, noise=noise, n_jobs=n_jobs)

    def chain(self, n_states: int) -> TrainingChain:
        """The chain with at most ``n_states`` states for each label."""
        sizes = states_per_label(self.labels, self.n_labels, n_states, self.settings.tokens_a_state)
        return TrainingChain(self.labels, self.observed.offsets, sizes)

    def emissions(self, chain: TrainingChain) -> CellEmissions | GaussianEmissions:
        """The emission model to train with the chain."""
        if self.settings.gaussian:
            assert self.observed.frames is not None
            return GaussianEmissions(self.observed.frames, chain, self.settings.emission_weight)
        return CellEmissions(self.cells, chain)


def learn(training: Training, seed: int, noise: float = 0.0) -> Member:
    """Train one member; ``noise`` perturbs the features, so that members of an ensemble differ."""
    member = _learn(training, seed, noise)
    training.report()
    return member


def _learn(training: Training, seed: int, noise: float) -> Member:
    learner = training.settings.learner
    if learner == "hmm":
        return learn_hmm(training)
    if learner == "em":
        return learn_em(training, seed)
    if learner.startswith("pivot"):
        return learn_pivot(training, seed, noise, iterate=learner == "pivot+em")
    return learn_spectral(training, seed, noise) if learner == "spectral" else learn_spectral_em(training, seed, noise)


def learn_hmm(training: Training) -> Member:
    """The supervised HMM: one state for each label."""
    chain = training.chain(1)
    emissions = training.emissions(chain)
    return Member(
        chain_from_states(chain, np.zeros(len(training.labels), np.int64), emissions).operators(), emissions.model
    )


def learn_spectral(training: Training, seed: int, noise: float = 0.0) -> Member:
    """Operators in the coordinates of the projected views (figure 4)."""
    settings, labels = training.settings, training.labels
    n_dims = max(settings.n_states - 1, 0)
    along, across = training.along(n_dims, seed, noise), training.across(n_dims, seed, noise)
    future = with_constant(along.left)
    ends = training.observed.offsets[1:] - 1
    following = np.append(labels[1:], training.n_labels)
    following[ends] = training.n_labels
    first = np.zeros(len(labels), bool)
    first[training.observed.offsets[:-1]] = True
    samples = Samples(
        labels=labels,
        following=following,
        first=first,
        future=future,
        next_future=np.roll(future, -1, axis=0),
        past=with_constant(inverted(along, labels, settings.ridge)),
        present=with_constant(across.left),
        weights=np.ones(len(labels)),
        state_sizes=along.ranks + 1,
        observed_sizes=across.ranks + 1,
    )
    destiny = with_constant(inverted(across, labels, settings.ridge))
    root = np.zeros((training.n_labels, destiny.shape[1]))
    root[:, 0] = 1.0
    cells = replace(training.cells, kappa=PULL_OF_CLASS)
    sizes = samples.observed_sizes
    emissions = CellVectors(
        cells.back_off(cells.add_up(destiny), root),
        root[np.arange(root.shape[1]) < sizes[:, None]],
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
    )
    return Member(estimate_operators(samples, settings.smoothing), emissions)


def learn_spectral_em(training: Training, seed: int, noise: float = 0.0) -> Member:
    """Cluster the projected views into states, then refine them by EM."""
    chain = training.chain(training.settings.n_states)
    across = training.across(CLUSTER_DIMS, seed, noise)
    views = [(across.right, across.singular_values)]
    if not training.settings.gaussian:  # of a frame, its vector says all that present and future would
        along = training.along(CLUSTER_DIMS, seed, noise)
        views += [(along.left, along.singular_values), (across.left, across.singular_values)]
    states = cluster_states(training.labels, chain.sizes, views, seed=seed, n_jobs=training.settings.n_jobs)
    return _refine_states(training, chain, states)[0]


def learn_pivot(training: Training, seed: int, noise: float, *, iterate: bool) -> Member:
    """Anchors; then, if asked, EM from there."""
    settings = training.settings
    along = training.along(max(settings.n_states - 1, 0), seed, noise)
    found = pivot_chain(
        training.labels,
        training.observed.offsets,
        training.n_labels,
        along,
        training.features["future"],
        training.cells,
        settings.n_states,
        n_jobs=settings.n_jobs,
    )
    if not iterate:
        return Member(found.chain.operators(), found.emissions)
    emissions = CellEmissions(training.cells, found.training)
    emissions.model = found.emissions
    return _refine(training, found.training, found.chain, emissions)[0]


def learn_em(training: Training, seed: int) -> Member:
    """EM from random states: of several starts the best by held-out accuracy, or by likelihood without any."""
    chain = training.chain(training.settings.n_states)
    candidates = []
    for start in range(training.settings.n_starts):
        rng = np.random.default_rng([seed, start])
        states = (rng.random(len(training.labels)) * chain.sizes[training.labels]).astype(np.int64)
        candidates.append(_refine_states(training, chain, states))
    return max(candidates, key=lambda candidate: candidate[1])[0]


def _refine_states(training: Training, chain: TrainingChain, states: np.ndarray) -> tuple[Member, float]:
    """Count with the states, then EM."""
    emissions = training.emissions(chain)
    return _refine(training, chain, chain_from_states(chain, states, emissions), emissions)


def _refine(
    training: Training, chain: TrainingChain, start: RefinedChain, emissions: CellEmissions | GaussianEmissions
) -> tuple[Member, float]:
    """EM iterations; with held-out data the best of them is kept. Returns the member and how good it is."""
    settings = training.settings
    iterations = run_em(chain, start, emissions, n_jobs=settings.n_jobs)
    found = refine(
        ((Member(model.operators(), emissions.model), log_likelihood) for model, log_likelihood in iterations),
        start=Member(start.operators(), emissions.model),
        max_iter=settings.max_iter,
        judge=training.judge,
        report=training.report,
    )
    return found.model, found.score


def prefers_looks(observed: Observations, labels: np.ndarray, n_labels: int, kappa: float) -> bool:
    """Whether backing off through classes by looks helps an HMM on held-out training sequences.

    With one column it always does. With several the others may tell more: a part of speech says all that shape and
    suffix say about chunks, but not about names.
    """
    if observed.n_columns == 1:
        return True
    if len(observed) < 2 * HELD_OUT:
        return False
    held_out = np.arange(len(observed)) % HELD_OUT == HELD_OUT - 1
    kept, rows = observed.select(np.flatnonzero(~held_out))
    dev, dev_rows = observed.select(np.flatnonzero(held_out))
    hits = {}
    for by_looks in (False, True):
        lexicon, cells = learn_lexicon(kept, labels[rows], n_labels, kappa=kappa, by_looks=by_looks)
        chain = TrainingChain(labels[rows], kept.offsets, np.ones(n_labels, np.int64))
        emissions = CellEmissions(cells, chain)
        model = chain_from_states(chain, np.zeros(len(rows), np.int64), emissions)
        marginals = Member(model.operators(), emissions.model).marginals(lexicon, dev)
        hits[by_looks] = int((marginals.argmax(axis=1) == labels[dev_rows]).sum())
    return hits[True] > hits[False]
