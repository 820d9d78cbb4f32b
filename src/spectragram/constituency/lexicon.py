"""The vectors of words: what each tag's hidden states say about a word, known or not.

    c^inf_{t -> w}  proportional to  P(t, x | w) / P(t, x)                       (Bayes; p(w) is the same for all tags)
    P(t, x | w) = (C(w, t, x) + kappa P(t, x | class of w)) / (C(w) + kappa)     and so on for ever coarser classes

The classes of a word are those of :mod:`spectragram.data.signatures`; the coarsest but one is any rare word, the
coarsest any word. They are counted on rare words only, which are the ones that resemble unknown words. Where there are
paths of word clusters, a word with a path has other fine classes (:func:`_cluster_keys`). C may hold
counts of states (EM, pivot, clusters) or sums of projected outside vectors (spectral): the formula is linear in it. The
back-off itself is in :mod:`spectragram.learning.words`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.signatures import signatures
from spectragram.data.treebank import Treebank
from spectragram.data.word_paths import WordPaths
from spectragram.estimator import prefixed, without_prefix
from spectragram.learning.word_cells import Cells, count_words, grow
from spectragram.learning.words import RARE, SEPARATOR, class_key
from spectragram.schema import Array, ListOf, Number, Part, Schema, Strings

__all__ = ["Lexicon", "WordTable", "word_types"]

TRUST_WORD, TRUST_CLASS = 1.0, 5.0
"""kappa: how many observations the next coarser class is worth, to a word and to a class. Chosen by hand, not
tuned; a word seen once counts as much as its class."""
NOTHING = 1e-12
"""Stands for a kappa of 0: a class without observations of its own must take the estimate of its parent."""
CERTAIN = 100
"""A word seen this often has no other tags than those seen. Chosen by hand, not tuned: it saves time, as tags that a
word never had in a hundred occurrences hardly win."""
SMOOTH_STATES = 0.1
"""Share of a word's vector that does not depend on the hidden state. Other values change F1 on wsj-sample dev by less
than seeds do."""
CACHED_WORDS = 100_000
"""Words whose vectors are kept. A bound on memory for endless input; most texts have fewer different words."""
PREFIXES = (20, 10, 6)
"""Lengths of the prefixes of paths, finest first: those of the tagger's factors, without the coarsest."""
CLUSTER_LOOKS = (1, 2, 2)
"""Which of the looks of a word stand beside each of them: the shape with two letters, and with one. Of nine ways to put
prefixes and looks into one line of classes this gives most unknown words of wsj-sample dev their right tag: 82.4 %,
without clusters 77.0 %."""
NO_CLASS = SEPARATOR
"""Stands for a class that a word does not have; no class is called so."""
WORD, INITIAL_WORD = "0", "0^"
"""First part of the key of a word, and of one whose capital may come from beginning a sentence."""


def word_types(treebank: Treebank) -> tuple[np.ndarray, list[tuple[int, bool]]]:
    """A word with whether it begins its sentence is a type: the type of each token, and the types."""
    tokens = treebank.sentences.tokens
    initial = np.zeros(len(tokens), np.int64)
    initial[treebank.sentences.offsets[:-1]] = 1
    distinct, type_of = np.unique(tokens.astype(np.int64) * 2 + initial, return_inverse=True)
    return type_of, [(int(key) // 2, bool(key % 2)) for key in distinct]


def _keys(word: str, classes: Sequence[str], path: str | None = None) -> list[str]:
    """Names of the word and of its classes, finest first; ``NO_CLASS`` where it has none of that level.

    A capital at the beginning of a sentence, which the shape marks by ``^``, leads to other classes than elsewhere, so
    the same word then has another node. ``path`` is that of the word's cluster, empty for words without one; None if
    there are no clusters at all.
    """
    word_level = INITIAL_WORD if classes[0].startswith("^") else WORD
    looks = [class_key(level, name) for level, name in enumerate(classes, start=1)]
    if path is not None:
        looks = _cluster_keys(path, classes, looks)
    return [class_key(word_level, word), *looks]


def _cluster_keys(path: str, classes: Sequence[str], looks: list[str]) -> list[str]:
    """The names of classes with those by clusters before them.

    A word with a path backs off to ever shorter prefixes of it, each with the looks that ``CLUSTER_LOOKS`` says, and
    then to the last of those looks alone; one without a path backs off by its looks as usual.
    """
    if not path:
        return [NO_CLASS] * len(PREFIXES) + looks
    pairs = zip(PREFIXES, CLUSTER_LOOKS, strict=True)
    by_cluster = [class_key(f"path{n}", path[:n], classes[beside]) for n, beside in pairs]
    return [*by_cluster, *[NO_CLASS] * CLUSTER_LOOKS[-1], *looks[CLUSTER_LOOKS[-1] :]]


class WordTable:
    """Which words, at the beginning of a sentence or not, occur with which tags; and the classes of the words.

    Rows are the distinct triples (word, whether it begins a sentence, tag): the lexical rules of the grammar.

    Attributes
    ----------
    words : list of str
    initial : bool array, shape (n_rows,)
    tags : int32 array, shape (n_rows,)
    counts : float64 array, shape (n_rows,)
    possible_tags : int32 array
        Tags that occur, ascending.
    word_counts : dict
        How often each word was seen, whatever its tag and place.
    n_tokens : float
    trust : pair of float
        How many observations the next coarser class is worth, to a word and to a class; zeros in the papers.
    paths : WordPaths or None
        Of word clusters, which give words finer classes than their looks do.
    """

    def __init__(
        self,
        words: Sequence[str],
        initial: np.ndarray,
        tags: np.ndarray,
        counts: np.ndarray,
        trust: tuple[float, float] = (TRUST_WORD, TRUST_CLASS),
        paths: WordPaths | None = None,
    ) -> None:
        self.words, self.initial, self.tags, self.counts = list(words), initial, tags, counts
        self.trust, self.paths = trust, paths
        self.possible_tags = np.unique(tags).astype(np.int32)
        self.word_counts = count_words(self.words, counts)
        self.n_tokens = float(counts.sum())

    @classmethod
    def of_treebank(
        cls,
        treebank: Treebank,
        trust: tuple[float, float] = (TRUST_WORD, TRUST_CLASS),
        paths: WordPaths | None = None,
        weights: np.ndarray | None = None,
    ) -> tuple[Self, np.ndarray]:
        """The table, and the row of every token; ``weights`` (n_trees,) say how often each tree counts."""
        type_of, types = word_types(treebank)
        n_tags = treebank.productions.n_tags
        key = type_of.astype(np.int64) * n_tags + treebank.symbol[treebank.leaves]
        pairs, row_of = np.unique(key, return_inverse=True)
        lengths = np.diff(treebank.sentences.offsets)
        counts = np.bincount(row_of, None if weights is None else np.repeat(weights, lengths)).astype(float)
        names = treebank.productions.words.words
        words = [names[types[t][0]] for t in pairs // n_tags]
        initial = np.array([types[t][1] for t in pairs // n_tags], bool)
        table = cls(words, initial, (pairs % n_tags).astype(np.int32), counts, trust, paths)
        return table, row_of.astype(np.int32)

    def keys(self, word: str, initial: bool) -> list[str]:
        """Names of the word and of its classes, from fine to coarse."""
        return self._keys_of([word], initial)[0]

    def _keys_of(self, words: Sequence[str], initial: bool) -> list[list[str]]:
        """Those of many words, all of which begin a sentence or none of which does."""
        looks = signatures(words, initial=[initial] * len(words), known=self.word_counts)
        found = [None] * len(words) if self.paths is None else [self.paths.find(word) for word in words]
        return [_keys(word, classes, path) for word, classes, path in zip(words, looks, found, strict=True)]

    @cached_property
    def cells(self) -> Cells:
        """The classes of all words, with the tags counted there; rows are the observations."""
        vocabulary = list(self.word_counts)
        number = {word: i for i, word in enumerate(vocabulary)}
        n_words = len(vocabulary)
        # Type w is word w inside a sentence, type n_words + w the same word at its beginning, seen there or not.
        keys = [own for initial in (False, True) for own in self._keys_of(vocabulary, initial)]
        types = np.array([number[word] for word in self.words], np.int64) + n_words * self.initial
        rare = np.array([count <= RARE for count in self.word_counts.values()], bool)
        seen = np.bincount(types, minlength=2 * n_words) > 0
        counted = np.repeat((np.tile(rare, 2) & seen)[:, None], len(keys[0]), axis=1)
        counted &= np.array([[name != NO_CLASS for name in own] for own in keys])
        counted[:, 0] = True
        word, coarser = (max(kappa, NOTHING) for kappa in self.trust)
        kappa = [word] + [coarser] * (len(keys[0]) - 1)
        pooled = np.tile(np.arange(n_words), 2)
        return grow(keys, counted, types, self.tags, self.counts, kappa=kappa, pooled=pooled)

    def nodes(self, words: Sequence[str], initial: bool) -> np.ndarray:
        """The finest known class of each word, int64 (n,)."""
        tree = self.cells.tree
        return np.array([tree.find(own) for own in self._keys_of(words, initial)], np.int64)

    def rare_node(self) -> int:
        """The class of all rare words."""
        tree = self.cells.tree
        # The coarsest class of any word; the root if no word is rare.
        return tree.find(self.keys("?", initial=False)[-1:])

    def certain_tags(self, word: str) -> np.ndarray:
        """Tags that the word may have, int32, ascending: those seen if it is frequent, otherwise all."""
        if self.word_counts.get(word, 0.0) < CERTAIN:
            return self.possible_tags
        tree = self.cells.tree
        return tree.labels_at(tree.find([class_key(WORD, word)])).astype(np.int32)

    SCHEMA: ClassVar[Schema] = Schema(
        "Words of a treebank",
        "Which words, at the beginning of a sentence or not, occur with which tags.",
        values={
            "trust": ListOf(
                Number(), "observations that the next class is worth, to a word and to a class; 1, 5 if missing", size=2
            )
        },
        optional=("trust",),
        arrays={
            "words": Strings("n_rows", "the word of each row"),
            "initial": Array("?", ("n_rows",), "whether it begins a sentence"),
            "tags": Array("i4", ("n_rows",), "its tag", least=0, below="n_tags"),
            "counts": Array("f8", ("n_rows",), "how often that was seen", least=1e-9),
        },
        parts={"paths": Part(WordPaths.SCHEMA, values=None, optional=True)},
        sizes={"n_rows": 1},
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and arrays for a model file."""
        values = {} if self.trust == (TRUST_WORD, TRUST_CLASS) else {"trust": list(self.trust)}
        arrays = {"words": self.words, "initial": self.initial, "tags": self.tags, "counts": self.counts}
        return values, arrays | ({} if self.paths is None else prefixed("paths", self.paths.to_state()[1]))

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        trust = tuple(float(kappa) for kappa in values.get("trust", (TRUST_WORD, TRUST_CLASS)))
        if len(trust) != 2 or min(trust) < 0:
            raise ValueError(f"trust in classes of {trust}")
        paths = without_prefix("paths", arrays)
        clusters = WordPaths.from_state({}, paths) if paths else None
        return cls(arrays["words"], arrays["initial"], arrays["tags"], arrays["counts"], trust, clusters)


class Lexicon:
    """Vectors for words, from what was counted on the rows of a :class:`WordTable`.

    Parameters
    ----------
    table : WordTable
    values : array, shape (n_rows, m)
        For each row the sum over its tokens of state probabilities, or of projected outside vectors.
    divisor : array, shape (n_tags, m)
        P(t, x) for state probabilities, P(t) for projected vectors; infinite where a tag has fewer states.
    mean : array, shape (n_tags, m)
        The vector of a token of tag t about which nothing is known: ones for state probabilities.
    smooth : float
        Share of a vector that does not depend on the word's own states.
    """

    def __init__(
        self,
        table: WordTable,
        values: np.ndarray,
        divisor: np.ndarray,
        mean: np.ndarray,
        smooth: float = SMOOTH_STATES,
    ) -> None:
        self.table, self.values, self.divisor, self.mean, self.smooth = table, values, divisor, mean, smooth
        # An extra column holds plain counts: the part of a vector that does not depend on the state.
        extended = np.column_stack([values, table.counts])
        self._sums = table.cells.add_up(extended)
        any_word = np.zeros((len(divisor), values.shape[1] + 1))
        np.add.at(any_word, table.tags, extended)
        self._any_word = any_word / table.n_tokens
        self._cache: dict[tuple[str, bool], tuple[np.ndarray, np.ndarray]] = {}

    def row_vectors(self) -> np.ndarray:
        """The vectors of all rows, (n_rows, m): what the trees of the treebank are scored with."""
        cells = self.table.cells
        joint = cells.back_off(self._sums, self._any_word, per="node")[cells.finest]
        return self._finish(joint, self.table.tags)

    def vectors(self, word: str, initial: bool) -> tuple[np.ndarray, np.ndarray]:
        """Possible tags of a word, int32 (k,), ascending, and their vectors, (k, m)."""
        found = self._cache.get((word, initial))
        if found is None:
            if len(self._cache) > CACHED_WORDS:
                self._cache.clear()
            found = self._cache[word, initial] = self._compute(word, initial)
        return found

    def prepare(self, words: Sequence[str], initial: bool, nodes: np.ndarray, tags: Sequence[np.ndarray]) -> None:
        """Keep the vectors of words with these classes (n,) and possible tags: together they cost less than alone."""
        if len(self._cache) + len(words) > CACHED_WORDS:
            self._cache.clear()
        for word, own, vectors in zip(words, tags, self.of_nodes(nodes), strict=True):
            self._cache[word, initial] = own, vectors[own]

    def knows(self, word: str, initial: bool) -> bool:
        """Whether the vectors of a word need not be computed."""
        return (word, initial) in self._cache

    def _compute(self, word: str, initial: bool) -> tuple[np.ndarray, np.ndarray]:
        tree = self.table.cells.tree
        node = tree.find(self.table.keys(word, initial))
        tags = self.table.certain_tags(word)
        joint = tree.interpolate(np.array([node]), self._sums, self._any_word)[0]
        return tags, self._finish(joint[tags], tags)

    def of_nodes(self, nodes: np.ndarray) -> np.ndarray:
        """The vectors of classes of words with all tags: int (n,) -> (n, n_tags, m)."""
        joint = self.table.cells.tree.interpolate(nodes, self._sums, self._any_word)
        tags = self.table.possible_tags
        vectors = np.zeros((len(nodes), len(self.divisor), self.divisor.shape[1]))
        vectors[:, tags] = self._finish(joint[:, tags], tags)
        return vectors

    def _finish(self, joint: np.ndarray, tags: np.ndarray) -> np.ndarray:
        """Vectors from estimates of P(t, x | w), (..., k, m + 1), whose last column is P(t | w)."""
        own = joint[..., :-1] / self.divisor[tags]
        plain = (joint[..., -1] / self._any_word[tags, -1])[..., None] * self.mean[tags]
        return (1.0 - self.smooth) * own + self.smooth * plain
