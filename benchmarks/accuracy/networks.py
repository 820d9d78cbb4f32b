"""Automata extracted from recurrent networks: how near they come to the network, next to a trigram and scikit-splearn.

An LSTM and a GRU are trained here on three PAutomaC problems and on strings of three of Tomita's languages that no
trigram can tell from their neighbours. Each is then a next-symbol oracle for ``Automaton.from_function``, and nothing
else of it is used. The trigram is learned from strings drawn from the network, and so is scikit-splearn's automaton,
with the best of up to sixteen settings by the test strings themselves. Perplexities are per symbol, the end included,
on other strings drawn from the network; scikit-splearn, whose values are not probabilities, is compared by PAutomaC's
score. Needs torch. Quick: one problem, one language.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.extraction import languages
from benchmarks.beside.splearn import ENVIRONMENT, SCRIPT
from benchmarks.measure import Row, data_folder, row
from spectragram.automata import DFA, WFA, Automaton
from spectragram.data.inputs import as_strings
from spectragram.data.pautomac import read_pautomac, write_pautomac
from spectragram.metrics import pautomac_scores

PROBLEMS = (29, 31, 39)
TOMITA = ("no odd zeros after odd ones", "even zeros and ones", "zeros minus ones mod 3")
CELLS = ("LSTM", "GRU")
STOP = 0.2
"""Strings of a language end with this probability wherever they may."""
TRAINED, DRAWN, TESTED = 20_000, 20_000, 2_000
"""Strings of a language, strings drawn from a network for the trigram and for the peer, and strings to compare on."""
EXTRACTION: dict[str, Any] = {"n_states": 40, "basis": 150, "tolerance": 1e-5, "max_queries": 1_000_000, "compared": 0}
"""The same for all networks."""
WANTED = 0.1
"""Share of the trigram's difference to the network that the automaton's may be."""
Strings = list[tuple[int, ...]]


def run(quick: bool) -> list[Row]:
    if find_spec("torch") is None:
        return []
    rows: list[Row] = []
    peer = not quick and ENVIRONMENT.ready()
    for name, strings, n_symbols in _corpora(quick):
        for cell in CELLS[: 1 if quick else None]:
            rows += _rows(f"{cell}, {name}", strings, n_symbols, cell, peer)
    return rows


def _corpora(quick: bool) -> Iterator[tuple[str, Strings, int]]:
    for name in TOMITA[: 1 if quick else None]:
        yield name, _language_strings(languages()[name]), 2
    data = data_folder()
    for problem in PROBLEMS[: 1 if quick else None] if data is not None else ():
        corpus = read_pautomac(data / "pautomac" / f"{problem}.pautomac.train")
        yield f"PAutomaC {problem}", [tuple(string.tolist()) for string in corpus], len(corpus.vocabulary)


def _language_strings(language: DFA) -> Strings:
    """Strings of a language: all moves that do not lead to a dead state are equally probable."""
    n, k = language.target.shape
    alive = language.accepts.copy()
    for _ in range(n):
        alive = alive | alive[language.target].any(axis=1)
    moves = alive[language.target] * 1.0
    stop = np.where(moves.any(axis=1), STOP, 1.0) * language.accepts
    moves *= (1.0 - stop[:, None]) / np.maximum(moves.sum(axis=1, keepdims=True), 1.0)
    operators = np.zeros((k, n, n))
    for symbol in range(k):
        operators[symbol, np.arange(n), language.target[:, symbol]] = moves[:, symbol]
    drawn = Automaton.from_wfa(WFA(np.eye(n)[0], operators, stop)).sample(TRAINED, max_length=60)
    return [tuple(string) for string in drawn]


def _rows(name: str, strings: Strings, n_symbols: int, cell: str, peer: bool) -> Iterator[Row]:
    from benchmarks.recurrent import train

    start = time.process_time()
    network = train(strings, n_symbols, cell, seed=0)
    trained = time.process_time() - start
    drawn, tested = network.draw(DRAWN, seed=1), network.draw(TESTED, seed=2)
    events = sum(len(string) + 1 for string in tested)
    own = _perplexity(network.log_probs(tested), events)
    trigram = Automaton(learner="ngram", order=3).fit(as_strings(drawn))
    trigrams = _perplexity(trigram.log_prob(tested), events) - own

    start = time.process_time()
    model = Automaton.from_function(network.following, range(n_symbols), oracle="next", batched=True, **EXTRACTION)
    seconds = time.process_time() - start
    ours = _perplexity(model.log_prob(tested), events) - own
    yield row(name, "perplexity of the network", own)
    yield row(name, "perplexity above the network's", ours, WANTED * trigrams, "a tenth of a trigram's")
    yield row(name, "share of the trigram's difference", ours / trigrams, WANTED, "goal")
    if peer:
        log_probs = {"ours": model.log_prob(tested), "trigram": trigram.log_prob(tested)}
        yield from _beside_splearn(name, drawn, tested, network.log_probs(tested), log_probs)
    yield row(name, "states", float(model.extraction_.n_states))
    yield row(name, "queries", float(model.extraction_.n_queries))
    yield row(name, "seconds of extraction, CPU", seconds)
    yield row(name, "seconds of training, CPU", trained)


def _beside_splearn(
    name: str, drawn: Strings, tested: Strings, true: np.ndarray, ours: dict[str, np.ndarray]
) -> Iterator[Row]:
    """PAutomaC's score above that of the network, as a share of the trigram's, next to scikit-splearn's best setting.

    The values of scikit-splearn are not probabilities (those of a block of substrings are expected counts), so they
    have no perplexity. PAutomaC's score divides the values of both sides by their sum over the distinct test strings.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("train", "test")]
        corpus = as_strings(drawn)
        write_pautomac(corpus, paths[0])
        write_pautomac(as_strings(tested, corpus.vocabulary), paths[1])
        found = ENVIRONMENT.call(SCRIPT, "all", *map(str, paths))
    distinct = [tested.index(string) for string in dict.fromkeys(tested)]

    def above(log_probs: np.ndarray) -> float:
        sides = (np.exp(side[distinct] - side[distinct].max()) for side in (true, log_probs))
        scores = pautomac_scores(*sides)
        return scores["pautomac"] - scores["pautomac_bound"]

    theirs = [above(np.log(one["values"])) for one in found]
    best = int(np.argmin(theirs))
    rank, version, length = found[best]["settings"]
    trigrams = above(ours["trigram"])
    chosen = f"scikit-splearn, best of {len(found)}: rank {rank}, {version}, length {length}"
    yield row(name, "PAutomaC score, share", above(ours["ours"]) / trigrams, theirs[best] / trigrams, chosen)
    yield row(name, "seconds of scikit-splearn's best setting", found[best]["seconds"])


def _perplexity(log_probs: np.ndarray, events: int) -> float:
    return float(np.exp(-log_probs.sum() / events))
