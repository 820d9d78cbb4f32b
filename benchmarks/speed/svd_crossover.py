"""Which SVD solver is fastest at which size and rank, on the matrices this library decomposes.

The matrices are CCA-scaled co-occurrence counts: word frequencies follow a power law and words act through hidden
classes, so the spectrum falls from 1 into a flat tail of sampling noise, as that of real text does. Times are processor
seconds on one thread, the best of a few turns for small matrices. The rule in ``spectragram.spectral.subspace`` was
written from these rows; "auto" is held against the fastest solver.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row, row, take_turns
from spectragram.spectral import Scaling, find_subspace

N_CLASSES = 300
TOLERANCE = 1e-8
LARGEST = {"dense": 1600}
"""Beyond this size a solver takes minutes longer than the others and is left out."""

CASES = {  # size: (pairs counted, ranks)
    50: (2_000, (8, 16)),
    100: (5_000, (8, 32)),
    200: (10_000, (8, 32, 128)),
    400: (30_000, (8, 64, 256)),
    800: (100_000, (8, 64, 256)),
    1600: (200_000, (16, 128, 512)),
    3000: (500_000, (16, 128)),
    10_000: (2_000_000, (16, 128, 512)),
    30_000: (4_000_000, (16, 128)),
    100_000: (10_000_000, (16, 64)),
    300_000: (20_000_000, (16, 64)),
}


def run(quick: bool) -> list[Row]:
    """Rows for the runner: seconds of every solver at every size and rank."""
    rows = []
    with threadpool_limits(1):
        for size, (n_pairs, ranks) in CASES.items():
            if quick and size > 3000:
                break
            matrix = power_law_matrix(size, n_pairs, np.random.default_rng(size))
            for k in ranks:
                rows += _rows(matrix, k)
    return rows


def power_law_matrix(size: int, n_pairs: int, rng: np.random.Generator) -> scipy.sparse.csr_array:
    """CCA-scaled counts (size, size) of ``n_pairs`` word pairs drawn through hidden classes."""
    n_classes = min(N_CLASSES, max(2, size // 4))
    frequency = 1 / np.arange(1, size + 1) ** 1.05
    popularity = 1 / np.arange(1, n_classes + 1) ** 0.7
    left_class, right_class = rng.choice(n_classes, (2, size), p=popularity / popularity.sum())
    transitions = rng.dirichlet(np.full(n_classes, 0.05), n_classes)

    first = np.searchsorted(np.cumsum(frequency), rng.random(n_pairs) * frequency.sum())
    held = np.where(rng.random(n_pairs) < 0.8, left_class[first], rng.integers(0, n_classes, n_pairs))
    # One table of all rows' cumulative probabilities, row h between h and h + 1.
    table = (np.cumsum(transitions, axis=1) + np.arange(n_classes)[:, np.newaxis]).ravel()
    reached = np.searchsorted(table, held + rng.random(n_pairs)) % n_classes
    # Likewise for words: ordered by class, a class is a stretch of the cumulative frequencies.
    by_class = np.argsort(right_class, kind="stable")
    cumulative = np.concatenate([[0.0], np.cumsum(frequency[by_class])])
    stretch = cumulative[np.searchsorted(right_class[by_class], np.arange(n_classes + 1))]
    place = stretch[reached] + rng.random(n_pairs) * np.diff(stretch)[reached]
    second = by_class[np.clip(np.searchsorted(cumulative, place) - 1, 0, size - 1)]

    counts = scipy.sparse.coo_array((np.ones(n_pairs), (first, second)), shape=(size, size)).tocsr()
    return Scaling.from_counts(counts.sum(axis=1), counts.sum(axis=0)).apply(counts)


def _rows(matrix: scipy.sparse.csr_array, k: int) -> list[Row]:
    size = matrix.shape[0]
    seconds = {
        method: _seconds(matrix, k, method)
        for method in ("dense", "propack", "krylov")
        if size <= LARGEST.get(method, size)
    }
    fastest = min(seconds, key=seconds.__getitem__)
    name = f"{size} x {size}, {matrix.nnz} entries, k={k}"
    rows = [row(name, f"{method}, s", value) for method, value in seconds.items()]
    source = f"fastest here: {fastest}"
    return [*rows, row(name, "auto, s", _seconds(matrix, k, "auto"), seconds[fastest], source)]


def _seconds(matrix: scipy.sparse.csr_array, k: int, method: Any) -> float:
    def decompose() -> None:
        find_subspace(matrix, k, method=method, tolerance=TOLERANCE, truncate=True)

    return min(take_turns({method: decompose}, 5 if matrix.shape[0] <= 800 else 1)[method])
