"""How fast automata are learned: 800 000 symbols over an alphabet of 45, 50 states.

The corpus is drawn from a random automaton with 20 states. Times are processor seconds of one thread, so other work on
the machine does not count; a first, small run compiles the kernels before the clock starts. hmmlearn runs on the same
corpus in beside/hmmlearn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row, row, take_turns
from spectragram.automata.em import expect, maximize, random_start, trees_of
from spectragram.automata.hankel import count_hankel, find_basis
from spectragram.automata.spectral import learn_spectral
from spectragram.data.corpus import Corpus
from spectragram.synthetic.automata import PNFA

N_SYMBOLS, N_STATES = 45, 50


def run(quick: bool) -> list[Row]:
    with threadpool_limits(1):  # idle BLAS threads would count as work
        return _rows(sample_corpus(100_000 if quick else 800_000))


def _rows(corpus: Corpus) -> list[Row]:
    small = corpus.slice(0, 200)
    _spectral(small, "sigma")
    _spectral(small, 500)
    em_second = _em_iteration(corpus)
    spectral_sigma = seconds(lambda: _spectral(corpus, "sigma"))
    spectral_top = seconds(lambda: _spectral(corpus, 500))
    name = f"{corpus.n_tokens} tokens, {N_SYMBOLS} symbols, {N_STATES} states"
    return [
        row(name, "EM iteration, s", em_second, 1.2, "numba PNFA, 800k tokens, measured"),
        row(name, "spectral, Sigma basis, whole training, s", spectral_sigma),
        row(name, "spectral Sigma / EM iteration", spectral_sigma / em_second, 0.1, "goal"),
        row(name, "spectral, top-500 basis, whole training, s", spectral_top),
        row(name, "spectral top-500 / EM iteration", spectral_top / em_second, 0.5, "goal"),
    ]


def sample_corpus(n_tokens: int) -> Corpus:
    rng = np.random.default_rng(1)
    truth = PNFA.random(20, N_SYMBOLS, rng=rng, mean_length=23.0, conditioning=0.0)
    return truth.sample(n_tokens // 23, rng)


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Processor time of the fastest of a few runs."""
    return min(take_turns({"ours": work}, repeats)["ours"])


def _spectral(corpus: Corpus, basis: str | int) -> None:
    learn_spectral(count_hankel(corpus, find_basis(corpus, basis)), N_STATES, smallest=0.0)


def _em_iteration(corpus: Corpus) -> float:
    trees = trees_of(corpus)
    start = random_start(trees, N_STATES, N_SYMBOLS, np.random.default_rng(0))
    maximize(expect(trees[:1], start))
    return seconds(lambda: maximize(expect(trees, start)), repeats=2)
