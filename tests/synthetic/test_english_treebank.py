"""The demo corpus as a complete treebank."""

from __future__ import annotations

from spectragram.synthetic import english_dependencies, english_treebank

TREEBANK = english_treebank(300, seed=5)


def test_the_trees_are_those_of_the_dependency_corpus() -> None:
    for complete, plain in zip(TREEBANK, english_dependencies(300, seed=5), strict=True):
        assert complete.heads.tolist() == plain.heads.tolist()
        assert complete.xpos == plain.xpos
        complete.check_tree()


def test_tokens_and_spaces_make_the_text() -> None:
    for sentence in TREEBANK:
        text, covered = "", 0
        for row in sentence.rows:
            first, _, last = row[0].partition("-")
            if int(first) > covered:
                text += row[1] + ("" if row[9] == "SpaceAfter=No" else " ")
                covered = int(last or first)
        assert f"# text = {text.rstrip()}" == sentence.comments[-1]


def test_there_are_multiword_tokens_lemmas_and_features() -> None:
    rows = [row for sentence in TREEBANK for row in sentence.rows]
    assert any(row[1] == "didn't" and "-" in row[0] for row in rows)
    assert any(row[1] == "n't" and row[2] == "not" for row in rows)
    assert any(row[2] == "mouse" and row[1] == "mice" and row[5] == "Number=Plur" for row in rows)
    assert sum("# newpar" in sentence.comments for sentence in TREEBANK) == 60
