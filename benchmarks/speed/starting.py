"""Cold and warm starts: processor seconds of a process that trains or predicts, with and without compiled kernels.

The corpus is the embedded one, small, so that what is left is starting. Every kind trains with its default settings
into an empty kernel cache (cold), then again (warm), and predicts one file with an empty cache and with a full one. The
number of compiled specialisations is that of the files in the cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Row, row
from spectragram.kinds import KINDS
from spectragram.synthetic.english import write_english

N_SENTENCES = 200
GOALS = {"train": 10.0, "predict": 5.0}
"""Processor seconds of a cold start."""
TRAINED_ON = {
    "automaton": "strings",
    "hmm": "numbers",
    "tagger": "tags",
    "constituency": "trees",
    "dependency": "conllu",
    "clusters": "txt",
    "lm": "txt",
    "pipeline": "treebank.conllu",
}
PREDICTED = TRAINED_ON | {"constituency": "txt", "pipeline": "txt"}
OPTIONS = {"hmm": ["--states", "4"], "clusters": ["--clusters", "20"]}


def run(quick: bool) -> list[Row]:
    work = Path(tempfile.mkdtemp())
    try:
        data = write_english(work, N_SENTENCES, 1, "small")
        data["numbers"] = work / "small.numbers"
        data["numbers"].write_text("0 1 1 2\n2 0\n1 1 0 2 2\n" * 40, encoding="utf-8")
        kinds = ["tagger", "clusters"] if quick else list(KINDS)
        return [found for kind in kinds for found in _of_kind(kind, data, work)]
    finally:
        shutil.rmtree(work)


def _of_kind(kind: str, data: dict[str, Path], work: Path) -> list[Row]:
    model = work / f"{kind}.sgm"
    train = ["train", kind, str(data[TRAINED_ON[kind]]), "-o", str(model), "-q", "-j", "1", *OPTIONS.get(kind, [])]
    predict = ["predict", str(model), str(data[PREDICTED[kind]])]
    rows: list[Row] = []
    for verb, command in (("train", train), ("predict", predict)):
        cache = work / f"kernels-{kind}-{verb}"
        cold, warm = (_cpu_seconds(command, cache) for _ in range(2))
        rows.append(row(f"{kind}: {verb}, cold", "CPU seconds", cold, GOALS[verb], "target"))
        rows.append(row(f"{kind}: {verb}, warm", "CPU seconds", warm))
        rows.append(row(f"{kind}: {verb}", "compiled specialisations", len(list(cache.rglob("*.nbc")))))
    return rows


def _cpu_seconds(arguments: list[str], cache: Path) -> float:
    """Processor seconds of a command, those of the interpreter and of imports included."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "spectragram", *arguments], env=environment, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"spectragram {' '.join(arguments)} failed")
    return used.ru_utime + used.ru_stime
