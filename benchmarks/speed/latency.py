"""Latency in a service: loading a model, one sentence at a time beside a batch, and sentences of up to 5000 words.

The models are the small ones in ``tests/golden``, one of each kind; ``SPECTRAGRAM_MODELS``, names of model files with
a colon between them, takes others. Processor seconds; every long sentence runs in a process of its own, whose memory
is the largest that it ever held.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, row
from spectragram import load
from spectragram.data import Sentence
from spectragram.synthetic import english_tagged

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
N_SENTENCES, TURNS = 100, 3
LENGTHS = (1, 100, 1000, 5000)
"""Words of the long sentences."""
UPOS = {"DT": "DET", "NN": "NOUN", "VBD": "VERB", ".": "PUNCT", "PRP": "PRON"}
MEGABYTE = 1024.0
"""Kilobytes of a megabyte: the unit of ``ru_maxrss`` on Linux."""


def run(quick: bool) -> list[Row]:
    named = os.environ.get("SPECTRAGRAM_MODELS")
    paths = [Path(name) for name in named.split(":")] if named else sorted(GOLDEN.glob("*.sgm"))
    rows = [found for path in paths for found in _served(path)]
    for path in [] if quick else paths:
        for length in LENGTHS:
            code = f"from benchmarks.speed.latency import answer; answer({str(path)!r}, {length})"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            seconds, kilobytes = json.loads(done.stdout.splitlines()[-1])
            name = f"{path.stem}: a sentence of {length} words"
            rows.append(row(name, "CPU seconds", seconds, 60.0, "target"))
            rows.append(row(name, "megabytes", kilobytes / MEGABYTE, 2048.0, "target"))
    return rows


def _served(path: Path) -> list[Row]:
    loading = min(_cpu_seconds(lambda: load(path)) for _ in range(TURNS))
    model: Any = load(path)
    model.n_jobs = 1
    X = [_input(model, words, tags) for words, tags in english_tagged(N_SENTENCES, 5)]
    model.predict(X[:3])  # compile
    batch = min(_cpu_seconds(lambda: model.predict(X)) for _ in range(TURNS)) / len(X)
    single = min(_cpu_seconds(lambda: [model.predict([x]) for x in X]) for _ in range(TURNS)) / len(X)
    name = path.stem
    return [
        row(f"{name}: load", "CPU seconds", loading, 0.5, "target"),
        row(f"{name}: a sentence in a batch of {N_SENTENCES}", "CPU milliseconds", 1000 * batch),
        row(f"{name}: a sentence alone", "CPU milliseconds", 1000 * single, 1000 * batch, "in a batch"),
    ]


def answer(path: str, length: int) -> None:
    """Print the processor seconds and the memory in kilobytes that one sentence of so many words takes."""
    import resource

    model: Any = load(path)
    model.n_jobs = 1
    words, tags = zip(
        *(pair for sentence in english_tagged(800, 5) for pair in zip(*sentence, strict=True)), strict=True
    )
    model.predict([_input(model, list(words[:5]), list(tags[:5]))])  # compile
    x = _input(model, list(words[:length]), list(tags[:length]))
    seconds = _cpu_seconds(lambda: model.predict([x]))
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))


def _input(model: Any, words: list[str], tags: list[str]) -> Any:
    """A sentence as a model of its kind takes it."""
    if model.kind == "dependency":
        return Sentence.from_words(words, upos=[UPOS.get(tag, "X") for tag in tags])
    if model.kind == "hmm":
        return [len(word) % 3 for word in words]
    if model.kind == "automaton":
        symbols = model.vocabulary_.words
        return [symbols[len(word) % len(symbols)] for word in words]
    return " ".join(words) if model.kind in ("lm", "clusters", "pipeline") else words


def _cpu_seconds(task: Callable[[], object]) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start
