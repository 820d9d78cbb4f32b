"""Counting anywhere: same bits, bounded memory, lost workers replaced, no orphans."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl

from spectragram.engine import Threads, map_reduce, map_threads, resolve_jobs, single_threaded_blas
from spectragram.engine.workers import AHEAD
from spectragram.errors import InputError, LostShardError, RankError

N_WORDS = 40


def pair_counts(tokens: np.ndarray) -> np.ndarray:
    """Counts of neighbouring pairs, and a float sum whose last bits depend on the order of merging."""
    pairs = np.bincount(tokens[:-1] * N_WORDS + tokens[1:], minlength=N_WORDS**2)
    return np.append(pairs.astype(float), np.sqrt(tokens).sum())


def as_list(x: int) -> list[int]:
    return [x]


def slower_the_earlier(x: int) -> list[int]:
    time.sleep(0.02 * (6 - x))
    return [x]


def die_once(witness: Path) -> None:
    """Take the worker down unless the witness tells that this has happened before."""
    try:
        witness.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def die_the_first_time(folder: Path, tokens: np.ndarray) -> np.ndarray:
    die_once(folder / "died")
    return pair_counts(tokens)


def die_the_first_time_for_each(folder: Path, x: int) -> list[int]:
    die_once(folder / str(x))
    return [x]


def die_on(poison: int, x: int) -> list[int]:
    if x == poison:
        os._exit(3)
    return [x]


def refuse(log: Path, x: int) -> int:
    with log.open("a") as stream:
        stream.write(f"{x}\n")
    raise RankError(f"shard {x} has no rank")


def divide(x: int) -> float:
    return 1 / x


def report_and_sleep(folder: Path, seconds: int) -> int:
    (folder / f"{os.getpid()}.pid").touch()
    time.sleep(seconds)
    return seconds


def pair_counts_slowly(folder: Path, tokens: np.ndarray) -> np.ndarray:
    """As :func:`pair_counts`, telling which processes have been at work and giving time to kill one."""
    (folder / f"{os.getpid()}.pid").touch()
    time.sleep(0.15)
    return pair_counts(tokens)


@pytest.fixture
def shards(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.integers(0, N_WORDS, int(n)) for n in rng.integers(200, 900, 12)]


@pytest.fixture
def expected(shards: list[np.ndarray]) -> np.ndarray:
    total = pair_counts(shards[0])
    for shard in shards[1:]:
        total = total + pair_counts(shard)
    return total


def test_this_process_and_local_processes_agree_to_the_last_bit(shards: list[np.ndarray], expected: np.ndarray) -> None:
    for n_jobs in (1, 2):
        assert map_reduce(pair_counts, shards, n_jobs=n_jobs).tobytes() == expected.tobytes()


def test_results_are_merged_in_the_order_of_shards_not_of_finishing() -> None:
    with ThreadPoolExecutor(6) as executor:
        assert map_reduce(slower_the_earlier, range(6), executor=executor) == [0, 1, 2, 3, 4, 5]


def test_a_count_can_be_continued() -> None:
    assert map_reduce(as_list, [2, 3], initial=[0, 1]) == [0, 1, 2, 3]


def test_any_executor_with_submit_will_do() -> None:
    class Later:
        """Runs nothing until asked for the result."""

        def submit(self, function, shard):
            future: Future = Future()
            future.result = lambda: function(shard)  # type: ignore[method-assign]
            return future

    assert map_reduce(as_list, range(20), executor=Later()) == list(range(20))


def test_an_executor_without_submit_is_refused() -> None:
    with pytest.raises(InputError, match=r"executor=list has no submit.*distributed\.Client"):
        map_reduce(as_list, range(3), executor=[])  # type: ignore[arg-type]


def test_shards_are_drawn_only_a_little_ahead_of_the_work() -> None:
    drawn = 0
    most_ahead = 0

    def draw() -> Iterator[int]:
        nonlocal drawn
        while drawn < 100:
            drawn += 1
            yield drawn

    def merge(a: list[int], b: list[int]) -> list[int]:
        nonlocal most_ahead
        most_ahead = max(most_ahead, drawn - len(a))
        return a + b

    with ThreadPoolExecutor(3) as executor:
        merged = map_reduce(as_list, draw(), merge=merge, executor=executor)
    assert merged == list(range(1, 101))
    assert 1 <= most_ahead <= AHEAD * 3


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_tells_how_many_of_how_many(n_jobs: int) -> None:
    calls: list[tuple[int, int | None]] = []
    map_reduce(as_list, range(3), n_jobs=n_jobs, progress=lambda *call: calls.append(call))
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_progress_of_a_generator_has_no_total() -> None:
    calls: list[tuple[int, int | None]] = []
    map_reduce(as_list, iter(range(2)), progress=lambda *call: calls.append(call))
    assert calls == [(1, None), (2, None)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_shards_is_an_error(n_jobs: int) -> None:
    with pytest.raises(InputError, match="no shards"):
        map_reduce(as_list, [], n_jobs=n_jobs)


def test_a_killed_local_worker_is_replaced(tmp_path: Path, shards: list[np.ndarray], expected: np.ndarray) -> None:
    counted = map_reduce(functools.partial(die_the_first_time, tmp_path), shards, n_jobs=2)
    assert (tmp_path / "died").exists()
    assert counted.tobytes() == expected.tobytes()


def test_a_shard_is_not_blamed_again_and_again_for_its_neighbours(tmp_path: Path) -> None:
    # Each is lost at most twice, once beside a neighbour and once by its own doing, if those go one by one.
    work = functools.partial(die_the_first_time_for_each, tmp_path)
    assert map_reduce(work, range(6), n_jobs=2, retries=2) == [0, 1, 2, 3, 4, 5]


def test_the_shard_that_kills_every_worker_is_the_one_named() -> None:
    with pytest.raises(LostShardError, match=r"shard 2 was lost 2 times.*smaller shards"):
        map_reduce(functools.partial(die_on, 2), range(5), n_jobs=2, retries=1)


def test_a_borrowed_executor_that_breaks_is_reported() -> None:
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as executor,
        pytest.raises(LostShardError, match="the executor is broken"),
    ):
        map_reduce(functools.partial(die_on, 0), range(3), executor=executor)


def test_a_refusal_is_not_retried(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    with pytest.raises(RankError, match="shard 7 has no rank"):
        map_reduce(functools.partial(refuse, log), [7, 7], n_jobs=2)
    assert len(log.read_text().splitlines()) <= 2


def test_an_exception_says_which_shard_raised_it() -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(ZeroDivisionError) as caught:
        map_reduce(divide, [1, 2, 0, 4], executor=executor)
    assert caught.value.__notes__ == ["raised while working on shard 2"]


def test_functions_that_cannot_travel_are_refused_with_a_remedy() -> None:
    def local(x: int) -> list[int]:
        return [x]

    for function in (lambda x: [x], local, functools.partial(lambda x, y: [x + y], 1)):
        with pytest.raises(InputError, match=r"cannot be sent to another process.*top level of a module"):
            map_reduce(function, range(3), n_jobs=2)
        assert map_reduce(function, range(3)) is not None


def test_a_function_typed_into_a_session_is_refused() -> None:
    code = """
        from spectragram.engine import map_reduce
        def f(x): return x
        try: map_reduce(f, [1, 2], n_jobs=2)
        except Exception as error: print(error)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True, timeout=60
    )
    assert "f cannot be sent to another process (it was defined in an interactive session)" in run.stdout


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads process states from /proc")
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_an_interrupted_or_killed_parent(tmp_path: Path, signal_number: int) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import functools, pathlib, signal, test_engine\n"
        "if __name__ == '__main__':\n"
        # A shell that started the tests in the background has them ignore interrupts.
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"    work = functools.partial(test_engine.report_and_sleep, pathlib.Path({str(tmp_path)!r}))\n"
        "    test_engine.map_reduce(work, [60, 60, 0], n_jobs=3)\n"  # the third worker soon idles
    )
    parent = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 3)
        workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
        if signal_number == signal.SIGINT:
            os.killpg(parent.pid, signal_number)  # as a terminal does: to the whole group
        else:
            parent.kill()
        _, complaints = parent.communicate(timeout=20)
        assert wait_until(lambda: not any(is_alive(pid) for pid in workers), 10)
        # The interrupt is reported by the parent alone.
        assert complaints.count("Traceback") == complaints.count("KeyboardInterrupt") <= 1
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()


@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_bits(
    tmp_path: Path, shards: list[np.ndarray], expected: np.ndarray
) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=50,
            local_directory=str(tmp_path),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        before = set(client.run(os.getpid).values())

        def kill_one() -> None:
            assert wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
            os.kill(min(before), signal.SIGKILL)

        killer = threading.Thread(target=kill_one)
        killer.start()
        work = functools.partial(pair_counts_slowly, tmp_path)
        counted = map_reduce(work, shards, executor=client)
        assert not killer.is_alive(), "no worker was killed while the work went on"
        killer.join()
        assert len(before) == 2
        assert min(before) not in set(client.run(os.getpid).values())
    assert counted.tobytes() == expected.tobytes()


def test_resolve_jobs() -> None:
    cores = resolve_jobs(-1)
    assert cores >= 1
    assert (resolve_jobs(None), resolve_jobs(1), resolve_jobs(np.int64(5))) == (1, 1, 5)
    assert resolve_jobs(-cores) == 1
    assert resolve_jobs(-cores - 100) == 1
    for bad in (0, True, 1.5, "2"):
        with pytest.raises(InputError, match="positive number of workers"):
            resolve_jobs(bad)  # type: ignore[arg-type]


def test_map_threads_keeps_order_and_runs_at_once() -> None:
    together = threading.Barrier(3)

    def meet(x: int) -> int:
        together.wait(timeout=20)  # passes only when three threads are here
        time.sleep(0.01 * (3 - x))
        return x * x

    assert map_threads(meet, range(3), n_jobs=3) == [0, 1, 4]
    assert map_threads(as_list, iter(range(4)), n_jobs=1) == [[0], [1], [2], [3]]
    assert map_threads(as_list, [], n_jobs=2) == []


def test_map_threads_starts_nothing_new_after_an_error() -> None:
    calls = itertools.count()

    def fail(x: int) -> None:
        next(calls)
        time.sleep(0.01)
        raise RankError(f"item {x}")

    with pytest.raises(RankError, match="item 0"):
        map_threads(fail, range(1000), n_jobs=2)
    assert next(calls) < 100


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def many_blas_threads():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS takes no orders")
        yield


@pytest.mark.usefixtures("many_blas_threads")
def test_blas_is_single_threaded_until_the_last_block_ends() -> None:
    first, second = single_threaded_blas(), single_threaded_blas()
    with first:
        assert blas_threads() == {1}
        second.__enter__()
    # The blocks overlap, as they do in two threads: the one that began first ends first.
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == {2}


@pytest.mark.usefixtures("many_blas_threads")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_map_threads_limits_blas_for_any_number_of_threads(n_jobs: int) -> None:
    assert map_threads(lambda _: blas_threads(), range(3), n_jobs) == [{1}] * 3
    assert blas_threads() == {2}


def test_threads_are_kept_between_calls() -> None:
    with Threads(2) as threads:
        barrier = threading.Barrier(2, timeout=20)

        def name(_: int) -> str:
            barrier.wait()
            return threading.current_thread().name

        first, second = (set(threads.map(name, range(2))) for _ in range(2))
    assert first == second
    assert len(first) == 2
