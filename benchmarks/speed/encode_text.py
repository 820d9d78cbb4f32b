"""How fast plain text becomes integers, in one process, beside Python's own ``split`` and ``dict``.

Both read the same plain file and give the same arrays (ours sorts the vocabulary as well); they take turns, and the
best turn of each counts, in processor time, so that other programs on the machine disturb neither more than the
other. Text is drawn from a Zipfian law, so that the benchmark runs anywhere; the Brown corpus is added where
SPECTRAGRAM_DATA names it.
"""

from __future__ import annotations

import gzip
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from spectragram.data.text import count_words, encode_blocks, read_text

TARGET = 3e6
N_TYPES = 100_000
WORDS_A_LINE = 20


def run(quick: bool) -> list[dict[str, Any]]:
    """Rows for the runner: tokens a second for reading, counting and encoding."""
    with tempfile.TemporaryDirectory() as folder:
        texts = {"synthetic": _synthetic_text(Path(folder) / "synthetic", 2_000_000 if quick else 5_000_000)}
        data = os.environ.get("SPECTRAGRAM_DATA")
        if data:
            brown = Path(folder) / "brown"
            brown.write_bytes(gzip.decompress((Path(data) / "brown-text/brown.words.txt.gz").read_bytes()))
            texts["brown"] = brown
        return [row for name, path in texts.items() for row in _rows(name, path, turns=3 if quick else 7)]


def _synthetic_text(path: Path, n_tokens: int) -> Path:
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlu"))
    words = np.array(["".join(rng.choice(letters, 1 + int(np.log2(2 + rank)))) for rank in range(N_TYPES)])
    weights = 1 / np.arange(1, N_TYPES + 1)
    tokens = rng.choice(words, n_tokens, p=weights / weights.sum())
    path.write_text("\n".join(" ".join(line) for line in tokens.reshape(-1, WORDS_A_LINE)) + "\n")
    return path


def _rows(name: str, path: Path, turns: int) -> list[dict[str, Any]]:
    corpus = read_text(path)
    tokens, offsets = _plain_python(path)
    assert (len(tokens), len(offsets)) == (corpus.n_tokens, len(corpus.offsets)), "both must read the same"
    ours: dict[str, Callable[[], object]] = {
        "read with a new vocabulary": lambda: read_text(path),
        "count words": lambda: count_words(path),
        "encode by blocks": lambda: [block.n_tokens for block in encode_blocks(path, corpus.vocabulary)],
    }
    seconds = _best_of_turns({**ours, "python": lambda: _plain_python(path)}, turns)
    rate = {what: corpus.n_tokens / best for what, best in seconds.items()}
    common = {"measure": "tokens per second", "better": "higher"}
    peer = {"anchor": rate["python"], "anchor_source": "Python's split and dict, same run"}
    floor = {"anchor": TARGET, "anchor_source": "target for one process"}
    rows = [{"name": f"{name}: {what}", "value": rate[what], **floor, **common} for what in ours]
    return [*rows, {"name": f"{name}: read with a new vocabulary", "value": rate[next(iter(ours))], **peer, **common}]


def _plain_python(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and offsets the usual way."""
    index: dict[str, int] = {}
    tokens: list[int] = []
    ends = [0]
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            tokens.extend([index.setdefault(word, len(index)) for word in line.split()])
            ends.append(len(tokens))
    return np.array(tokens, np.int32), np.array(ends, np.int64)


def _best_of_turns(tasks: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(turns):
        for name, task in tasks.items():
            start = time.process_time()
            task()
            best[name] = min(best[name], time.process_time() - start)
    return best


if __name__ == "__main__":
    for row in run(quick=False):
        print(f"{row['name']:45} {row['value']:14,.0f} tokens/s   {row['anchor_source']}: {row['anchor']:,.0f}")
