"""Word clusters and vectors from raw text (Brown et al. 1992; Stratos, Kim, Collins & Hsu 2014)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Self

import numpy as np

from spectragram.clusters.assigning import assign_words
from spectragram.clusters.bigrams import class_mutual_information, class_table
from spectragram.clusters.counting import count_files, count_sequences
from spectragram.clusters.counts import CONTEXTS, PairCounts, TextOptions
from spectragram.clusters.hierarchy import bit_strings
from spectragram.clusters.learners import LEARNERS, SCHEDULES, Clustering, Problem
from spectragram.clusters.pairs import PairCounter
from spectragram.clusters.spectral import word_vectors
from spectragram.data.text import encode_blocks
from spectragram.data.vocabulary import UNKNOWN, Vocabulary
from spectragram.engine import Executor, resolve_jobs
from spectragram.errors import InputError
from spectragram.estimator import Estimator, State
from spectragram.files import Source
from spectragram.metrics.clusters import mutual_information

__all__ = ["WordClusters"]

Text = Source | PairCounts | Iterable[Sequence[str]]
"""A file of text (one sentence a line), counts made before (of many files, say), or lists of words."""

DEFAULT_CLUSTERS = 1000
WORDS_PER_CLUSTER = 10


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
    apart : bool
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
    >>> model = WordClusters(n_clusters=3, n_dimensions=0, apart=True).fit(text)
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
        apart: bool = False,
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
        self.apart = apart
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Text, y: object = None) -> Self:
        """Count the text, find the clusters, build their hierarchy, make the vectors."""
        self._check_parameters()
        watch = _Stopwatch()
        counts = self._counts(X)
        if not isinstance(X, PairCounts):
            watch.lap("seconds_counting")
        n_clusters = self._number_of_clusters(counts)
        vectors = cache(lambda: self._word_vectors(counts, n_clusters))  # made when first asked for
        problem = Problem(
            counts.bigrams(),
            counts.n_words,
            n_clusters,
            SCHEDULES[self.preset],
            vectors,
            resolve_jobs(self.n_jobs),
        )
        clustering = LEARNERS[self.learner](problem)
        watch.lap("seconds_clustering")
        self.vocabulary_ = counts.vocabulary
        self.vectors_ = vectors().astype(np.float32)
        watch.lap("seconds_vectors")
        self._keep(clustering, problem)
        self.summary_ = {
            "mutual_information": class_mutual_information(problem.bigrams, self.labels_),
            "clusters": n_clusters,
            "words": counts.n_words,
            "tokens": int(counts.vocabulary.counts.sum()),
            **clustering.facts,
            **watch.laps,
        }
        return self

    def _check_parameters(self) -> None:
        self._choose("learner", self.learner, tuple(LEARNERS))
        self._choose("preset", self.preset, tuple(SCHEDULES))
        self._choose("context", self.context, tuple(CONTEXTS))
        for name, least in (("n_clusters", 1), ("max_vocabulary", 1), ("min_count", 1), ("n_dimensions", 0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise InputError(f"{name}={value!r}", remedy=f"give a whole number, at least {least}")
        if self.kappa is not None and not self.kappa >= 0:
            raise InputError(f"kappa={self.kappa!r}", remedy="give a number of tokens, at least 0")

    @property
    def text_options(self) -> TextOptions:
        """How this model turns text into words."""
        return TextOptions(self.lower, self.fold_digits, self.apart)

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

    def _number_of_clusters(self, counts: PairCounts) -> int:
        n_all = len(counts.vocabulary)
        least = n_all - counts.n_words + 1
        if self.n_clusters is None:
            return max(least, min(DEFAULT_CLUSTERS, n_all // WORDS_PER_CLUSTER))
        if not least <= self.n_clusters <= n_all:
            raise InputError(
                f"{self.n_clusters} clusters of {counts.n_words} words"
                + (f" and {UNKNOWN}, which has a cluster of its own" if least > 1 else ""),
                remedy=f"ask for {least} to {n_all} clusters, or keep more words",
            )
        return self.n_clusters

    def _word_vectors(self, counts: PairCounts, n_clusters: int) -> np.ndarray:
        n_dimensions = n_clusters if self.learner == "spectral" else self.n_dimensions
        if self.learner == "spectral+exchange":
            n_dimensions = max(2, n_dimensions)
        if n_dimensions == 0:
            return np.zeros((len(counts.vocabulary), 0))
        n_tokens = int(counts.vocabulary.counts.sum())
        # Ward's clusters do best with little smoothing, nearest neighbours with more.
        default = n_tokens**0.5 / (200 if self.learner.startswith("spectral") else 20)
        kappa = default if self.kappa is None else self.kappa
        matrix = counts.context_matrix(self.context)
        return word_vectors(matrix, n_dimensions, kappa, np.random.default_rng(self.random_state))[0]

    def _keep(self, clustering: Clustering, problem: Problem) -> None:
        """Number the clusters from left to right in the tree and keep what a model is made of."""
        m = problem.n_clusters
        place = np.empty(2 * m - 1, np.int64)
        place[np.argsort(bit_strings(clustering.merges, m))] = np.arange(m)
        place[m:] = np.arange(m, 2 * m - 1)
        self.labels_ = place[clustering.labels].astype(np.int32)
        self.merges_ = place[clustering.merges]
        self.class_counts_ = class_table(problem.bigrams, self.labels_, m)
        self.cluster_paths_ = bit_strings(self.merges_, m)

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

    def transform(self, X: Iterable[Sequence[str]]) -> list[np.ndarray]:
        """Cluster of every word of every sequence, int32; ``unknown_cluster_`` outside the vocabulary."""
        self._require_fitted()
        labels = np.append(self.labels_, np.int32(-1))
        normalised = self.text_options.normalised
        return [labels[self.vocabulary_.encode(normalised(word) for word in sequence)] for sequence in X]

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

    def score_text(self, X: Source | Iterable[Sequence[str]]) -> dict[str, float]:
        """``mutual_information`` (nats) of neighbouring clusters in a text, its ``clusters`` and ``tokens``.

        Words outside the vocabulary count as one cluster, as they do in training.
        """
        self._require_fitted()
        m = len(self.cluster_paths_)
        labels = np.append(self.labels_, np.int32(m))
        counter = PairCounter(m + 1, 1, self.apart)
        n_tokens = 0
        seen = np.zeros(m + 1, bool)
        for tokens, offsets in self._encoded(X):
            classes = labels[tokens]
            counter.add(classes, offsets)
            n_tokens += len(tokens)
            seen[classes] = True
        pairs = counter.result().tables[0]
        if not len(pairs.keys):
            raise InputError("the text has no two words in a row", remedy="give text with at least two words")
        table = np.zeros((m + 1) ** 2, np.int64)
        table[pairs.keys] = pairs.counts
        return {
            "mutual_information": mutual_information(table.reshape(m + 1, m + 1)),
            "clusters": int(seen.sum()),
            "tokens": n_tokens,
        }

    def _encoded(self, X: Source | Iterable[Sequence[str]]) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        if isinstance(X, str | os.PathLike):
            spelling = {"lower": self.lower, "fold_digits": self.fold_digits}
            for block in encode_blocks(X, self.vocabulary_, **spelling):
                yield block.tokens, block.offsets
            return
        normalised = self.text_options.normalised
        for sequence in X:
            tokens = self.vocabulary_.encode(normalised(word) for word in sequence)
            yield tokens, np.array([0, len(tokens)])

    def score(self, X: Source | Iterable[Sequence[str]], y: object = None) -> float:
        """Mutual information of neighbouring clusters in a text, in nats."""
        return self.score_text(X)["mutual_information"]

    def assign(self, X: Text, min_count: int = 1) -> dict[str, int]:
        """Clusters of the words of a new text that the model does not know, from their neighbours there."""
        return self._assigned(self._all_counts(X), min_count)

    def _all_counts(self, X: Text) -> PairCounts:
        self._require_fitted()
        if isinstance(X, PairCounts):
            return X
        if isinstance(X, str | os.PathLike):
            return count_files(X, window=1, options=self.text_options)
        return count_sequences(X, window=1, options=self.text_options)

    def _assigned(self, counts: PairCounts, min_count: int) -> dict[str, int]:
        words = counts.vocabulary.words
        ids = self.vocabulary_.encode(words)
        known = np.array([word in self.vocabulary_ or word == counts.vocabulary.unknown for word in words])
        new = np.flatnonzero(~known & (counts.vocabulary.counts >= min_count))
        # Neighbours that are not known themselves: those of <unk>, or no cluster in particular.
        table, labels = self.class_counts_, np.append(self.labels_, np.int32(len(self.class_counts_)))[ids]
        is_open = np.ones(len(table), bool)
        if self.unknown_cluster_ >= 0:
            is_open[self.unknown_cluster_] = False
        else:
            table = np.pad(table, (0, 1))
            is_open = np.append(is_open, False)
        chosen = assign_words(table, counts, labels, new, is_open)
        return {words[i]: int(c) for i, c in zip(new, chosen, strict=True) if c >= 0}

    def extend(self, X: Text, min_count: int = 1) -> Self:
        """A model that also knows the new words of a text; old words stay where they are.

        The vector of a new word is the mean of its cluster.
        """
        counts = self._all_counts(X)
        assigned = self._assigned(counts, min_count)
        extended = type(self)(**self.get_params(deep=False))
        extended._set_state(*self._get_state())
        old, n = self.vocabulary_, self.vocabulary_.unknown_id if self.vocabulary_.unknown else len(self.vocabulary_)
        added = [int(counts.vocabulary.counts[counts.vocabulary.index[word]]) for word in assigned]
        extended.vocabulary_ = Vocabulary(
            [*old.words[:n], *assigned, *old.words[n:]],
            np.concatenate([old.counts[:n], np.array(added, np.int64), old.counts[n:]]),
            old.unknown,
        )
        clusters = np.fromiter(assigned.values(), np.int32, len(assigned))
        extended.labels_ = np.concatenate([self.labels_[:n], clusters, self.labels_[n:]])
        vectors = self._cluster_means()[clusters]
        extended.vectors_ = np.concatenate([self.vectors_[:n], vectors, self.vectors_[n:]])
        extended.summary_ = dict(self.summary_) | {"words_assigned": len(assigned)}
        return extended

    def _cluster_means(self) -> np.ndarray:
        means = np.zeros((len(self.cluster_paths_), self.vectors_.shape[1]), np.float32)
        np.add.at(means, self.labels_, self.vectors_)
        return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-30)

    def _get_state(self) -> State:
        arrays = {
            "labels": self.labels_,
            "merges": self.merges_,
            "vectors": self.vectors_,
            "class_counts": self.class_counts_,
        }
        return {"vocabulary": self.vocabulary_.to_state()}, arrays

    def _set_state(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        vocabulary = Vocabulary.from_state(values["vocabulary"])
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


class _Stopwatch:
    """Seconds from lap to lap."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round(now - self._last, 3)
        self._last = now
