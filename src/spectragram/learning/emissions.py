"""p(word | tag, state) as a distribution over all strings: known words, and others by their spelling.

p(w | t, x) = p(unknown | t, x) p(spelling of w | t, it is unknown)                         if w is not known
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.learning.openings import WordChances

__all__ = ["Emissions"]


class Emissions:
    """p(word | tag, state) of one part of a mixture.

    Parameters
    ----------
    inside, initial : arrays, shape (n_words + 1, n_tag_states)
        For the openings inside a sentence and at its beginning, words by rows: how probable each is beside the others
        given a tag and a state; the last row is that of all unknown words. Columns are normalised here.
    n_states : int array, shape (n_tags,)
        Hidden states of the tags.
    chances : WordChances
    """

    def __init__(self, inside: np.ndarray, initial: np.ndarray, n_states: np.ndarray, chances: WordChances) -> None:
        self.chances, self.n_states = chances, np.asarray(n_states, np.int64)
        self.inside, self.initial = _normalised(inside), _normalised(initial)

    def at(self, place: int) -> np.ndarray:
        """The table of the word at a place of a sentence."""
        return self.inside if place else self.initial

    def vectors(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """p(w | t, x) of the words of a sentence, float64 (n, n_tag_states), divided by exp of scales, (n,)."""
        vectors = np.zeros((len(words), int(self.n_states.sum())))
        scales = np.zeros(len(words))
        for place, word in enumerate(words):
            openings, table = self.chances.at(place), self.at(place)
            number = openings.index.get(word)
            if number is not None:
                vectors[place] = table[number]
                continue
            logs = openings.unknown.log_probs([word])[0]
            scales[place] = logs.max()
            vectors[place] = table[-1] * np.repeat(np.exp(logs - scales[place]), self.n_states)
        return vectors, scales

    def draw(self, tag: int, state: int, initial: bool, rng: np.random.Generator) -> str:
        """Draw a word of a tag in a state."""
        place = 0 if initial else 1
        openings = self.chances.at(place)
        column = self.at(place)[:, int(self.n_states[:tag].sum()) + state].astype(np.float64).cumsum()
        number = min(int(np.searchsorted(column, rng.random() * column[-1], side="right")), len(openings.words))
        return openings.words[number] if number < len(openings.words) else openings.unknown.sample(tag, rng)


def _normalised(weights: np.ndarray) -> np.ndarray:
    """Columns that sum to one, float32; where nothing has a weight, an unknown word is certain."""
    totals = weights.sum(axis=0)
    filled = weights / np.where(totals > 0.0, totals, 1.0)
    filled[-1, totals <= 0.0] = 1.0
    return filled.astype(np.float32)
