from __future__ import annotations

import errno
import gzip
import io
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram import files
from spectragram.errors import InputError
from spectragram.files import atomic_write, decode_utf8, open_input, output, read_blocks, read_lines


def lines_of(source: Path | str) -> list[str]:
    return [line for _, line in read_lines(source)]


def standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_plain_and_gzipped_files_read_alike_whatever_their_name(tmp_path: Path) -> None:
    content = "der Hügel\n\nbrennt\r\nja".encode()
    (tmp_path / "plain").write_bytes(content)
    (tmp_path / "packed.txt").write_bytes(gzip.compress(content))
    assert lines_of(tmp_path / "plain") == ["der Hügel", "", "brennt", "ja"]
    assert lines_of(tmp_path / "packed.txt") == lines_of(tmp_path / "plain")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, pack) -> None:
    standard_input(monkeypatch, pack(b"one\ntwo\n"))
    assert list(read_lines("-")) == [(1, "one"), (2, "two")]


def test_only_line_feeds_end_lines_and_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("\ufeffa\u2028b\fc\rd\ne\ufeff\n".encode())
    assert lines_of(path) == ["a\u2028b\fc\rd", "e\ufeff"]
    path.write_bytes(b"\xef\xbb\xbf")
    assert lines_of(path) == []


@given(
    lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0\ufeff"), max_size=12)),
    block_bytes=st.integers(1, 20),
    last_end=st.booleans(),
)
def test_blocks_are_whole_lines_and_know_their_number(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], block_bytes: int, last_end: bool
) -> None:
    content = "\n".join(lines).encode() + (b"\n" if last_end else b"")
    path = tmp_path_factory.mktemp("blocks") / "text"
    path.write_bytes(content)
    blocks = list(read_blocks(path, block_bytes))
    assert b"".join(block for _, block in blocks) == content
    assert all(block.endswith(b"\n") for _, block in blocks[:-1])
    seen = 0
    for number, block in blocks:
        assert number == 1 + content.count(b"\n", 0, seen)
        seen += len(block)


def test_a_range_of_bytes_can_be_read_alone(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"one\ntwo\nthree\nfour\n")
    assert b"".join(block for _, block in read_blocks(path, 3, start=4, stop=14)) == b"two\nthree\n"


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"fine\nbad \xff here\n", 2, "byte 0xff is not UTF-8"),
        (b"fine\nfine\n\xe4", 3, "byte 0xe4 is not UTF-8"),
        (b"a\nb\nc\0d\n", 3, "a NUL byte"),
        ("wide".encode("utf-16-le"), 1, "a NUL byte"),
    ],
)
def test_what_is_not_text_is_named_with_its_line(tmp_path: Path, content: bytes, line: int, message: str) -> None:
    path = tmp_path / "binary"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        lines_of(path)
    assert str(caught.value).startswith(f"{path}:{line}: {message};")


@given(content=st.binary(max_size=60))
def test_any_bytes_give_lines_or_an_input_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "file"
    path.write_bytes(content)
    try:
        text = "\n".join(lines_of(path))
    except InputError as error:
        assert str(path) in str(error)
    else:
        assert "\0" not in text


def test_missing_files_directories_and_odd_paths_are_input_errors(tmp_path: Path) -> None:
    for path, message in [
        (tmp_path / "nowhere", "no such file"),
        (tmp_path, "is a directory"),
        ("with\0nul", "cannot be opened"),
        ("x" * 5000, "cannot be opened"),
    ]:
        with pytest.raises(InputError, match=message):
            lines_of(path)


def test_an_unreadable_file_is_an_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "secret")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="permission to read it is denied; check its permissions"):
        lines_of(tmp_path / "secret")


def test_a_disk_that_fails_while_reading_is_an_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.BytesIO):
        def read(self, *_: object) -> bytes:
            raise OSError(errno.EIO, "Input/output error")

        def peek(self, _: int) -> bytes:
            return b""

    monkeypatch.setattr(Path, "open", lambda *_: Broken())
    with pytest.raises(InputError, match="cannot be read"):
        lines_of(tmp_path / "broken")


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b[:40], lambda b: b[:-4] + b"\0\0\0\1"])
def test_damaged_gzip_files_are_input_errors(tmp_path: Path, damage) -> None:
    path = tmp_path / "packed.gz"
    path.write_bytes(damage(gzip.compress(os.urandom(500).hex().encode())))
    with pytest.raises(InputError, match="damaged gzip data"):
        lines_of(path)


def test_a_long_line_is_read_and_an_endless_one_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"short\n" + b"x" * 3_000_000 + b"\nend\n")
    assert [len(line) for line in lines_of(path)] == [5, 3_000_000, 3]
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 1 << 20)
    with pytest.raises(InputError, match=r"long:2: a line of more than 1048576 bytes"):
        lines_of(path)


def test_errors_inside_the_block_are_not_blamed_on_the_input(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    with pytest.raises(FileNotFoundError), open_input(tmp_path / "a"):
        (tmp_path / "b").read_bytes()


def test_decoding_counts_lines_from_where_it_is_told() -> None:
    with pytest.raises(InputError, match=r"corpus:12: "):
        decode_utf8(b"a\nb\n\x80", "corpus", 10)


def test_writing_replaces_a_file_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o640)
    with atomic_write(path, "w") as stream:
        stream.write("neü\r\n")
        assert path.read_text() == "old"
    assert path.read_bytes() == "neü\r\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_gets_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    with atomic_write(tmp_path / "ours") as stream:
        stream.write(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), RuntimeError("no"), UnicodeEncodeError("a", "b", 0, 1, "c")])
def test_an_interrupt_leaves_the_old_file_and_no_debris(tmp_path: Path, failure: BaseException) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(type(failure)), atomic_write(path, "w") as stream:
        stream.write("half")
        raise failure
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_no_debris(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "out"
    path.write_text("old")
    message = r"out: could not be written \(No space left on device\); free"
    with pytest.raises(InputError, match=message), atomic_write(path, "w") as stream:
        if call == "write":
            full()
        elif call == "fsync":
            monkeypatch.setattr(os, "fsync", full)
        else:
            monkeypatch.setattr(Path, "replace", full)
        stream.write("new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_file_inside_the_block_is_not_blamed_on_the_output(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "out"):
        (tmp_path / "nowhere").read_bytes()
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written_are_input_errors(tmp_path: Path) -> None:
    for path, message in [(tmp_path, "is a directory"), (tmp_path / "no" / "folder", "cannot be written")]:
        with pytest.raises(InputError, match=message), atomic_write(path):
            pass


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with atomic_write(tmp_path / "link") as stream:
        stream.write(b"through")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"through"


def test_what_is_no_regular_file_is_written_in_place(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # so that opening it for writing need not wait
    with atomic_write(pipe) as stream:
        stream.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


def test_output_is_a_file_or_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for target in (None, "-", tmp_path / "out"):
        with output(target) as stream:
            stream.write("line\n")
    assert capsys.readouterr().out == "line\n" * 2
    assert (tmp_path / "out").read_text() == "line\n"
