"""How words outside a vocabulary are spelled: a distribution over all strings of characters.

    p(c | h)      = interpolated modified Kneser-Ney, h the characters before c in the word
    p(c | h, g)   = (C_g(h', c) + kappa p(c | h)) / (C_g(h') + kappa)          g a group of words, e.g. a tag
    p(word | g)   = product over its characters and its end
    p(word | g, unknown) = p(word | g) / (1 - sum over known v of p(v | g))     if the word is not known, otherwise 0

h' is the last three characters. A character that no training word has shares, with all other code points, the
probability of one character more. So every string has a probability, and all of them add up to one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectragram.learning.counts import pack
from spectragram.learning.kneser_ney import KneserNey

__all__ = ["Capitalised", "Spelling", "UnknownWords", "capitalise", "rare_words"]

ORDER = 5
"""Characters of the longest n-gram. On the unknown words of wsj-sample dev 5 is better than 4, and 6 hardly better."""
GROUP_CONTEXT = 3
"""Characters that a group of words looks back: the best of 1 to 3 on the unknown words of wsj-sample dev."""
TRUST_ALL = 20.0
"""kappa: how many characters the estimate from all words is worth to that of a group. The best of 10, 20, 40 and 80 on
the unknown words of wsj-sample dev."""
STOP, OTHER = 0, 1
"""The end of a word, and any character that no training word has."""
N_CODE_POINTS = 0x110000 - 0x800
"""Characters of Unicode: all code points but the surrogates."""
MAX_LETTERS = 50
"""A drawn word that is longer is drawn again. Chosen by hand: longer than nearly all words."""


def rare_words(words: Sequence[object], counts: Sequence[float], most: float) -> np.ndarray:
    """Which words were seen at most so often, bool (n,); all of them if none is that rare.

    Unknown words resemble rare ones, not frequent ones.
    """
    rare = np.asarray(counts, np.float64) <= most
    return rare if rare.any() else np.ones(len(words), bool)


@dataclass(frozen=True)
class Spelling:
    """p(word | group) for every string but the empty one.

    Attributes
    ----------
    alphabet : tuple of str
        The characters of the training words; character i has id i + 2.
    model : KneserNey
        Over ids of characters, words one after the other with ``STOP`` between them.
    contexts : int64 array, shape (n_contexts,)
        Packed histories h', ascending.
    totals : float64 array, shape (n_contexts, n_groups)
        C_g(h').
    events : int64 array, shape (n_events,)
        Packed h' with the next character c, ascending.
    counts : float64 array, shape (n_events, n_groups)
        C_g(h', c).
    """

    alphabet: tuple[str, ...]
    model: KneserNey
    contexts: np.ndarray
    totals: np.ndarray
    events: np.ndarray
    counts: np.ndarray

    @classmethod
    def fit(cls, words: Sequence[str], groups: Sequence[int] | np.ndarray | None = None, n_groups: int = 1) -> Spelling:
        """Learn from different words, each counted once, and the group that each belongs to."""
        words = [word or " " for word in words] or ["a"]
        which = np.zeros(len(words), np.int64) if groups is None else np.asarray(groups, np.int64)
        alphabet = tuple(sorted(set().union(*words)))
        codes = {character: i + 2 for i, character in enumerate(alphabet)}
        # The same word in several groups is one word to the model of all words.
        stream = [STOP] + [code for word in dict.fromkeys(words) for code in (*map(codes.__getitem__, word), STOP)]
        model = KneserNey.fit(np.array(stream, np.int64), len(alphabet) + 2, ORDER)
        history, target, starts = _events([[codes[c] for c in word] for word in words])
        near = pack(list(history[:, -GROUP_CONTEXT:].clip(0).T), len(alphabet) + 2)
        group = np.repeat(which, np.diff(starts))
        contexts, at = np.unique(near, return_inverse=True)
        totals = np.zeros((len(contexts), n_groups))
        np.add.at(totals, (at, group), 1.0)
        events, at = np.unique(near * (len(alphabet) + 2) + target, return_inverse=True)
        counts = np.zeros((len(events), n_groups))
        np.add.at(counts, (at, group), 1.0)
        return cls(alphabet, model, contexts, totals, events, counts)

    @property
    def n_groups(self) -> int:
        """Number of groups of words."""
        return self.totals.shape[1]

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {character: i + 2 for i, character in enumerate(self.alphabet)}

    @cached_property
    def _log_other(self) -> float:
        """log p(character | it is none of the alphabet)."""
        return -float(np.log(max(N_CODE_POINTS - len(self.alphabet), 1)))

    @cached_property
    def _log_not_empty(self) -> float:
        """log p(a word does not stop before its first character), by which that character is divided."""
        history, _, _ = _events([[]])
        return float(np.log1p(-self.model.prob(history, np.array([STOP]))[0]))

    def log_probs(self, words: Sequence[str]) -> np.ndarray:
        """log p(word | group) of words, (n, n_groups); minus infinity for the empty word."""
        if not len(words):
            return np.zeros((0, self.n_groups))
        codes = [[self._codes.get(character, OTHER) for character in word] for word in words]
        history, target, starts = _events(codes)
        plain = np.log(self.model.prob(history, target))
        plain[starts[:-1]] -= self._log_not_empty
        logs = self._by_group(history, target, plain) + np.where(target == OTHER, self._log_other, 0.0)[:, None]
        found = np.add.reduceat(logs, starts[:-1], axis=0)
        found[[not word for word in words]] = -np.inf
        return found

    def _by_group(self, history: np.ndarray, target: np.ndarray, plain: np.ndarray) -> np.ndarray:
        """log p(c | h, g) of characters, (n, n_groups), from log p(c | h), (n,)."""
        n_ids = len(self.alphabet) + 2
        near = pack(list(history[:, -GROUP_CONTEXT:].clip(0).T), n_ids)
        totals = _looked_up(self.contexts, self.totals, near)
        counts = _looked_up(self.events, self.counts, near * n_ids + target)
        with np.errstate(divide="ignore"):  # the empty word is impossible
            return np.log((counts + TRUST_ALL * np.exp(plain)[:, None]) / (totals + TRUST_ALL))

    def sample(self, group: int, rng: np.random.Generator) -> str:
        """Draw a word of a group."""
        while True:
            codes: list[int] = []
            while len(codes) <= MAX_LETTERS:
                history = _events([codes])[0][-1:]
                plain = np.log(self.model.next(history[0]))
                if not codes:
                    plain[STOP] = -np.inf
                    plain -= self._log_not_empty
                chances = np.exp(self._by_group(np.repeat(history, len(plain), axis=0), np.arange(len(plain)), plain))
                code = int(rng.choice(len(plain), p=chances[:, group] / chances[:, group].sum()))
                if code == STOP:
                    return "".join(self._character(code, rng) for code in codes)
                codes.append(code)

    def _character(self, code: int, rng: np.random.Generator) -> str:
        while code == OTHER:
            drawn = int(rng.integers(0x110000))
            if not 0xD800 <= drawn < 0xE000 and chr(drawn) not in self._codes:
                return chr(drawn)
        return self.alphabet[code - 2]


@dataclass(frozen=True)
class Capitalised:
    """Words at the beginning of a sentence: spelled as elsewhere, then given a capital with some probability.

    Attributes
    ----------
    spelling : Spelling
    share : float
        Probability of a capital, less than one.
    """

    spelling: Spelling
    share: float

    @property
    def n_groups(self) -> int:
        """Number of groups of words."""
        return self.spelling.n_groups

    def log_probs(self, words: Sequence[str]) -> np.ndarray:
        """log p(word | group) of words, (n, n_groups)."""
        plain = self.spelling.log_probs(words)
        lowered = [word[:1].lower() + word[1:] for word in words]
        changed = np.array([low != word and capitalise(low) == word for low, word in zip(lowered, words, strict=True)])
        stays = np.array([capitalise(word) == word for word in words])
        keeps = np.where(stays, 0.0, np.log1p(-self.share))[:, None] + plain
        gained = np.full_like(plain, -np.inf)
        if changed.any():
            at = np.flatnonzero(changed)
            gained[at] = np.log(self.share) + self.spelling.log_probs([lowered[i] for i in at])
        return np.logaddexp(keeps, gained)

    def sample(self, group: int, rng: np.random.Generator) -> str:
        """Draw a word of a group."""
        word = self.spelling.sample(group, rng)
        return capitalise(word) if rng.random() < self.share else word


def capitalise(word: str) -> str:
    """The word with its first letter as a capital.

    >>> capitalise("dog"), capitalise("iPod")
    ('Dog', 'IPod')
    """
    return word[:1].upper() + word[1:]


class UnknownWords:
    """p(word | group, it is not among the known ones).

    Parameters
    ----------
    spelling : Spelling or Capitalised
    known : iterable of str
    """

    def __init__(self, spelling: Spelling | Capitalised, known: Iterable[str]) -> None:
        self.spelling, self.known = spelling, frozenset(known)
        listed = sorted(word for word in self.known if word)
        mass = np.exp(spelling.log_probs(listed)).sum(axis=0) if listed else np.zeros(spelling.n_groups)
        # Known words are never all there is: some mass goes to characters that none of them has.
        self.log_left = np.log1p(-np.minimum(mass, 1.0 - np.finfo(np.float64).eps))

    def log_probs(self, words: Sequence[str]) -> np.ndarray:
        """log p(word | group, unknown) of unknown words, (n, n_groups)."""
        return self.spelling.log_probs(words) - self.log_left

    def sample(self, group: int, rng: np.random.Generator) -> str:
        """Draw an unknown word of a group."""
        while True:
            word = self.spelling.sample(group, rng)
            if word not in self.known:
                return word


def _events(words: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What precedes every character and end, (n, ORDER - 1), -1 for nothing; the characters, (n,); starts of words."""
    padded = [[-1] * (ORDER - 2) + [STOP, *word, STOP] for word in words]
    history = [line[i : i + ORDER - 1] for line in padded for i in range(len(line) - ORDER + 1)]
    target = [code for line in padded for code in line[ORDER - 1 :]]
    starts = np.concatenate([[0], np.cumsum([len(word) + 1 for word in words])]).astype(np.int64)
    return np.array(history, np.int64).reshape(-1, ORDER - 1), np.array(target, np.int64), starts


def _looked_up(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Rows of ``values`` (n_keys, width) for wanted keys, zeros where there is none."""
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((keys[place] == wanted)[:, None], values[place], 0.0)
