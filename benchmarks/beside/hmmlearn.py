"""hmmlearn: one EM iteration and the scoring of strings over 45 symbols, with 20 and 50 states, on one core in turn.

hmmlearn uses the faster of its two implementations (``log`` takes more than seven times as long as ``scaling``). Our
``HMM`` does the same work, an automaton more: it has a matrix for every symbol.
"""

from __future__ import annotations

import logging
from importlib.util import find_spec

import numpy as np

from benchmarks.measure import Row, ratio_row, take_turns
from benchmarks.speed.automaton import N_SYMBOLS, sample_corpus
from spectragram.automata.em import expect, log_probs, maximize, random_start, trees_of
from spectragram.data.number_sequences import as_number_sequences
from spectragram.hmm import HMM
from spectragram.hmm import em as hidden


def run(quick: bool) -> list[Row]:
    if find_spec("hmmlearn") is None:
        return []
    from hmmlearn.hmm import CategoricalHMM

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)  # it warns that a second fit starts again
    corpus = sample_corpus(50_000 if quick else 400_000)
    lengths = np.diff(corpus.offsets)
    symbols, lengths = corpus.tokens[:, np.newaxis], lengths[lengths > 0]
    trees = trees_of(corpus)
    prepared = hidden.prepare(as_number_sequences(corpus.tokens, np.diff(corpus.offsets)))
    expect_hidden = hidden.EStep(prepared)
    rows, turns = [], 1 if quick else 3
    for n_states in (20, 50):
        start = random_start(trees, n_states, N_SYMBOLS, np.random.default_rng(0))
        maximize(expect(trees[:1], start, dtype=np.float32))  # compiled before the clock starts
        theirs = CategoricalHMM(n_states, n_iter=1, n_features=N_SYMBOLS, random_state=0, implementation="scaling")
        log_probs(trees[:1], start)
        hmm = hidden_model(n_states)
        hidden.maximize(prepared, expect_hidden(hmm.model_), 0.0, False)
        training = take_turns(
            {
                "automaton": lambda start=start: maximize(expect(trees, start, dtype=np.float32)),
                "hmm": lambda m=hmm.model_: hidden.maximize(prepared, expect_hidden(m), 0.0, False),
                "theirs": lambda theirs=theirs: theirs.fit(symbols, lengths),
            },
            turns,
        )
        scoring = take_turns(
            {
                "ours": lambda start=start: log_probs(trees_of(corpus), start),
                "theirs": lambda theirs=theirs: theirs.score(symbols, lengths),
            },
            turns,
        )
        name = f"{corpus.n_tokens} symbols, {n_states} states"
        for ours in ("hmm", "automaton"):
            goal = 20.0 if (ours, n_states) == ("hmm", 50) else 5.0
            title = f"{name}: EM iteration of {'HMM' if ours == 'hmm' else 'an automaton'}"
            rows.append(ratio_row(title, "hmmlearn", training["theirs"], training[ours], goal))
        rows.append(ratio_row(f"{name}: scoring", "hmmlearn", scoring["theirs"], scoring["ours"]))
    return rows


def hidden_model(n_states: int) -> HMM:
    """A random start."""
    rng = np.random.default_rng(0)
    start, moves = rng.dirichlet(np.ones(n_states)), rng.dirichlet(np.ones(n_states), n_states)
    return HMM.from_parameters(start, moves, emissionprob=rng.dirichlet(np.ones(N_SYMBOLS), n_states))
