"""How well clusters predict their neighbours in any text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from spectragram.clusters.pairs import PairCounter
from spectragram.data.corpus import Corpus
from spectragram.errors import InputError
from spectragram.metrics.clusters import mutual_information

__all__ = ["text_scores"]


def text_scores(blocks: Iterable[Corpus], labels: np.ndarray, n_clusters: int, *, apart: bool) -> dict[str, float]:
    """Mutual information (nats) of neighbouring clusters in a text that comes in blocks of words.

    ``labels`` (n_words,) is the cluster of each word; a token of -1, a word that has none, counts as one more
    cluster. Lines follow one another unless they are ``apart``.
    """
    m = n_clusters
    of_token = np.append(labels, np.int32(m))
    counter = PairCounter(m + 1, 1, apart)
    seen = np.zeros(m + 1, np.int64)
    for block in blocks:
        classes = of_token[block.tokens]
        counter.add(classes, block.offsets)
        seen += np.bincount(classes, minlength=m + 1)
    pairs = counter.result().tables[0]
    if not len(pairs.keys):
        raise InputError("the text has no two words in a row", remedy="give text with at least two words")
    table = np.zeros((m + 1) ** 2, np.int64)
    table[pairs.keys] = pairs.counts
    return {
        "mutual_information": mutual_information(table.reshape(m + 1, m + 1)),
        "clusters": int((seen[:m] > 0).sum()),
        "tokens": int(seen.sum()),
        "unknown": int(seen[m]),
    }
