"""N-gram models that pass mass down from long contexts to short ones: Kneser-Ney, and whatever an ARPA file holds.

    p(w | h) = own(h w) + gamma(h) p(w | h')

h' is h without its first word; own(h w) is 0 for an n-gram that is not listed, and a context that is not listed passes
all its mass down. In an ARPA file a listed n-gram has p itself in place of own, and gamma is called the back-off
weight; own(h w) = p(w | h) - gamma(h) p(w | h') makes both the same.

Words of a text follow one another, and the n-gram that was found for one word is the context of the next. So a batch
of words takes one binary search for each word and length.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numba import njit

from spectragram.learning.ngram_tree import LONGEST, TREE_ARRAYS, NgramTree, find_child, tree_problem
from spectragram.schema import Array, Schema, Whole

__all__ = ["BackOff"]


class BackOff:
    """An n-gram model over word ids 0 .. V-1.

    Attributes
    ----------
    tree : NgramTree
    unigrams : float64 array, shape (n_words,)
        Probabilities of words without a context.
    own : float32 array, shape (n_nodes,)
        What each n-gram adds to the probability of its last word; not used for single words.
    gammas : float32 array, shape (n_contexts,)
        The share of its mass that each context passes down.
    """

    def __init__(self, tree: NgramTree, unigrams: np.ndarray, own: np.ndarray, gammas: np.ndarray) -> None:
        self.tree = tree
        self.unigrams = unigrams
        self.own = own
        self.gammas = gammas

    @property
    def order(self) -> int:
        """Length of the longest n-gram."""
        return self.tree.order

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return self.tree.n_words

    def prob(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """p(word | context), shape (n,).

        ``contexts`` has shape (n, length), the nearest word last; words beyond order - 1 are not looked at. An id of -1
        means that there is no word (the start of a text) and, like any context that was never seen, leaves the decision
        to the orders below.
        """
        contexts = np.ascontiguousarray(contexts[:, max(0, contexts.shape[1] - self.order + 1) :], np.int64)
        words = np.ascontiguousarray(words, np.int64)
        return _prob(contexts, words, self.tree.words, self.tree.starts, self.unigrams, self.own, self.gammas)

    def next(self, context: np.ndarray) -> np.ndarray:
        """p(. | context) of all words after one context (length,), shape (n_words,)."""
        result = self.unigrams.copy()
        for length in range(1, min(self.order - 1, len(context)) + 1):
            node = int(self.tree.find(np.asarray(context)[np.newaxis, len(context) - length :])[0])
            if node < 0:
                break
            result *= self.gammas[node]
            children = slice(self.tree.starts[node], self.tree.starts[node + 1])
            result[self.tree.words[children]] += self.own[children]
        return result

    def listed(self, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """All n-grams of a length: ids (n, length), probabilities, and gammas unless it is the greatest."""
        ngrams = self.tree.level(length)
        first, stop = self.tree.bounds[length - 1], self.tree.bounds[length]
        gammas = self.gammas[first:stop].astype(np.float64) if length < self.order else None
        return ngrams, self.prob(ngrams[:, :-1], ngrams[:, -1]), gammas

    SCHEMA: ClassVar[Schema] = Schema(
        "Back-off model",
        "An n-gram model that came from an ARPA file.",
        values={
            "order": Whole("length of the longest n-grams", least=1, below=LONGEST + 1, size="order"),
            "n_words": Whole("size of the vocabulary", least=1, size="n_words"),
        },
        arrays={
            **TREE_ARRAYS,
            "unigrams": Array("f8", ("n_words",), "probabilities of words", least=0, most=1),
            "own": Array("f4", ("n_nodes",), "what each n-gram adds to what its context passes down"),
            "gammas": Array("f4", ("n_contexts",), "the share that each context passes down", least=0),
        },
        rule=lambda values, arrays, sizes: tree_problem(sizes["n_words"], arrays),
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and arrays for a model file."""
        weights = {"unigrams": self.unigrams, "own": self.own, "gammas": self.gammas}
        return {"order": self.order, "n_words": self.n_words}, self.tree.to_arrays() | weights

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; raises ``ValueError`` for arrays that are not such a model."""
        tree = NgramTree.from_arrays(int(values["n_words"]), arrays)
        return cls(tree, arrays["unigrams"], arrays["own"], arrays["gammas"])


@njit(cache=True, nogil=True)
def _prob(
    contexts: np.ndarray,
    words: np.ndarray,
    tree_words: np.ndarray,
    starts: np.ndarray,
    unigrams: np.ndarray,
    own: np.ndarray,
    gammas: np.ndarray,
) -> np.ndarray:
    """p(word | context) for contexts (n, length) and words (n,)."""
    n, length = contexts.shape
    probs = np.empty(n)
    nodes = np.full(length + 2, -1, np.int64)  # the last j words before this one, if they are listed
    found = np.full(length + 2, -1, np.int64)  # the same with this one
    for i in range(n):
        follows = i > 0 and length > 0 and contexts[i, length - 1] == words[i - 1]
        for j in range(1, length):
            follows = follows and contexts[i, j - 1] == contexts[i - 1, j]
        if follows:
            nodes, found = found, nodes
        else:
            _find_contexts(contexts[i], nodes, tree_words, starts)
        word = words[i]
        p = unigrams[word]
        found[1] = word
        for j in range(1, length + 1):
            context = nodes[j]
            found[j + 1] = -1
            if context >= 0:
                p *= gammas[context]
                child = find_child(tree_words, starts[context], starts[context + 1], word)
                if child >= 0:
                    p += own[child]
                    found[j + 1] = child
        probs[i] = p
    return probs


@njit(cache=True, nogil=True)
def _find_contexts(context: np.ndarray, nodes: np.ndarray, words: np.ndarray, starts: np.ndarray) -> None:
    """Write the nodes of the last 1, 2, ... words of a context to ``nodes[1]``, ``nodes[2]``, ..."""
    length = len(context)
    nodes[:] = -1
    for j in range(1, length + 1):
        node = context[length - j]
        for place in range(length - j + 1, length):
            if node < 0:
                break
            node = find_child(words, starts[node], starts[node + 1], context[place])
        nodes[j] = node
