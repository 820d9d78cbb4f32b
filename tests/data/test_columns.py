from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.data.columns import read_columns, write_columns
from spectragram.errors import InputError
from spectragram.files import open_input

DOCUMENTS = """\
-DOCSTART- -X- O

EU NNP B-ORG
rejects VBZ O

-DOCSTART- -X- O
Peter NNP B-PER


. . O
-DOCSTART- -X- O
"""


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "columns"
        path.write_bytes(text.encode())
        return path

    return write


def columns_of(path: Path, *args, **options) -> list[tuple[list[str], ...]]:
    return [sentence.columns for sentence in read_columns(path, *args, **options)]


def test_blank_lines_end_sentences_and_columns_are_chosen_by_place(write) -> None:
    path = write("the DT O\ndog NN B\n\n\nit PRP B\n")
    assert columns_of(path) == [
        (["the", "dog"], ["DT", "NN"], ["O", "B"]),
        (["it"], ["PRP"], ["B"]),
    ]
    assert columns_of(path, (-1, 0)) == [(["O", "B"], ["the", "dog"]), (["B"], ["it"])]
    assert [sentence.line for sentence in read_columns(path)] == [1, 5]


def test_the_first_line_tells_the_separator(write) -> None:
    assert columns_of(write("New York\tLOC\nis nice\tO\n")) == [(["New York", "is nice"], ["LOC", "O"])]
    assert columns_of(write("a  b\nc \td\n")) == [(["a", "c"], ["b", "d"])]
    assert columns_of(write("no\xa0break x\n")) == [(["no\xa0break"], ["x"])]
    assert columns_of(write("a b\nc d\n"), separator="tab") == [(["a b", "c d"],)]
    assert columns_of(write("a\tb c\n"), separator="blank") == [(["a"], ["b"], ["c"])]
    with pytest.raises(InputError, match="separator 'comma'; choose among auto, tab, blank"):
        columns_of(write("a\n"), separator="comma")


def test_document_marks_are_no_tokens_but_are_kept(write, tmp_path: Path) -> None:
    sentences = list(read_columns(write(DOCUMENTS), (0,)))
    assert [sentence.columns[0] for sentence in sentences] == [["EU", "rejects"], ["Peter"], ["."]]
    write_columns(sentences, tmp_path / "out")
    assert (tmp_path / "out").read_text() == DOCUMENTS


def test_predictions_stand_beside_the_input_line_for_line(write, tmp_path: Path) -> None:
    sentences = list(read_columns(write(DOCUMENTS)))
    write_columns(sentences, tmp_path / "out", [["1", "2"], ["3"], ["4"]])
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines == [
        *("-DOCSTART- -X- O O", "", "EU NNP B-ORG 1", "rejects VBZ O 2", ""),
        *("-DOCSTART- -X- O O", "Peter NNP B-PER 3", "", "", ". . O 4", "-DOCSTART- -X- O O"),
    ]
    with pytest.raises(InputError, match="1 predictions for the 2 tokens of line 3"):
        write_columns(sentences, tmp_path / "out", [["1"], ["3"], ["4"]])
    assert (tmp_path / "out").read_text().splitlines() == lines, "the old file stays"


def test_predictions_in_a_tab_file_are_separated_by_tabs(write, capsys: pytest.CaptureFixture[str]) -> None:
    write_columns(read_columns(write("New York\n"), separator="tab"), None, [["LOC"]])
    assert capsys.readouterr().out == "New York\tLOC\n"


@pytest.mark.parametrize(
    ("text", "chosen", "line", "message"),
    [
        ("a b\nc d\n\ne\n", None, 4, "1 columns separated by blanks, but 2 on line 1"),
        ("\na\tb\nc\td\te\n", (0,), 3, "3 columns separated by tabs, but 2 on line 2"),
        ("a b\n", (0, 2), 1, "no column 2: there are 2; choose from 0 to 1, or -1 for the last"),
        ("a b\n", (-3,), 1, "no column -3"),
        ("a\tb\n\tb\n", None, 2, "an empty column"),
    ],
)
def test_missing_columns_are_refused_with_their_line(write, text, chosen, line, message) -> None:
    path = write(text)
    with pytest.raises(InputError) as caught:
        columns_of(path, chosen)
    assert str(caught.value).startswith(f"{path}:{line}: {message}")


def test_a_file_without_tokens_has_no_sentences(write) -> None:
    assert columns_of(write("")) == []
    assert columns_of(write("\n\n")) == []


LINE = st.sampled_from(["a b", "ü  c", "x \ty", "", " ", "-DOCSTART- O"])


@given(lines=st.lists(LINE, max_size=12))
def test_files_with_tokens_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    folder = tmp_path_factory.mktemp("columns")
    lines = ["a b", *lines]
    (folder / "in").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sentences = list(read_columns(folder / "in", (0,), separator="blank"))
    write_columns(sentences, folder / "out")
    assert (folder / "out").read_bytes() == (folder / "in").read_bytes()
    words = [line.split()[0] for line in lines if line.strip() and not line.startswith("-DOC")]
    assert [word for sentence in sentences for word in sentence.columns[0]] == words


# Sentences, tokens and spans (B- tags) are those of the corpora's own documentation, which counts the document
# marks of the Dutch files (287 and 74) as tokens.
@pytest.mark.parametrize(
    ("name", "sentences", "tokens", "spans"),
    [
        ("conll2000/train.txt.gz", 7936, 188059, 95219),
        ("conll2000/dev.txt", 1000, 23668, 11759),
        ("conll2002/esp.train.gz", 8323, 264715, 18797),
        ("conll2002/esp.testa", 1915, 52923, 4351),
        ("conll2002/ned.train.gz", 15806, 202931 - 287, 13344),
        ("conll2002/ned.testa", 2895, 37761 - 74, 2616),
        ("wnut17/train.conll", 3394, 62730, 1975),
        ("wnut17/dev.conll", 1009, 15733, 836),
    ],
)
def test_real_files_come_back_byte_for_byte(
    data_dir: Path, tmp_path: Path, name: str, sentences: int, tokens: int, spans: int
) -> None:
    read = list(read_columns(data_dir / name, (-1,)))
    assert (len(read), sum(map(len, read))) == (sentences, tokens)
    assert sum(label.startswith("B-") for sentence in read for label in sentence.columns[0]) == spans
    write_columns(read, tmp_path / "out")
    with open_input(data_dir / name) as original:
        assert (tmp_path / "out").read_bytes() == original.read()
