"""How fast plain text becomes integers, in one process, beside Python's own ``split`` and ``dict``.

Both read the same plain file and give the same arrays (ours sorts the vocabulary as well); they take turns, and the
best turn of each counts, in processor time, so that other programs on the machine disturb neither more than the
other. Text is drawn from a Zipfian law, so that the benchmark runs anywhere; the Brown corpus is added where
SPECTRAGRAM_DATA names it.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, data_folder, row, take_turns
from spectragram.data.text import count_words, encode_blocks, read_text

TARGET = 3e6
N_TYPES = 100_000
WORDS_A_LINE = 20


def run(quick: bool) -> list[Row]:
    """Rows for the runner: tokens a second for reading, counting and encoding."""
    with tempfile.TemporaryDirectory() as folder:
        texts = text_files(Path(folder), quick)
        return [found for name, path in texts.items() for found in _rows(name, path, turns=3 if quick else 7)]


def text_files(folder: Path, quick: bool) -> dict[str, Path]:
    """Plain files by name: synthetic text and, where it is, the Brown corpus."""
    texts = {"synthetic": _synthetic_text(folder / "synthetic", 2_000_000 if quick else 5_000_000)}
    data = data_folder()
    if data is not None:
        texts["brown"] = folder / "brown"
        texts["brown"].write_bytes(gzip.decompress((data / "brown-text/brown.words.txt.gz").read_bytes()))
    return texts


def _synthetic_text(path: Path, n_tokens: int) -> Path:
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlu"))
    words = np.array(["".join(rng.choice(letters, 1 + int(np.log2(2 + rank)))) for rank in range(N_TYPES)])
    weights = 1 / np.arange(1, N_TYPES + 1)
    tokens = rng.choice(words, n_tokens, p=weights / weights.sum())
    path.write_text("\n".join(" ".join(line) for line in tokens.reshape(-1, WORDS_A_LINE)) + "\n")
    return path


def _rows(name: str, path: Path, turns: int) -> list[Row]:
    corpus = read_text(path)
    tokens, offsets = _plain_python(path)
    assert (len(tokens), len(offsets)) == (corpus.n_tokens, len(corpus.offsets)), "both must read the same"
    ours: dict[str, Callable[[], object]] = {
        "read with a new vocabulary": lambda: read_text(path),
        "count words": lambda: count_words(path),
        "encode by blocks": lambda: [block.n_tokens for block in encode_blocks(path, corpus.vocabulary)],
    }
    seconds = take_turns({**ours, "python": lambda: _plain_python(path)}, turns)
    rate = {what: corpus.n_tokens / min(found) for what, found in seconds.items()}
    speed = partial(row, measure="tokens per second", better="higher")
    rows = [speed(f"{name}: {what}", value=rate[what], anchor=TARGET, source="target for one process") for what in ours]
    first = next(iter(ours))
    peer = "Python's split and dict, same run"
    return [*rows, speed(f"{name}: {first}", value=rate[first], anchor=rate["python"], source=peer)]


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
