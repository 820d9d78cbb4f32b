"""Files in and out: one way to open text for reading, one way to replace a file.

Reading accepts plain and gzipped files and ``-`` (standard input), streams them, and turns every error of the
operating system or the encoding into an :class:`~spectragram.errors.InputError` with file and line. Writing is
atomic: afterwards the target is either the old file or the complete new one, whatever happens in between.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import secrets
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO

from spectragram.errors import InputError

__all__ = [
    "atomic_write",
    "decode_utf8",
    "is_blank",
    "is_gzipped",
    "open_input",
    "output",
    "plain_number",
    "read_blocks",
    "read_lines",
    "split_words",
]

Source = str | os.PathLike[str]
"""A path, or ``"-"`` for standard input (or output)."""

BLOCK_BYTES = 1 << 20
"""Bytes read at a time (1 MB): large enough that the cost of a call does not matter, small enough for any memory."""

MAX_LINE_BYTES = 1 << 28
"""A longer line (256 MB) is refused: the file is binary, or a corpus without newlines. Chosen by hand."""

SEPARATORS = " \t\r\n\f\v"
"""What separates words: ASCII white space only, so a no-break space may be part of a word."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
_WORD = re.compile(rf"[^{SEPARATORS}]+")


@contextlib.contextmanager
def open_input(source: Source) -> Iterator[BinaryIO]:
    """Open a plain or gzipped file, or standard input for ``"-"``, as bytes.

    Gzip is recognised by its magic number, so a misnamed file, a pipe or standard input may be gzipped too.
    """
    with contextlib.ExitStack() as stack:
        if str(source) == "-":
            raw = _peekable(sys.stdin.buffer)
        else:
            raw = stack.enter_context(_open_path(Path(source)))
        try:
            if raw.peek(2)[:2] == GZIP_MAGIC:
                yield stack.enter_context(gzip.open(raw))  # type: ignore[misc]
            else:
                yield raw
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"damaged gzip data ({error})", path=source, remedy="fetch or compress the file again"
            ) from None


def _open_path(path: Path) -> io.BufferedReader:
    try:
        return path.open("rb")
    except FileNotFoundError:
        problem, remedy = "no such file", "check the path"
    except IsADirectoryError:
        problem, remedy = "is a directory", "give a file"
    except PermissionError:
        problem, remedy = "permission to read it is denied", "check its permissions"
    except (OSError, ValueError) as error:  # ValueError: a NUL inside the path
        problem, remedy = f"cannot be opened ({error})", "check the path"
    raise InputError(problem, path=path, remedy=remedy)


def _peekable(stream: BinaryIO) -> io.BufferedReader:
    return stream if hasattr(stream, "peek") else io.BufferedReader(stream)  # type: ignore[return-value, arg-type, type-var]


def is_gzipped(source: Source) -> bool:
    """Whether the file at ``source`` starts with the magic number of gzip."""
    with _open_path(Path(source)) as stream:
        return stream.read(2) == GZIP_MAGIC


def is_blank(source: Source) -> bool:
    """Whether a file contains nothing but white space."""
    with open_input(source) as stream:
        return not any(block.strip() for block in iter(lambda: stream.read(1 << 16), b""))


def read_blocks(
    source: Source, block_bytes: int = BLOCK_BYTES, start: int = 0, stop: int | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield ``(number of the first line, block)``; every block ends at the end of a line.

    Memory holds one block, or the longest line if that is longer. A byte-order mark at the beginning is dropped.
    ``start`` and ``stop`` select a range of bytes of a plain file; lines are then counted from ``start``.
    """
    with open_input(source) as stream:
        if start:
            stream.seek(start)
        left = sys.maxsize if stop is None else stop - start
        unfinished: list[bytes] = []
        line = 1
        at_beginning = start == 0
        while piece := _read(stream, min(block_bytes, left), source):
            left -= len(piece)
            if at_beginning:
                piece = piece.removeprefix(BYTE_ORDER_MARK)
                at_beginning = False
            cut = piece.rfind(b"\n") + 1
            if cut == 0:
                unfinished.append(piece)
                if sum(map(len, unfinished)) > MAX_LINE_BYTES:
                    raise InputError(
                        f"a line of more than {MAX_LINE_BYTES} bytes",
                        path=source,
                        line=line,
                        remedy="put one sequence on a line; is this a text file?",
                    )
                continue
            block = b"".join([*unfinished, piece[:cut]])
            unfinished = [piece[cut:]]
            yield line, block
            line += block.count(b"\n")
        if any(unfinished):
            yield line, b"".join(unfinished)


def _read(stream: BinaryIO, size: int, source: Source) -> bytes:
    try:
        return stream.read(size)
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=source, remedy="check the file") from None


def decode_utf8(block: bytes, source: Source, first_line: int) -> str:
    """Decode strictly; an error names the line, and the byte that is not UTF-8 or the NUL character."""
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse_known(block, source)
        raise InputError(
            f"byte 0x{block[error.start]:02x} is not UTF-8",
            path=source,
            line=first_line + block.count(b"\n", 0, error.start),
            remedy="convert the file, e.g. iconv -f latin1 -t utf-8",
        ) from None
    nul = block.find(b"\0")
    if nul >= 0:
        _refuse_known(block, source)
        raise InputError(
            "a NUL byte",
            path=source,
            line=first_line + block.count(b"\n", 0, nul),
            remedy="this looks like a binary or UTF-16 file; give UTF-8 text",
        )
    return text


def _refuse_known(block: bytes, source: Source) -> None:
    """Name the format of a file that is not text, if its first bytes give it away."""
    if block[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError("is UTF-16 text", path=source, remedy="convert the file: iconv -f utf-16 -t utf-8")
    if block[:4] == b"PK\x03\x04":
        raise InputError("is a zip archive (.npz?)", path=source, remedy="give text")
    if block[8:9] == b"{" and b"__metadata__" in block[:64]:
        raise InputError("is a model file", path=source, remedy="give text; the model comes first: predict MODEL INPUT")


def read_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield ``(line number, line without its end)`` from UTF-8 text.

    Lines end at ``\\n`` or ``\\r\\n`` and nowhere else, so a stray form feed or U+2028 stays inside its line.
    """
    for first_line, block in read_blocks(source):
        lines = decode_utf8(block, source, first_line).split("\n")
        if not lines[-1]:
            lines.pop()  # nothing follows the last line end
        for number, line in enumerate(lines, first_line):
            yield number, line[:-1] if line.endswith("\r") else line


def split_words(line: str) -> list[str]:
    """The words of a line, separated by ASCII white space and nothing else.

    >>> split_words("10\\u00a0000  dogs\\n")
    ['10\\xa0000', 'dogs']
    """
    return _WORD.findall(line)


def plain_number(text: str) -> int:
    """The value of a number of at most nine ASCII digits; -1 for any other text.

    Stricter than ``int``, which accepts ``+1``, ``1_000`` and digits of other scripts, and raises on long ones.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


@contextlib.contextmanager
def atomic_write(path: Source, mode: str = "wb") -> Iterator[IO]:
    """Write a temporary file beside ``path`` and rename it to ``path`` when the block ends without an error.

    A full disk or an interrupt leaves the old file, if any, and no temporary file. Links are followed. A target that
    is not a regular file (``/dev/null``, a named pipe) is written directly: there is nothing to keep or replace.
    """
    target = Path(path).resolve()
    if target.is_dir():
        raise InputError("is a directory", path=path, remedy="give a file name to write to")
    in_place = target.exists() and not target.is_file()
    written = target if in_place else target.with_name(f".spectragram-{secrets.token_hex(8)}.tmp")
    try:  # from before the file is there: an interrupt may come at any moment
        with _create(written, mode if in_place else mode.replace("w", "x"), path) as stream:
            yield stream
            stream.flush()
            if not in_place:
                os.fsync(stream.fileno())
        if not in_place:
            if target.exists():
                written.chmod(target.stat().st_mode & 0o777)
            written.replace(target)
    except BaseException as error:
        if not in_place:
            with contextlib.suppress(OSError):
                written.unlink()
        # An error while writing names no file; one that does comes from something else in the block.
        if isinstance(error, OSError) and error.filename in (None, str(written)):
            raise InputError(
                f"could not be written ({error.strerror or error})",
                path=path,
                remedy="free some space or choose another place; the old file, if any, is untouched",
            ) from None
        raise


def _create(path: Path, mode: str, asked: Source) -> IO:
    binary = "b" in mode
    try:
        return path.open(mode, encoding=None if binary else "utf-8", newline=None if binary else "")
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})",
            path=asked,
            remedy="check the folder and its permissions",
        ) from None


@contextlib.contextmanager
def output(target: Source | None) -> Iterator[IO[str]]:
    """Text output: an atomically written file, or standard output for ``None`` and ``"-"``."""
    if target is None or str(target) == "-":
        yield sys.stdout
        sys.stdout.flush()
    else:
        with atomic_write(target, "w") as stream:
            yield stream
