"""Bounds on memory, counts on disk, full disks, and training that was interrupted."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectragram.clusters import WordClusters, count_files, learners
from spectragram.clusters.contexts import ContextCounts
from spectragram.clusters.counts import TextOptions
from spectragram.clusters.information import Bigrams
from spectragram.clusters.settings import settings_of
from spectragram.clusters.spectral import word_vectors
from spectragram.clusters.unfinished import NOT_KEPT, Unfinished
from spectragram.engine import memory as engine_memory
from spectragram.engine import parse_memory, release, scratch_array
from spectragram.errors import InputError, ModelFileError
from spectragram.learning import counts as learning_counts
from spectragram.learning.counts import RunningCounts, TupleCounts
from spectragram.synthetic import english_text


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("text") / "text"
    file.write_text("".join(" ".join(words) + "\n" for words in english_text(1500, seed=2)))
    return file


def test_sizes_of_memory() -> None:
    assert [parse_memory(size) for size in ("4GB", "300 mb", "1GiB", 10**9, None)] == [
        4 * 10**9,
        3 * 10**8,
        2**30,
        10**9,
        None,
    ]
    for wrong in ("4 apples", "1MB", -1, True, "GB"):
        with pytest.raises(InputError, match="4GB"):
            parse_memory(wrong)


@pytest.mark.parametrize("memory", [None, 16 * 200, 16 * 5000])
def test_counts_on_disk_are_the_same(
    memory: int | None, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning_counts, "KEYS_PER_RUN", 500)
    keys = (rng.zipf(1.3, 20_000) % 10_000).astype(np.int64)
    runs = RunningCounts(100, memory=memory)
    for block in np.split(keys, 40):
        runs.add(block)
        if rng.random() < 0.1:
            runs.result()  # a checkpoint on the way
    found, expected = runs.result(), TupleCounts.from_keys(keys, 100)
    np.testing.assert_array_equal(found.keys, expected.keys)
    np.testing.assert_array_equal(found.counts, expected.counts)
    assert isinstance(found.keys, np.memmap) == (memory is not None)


def test_clusters_do_not_depend_on_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = WordClusters(20, n_dimensions=5).fit(path)
    monkeypatch.setattr(engine_memory, "LEAST_MEMORY", 1)
    for name in ("BASE_BYTES", "CELL_BYTES", "VECTOR_BYTES"):
        monkeypatch.setattr(f"spectragram.clusters.settings.{name}", 0)
    spilled: list[int] = []
    monkeypatch.setattr(
        "spectragram.clusters.information.scratch_array", lambda n, t: spilled.append(n) or scratch_array(n, t)
    )
    bound = WordClusters(20, n_dimensions=5, memory=160_000).fit(path)
    assert spilled
    np.testing.assert_array_equal(free.clusters_, bound.clusters_)
    np.testing.assert_array_equal(free.vectors_, bound.vectors_)
    assert "memory" not in bound.fitted_params_


@pytest.mark.parametrize("share", [0.02, 0.2, 0.6])
def test_a_bound_on_the_work_of_a_pass_lets_rare_words_wait(
    share: float, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = count_files(path, window=1)
    full = WordClusters(20, n_dimensions=0).fit(counts)
    whole = learners._Words(counts, settings_of(WordClusters(20)), NOT_KEPT)._work(50)[-1]
    monkeypatch.setattr(learners, "PASS_WORK", int(share * whole))
    waited: list[tuple[int, int]] = []
    monkeypatch.setattr(
        learners,
        "exchange",
        lambda *args, run=learners.exchange, **how: (
            waited.append((how["n_open"], how["n_movable"])) or run(*args, **how)
        ),
    )
    found = WordClusters(20, n_dimensions=0).fit(counts)
    assert waited[0][1] < counts.n_words
    assert waited == sorted(waited, key=lambda stage: (-stage[0], stage[1]))  # ever fewer classes of ever more words
    assert waited[-1][1] == counts.n_words
    assert sorted(set(found.clusters_.tolist())) == list(range(20))
    information = "mutual_information"
    assert found.summary_[information] > 0.9 * full.summary_[information]
    # An interrupted training goes on with the same words.
    kept = tmp_path / "kept"
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(Unfinished, "keep", stop_after(4, Unfinished.keep))
        WordClusters(20, n_dimensions=0).fit(counts, checkpoint=kept)
    again = WordClusters(20, n_dimensions=0).fit(counts, checkpoint=kept)
    np.testing.assert_array_equal(again.clusters_, found.clusters_)


def test_what_was_read_leaves_memory_and_comes_back() -> None:
    numbers = scratch_array(10, np.int64)
    numbers[3] = 5
    view = np.asarray(numbers)[2:]
    release(view, np.arange(3))
    assert view.tolist() == [0, 5, 0, 0, 0, 0, 0, 0]


def test_what_cannot_fit_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the bound is 0.5 GB"):
        WordClusters(100_000, memory="500MB").fit(tmp_path / "not there")


def test_vectors_without_a_matrix_are_the_same(path: Path) -> None:
    counts = count_files(path, window=1)
    bigrams = Bigrams.from_counts(counts.tables[0])
    as_matrix = word_vectors(counts.context_matrix("LR1"), 5, 1.0, np.random.default_rng(0), 1e-8)[0]
    as_pairs = word_vectors(ContextCounts(bigrams, (1, -1)), 5, 1.0, np.random.default_rng(0), 1e-8)[0]
    np.testing.assert_allclose(as_matrix @ as_matrix.T, as_pairs @ as_pairs.T, atol=1e-6)
    operator = ContextCounts(bigrams, (1, -1)).scaled(
        np.ones(len(counts.vocabulary)), np.ones(2 * len(counts.vocabulary))
    )
    np.testing.assert_array_equal(operator @ np.eye(operator.shape[1]), counts.context_matrix("LR1").toarray())


def full_disk(*_: Any, **__: Any) -> Any:
    """A file on a disk without room."""
    return Path("/dev/full").open("r+b", buffering=0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no disk that is always full")
def test_a_full_disk_is_named(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", full_disk)
    with pytest.raises(InputError, match=r"no room on the disk.*TMPDIR"):
        engine_memory.file_arrays([(np.arange(10),)])
    monkeypatch.setattr(engine_memory, "LEAST_MEMORY", 1)
    for name in ("BASE_BYTES", "CELL_BYTES", "VECTOR_BYTES"):
        monkeypatch.setattr(f"spectragram.clusters.settings.{name}", 0)
    out = tmp_path / "counts"
    with pytest.raises(InputError, match="no room on the disk"):
        count_files(path, memory=100_000, checkpoint=out)
    assert list(tmp_path.iterdir()) == []


class Stopped(Exception):
    """What an interrupt is in these tests."""


def stop_after(n: int, function: Any) -> Any:
    """The function, which stops the program when it is called for the n-th time."""
    calls = 0

    def stopping(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == n:
            raise Stopped
        return function(*args, **options)

    return stopping


def test_counting_goes_on_among_the_words(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "kept"
    from spectragram.clusters import counting

    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(counting, "count_words", stop_after(4, counting.count_words))
        count_files(path, n_shards=6, checkpoint=kept)
    read: list[Any] = []
    count_words = counting.count_words
    monkeypatch.setattr(
        counting, "count_words", lambda shard, **options: read.append(shard) or count_words(shard, **options)
    )
    found = count_files(path, n_shards=6, checkpoint=kept)
    assert len(read) == 3
    expected = count_files(path)
    assert found.vocabulary.words == expected.vocabulary.words
    for one, other in zip(found.tables, expected.tables, strict=True):
        np.testing.assert_array_equal(one.keys, other.keys)
        np.testing.assert_array_equal(one.counts, other.counts)
    with pytest.raises(InputError, match="other text or with other options"):
        count_files(path, checkpoint=kept, options=TextOptions(lower=True))


@pytest.mark.parametrize("stopped_at", [2, 4, 7])
def test_clustering_goes_on_where_it_was(
    stopped_at: int, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = WordClusters(20, n_dimensions=0, preset="best").fit(path)
    kept = tmp_path / "kept"

    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(Unfinished, "keep", stop_after(stopped_at, Unfinished.keep))
        WordClusters(20, n_dimensions=0, preset="best").fit(path, checkpoint=kept)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["kept", "kept.counts"]
    with pytest.raises(InputError, match="other text or with other parameters"):
        WordClusters(30, n_dimensions=0, preset="best").fit(path, checkpoint=kept)
    passes: list[int] = []
    monkeypatch.setattr(
        learners, "exchange", lambda *args, run=learners.exchange, **options: passes.append(1) or run(*args, **options)
    )
    found = WordClusters(20, n_dimensions=0, preset="best").fit(path, checkpoint=kept)
    np.testing.assert_array_equal(found.clusters_, expected.clusters_)
    assert found.summary_["passes"] == expected.summary_["passes"]
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_that_is_something_else(path: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    WordClusters(5, n_dimensions=0).fit(path).save(kept)
    with pytest.raises(ModelFileError, match="holds 'clusters'"):
        WordClusters(20, n_dimensions=0).fit(path, checkpoint=kept)
