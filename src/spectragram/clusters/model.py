"""Trained word clusters: the cluster of every word, the tree over clusters, vectors, and how to read text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.clusters.counts import TEXT_OPTIONS, PairCounter, StreamPairs, TextOptions
from spectragram.clusters.hierarchy import bit_strings, is_tree
from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.data.inputs import WordLists, is_path
from spectragram.data.text import encode_blocks
from spectragram.errors import InputError
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.metrics.clusters import mutual_information
from spectragram.schema import Array, Part, Schema

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """Clusters of words.

    Attributes
    ----------
    vocabulary : Vocabulary
        Words by decreasing frequency; ``<unk>`` last if there is one.
    clusters : int32 array, shape (n_words,)
        Cluster of each word; clusters are numbered from left to right in the tree.
    merges : int64 array, shape (n_clusters - 1, 2)
        The tree over clusters (:mod:`spectragram.clusters.hierarchy`).
    vectors : float32 array, shape (n_words, n_dimensions)
    class_counts : int64 array, shape (n_clusters, n_clusters)
        How often one cluster directly precedes another in the training text.
    options : TextOptions
        How text becomes words.
    """

    vocabulary: Vocabulary
    clusters: np.ndarray
    merges: np.ndarray
    vectors: np.ndarray
    class_counts: np.ndarray
    options: TextOptions

    @property
    def n_clusters(self) -> int:
        """Number of clusters, that of ``<unk>`` included."""
        return len(self.merges) + 1

    @cached_property
    def paths(self) -> list[str]:
        """Bit string of each cluster."""
        return bit_strings(self.merges, self.n_clusters)

    @property
    def unknown_cluster(self) -> int:
        """Cluster of words outside the vocabulary; -1 if the training text had no such words."""
        unknown = self.vocabulary.unknown_id
        return -1 if unknown < 0 else int(self.clusters[unknown])

    def predict(self, X: WordLists) -> Iterator[np.ndarray]:
        """Cluster of every word of each sentence, int32; ``unknown_cluster`` outside the vocabulary.

        A file is read in blocks, so one that is larger than memory can be predicted line by line.
        """
        of_token = np.append(self.clusters, np.int32(-1))
        return (of_token[sentence] for block in self._blocks(X, keep_empty=True) for sentence in block)

    def scores(self, X: WordLists) -> dict[str, float]:
        """Mutual information of neighbouring clusters in a text, in nats; the clusters, tokens and unknown words seen.

        Unknown words count as one cluster, that of ``<unk>`` or one more.
        """
        return self.scores_of(*self.class_pairs(X))

    def class_pairs(self, X: WordLists) -> tuple[StreamPairs, np.ndarray]:
        """Pairs of neighbouring clusters in a text, and how often each was seen, (n_clusters + 1,): others are last."""
        m = self.n_clusters
        of_token = np.append(self.clusters, np.int32(m))
        counter = PairCounter(m + 1, 1, self.options.boundaries)
        seen = np.zeros(m + 1, np.int64)
        for block in self._blocks(X):
            classes = of_token[block.tokens]
            counter.add(classes, block.offsets)
            seen += np.bincount(classes, minlength=m + 1)
        return counter.result(), seen

    def scores_of(self, counted: StreamPairs, seen: np.ndarray) -> dict[str, float]:
        """:meth:`scores`, from what :meth:`class_pairs` gives."""
        m, pairs = self.n_clusters, counted.tables[0]
        if not len(pairs.keys):
            raise InputError("the text has no two words in a row", remedy="give text with at least two words")
        table = np.zeros((m + 1) ** 2, np.int64)
        table[pairs.keys] = pairs.counts
        return {
            "mutual_information": mutual_information(table.reshape(m + 1, m + 1)),
            "clusters": int((seen[:m] > 0).sum()),
            "tokens": int(seen.sum()),
            "unknown": int(seen[m] if self.unknown_cluster < 0 else seen[self.unknown_cluster]),
        }

    def _blocks(self, X: WordLists, *, keep_empty: bool = False) -> Iterator[Corpus]:
        """X over this vocabulary, in this model's spelling."""
        if is_path(X):
            spelling = {"lower": self.options.lower, "fold_digits": self.options.fold_digits}
            return encode_blocks(X, self.vocabulary, keep_empty=keep_empty, **spelling)
        return iter([Corpus.from_sequences(self.options.word_lists(X), self.vocabulary)])

    SCHEMA: ClassVar[Schema] = Schema(
        "Word clusters",
        "The cluster of every word, the tree over clusters, vectors.",
        values={"options": TEXT_OPTIONS},
        arrays={
            "clusters": Array("i4", ("n_words",), "the cluster of each word", least=0, below="n_merges + 1"),
            "merges": Array("i8", ("n_merges", 2), "the tree over clusters", rule=("a tree", is_tree)),
            "vectors": Array("f4", ("n_words", "n_dimensions"), "a vector for each word"),
            "class_counts": Array(
                "i8", ("n_merges + 1", "n_merges + 1"), "how often one cluster precedes another", least=0, most=2**53
            ),
        },
        parts={"vocabulary": Part(Vocabulary.SCHEMA, {"n_words": "n_words"})},
        sizes={"n_words": 1},
    )

    def to_state(self) -> State:
        """Plain values, and arrays with the words among them."""
        vocabulary, words = self.vocabulary.to_state()
        arrays = {
            "clusters": self.clusters,
            "merges": self.merges,
            "vectors": self.vectors,
            "class_counts": self.class_counts,
        }
        values = {"vocabulary": vocabulary, "options": dataclasses.asdict(self.options)}
        return values, arrays | prefixed("vocabulary", words)

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; raises ``KeyError`` or ``ValueError`` for what does not fit together."""
        vocabulary = Vocabulary.from_state(values["vocabulary"], without_prefix("vocabulary", arrays))
        clusters, merges, vectors = arrays["clusters"], arrays["merges"], arrays["vectors"]
        m = len(merges) + 1
        if clusters.shape != (len(vocabulary),) or vectors.shape[:1] != clusters.shape or vectors.ndim != 2:
            raise ValueError("words, clusters and vectors do not fit together")
        if not is_tree(merges):
            raise ValueError("the hierarchy is not a tree")
        if clusters.min() < 0 or clusters.max() >= m or arrays["class_counts"].shape != (m, m):
            raise ValueError("the hierarchy lacks some clusters")
        return cls(vocabulary, clusters, merges, vectors, arrays["class_counts"], TextOptions(**values["options"]))
