"""Model files: safetensors with a JSON header, versioned, no pickle, written atomically.

A model file is one safetensors file. Its metadata holds one entry, ``spectragram``: a JSON object with

    format      version of this layout (an integer; this module writes FORMAT and reads up to it)
    kind        which estimator the model belongs to
    library     version of the library that wrote it
    checksum    BLAKE2b of the tensors' names, dtypes, shapes and bytes, so that a flipped bit is found
    header      the estimator's parameters, state and training summary

Nothing in a file is executed or trusted: the length of the JSON, every dtype, shape and offset are checked
against the size of the file before any array is made, so a hostile file cannot ask for more memory than it has
bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spectragram._version import __version__
from spectragram.errors import ModelFileError
from spectragram.files import Source, atomic_write

__all__ = ["FORMAT", "StoredModel", "read", "read_header", "write"]

FORMAT = 1
MAX_HEADER_BYTES = 1 << 28
MAX_EXTENT = 1 << 40
DTYPES = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("<i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("<u1"),
    "BOOL": np.dtype("?"),
}


@dataclass(frozen=True)
class StoredModel:
    """What a model file holds: the kind of model, its JSON header and its arrays."""

    kind: str
    library: str
    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write(path: Source, kind: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a model file; ``header`` may hold anything JSON does, numpy scalars included."""
    from safetensors.numpy import save

    # safetensors orders tensors as it likes; contiguous copies are what it can write.
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    envelope = {
        "format": FORMAT,
        "kind": kind,
        "library": __version__,
        "checksum": _checksum(arrays, header),
        "header": header,
    }
    text = json.dumps(envelope, default=_plain, ensure_ascii=False, allow_nan=True)
    payload = save(arrays, metadata={"spectragram": text})
    with atomic_write(path) as stream:
        stream.write(payload)


def read_header(path: Source) -> StoredModel:
    """Kind and header only (no arrays): cheap whatever the size of the model."""
    with _Reader(path) as reader:
        return StoredModel(reader.kind, reader.library, reader.header, {})


def read(path: Source) -> StoredModel:
    """Read and verify a whole model file."""
    with _Reader(path) as reader:
        arrays = reader.arrays()
        if _checksum(arrays, reader.header) != reader.checksum:
            raise reader.damaged("its checksum does not match its content")
        return StoredModel(reader.kind, reader.library, reader.header, arrays)


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"a model header cannot hold {type(value).__name__}: {value!r}")


def _checksum(arrays: dict[str, np.ndarray], header: dict[str, Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    # Through JSON and back, so that what is hashed on writing is what is read (tuples become lists, and so on).
    digest.update(json.dumps(json.loads(json.dumps(header, default=_plain)), sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


class _Reader:
    """Checks a file from the outside in: length prefix, JSON, envelope, tensor table, then bytes."""

    def __init__(self, path: Source) -> None:
        self.path = path

    def damaged(self, problem: str) -> ModelFileError:
        return ModelFileError(problem, path=self.path, remedy="the file is damaged; copy or train it again")

    def foreign(self, problem: str) -> ModelFileError:
        return ModelFileError(problem, path=self.path, remedy="give a file that 'spectragram train' wrote")

    def __enter__(self) -> _Reader:
        path = Path(self.path)
        if path.is_dir():
            raise self.foreign("is a directory")
        try:
            self.stream = path.open("rb")
        except FileNotFoundError:
            raise ModelFileError("no such model file", path=self.path, remedy="check the path") from None
        except OSError as trouble:
            raise ModelFileError(
                f"may not be read ({trouble.strerror})", path=self.path, remedy="check its permissions"
            ) from None
        try:
            self._read_table()
        except BaseException:
            self.stream.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    def _read_table(self) -> None:
        size = self.stream.seek(0, 2)
        self.stream.seek(0)
        prefix = self.stream.read(8)
        if len(prefix) < 8:
            raise self.foreign(f"is no model file ({size} bytes)")
        (length,) = struct.unpack("<Q", prefix)
        if length > min(size - 8, MAX_HEADER_BYTES):
            raise self.foreign("is no model file, or was cut short")
        table = self._json_object(self.stream.read(length), "the tensor table")
        metadata = table.pop("__metadata__", None)
        if not isinstance(metadata, dict) or not isinstance(metadata.get("spectragram"), str):
            raise self.foreign("is no spectragram model file")
        envelope = self._json_object(metadata["spectragram"].encode("utf-8", "surrogatepass"), "the header")
        self._check_envelope(envelope)
        self.table = table
        self.data_start = 8 + length
        self.data_size = size - self.data_start

    def _json_object(self, text: bytes, what: str) -> dict[str, Any]:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as trouble:
            raise self.foreign(f"{what} is not JSON ({type(trouble).__name__})") from None
        if not isinstance(value, dict):
            raise self.foreign(f"{what} is not a JSON object")
        return value

    def _check_envelope(self, envelope: dict[str, Any]) -> None:
        version = envelope.get("format")
        if not isinstance(version, int) or version < 1:
            raise self.damaged("it states no format version")
        if version > FORMAT:
            raise ModelFileError(
                f"has format version {version}; this library reads up to {FORMAT}",
                path=self.path,
                remedy=f"upgrade spectragram (the file was written by {envelope.get('library')})",
            )
        for key, kind in (("kind", str), ("library", str), ("checksum", str), ("header", dict)):
            if not isinstance(envelope.get(key), kind):
                raise self.damaged(f"its header lacks '{key}'")
        self.kind: str = envelope["kind"]
        self.library: str = envelope["library"]
        self.checksum: str = envelope["checksum"]
        self.header: dict[str, Any] = envelope["header"]

    def arrays(self) -> dict[str, np.ndarray]:
        """Every tensor, copied out of the mapped file; spans must lie inside it and must not overlap."""
        spans = {name: self._span(name, entry) for name, entry in self.table.items()}
        end = 0
        for name, (_, _, start, stop) in sorted(spans.items(), key=lambda item: item[1][2:]):
            if start != end:
                raise self.damaged(f"tensor '{name[:80]}' does not follow the one before it")
            end = stop
        if end != self.data_size:
            raise self.damaged(f"its tensors take {end} bytes, the file has {self.data_size}")
        if end == 0:
            return {name: np.zeros(shape, dtype) for name, (dtype, shape, _, _) in spans.items()}
        with mmap.mmap(self.stream.fileno(), 0, access=mmap.ACCESS_READ) as view:
            return {
                name: np.frombuffer(view[self.data_start + start : self.data_start + stop], dtype).reshape(shape).copy()
                for name, (dtype, shape, start, stop) in spans.items()
            }

    def _span(self, name: str, entry: object) -> tuple[np.dtype, tuple[int, ...], int, int]:
        if not isinstance(entry, dict):
            raise self.damaged(f"the entry of tensor '{name[:80]}' is not an object")
        dtype = DTYPES.get(entry.get("dtype")) if isinstance(entry.get("dtype"), str) else None
        shape, offsets = entry.get("shape"), entry.get("data_offsets")
        if dtype is None:
            raise self.damaged(f"tensor '{name[:80]}' has dtype {str(entry.get('dtype'))[:20]!r}")
        if not _naturals(shape) or len(shape) > 8 or not _naturals(offsets) or len(offsets) != 2:
            raise self.damaged(f"tensor '{name[:80]}' has no valid shape or place")
        start, stop = offsets
        if not start <= stop <= self.data_size or math.prod(shape) * dtype.itemsize != stop - start:
            raise self.damaged(f"tensor '{name[:80]}' of shape {shape} does not fit its {stop - start} bytes")
        # A zero in a shape must not hide an absurd extent beside it.
        if any(extent > MAX_EXTENT for extent in shape):
            raise self.damaged(f"tensor '{name[:80]}' has shape {shape}")
        return dtype, tuple(shape), start, stop


def _naturals(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)
