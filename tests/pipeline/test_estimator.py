"""The pipeline from end to end: what goes in, what comes out, and what it does about treebanks that lack something."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spectragram.data import Sentence, read_conllu, write_conllu
from spectragram.errors import InputError
from spectragram.metrics import UNIVERSAL_SCORES
from spectragram.pipeline import Pipeline
from spectragram.pipeline.raw_text import plain_text
from spectragram.synthetic import english_treebank

TREES = english_treebank(330, seed=1)
TRAIN, TEST = TREES[:300], TREES[300:]
COLUMNS = ("lemma", "upos", "xpos", "feats", "head", "deprel")


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    return Pipeline(preset="fast", n_folds=2).fit(TRAIN)


def without(sentences: list[Sentence], *columns: str) -> list[Sentence]:
    return [s.with_columns(**{name: ["_"] * len(s) for name in columns}) for s in sentences]


def test_raw_text_becomes_annotated_text(pipeline: Pipeline) -> None:
    scores = pipeline.evaluate(TEST, start="raw")
    assert set(UNIVERSAL_SCORES) < set(scores)
    assert scores["words"] > 99
    assert scores["sentences"] > 90
    assert min(scores[name] for name in ("upos", "xpos", "ufeats", "lemmas")) > 90
    assert scores["las"] > 70
    from_words, from_tags = pipeline.evaluate(TEST, start="words"), pipeline.evaluate(TEST, start="tags")
    assert from_words["words"] == from_tags["upos"] == from_tags["lemmas"] == 100
    bare = without(TEST, "feats")  # no features at all, which are right then
    assert pipeline.evaluate(bare, start="tags")["ufeats"] == 100
    assert from_words["las"] <= from_tags["las"] + 3


def test_scoring_from_tags_works_where_gold_has_one_column_of_them(pipeline: Pipeline) -> None:
    full = pipeline.evaluate(TEST, start="tags")
    for lacking in ("xpos", "upos"):
        scores = pipeline.evaluate(without(TEST, lacking), start="tags")
        assert scores[lacking] == 100  # nothing is not compared with a guess
        assert scores["las"] > full["las"] - 10


def test_what_the_treebank_says_of_the_text_comes_back(pipeline: Pipeline) -> None:
    sentence = pipeline("The dog didn't sleep.")[0]
    assert [row[0] for row in sentence.rows] == ["1", "2", "3-4", "3", "4", "5", "6"]
    assert sentence.rows[-2][9] == "SpaceAfter=No"
    assert "# text = The dog didn't sleep." in sentence.comments
    sentence.check_tree()


def test_files_of_every_form_give_the_same_words(pipeline: Pipeline, tmp_path: Path) -> None:
    write_conllu(without(TEST, *COLUMNS), tmp_path / "bare.conllu")
    (tmp_path / "raw.txt").write_text(plain_text(TEST), encoding="utf-8")
    lines = "".join(f"{' '.join(sentence.forms)}\n\n" for sentence in TEST)
    (tmp_path / "words.txt").write_text(lines, encoding="utf-8")
    from_conllu = pipeline.predict(tmp_path / "bare.conllu")
    from_words = pipeline.predict(str(tmp_path / "words.txt"), input="words")
    assert [s.forms for s in from_conllu] == [s.forms for s in from_words] == [s.forms for s in TEST]
    assert [s.words for s in from_words] == [tuple((*row[:9], "_") for row in s.words) for s in from_conllu]
    assert list(pipeline.stream(tmp_path / "raw.txt"))[3].rows == pipeline(plain_text(TEST))[3].rows


def test_python_objects_of_every_form(pipeline: Pipeline) -> None:
    found = pipeline.predict(["The dog slept.", ["The", "dog", "slept", "."], TEST[0]])
    assert found[0].forms == found[1].forms == ["The", "dog", "slept", "."]
    assert found[0].column("upos") == found[1].column("upos")
    assert found[2] == TEST[0]  # complete already


def test_filled_columns_are_kept_unless_they_are_to_be_replaced(pipeline: Pipeline) -> None:
    given = without(TEST[:3], "head", "deprel", "xpos")
    strange = [s.with_columns(lemma=["strange"] * len(s)) for s in given]
    kept = pipeline.predict(strange)
    assert all(s.lemmas == ["strange"] * len(s) for s in kept)
    assert all("_" not in s.xpos and (s.heads >= 0).all() for s in kept)
    replaced = pipeline.predict(strange, replace=["lemma"])
    assert all("strange" not in s.lemmas for s in replaced)
    with pytest.raises(InputError, match="'form' is not filled in by a pipeline; choose among lemma, upos"):
        pipeline.predict(strange, replace=["form"])


def test_holes_are_filled_and_the_rest_of_the_column_is_kept(pipeline: Pipeline) -> None:
    sentence = TEST[0].with_columns(upos=["INTJ", *["_"] * (len(TEST[0]) - 1)])
    found = pipeline.predict([sentence])[0].upos
    assert found[0] == "INTJ"
    assert "_" not in found


LACKING = [("xpos",), ("lemma", "feats"), ("upos",), ("head", "deprel"), ("upos", "xpos", "feats", "lemma"), COLUMNS]


def test_relations_are_found_where_all_heads_are_known(pipeline: Pipeline) -> None:
    bare = without(TEST, "deprel")
    found = pipeline.predict(bare)
    assert [sentence.heads.tolist() for sentence in found] == [sentence.heads.tolist() for sentence in TEST]
    pairs = [pair for a, b in zip(found, TEST, strict=True) for pair in zip(a.deprels, b.deprels, strict=True)]
    assert np.mean([ours == gold for ours, gold in pairs]) > 0.8
    twisted = bare[0].with_columns(head=["2", "1", *(["1"] * (len(bare[0]) - 2))])
    with pytest.raises(InputError, match="cycle"):
        pipeline.predict([twisted])


@pytest.mark.parametrize("missing", LACKING)
def test_what_the_treebank_lacks_is_missing_in_the_output(missing: tuple[str, ...]) -> None:
    pipeline = Pipeline(preset="fast", n_folds=2).fit(without(TRAIN[:60], *missing))
    assert set(pipeline.columns_) == set(COLUMNS) - set(missing)
    for sentence in pipeline(plain_text(TEST[:3])):
        for name in COLUMNS:
            values = sentence.column(name)
            assert all(value == "_" for value in values) if name in missing else any(value != "_" for value in values)


def test_holes_in_training_columns_do_no_harm() -> None:
    holed = []
    for number, sentence in enumerate(TRAIN[:80]):
        values = {name: sentence.column(name) for name in COLUMNS}
        name = COLUMNS[number % 4]
        values[name][number % len(sentence)] = "_"
        holed.append(sentence.with_columns(**values) if number % 9 else sentence.with_heads([-1] * len(sentence)))
    pipeline = Pipeline(preset="fast", n_folds=2).fit(holed)
    assert pipeline.evaluate(TEST, start="words")["upos"] > 80


def test_held_out_sentences_must_have_trees() -> None:
    with pytest.raises(InputError, match="held-out data without trees; give dev sentences in which every word has a"):
        Pipeline(preset="fast", n_folds=0).fit(TRAIN[:20], dev=without(TEST[:3], "head"))
    tagged = Pipeline(preset="fast").fit(without(TRAIN[:20], "head", "deprel"), dev=without(TEST[:3], "head"))
    assert tagged.columns_ == ("lemma", "upos", "xpos", "feats")  # nothing to stop


def test_a_treebank_of_one_sentence() -> None:
    pipeline = Pipeline(preset="fast").fit(TRAIN[:1])
    assert len(pipeline(plain_text(TRAIN[:1]))) >= 1


def test_empty_text_has_no_sentences(pipeline: Pipeline, tmp_path: Path) -> None:
    assert list(pipeline("")) == list(pipeline(" \n\n \t")) == []
    (tmp_path / "empty").write_text("")
    assert list(pipeline.stream(tmp_path / "empty")) == []
    assert list(pipeline.predict([])) == []


def test_strange_text_gets_an_answer(pipeline: Pipeline) -> None:
    for text in ("x" * 3000, "👩‍👩‍👧 🙂!", "שלום עולם.", "a\u200bb\u00ad c\r\nd\te", "." * 500, "\ufeffDogs sleep."):
        sentences = pipeline(text)
        assert "".join("".join(s.column("form")[0]) for s in sentences)
        for sentence in sentences:
            sentence.check_tree()


def test_other_things_than_text_are_refused(pipeline: Pipeline) -> None:
    with pytest.raises(InputError, match="a list where text was expected"):
        pipeline(["The dog"])  # type: ignore[arg-type]


def test_broken_files_are_named(pipeline: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "latin1.txt").write_bytes("fine\nlängs\n".encode("latin1"))
    with pytest.raises(InputError, match=r"latin1.txt:2: .*UTF-8"):
        list(pipeline.stream(tmp_path / "latin1.txt"))
    (tmp_path / "cycle.conllu").write_text("1\ta\t_\tX\t_\t_\t2\tdep\t_\t_\n2\tb\t_\tX\t_\t_\t1\tdep\t_\t_\n\n")
    with pytest.raises(InputError, match=r"cycle.conllu:1: .*cycle"):
        Pipeline().fit(tmp_path / "cycle.conllu")


def test_sentences_get_numbers_unless_they_have_names(pipeline: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text("The dog slept. The cat slept.")
    found = list(pipeline.stream(tmp_path / "raw.txt"))
    assert found[0].comments == ("# newpar", "# sent_id = 1", "# text = The dog slept.")
    assert found[1].comments == ("# sent_id = 2", "# text = The cat slept.")
    write_conllu(TEST[:1], tmp_path / "named.conllu")
    (named,) = pipeline.stream(tmp_path / "named.conllu")
    assert named.comments == TEST[0].comments
    assert next(iter(read_conllu(tmp_path / "named.conllu"))).rows == named.rows
