"""The nearest n-gram form of any of the models, as an ARPA file that other toolkits read.

Every n-gram that is listed keeps the model's own probability; everything else goes through a back-off weight

    bow(h) = (1 - sum_listed p(w|h)) / (1 - sum_listed p(w|h'))

so that each context sums to one. For Kneser-Ney this is the model itself; for class models and mixtures it is the
closest that the format can hold.
"""

from __future__ import annotations

from typing import IO

import numpy as np

from spectragram.lm.mixture import CONTEXT
from spectragram.lm.model import Model

__all__ = ["write_arpa"]

NEVER = -99.0
"""The logarithm of zero, as other toolkits write it into ARPA files."""

SUCCESSORS = 10
"""Words listed after each word by a model without n-grams. Chosen by hand, not tuned: ten lines a word."""

SMALLEST, LEAST_REST = 1e-99, 1e-12
"""Guards against the logarithm of zero and division by zero; any tiny values do."""


def write_arpa(model: Model, stream: IO[str]) -> None:
    """Write n-grams of length 1 .. k with their probabilities and back-off weights."""
    vocabulary, n_words = model.vocabulary, len(model.vocabulary)
    orders = _closed(_listed_ngrams(model), n_words)
    probs = {k: model.mixture.prob(_contexts(keys, k, n_words), keys % n_words) for k, keys in orders.items()}
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


def _listed_ngrams(model: Model) -> dict[int, np.ndarray]:
    """Packed n-grams to list, by length above one: those of the Kneser-Ney model.

    A pure class model keeps no n-grams; for every word it lists the most probable successors.
    """
    if model.mixture.ngrams is not None:
        return {level.counts.order: level.counts.keys for level in model.mixture.ngrams.levels[1:]}
    n_words, classes = len(model.vocabulary), model.mixture.classes[0]
    best = [np.sort(np.argsort(-(classes.emissions @ row), kind="stable")[:SUCCESSORS]) for row in classes.histories]
    return {2: np.concatenate([n_words * first + second for first, second in enumerate(best)])}


def _closed(orders: dict[int, np.ndarray], n_words: int) -> dict[int, np.ndarray]:
    """The n-grams with what the format also needs: all words, and the prefix and suffix of every longer n-gram."""
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
    return np.maximum(1.0 - kept, 0.0) / np.maximum(1.0 - covered, LEAST_REST)


def _log10(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, np.log10(np.maximum(values, SMALLEST)), NEVER)
