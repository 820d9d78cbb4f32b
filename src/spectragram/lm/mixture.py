"""Several models, one distribution: linear weights that depend on how well the context is known.

    p(w | context) = sum_k lambda_k(bucket(context)) p_k(w | context)

The bucket counts, in powers of two, how often the last word and the last two words were seen as contexts in
training. Weights are fitted on held-out text by EM (concave: one optimum), each bucket drawn towards the overall
weights by a few pseudo-counts, so that a bucket seldom met is not trusted beyond its evidence.
"""

from __future__ import annotations

import numpy as np

from spectragram.lm.kneser_ney import KneserNey, Level
from spectragram.lm.ngrams import pack

__all__ = ["N_BUCKETS", "PSEUDO_COUNTS", "context_buckets"]

_PAIR_BUCKETS = 7
_WORD_BUCKETS = 6
N_BUCKETS = _PAIR_BUCKETS * _WORD_BUCKETS
PSEUDO_COUNTS = 20.0


def context_buckets(model: KneserNey, contexts: np.ndarray) -> np.ndarray:
    """Bucket of every context, (n, order - 1) word ids -> (n,) in 0 .. N_BUCKETS - 1."""
    if contexts.shape[1] == 0:
        return np.zeros(len(contexts), np.int64)
    word = np.log2(1 + _seen(model.levels[1], contexts[:, -1].astype(np.int64))).astype(np.int64) // 2
    pair = np.zeros(len(contexts), np.int64)
    if contexts.shape[1] > 1:
        known = (contexts[:, -2:] >= 0).all(axis=1)
        packed = np.where(known, pack([contexts[:, -2], contexts[:, -1]], model.n_words), -1)
        pair = np.log2(1 + _seen(model.levels[2], packed)).astype(np.int64)
    return np.minimum(pair, _PAIR_BUCKETS - 1) + _PAIR_BUCKETS * np.minimum(word, _WORD_BUCKETS - 1)


def _seen(level: Level, context: np.ndarray) -> np.ndarray:
    if len(level.contexts) == 0:
        return np.zeros(len(context), np.int64)
    place = np.minimum(np.searchsorted(level.contexts, context), len(level.contexts) - 1)
    return np.where(level.contexts[place] == context, level.totals[place], 0)
