"""scikit-splearn on PAutomaC, in an environment of its own (it needs numpy 1).

Its user chooses rank, kind of Hankel matrix and length of rows and columns; here a grid on held-out strings does that.
Perplexity and seconds of that search stand beside our defaults, and one fit of the chosen rank beside one spectral
fit of ours with as many states.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import PeerEnvironment, Row, Seconds, data_folder, ratio_row, row, take_turns
from spectragram.automata import Automaton
from spectragram.data.corpus import Corpus
from spectragram.data.pautomac import read_pautomac, read_pautomac_solution
from spectragram.metrics import pautomac_scores

PROBLEMS = (1, 3, 7, 29, 33, 39, 45)
ENVIRONMENT = PeerEnvironment("splearn", ["scikit-splearn==1.2.1", "numpy<2"])
SCRIPT = "splearn_pautomac.py"


def run(quick: bool) -> list[Row]:
    data = data_folder()
    if data is None or not ENVIRONMENT.ready():
        return []
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for problem in (29,) if quick else PROBLEMS:
            rows += _compared(data / "pautomac", problem, Path(folder), turns=1 if quick else 3)
    return rows


def _compared(folder: Path, problem: int, work: Path, turns: int) -> list[Row]:
    train, test = _plain(folder, f"{problem}.pautomac.train", work), _plain(folder, f"{problem}.pautomac.test", work)
    corpus = read_pautomac(train)
    theirs = ENVIRONMENT.call(SCRIPT, "search", str(train), str(test))
    rank, version, length = theirs["settings"]
    our_perplexity: list[float] = []

    def ours() -> None:
        model = Automaton(n_jobs=1).fit(corpus)
        our_perplexity.append(_perplexity(folder, problem, model.log_prob(read_pautomac(test))))

    search = take_turns({"ours": ours}, 1)
    single = take_turns(
        {
            "ours": lambda: _fit_spectral(corpus, rank),
            "theirs": lambda: Seconds(ENVIRONMENT.call(SCRIPT, "fit", str(train), str(rank), version, str(length))),
        },
        turns,
    )
    name = f"PAutomaC {problem}"
    their_perplexity = _perplexity(folder, problem, np.log(theirs["probabilities"]))
    chosen = f"scikit-splearn, rank {rank}, {version}, length {length}, same run"
    return [
        row(name, "perplexity", our_perplexity[0], their_perplexity, chosen),
        ratio_row(f"{name}: settings and all", "splearn", [theirs["seconds"]], search["ours"]),
        ratio_row(f"{name}: one spectral fit, {rank} states", "splearn", single["theirs"], single["ours"]),
    ]


def _fit_spectral(corpus: Corpus, n_states: int) -> None:
    Automaton(n_states, "spectral").fit(corpus)


def _perplexity(folder: Path, problem: int, log_probs: np.ndarray) -> float:
    solution = read_pautomac_solution(folder / f"{problem}.pautomac_solution.txt")
    return pautomac_scores(solution, np.exp(log_probs - log_probs.max()))["pautomac"]


def _plain(folder: Path, name: str, work: Path) -> Path:
    """The file, unpacked where it is compressed: their reader takes plain text only."""
    if (folder / name).exists():
        return folder / name
    plain = work / name
    plain.write_bytes(gzip.decompress((folder / f"{name}.gz").read_bytes()))
    return plain
