"""What a model that is a distribution over sentences says about each word: surprisal, its parts, and entropies.

    surprisal(w_i)    = -log2 p(w_i | w_1 .. w_{i-1})
    syntactic part    = -log2 p(w_i has one of its tags | w_1 .. w_{i-1})     without the word (Roark et al. 2009)
    lexical part      = surprisal - syntactic part
    entropy           = of the next word: - sum over w of p(w | w_1 .. w_i) log2 p(w | w_1 .. w_i)
    entropy reduction = max(0, H(derivations | w_1 .. w_{i-1}) - H(derivations | w_1 .. w_i))           (Hale 2006)

All unknown words together are one outcome of an entropy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["LOG_2", "Measures", "entropy_bits"]

LOG_2 = float(np.log(2.0))
"""Nats in a bit."""


@dataclass(frozen=True)
class Measures:
    """What a model says about a sentence of n words.

    Attributes
    ----------
    words : list of str, length n
    known : bool array, shape (n,)
        Whether the model knows the word; otherwise its spelling was scored.
    tags : list of str, length n, or None
        The most probable tag of each word given the words so far, for models that have tags.
    surprisal : float64 array, shape (n + 1,) or (n,)
        Bits of each word and, in models that predict it, of the end of the sentence.
    syntactic : float64 array of the same shape, or None
        The syntactic part, for models that have tags; the end of a sentence has no other part.
    entropy : float64 array, shape (n + 1,)
        Bits of the next word after 0 .. n words. If the end is predicted, it is one of the outcomes.
    derivation_entropy : float64 array, shape (n + 1,), or None
        Bits of the derivations that begin with 0 .. n words, for models that have derivations, if asked for.
    """

    words: list[str]
    known: np.ndarray
    tags: list[str] | None
    surprisal: np.ndarray
    syntactic: np.ndarray | None
    entropy: np.ndarray
    derivation_entropy: np.ndarray | None = None

    @property
    def lexical(self) -> np.ndarray | None:
        """The lexical part, bits, in the shape of ``surprisal``."""
        return None if self.syntactic is None else self.surprisal - self.syntactic

    @property
    def entropy_reduction(self) -> np.ndarray | None:
        """By how many bits each word reduces the entropy of derivations, (n,)."""
        if self.derivation_entropy is None:
            return None
        return np.maximum(-np.diff(self.derivation_entropy), 0.0)


def entropy_bits(distributions: np.ndarray) -> np.ndarray:
    """Entropy in bits of each row of probabilities (..., n)."""
    p = np.asarray(distributions, np.float64)
    return -(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=-1) / LOG_2
