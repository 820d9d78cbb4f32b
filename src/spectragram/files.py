"""Files in and out: one way to open text for reading, one way to replace a file.

Reading understands plain and ``.gz`` files and ``-`` (standard input), streams, and turns every trouble of the
operating system or the encoding into an :class:`~spectragram.errors.InputError` with file and line. Writing is
atomic: the target is either the old file or the complete new one, whatever happens in between.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO

from spectragram.errors import InputError

__all__ = ["atomic_write", "open_input", "output", "read_lines"]

Source = str | os.PathLike[str]
"""A path, or ``"-"`` for standard input (or output)."""

BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 28
"""A line longer than this (256 MB) is refused: it is a binary file or a corpus without newlines."""


@contextlib.contextmanager
def open_input(source: Source) -> Iterator[BinaryIO]:
    """Open a plain or gzipped file, or standard input for ``"-"``, as bytes.

    Gzip is recognised by its magic number, so a misnamed file still reads.
    """
    if str(source) == "-":
        yield sys.stdin.buffer
        return
    path = Path(source)
    try:
        if path.is_dir():
            raise InputError("is a directory", path=path, remedy="give a file")
        with path.open("rb") as raw:
            magic = raw.read(2) if raw.seekable() else b""
            if magic:
                raw.seek(0)
            if magic == b"\x1f\x8b":
                with gzip.open(raw) as unpacked:
                    yield unpacked  # type: ignore[misc]
            else:
                yield raw
    except FileNotFoundError:
        raise InputError("no such file", path=path, remedy="check the path") from None
    except PermissionError:
        raise InputError("may not be read", path=path, remedy="check its permissions") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as trouble:
        raise InputError(f"damaged gzip data ({trouble})", path=path, remedy="fetch the file again") from None


def read_blocks(source: Source, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield ``(number of the first line, block)``; every block ends at the end of a line.

    Memory is one block, or the longest line if that is longer.
    """
    with open_input(source) as stream:
        rest = b""
        line = 1
        while piece := stream.read(block_bytes):
            cut = piece.rfind(b"\n") + 1
            if cut == 0:
                rest += piece
                if len(rest) > MAX_LINE_BYTES:
                    raise InputError(
                        f"a line of more than {MAX_LINE_BYTES} bytes",
                        path=source,
                        line=line,
                        remedy="put one sequence on a line; is this a text file?",
                    )
                continue
            block = rest + piece[:cut]
            rest = piece[cut:]
            yield line, block
            line += block.count(b"\n")
        if rest:
            yield line, rest


def decode_utf8(block: bytes, source: Source, first_line: int) -> str:
    """Decode strictly; the error names the line and the byte that is not UTF-8."""
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as trouble:
        line = first_line + block[: trouble.start].count(b"\n")
        raise InputError(
            f"byte 0x{block[trouble.start]:02x} is not UTF-8",
            path=source,
            line=line,
            remedy="convert the file, e.g. iconv -f latin1 -t utf-8",
        ) from None
    nul = text.find("\0")
    if nul >= 0:
        raise InputError(
            "a NUL byte",
            path=source,
            line=first_line + text.count("\n", 0, nul),
            remedy="this looks like a binary or UTF-16 file; give UTF-8 text",
        )
    return text


def read_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield ``(line number, line without its end)`` from UTF-8 text; a byte-order mark is dropped.

    Lines end at ``\\n`` or ``\\r\\n`` and nowhere else, so a stray form feed or U+2028 stays inside its line.
    """
    for first_line, block in read_blocks(source):
        text = decode_utf8(block, source, first_line)
        if first_line == 1:
            text = text.removeprefix("\ufeff")
        lines = text.split("\n")
        if text.endswith("\n"):
            lines.pop()
        for number, line in enumerate(lines, first_line):
            yield number, line[:-1] if line.endswith("\r") else line


@contextlib.contextmanager
def atomic_write(path: Source, mode: str = "wb") -> Iterator[IO]:
    """Write a temporary file beside ``path`` and move it there when the block ends without an error.

    A full disk or an interrupt leaves the old file, if any, and no debris.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError("is a directory", path=target, remedy="give a file name to write to")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    except OSError as trouble:
        raise InputError(
            f"cannot be written ({trouble.strerror})", path=target, remedy="check the folder and its permissions"
        ) from None
    try:
        encoding = None if "b" in mode else "utf-8"
        with os.fdopen(handle, mode, encoding=encoding) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(target)
    except OSError as trouble:
        Path(name).unlink(missing_ok=True)
        raise InputError(
            f"could not be written ({trouble.strerror or trouble})",
            path=target,
            remedy="free some space or choose another place; the old file, if any, is untouched",
        ) from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def output(target: Source | None) -> Iterator[IO[str]]:
    """Text output: an atomically written file, or standard output for ``None`` and ``"-"``."""
    if target is None or str(target) == "-":
        yield sys.stdout
        sys.stdout.flush()
    else:
        with atomic_write(target, "w") as stream:
            yield stream
