"""Word clusters and vectors from raw text (Brown et al. 1992; Stratos, Kim, Collins & Hsu 2014)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from spectragram.clusters.counting import count_files, count_sequences
from spectragram.clusters.counts import PairCounts, StreamPairs, holds_counts
from spectragram.clusters.extending import assign_new_words, extended
from spectragram.clusters.inspection import nearest_words, words_by_prefix
from spectragram.clusters.learners import learn
from spectragram.clusters.model import Model
from spectragram.clusters.settings import Settings, settings_of
from spectragram.clusters.unfinished import Unfinished
from spectragram.data.corpus import Vocabulary
from spectragram.data.inputs import WordLists, as_word_lists, is_path
from spectragram.engine import Executor, current_executor
from spectragram.engine.sharding import Read, answers_of, in_parts
from spectragram.errors import InputError, ParameterError
from spectragram.estimator import RUN_TIME, Estimator, Predictions, fitting
from spectragram.files import Source, read_lines, split_words
from spectragram.metrics.clusters import mutual_information

__all__ = ["WordClusters"]

Text = PairCounts | WordLists
"""A file of text (one sentence a line) or of counts, sentences in memory, or counts (of many files, say)."""


class WordClusters(Estimator):
    """Clusters of words that predict their neighbours, with a hierarchy and vectors.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters, that of ``<unk>`` included; by default 1000, or one for every ten words if that is less.
    learner : {"exchange", "spectral", "spectral+exchange", "brown"}
        ``exchange`` reaches the highest mutual information in the least time. ``spectral`` is the algorithm of
        Stratos et al. (2014), ``brown`` that of Brown et al. (1992), for comparison.
    recipe : {"ours", "paper"}
        What parameters stand at if they are left out (None): our values, or those of Stratos et al. 2014 as written
        (:data:`~spectragram.clusters.settings.RECIPES`). Below, our values are given first, the paper's second.
    preset : {"fast", "default", "best"}
        How long to refine. It matters only to learners with ``exchange``.
    max_vocabulary, min_count : int
        Keep at most ``max_vocabulary`` words (None keeps all), each seen at least ``min_count`` times. All other words
        share the cluster of ``<unk>``, which contains no word.
    n_dimensions : int
        Length of the word vectors, 0 for none (``spectral`` has vectors of length ``n_clusters``).
    context : {"R1", "LR1", "LR2"}, optional
        LR1 in both. Neighbours that word vectors are made from: the next word, or one or two words on both sides.
    kappa : float, optional
        Smoothing of the vectors, in tokens; by default it grows with the square root of the text's length. 200 in the
        paper.
    svd_tolerance : float, optional
        0.001, 1e-10. Precision of the singular vectors, relative to the largest singular value.
    unknown_alone : bool, optional
        True, False. ``spectral``: whether ``<unk>`` has a cluster of its own or is a word like the others.
    lower, fold_digits : bool
        Lower-case words; turn digits into 0.
    boundaries : bool
        Treat each line as a separate sentence. Otherwise the text is one stream, as in other tools.
    random_state : int
        Start of the singular value decomposition; nothing else is random.
    n_jobs : int
        Processor cores to use, -1 for all; the result does not depend on it.
    memory : str or int, optional
        A bound on memory such as ``"4GB"``. Counts that need more go to temporary files; what cannot fit is refused
        before it starts. The result does not depend on it.
    executor : optional
        A ``distributed.Client`` or anything with ``submit`` whose workers count text and look words up.
    verbose : bool
        Show progress.

    Examples
    --------
    >>> text = ["the dog barks", "the cat sleeps", "a dog sleeps", "a cat barks"] * 3
    >>> model = WordClusters(n_clusters=3, n_dimensions=0, boundaries=True).fit(text)
    >>> sorted(sorted(words) for words in model.cut(9).values())
    [['a', 'the'], ['barks', 'sleeps'], ['cat', 'dog']]
    """

    kind = "clusters"
    model_type = Model
    model_: Model
    records_per_shard: ClassVar[int] = 20_000

    def __init__(
        self,
        n_clusters: int | None = None,
        learner: str | None = None,
        *,
        recipe: str = "ours",
        preset: str = "default",
        max_vocabulary: int | None = 50_000,
        min_count: int = 1,
        n_dimensions: int = 50,
        context: str | None = None,
        kappa: float | None = None,
        svd_tolerance: float | None = None,
        unknown_alone: bool | None = None,
        lower: bool = False,
        fold_digits: bool = False,
        boundaries: bool = False,
        random_state: int = 0,
        n_jobs: int = -1,
        memory: str | int | None = None,
        executor: Executor | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.learner = learner
        self.recipe = recipe
        self.preset = preset
        self.max_vocabulary = max_vocabulary
        self.min_count = min_count
        self.n_dimensions = n_dimensions
        self.context = context
        self.kappa = kappa
        self.svd_tolerance = svd_tolerance
        self.unknown_alone = unknown_alone
        self.lower = lower
        self.fold_digits = fold_digits
        self.boundaries = boundaries
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory = memory
        self.executor = executor
        self.verbose = verbose

    @fitting
    def fit(self, X: Text, y: object = None, *, dev: WordLists | None = None, checkpoint: Source | None = None) -> Self:
        """Count the text, find the clusters, build their hierarchy and make the vectors.

        Parameters
        ----------
        X : path, PairCounts or iterable of sentences
            Text with one sentence a line, counts of text that were made before (or their file), or sentences as
            strings or lists of words.
        y : ignored
        dev : path or iterable of sentences, optional
            Held-out text. The clusters do not depend on it: its mutual information is added to the summary.
        checkpoint : path, optional
            File that keeps what is done, and beside it, under the same name with ``.counts``, what is counted if X is a
            path. The same call goes on from there if training was interrupted. Both are deleted in the end.
        """
        settings = settings_of(self)
        settings.require_memory()
        kept = None if checkpoint is None or not is_path(X) else Path(f"{checkpoint}.counts")
        counts = self._counts(X, settings, kept)
        unfinished = Unfinished(checkpoint, counts, settings)
        self.model_, facts = learn(counts, settings, unfinished)
        unfinished.remove()
        if kept is not None:
            kept.unlink(missing_ok=True)
        self.summary_ = {
            "learner": settings.learner,
            "clusters": self.model_.n_clusters,
            "tokens": counts.n_tokens,
            "types": counts.n_words,
            "mutual_information": mutual_information(self.model_.class_counts),
            **({} if dev is None else {"dev_mutual_information": self.score(dev)}),
            **facts,
        }
        return self

    def _counts(self, X: Text, settings: Settings, checkpoint: Source | None) -> PairCounts:
        if is_path(X):
            return self.count([X], checkpoint=checkpoint)
        if isinstance(X, PairCounts):
            return _cut(X, settings)
        return count_sequences(
            X,
            max_size=settings.max_vocabulary,
            min_count=settings.min_count,
            window=settings.window,
            options=settings.options,
        )

    def count(
        self, paths: Sequence[Source], *, executor: Executor | None = None, checkpoint: Source | None = None
    ) -> PairCounts:
        """Count text files as this estimator's parameters ask for; :meth:`fit` takes the result.

        ``executor`` counts in place of the estimator's own. ``checkpoint`` names a file that keeps the
        counts (see :func:`spectragram.clusters.count_files`). A single path may be such a file of counts, which is
        then read.
        """
        settings = settings_of(self)
        settings.require_memory()
        if len(paths) == 1 and holds_counts(paths[0]):
            return _cut(PairCounts.load(paths[0]), settings)
        return count_files(
            paths,
            max_size=settings.max_vocabulary,
            min_count=settings.min_count,
            window=settings.window,
            options=settings.options,
            n_jobs=settings.n_jobs,
            executor=current_executor(self.executor) if executor is None else executor,
            checkpoint=checkpoint,
            memory=settings.memory,
            verbose=self.verbose,
        )

    def predict(self, X: WordLists) -> Predictions[np.ndarray]:
        """Cluster of every word of each sentence, int32 arrays; :attr:`unknown_cluster_` outside the vocabulary."""
        self._require_fitted()
        return Predictions(self.stream(X))

    def stream(self, X: WordLists) -> Iterator[np.ndarray]:
        """The answers of :meth:`predict` one by one, so that a file may be larger than memory."""
        self._require_fitted()
        if current_executor(self.executor) is None:
            return self.model_.predict(X)
        return (clusters for part in answers_of(self, _clusters_of, self._parts(X)) for clusters in part)

    def _parts(self, X: WordLists) -> Iterator[Read]:
        """Some sentences after the others, as workers get them."""
        lines = (split_words(line) for _, line in read_lines(X)) if is_path(X) else as_word_lists(X, keep_empty=True)
        return in_parts(lines, self.records_per_shard)

    def evaluate(self, X: WordLists) -> dict[str, float]:
        """Scores of the clusters on a text.

        ``mutual_information`` (nats) of neighbouring clusters, the number of ``clusters`` seen, of ``tokens`` and of
        ``unknown`` tokens, whose words are outside the vocabulary. Unknown words count as one cluster, as they do in
        training.
        """
        self._require_fitted()
        if current_executor(self.executor) is None:
            return self.model_.scores(X)
        found = list(answers_of(self, _pairs_of, self._parts(X)))
        if not found:
            return self.model_.scores([])
        pairs = reduce(StreamPairs.__add__, (part for part, _ in found))
        return self.model_.scores_of(pairs, np.sum([seen for _, seen in found], axis=0))

    def score(self, X: WordLists, y: object = None) -> float:
        """Mutual information of neighbouring clusters in a text, in nats."""
        return self.evaluate(X)["mutual_information"]

    @property
    def vocabulary_(self) -> Vocabulary:
        """The words that have a cluster; ``<unk>`` is the last if there is one."""
        self._require_fitted()
        return self.model_.vocabulary

    @property
    def clusters_(self) -> np.ndarray:
        """Cluster of each word, int32, shape (n_words,); numbered from left to right in the hierarchy."""
        self._require_fitted()
        return self.model_.clusters

    @property
    def cluster_paths_(self) -> list[str]:
        """Bit string of each cluster."""
        self._require_fitted()
        return self.model_.paths

    @property
    def paths_(self) -> dict[str, str]:
        """Bit string of every word of the vocabulary."""
        names = self.cluster_paths_
        return {word: names[c] for word, c in zip(self.vocabulary_.words, self.clusters_.tolist(), strict=True)}

    @property
    def unknown_cluster_(self) -> int:
        """Cluster of words outside the vocabulary; -1 if all words of the training text were kept."""
        self._require_fitted()
        return self.model_.unknown_cluster

    @property
    def merges_(self) -> np.ndarray:
        """The hierarchy, shape (n_clusters - 1, 2): row t names the nodes that become node n_clusters + t."""
        self._require_fitted()
        return self.model_.merges

    @property
    def vectors_(self) -> np.ndarray:
        """Word vectors, float32, shape (n_words, n_dimensions)."""
        self._require_fitted()
        return self.model_.vectors

    @property
    def class_counts_(self) -> np.ndarray:
        """How often one cluster precedes another in the training text, int64, shape (n_clusters, n_clusters)."""
        self._require_fitted()
        return self.model_.class_counts

    def cut(self, bits: int) -> dict[str, list[str]]:
        """Words by the first ``bits`` bits of their path, in the order of the tree, most frequent words first."""
        self._require_fitted()
        if bits < 0:
            raise ParameterError("bits", bits, remedy="give a depth of the tree, at least 0")
        return words_by_prefix(self.model_, bits)

    def nearest(self, word: str, n: int = 10) -> list[tuple[str, float]]:
        """The ``n`` words whose vectors are closest to that of ``word``, with the cosine."""
        self._require_fitted()
        return nearest_words(self.model_, word, n)

    def assign(self, X: Text, min_count: int = 1) -> dict[str, int]:
        """Clusters of the words of a new text that the model does not know, from their neighbours there.

        Words seen less than ``min_count`` times are left out.
        """
        return assign_new_words(self._require_model(), self._neighbours(X), min_count)

    def extend(self, X: Text, min_count: int = 1) -> Self:
        """A trained estimator that also knows the new words of a text; old words stay where they are.

        The vector of a new word is the mean of its cluster.
        """
        model, n_assigned = extended(self._require_model(), self._neighbours(X), min_count)
        run_time = {name: getattr(self, name) for name in RUN_TIME}
        larger = type(self)(**self.fitted_params_, **run_time)
        larger.model_ = model
        larger.fitted_params_ = dict(self.fitted_params_)
        facts = {name: value for name, value in self.summary_.items() if name != "seconds"}
        larger.summary_ = {**facts, "types_assigned": n_assigned}
        return larger

    def _require_model(self) -> Model:
        self._require_fitted()
        return self.model_

    def _neighbours(self, X: Text) -> PairCounts:
        """Neighbouring words in a text, read as this model reads text."""
        if isinstance(X, PairCounts):
            return X
        options = self.model_.options
        return (
            count_files(X, window=1, options=options) if is_path(X) else count_sequences(X, window=1, options=options)
        )


def _clusters_of(part: Read, estimator: WordClusters) -> list[np.ndarray]:
    return list(estimator.model_.predict(part))


def _pairs_of(part: Read, estimator: WordClusters) -> tuple[StreamPairs, np.ndarray]:
    return estimator.model_.class_pairs(part)


def _cut(counts: PairCounts, settings: Settings) -> PairCounts:
    """Counts made before, with the vocabulary that the parameters ask for."""
    if counts.options != settings.options:
        raise InputError(
            f"the counts were made with other text options ({counts.options})",
            remedy=f"count the text again with those of this model ({settings.options}), or change these",
        )
    return counts.cut(settings.max_vocabulary, settings.min_count)
