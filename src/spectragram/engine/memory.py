"""Bounds on memory: what cannot fit is refused before it starts, and what need not be in memory goes to disk."""

from __future__ import annotations

import errno
import mmap
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, Any, cast

import numpy as np

from spectragram.errors import InputError, ParameterError

__all__ = [
    "Allocate",
    "allocator",
    "allocator_of",
    "file_arrays",
    "parse_memory",
    "release",
    "require_memory",
    "scratch_array",
]

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
"""Units of memory; those with an i are powers of two."""

LEAST_MEMORY = 256 * 10**6
"""The interpreter with its libraries and compiled kernels takes about this much; a smaller bound could not hold."""

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", re.IGNORECASE)


def parse_memory(memory: str | int | None) -> int | None:
    """Bytes of a bound such as ``"4GB"``; a number is bytes already, and None means that there is no bound.

    >>> parse_memory("4GB"), parse_memory("1.5 GiB"), parse_memory(None)
    (4000000000, 1610612736, None)
    """
    if memory is None:
        return None
    found = _SIZE.fullmatch(str(memory))
    n_bytes = int(float(found[1]) * UNITS[(found[2] or "").upper()]) if found and not isinstance(memory, bool) else 0
    if n_bytes < LEAST_MEMORY:
        least = f"at least {LEAST_MEMORY // 10**6} MB"
        raise ParameterError("memory", memory, remedy=f"give a size such as 4GB, {least}")
    return n_bytes


def require_memory(n_bytes: float, what: str, remedy: str, memory: int | None = None) -> None:
    """Raise an error if ``what`` needs more than ``memory`` bytes, or more than this machine has.

    Without this check the operating system would kill the process without any message.
    """
    try:
        available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # this system does not report its memory
        available = None
    if memory is not None and n_bytes > memory:
        bound = f"the bound is {memory / 1e9:.2g} GB"
    elif available is not None and n_bytes > available:
        bound = f"this machine has {available / 1e9:.0f}"
    else:
        return
    raise InputError(f"{what} would take {n_bytes / 1e9:.3g} GB of memory, and {bound}", remedy=remedy)


@contextmanager
def explained(n_bytes: int) -> Iterator[None]:
    """Turn the error of a full disk into one that says what to do."""
    try:
        yield
    except OSError as trouble:
        if trouble.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise InputError(
            f"no room on the disk for {n_bytes / 1e9:.3g} GB of counts",
            path=tempfile.gettempdir(),
            remedy="free some space, name another folder in TMPDIR, or allow more memory",
        ) from trouble


def _scratch_file() -> IO[bytes]:
    """A file without a name; without a buffer, so that a full disk shows where it is written to."""
    return cast(IO[bytes], tempfile.TemporaryFile(buffering=0, prefix="spectragram-"))


def _write_all(stream: IO[bytes], content: memoryview) -> None:
    while len(content):
        content = content[stream.write(content) :]


def scratch_array(n: int, dtype: Any) -> np.ndarray:
    """An array of ``n`` zeros in a temporary file, which disappears with the array, however the process ends."""
    n_bytes = n * np.dtype(dtype).itemsize
    if n_bytes == 0:
        return np.zeros(0, dtype)
    with explained(n_bytes), _scratch_file() as stream:
        # Room is taken now: a disk that is full later would end the process where it touches the array.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(stream.fileno(), 0, n_bytes)
        else:
            stream.truncate(n_bytes)
        return np.memmap(stream, dtype, "r+", shape=(n,))


Allocate = Callable[[int, Any], np.ndarray]
"""Makes an array of zeros of a length and a type, in memory or in a file."""


def allocator(n_bytes: float, memory: int | None) -> Allocate:
    """Where arrays of ``n_bytes`` in all go: to temporary files if a bound on memory is smaller than that."""
    return np.zeros if memory is None or n_bytes <= memory else scratch_array


def allocator_of(array: np.ndarray) -> Allocate:
    """Where arrays of about the same size as this one go: to files if it is in one."""
    return scratch_array if isinstance(array, np.memmap) else np.zeros


def file_arrays(parts: Iterable[Sequence[np.ndarray]]) -> list[np.ndarray]:
    """Arrays that arrive in parts (each with a piece of all of them), as arrays in temporary files."""
    with ExitStack() as stack:
        streams: list[IO[bytes]] = []
        dtypes: list[np.dtype] = []
        written = 0
        for pieces in parts:
            if not streams:
                dtypes = [piece.dtype for piece in pieces]
                streams = [stack.enter_context(_scratch_file()) for _ in pieces]
            for stream, piece in zip(streams, pieces, strict=True):
                written += piece.nbytes
                with explained(written):
                    _write_all(stream, np.ascontiguousarray(piece).data.cast("B"))
        sizes = [stream.tell() for stream in streams]
        return [
            np.memmap(stream, dtype, "r+") if size else np.empty(0, dtype)
            for stream, dtype, size in zip(streams, dtypes, sizes, strict=True)
        ]


def release(*arrays: np.ndarray) -> None:
    """What was read of arrays in files need not stay in memory; it is read again when it is used. Others stay."""
    for array in arrays:
        base: object = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            base.madvise(mmap.MADV_DONTNEED)
