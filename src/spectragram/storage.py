"""Model files: safetensors with a JSON header, versioned, no pickle, written atomically.

A model file is one safetensors file, so any reader of that format opens its arrays. Its metadata holds

    spectragram   a JSON object: format (version of this layout), kind (of model), library (version that wrote
                  it), tensors (digest of the arrays), header (the estimator's parameters, state and summary)
    checksum      digest of that JSON text

so a flipped bit is found wherever it is, and the header alone can be read and verified without the arrays.

Nothing in a file is executed or trusted: the length of the JSON, every dtype, shape and offset are checked
against the size of the file before an array is made, so a hostile file can claim no more memory for arrays than
it has bytes.

A list of strings under NAME, such as a vocabulary, is stored as two arrays: NAME.utf8 holds the bytes of all strings
one after the other, NAME.ends where each of them ends.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from spectragram._version import __version__
from spectragram.errors import InputError, ModelFileError
from spectragram.files import Source, atomic_write

__all__ = ["FORMAT", "StoredModel", "pack_strings", "read", "read_header", "unpack_strings", "write"]

FORMAT = 1
MAX_HEADER_BYTES = 1 << 28
MAX_ARRAY_BYTES = 1 << 62
DTYPES: dict[str, np.dtype] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
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
NAMES = {dtype: name for name, dtype in DTYPES.items()}


@dataclass(frozen=True)
class StoredModel:
    """What a model file holds: the kind of model, its JSON header, and its arrays and lists of strings."""

    kind: str
    library: str
    header: dict[str, Any]
    arrays: dict[str, Any]


def write(path: Source, kind: str, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray | list[str]]) -> None:
    """Write a model file; ``header`` may hold anything JSON does, numpy scalars and arrays included.

    Tuples in the header come back as lists, and keys as strings. ``arrays`` holds numpy arrays and lists of strings.
    """
    stored = {name: _storable(name, array) for name, array in _packed(arrays).items()}
    # Widest dtypes first keeps every array aligned in the file, for readers that map it into memory.
    stored = dict(sorted(stored.items(), key=lambda item: (-item[1].itemsize, item[0])))
    envelope = {
        "format": FORMAT,
        "kind": kind,
        "library": __version__,
        "tensors": _digest_arrays(stored),
        "header": header,
    }
    text = json.dumps(envelope, default=_plain, ensure_ascii=False)
    table: dict[str, Any] = {"__metadata__": {"spectragram": text, "checksum": _digest(text)}}
    start = 0
    for name, array in stored.items():
        stop = start + array.nbytes
        table[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [start, stop],
        }
        start = stop
    # ASCII: a lone surrogate in a word (a byte that was no text) survives as its escape.
    head = json.dumps(table).encode("ascii")
    head += b" " * (-len(head) % 8)
    if len(head) > MAX_HEADER_BYTES:
        raise InputError(
            f"the model's header takes {len(head)} bytes, more than {MAX_HEADER_BYTES}",
            path=path,
            remedy="use a smaller vocabulary",
        )
    with atomic_write(path) as stream:
        stream.write(struct.pack("<Q", len(head)) + head)
        for array in stored.values():
            stream.write(_bytes_of(array))


def read_header(path: Source) -> StoredModel:
    """Kind and header only (no arrays): cheap whatever the size of the model."""
    with _open(path) as stream:
        reader = _Reader(path, stream)
        return StoredModel(reader.kind, reader.library, reader.header, {})


def read(path: Source) -> StoredModel:
    """Read and verify a whole model file."""
    with _open(path) as stream:
        reader = _Reader(path, stream)
        return StoredModel(reader.kind, reader.library, reader.header, _unpacked(reader.arrays(), reader))


def pack_strings(strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """All strings as UTF-8 (uint8, shape (n_bytes,)), and where each ends (int64, shape (n_strings,)).

    Lone surrogates (bytes of a file that were not text) are kept.
    """
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.cumsum([len(piece) for piece in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def unpack_strings(utf8: np.ndarray, ends: np.ndarray) -> list[str]:
    """Inverse of :func:`pack_strings`; ``ValueError`` for arrays that it cannot have made."""
    if utf8.dtype != np.uint8 or utf8.ndim != 1 or ends.dtype != np.int64 or ends.ndim != 1:
        raise ValueError("strings need bytes and 64-bit ends")
    bounds = np.concatenate([[0], ends])
    if bounds[-1] != len(utf8) or (np.diff(bounds) < 0).any():
        raise ValueError("the ends of the strings do not fit their bytes")
    whole = utf8.tobytes()
    return [whole[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(bounds.tolist())]


def _packed(arrays: Mapping[str, np.ndarray | list[str]]) -> dict[str, np.ndarray]:
    packed: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        if isinstance(array, list):
            if not all(isinstance(item, str) for item in array):
                raise InputError(f"the list '{name}' holds something that is not a string", remedy="give an array")
            packed[f"{name}.utf8"], packed[f"{name}.ends"] = pack_strings(array)
        else:
            packed[name] = array
    return packed


def _unpacked(arrays: dict[str, np.ndarray], reader: _Reader) -> dict[str, Any]:
    unpacked: dict[str, Any] = dict(arrays)
    for name in [name.removesuffix(".utf8") for name in arrays if name.endswith(".utf8")]:
        utf8, ends = unpacked.pop(f"{name}.utf8"), unpacked.pop(f"{name}.ends", None)
        try:
            if ends is None:
                raise ValueError("nothing says where the strings end")
            unpacked[name] = unpack_strings(utf8, ends)
        except ValueError as error:
            raise reader.damaged(f"its strings {name[:80]!r} cannot be read ({error})") from None
    return unpacked


def _storable(name: str, array: np.ndarray) -> np.ndarray:
    """In C order and little-endian, as files hold arrays (0-d stays 0-d)."""
    array = np.asarray(array, order="C")
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype not in NAMES:
        raise InputError(
            f"array '{name}' has dtype {array.dtype}, which model files cannot hold",
            remedy="use a float, integer or boolean dtype",
        )
    return array


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise InputError(
        f"a model file cannot hold {type(value).__name__}: {str(value)[:60]}",
        remedy="give parameters as plain values: numbers, strings, lists (random_state as an integer)",
    )


def _bytes_of(array: np.ndarray) -> memoryview:
    # Through uint8: numpy does not lend zero-size or 0-d arrays as bytes directly.
    return array.reshape(-1).view(np.uint8).data


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _digest_arrays(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name, array in sorted(arrays.items()):
        described = json.dumps([name, NAMES[array.dtype], array.shape])
        digest.update(described.encode())
        digest.update(_bytes_of(array))
    return digest.hexdigest()


def _open(path: Source) -> BufferedReader:
    target = Path(path)
    try:
        # Opening a pipe would wait for a writer, and reading a device might never end.
        usable = target.is_file() or not target.exists()
        stream = target.open("rb") if usable else None
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the path
        raise ModelFileError("no such model file", path=path, remedy="check the path") from None
    except OSError as trouble:
        raise ModelFileError(
            f"may not be read ({trouble.strerror})", path=path, remedy="check its permissions"
        ) from None
    if stream is None:
        raise _foreign(path, "is a directory" if target.is_dir() else "is no regular file")
    return stream


def _foreign(path: Source, problem: str) -> ModelFileError:
    return ModelFileError(problem, path=path, remedy="give a file that 'spectragram train' wrote")


class _Reader:
    """Checks a file from the outside in: length prefix, JSON, envelope; then the tensor table and the bytes."""

    def __init__(self, path: Source, stream: BufferedReader) -> None:
        self.path = path
        self.stream = stream
        size = stream.seek(0, 2)
        stream.seek(0)
        prefix = stream.read(8)
        if len(prefix) < 8:
            raise _foreign(path, f"is no model file ({size} bytes)")
        (length,) = struct.unpack("<Q", prefix)
        if length > min(size - 8, MAX_HEADER_BYTES):
            raise _foreign(path, "is no model file, or was cut short")
        self.data_start = 8 + length
        self.data_size = size - self.data_start
        self.table = self._json_object(stream.read(length), "the tensor table")
        metadata = self.table.pop("__metadata__", None)
        if not isinstance(metadata, dict) or not isinstance(metadata.get("spectragram"), str):
            raise _foreign(path, "is no spectragram model file")
        self._read_envelope(metadata["spectragram"], metadata.get("checksum"))

    def damaged(self, problem: str) -> ModelFileError:
        return ModelFileError(problem, path=self.path, remedy="the file is damaged; copy or train it again")

    def _json_object(self, text: str | bytes, what: str) -> dict[str, Any]:
        try:
            value = json.loads(text, object_pairs_hook=_without_duplicates)
        except (ValueError, RecursionError) as trouble:
            raise _foreign(self.path, f"{what} is not JSON ({str(trouble)[:60]})") from None
        if not isinstance(value, dict):
            raise _foreign(self.path, f"{what} is not a JSON object")
        return value

    def _read_envelope(self, text: str, checksum: object) -> None:
        # The version comes first: a later format may have other checks.
        envelope = self._json_object(text, "the header")
        version = envelope.get("format")
        if type(version) is not int or version < 1:
            raise self.damaged("it states no format version")
        if version > FORMAT:
            raise ModelFileError(
                f"has format version {str(version)[:20]}; this library reads up to {FORMAT}",
                path=self.path,
                remedy=f"upgrade spectragram (the file was written by {str(envelope.get('library'))[:20]})",
            )
        if checksum != _digest(text):
            raise self.damaged("its checksum does not match its header")
        for key, kind in (("kind", str), ("library", str), ("tensors", str), ("header", dict)):
            if not isinstance(envelope.get(key), kind):
                raise self.damaged(f"its header lacks '{key}'")
        self.kind: str = envelope["kind"]
        self.library: str = envelope["library"]
        self.tensors: str = envelope["tensors"]
        self.header: dict[str, Any] = envelope["header"]

    def arrays(self) -> dict[str, np.ndarray]:
        """Every tensor; together they must fill the file, without gaps or overlaps."""
        spans = {name: self._span(name, entry) for name, entry in self.table.items()}
        end = 0
        for name, (_, _, start, stop) in sorted(spans.items(), key=lambda item: item[1][2:]):
            if start != end:
                raise self.damaged(f"tensor {name[:80]!r} does not follow the one before it")
            end = stop
        if end != self.data_size:
            raise self.damaged(f"its tensors take {end} bytes, the file has {self.data_size}")
        arrays = {name: self._array(*span) for name, span in spans.items()}
        if _digest_arrays(arrays) != self.tensors:
            raise self.damaged("its checksum does not match its arrays")
        return arrays

    def _span(self, name: str, entry: object) -> tuple[np.dtype, tuple[int, ...], int, int]:
        if not isinstance(entry, dict):
            raise self.damaged(f"the entry of tensor {name[:80]!r} is not an object")
        dtype = DTYPES.get(str(entry.get("dtype")))
        shape, offsets = entry.get("shape"), entry.get("data_offsets")
        if dtype is None:
            raise self.damaged(f"tensor {name[:80]!r} has dtype {str(entry.get('dtype'))[:20]!r}")
        if not _naturals(shape) or len(shape) > 8 or not _naturals(offsets) or len(offsets) != 2:
            raise self.damaged(f"tensor {name[:80]!r} has no valid shape or place")
        start, stop = offsets
        # A zero in a shape must not hide an absurd extent beside it.
        if math.prod(max(extent, 1) for extent in shape) * dtype.itemsize > MAX_ARRAY_BYTES:
            raise self.damaged(f"tensor {name[:80]!r} has shape {str(shape)[:80]}")
        if math.prod(shape) * dtype.itemsize != stop - start:
            raise self.damaged(f"tensor {name[:80]!r} of shape {shape} does not fit its place")
        return dtype, tuple(shape), start, stop

    def _array(self, dtype: np.dtype, shape: tuple[int, ...], start: int, stop: int) -> np.ndarray:
        raw = np.empty(stop - start, np.uint8)
        self.stream.seek(self.data_start + start)
        if self.stream.readinto(raw.data) != stop - start:
            raise self.damaged("it ended while it was read")
        if dtype == np.dtype("?") and raw.max(initial=0) > 1:
            raise self.damaged("a boolean array holds a byte that is neither 0 nor 1")
        return raw.view(dtype).reshape(shape)


def _naturals(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice")
    return found
