"""Seconds to train and sentences per second to parse, on the WSJ sample (or the demo corpus without it)."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.measure import Row, data_folder, row
from spectragram.data import read_conllu
from spectragram.dependency import DependencyParser
from spectragram.synthetic import english_dependencies


def run(quick: bool) -> list[Row]:
    folder = data_folder()
    if folder is not None:
        train = list(read_conllu(folder / "wsj-dependencies/train.conllu.gz", check_tree=True))
    else:
        train = english_dependencies(3000)
    sentences = train[:600]
    DependencyParser(n_epochs=1, n_jobs=2).fit(train[:100]).predict(train[:10])  # compile
    rows = []
    for name, parameters in (("default", {}), ("fast", {"preset": "fast"}), ("spectral, no factors", _SPECTRAL)):
        if quick and name == "fast":
            continue
        parser = DependencyParser(n_jobs=2, **parameters)
        wall, cpu = time.perf_counter(), time.process_time()
        parser.fit(train)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        target = "target" if name == "default" else None
        rows.append(row(f"train, {name}, 2 cores", "seconds", wall, 15.0 if target else None, target, "lower"))
        rows.append(row(f"train, {name}", "CPU seconds", cpu, 15.0 if target else None, target, "lower"))
        wall, cpu = time.perf_counter(), time.process_time()
        parser.predict(sentences)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        rate, per_cpu = len(sentences) / wall, len(sentences) / cpu
        rows.append(row(f"parse, {name}, 2 cores", "sentences/s", rate, 500.0 if target else None, target, "higher"))
        rows.append(row(f"parse, {name}", "sentences per CPU second", per_cpu, 870.0, "UDPipe 1, one core", "higher"))
    return rows


_SPECTRAL: dict[str, Any] = {"n_states": 9, "learner": "spectral", "factors": False}
