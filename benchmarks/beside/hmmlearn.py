"""hmmlearn: one EM iteration and the scoring of strings over 45 symbols, with 20 and 50 states, on one core in turn."""

from __future__ import annotations

import logging
from importlib.util import find_spec

import numpy as np

from benchmarks.measure import Row, ratio_row, take_turns
from benchmarks.speed.automaton import N_SYMBOLS, sample_corpus
from spectragram.automata.em import expect, log_probs, maximize, random_start, trees_of


def run(quick: bool) -> list[Row]:
    if find_spec("hmmlearn") is None:
        return []
    from hmmlearn.hmm import CategoricalHMM

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)  # it warns that a second fit starts again
    corpus = sample_corpus(50_000 if quick else 400_000)
    lengths = np.diff(corpus.offsets)
    symbols, lengths = corpus.tokens[:, np.newaxis], lengths[lengths > 0]
    trees = trees_of(corpus)
    rows, turns = [], 1 if quick else 3
    for n_states in (20, 50):
        start = random_start(trees, n_states, N_SYMBOLS, np.random.default_rng(0))
        maximize(expect(trees[:1], start))  # compiled before the clock starts
        theirs = CategoricalHMM(n_states, n_iter=1, n_features=N_SYMBOLS, random_state=0, implementation="scaling")
        log_probs(trees[:1], start)
        training = take_turns(
            {
                "ours": lambda start=start: maximize(expect(trees, start)),
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
        rows.append(ratio_row(f"{name}: EM iteration", "hmmlearn", training["theirs"], training["ours"], 5.0))
        rows.append(ratio_row(f"{name}: scoring", "hmmlearn", scoring["theirs"], scoring["ours"]))
    return rows
