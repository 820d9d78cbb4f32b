"""Counting pairs: any cut of the text gives the same arrays; interruptions lose nothing."""

from __future__ import annotations

import io
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from spectragram import storage
from spectragram.clusters import PairCounts, TextOptions, count_files, count_sequences, counting
from spectragram.errors import InputError, ModelFileError
from spectragram.synthetic import english_text

LINES = [" ".join(words) for words in english_text(300, seed=5)]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


def same(left: PairCounts, right: PairCounts) -> bool:
    return left.vocabulary == right.vocabulary and all(
        np.array_equal(a.keys, b.keys) and np.array_equal(a.counts, b.counts)
        for a, b in zip(left.tables, right.tables, strict=True)
    )


def as_counter(counts: PairCounts, distance: int) -> Counter[tuple[str, str]]:
    n, words = len(counts.vocabulary), counts.vocabulary.words
    table = counts.tables[distance - 1]
    return Counter(
        {(words[k // n], words[k % n]): c for k, c in zip(table.keys.tolist(), table.counts.tolist(), strict=True)}
    )


@pytest.mark.parametrize("distance", [1, 2])
@pytest.mark.parametrize("boundaries", [False, True])
def test_pairs_are_those_of_the_text(text: Path, boundaries: bool, distance: int) -> None:
    counts = count_files(text, max_size=40, options=TextOptions(boundaries=boundaries))
    kept = set(counts.vocabulary.words)
    lines = [[w if w in kept else "<unk>" for w in line.split()] for line in LINES]
    if not boundaries:
        lines = [[word for line in lines for word in line]]
    expected = Counter(pair for line in lines for pair in zip(line, line[distance:], strict=False))
    assert as_counter(counts, distance) == expected


@pytest.mark.parametrize("boundaries", [False, True])
def test_shards_jobs_and_runs_do_not_show(text: Path, boundaries: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    how = {"max_size": 60, "options": TextOptions(boundaries=boundaries)}
    whole = count_files(text, **how)
    with ThreadPoolExecutor(3) as pool:
        assert same(count_files(text, n_shards=20, executor=pool, **how), whole)
    assert same(count_sequences([line.split() for line in LINES], **how), whole)
    monkeypatch.setattr("spectragram.learning.counts.KEYS_PER_RUN", 50)
    assert same(count_files(text, n_shards=7, **how), whole)


def test_a_dask_cluster_counts_the_same_bits(text: Path) -> None:
    distributed = pytest.importorskip("distributed")
    whole = count_files(text, max_size=60)
    with (
        distributed.LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert same(count_files(text, max_size=60, n_shards=20, executor=client), whole)


def test_shards_of_a_single_word_keep_all_pairs(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("a\nb\nc\na\nc\n")
    counts = count_files(path, n_shards=5)
    assert as_counter(counts, 1) == Counter([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")])
    assert as_counter(counts, 2) == Counter([("a", "c"), ("b", "a"), ("c", "c")])


def test_standard_input_is_read_once(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(text.read_bytes()))
    monkeypatch.setattr("sys.stdin", stream)
    assert same(count_files("-"), count_files(text))
    with pytest.raises(InputError, match="standard input"):
        count_files("-", checkpoint=text.with_suffix(".counts"))


def test_spelling_options(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("The 12 dogs\nthe ٣٤ DOGS\n")
    options = TextOptions(lower=True, fold_digits=True)
    counts = count_files(path, options=options)
    assert counts.vocabulary.words == ("00", "dogs", "the")
    assert same(count_sequences([line.split() for line in path.read_text().split("\n")], options=options), counts)


def test_a_smaller_vocabulary_of_the_same_counts(text: Path) -> None:
    assert same(count_files(text).cut(max_size=30), count_files(text, max_size=30))
    assert same(count_files(text, max_size=50).cut(max_size=30), count_files(text, max_size=30))
    everything = count_files(text)
    assert everything.cut() is everything


@pytest.mark.parametrize(("context", "places"), [("R1", [1]), ("LR1", [1, -1]), ("LR2", [1, -1, 2, -2])])
def test_contexts_are_the_words_around(context: str, places: list[int]) -> None:
    counts = count_sequences([line.split() for line in LINES[:20]], max_size=15)
    stream = counts.vocabulary.encode(word for line in LINES[:20] for word in line.split())
    n = len(counts.vocabulary)
    expected = np.zeros((n, n * len(places)))
    for block, place in enumerate(places):
        for i, word in enumerate(stream):
            if 0 <= i + place < len(stream):
                expected[word, block * n + stream[i + place]] += 1
    np.testing.assert_array_equal(counts.context_matrix(context).toarray(), expected)


def test_counts_are_a_file(text: Path, tmp_path: Path) -> None:
    counts = count_files(text, max_size=50)
    counts.save(tmp_path / "counts")
    restored = PairCounts.load(tmp_path / "counts")
    assert same(restored, counts)
    assert restored.options == counts.options
    storage.write(tmp_path / "other", "tagger", {}, {})
    with pytest.raises(ModelFileError, match="tagger"):
        PairCounts.load(tmp_path / "other")


def test_an_interrupted_count_goes_on_where_it_was(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = count_files(text, max_size=50)
    kept = tmp_path / "counts"
    counted = []
    count_shard = counting._count_shard

    def stop_at_fourth(shard: object, **how: object) -> object:
        counted.append(shard)
        if len(counted) == 4:
            raise KeyboardInterrupt
        return count_shard(shard, **how)

    monkeypatch.setattr(counting, "_count_shard", stop_at_fourth)
    with pytest.raises(KeyboardInterrupt):
        count_files(text, max_size=50, n_shards=9, checkpoint=kept)
    with pytest.raises(ModelFileError, match="interrupted"):
        PairCounts.load(kept)
    assert same(count_files(text, max_size=50, n_shards=9, checkpoint=kept), expected)
    # Three shards were done, the fourth was not: nine and one in all.
    assert len(counted) == 10
    assert same(PairCounts.load(kept), expected)
    # A finished count is read, not counted, and only for the same text and options.
    assert same(count_files(text, max_size=50, checkpoint=kept), expected)
    assert len(counted) == 10
    with pytest.raises(InputError, match="other options"):
        count_files(text, max_size=51, checkpoint=kept)
    text.write_text("other text\n")
    with pytest.raises(InputError, match="other text"):
        count_files(text, max_size=50, checkpoint=kept)


@pytest.mark.parametrize("job", [3, True, [1, 2]])
def test_counts_whose_job_is_no_table(text: Path, tmp_path: Path, job: object) -> None:
    kept = tmp_path / "counts"
    count_files(text, max_size=50, checkpoint=kept)
    stored = storage.read(kept)
    storage.write(kept, stored.kind, stored.header | {"job": job}, stored.arrays)
    with pytest.raises(ModelFileError, match="job is not a table"):
        count_files(text, max_size=50, checkpoint=kept)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "no words"),
        (b"\n \n\t\n", "no words"),
        (b"a a a\na\n", "only one word"),
        (b"a\x00b\n", "NUL"),
        (b"\xff\n", "UTF-8"),
    ],
)
def test_text_that_cannot_be_counted(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        count_files(path)


def test_text_without_a_newline(tmp_path: Path) -> None:
    path = tmp_path / "line"
    path.write_text("a b c a b")
    assert as_counter(count_files(path), 1) == Counter([("a", "b"), ("b", "c"), ("c", "a"), ("a", "b")])


def test_no_word_is_frequent_enough(text: Path) -> None:
    with pytest.raises(InputError, match="min_count"):
        count_files(text, min_count=10**6)
