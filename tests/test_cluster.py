"""Every kind on a cluster: the same bytes, few messages, clear errors; and what happens when workers die."""

from __future__ import annotations

import contextlib
import logging
import operator
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import spectragram as sg
from spectragram.automata import prediction
from spectragram.cli import main
from spectragram.engine import Resident, current_executor, map_shards, stream_shards, workers, working_on
from spectragram.engine.cluster import connect
from spectragram.engine.sharding import in_parts
from spectragram.engine.workers import Borrowed
from spectragram.errors import InputError, LostShardError, MissingExtraError
from spectragram.hmm import em as hmm_em
from spectragram.hmm import estimator as hmm_estimator
from spectragram.inference import fixed_tree
from spectragram.learning import counts as learning_counts
from spectragram.learning import ngram_counting, sentence_methods
from spectragram.learning.ensembles import train_members
from spectragram.lm import estimator as lm_estimator
from spectragram.synthetic import english_dependencies, english_tagged
from spectragram.synthetic.english import english_trees
from tests.clusters_of_workers import Courier, Poison, add_up, die_of_poison, die_once
from tests.test_engine import wait_until
from tests.test_estimator_contract import FOLDERS, case_of

METHODS = ("predict", "marginals", "confidence", "log_prob", "next", "measure")


def same(left: Any, right: Any) -> bool:
    """Equal to the last bit, through lists, dictionaries and objects."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    if isinstance(left, list | tuple):
        diagnostics = getattr(left, "diagnostics", None), getattr(right, "diagnostics", None)
        together = zip(left, right, strict=True)
        return diagnostics[0] == diagnostics[1] and len(left) == len(right) and all(same(a, b) for a, b in together)
    if isinstance(left, dict):
        timeless = [name for name in left if "second" not in name]
        return list(left) == list(right) and all(same(left[name], right[name]) for name in timeless)
    if hasattr(left, "__dict__") and not isinstance(left, type):
        return same(vars(left), vars(right))
    return bool(left == right)


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of a few records, so that small corpora have several."""
    for kind in FOLDERS.values():
        monkeypatch.setattr(kind.estimator_class(), "records_per_shard", 3)
    monkeypatch.setattr(prediction, "SHARD_TOKENS", 20)
    monkeypatch.setattr(hmm_estimator, "VALUES_PER_SHARD", 20)
    monkeypatch.setattr(hmm_em, "TOKENS_PER_TREE", 50)
    monkeypatch.setattr(sentence_methods, "BATCHES_PER_SHARD", 2)
    monkeypatch.setattr(lm_estimator, "EVENTS_PER_SHARD", 20)
    monkeypatch.setattr(ngram_counting, "WINDOWS", 100)
    monkeypatch.setattr(learning_counts, "SHARD_TOKENS", 100)


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_every_kind_answers_by_shards_with_the_same_bits(folder: str, small_shards: None) -> None:
    case = case_of(folder)
    model = case.fit(case.make(n_jobs=1))
    courier = Courier()
    for name in METHODS:
        if hasattr(model, name):
            here = getattr(model.set_params(executor=None), name)(case.X())
            before = courier.n_tasks
            there = getattr(model.set_params(executor=courier), name)(case.X())
            assert same(here, there), name
            assert courier.n_tasks > before + 1, f"{name} was not cut into shards"
    gold = (case.X(),) if case.y is None else (case.X(), case.y())
    before = courier.n_tasks
    assert same(model.set_params(executor=None).evaluate(*gold), model.set_params(executor=courier).evaluate(*gold))
    assert courier.n_tasks > before + 1
    assert same(model.predict(case.X()[:2]), model.set_params(executor=None).predict(case.X()[:2]))


X, Y = (list(part) for part in zip(*english_tagged(160, seed=1), strict=True))
TRAINED: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "members of a parser": (
        lambda **where: sg.ConstituencyParser(2, n_models=2, max_iter=1, **where),
        (english_trees(60),),
        {"dev": english_trees(70)[60:]},
    ),
    "trees of a parser": (
        lambda **where: sg.ConstituencyParser(2, n_models=1, max_iter=2, **where),
        (english_trees(60),),
        {},
    ),
    "members of a tagger": (
        lambda **where: sg.Tagger(2, n_models=2, max_iter=1, n_epochs=1, **where),
        (X[:120], Y[:120]),
        {"dev": (X[120:], Y[120:])},
    ),
    "members of a dependency parser": (
        lambda **where: sg.DependencyParser(2, n_models=2, max_iter=1, n_epochs=1, **where),
        (english_dependencies(60),),
        {"dev": english_dependencies(70)[60:]},
    ),
    "sequences of a hidden Markov model": (
        lambda **where: sg.HMM(2, max_iter=3, **where),
        ([np.arange(i, i + 9) % 4 for i in range(40)],),
        {},
    ),
    "n-grams and classes of a language model": (
        lambda **where: sg.LanguageModel(4, max_iter=2, boundaries=True, **where),
        (X[:120],),
        {"dev": X[120:]},
    ),
}


@pytest.mark.parametrize("what", TRAINED)
def test_workers_train_the_same_model(what: str, small_shards: None, tmp_path: Path) -> None:
    make, data, options = TRAINED[what]
    courier = Courier()
    make(n_jobs=1).fit(*data, **options).save(tmp_path / "here")
    make(executor=courier).fit(*data, **options).save(tmp_path / "there")
    assert courier.n_tasks > 1
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


def test_an_executor_is_shared_by_copies_and_left_behind_by_pickles_and_files(tmp_path: Path) -> None:
    courier = Courier()
    model = sg.Tagger(2, "hmm", executor=courier).fit(X, Y)
    assert clone(model).executor is courier
    assert pickle.loads(pickle.dumps(model)).executor is None
    model.save(tmp_path / "model")
    assert sg.load(tmp_path / "model").get_params()["executor"] is None
    with pytest.raises(InputError, match="executor=int has no submit"):
        sg.Tagger(2, "hmm", executor=3).fit(X, Y)  # type: ignore[arg-type]


def test_the_model_is_sent_once_for_many_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sg.Tagger, "records_per_shard", 20)
    model = sg.Tagger(2, "hmm").fit(X, Y)
    scattered = []

    class Client(Courier):
        status = "running"

        def nthreads(self) -> dict[str, int]:
            return {"worker": 2}

        def get_executor(self, pure: bool) -> Any:
            return SimpleNamespace(submit=lambda function, part, kept: self.submit(function, part, kept.value))

        def scatter(self, values: list[Any], hash: bool) -> list[Any]:
            scattered.extend(values)
            return [SimpleNamespace(value=value, status="finished") for value in values]

    model.set_params(executor=Client())
    first, second = model.predict(X), model.predict(X)
    assert first == second == model.set_params(executor=None).predict(X)
    assert len(scattered) == 1


# The engine


def double(shard: int, factor: int = 2) -> int:
    return shard * factor


def test_shards_stay_in_order_and_tasks_do_their_own_work() -> None:
    with ThreadPoolExecutor(3) as pool, working_on(pool):
        assert current_executor() is pool
        assert map_shards(double, range(9), 3) == [3 * n for n in range(9)]
        assert map_shards(executor_seen, range(2)) == [None, None]
        assert Resident(double, range(5))(10) == [0, 10, 20, 30, 40]
        found = train_members(lambda number, n_jobs, report: (number, n_jobs), 3, 8)
        assert found == [(0, 1), (1, 1), (2, 1)]
    assert current_executor() is None
    courier = Courier()
    with working_on(courier):
        assert map_shards(executor_seen, range(2)) == [None, None]
        assert map_shards(double, [4]) == [8]
    assert courier.n_tasks == 2, "a single shard is not worth sending"


def executor_seen(shard: int) -> Any:
    return current_executor()


def test_members_report_what_they_would_have_reported_here() -> None:
    steps: list[int] = []

    def learn(number: int, n_jobs: int, report: Any) -> int:
        for _ in range(3):
            report(log_likelihood="-1")
        return number

    with ThreadPoolExecutor(2) as pool, working_on(pool):
        assert train_members(learn, 2, 1, lambda n=1, **facts: steps.append(n)) == [0, 1]
    assert steps == [3, 3]


def test_only_the_trees_of_a_shard_travel() -> None:
    start = np.array([0, 2, 5, 6])
    children = np.array([-1, 0, -1, 2, 3, -1], np.int32)
    flat = np.arange(6, dtype=np.int32)
    nodes = fixed_tree.Nodes(flat, flat, flat, children, children, flat, start, np.array([1.0, 0.5, 2.0])).trees(1, 2)
    assert nodes.tree_start.tolist() == [0, 3]
    assert nodes.weight.tolist() == [0.5]
    assert nodes.symbol.tolist() == [2, 3, 4]
    assert nodes.left.tolist()[1:] == [0, 1]
    assert nodes.left.dtype == np.int32


def test_parts() -> None:
    assert list(map(list, in_parts(iter("abcde"), 2))) == [["a", "b"], ["c", "d"], ["e"]]


# Clusters that are not there


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("local:0", "--cluster local:0; give the address of a scheduler"),
        ("local:many", "--cluster local:many; give"),
        ("scheduler", "--cluster scheduler; give"),
        ("nonsense://host:1", "no cluster at nonsense://host:1"),
    ],
)
def test_bad_addresses_are_refused(where: str, message: str) -> None:
    with pytest.raises(InputError) as caught, connect(where):
        pass
    assert message in str(caught.value)


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"spectragram\[dask\]"), connect("local:2"):
        pass
    with connect(None) as nothing:
        assert nothing is None


class Vanishing:
    """A Dask client whose scheduler goes away with the third task."""

    def __init__(self) -> None:
        self.status, self.n_tasks = "running", 0
        self.scheduler = SimpleNamespace(address="tcp://scheduler:8786")

    def nthreads(self) -> dict[str, int]:
        return {"worker": 1}

    def get_executor(self, pure: bool) -> Any:
        return self

    def scatter(self, values: list[Any], hash: bool) -> list[Any]:
        return [SimpleNamespace(value=value, status="finished") for value in values]

    def who_has(self, futures: list[Any]) -> dict[str, list[str]]:
        return {"kept": ["worker"]}

    def submit(self, function: Any, part: Any, kept: Any) -> Future[Any]:
        self.n_tasks += 1
        future: Future[Any] = Future()
        if self.n_tasks < 3:
            future.set_result(function(part, kept.value))
        else:
            self.status = "closed"
            future.set_exception(CancelledError())
        return future


def test_a_vanished_scheduler_is_one_error_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sg.Tagger(2, "hmm").fit(X, Y).save(tmp_path / "model")
    (tmp_path / "text").write_text("".join("\n".join(words) + "\n\n" for words in X), encoding="utf-8")
    monkeypatch.setattr(sg.Tagger, "records_per_shard", 20)
    monkeypatch.setattr("spectragram.engine.cluster.connect", lambda where: contextlib.nullcontext(Vanishing()))
    model, text, out = (str(tmp_path / name) for name in ("model", "text", "out"))
    assert main(["predict", model, text, "--out", out, "--cluster", "tcp://scheduler:8786"]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("error: the connection to tcp://scheduler:8786 is lost; see whether the scheduler")
    assert complaint.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "text"]


@pytest.mark.parametrize(("n_failures", "status"), [(3, "running"), (4, "running"), (1, "closed")])
def test_a_value_is_sent_again_if_its_worker_dies_while_it_arrives(
    n_failures: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "PAUSE_SECONDS", 0.0)
    client, arrive, failures = Vanishing(), Vanishing.scatter, [OSError("Stream is closed")] * n_failures

    def scatter(values: list[Any], hash: bool) -> list[Any]:
        if failures:
            client.status = status
            raise failures.pop()
        return arrive(client, values, hash)

    monkeypatch.setattr(client, "scatter", scatter)
    if n_failures == 3:
        assert list(stream_shards(operator.add, [1, 2], client, 10)) == [11, 12]
    else:
        with pytest.raises(LostShardError, match=r"does not answer|is lost"):
            list(stream_shards(operator.add, [1, 2], client, 10))


# A real cluster


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    # Dask gives a task up after its first death, so that tests need not wait for three more.
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), connect("local:2") as found:
        yield found


def test_the_command_line_gives_the_same_bytes_on_a_cluster(
    client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--cluster", client.scheduler.address]
    data = tmp_path / "data.tags"
    rows = ["".join(f"{w}\t{t}\n" for w, t in zip(*pair, strict=True)) + "\n" for pair in zip(X, Y, strict=True)]
    data.write_text("".join(rows * 4), encoding="utf-8")  # two shards
    train = ["train", "tagger", str(data), "--models", "2", "--states", "2", "--epochs", "1", "--iterations", "1", "-q"]
    answers = {}
    for name, place in (("here", []), ("there", where)):
        model, out = str(tmp_path / f"{name}.model"), tmp_path / f"{name}.out"
        assert main([*train, "--out", model, *place]) == 0
        assert main(["predict", model, str(data), "--out", str(out), *place]) == 0
        capsys.readouterr()
        assert main(["evaluate", model, str(data), *place]) == 0
        lines = capsys.readouterr().out.splitlines()
        scores = [line for line in lines if not line.startswith("tokens_per_second")]
        answers[name] = (Path(model).read_bytes(), out.read_bytes(), scores)
    assert answers["here"] == answers["there"]
    assert len(answers["here"][1]) > 1000


def test_dask_logs_nothing_beside_our_errors(client: Any) -> None:
    """A client whose scheduler is gone would log the traceback of its attempt to connect again."""
    loggers = [logging.getLogger(name) for name in ("distributed.client", "distributed.core", "distributed.scheduler")]
    assert [logger.getEffectiveLevel() for logger in loggers] == [logging.CRITICAL] * 3


def test_a_killed_worker_changes_nothing(client: Any, tmp_path: Path) -> None:
    assert list(stream_shards(die_once, range(6), client, tmp_path / "prediction")) == list(range(6))
    shards = [np.full(4, float(n)) for n in range(4)]
    with working_on(client):
        expect = Resident(add_up, shards)
        for now in (0.5, 1.0, 2.0):
            assert expect(tmp_path / "e-step", now) == [4 * n * now for n in range(4)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e-step", "prediction"]


def test_a_killed_worker_changes_no_tree(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sg.ConstituencyParser, "records_per_shard", 4)
    sentences = [tree.leaves() for tree in english_trees(160)[60:]]
    parser = sg.ConstituencyParser(2, n_models=1, max_iter=1, n_jobs=1).fit(english_trees(60))
    here = list(map(str, parser.predict(sentences)))
    assert wait_until(lambda: len(client.nthreads()) == 2)
    before = client.run(os.getpid)

    def kill_one() -> None:
        wait_until(lambda: any(client.processing().values()))
        os.kill(min(before.values()), signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    there = list(map(str, parser.set_params(executor=client).predict(sentences)))
    killer.join()
    assert there == here
    assert wait_until(lambda: min(before.values()) not in client.run(os.getpid).values())


def test_a_shard_that_kills_every_worker_is_named(client: Any) -> None:
    with pytest.raises(LostShardError, match=r"shard 3 \(records 3 to 3\) was lost 4 times"):
        list(stream_shards(die_of_poison, map(Poison, range(5)), client))
    assert Borrowed(client).window >= 2  # the cluster is still of use


@pytest.mark.slow
def test_an_interrupt_ends_workers_and_writes_nothing(tmp_path: Path) -> None:
    parser = sg.ConstituencyParser(2, n_models=1, max_iter=1, n_jobs=1).fit(english_trees(60))
    parser.save(tmp_path / "model")
    text = "\n".join(" ".join(tree.leaves()) for tree in english_trees(400)) + "\n"
    (tmp_path / "text").write_text(text * 100, encoding="utf-8")  # far more than is parsed before the interrupt
    options = ["predict", "model", "text", "--out", "never", "--cluster", "local:2"]
    # A shell that started the tests in the background has them ignore interrupts, and programs inherit that.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from spectragram.cli import run; run()"
    )
    command = subprocess.Popen(
        [sys.executable, "-c", code, *options],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert wait_until(lambda: len(processes_of(command.pid)) >= 4, 60)  # two workers and Python's own helper
        time.sleep(1.0)
        os.killpg(command.pid, signal.SIGINT)  # as a terminal does: to the whole group
        _, complaints = command.communicate(timeout=60)
        assert command.returncode == 130, complaints
        assert "\ninterrupted\n" in complaints
        assert "Traceback" not in complaints
        assert wait_until(lambda: not processes_of(command.pid), 20)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "text"]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(command.pid, signal.SIGKILL)


def processes_of(group: int) -> list[int]:
    """Living processes of a group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            state, _, of = folder.joinpath("stat").read_text().rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z":
                found.append(int(folder.name))
    return found
