"""Mixtures of models that read sentences from left to right: what they say about prefixes and next words.

    p(w_1 .. w_i ...) = sum over parts of weight * p(w_1 .. w_i ... | part)

so the weight of a part after some words is its posterior. Parsers and taggers are such mixtures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from scipy.special import logsumexp

from spectragram.engine import map_threads, single_threaded_blas
from spectragram.inference.chart_prefix import Prefixes
from spectragram.learning.emissions import Emissions
from spectragram.learning.measures import LOG_2, Measures, entropy_bits
from spectragram.learning.openings import WordRows

__all__ = ["Asked", "Independent", "Part", "PrefixMixture", "Sequential", "together"]

WORDS_AT_ONCE = 160
"""Words of the sentences that are read together. Chosen by hand: about eight sentences share each pass over the
tensors of a grammar, and a chart of this many words stays small."""

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Asked:
    """What one part of the mixture says about a sentence of n words.

    Attributes
    ----------
    prefixes : Prefixes
    vectors, scales : arrays, shape (n, n_tag_states) and (n,)
        p(w_i | tag, state), up to exp of the scales.
    part : Part
    """

    prefixes: Prefixes
    vectors: np.ndarray
    scales: np.ndarray
    part: Part

    @cached_property
    def log_probs(self) -> np.ndarray:
        """log p(first i words) for i = 0 .. n, then log p(sentence): (n + 2,)."""
        n = len(self.vectors)
        steps = np.einsum("ij,ij->i", self.prefixes.opened[:n], self.vectors)
        with np.errstate(divide="ignore"):
            logs = np.append(np.log(steps) + self.scales, np.log(self.prefixes.ends[n]))
        return np.concatenate([[0.0], np.cumsum(logs)])


class Sequential(Protocol):
    """What predicts the tag and state of the next word."""

    def prefixes(self, sentences: Sequence[np.ndarray], *, entropy: bool = False) -> Sequence[Prefixes]:
        """The prefixes of sentences that are vectors p(word | tag, state) up to factors, (n, n_tag_states) each."""


@dataclass(frozen=True)
class Independent:
    """Tags and states that do not depend on those before; a sentence has at least one word.

    Attributes
    ----------
    opened : array, shape (n_tag_states,)
        p(t, x).
    end : float
        p(end) after each word.
    """

    opened: np.ndarray
    end: float

    def prefixes(self, sentences: Sequence[np.ndarray], *, entropy: bool = False) -> list[Prefixes]:
        """See :class:`Sequential`; there are no derivations, so entropies are zero."""
        found = []
        for vectors in sentences:
            ends = np.full(len(vectors) + 1, self.end)
            ends[0] = 0.0
            opened = (1.0 - ends)[:, None] * self.opened
            found.append(Prefixes(opened, ends, np.zeros(len(ends)) if entropy else None))
        return found


@dataclass(frozen=True)
class Part:
    """One part of a mixture."""

    model: Sequential
    emissions: Emissions
    weight: float

    def ask(self, sentences: Sequence[Sequence[str]], *, entropy: bool) -> list[Asked]:
        """Everything about prefixes of sentences, together."""
        words = [self.emissions.vectors(sentence) for sentence in sentences]
        found = self.model.prefixes([vectors for vectors, _ in words], entropy=entropy)
        return [Asked(prefixes, *pair, self) for prefixes, pair in zip(found, words, strict=True)]


class PrefixMixture:
    """A mixture of models that read a sentence from left to right through tags and hidden states.

    Parameters
    ----------
    parts : sequence of Part
        Their weights sum to one.
    rows : WordRows
        The words of the training data.
    tags : list of str
    """

    def __init__(self, parts: Sequence[Part], rows: WordRows, tags: list[str]) -> None:
        self.parts, self.rows, self.tags = list(parts), rows, tags
        self.chances = parts[0].emissions.chances

    def map(
        self,
        sentences: Sequence[Sequence[str]],
        answer: Callable[[list[str], list[Asked]], Answer],
        *,
        n_jobs: int | None = 1,
        entropy: bool = False,
    ) -> list[Answer]:
        """Answers from the words of each sentence and what the parts say about it; ``entropy`` of derivations, too."""
        batches = together(sentences)

        def solve(batch: list[int]) -> list[Answer]:
            return self.solve([list(sentences[i]) for i in batch], answer, entropy=entropy)

        found: dict[int, Answer] = {}
        for batch, answers in zip(batches, map_threads(solve, batches, n_jobs), strict=True):
            found.update(zip(batch, answers, strict=True))
        return [found[i] for i in range(len(sentences))]

    def solve(
        self,
        sentences: Sequence[list[str]],
        answer: Callable[[list[str], list[Asked]], Answer],
        *,
        entropy: bool = False,
    ) -> list[Answer]:
        """The same for sentences that are read together, see :func:`together`."""
        with single_threaded_blas():
            asked = self.ask(sentences, entropy=entropy)
            return [answer(words, one) for words, one in zip(sentences, asked, strict=True)]

    def ask(self, sentences: Sequence[Sequence[str]], *, entropy: bool = False) -> list[list[Asked]]:
        """What all parts say about each sentence."""
        by_part = [part.ask(sentences, entropy=entropy) for part in self.parts]
        return [list(found) for found in zip(*by_part, strict=True)]

    def log_probs(self, asked: Sequence[Asked]) -> np.ndarray:
        """log p(first i words) for i = 0 .. n, then log p(sentence): (n + 2,)."""
        logs = np.stack([one.log_probs + np.log(one.part.weight) for one in asked])
        found = logsumexp(logs, axis=0)
        found[0] = 0.0
        # Rounding must not make a longer prefix more probable.
        return np.minimum.accumulate(found)

    def posteriors(self, asked: Sequence[Asked]) -> np.ndarray:
        """Weights of the parts after 0 .. n words, (n_parts, n + 1)."""
        logs = np.stack([one.log_probs[:-1] + np.log(one.part.weight) for one in asked])
        return np.exp(logs - logsumexp(logs, axis=0))

    def next_words(self, asked: Sequence[Asked], places: Sequence[int]) -> list[np.ndarray]:
        """Distributions of what follows the first k words: known words of that place, unknown words, the end."""
        weights = self.posteriors(asked)
        found = []
        for k in places:
            words = sum(
                weights[number, k] * (one.part.emissions.at(k) @ one.prefixes.opened[k].astype(np.float32))
                for number, one in enumerate(asked)
            )
            end = sum(weights[number, k] * one.prefixes.ends[k] for number, one in enumerate(asked))
            found.append(np.append(words, end))
        return found

    def fold(self, chances: np.ndarray) -> np.ndarray:
        """The distribution of a next word over known words, unknown ones and the end, whatever its place.

        Words that are known at the beginning of a sentence only count as unknown.
        """
        n_words = len(self.chances.inside.words)  # they come first at every place
        return np.concatenate([chances[:n_words], [chances[n_words:-1].sum(), chances[-1]]])

    def measure(self, words: list[str], asked: Sequence[Asked]) -> Measures:
        """Everything about every word of a sentence."""
        n, weights = len(words), self.posteriors(asked)
        surprisal = -np.diff(self.log_probs(asked)) / LOG_2
        tags = np.zeros((n, len(self.tags)))
        fitting = np.zeros(n)
        for number, one in enumerate(asked):
            starts = np.concatenate([[0], np.cumsum(one.part.emissions.n_states)])[:-1]
            opened = weights[number, :n, None] * one.prefixes.opened[:n]
            scale = np.exp(one.scales - np.max([other.scales for other in asked], axis=0))
            tags += np.add.reduceat(opened * one.vectors, starts, axis=1) * scale[:, None]
            fitting += (np.add.reduceat(opened, starts, axis=1) * self._fitting(words)).sum(axis=1)
        with np.errstate(divide="ignore"):
            # A word that can only have a tag it was never seen with is surprising for its syntax alone.
            syntactic = np.minimum(np.append(np.maximum(-np.log2(fitting), 0.0), surprisal[n]), surprisal)
        following = [float(entropy_bits(found)) for found in self.next_words(asked, range(n + 1))]
        derivations = None
        own = [one.prefixes.entropies for one in asked if one.prefixes.entropies is not None]
        if len(own) == len(asked):
            derivations = (weights * np.stack(own)).sum(axis=0) / LOG_2 + entropy_bits(weights.T)
        known = np.array([word in self.chances.at(i).index for i, word in enumerate(words)], bool)
        best = [self.tags[i] for i in tags.argmax(axis=1)]
        return Measures(words, known, best, surprisal, syntactic, np.array(following), derivations)

    @cached_property
    def _tags_seen(self) -> dict[str | None, np.ndarray]:
        """Tags that each known word was seen with, and under None those that rare words have, bool (n_tags,)."""
        table = self.rows
        seen: dict[str | None, np.ndarray] = {None: np.zeros(len(self.tags), bool)}
        rare = self.chances.inside.unknown.spelling
        seen[None][rare.totals.sum(axis=0) > 0] = True  # type: ignore[union-attr]
        for word, tag in zip(table.words, table.tags, strict=True):
            seen.setdefault(word, np.zeros(len(self.tags), bool))[tag] = True
        return seen

    def _fitting(self, words: Sequence[str]) -> np.ndarray:
        """Which tags each word may have, bool (n, n_tags)."""
        rows = []
        for place, word in enumerate(words):
            openings = self.chances.at(place)
            number = openings.index.get(word)
            rows.append(self._tags_seen[None if number is None else openings.like[number]])
        return np.array(rows).reshape(-1, len(self.tags))


def together(sentences: Sequence[Sequence[str]]) -> list[list[int]]:
    """Numbers of sentences that are read together: of similar length, up to ``WORDS_AT_ONCE`` words."""
    batches: list[list[int]] = []
    room = 0
    for number in sorted(range(len(sentences)), key=lambda i: len(sentences[i])):
        if not batches or len(sentences[number]) > room:
            batches.append([])
            room = WORDS_AT_ONCE
        batches[-1].append(number)
        room -= max(len(sentences[number]), 1)
    return batches
