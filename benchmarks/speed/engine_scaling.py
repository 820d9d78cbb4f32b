"""What two processes buy: counting neighbouring words of a synthetic corpus, here and on two local processes.

Runs take turns and the best turn of each counts. Speed-ups are shown with and without the start of the processes,
which is paid once a run; joblib, on workers that are warm as well, does the same work beside ours.
"""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import reduce
from multiprocessing import get_context
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import coo_array, csr_array

from benchmarks.measure import Row, row, take_turns
from spectragram.engine import map_reduce
from spectragram.synthetic import BrownModel

N_WORDS = 2000
N_SHARDS = 16
N_EMPTY_SHARDS = 300


def count_pairs(tokens: np.ndarray) -> csr_array:
    """How often each word follows each other one, in rows of one sequence each."""
    first, second = tokens[:, :-1].ravel(), tokens[:, 1:].ravel()
    return coo_array((np.ones(len(first)), (first, second)), shape=(N_WORDS, N_WORDS)).tocsr()


def nothing(shard: int) -> int:
    """The cheapest shard: all that is measured is the way there and back."""
    return shard


def run(quick: bool) -> list[Row]:
    """Rows for the runner: speed-up of two processes, start-up, overhead of a shard."""
    turns = 2 if quick else 5
    sequences = 40_000 if quick else 200_000
    model = BrownModel.random(N_WORDS, 20, rng=np.random.default_rng(0))
    corpus = model.sample(sequences, 50, np.random.default_rng(1))
    shards = np.array_split(corpus.tokens.reshape(sequences, 50), N_SHARDS)
    empty = range(N_EMPTY_SHARDS)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool, Parallel(n_jobs=2, batch_size=1) as parallel:
        work: dict[str, Callable[[], Any]] = {
            "one": lambda: map_reduce(count_pairs, shards),
            "two, cold": lambda: map_reduce(count_pairs, shards, n_jobs=2),
            "two, warm": lambda: map_reduce(count_pairs, shards, executor=pool),
            "joblib, warm": lambda: reduce(operator.add, parallel(delayed(count_pairs)(s) for s in shards)),
            "start": lambda: map_reduce(nothing, range(2), n_jobs=2),
            "empty": lambda: map_reduce(nothing, empty, executor=pool),
            "joblib, empty": lambda: parallel(delayed(nothing)(shard) for shard in empty),
        }
        totals = [work[name]() for name in ("one", "two, cold", "two, warm", "joblib, warm")]
        assert all(abs(total - totals[0]).sum() == 0 for total in totals), "all must count the same"
        seconds = {name: min(found) for name, found in take_turns(work, turns, time.perf_counter).items()}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    ideal = {"anchor": float(min(2, cores or 1)), "source": "cores of this machine", "better": "higher"}
    beside = {"source": "joblib, same run", "better": "lower"}
    return [
        row("one process", "tokens/s", corpus.n_tokens / seconds["one"], better="higher"),
        row("two processes, start included", "speed-up", seconds["one"] / seconds["two, cold"], **ideal),
        row("two processes, already started", "speed-up", seconds["one"] / seconds["two, warm"], **ideal),
        row("two processes, already started", "s", seconds["two, warm"], anchor=seconds["joblib, warm"], **beside),
        row("start of two processes", "s", seconds["start"], better="lower"),
        row(
            "overhead of a shard",
            "ms",
            1000 * seconds["empty"] / N_EMPTY_SHARDS,
            anchor=1000 * seconds["joblib, empty"] / N_EMPTY_SHARDS,
            **beside,
        ),
    ]
