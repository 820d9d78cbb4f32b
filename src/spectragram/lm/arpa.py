"""The nearest n-gram form of any of the models, as an ARPA file that other toolkits read.

Every n-gram seen in training keeps the model's own probability; everything else goes through a back-off weight

    bow(h) = (1 - sum_seen p(w|h)) / (1 - sum_seen p(w|h'))

so that each context sums to one. For Kneser-Ney this is the model itself; for class models and mixtures it is the
closest that the format can hold.
"""

from __future__ import annotations

from typing import IO

import numpy as np

from spectragram.data.vocabulary import Vocabulary
from spectragram.lm.model import CONTEXT, Model
from spectragram.lm.ngrams import NgramCounts

__all__ = ["write_arpa"]

NEVER = -99.0
"""What ARPA files say for the logarithm of zero."""


def write_arpa(model: Model, counts: dict[int, NgramCounts], vocabulary: Vocabulary, stream: IO[str]) -> None:
    """Write orders 1 .. k; ``counts`` says which n-grams to list for each order above one."""
    n_words = len(vocabulary)
    orders = _closed({k: counts[k].keys for k in sorted(counts)}, n_words)
    probs = {k: model.prob(_contexts(keys, k, n_words), keys % n_words) for k, keys in orders.items()}
    stream.write("\\data\\\n" + "".join(f"ngram {k}={len(keys)}\n" for k, keys in orders.items()))
    for k, keys in orders.items():
        stream.write(f"\n\\{k}-grams:\n")
        columns = [keys // n_words ** (k - 1 - i) % n_words for i in range(k)]
        words = [" ".join(vocabulary.words[i] for i in row) for row in zip(*columns, strict=True)]
        logs = _log10(probs[k])
        if k + 1 in orders:
            weights = _log10(_back_off_weights(keys, probs[k], orders[k + 1], probs[k + 1], n_words**k, n_words))
            rows = (f"{p:.6f}\t{w}\t{b:.6f}\n" for p, w, b in zip(logs, words, weights, strict=True))
        else:
            rows = (f"{p:.6f}\t{w}\n" for p, w in zip(logs, words, strict=True))
        stream.writelines(rows)
    stream.write("\n\\end\\\n")


def _closed(orders: dict[int, np.ndarray], n_words: int) -> dict[int, np.ndarray]:
    """Add what the format needs: all words, and both the prefix and the suffix of every longer n-gram."""
    for k in sorted(orders, reverse=True)[:-1]:
        parts = [orders[k - 1], orders[k] // n_words, orders[k] % n_words ** (k - 1)]
        orders[k - 1] = np.unique(np.concatenate(parts))
    return {1: np.arange(n_words, dtype=np.int64), **orders}


def _contexts(keys: np.ndarray, order: int, n_words: int) -> np.ndarray:
    """The context columns of packed n-grams, padded to the left with -1, shape (n, CONTEXT)."""
    contexts = np.full((len(keys), CONTEXT), -1, np.int64)
    for i in range(1, order):
        contexts[:, CONTEXT - i] = keys // n_words**i % n_words
    return contexts


def _back_off_weights(
    keys: np.ndarray, probs: np.ndarray, longer: np.ndarray, longer_probs: np.ndarray, suffix: int, n_words: int
) -> np.ndarray:
    """bow(h) for every listed n-gram h, given the listed n-grams one longer; ``suffix`` cuts off their first word."""
    context = np.searchsorted(keys, longer // n_words)
    shorter = np.searchsorted(keys, longer % suffix)
    kept = np.bincount(context, longer_probs, len(keys))
    covered = np.bincount(context, probs[shorter], len(keys))
    return np.maximum(1.0 - kept, 0.0) / np.maximum(1.0 - covered, 1e-12)


def _log10(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, np.log10(np.maximum(values, 1e-99)), NEVER)
