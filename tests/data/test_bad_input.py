"""Every reader meets every kind of bad file: it reads, or it raises one InputError that names the file."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.data.columns import read_columns
from spectragram.data.conllu import read_conllu
from spectragram.data.pautomac import read_pautomac, read_pautomac_model, read_pautomac_solution
from spectragram.data.text import count_words, read_text
from spectragram.errors import InputError

READERS: dict[str, Callable] = {
    "text": read_text,
    "words": count_words,
    "conllu": lambda source: list(read_conllu(source, check_tree=True)),
    "columns": lambda source: list(read_columns(source, (0, -1))),
    "pautomac": read_pautomac,
    "pautomac model": read_pautomac_model,
    "pautomac solution": read_pautomac_solution,
}
GOOD = {
    "text": b"some words\n",
    "words": b"some words\n",
    "conllu": b"1\tw\t_\t_\t_\t_\t0\t_\t_\t_\n\n",
    "columns": b"some O\nwords O\n",
    "pautomac": b"1 2\n2 0 1\n",
    "pautomac model": b"I:\n(0) 1\nF:\n(0) 1\nS:\n(0,0) 1\nT:\n(0,0,0) 1\n",
    "pautomac solution": b"1\n0.5\n",
}
# Pieces of all formats and of none, so that files are often almost right.
PIECES = st.sampled_from(
    [
        *GOOD.values(),
        *(b"\t", b" ", b"\n", b"\r\n", b"\0", b"\xff", b"\xe4\xbd", b"\xef\xbb\xbf", b"\x1f\x8b"),
        *(b"-DOCSTART- O\n", b"# comment\n", b"1-2", b"1.1", b"(0,", b") nan", b"9" * 20, b"-1", "٣".encode()),
    ]
)

reader = pytest.mark.parametrize("name", READERS)


@reader
@given(pieces=st.lists(PIECES | st.binary(max_size=4), max_size=6))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, name: str, pieces: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("bad") / "file"
    path.write_bytes(b"".join(pieces))
    try:
        READERS[name](path)
    except InputError as error:
        assert str(error).startswith(str(path))
        assert "\n" not in str(error)


@reader
@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\0", "a NUL byte"), (b"b\xe4d\n", "byte 0xe4 is not UTF-8"), (b"\xc3", "byte 0xc3 is not UTF-8")],
)
def test_bytes_that_are_no_text_are_named_with_their_line(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(GOOD[name] + content)
    line = GOOD[name].count(b"\n") + 1
    with pytest.raises(InputError) as caught:
        READERS[name](path)
    assert str(caught.value).startswith(f"{path}:{line}: {message};")


@reader
def test_places_without_a_file_are_refused(tmp_path: Path, name: str) -> None:
    for path, message in [(tmp_path, "is a directory; give a file"), (tmp_path / "no", "no such file; check the path")]:
        with pytest.raises(InputError) as caught:
            READERS[name](path)
        assert str(caught.value) == f"{path}: {message}"


@reader
def test_a_truncated_gzip_file_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(GOOD[name])[:-6])
    with pytest.raises(InputError, match="damaged gzip data"):
        READERS[name](path)


@reader
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_dash_is_standard_input_plain_or_gzipped(
    monkeypatch: pytest.MonkeyPatch, name: str, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pack(GOOD[name]))))
    result = READERS[name]("-")
    assert len(result.initial if name == "pautomac model" else result) > 0


@reader
def test_a_line_of_a_megabyte_ends_in_data_or_an_input_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    for line in (b"x" * (1 << 20), b"\t".join([b"x" * (1 << 17)] * 10)):
        path.write_bytes(GOOD[name] + line + b"\n")
        try:
            READERS[name](path)
        except InputError as error:
            assert len(str(error)) < 500, "the message does not repeat the line"
