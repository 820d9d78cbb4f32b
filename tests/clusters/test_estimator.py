"""What a user holds: clusters that mean something, files others read, words that come later."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from spectragram.clusters import WordClusters, count_files, count_sequences
from spectragram.clusters.inspection import write_paths, write_word2vec
from spectragram.clusters.model import Model
from spectragram.data import Corpus
from spectragram.errors import InputError
from spectragram.metrics import stream_mutual_information
from spectragram.synthetic import english_tagged, english_text

TEXT = english_text(1500, seed=2)


@pytest.fixture(scope="module")
def model() -> WordClusters:
    return WordClusters(30, min_count=2, n_dimensions=10).fit(TEXT)


def test_clusters_are_word_classes(model: WordClusters) -> None:
    """Most words of a cluster (rare ones apart) share their most frequent part of speech."""
    tags: dict[str, Counter[str]] = {}
    for words, labels in english_tagged(1500, seed=2):
        for word, tag in zip(words, labels, strict=True):
            tags.setdefault(word, Counter())[tag] += 1
    agree = total = 0
    for words in model.cut(99).values():
        kinds = Counter(tags[word].most_common(1)[0][0] for word in words if tags.get(word, Counter()).total() >= 20)
        agree += max(kinds.values(), default=0)
        total += kinds.total()
    assert total > 100
    assert agree / total > 0.7  # 0.45 when words are shuffled


def test_information_is_that_of_the_stream(model: WordClusters) -> None:
    stream = np.concatenate(model.predict(TEXT))
    expected = stream_mutual_information(stream)
    assert model.summary_["mutual_information"] == pytest.approx(expected, abs=1e-12)
    scores = model.evaluate(TEXT)
    assert scores["mutual_information"] == pytest.approx(expected, abs=1e-12)
    assert scores["clusters"] == 30
    assert scores["tokens"] == sum(map(len, TEXT))


def test_unknown_words_have_their_own_cluster(model: WordClusters) -> None:
    (ids,) = model.predict([["the", "never-seen"]])
    assert ids[1] == model.unknown_cluster_ >= 0
    assert (model.clusters_ == model.unknown_cluster_).sum() == 1


def test_without_unknown_words_there_is_no_such_cluster() -> None:
    everything = WordClusters(5, n_dimensions=0).fit(TEXT)
    assert everything.unknown_cluster_ == -1
    assert everything.predict([["never-seen"]])[0].tolist() == [-1]
    text = [words if i % 3 else ["never-seen", *words, "nor-this"] for i, words in enumerate(TEXT[:60])]
    stream = np.concatenate(everything.predict(text))
    assert everything.score(text) == pytest.approx(stream_mutual_information(np.where(stream < 0, 5, stream)))
    scores = everything.evaluate(text)
    assert (scores["clusters"], scores["unknown"]) == (5, 40)


def test_cuts_nest(model: WordClusters) -> None:
    fine, coarse = model.cut(6), model.cut(3)
    assert len(coarse) <= 8
    assert sum(map(len, coarse.values())) == len(model.vocabulary_)
    for prefix, words in fine.items():
        assert set(words) <= set(coarse[prefix[:3]])
    assert list(model.cut(0)) == [""]


def test_clusters_are_numbered_along_the_tree(model: WordClusters) -> None:
    assert model.cluster_paths_ == sorted(model.cluster_paths_)
    table = np.bincount(model.clusters_, weights=model.vocabulary_.counts)
    np.testing.assert_allclose(model.class_counts_.sum(axis=1), table, atol=1)


def test_presets_trade_time_for_information() -> None:
    fast, best = (WordClusters(40, preset=preset, n_dimensions=0).fit(TEXT).summary_ for preset in ("fast", "best"))
    assert best["mutual_information"] > fast["mutual_information"]
    assert best["passes"] > fast["passes"]


def test_every_word_its_own_cluster() -> None:
    text = [["a", "b", "c", "a"]]
    model = WordClusters(3, n_dimensions=2).fit(text)
    assert sorted(map(len, model.cut(9).values())) == [1, 1, 1]
    one = WordClusters(1, n_dimensions=0).fit(text)
    assert one.cluster_paths_ == ["0"]


def test_the_default_number_follows_the_vocabulary() -> None:
    model = WordClusters(n_dimensions=0).fit(TEXT)
    assert model.summary_["clusters"] == len(model.vocabulary_) // 10


def test_nearest_words_are_alike(model: WordClusters) -> None:
    near = model.nearest("the", 5)
    assert len(near) == 5
    assert [cosine for _, cosine in near] == sorted((cosine for _, cosine in near), reverse=True)
    assert "the" not in dict(near)
    with pytest.raises(InputError, match="vocabulary"):
        model.nearest("never-seen")


def test_one_count_serves_many_models(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("\n".join(map(" ".join, TEXT)))
    counts = count_files(path)
    for size in (60, 100):
        direct = WordClusters(10, max_vocabulary=size, n_dimensions=4).fit(path)
        shared = WordClusters(10, max_vocabulary=size, n_dimensions=4).fit(counts)
        np.testing.assert_array_equal(direct.clusters_, shared.clusters_)
        np.testing.assert_array_equal(direct.vectors_, shared.vectors_)
    with pytest.raises(InputError, match="count the text again"):
        WordClusters(10, lower=True).fit(counts)
    with pytest.raises(InputError, match="distance 2"):
        WordClusters(10, context="LR2").fit(count_sequences(TEXT, window=1))


def test_new_words_go_where_their_neighbours_say(model: WordClusters) -> None:
    """A word renamed in new text lands in the cluster of the word it replaced."""
    frequent = [word for word, n in zip(model.vocabulary_.words, model.vocabulary_.counts, strict=True) if n > 60]
    right = 0
    renamed = frequent[:40]
    for word in renamed:
        text = [[f"{w}-new" if w == word else w for w in words] for words in TEXT if word in words]
        (cluster,) = (c for w, c in model.assign(text).items() if w == f"{word}-new")
        right += cluster == model.clusters_[model.vocabulary_.index[word]]
    assert right >= 0.9 * len(renamed)


def test_an_extended_model_knows_more_and_forgets_nothing(model: WordClusters, tmp_path: Path) -> None:
    text = [["the", "zyx", *words[1:]] for words in TEXT[:50]]
    extended = model.extend(text)
    assert extended.vocabulary_.unknown_id == len(extended.vocabulary_) - 1
    assert extended.predict([["zyx"]])[0][0] != extended.unknown_cluster_
    for word, path in model.paths_.items():
        assert extended.paths_[word] == path
    extended.save(tmp_path / "m")
    np.testing.assert_array_equal(WordClusters.load(tmp_path / "m").clusters_, extended.clusters_)
    assert "zyx" not in model.vocabulary_


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "a b", "\x1c", "\x85", "\u2028", "\x7f"])
def test_no_word_breaks_a_line_of_the_files(word: str) -> None:
    model = WordClusters(2, n_dimensions=2).fit([[word, "x", "y"], ["y", "x"]])
    paths, vectors = io.StringIO(), io.StringIO()
    write_paths(model.model_, paths)
    write_word2vec(model.model_, vectors)
    lines = paths.getvalue().splitlines()
    assert len(lines) == 3
    assert all(len(line.split()) == 3 for line in lines)
    assert all(len(line.split()) == 3 for line in vectors.getvalue().splitlines()[1:])


def test_paths_are_as_in_liangs_tool(model: WordClusters) -> None:
    stream = io.StringIO()
    write_paths(model.model_, stream)
    rows = [line.split("\t") for line in stream.getvalue().splitlines()]
    assert {row[1]: row[0] for row in rows} == model.paths_
    counts = dict(zip(model.vocabulary_.words, model.vocabulary_.counts.tolist(), strict=True))
    assert {row[1]: int(row[2]) for row in rows} == counts
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)


def test_vectors_are_as_in_word2vec(model: WordClusters) -> None:
    stream = io.StringIO()
    write_word2vec(model.model_, stream)
    lines = stream.getvalue().split("\n")
    assert lines[0] == f"{len(model.vocabulary_)} 10"
    word, *values = lines[1].split(" ")
    assert word == model.vocabulary_.words[0]
    np.testing.assert_allclose(np.array(values, float), model.vectors_[0], rtol=1e-4, atol=1e-6)
    with pytest.raises(InputError, match="no vectors"):
        write_word2vec(WordClusters(5, n_dimensions=0).fit(TEXT).model_, stream)


def test_a_corpus_is_as_good_as_lists_of_words(model: WordClusters) -> None:
    corpus = Corpus.from_sequences(TEXT)
    again = WordClusters(**model.get_params()).fit(corpus)
    assert again.paths_ == model.paths_
    for one, other in zip(model.predict(TEXT[:9]), model.predict(corpus.slice(0, 9)), strict=True):
        np.testing.assert_array_equal(one, other)
    assert model.evaluate(corpus) == model.evaluate(TEXT)


@pytest.mark.parametrize("wrong", [[[1, 2]], [["a", None]], [[b"a"]]])
def test_words_must_be_strings_in_lists(wrong: list, model: WordClusters) -> None:
    for method in (model.fit, model.predict, model.evaluate):
        with pytest.raises(InputError):
            method(wrong)


def test_a_file_is_predicted_like_its_lines(model: WordClusters, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("the dog\n\nthe never-seen\n")
    expected = model.predict([["the", "dog"], [], ["the", "never-seen"]])
    for found in (model.predict(path), model.predict(["the dog", "", "the never-seen"])):
        assert len(found) == 3
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == np.int32


def test_a_file_of_counts_is_as_good_as_the_counts(tmp_path: Path) -> None:
    counts = count_sequences(TEXT)
    counts.save(tmp_path / "counts")
    direct = WordClusters(10, n_dimensions=0, max_vocabulary=60).fit(counts)
    again = WordClusters(10, n_dimensions=0, max_vocabulary=60).fit(tmp_path / "counts")
    assert direct.paths_ == again.paths_
    assert len(again.vocabulary_) == 61


def test_unknown_words_are_counted_with_and_without_a_cluster_for_them(model: WordClusters) -> None:
    text = [["the", "never-seen", "dog"], ["nor-this", "the"]]
    assert model.evaluate(text)["unknown"] == 2
    assert WordClusters(5, n_dimensions=0).fit(TEXT).evaluate(text)["unknown"] == 2


def test_spelling_is_that_of_training_not_of_parameters(tmp_path: Path) -> None:
    text = [[word.lower() for word in words] for words in TEXT[:200]]
    model = WordClusters(8, n_dimensions=2, lower=True).fit(TEXT[:200])
    model.set_params(lower=False, boundaries=True)
    expected = WordClusters(8, n_dimensions=2).fit(text)
    for X in (TEXT[:50], tmp_path / "text"):
        if isinstance(X, Path):
            X.write_text("\n".join(map(" ".join, TEXT[:50])))
        assert model.score(X) == expected.score(text[:50])
        np.testing.assert_array_equal(np.concatenate(model.predict(X)), np.concatenate(expected.predict(text[:50])))
    assert model.nearest("THE", 2) == expected.nearest("the", 2)
    assert model.extend([["The", "ZYX", "dog"]]).paths_["zyx"]


def test_negative_depths_and_missing_vectors_are_refused(model: WordClusters) -> None:
    with pytest.raises(InputError, match="bits=-1"):
        model.cut(-1)
    with pytest.raises(InputError, match="no vectors"):
        WordClusters(5, n_dimensions=0).fit(TEXT[:50]).nearest("the")
    with pytest.raises(InputError, match="no two words in a row"):
        model.score([["the"]])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"vectors": np.zeros((3, 2), np.float32)}, "do not fit together"),
        ({"merges": np.zeros((29, 2), np.int64)}, "not a tree"),
        ({"class_counts": np.zeros((2, 2), np.int64)}, "lacks some clusters"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes: dict, problem: str, model: WordClusters) -> None:
    values, arrays = model.model_.to_state()
    with pytest.raises(ValueError, match=problem):
        Model.from_state(values, arrays | changes)
