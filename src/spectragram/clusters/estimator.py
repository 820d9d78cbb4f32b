"""Word clusters and vectors from raw text (Brown et al. 1992; Stratos, Kim, Collins & Hsu 2014)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Self

import numpy as np

from spectragram.clusters.bigrams import class_mutual_information, class_table
from spectragram.clusters.counting import count_files, count_sequences, normalised_words
from spectragram.clusters.counts import CONTEXTS, PairCounts, TextOptions
from spectragram.clusters.extending import add_words, assign_new_words
from spectragram.clusters.hierarchy import bit_strings
from spectragram.clusters.learners import LEARNERS, SCHEDULES, Problem
from spectragram.clusters.scoring import text_scores
from spectragram.clusters.spectral import word_vectors
from spectragram.clusters.training import Stopwatch, from_left_to_right, number_of_clusters, usual_kappa, vector_size
from spectragram.data.corpus import Corpus
from spectragram.data.text import encode_blocks
from spectragram.data.vocabulary import Vocabulary
from spectragram.engine import Executor, resolve_jobs
from spectragram.errors import InputError
from spectragram.estimator import Estimator, State, prefixed, whole_or_nothing, without_prefix
from spectragram.files import Source

__all__ = ["WordClusters"]

Words = Corpus | Iterable[Sequence[str]]
"""Sentences in memory, as lists of words or as a corpus."""

Text = Source | PairCounts | Words
"""A file of text (one sentence a line), counts made before (of many files, say), or sentences in memory."""


class WordClusters(Estimator):
    """Clusters of words that predict their neighbours, with a hierarchy and vectors.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters, that of ``<unk>`` included; by default 1000, or one for ten words if that is less.
    learner : {"exchange", "spectral", "spectral+exchange", "brown"}
        ``exchange`` reaches the highest mutual information in the least time. ``spectral`` is the algorithm of
        Stratos et al. (2014), ``brown`` that of Brown et al. (1992), for comparison.
    preset : {"fast", "default", "best"}
        How long to refine (learners with ``exchange``).
    max_vocabulary, min_count : int
        Keep at most so many words, each seen at least so often. All others share the cluster of ``<unk>``,
        which no other word is in.
    n_dimensions : int
        Length of the word vectors, 0 for none (``spectral`` has vectors of length ``n_clusters``).
    context : {"R1", "LR1", "LR2"}
        Neighbours that word vectors are made from: the next word, one or two words to both sides.
    kappa : float, optional
        Smoothing of the vectors, in tokens; by default it grows with the square root of the text.
    lower, fold_digits : bool
        Lower-case words; turn digits into 0.
    boundaries : bool
        Keep sentences apart. Otherwise the text is one stream, as in other Brown clustering tools.
    random_state : int
        Start of the singular value decomposition, the only thing that is random.
    n_jobs : int
        Processor cores to use; the result is the same whatever it is.

    Attributes
    ----------
    vocabulary_ : Vocabulary
    labels_ : int32 array, shape (n_words,)
        Cluster of each word; clusters are numbered from left to right in the hierarchy.
    cluster_paths_ : list of str
        Bit string of each cluster.
    merges_ : int array, shape (n_clusters - 1, 2)
        The hierarchy: row t names the nodes that become node n_clusters + t.
    vectors_ : float32 array, shape (n_words, n_dimensions)
    class_counts_ : int64 array, shape (n_clusters, n_clusters)
        How often one cluster follows another in the training text.

    Examples
    --------
    >>> text = [["the", "dog", "barks"], ["the", "cat", "sleeps"], ["a", "dog", "sleeps"], ["a", "cat", "barks"]] * 3
    >>> model = WordClusters(n_clusters=3, n_dimensions=0, boundaries=True).fit(text)
    >>> sorted(sorted(words) for words in model.cut(9).values())
    [['a', 'the'], ['barks', 'sleeps'], ['cat', 'dog']]
    """

    kind = "clusters"

    vocabulary_: Vocabulary
    labels_: np.ndarray
    merges_: np.ndarray
    vectors_: np.ndarray
    class_counts_: np.ndarray

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        learner: str = "exchange",
        preset: str = "default",
        max_vocabulary: int | None = 50_000,
        min_count: int = 1,
        n_dimensions: int = 50,
        context: str = "LR1",
        kappa: float | None = None,
        lower: bool = False,
        fold_digits: bool = False,
        boundaries: bool = False,
        random_state: int = 0,
        n_jobs: int = 1,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.learner = learner
        self.preset = preset
        self.max_vocabulary = max_vocabulary
        self.min_count = min_count
        self.n_dimensions = n_dimensions
        self.context = context
        self.kappa = kappa
        self.lower = lower
        self.fold_digits = fold_digits
        self.boundaries = boundaries
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: Text, y: object = None, *, dev: Source | Words | None = None) -> Self:
        """Count the text, find the clusters, build their hierarchy, make the vectors.

        The clusters do not depend on ``dev``: its mutual information is added to the summary.
        """
        self._check_parameters()
        watch = Stopwatch()
        counts = self._counts(X)
        if not isinstance(X, PairCounts):
            watch.lap("seconds_counting")
        n_clusters = number_of_clusters(self.n_clusters, counts)
        vectors = cache(lambda: self._word_vectors(counts, n_clusters))  # made when first asked for
        schedule, n_jobs = SCHEDULES[self.preset], resolve_jobs(self.n_jobs)
        problem = Problem(counts.bigrams(), counts.n_words, n_clusters, schedule, vectors, n_jobs)
        clustering = from_left_to_right(LEARNERS[self.learner](problem))
        watch.lap("seconds_clustering")
        self.vocabulary_, self.vectors_ = counts.vocabulary, vectors().astype(np.float32)
        watch.lap("seconds_vectors")
        self.labels_, self.merges_ = clustering.labels, clustering.merges
        self.class_counts_ = class_table(problem.bigrams, self.labels_, n_clusters)
        self.cluster_paths_ = bit_strings(self.merges_, n_clusters)
        self.summary_ = {
            "learner": self.learner,
            "clusters": n_clusters,
            "tokens": int(counts.vocabulary.counts.sum()),
            "types": counts.n_words,
            "mutual_information": class_mutual_information(problem.bigrams, self.labels_),
            **({} if dev is None else {"dev_mutual_information": self.score(dev)}),
            **clustering.facts,
            **watch.laps,
            "seconds": round(sum(watch.laps.values()), 3),
        }
        return self

    def _check_parameters(self) -> None:
        self._choose("learner", self.learner, tuple(LEARNERS))
        self._choose("preset", self.preset, tuple(SCHEDULES))
        self._choose("context", self.context, tuple(CONTEXTS))
        self._check_whole("n_clusters")
        self._check_whole("max_vocabulary")
        self._check_whole("min_count", or_else=())
        self._check_whole("n_dimensions", 0, or_else=())
        self._check_number("kappa")

    @property
    def text_options(self) -> TextOptions:
        """How this model turns text into words."""
        return TextOptions(self.lower, self.fold_digits, self.boundaries)

    def _counts(self, X: Text) -> PairCounts:
        how: dict[str, Any] = {"max_size": self.max_vocabulary, "min_count": self.min_count}
        if isinstance(X, PairCounts):
            if X.options != self.text_options:
                raise InputError(
                    f"counts made with {X.options}",
                    remedy=f"count again with {self.text_options}, or set those options",
                )
            return X.cut(**how)
        if isinstance(X, str | os.PathLike):
            return self.count([X])
        return count_sequences(X, window=max(CONTEXTS[self.context]), options=self.text_options, **how)

    def count(
        self, paths: Sequence[Source], *, executor: Executor | None = None, checkpoint: Source | None = None
    ) -> PairCounts:
        """Count text files as this estimator's parameters ask for; ``fit`` takes the result.

        ``executor`` (a ``distributed.Client``, say) counts elsewhere, ``checkpoint`` names a file that keeps the
        counts: see :func:`spectragram.clusters.count_files`.
        """
        self._check_parameters()
        return count_files(
            paths,
            max_size=self.max_vocabulary,
            min_count=self.min_count,
            window=max(CONTEXTS[self.context]),
            options=self.text_options,
            n_jobs=self.n_jobs,
            executor=executor,
            checkpoint=checkpoint,
            verbose=self.verbose,
        )

    def _word_vectors(self, counts: PairCounts, n_clusters: int) -> np.ndarray:
        n_dimensions = vector_size(self.learner, self.n_dimensions, n_clusters)
        if n_dimensions == 0:
            return np.zeros((len(counts.vocabulary), 0))
        kappa = usual_kappa(self.learner, counts) if self.kappa is None else self.kappa
        matrix = counts.context_matrix(self.context)
        return word_vectors(matrix, n_dimensions, kappa, np.random.default_rng(self.random_state))[0]

    # -- what the model knows ---------------------------------------------------------------------------------------

    @property
    def paths_(self) -> dict[str, str]:
        """Bit string of every word of the vocabulary."""
        self._require_fitted()
        return {
            word: self.cluster_paths_[label]
            for word, label in zip(self.vocabulary_.words, self.labels_.tolist(), strict=True)
        }

    @property
    def unknown_cluster_(self) -> int:
        """Cluster of words outside the vocabulary; -1 where all words of the training text were kept."""
        self._require_fitted()
        unknown = self.vocabulary_.unknown_id
        return -1 if unknown < 0 else int(self.labels_[unknown])

    def transform(self, X: Words) -> list[np.ndarray]:
        """Cluster of every word of every sequence, int32; ``unknown_cluster_`` outside the vocabulary."""
        self._require_fitted()
        labels = np.append(self.labels_, np.int32(-1))
        return [labels[tokens] for tokens in self._corpus(X)]

    def _corpus(self, X: Words) -> Corpus:
        """X with this model's words, spelled as it spells them."""
        return Corpus.from_sequences(normalised_words(X, self.text_options), self.vocabulary_)

    def cut(self, bits: int) -> dict[str, list[str]]:
        """Words by the first ``bits`` bits of their path, in the order of the tree, most frequent words first."""
        self._require_fitted()
        if bits < 0:
            raise InputError(f"bits={bits}", remedy="give a depth of the tree, at least 0")
        groups: dict[str, list[str]] = {path[:bits]: [] for path in self.cluster_paths_}
        for word, path in self.paths_.items():
            groups[path[:bits]].append(word)
        return groups

    def nearest(self, word: str, n: int = 10) -> list[tuple[str, float]]:
        """The ``n`` words whose vectors are closest to that of ``word``, with the cosine."""
        self._require_fitted()
        word = self.text_options.normalised(word)
        if word not in self.vocabulary_:
            raise InputError(f"{word!r} is not in the vocabulary", remedy="choose a word of the training text")
        if self.vectors_.shape[1] == 0:
            raise InputError("this model has no vectors", remedy="train it with n_dimensions=50")
        this, unknown = self.vocabulary_.index[word], self.vocabulary_.unknown_id
        cosine = self.vectors_ @ self.vectors_[this]
        cosine[[this] if unknown < 0 else [this, unknown]] = -np.inf
        order = np.argsort(-cosine, kind="stable")[:n]
        return [(self.vocabulary_.words[i], float(cosine[i])) for i in order if np.isfinite(cosine[i])]

    # -- scores -------------------------------------------------------------------------------------------------------

    def evaluate(self, X: Source | Words) -> dict[str, float]:
        """``mutual_information`` (nats) of neighbouring clusters in a text, ``clusters`` seen, ``tokens``, ``unknown``.

        Words outside the vocabulary are ``unknown``; they count as one more cluster, as they do in training.
        """
        self._require_fitted()
        return text_scores(self._encoded(X), self.labels_, len(self.cluster_paths_), apart=self.boundaries)

    def _encoded(self, X: Source | Words) -> Iterable[Corpus]:
        if isinstance(X, str | os.PathLike):
            return encode_blocks(X, self.vocabulary_, lower=self.lower, fold_digits=self.fold_digits)
        return [self._corpus(X)]

    def score(self, X: Source | Words, y: object = None) -> float:
        """Mutual information of neighbouring clusters in a text, in nats."""
        return self.evaluate(X)["mutual_information"]

    # -- words that the model does not know ---------------------------------------------------------------------------

    def assign(self, X: Text, min_count: int = 1) -> dict[str, int]:
        """Clusters of the words of a new text that the model does not know, from their neighbours there."""
        return assign_new_words(self, self._neighbours(X), min_count)

    def extend(self, X: Text, min_count: int = 1) -> Self:
        """A model that also knows the new words of a text; old words stay where they are.

        The vector of a new word is the mean of its cluster.
        """
        counts = self._neighbours(X)
        extended = type(self)(**self.get_params(deep=False))
        extended._set_state(*self._get_state())
        assigned = assign_new_words(self, counts, min_count)
        add_words(extended, assigned, counts.vocabulary)
        extended.summary_ = {"types_assigned": len(assigned)} | self.summary_
        return extended

    def _neighbours(self, X: Text) -> PairCounts:
        self._require_fitted()
        if isinstance(X, PairCounts):
            return X
        if isinstance(X, str | os.PathLike):
            return count_files(X, window=1, options=self.text_options)
        return count_sequences(X, window=1, options=self.text_options)

    # -- model files ----------------------------------------------------------------------------------------------

    def _get_state(self) -> State:
        arrays = {
            "labels": self.labels_,
            "merges": self.merges_,
            "vectors": self.vectors_,
            "class_counts": self.class_counts_,
        }
        vocabulary, words = self.vocabulary_.to_state()
        return {"vocabulary": vocabulary}, arrays | prefixed("vocabulary", words)

    def _set_state(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        vocabulary = Vocabulary.from_state(values["vocabulary"], without_prefix("vocabulary", arrays))
        labels, merges, vectors = arrays["labels"], arrays["merges"], arrays["vectors"]
        m = len(merges) + 1
        if labels.shape != (len(vocabulary),) or vectors.shape[:1] != labels.shape:
            raise ValueError("words, clusters and vectors do not fit together")
        if labels.min() < 0 or labels.max() >= m or arrays["class_counts"].shape != (m, m):
            raise ValueError("clusters that the hierarchy does not have")
        if merges.shape != (m - 1, 2) or not np.array_equal(np.sort(merges.ravel()), np.arange(2 * m - 2)):
            raise ValueError("the hierarchy is not a tree")
        self.vocabulary_, self.labels_, self.merges_ = vocabulary, labels, merges
        self.vectors_, self.class_counts_ = vectors, arrays["class_counts"]
        self.cluster_paths_ = bit_strings(merges, m)
