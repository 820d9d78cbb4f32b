"""What 1, 2 and 4 workers of a cluster buy beside one process in prediction and counting, and the bytes of an E-step.

The workers are processes of a Dask cluster on this machine, one thread each; they have compiled code loaded before
anything is counted. Answers must be those of one process, byte for byte.

Processor seconds are compared, not those of a clock: the speed-up is that of the busiest process (a worker, or the one
that reads and sends), which is what a cluster gives where every process has a core of its own. The overhead is the
processor time of all of them beside that of one process.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import spectragram as sg
from benchmarks.measure import Row, row
from benchmarks.zipf_text import write_zipf
from spectragram.clusters.counting import count_files
from spectragram.engine.cluster import connect
from spectragram.synthetic import english_dependencies, english_tagged
from spectragram.synthetic.english import english_trees

WORKERS = (1, 2, 4)
N_STATES = 8
TRAINING = 1000
MOST_WORDS, N_SHARDS = 100_000, 16


class Scales:
    """Looks like a Dask client, runs tasks at once, and weighs what would travel: kept values once, answers always."""

    status = "running"

    def __init__(self) -> None:
        self.kept = self.answers = 0

    def nthreads(self) -> dict[str, int]:
        """One worker."""
        return {"worker": 1}

    def get_executor(self, pure: bool) -> Scales:
        """Itself."""
        return self

    def scatter(self, values: list[Any], hash: bool) -> list[Any]:
        """Weigh values that workers keep."""
        self.kept += len(pickle.dumps(values))
        return [SimpleNamespace(value=value, status="finished") for value in values]

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Run a task and weigh its answer."""
        future: Future[Any] = Future()
        future.set_result(function(*(getattr(arg, "value", arg) for arg in args)))
        self.answers += len(pickle.dumps(future.result()))
        return future


def run(quick: bool) -> list[Row]:
    """Rows for the runner: sentences and tokens a second, speed-ups, bytes of an E-step."""
    return [*_predictions(quick), *_counting(quick), *_e_steps(quick)]


def _predictions(quick: bool) -> Iterator[Row]:
    models = _models(quick)
    alone, answers = {}, {}
    for name, (model, sentences, shown) in models.items():
        model.predict(sentences[:1])
        start = time.process_time()
        found = model.predict(sentences)
        alone[name] = time.process_time() - start
        answers[name] = list(map(shown, found))
        yield row(f"{name}, one process", "sentences/cpu s", len(sentences) / alone[name], better="higher")
    for n_workers in WORKERS:
        with connect(f"local:{n_workers}") as client:
            for name, (model, sentences, shown) in models.items():
                found, seconds = _predicted(model, sentences, client, n_workers)
                assert list(map(shown, found)) == answers[name], "workers must give the same answers"
                yield from _compared(name, n_workers, alone[name], seconds)


def _compared(name: str, n_workers: int, alone: float, seconds: list[float]) -> Iterator[Row]:
    """Speed-up and overhead of workers beside one process, which took ``alone`` processor seconds."""
    speed_up, ideal = alone / max(seconds), float(n_workers)
    yield row(f"{name}, {n_workers} workers", "speed-up, cpu", speed_up, ideal, "number of workers", better="higher")
    yield row(f"{name}, {n_workers} workers", "overhead, cpu", sum(seconds) / alone)


def _spent(work: Callable[[], Any], client: Any) -> tuple[Any, list[float]]:
    """What ``work`` returns, and the processor seconds of this process and of each worker."""
    before, start = client.run(time.process_time), time.process_time()
    found = work()
    own, after = time.process_time() - start, client.run(time.process_time)
    return found, [own, *(after[worker] - before[worker] for worker in after)]


def _predicted(model: Any, sentences: list[Any], client: Any, n_workers: int) -> tuple[Any, list[float]]:
    """Answers of workers, and the processor seconds of this process and of each worker."""
    model.set_params(executor=client)
    model.predict(sentences[: model.records_per_shard * n_workers * 2])  # loads compiled code everywhere
    found, seconds = _spent(lambda: model.predict(sentences), client)
    model.set_params(executor=None)
    return found, seconds


def _counting(quick: bool) -> Iterator[Row]:
    """Words and pairs of synthetic text."""
    n_tokens = 2_000_000 if quick else 20_000_000
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        write_zipf(n_tokens, text)
        count = partial(count_files, text, max_size=MOST_WORDS, n_shards=N_SHARDS)
        count()  # loads compiled code
        start = time.process_time()
        expected = count()
        alone = time.process_time() - start
        yield row("counting, one process", "tokens/cpu s", n_tokens / alone, better="higher")
        for n_workers in WORKERS:
            with connect(f"local:{n_workers}") as client:
                count(executor=client)
                found, seconds = _spent(lambda client=client: count(executor=client), client)  # type: ignore[misc]
            for one, other in zip(found.tables, expected.tables, strict=True):
                assert (one.keys == other.keys).all() and (one.counts == other.counts).all()
            yield from _compared("counting", n_workers, alone, seconds)


def _models(quick: bool) -> dict[str, tuple[Any, list[Any], Callable[[Any], Any]]]:
    """Trained models, sentences, and what is compared of their answers."""
    n_tagged, n_parsed = (20_000, 2000) if quick else (100_000, 20_000)
    words, tags = (list(part) for part in zip(*english_tagged(TRAINING, seed=1), strict=True))
    heads = english_dependencies(TRAINING + n_parsed, seed=1)
    trees = english_trees(TRAINING + n_parsed)
    return {
        "tagger": (
            sg.Tagger(N_STATES, preset="fast", n_jobs=1).fit(words, tags),
            [sentence for sentence, _ in english_tagged(n_tagged, seed=2)],
            list,
        ),
        "dependency": (
            sg.DependencyParser(preset="fast", n_jobs=1).fit(heads[:TRAINING]),
            heads[TRAINING:],
            lambda sentence: (sentence.heads.tolist(), sentence.deprels),
        ),
        "constituency": (
            sg.ConstituencyParser(N_STATES, preset="fast", n_jobs=1).fit(trees[:TRAINING]),
            [tree.leaves() for tree in trees[TRAINING:]],
            str,
        ),
    }


def _e_steps(quick: bool) -> Iterator[Row]:
    """Bytes of one more iteration, and of what is sent before the first."""
    trees = english_trees(TRAINING if quick else 10 * TRAINING)
    weighed = []
    for max_iter in (1, 2):
        scales = Scales()
        sg.ConstituencyParser(N_STATES, n_models=1, max_iter=max_iter, executor=scales).fit(trees)  # type: ignore[arg-type]
        weighed.append((scales.kept, scales.answers))
    out, back = (later - earlier for earlier, later in zip(*weighed, strict=True))
    yield row("constituency, an E-step, to each worker", "MB", out / 1e6)
    yield row("constituency, an E-step, from all shards", "MB", back / 1e6)
