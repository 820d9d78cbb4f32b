"""Model files: safetensors with a JSON header, versioned and checksummed, never pickle, written atomically.

A model file is one safetensors file, so any reader of that format opens its arrays. The ``safetensors`` library reads
and writes the bytes; what is in them is described and checked here. The file's metadata has a single entry,

    spectragram   a JSON object: format (version of this layout), kind (of model), library (version that wrote it),
                  header (parameters, state, summary), tensors (digest of the arrays), checksum (digest of the rest)

so a flipped bit is found wherever it is, and the header can be read and verified without the arrays. There is one
entry because safetensors writes several in random order, and equal models should be equal files.

Lists of strings are tensors too: ``NAME.utf8`` holds their bytes and ``NAME.ends`` where each string ends. An array
that is mostly zeros is ``NAME.nonzero``, a bit for each place, and ``NAME.entries``, the values where it is set.

Nothing in a file is executed or trusted. The safetensors library refuses a header of more than 100 MB, tensors that
overlap, leave gaps or do not fit the file, so a hostile file can claim no more memory for arrays than 32 times its own
size (a byte of bits stands for eight floats).
The checks here come on top of that: kind, version, digests, and booleans that are neither 0 nor 1.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from spectragram._version import __version__
from spectragram.errors import InputError, ModelFileError
from spectragram.files import Source, atomic_write
from spectragram.sparse_arrays import pack_sparse, unpack_sparse

__all__ = ["FORMAT", "Arrays", "StoredModel", "pack_strings", "read", "read_header", "unpack_strings", "write"]

FORMAT = 2
TENSOR_TYPES = {
    np.dtype("?" if kind == "BOOL" else f"{kind[0].lower()}{int(kind[1:]) // 8}"): kind
    for kind in ["U64", "I64", "F64", "F32", "U32", "I32", "F16", "U16", "I16", "I8", "U8", "BOOL"]
}
"""What safetensors calls the types of arrays, in the order in which its files hold them."""
ALIGNMENT = 8
"""Bytes of the number that a safetensors file begins with; the tensors begin at a multiple of it."""
MAX_HEADER_BYTES = 100_000_000
"""The limit of the safetensors library; beyond it nobody could open the file."""
KEY = "spectragram"
BYTES, ENDS = ".utf8", ".ends"
"""What the names of the two tensors of a list of strings end in."""
BITS, VALUES = ".nonzero", ".entries"
"""What the names of the two tensors of an array end in that is mostly zeros."""

Arrays = Mapping[str, np.ndarray | Sequence[str]]
"""Named arrays and lists of strings."""


@dataclass(frozen=True)
class StoredModel:
    """What a model file holds: the kind of model, its JSON header, its arrays and lists of strings."""

    kind: str
    library: str
    header: dict[str, Any]
    arrays: dict[str, Any]


def write(path: Source, kind: str, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a model file; ``header`` may hold anything JSON does, numpy scalars and arrays included.

    Tuples come back as lists, and keys as strings.
    """
    tensors = _split_sparse({name: _storable(name, array) for name, array in _split_strings(arrays).items()})
    envelope = {"format": FORMAT, "kind": kind, "library": __version__, "tensors": _digest_arrays(tensors)}
    text = json.dumps(envelope | {"header": header}, default=_plain)
    if len(text) > MAX_HEADER_BYTES // 2:
        raise InputError(f"the model's header takes {len(text)} bytes", path=path, remedy="use a smaller vocabulary")
    complete = json.loads(text)  # as it will be read: tuples have become lists, keys strings
    complete["checksum"] = _digest_text(complete)
    names = sorted(tensors, key=lambda name: (list(TENSOR_TYPES).index(tensors[name].dtype), name))
    with atomic_write(path) as stream:
        stream.write(_table_of(names, tensors, json.dumps(complete)))
        for name in names:
            stream.write(_bytes_of(tensors[name]))


def _table_of(names: Sequence[str], tensors: Mapping[str, np.ndarray], metadata: str) -> bytes:
    """What stands before the tensors in a safetensors file.

    The library itself would hold all tensors in memory once more, which counts on disk may not fit.
    """
    table: dict[str, Any] = {"__metadata__": {KEY: metadata}}
    end = 0
    for name in names:
        start, end = end, end + tensors[name].nbytes
        kind = TENSOR_TYPES[tensors[name].dtype]
        table[name] = {"dtype": kind, "shape": tensors[name].shape, "data_offsets": [start, end]}
    text = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return len(text).to_bytes(ALIGNMENT, "little") + text


def _bytes_of(array: np.ndarray) -> memoryview:
    """Through uint8: numpy does not lend zero-size or 0-d arrays as bytes directly."""
    return array.reshape(-1).view(np.uint8).data


def read_header(path: Source) -> StoredModel:
    """Kind and header only (no arrays): cheap whatever the size of the model."""
    with _opened(path) as file:
        envelope = _envelope(path, file.metadata())
    return StoredModel(envelope["kind"], envelope["library"], envelope["header"], {})


def read(path: Source) -> StoredModel:
    """Read and verify a whole model file."""
    with _opened(path) as file:
        envelope = _envelope(path, file.metadata())
        try:
            tensors = {name: file.get_tensor(name) for name in sorted(file.keys())}
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as trouble:
            raise _damaged(path, f"its arrays cannot be read ({str(trouble)[:60]})") from None
    for name, tensor in tensors.items():
        if tensor.dtype not in TENSOR_TYPES:
            raise _damaged(path, f"tensor {name[:80]!r} has dtype {tensor.dtype}")
        if tensor.dtype == bool and tensor.view(np.uint8).max(initial=0) > 1:
            raise _damaged(path, "a boolean array holds a byte that is neither 0 nor 1")
    if _digest_arrays(tensors) != envelope["tensors"]:
        raise _damaged(path, "its checksum does not match its arrays")
    try:
        arrays = _join_strings(_join_sparse(tensors))
    except ValueError as trouble:
        raise _damaged(path, str(trouble)[:160]) from None
    return StoredModel(envelope["kind"], envelope["library"], envelope["header"], arrays)


@contextmanager
def _opened(path: Source) -> Iterator[Any]:
    """The file as safetensors; whatever is not one is refused with a reason."""
    from safetensors import SafetensorError, safe_open

    target = Path(path)
    try:
        if target.is_dir() or (target.exists() and not target.is_file()):
            # Opening a pipe would wait for a writer, and reading a device might never end.
            raise _foreign(path, "is a directory" if target.is_dir() else "is not a regular file")
        with target.open("rb"):  # for the operating system's own reason if it may not be read
            pass
    except (FileNotFoundError, NotADirectoryError, ValueError) as trouble:  # ValueError: a NUL in the path
        if isinstance(trouble, ModelFileError):
            raise
        raise ModelFileError("no such model file", path=path, remedy="check the path") from None
    except OSError as trouble:
        problem = f"may not be read ({trouble.strerror})"
        raise ModelFileError(problem, path=path, remedy="check its permissions") from None
    try:
        with safe_open(target, framework="numpy") as file:
            yield file
    except (SafetensorError, OSError) as trouble:
        reason = str(trouble).removeprefix("Error while deserializing header: ")
        raise _foreign(path, f"is not a model file, or was cut short ({reason[:80]})") from None


def _envelope(path: Source, metadata: Mapping[str, str] | None) -> dict[str, Any]:
    if not metadata or KEY not in metadata:
        raise _foreign(path, "is not a spectragram model file")
    try:
        envelope = json.loads(metadata[KEY], object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as trouble:
        raise _damaged(path, f"its header is not JSON ({str(trouble)[:60]})") from None
    if not isinstance(envelope, dict):
        raise _damaged(path, "its header is not a JSON object")
    _check_version(path, envelope)  # before anything else: another format may have other checks
    checksum = envelope.pop("checksum", None)
    if checksum != _digest_text(envelope):
        raise _damaged(path, "its checksum does not match its header")
    for key, kind in (("kind", str), ("library", str), ("tensors", str), ("header", dict)):
        if not isinstance(envelope.get(key), kind):
            raise _damaged(path, f"its header lacks '{key}'")
    return envelope


def _check_version(path: Source, envelope: Mapping[str, Any]) -> None:
    version = envelope.get("format")
    if type(version) is not int or version < 1:
        raise _damaged(path, "it states no format version")
    if version == FORMAT:
        return
    writer = f"the file was written by spectragram {str(envelope.get('library'))[:20]}"
    remedy = f"upgrade spectragram ({writer})" if version > FORMAT else f"train the model again ({writer})"
    problem = f"has format version {str(version)[:20]}; this library reads version {FORMAT}"
    raise ModelFileError(problem, path=path, remedy=remedy)


def _foreign(path: Source, problem: str) -> ModelFileError:
    return ModelFileError(problem, path=path, remedy="give a file that 'spectragram train' wrote")


def _damaged(path: Source, problem: str) -> ModelFileError:
    return ModelFileError(problem, path=path, remedy="the file is damaged; copy it again or train the model again")


def _storable(name: str, array: object) -> np.ndarray:
    """In C order and little-endian, as files hold arrays (0-d stays 0-d)."""
    array = np.asarray(array, order="C")
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype not in TENSOR_TYPES:
        raise InputError(
            f"array '{name}' has dtype {array.dtype}, which model files cannot hold",
            remedy="use a float, integer or boolean dtype",
        )
    return array


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, PurePath):
        return str(value)
    raise InputError(
        f"a model file cannot hold {type(value).__name__}: {str(value)[:60]}",
        remedy="give parameters as plain values: numbers, strings, lists (random_state as an integer)",
    )


def _digest_text(envelope: Mapping[str, Any]) -> str:
    text = json.dumps(envelope, sort_keys=True)
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def _digest_arrays(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(_bytes_of(array))
    return digest.hexdigest()


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice")
    return found


def pack_strings(strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The UTF-8 bytes of all strings, uint8, and the end of each string among them, int64 (n_strings,).

    >>> pack_strings(["a", "", "bc"])[1].tolist()
    [1, 1, 3]
    """
    # surrogatepass: words that were not valid text keep their escaped bytes.
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def unpack_strings(utf8: np.ndarray, ends: np.ndarray) -> list[str]:
    """Inverse of :func:`pack_strings`; ``ValueError`` where the two arrays do not fit or the bytes are not UTF-8."""
    if utf8.dtype != np.uint8 or utf8.ndim != 1 or ends.dtype != np.int64 or ends.ndim != 1:
        raise ValueError("strings need a row of bytes and a row of whole numbers")
    bounds = np.concatenate([[0], ends])
    if (np.diff(bounds) < 0).any() or bounds[-1] != len(utf8):
        raise ValueError("the ends of strings do not fit their bytes")
    text = utf8.tobytes()
    return [text[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(bounds.tolist())]


def _split_strings(arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Replace every list of strings by its two tensors."""
    tensors: dict[str, np.ndarray] = {}
    for name, value in arrays.items():
        if not isinstance(value, (list, tuple)):
            tensors[name] = value
            continue
        if not all(isinstance(string, str) for string in value):
            raise InputError(f"'{name}' holds something that is not a string", remedy="give strings, or an array")
        tensors[name + BYTES], tensors[name + ENDS] = pack_strings(value)
    return tensors


def _join_strings(tensors: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Inverse of :func:`_split_strings`; ``ValueError`` names the strings whose tensors do not fit together."""
    arrays: dict[str, Any] = dict(tensors)
    for name in tensors:
        stem = name.removesuffix(BYTES)
        if stem == name:
            continue
        try:
            arrays[stem] = unpack_strings(arrays.pop(name), arrays.pop(stem + ENDS))
        except (KeyError, ValueError) as trouble:
            raise ValueError(f"its strings '{stem[:60]}' cannot be read ({trouble})") from None
    return arrays


def _split_sparse(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Replace arrays that are mostly zeros by their bits and values."""
    found: dict[str, np.ndarray] = {}
    for name, tensor in tensors.items():
        packed = pack_sparse(tensor)
        found |= {name: tensor} if packed is None else {name + BITS: packed[0], name + VALUES: packed[1]}
    return found


def _join_sparse(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Inverse of :func:`_split_sparse`; ``ValueError`` names the array whose tensors do not fit together."""
    found = dict(tensors)
    for name in tensors:
        stem = name.removesuffix(BITS)
        if stem == name:
            continue
        try:
            found[stem] = unpack_sparse(found.pop(name), found.pop(stem + VALUES))
        except (KeyError, ValueError) as trouble:
            raise ValueError(f"its array '{stem[:60]}' cannot be read ({trouble})") from None
    return found
