"""scikit-splearn on PAutomaC, in an environment of its own (it needs numpy 1).

Its user chooses the rank, the kind of Hankel matrix and the length of rows and columns. Here it tries sixteen settings,
and the one that is best on the solution itself counts, which its user could not know; ours are the defaults, which
choose on training strings. Times, in processor seconds of one thread: all of its settings and our whole search; and
from strings to operators, with one block and one decomposition of the same number of states for both.
"""

from __future__ import annotations

import gzip
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import PeerEnvironment, Row, Seconds, data_folder, ratio_row, row, take_turns
from spectragram.automata import Automaton
from spectragram.automata.hankel import count_hankel, find_basis
from spectragram.automata.spectral import learn_spectral
from spectragram.data.pautomac import read_pautomac, read_pautomac_solution
from spectragram.metrics import pautomac_scores

PROBLEMS = (1, 7, 29, 45)
ENVIRONMENT = PeerEnvironment("splearn", ["scikit-splearn==1.2.1", "numpy<2"])
SCRIPT = "splearn_pautomac.py"
BASIS = 2000
"""Number of our prefixes and suffixes: about that of all strings of up to three symbols."""


def run(quick: bool) -> list[Row]:
    data = data_folder()
    if data is None or not ENVIRONMENT.ready():
        return []
    rows = []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for problem in (29,) if quick else PROBLEMS:
            rows += _compared(data / "pautomac", problem, Path(folder), turns=1 if quick else 3)
    return rows


def _compared(folder: Path, problem: int, work: Path, turns: int) -> list[Row]:
    train, test = _plain(folder, f"{problem}.pautomac.train", work), _plain(folder, f"{problem}.pautomac.test", work)
    corpus = read_pautomac(train)
    Automaton(n_jobs=1).fit(corpus.slice(0, 200))  # compiled before the clock starts
    theirs = ENVIRONMENT.call(SCRIPT, "all", str(train), str(test))
    perplexities = [_perplexity(folder, problem, np.log(found["values"])) for found in theirs]
    best = int(np.argmin(perplexities))
    rank, version, length = theirs[best]["settings"]

    start = time.process_time()
    model = Automaton(n_jobs=1).fit(corpus)
    our_seconds = time.process_time() - start
    our_perplexity = _perplexity(folder, problem, model.log_prob(read_pautomac(test)))
    single = take_turns(
        {
            "ours": lambda: learn_spectral(count_hankel(corpus, find_basis(corpus, BASIS)), rank, smallest=0.0),
            "theirs": lambda: Seconds(ENVIRONMENT.call(SCRIPT, "fit", str(train), str(rank), version, str(length))),
        },
        turns,
    )
    name = f"PAutomaC {problem}"
    chosen = f"scikit-splearn, best of {len(theirs)} by the solution: rank {rank}, {version}, length {length}"
    all_seconds = sum(found["seconds"] for found in theirs)
    return [
        row(name, "perplexity", our_perplexity, perplexities[best], chosen),
        ratio_row(f"{name}: {len(theirs)} settings, our search", "splearn", [all_seconds], [our_seconds]),
        ratio_row(f"{name}: strings to operators, {rank} states", "splearn", single["theirs"], single["ours"]),
    ]


def _perplexity(folder: Path, problem: int, log_probs: np.ndarray) -> float:
    solution = read_pautomac_solution(folder / f"{problem}.pautomac_solution.txt")
    return pautomac_scores(solution, np.exp(log_probs - log_probs.max()))["pautomac"]


def _plain(folder: Path, name: str, work: Path) -> Path:
    """The file, unpacked if it is compressed, since their reader takes only plain text."""
    if (folder / name).exists():
        return folder / name
    plain = work / name
    plain.write_bytes(gzip.decompress((folder / f"{name}.gz").read_bytes()))
    return plain
