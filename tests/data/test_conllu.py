from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.data.conllu import COLUMNS, Sentence, parse_conllu, read_conllu, write_conllu
from spectragram.data.projectivity import find_tree_problem
from spectragram.errors import InputError
from spectragram.files import open_input

EXAMPLE = (
    "# sent_id = 1\n"
    "# text = Vámonos al mar\n"
    "1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
    "1\tVamos\tir\tVERB\tV\tMood=Imp\t0\troot\t0:root\t_\n"
    "2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t1:obj\t_\n"
    "2.1\tnada\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "2.2\tnada\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3\ta\ta\tADP\tI\t_\t5\tcase\t5:case\t_\n"
    "4\tel\tel\tDET\tD\t_\t5\tdet\t5:det\t_\n"
    "5\tmar\tmar\tNOUN\tN\t_\t1\tobl\t1:obl\t_\n"
    "\n"
)


def with_heads(*heads: int | str) -> str:
    """A sentence of as many words as there are heads."""
    rows = (f"{i}\tw{i}\t_\t_\t_\t_\t{head}\t_\t_\t_" for i, head in enumerate(heads, 1))
    return "\n".join(rows) + "\n\n"


def words_of(*ids: str) -> str:
    return "".join(f"{identifier}\tw\t_\t_\t_\t_\t_\t_\t_\t_\n" for identifier in ids) + "\n"


def test_everything_is_kept_and_models_see_the_words() -> None:
    (sentence,) = parse_conllu(EXAMPLE, check_tree=True)
    assert f"{sentence}\n" == EXAMPLE
    assert len(sentence) == 5
    assert sentence.forms == ["Vamos", "nos", "a", "el", "mar"]
    assert sentence.lemmas == ["ir", "nosotros", "a", "el", "mar"]
    assert sentence.upos == ["VERB", "PRON", "ADP", "DET", "NOUN"]
    assert sentence.xpos == ["V", "P", "I", "D", "N"]
    assert sentence.deprels == ["root", "obj", "case", "det", "obl"]
    assert sentence.column("deps")[-1] == "1:obl"
    assert sentence.heads.tolist() == [0, 1, 5, 5, 1]
    assert sentence.heads.dtype == np.int32
    assert sentence.comments == ("# sent_id = 1", "# text = Vámonos al mar")


def test_predictions_replace_single_columns() -> None:
    (sentence,) = parse_conllu(EXAMPLE)
    other = sentence.with_heads([2, 0, 2, 2, 2], deprels=list("abcde")).with_columns(upos=list("ABCDE"))
    assert other.heads.tolist() == [2, 0, 2, 2, 2]
    assert other.deprels == list("abcde")
    assert other.upos == list("ABCDE")
    assert other.with_columns(head=list("01551"), deprel=sentence.deprels, upos=sentence.upos) == sentence
    blank = sentence.with_heads([-1] * 5)
    assert blank.column("head") == ["_"] * 5
    assert blank.heads.tolist() == [-1] * 5


def test_predictions_that_do_not_fit_are_refused() -> None:
    (sentence,) = parse_conllu(EXAMPLE)
    for change, message in [
        ({"upos": ["A"]}, "1 values of upos for 5 words"),
        ({"upos": ["A", "B", "C", "D", ""]}, "upos '' is empty"),
        ({"upos": ["A", "B", "C", "D", "a\tb"]}, "contains a tab"),
        ({"tag": ["A"] * 5}, "no column 'tag' in CoNLL-U; choose among id, form"),
    ]:
        with pytest.raises(InputError, match=message):
            sentence.with_columns(**change)
    with pytest.raises(InputError, match="head 6 in a sentence of 5 words"):
        sentence.with_heads([0, 1, 1, 1, 6])


def test_heads_may_be_missing_unless_trees_are_asked_for() -> None:
    assert parse_conllu(with_heads("_", "_"))[0].heads.tolist() == [-1, -1]
    with pytest.raises(InputError, match=r"line 1: word 1 \(w1\): has no head"):
        parse_conllu(with_heads("_", "_"), check_tree=True)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (with_heads(0) + "1\tw\t_\n", 3, "3 columns, expected 10 separated by tabs"),
        ("1 w _ _ _ _ 0 _ _ _\n", 1, "1 columns, expected 10"),
        (words_of("1", "3"), 2, "id '3', expected 2"),
        (words_of("2"), 1, "id '2', expected 1"),
        (words_of("1", "1"), 2, "id '1', expected 2"),
        (words_of("1", "x"), 2, "id 'x', expected 2"),
        (words_of("1", "3-4", "2"), 2, "id '3-4', expected 2"),
        (words_of("1-3", "1", "2-4", "2", "3", "4"), 3, "id '2-4', expected 2"),
        (words_of("2-1", "1"), 1, "id '2-1', expected 1"),
        (words_of("1-9999999999", "1"), 1, "expected 1"),
        (words_of("1", "1.2"), 2, "id '1.2', expected 2"),
        (words_of("1-3", "1", "2"), 1, "a multi-word token up to word 3 in a sentence of 2"),
        (words_of("0.1"), 1, "a sentence without words"),
        ("# only\n\n", 2, "a sentence without words"),
        ("1\tw\t_\t_\t_\t_\t0\t_\t_\t_\n# late\n", 2, "a comment inside a sentence"),
        (with_heads(0, 3), 2, "head '3' of word 2"),
        (with_heads(0, "-1"), 2, "head '-1' of word 2"),
        (with_heads(0, 3).rstrip("\n"), 2, "head '3' of word 2"),
        (with_heads("1" * 5000), 1, "head '1111"),
        (with_heads("١"), 1, "head '١' of word 1"),
    ],
)
def test_malformed_files_are_refused_with_their_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "bad.conllu"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(read_conllu(path))
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("heads", "line", "message"),
    [
        ((0, 3, 4, 2), 2, "its heads form a cycle: 2 <- 3 <- 4 <- 2"),
        ((0, 2), 2, "its heads form a cycle: 2 <- 2"),
        ((2, 0, 2, 0), 4, "a second root: word 2 has head 0 already"),
        ((2, 3, 1), 1, "cycle"),  # no root at all
        ((0, "_"), 2, "has no head"),
    ],
)
def test_heads_that_are_no_tree_are_refused_on_demand(
    tmp_path: Path, heads: tuple[int | str, ...], line: int, message: str
) -> None:
    path = tmp_path / "bad.conllu"
    path.write_text(with_heads(0) + "# second\n" + with_heads(*heads))
    assert len(list(read_conllu(path))) == 2
    with pytest.raises(InputError) as caught:
        list(read_conllu(path, check_tree=True))
    assert str(caught.value).startswith(f"{path}:{line + 3}: word {line} (w{line}): ")
    assert message in str(caught.value)


def test_the_line_of_a_bad_head_counts_multi_word_tokens_and_empty_nodes() -> None:
    with pytest.raises(InputError, match=r"line 9: word 3 \(a\): its heads form a cycle: 3 <- 5 <- 3"):
        parse_conllu(EXAMPLE.replace("mar\tNOUN\tN\t_\t1", "mar\tNOUN\tN\t_\t3"), check_tree=True)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_any_heads_are_a_tree_or_an_error(heads: list[int]) -> None:
    heads = [head % (len(heads) + 1) for head in heads]
    (sentence,) = parse_conllu(with_heads(*heads))
    assert sentence.heads.tolist() == heads
    if find_tree_problem(heads) is None:
        sentence.check_tree()
    else:
        with pytest.raises(InputError, match=r"line \d+: word"):
            sentence.check_tree()


FIELD = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r\0"), min_size=1, max_size=5)


@given(st.lists(st.lists(FIELD, min_size=8, max_size=8), min_size=1, max_size=5), st.lists(FIELD, max_size=2))
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], comments: list[str]
) -> None:
    path = tmp_path_factory.mktemp("conllu") / "file"
    names = [name for name in COLUMNS if name not in ("id", "head")]
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    forms = columns.pop("form")
    sentence = Sentence.from_words(forms, [f"# {comment}" for comment in comments], **columns)
    write_conllu([sentence, sentence], path)
    first, second = read_conllu(path)
    assert (first.comments, first.rows) == (second.comments, second.rows) == (sentence.comments, sentence.rows)


def test_line_ends_and_missing_blank_lines_are_mended(tmp_path: Path) -> None:
    path = tmp_path / "dos.conllu"
    path.write_bytes(
        ("\n \n" + with_heads(0).rstrip() + "\n\t\n\n" + with_heads(0).rstrip()).replace("\n", "\r\n").encode()
    )
    write_conllu(read_conllu(path), tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == (with_heads(0) * 2).encode()


def test_an_empty_file_holds_no_sentences(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert list(read_conllu(tmp_path / "empty")) == []


# Sentences and words are those of the corpora's own documentation.
@pytest.mark.parametrize(
    ("name", "sentences", "words"),
    [
        ("ud-ewt/en_ewt-ud-train.conllu.gz", 12544, 204577),
        ("ud-ewt/en_ewt-ud-dev.conllu.gz", 2001, 25147),
        ("wsj-dependencies/train.conllu.gz", 2936, 70217),
        ("wsj-dependencies/dev.conllu", 555, 13676),
    ],
)
def test_real_files_come_back_byte_for_byte(
    data_dir: Path, tmp_path: Path, name: str, sentences: int, words: int
) -> None:
    read = list(read_conllu(data_dir / name, check_tree=True))
    assert (len(read), sum(map(len, read))) == (sentences, words)
    write_conllu(read, tmp_path / "out")
    with open_input(data_dir / name) as original:
        assert (tmp_path / "out").read_bytes() == original.read()
