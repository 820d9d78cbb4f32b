"""Seconds to learn language models on the Brown split: one EM iteration, pivot, Kneser-Ney."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.measure import Row, data_folder, row, take_turns
from spectragram.data.text import read_text
from spectragram.learning.counts import count_ngrams
from spectragram.learning.kneser_ney import KneserNey
from spectragram.lm import LanguageModel
from spectragram.lm.em import Expectation, bigram_matrix, em_step, random_start
from spectragram.lm.pivot import pivot


def run(quick: bool) -> list[Row]:
    folder = data_folder()
    if folder is None:
        return []
    train = read_text(folder / "brown-text" / "lm" / "train.txt.gz", min_count=2)
    n_words, m = len(train.vocabulary), 128
    counts = count_ngrams(train.tokens, 2, n_words)
    matrix = bigram_matrix(counts)
    pairs = Expectation(matrix, n_jobs=-1), Expectation(matrix.T.tocsr(), n_jobs=-1)
    start = random_start(n_words, m, np.random.default_rng(0))
    em_step(*pairs, start)  # compiles
    rows = []

    def timed(name: str, work: Callable[[], object], anchor: float | None = None, source: str | None = None) -> float:
        seconds = min(take_turns({name: work}, 1 if quick else 3, time.perf_counter)[name])
        rows.append(row(name, "seconds, Brown 800k tokens", round(seconds, 3), anchor, source))
        return seconds

    step = timed(f"one EM iteration, m={m}", lambda: em_step(*pairs, start))
    # EM without a prior reaches its best held-out perplexity at iteration 11 here (9 in the paper).
    timed(
        f"pivot, m={m}",
        lambda: pivot(counts, m, rng=np.random.default_rng(0), n_jobs=-1),
        2 * 11 * step,
        "2x EM to its best",
    )
    timed("Kneser-Ney trigram, counting included", lambda: KneserNey.fit(train.tokens, n_words, 3))
    timed("mixed, everything", lambda: LanguageModel(m, n_jobs=-1).fit(train))
    return rows
