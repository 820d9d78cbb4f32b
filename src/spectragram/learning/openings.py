"""Which words may stand at a place of a sentence, and how probable they are on the whole.

    p(w)       = C(w) / (N + N_1)              p(unknown) = N_1 / (N + N_1)                              (Good-Turing)

with C(w) of N tokens and N_1 words seen once. At the beginning of a sentence words have other probabilities: with C^
counts there, N^ sentences, T^ different words and N_1^ of them seen once in all,

    p^(w) = (C^(w) + T^ p(w')) / (N^ + T^ + N_1^)      p^(unknown) = (N_1^ + T^ p(unknown)) / (N^ + T^ + N_1^)

where w' is any word that a capital makes w. So "Frogs" is a known word there if "frogs" is one anywhere. Words that are
not known are spelled, see :mod:`spectragram.learning.spelling`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectragram.learning.spelling import Capitalised, Spelling, UnknownWords, capitalise, rare_words
from spectragram.learning.word_cells import count_words
from spectragram.learning.words import RARE

__all__ = ["Openings", "WordChances", "WordRows", "word_chances"]


@dataclass(frozen=True)
class WordRows:
    """Which words were seen with which tags, at the beginning of a sentence or not.

    Attributes
    ----------
    words : list of str, length n
    initial : bool array, shape (n,)
    tags : int array, shape (n,)
    counts : float64 array, shape (n,)
    n_tags : int
    """

    words: list[str]
    initial: np.ndarray
    tags: np.ndarray
    counts: np.ndarray
    n_tags: int


@dataclass(frozen=True)
class Openings:
    """What words may stand at a place, and how probable they are on the whole.

    Attributes
    ----------
    words : list of str
        Known words.
    like : list of str
        For each the known word whose vector it has: itself, or its lower-case form.
    chances : float64 array, shape (n_words + 1,)
        p(w); the last is that of all unknown words.
    unknown : UnknownWords
        How unknown words are spelled, by tag.
    """

    words: list[str]
    like: list[str]
    chances: np.ndarray
    unknown: UnknownWords

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each known word."""
        return {word: i for i, word in enumerate(self.words)}


@dataclass(frozen=True)
class WordChances:
    """Openings inside a sentence and at its beginning; shared by all members of a model."""

    inside: Openings
    initial: Openings

    def at(self, place: int) -> Openings:
        """The openings of the word at a place of a sentence."""
        return self.inside if place else self.initial


def word_chances(rows: WordRows) -> WordChances:
    """Count words for :class:`Openings`, and learn how those that are not known are spelled."""
    seen = count_words(rows.words, rows.counts)
    words, counts = list(seen), np.array(list(seen.values()))
    once = max(float((counts == 1.0).sum()), 1.0)
    chances = np.append(counts, once) / (counts.sum() + once)
    pairs = sorted({(word, int(tag)) for word, tag in zip(rows.words, rows.tags, strict=True)})
    rare = rare_words(pairs, [seen[word] for word, _ in pairs], RARE)
    chosen = [pair for pair, keep in zip(pairs, rare, strict=True) if keep]
    spelling = Spelling.fit([word for word, _ in chosen], [tag for _, tag in chosen], rows.n_tags)
    inside = Openings(words, words, chances, UnknownWords(spelling, words))
    return WordChances(inside, _initial(rows, seen, inside, spelling))


def _initial(rows: WordRows, seen: dict[str, float], inside: Openings, spelling: Spelling) -> Openings:
    """Openings at the beginning of a sentence, see the top of this file."""
    first = dict.fromkeys(inside.words, 0.0)
    cased = capitals = 0.0
    for word, initial, count in zip(rows.words, rows.initial, rows.counts, strict=True):
        if initial:
            first[word] += count
            has_case = word[:1].lower() != word[:1].upper()
            cased += count * has_case
            capitals += count * (has_case and word == capitalise(word))
    share = (capitals + 1.0) / (cased + 2.0)
    backed: dict[str, float] = dict.fromkeys(inside.words, 0.0)
    like = {word: word for word in inside.words}
    for word, chance in zip(inside.words, inside.chances, strict=False):
        upper = capitalise(word)
        like.setdefault(upper, word)
        backed[upper] = backed.get(upper, 0.0) + share * chance
        backed[word] += (1.0 - share) * chance
    kinds = float(sum(count > 0.0 for count in first.values()))
    once = float(sum(count > 0.0 and seen[word] == 1.0 for word, count in first.items()))
    words = list(backed)
    weights = [first.get(word, 0.0) + kinds * backed[word] for word in words]
    chances = np.append(weights, once + kinds * inside.chances[-1])
    unknown = UnknownWords(Capitalised(spelling, share), words)
    return Openings(words, [like[word] for word in words], chances / chances.sum(), unknown)
