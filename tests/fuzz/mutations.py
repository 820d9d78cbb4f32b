"""Ways to spoil files: bytes and lines of any file, arrays and values of model files and archives."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from spectragram import storage

ODD_TEXT = [
    "\x00", "\ufeff", "\u2028", "\u00a0", "\r", "\r\n", "\t", "\t\t", "  ", "\n\n\n", "(", ")", "((", "))", "()",
    "_", "-", "|", "=", "0", "-1", "99999999999999999999", "1e999", "nan", "#", "# text = ", "1-2\tx", "2.1\tx",
    "\U0001f600", "e\u0301", "<unk>", "</s>", "\x1f", "(TOP", "-NONE-", "*", "'", '"', "\\", "%", "{}", "[]",
    "(S (X", "\ud800", "<s>",
]  # fmt: skip
INTS = [0, 1, -1, 2, 3, 7, 255, 2**15, 2**31 - 1, -(2**31), 2**62, -(2**62)]
FLOATS = [0.0, 1.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 1e-320, 1e300, -1e300, 1e30, 1e-30]
DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 10**6, 2**70, -0.5, 0.5, 1e308, float("nan"), float("inf"), "", "x", "\x00",
    [], {}, [[]], [None], {"": None}, [1, 2], ["a"], "auto", "json", "mbr", "weighted", "ngrams", [0], "owms",
]  # fmt: skip


def mutate_bytes(raw: bytes, chance: random.Random) -> bytes:
    """Flip, cut, insert, repeat or overwrite bytes; sometimes lines and fields."""
    data = bytearray(raw)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        _spoil(data, chance)
    return bytes(data)


def _spoil(data: bytearray, chance: random.Random) -> None:
    n = len(data)
    at = chance.randrange(n + 1)
    length = chance.choice((1, 1, 2, 5, 20, 200))
    way = chance.randrange(9)
    odd = chance.choice(ODD_TEXT).encode("utf-8", "surrogatepass")
    if way == 0 and n:
        data[at % n] ^= 1 << chance.randrange(8)
    elif way == 1:
        del data[at : at + length]
    elif way == 2:
        data[at:at] = odd * chance.choice((1, 1, 2, 50))
    elif way == 3:
        data[at:at] = data[at : at + length] * chance.choice((1, 2, 30))
    elif way == 4 and n:
        data[at % n] = chance.randrange(256)
    elif way == 5:
        del data[at:]
    else:
        _spoil_fields(data, way, odd, chance)


def _spoil_fields(data: bytearray, way: int, odd: bytes, chance: random.Random) -> None:
    """Change whole lines (way 6), or the fields of a line."""
    lines = bytes(data).split(b"\n")
    k = chance.randrange(len(lines))
    if way == 6:
        lines[k : k + 1] = chance.choice(([], [lines[k]] * 2, [b""], [odd], [lines[k], chance.choice(lines)]))
    else:
        separator = b"\t" if b"\t" in lines[k] else b" "
        fields = lines[k].split(separator)
        j = chance.randrange(len(fields))
        fields[j : j + 1] = chance.choice(([], [fields[j]] * 2, [b""], [odd], [chance.choice(fields)]))
        lines[k] = separator.join(fields)
    data[:] = b"\n".join(lines)


def mutate_array(array: np.ndarray, chance: random.Random) -> np.ndarray:
    """An array with other entries, another shape or another dtype."""
    way = chance.randrange(10)
    if way < 5 and array.size and array.dtype.kind in "iufb":
        return _with_other_entries(array, chance)
    if way == 5:
        with np.errstate(all="ignore"):
            return array.astype(chance.choice(DTYPES)) if array.dtype.kind != "U" else array[:0]
    if way == 6:
        return array.reshape(-1) if array.ndim > 1 else array[..., None]
    if array.ndim == 0 or array.size == 0:
        return np.zeros(chance.choice(((), (0,), (1, 1), (0, 3), (2,))), array.dtype)
    axis = chance.randrange(array.ndim)
    if way == 7:
        return np.take(array, range(array.shape[axis] - 1), axis=axis)
    if way == 8:
        return np.concatenate([array, np.take(array, [-1], axis=axis)], axis=axis)
    return np.ascontiguousarray(array.T if array.ndim > 1 else array[::-1])


def _with_other_entries(array: np.ndarray, chance: random.Random) -> np.ndarray:
    changed = array.copy()
    for _ in range(chance.choice((1, 1, 3, 10))):
        at = chance.randrange(array.size)
        if array.dtype.kind == "f":
            value: Any = chance.choice([*FLOATS, float(array.flat[chance.randrange(array.size)])])
        else:
            near = int(array.flat[at]) + chance.choice((-1, 1, len(array.flat)))
            value = chance.choice([*INTS, near, int(array.max()) + 1, array.size, len(array) if array.ndim else 1])
            if array.dtype.kind in "iu":
                limits = np.iinfo(array.dtype)
                value = min(max(value, int(limits.min)), int(limits.max))
        with np.errstate(all="ignore"):
            changed.flat[at] = value
    return changed


def mutate_strings(strings: list[str], chance: random.Random) -> list[str] | np.ndarray:
    """A list of strings with others in it, fewer, more, or in another order."""
    way = chance.randrange(6)
    changed = list(strings)
    at = chance.randrange(len(changed)) if changed else 0
    if way == 0 or not changed:
        return np.zeros(len(changed))
    if way == 1:
        del changed[at]
    elif way == 2:
        changed.append(chance.choice(changed))
    elif way == 3:
        changed[at] = chance.choice([*ODD_TEXT, "", *changed[:5]])
    elif way == 4:
        changed[at] = mutate_bytes(changed[at].encode("utf-8", "surrogatepass"), chance).decode("utf-8", "replace")
    else:
        chance.shuffle(changed)
    return changed


def mutate_json(value: Any, chance: random.Random) -> Any:
    """A plain value with one entry, at any depth, replaced, left out or added."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        changed = dict(value)
        key = chance.choice(sorted(changed))
        if chance.random() < 0.1:
            del changed[key]
        elif chance.random() < 0.05:
            changed[chance.choice(("", "x", "type", "members"))] = chance.choice(VALUES)
        else:
            changed[key] = mutate_json(changed[key], chance)
        return changed
    if isinstance(value, list) and value and chance.random() < 0.7:
        entries = list(value)
        at = chance.randrange(len(entries))
        entries[at : at + 1] = chance.choice(([], [entries[at]] * 2, [mutate_json(entries[at], chance)]))
        return entries
    return chance.choice(VALUES)


def mutate_model(path: Path, target: Path, chance: random.Random) -> str:
    """Write a hostile version of a model file, with checksums that fit; say what was changed."""
    stored = storage.read(path)
    header, arrays = stored.header, dict(stored.arrays)
    changed = []
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        way = chance.randrange(20)
        if way < 14:
            name = chance.choice(sorted(arrays))
            array = arrays[name]
            arrays[name] = mutate_strings(array, chance) if isinstance(array, list) else mutate_array(array, chance)
        elif way == 14:
            name = chance.choice(sorted(arrays))
            arrays[chance.choice(sorted(arrays))] = arrays[name]
        elif way == 15:
            name = chance.choice(sorted(arrays))
            del arrays[name]
        elif way == 16:
            name = chance.choice(sorted(arrays)) + chance.choice(("x", ".x", "0", ""))
            arrays[name] = np.zeros(3)
        else:
            name = "header"
            header = mutate_json(header, chance)
            header = header if isinstance(header, dict) else {}
        changed.append(name)
        if not arrays:
            break
    storage.write(target, stored.kind, json.loads(json.dumps(header)), arrays)
    return " ".join(changed)


def mutate_archive(raw: bytes, chance: random.Random) -> bytes:
    """An archive of arrays (.npz) with one of them changed, left out, or of another kind."""
    with np.load(io.BytesIO(raw)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    name = chance.choice(sorted(arrays))
    way = chance.randrange(8)
    if way == 0:
        del arrays[name]
    elif way == 1:
        arrays[name] = np.array([{"a": 1}, None], object)
    elif way == 2:
        arrays[name] = np.array(["x", "y"])
    elif way == 3:
        arrays[name] = np.zeros(2, "M8[s]" if chance.random() < 0.5 else "c16")
    else:
        arrays[name] = mutate_array(arrays[name], chance)
    written = io.BytesIO()
    np.savez(written, **arrays)
    return written.getvalue()
