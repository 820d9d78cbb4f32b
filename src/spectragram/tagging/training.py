"""The encoded training data, and the views, chains and emission models that learners derive from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from spectragram.engine.progress import Report, silent
from spectragram.learning import states
from spectragram.learning.em import refine
from spectragram.learning.views import rows_by_label
from spectragram.learning.word_cells import Cells
from spectragram.tagging.em import (
    CellEmissions,
    RefinedChain,
    TrainingChain,
    chain_from_shares,
    chain_from_states,
    run_em,
)
from spectragram.tagging.features import Views, extract_views, token_atoms
from spectragram.tagging.gaussians import GaussianEmissions
from spectragram.tagging.member import Member
from spectragram.tagging.projection import Projection, project_views
from spectragram.tagging.sequences import Observations
from spectragram.tagging.settings import Settings

__all__ = ["Judge", "Training"]

WITHOUT_FEATURES = ("hmm", "em", "segments")
"""Learners that never look at the views."""

Judge = Callable[[Member], float]
"""Accuracy of a member on held-out data."""


@dataclass(frozen=True)
class Training:
    """An encoded corpus: observations, labels, the cells of the lexicon that they fall into, and the views to look
    through.

    Attributes
    ----------
    observed : Observations
    labels : int32 array, shape (n_tokens,)
    n_labels : int
    cells : Cells
        Of the lexicon; its observations are the tokens.
    views : Views
    settings : Settings
    templates : tuple of str
        Those of factors; empty if there are none.
    is_open : bool array, shape (n_tokens,), optional
        Which labels are not known but completed, if any are.
    weights : float64 array, shape (n_sequences,), optional
        How much each sequence counts for the factors.
    n_jobs : int
    judge : callable, optional
    report : callable
    """

    observed: Observations
    labels: np.ndarray
    n_labels: int
    cells: Cells
    views: Views
    settings: Settings
    templates: tuple[str, ...] = ()
    is_open: np.ndarray | None = None
    weights: np.ndarray | None = None
    n_jobs: int = 1
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

    def with_jobs(self, n_jobs: int, report: Report) -> Training:
        """The same training on another number of threads; features are computed once for all copies."""
        copy = replace(self, n_jobs=n_jobs, report=report)
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
        return project_views(
            self.labels,
            self.n_labels,
            *views,
            n_dims,
            seed=seed,
            noise=noise,
            n_jobs=self.n_jobs,
            how=self.settings.decomposition,
            tokens_a_dimension=self.settings.tokens_a_dimension,
        )

    def chain(self, n_states: int) -> TrainingChain:
        """The chain with at most ``n_states`` states for each label, fewer for rare ones."""
        counts = np.bincount(self.labels, minlength=self.n_labels)
        sizes = states.states_by_count(counts, n_states, per_state=self.settings.tokens_a_state)
        return TrainingChain(self.labels, self.observed.offsets, sizes.astype(np.int64), self.settings.pulls)

    def clusters(self, chain: TrainingChain, views: Sequence[tuple[np.ndarray, np.ndarray]], seed: int) -> np.ndarray:
        """A hidden state for every token, int64 (n_tokens,), from clusters of projected views.

        Each view is a pair of coordinates (n_tokens, n_dims) and singular values (n_labels, n_dims).
        """
        rows_of = rows_by_label(self.labels, self.n_labels)

        def coordinates(a: int) -> np.ndarray:
            own = [(vectors[rows_of[a]], sigma[a]) for vectors, sigma in views]
            # Single precision halves the time of k-means.
            return states.joint_coordinates(own, power=1.0, equal_lengths=True).astype(np.float32)

        return states.cluster_rows(rows_of, chain.sizes, coordinates, seed=seed, n_jobs=self.n_jobs)

    def emissions(self, chain: TrainingChain) -> CellEmissions | GaussianEmissions:
        """The emission model to train with the chain."""
        if self.settings.gaussian:
            assert self.observed.frames is not None
            return GaussianEmissions(self.observed.frames, chain, self.settings.emission_weight)
        return CellEmissions(self.cells, chain, self.settings.emission_mix)

    def refine_shares(self, chain: TrainingChain, shares: np.ndarray) -> tuple[Member, float]:
        """Count with shares (n_tokens, m) of states, then EM; see :meth:`refine`."""
        emissions = self.emissions(chain)
        return self.refine(chain, chain_from_shares(chain, shares, emissions), emissions)

    def refine_states(self, chain: TrainingChain, given: np.ndarray) -> tuple[Member, float]:
        """Count with given states (n_tokens,), then EM; see :meth:`refine`."""
        emissions = self.emissions(chain)
        return self.refine(chain, chain_from_states(chain, given, emissions), emissions)

    def refine(
        self, chain: TrainingChain, start: RefinedChain, emissions: CellEmissions | GaussianEmissions
    ) -> tuple[Member, float]:
        """EM iterations, of which held-out data choose the best. Returns the member and its score."""
        iterations = run_em(chain, start, emissions, n_jobs=self.n_jobs)
        found = refine(
            ((Member(model.operators(), emissions.model), log_likelihood) for model, log_likelihood in iterations),
            start=Member(start.operators(), emissions.model),
            max_iter=self.settings.max_iter,
            judge=self.judge,
            report=self.report,
        )
        return found.model, found.score
