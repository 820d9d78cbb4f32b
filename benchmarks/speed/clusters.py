"""Word clusters from the shell: seconds and memory of whole runs, start of the interpreter included.

Kernels are compiled before the first timed run, as they are for every user after the first. Processor seconds stand
beside wall-clock seconds, since they depend less on what else the machine is doing.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measure import Row, data_folder, row, run_command
from benchmarks.zipf_text import write_zipf

# CPU seconds of Liang's brown-cluster (C++) on the Brown corpus with 10,000 types.
LIANG = {100: 10.8, 200: 36.2, 500: 182.0, 1000: 891.0}
SOURCE = "brown-cluster (Liang, C++), CPU s"


def run(quick: bool) -> list[Row]:
    """Rows: time against clusters on a real corpus, time and memory against tokens, clusters and vocabulary."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm = folder / "warm.txt"
        write_zipf(20_000, warm)
        for learner in ("exchange", "spectral"):
            train(warm, folder, 50, 5000, "--learner", learner)
        data = data_folder()
        if data is not None:
            text = data / "brown-text" / "brown.words.txt.gz"
            for m in (100, 200) if quick else (100, 200, 500, 1000):
                wall, cpu, _ = train(text, folder, m, 10_000)
                rows.append(row(f"brown-text, {m} clusters", "CPU s", cpu, LIANG[m], SOURCE))
                rows.append(row(f"brown-text, {m} clusters", "wall s", wall))
        for n_tokens, m, vocabulary in _scaling(quick):
            text = folder / f"zipf-{n_tokens}.txt"
            if not text.exists():
                write_zipf(n_tokens, text)
            wall, cpu, peak = train(text, folder, m, vocabulary, "--dimensions", "0")
            what = f"{n_tokens / 1e6:g}M tokens, {m} clusters, {vocabulary} words"
            rows.append(row(what, "CPU s", cpu))
            rows.append(row(what, "wall s", wall))
            rows.append(row(what, "peak GB", peak, 4.0 if n_tokens == 50_000_000 else None, "wanted"))
    return rows


def _scaling(quick: bool) -> list[tuple[int, int, int]]:
    """(tokens, clusters, vocabulary) of the synthetic runs: one of the three changes at a time."""
    if quick:
        return [(1_000_000, 100, 10_000)]
    tokens = [(n, 100, 50_000) for n in (1_000_000, 5_000_000, 20_000_000, 50_000_000)]
    vocabularies = [(20_000_000, 100, n) for n in (10_000, 100_000, 300_000)]
    return [*tokens, *vocabularies, *((5_000_000, m, 50_000) for m in (200, 500, 1000))]


def train(text: Path, folder: Path, m: int, vocabulary: int, *options: str) -> tuple[float, float, float]:
    """Run ``spectragram train clusters`` in a process of its own: wall seconds, CPU seconds, peak gigabytes."""
    arguments = ["train", "clusters", str(text), "--out", str(folder / "model"), "--quiet"]
    arguments += ["--clusters", str(m), "--vocab", str(vocabulary), *options]
    return run_command(arguments, folder)
