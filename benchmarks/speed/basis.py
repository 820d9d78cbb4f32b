"""The spectral learner with a large basis, from the shell: 800,000 symbols over 45, up to 5000 prefixes and suffixes.

The corpus is that of speed/automaton. Seconds and memory are those of the whole process: start of the interpreter,
reading, held-out strings and the model that is learned again from all strings included.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measure import Row, row, run_command
from benchmarks.speed.automaton import N_STATES, sample_corpus
from spectragram.data.pautomac import write_pautomac

BASES = (500, 2000, 5000)


def run(quick: bool) -> list[Row]:
    rows = []
    corpus = sample_corpus(100_000 if quick else 800_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        strings = folder / "strings.pautomac"
        write_pautomac(corpus, strings)
        train = ["train", "automaton", str(strings), "--out", str(folder / "model"), "--quiet", "--jobs", "1"]
        train += ["--learner", "spectral", "--states", str(N_STATES)]
        run_command([*train, "--basis", "100"], folder)  # compiled before the clock starts
        for basis in BASES:
            _, seconds, peak = run_command([*train, "--basis", str(basis)], folder)
            what = f"{corpus.n_tokens} tokens, basis {basis} x {basis}, {N_STATES} states"
            rows += [row(what, "whole training, CPU s", seconds), row(what, "peak GB", peak)]
    return rows
