"""Steps on single sentences: what is known afterwards, and what the file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from spectragram.data.brackets import parse_tree
from spectragram.data.conllu import Sentence
from spectragram.errors import InputError
from spectragram.serve.formats import read_annotations
from spectragram.serve.records import ColumnRecord, TreebankRecord
from spectragram.serve.tree_records import TreeRecord


def treebank(*words: str) -> TreebankRecord:
    return TreebankRecord(Sentence.from_words(words))


def test_a_head_a_tag_and_a_relation_are_written_alone() -> None:
    record = treebank("dogs", "bark", "loudly")
    record = record.after({"op": "arc", "word": 1, "head": 2, "relation": None})
    record = record.after({"op": "tag", "word": 2, "tag": "VERB"})
    rows = record.text().splitlines()
    assert rows[0] == "1\tdogs\t_\t_\t_\t_\t2\t_\t_\t_"
    assert rows[1] == "2\tbark\t_\tVERB\t_\t_\t_\t_\t_\t_"
    assert record.status == "partial"
    assert record.known() == {"tags": [None, "VERB", None], "heads": [2, None, None], "relations": [None, None, None]}
    assert record.after({"op": "clear"}) == treebank("dogs", "bark", "loudly")


def test_the_newest_head_wins() -> None:
    record = treebank("a", "b", "c", "d")
    for word, head in ((2, 1), (3, 2)):
        record = record.after({"op": "arc", "word": word, "head": head, "relation": "x"})
    # 1 <- 3 closes the cycle 3 -> 2 -> 1 -> 3: the head of 2, which leads to 1, has to go.
    record = record.after({"op": "arc", "word": 1, "head": 3, "relation": None})
    assert record.known()["heads"] == [3, None, 2, None]
    assert record.known()["relations"] == [None, None, "x", None]
    record = record.after({"op": "arc", "word": 2, "head": 0, "relation": "root"})
    record = record.after({"op": "arc", "word": 4, "head": 0, "relation": "root"})
    assert record.known()["heads"] == [3, None, 2, 0]


def test_accepting_needs_a_tree() -> None:
    record = treebank("dogs", "bark")
    step = {"op": "accept", "tags": ["NOUN", "VERB"], "heads": [2, 0], "relations": ["nsubj", "root"]}
    assert record.after(step).status == "done"
    with pytest.raises(InputError, match="head"):
        record.after(step | {"heads": [2, 1]})
    assert record.after(step | {"heads": [2, None]}).status == "partial"


@pytest.mark.parametrize(
    "step",
    [
        {"op": "arc", "word": 0, "head": 1},
        {"op": "arc", "word": 1, "head": 3},
        {"op": "arc", "word": 1, "head": 1},
        {"op": "arc", "word": True, "head": 2},
        {"op": "arc", "word": 1, "head": "2"},
        {"op": "tag", "word": 1, "tag": "A\tB"},
        {"op": "tag", "word": 1, "tag": "A\nB"},
        {"op": "tag", "word": 1, "tag": ""},
        {"op": "tag", "word": 1, "tag": "N" * 61},
        {"op": "tag", "word": 1, "tag": 5},
        {"op": "tag", "word": 1, "tag": "\x00"},
        {"op": "accept", "tags": ["A"], "heads": [0, 1], "relations": ["x", "y"]},
        {"op": "accept"},
        {"op": "run"},
        {},
    ],
)
def test_hostile_steps_are_refused(step: dict[str, object]) -> None:
    record = treebank("dogs", "bark")
    with pytest.raises(InputError):
        record.after(step)


def test_labels_of_columns_change_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file.tags"
    path.write_text("U.S.  NNP  _\n.  .  O\n\n\nO O O\n", encoding="utf-8")
    contents = read_annotations(path)
    assert contents.kind == "tags"
    first, second = contents.records
    assert isinstance(first, ColumnRecord) and isinstance(second, ColumnRecord)
    assert first.status == "partial" and second.status == "done"
    assert first.after({"op": "tag", "word": 1, "tag": "B-LOC"}).text() == "U.S.  NNP  B-LOC\n.  .  O\n\n\n"
    # The label is also in the other columns: only the last of them changes.
    assert second.after({"op": "tag", "word": 1, "tag": "X"}).text() == "O O X\n"
    assert first.after({"op": "accept", "tags": ["B-LOC", "O"]}).status == "done"
    assert first.observations((0, 1)) == [("U.S.", "NNP"), (".", ".")]


def tree(text: str) -> TreeRecord:
    return TreeRecord.from_tree(parse_tree(text))


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks))))", "done"),
        ("(? (S (NP (DT the) (NN dog)) (VP (VBZ barks))))", "partial"),
        ("(? (NP (? the) (NN dog)) (? barks))", "partial"),
        ("(? (? the) (? dog))", "open"),
        ("(S (? (NP (NN dog))) (? barks))", "partial"),
        ("(? (!NP (? the) (? dog)) (? barks))", "partial"),
        ("(NN dog)", "done"),
    ],
)
def test_trees_survive_the_round_trip(text: str, status: str) -> None:
    record = tree(text)
    assert record.status == status
    assert record.text() == text + "\n"
    assert TreeRecord.from_tree(parse_tree(record.text())) == record


def test_brackets_are_put_and_removed() -> None:
    record = TreeRecord.from_words(["the", "dog", "(really)", "barks"])
    assert record.text() == "(? (? the) (? dog) (? -LRB-really-RRB-) (? barks))\n"
    record = record.after({"op": "span", "start": 0, "end": 2, "label": "NP"})
    record = record.after({"op": "tag", "word": 2, "tag": "NN"})
    assert record.text() == "(? (NP (? the) (NN dog)) (? -LRB-really-RRB-) (? barks))\n"
    crossing = record.after({"op": "span", "start": 1, "end": 3, "label": "X"})
    assert crossing.known()["spans"] == [[1, 3, "X"]], "the newest bracket wins"
    upper = record.after({"op": "span", "start": 0, "end": 2, "label": "S"})
    assert upper.known()["spans"] == [[0, 2, "S"], [0, 2, "NP"]], "a second bracket goes above"
    renamed = record.after({"op": "span", "start": 0, "end": 2, "label": "DP", "replaces": "NP"})
    assert renamed.known()["spans"] == [[0, 2, "DP"]]
    gone = record.after({"op": "forbid", "start": 0, "end": 2, "label": "NP"})
    assert gone.known()["spans"] == [] and gone.known()["forbidden"] == [[0, 2, "NP"]]
    assert gone.text() == "(? (!NP (? the) (NN dog)) (? -LRB-really-RRB-) (? barks))\n"
    assert gone.after({"op": "forget", "start": 0, "end": 2, "label": "NP"}).known()["forbidden"] == []
    assert gone.after({"op": "span", "start": 0, "end": 2, "label": "NP"}).known()["forbidden"] == []


def test_a_finished_tree_opens_again_when_a_bracket_goes() -> None:
    record = tree("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    assert record.after({"op": "forget", "start": 0, "end": 2, "label": "NP"}).text() == (
        "(? (S (DT the) (NN dog) (VP (VBZ barks))))\n"
    )
    renamed = record.after({"op": "span", "start": 0, "end": 2, "label": "DP", "replaces": "NP"})
    assert renamed.text() == "(S (DP (DT the) (NN dog)) (VP (VBZ barks)))\n" and renamed.status == "done"
    opened = TreeRecord.from_words(["the", "dog", "barks"])
    assert opened.after({"op": "accept", "tree": str(record.tree())}) == record
    with pytest.raises(InputError, match="another sentence"):
        opened.after({"op": "accept", "tree": "(S (NN other))"})
    with pytest.raises(InputError, match="traces"):
        tree("(S (NP (-NONE- *)) (VP (VB go)))").after({"op": "clear"})


@pytest.mark.parametrize(
    "step",
    [
        {"op": "span", "start": 0, "end": 9, "label": "NP"},
        {"op": "span", "start": 1, "end": 1, "label": "NP"},
        {"op": "span", "start": -1, "end": 1, "label": "NP"},
        {"op": "span", "start": 0, "end": 1, "label": "(S"},
        {"op": "forget", "start": 0, "end": 1, "label": "NP"},
        {"op": "accept", "tree": "(S (NN a"},
        {"op": "accept", "tree": 7},
    ],
)
def test_hostile_brackets_are_refused(step: dict[str, object]) -> None:
    with pytest.raises(InputError):
        TreeRecord.from_words(["a", "b"]).after(step)
