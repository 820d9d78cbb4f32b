"""scikit-learn beside the two steps every learner here begins with: counting words, decomposing co-occurrences."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row, ratio_row, row, take_turns
from benchmarks.speed.encode_text import text_files
from benchmarks.speed.svd_crossover import CASES, power_law_matrix
from spectragram.data.text import count_words
from spectragram.spectral import find_subspace

PEER = "scikit-learn"


def run(quick: bool) -> list[Row]:
    turns = 2 if quick else 5
    with tempfile.TemporaryDirectory() as folder:
        rows = [_counting(name, path, turns) for name, path in text_files(Path(folder), quick).items()]
    with threadpool_limits(1):
        for size in (3000,) if quick else (3000, 30_000):
            n_pairs, ranks = CASES[size]
            matrix = power_law_matrix(size, n_pairs, np.random.default_rng(size))
            for k in ranks:
                rows += _decomposing(matrix, k, turns)
    return rows


def _counting(name: str, path: Path, turns: int) -> Row:
    def theirs() -> None:
        with path.open(encoding="utf-8") as lines:
            CountVectorizer(analyzer=str.split).fit_transform(lines).sum(axis=0)

    seconds = take_turns({"ours": lambda: count_words(path), "theirs": theirs}, turns)
    return ratio_row(f"count the words of {name}", f"{PEER} CountVectorizer", seconds["theirs"], seconds["ours"])


def _decomposing(matrix, k: int, turns: int) -> list[Row]:
    """Times as each comes; since its default stops early, the singular values it missed stand beside the ratio."""
    found: dict[str, np.ndarray] = {}

    def ours() -> None:
        found["ours"] = find_subspace(matrix, k, truncate=True).singular_values

    def theirs() -> None:
        found["theirs"] = randomized_svd(matrix, k, random_state=0)[1]

    name = f"SVD {matrix.shape[0]} x {matrix.shape[0]}, {matrix.nnz} entries, k={k}"
    seconds = take_turns({"ours": ours, "theirs": theirs}, turns)
    exact = find_subspace(matrix, k, tolerance=1e-12, truncate=True).singular_values
    error = {who: float(np.max(np.abs(values - exact) / exact)) for who, values in found.items()}
    return [
        ratio_row(name, f"{PEER} randomized_svd", seconds["theirs"], seconds["ours"]),
        row(name, "worst relative error of a singular value", error["ours"], error["theirs"], f"{PEER}, same run"),
    ]
