"""The parameters of word clusters, checked, and what they mean for the text at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spectragram.clusters.counts import CONTEXTS, PairCounts, TextOptions
from spectragram.clusters.spectral import SVD_TOLERANCE
from spectragram.data.corpus import UNKNOWN
from spectragram.engine import parse_memory, require_memory, resolve_jobs
from spectragram.errors import ParameterError

if TYPE_CHECKING:
    from spectragram.clusters.estimator import WordClusters

__all__ = ["LEARNERS", "PRESETS", "RECIPES", "Schedule", "Settings", "settings_of"]

LEARNERS = ("exchange", "spectral", "spectral+exchange", "brown")

DEFAULT_CLUSTERS = 1000
"""Clusters of a large vocabulary, as in Stratos et al. (2014)."""

WORDS_PER_CLUSTER = 10
"""A small vocabulary gets one cluster for every ten words. Chosen by hand, not tuned."""

KAPPA_FOR_CLUSTERS = 200
"""Smoothing of vectors that are clustered is the square root of the number of tokens divided by this: 5.4 tokens on the
Brown corpus, where mutual information is highest for values between 1 and 50 (docs/reproductions/stratos-2014.md)."""

KAPPA_FOR_NEIGHBOURS = 20
"""The same for vectors that serve to find similar words: ten times the smoothing, so that a rare word is less easily
the nearest neighbour of a frequent one. Chosen by hand, not tuned."""


BASE_BYTES, CELL_BYTES, VECTOR_BYTES = 250 * 10**6, 48, 60
"""Memory of the process before it begins; of a cell of the table of classes, kept twice while words move and three
times while classes merge; and of a word and dimension while vectors are made, a guess. None was measured."""


@dataclass(frozen=True)
class Schedule:
    """How to refine clusters.

    ``sizes`` are the numbers of clusters at each stage, as multiples of the number wanted. ``first_passes``, ``passes``
    and ``last_passes`` limit the passes over all words at the first, the middle and the last stages; a stage ends
    early when a pass gains less than ``tolerance`` nats.
    """

    sizes: tuple[float, ...]
    first_passes: int
    passes: int
    last_passes: int
    tolerance: float

    def passes_at(self, stage: int, n_stages: int) -> int:
        """Passes at one of the stages, at most."""
        if stage == n_stages - 1:
            return self.last_passes
        return self.first_passes if stage == 0 else self.passes


PASS_WORK = 5 * 10**10
"""Most that a pass over the words may cost before the last stage, in classes a word may move to times classes beside
it, summed over words: fifteen to twenty-five processor seconds. Texts of up to ten million different pairs and 1000
clusters stay below it, so nothing changes for them (docs/clusters.md, Very long text). Chosen by hand."""

LEAST_PASSES = 2
"""Passes among the clusters that are wanted, however much they cost: one less, and most words would not meet the
classes that others made."""

_DEFAULT = Schedule((2.5, 1.8, 1.4, 1.15, 1.0), 3, 2, 10, 2e-5)
PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"schedules": (Schedule((1.25, 1.0), 2, 2, 4, 2e-4),)},
    "default": {"schedules": (_DEFAULT,)},
    "best": {
        "schedules": (
            _DEFAULT,
            Schedule((2.0, 1.6, 1.3, 1.15, 1.0), 2, 2, 10, 2e-5),
            Schedule((2.5, 2.0, 1.6, 1.3, 1.15, 1.07, 1.0), 3, 3, 10, 2e-5),
            Schedule((3.0, 2.2, 1.6, 1.25, 1.1, 1.0), 3, 2, 10, 2e-5),
        )
    },
}
"""Ways to refine, chosen by mutual information and time on the Brown corpus with 100 and 200 clusters. Each schedule
ends in another local optimum, a little better or worse by luck, so ``best`` tries several and keeps the best."""


RECIPES: dict[str, dict[str, Any]] = {
    "ours": {
        "learner": "exchange",
        "context": "LR1",
        "svd_tolerance": SVD_TOLERANCE,
        "unknown_alone": True,
    },
    "paper": {
        "n_clusters": 1000,
        "learner": "spectral",
        "context": "LR1",
        "kappa": 200.0,
        "svd_tolerance": 1e-10,
        "unknown_alone": False,
    },
}
"""``paper`` is Stratos et al. 2014, figures 4 and 5, with the settings of its table 1 (50,000 words): 1000 clusters,
one word to the left and right, kappa = 200; the token that replaces rare words is a word like the others. Table 2 has
``context="LR2", kappa=5000``. ``ours`` chooses kappa by the length of the text."""


@dataclass(frozen=True)
class Settings:
    """Checked parameters of :class:`~spectragram.clusters.WordClusters`, which documents them."""

    learner: str
    n_clusters: int | None
    schedules: tuple[Schedule, ...]
    max_vocabulary: int | None
    min_count: int
    n_dimensions: int
    context: str
    kappa: float | None
    svd_tolerance: float
    unknown_alone: bool
    options: TextOptions
    seed: int
    n_jobs: int
    memory: int | None
    verbose: bool

    @property
    def window(self) -> int:
        """Largest distance at which pairs of words must be counted."""
        return max(CONTEXTS[self.context])

    def clusters_for(self, counts: PairCounts) -> int:
        """Number of clusters: what was asked for, if the words allow it, or what suits them."""
        n_all = len(counts.vocabulary)
        least = n_all - counts.n_words + 1 if self.unknown_alone else 1
        if self.n_clusters is None:
            return max(least, min(DEFAULT_CLUSTERS, n_all // WORDS_PER_CLUSTER))
        if not least <= self.n_clusters <= n_all:
            beside = f" and {UNKNOWN}, which has a cluster of its own" if least > 1 else ""
            raise ParameterError(
                "n_clusters",
                self.n_clusters,
                f"does not fit {counts.n_words} words{beside}",
                remedy=f"ask for {least} to {n_all} clusters, or keep more words",
            )
        return self.n_clusters

    def require_memory(self) -> None:
        """Refuse, before anything is counted, what cannot fit: tables of classes, and vectors while they are made."""
        n_clusters = self.n_clusters or DEFAULT_CLUSTERS
        most = n_clusters * max(size for schedule in self.schedules for size in schedule.sizes)
        vectors = (self.max_vocabulary or 0) * VECTOR_BYTES * self.dimensions_for(n_clusters)
        require_memory(
            BASE_BYTES + max(CELL_BYTES * most**2, vectors),
            f"{n_clusters} clusters of {self.max_vocabulary or 'all'} words",
            "ask for fewer clusters, dimensions or words, or allow more memory",
            self.memory,
        )

    def dimensions_for(self, n_clusters: int) -> int:
        """Length of the word vectors: the paper's method needs as many dimensions as clusters, its refinement two."""
        if self.learner == "spectral":
            return n_clusters
        return max(2, self.n_dimensions) if self.learner == "spectral+exchange" else self.n_dimensions

    def kappa_for(self, n_tokens: int) -> float:
        """Smoothing of the word vectors, in tokens."""
        if self.kappa is not None:
            return self.kappa
        divisor = KAPPA_FOR_CLUSTERS if self.learner.startswith("spectral") else KAPPA_FOR_NEIGHBOURS
        return float(n_tokens**0.5 / divisor)


def settings_of(estimator: WordClusters) -> Settings:
    """The parameters of an estimator; those that cannot be used are refused."""
    chosen = estimator._with_preset(PRESETS, RECIPES)
    estimator._choose("learner", chosen["learner"], LEARNERS)
    estimator._choose("context", chosen["context"], tuple(CONTEXTS))
    estimator._check_share("svd_tolerance")
    estimator._check_whole("n_clusters")
    estimator._check_whole("max_vocabulary")
    estimator._check_whole("min_count", or_else=())
    estimator._check_whole("n_dimensions", 0, or_else=())
    estimator._check_number("kappa")
    return Settings(
        learner=chosen["learner"],
        n_clusters=chosen.get("n_clusters", estimator.n_clusters),
        schedules=chosen["schedules"],
        max_vocabulary=estimator.max_vocabulary,
        min_count=estimator.min_count,
        n_dimensions=estimator.n_dimensions,
        context=chosen["context"],
        kappa=chosen.get("kappa", estimator.kappa),
        svd_tolerance=chosen["svd_tolerance"],
        unknown_alone=bool(chosen["unknown_alone"]) or chosen["learner"] != "spectral",
        options=TextOptions(estimator.lower, estimator.fold_digits, estimator.boundaries),
        seed=estimator.random_state,
        n_jobs=resolve_jobs(estimator.n_jobs),
        memory=parse_memory(estimator.memory),
        verbose=estimator.verbose,
    )
