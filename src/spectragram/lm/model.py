"""A trained language model: its words, its next-word distribution, and whether lines are separate sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.corpus import END, Corpus, Vocabulary
from spectragram.data.inputs import Strings, as_corpus, as_word_lists
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.learning.measures import entropy_bits
from spectragram.learning.spelling import Spelling, UnknownWords, rare_words
from spectragram.learning.words import RARE
from spectragram.lm.mixture import Events, Mixture
from spectragram.schema import Flag, Part, Schema

__all__ = ["Model", "one_stream"]


@dataclass(frozen=True)
class Model:
    """Probabilities of words after the words before them.

    Attributes
    ----------
    vocabulary : Vocabulary
        It has an unknown word and, with ``boundaries``, ``</s>``.
    mixture : Mixture
        The distribution of the next word, over ids.
    boundaries : bool
        Whether ``</s>`` stands between lines and is predicted too. Otherwise the text is one stream.
    """

    vocabulary: Vocabulary
    mixture: Mixture
    boundaries: bool

    @cached_property
    def before(self) -> int:
        """The word before the first one of a text: ``</s>`` with boundaries, otherwise -1 for none."""
        return self.vocabulary.index[END] if self.boundaries else -1

    def encode(self, X: Strings) -> Corpus:
        """Text over this vocabulary; empty sequences stay.

        With boundaries, ``</s>`` as a word of the text is unknown: only ends of sentences are the end.
        """
        corpus = as_corpus(X, self.vocabulary, keep_empty=True)
        if not self.boundaries:
            return corpus
        ids = np.where(corpus.tokens == self.before, self.vocabulary.unknown_id, corpus.tokens)
        return replace(corpus, tokens=ids.astype(corpus.tokens.dtype, copy=False))

    @cached_property
    def known_words(self) -> frozenset[str]:
        """The words that have a probability of their own."""
        return frozenset(self.vocabulary.words) - {self.vocabulary.unknown, END if self.boundaries else None}

    @cached_property
    def unknown_words(self) -> UnknownWords:
        """How words outside the vocabulary are spelled, learned from the rare ones in it."""
        special = {self.vocabulary.unknown, END if self.boundaries else None}
        pairs = zip(self.vocabulary.words, self.vocabulary.counts.tolist(), strict=True)
        words, counts = zip(*((word, count) for word, count in pairs if word not in special), strict=True)
        chosen = [word for word, keep in zip(words, rare_words(words, counts, RARE), strict=True) if keep]
        return UnknownWords(Spelling.fit(chosen), words)

    def log_probs(self, X: Strings) -> list[np.ndarray]:
        """Natural log-probability of every word of each sequence on its own; with boundaries its end comes last.

        A word outside the vocabulary costs the unknown word and its spelling, except for the unknown
        word itself, which stands for all of them.
        """
        lines = as_word_lists(X, keep_empty=True)
        values = self._class_log_probs(lines)
        places = [
            (found, i, word)
            for found, words in zip(values, lines, strict=True)
            for i, word in enumerate(words)
            if word not in self.known_words and word != self.vocabulary.unknown
        ]
        different = list(dict.fromkeys(word for _, _, word in places))
        costs = dict(zip(different, self.unknown_words.log_probs(different)[:, 0], strict=True)) if different else {}
        for found, i, word in places:
            found[i] += costs[word]
        return values

    def _class_log_probs(self, X: Strings) -> list[np.ndarray]:
        """The same without spelling: words outside the vocabulary as the unknown word."""
        corpus = self.encode(X)
        contexts, offsets = self._prefixes(corpus)
        words = np.insert(corpus.tokens, corpus.offsets[1:], self.before)
        last = offsets[1:] - 1
        if not self.boundaries:  # the end is not predicted
            contexts, words = np.delete(contexts, last, axis=0), np.delete(words, last)
            offsets = corpus.offsets
        return np.split(self.log(Events(contexts, words)), offsets[1:-1]) if len(corpus) else []

    def entropies(self, X: Strings) -> list[np.ndarray]:
        """Bits of the next word after every prefix of each sequence, the empty and the whole one included."""
        contexts, offsets = self._prefixes(self.encode(X))
        distinct, place = np.unique(contexts, axis=0, return_inverse=True)
        bits = np.array([float(entropy_bits(self.mixture.next(context))) for context in distinct])
        return np.split(bits[place.ravel()], offsets[1:-1]) if len(offsets) > 1 else []

    def log(self, events: Events) -> np.ndarray:
        """Natural log-probability of each event, shape (n,)."""
        # A pure class model gives words that it never saw probability zero, that is, minus infinity.
        with np.errstate(divide="ignore"):
            return np.log(self.mixture.prob(events.contexts, events.words))

    def events(self, X: Strings, *, ignore_unknown: bool) -> tuple[Events, int, int]:
        """What the model predicts in a text read as in training; the numbers of words and of unknown words in it."""
        corpus = as_corpus(X, self.vocabulary)
        unknown = self.vocabulary.unknown_id
        stream = one_stream(corpus, self.before)
        ignore = unknown if ignore_unknown else None
        events = Events.from_stream(stream, before=self.before, ignore=ignore, width=self.mixture.width)
        return events, corpus.n_tokens, int((corpus.tokens == unknown).sum())

    def next(self, X: Strings) -> np.ndarray:
        """Distribution of the word after each sequence, shape (n_sequences, n_words), in the vocabulary's order."""
        contexts, offsets = self._prefixes(self.encode(X))
        rows = [self.mixture.next(context) for context in contexts[offsets[1:] - 1]]
        return np.array(rows).reshape(-1, len(self.vocabulary))

    def predict(self, X: Strings) -> Iterator[list[str]]:
        """The most probable word after every prefix of each sequence, the empty and the whole one included."""
        contexts, offsets = self._prefixes(self.encode(X))
        # Contexts recur, and a distribution over all words takes time.
        distinct, place = np.unique(contexts, axis=0, return_inverse=True)
        best = [self.vocabulary.words[int(self.mixture.next(context).argmax())] for context in distinct]
        words = [best[i] for i in place.ravel().tolist()]
        return (words[a:b] for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))

    def sample(self, n: int, rng: np.random.Generator, max_length: int) -> list[list[str]]:
        """Draw ``n`` texts word by word: with boundaries until ``</s>`` is drawn, of at most ``max_length`` words."""
        drawn: list[list[int]] = [[] for _ in range(n)]
        contexts = np.full((n, self.mixture.width), -1)
        contexts[:, -1] = self.before
        active = np.arange(n)
        for _ in range(max_length):
            chances = rng.random(len(active))
            distinct, place = np.unique(contexts[active], axis=0, return_inverse=True)
            place = place.ravel()
            words = np.empty(len(active), np.int64)
            for number, context in enumerate(distinct):
                cumulative = self.mixture.next(context).cumsum()
                here = place == number
                # Class tables in single precision do not sum to exactly one.
                words[here] = np.searchsorted(cumulative, chances[here] * cumulative[-1], side="right")
            words = np.minimum(words, len(self.vocabulary) - 1)
            if self.boundaries:
                active, words = active[words != self.before], words[words != self.before]
            for i, word in zip(active.tolist(), words.tolist(), strict=True):
                drawn[i].append(word)
            contexts[active] = np.column_stack([contexts[active, 1:], words])
        unknown = self.vocabulary.unknown_id
        return [
            [self.vocabulary.words[i] if i != unknown else self.unknown_words.sample(0, rng) for i in text]
            for text in drawn
        ]

    def _prefixes(self, corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
        """The words before each place of every sequence and before its end, and where sequences begin and end there.

        Contexts have shape (n_tokens + n_sequences, width), offsets (n_sequences + 1,).
        """
        width = self.mixture.width
        offsets = corpus.offsets + np.arange(len(corpus) + 1)
        ended = np.insert(corpus.tokens, corpus.offsets[1:], self.before).astype(np.int64)
        contexts = np.full((len(ended), width), -1, np.int64)
        place = np.arange(len(ended)) - np.repeat(offsets[:-1], np.diff(offsets))  # words before it in its sequence
        for back in range(1, width + 1):
            contexts[back:, width - back] = ended[: max(len(ended) - back, 0)]
            contexts[place == back - 1, width - back] = self.before
            contexts[place < back - 1, width - back] = -1
        return contexts, offsets

    SCHEMA: ClassVar[Schema] = Schema(
        "Language model",
        "A vocabulary and a mixture of models.",
        values={"boundaries": Flag("whether ends of lines are predicted")},
        parts={
            "vocabulary": Part(Vocabulary.SCHEMA, {"n_words": "n_words"}),
            "mixture": Part(Mixture.SCHEMA, {"n_words": "n_words"}),
        },
        rule=lambda values, arrays, sizes: (
            "the vocabulary lacks the unknown word or the end of a sentence"
            if values["vocabulary"]["unknown"] is None
            or (values["boundaries"] and END not in arrays["vocabulary.words"])
            else None
        ),
    )

    def to_state(self) -> State:
        """Plain values, and arrays with the words among them."""
        vocabulary, words = self.vocabulary.to_state()
        mixture, arrays = self.mixture.to_state()
        values = {"vocabulary": vocabulary, "mixture": mixture, "boundaries": self.boundaries}
        return values, prefixed("vocabulary", words) | prefixed("mixture", arrays)

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; raises ``KeyError`` or ``ValueError`` for what does not fit together."""
        vocabulary = Vocabulary.from_state(values["vocabulary"], without_prefix("vocabulary", arrays))
        if vocabulary.unknown is None or (values["boundaries"] and END not in vocabulary):
            raise ValueError("the vocabulary lacks the unknown word or the end of a sentence")
        mixture = Mixture.from_state(values["mixture"], without_prefix("mixture", arrays), len(vocabulary))
        return cls(vocabulary, mixture, bool(values["boundaries"]))


def one_stream(corpus: Corpus, end: int) -> np.ndarray:
    """All sequences as one stream of ids, int32, with ``end`` after each unless it is -1."""
    if end < 0:
        return np.asarray(corpus.tokens, np.int32)
    return np.insert(corpus.tokens, corpus.offsets[1:], end).astype(np.int32)
