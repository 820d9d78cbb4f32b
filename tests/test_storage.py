"""Model files: what goes in comes out; whatever else is in a file, it is refused in words."""

from __future__ import annotations

import json
import os
import struct
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from spectragram import storage
from spectragram.errors import InputError, ModelFileError
from spectragram.estimator import Estimator, State, fitting
from spectragram.schema import Array, Schema, Whole

HEADER: dict[str, Any] = {
    "params": {"n_states": 4, "learner": "spectral", "kappa": 5.0, "dev": None},
    "state": {"words": ["der", "Bär", "熊", "\u2028", 'quo"te', "nul\0"], "empty": {}, "big": 2**70},
    "summary": {"seconds": 0.25, "converged": True, "loss": [1e-300, -0.0, float("inf")]},
}


def small_arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {
        "operators": rng.normal(size=(2, 3, 3)),
        "counts": rng.integers(-9, 9, 5),
        "mask": np.array([True, False, True]),
        "scale": np.float32(1.5) * np.ones((), np.float32),
        "none": np.zeros((0, 4), np.int32),
    }


def sparse_table(n_values: int, dtype: type = np.float16) -> np.ndarray:
    rng = np.random.default_rng(3)
    table = np.zeros(4096, np.float32)
    table[rng.choice(4096, n_values, replace=False)] = rng.normal(size=n_values).astype(dtype)
    return table


@pytest.mark.parametrize(
    ("table", "largest"),
    [
        (sparse_table(100), 4096 // 8 + 2 * 100),
        (sparse_table(100, np.float32), 4096 // 8 + 4 * 100),
        (sparse_table(4000), 4096 // 8 + 2 * 4000),
        (sparse_table(4000, np.float32), 4 * 4096),  # not worth it
        (-sparse_table(0), 4096 // 8 + 2 * 4096),  # -0.0 is not 0.0
        (np.zeros(1 << 16, np.float32), (1 << 16) // 8),
        (np.full(2048, np.nan, np.float32), 4 * 2048),
        (np.append(np.zeros(4095, np.float32), np.float32(1e9)), 4096 // 8 + 4),  # beyond half precision
    ],
)
def test_tables_of_weights_are_stored_without_their_zeros(table: np.ndarray, largest: int, tmp_path: Path) -> None:
    path = tmp_path / "table.sgm"
    storage.write(path, "tagger", {}, {"weights": table})
    found = storage.read(path).arrays["weights"]
    assert found.dtype == np.float32
    assert found.tobytes() == table.tobytes()
    stored = safetensors.numpy.load_file(path)
    assert sum(tensor.nbytes for tensor in stored.values()) <= largest


@pytest.mark.parametrize(
    ("tensors", "problem"),
    [
        ({"w.nonzero": np.full(128, 255, np.uint8)}, "array 'w' cannot be read"),
        ({"w.nonzero": np.full(128, 255, np.uint8), "w.entries": np.ones(7, np.float16)}, "1024 bits are set for 7"),
        ({"w.nonzero": np.zeros(128, np.int8), "w.entries": np.ones(0, np.float16)}, "row of bytes"),
        ({"w.nonzero": np.zeros((2, 64), np.uint8), "w.entries": np.ones(0, np.float16)}, "row of bytes"),
        ({"w.nonzero": np.zeros(128, np.uint8), "w.entries": np.ones(0, np.int64)}, "row of floats"),
    ],
)
def test_sparse_arrays_that_do_not_fit_are_refused(tensors: dict, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "table.sgm"
    storage.write(path, "tagger", {}, tensors)
    with pytest.raises(ModelFileError, match=problem):
        storage.read(path)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.model"
    storage.write(path, "automaton", HEADER, small_arrays())
    return path


def assert_same(stored: storage.StoredModel, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    assert stored.kind == "automaton"
    assert stored.header == header
    assert stored.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        found = stored.arrays[name]
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()
        assert found.flags.writeable


def rebuilt(raw: bytes, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> bytes:
    """A model file with tensor table and envelope changed as a forger would: with checksums that fit."""
    (length,) = struct.unpack("<Q", raw[:8])
    table = json.loads(raw[8 : 8 + length])
    envelope = json.loads(table["__metadata__"]["spectragram"])
    change(table, envelope)
    envelope.pop("checksum", None)
    envelope["checksum"] = storage._digest_text(envelope)
    table["__metadata__"] = {"spectragram": json.dumps(envelope)}
    return with_head(json.dumps(table).encode()) + raw[8 + length :]


def rebuild(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    path.write_bytes(rebuilt(path.read_bytes(), change))


def with_head(head: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(head) if length is None else length) + head


# Round trips


def test_small_model_comes_back_identical(model: Path) -> None:
    assert_same(storage.read(model), HEADER, small_arrays())


@pytest.mark.parametrize("dtype", list(storage.TENSOR_TYPES), ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 2)], ids=str)
def test_every_dtype_and_shape(tmp_path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).integers(0, 2, shape).astype(dtype)
    storage.write(tmp_path / "m", "automaton", {}, {"a": array})
    assert_same(storage.read(tmp_path / "m"), {}, {"a": array})


def test_layouts_and_byte_orders_are_made_plain(tmp_path: Path) -> None:
    array = np.arange(12.0).reshape(3, 4)
    odd = {"fortran": np.asfortranarray(array), "strided": array[:, ::2], "swapped": array.astype(">f8")}
    storage.write(tmp_path / "m", "automaton", {}, odd)
    found = storage.read(tmp_path / "m").arrays
    for name, array in odd.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == np.dtype("<f8")
        assert found[name].flags.c_contiguous


def test_special_floats_keep_their_bits(tmp_path: Path) -> None:
    array = np.array([np.nan, -np.nan, np.inf, -0.0, 5e-324])
    storage.write(tmp_path / "m", "automaton", {"loss": float("nan")}, {"a": array})
    stored = storage.read(tmp_path / "m")
    assert stored.arrays["a"].tobytes() == array.tobytes()
    assert np.isnan(stored.header["loss"])


def test_numpy_values_in_the_header_become_plain(tmp_path: Path) -> None:
    header = {"n": np.int64(3), "x": np.float32(0.5), "flag": np.bool_(True), "row": np.arange(3), "t": (1, "b")}
    storage.write(tmp_path / "m", "automaton", header, {})
    assert storage.read(tmp_path / "m").header == {
        "n": 3,
        "x": 0.5,
        "flag": True,
        "row": [0, 1, 2],
        "t": [1, "b"],
    }


def test_names_may_be_any_text_and_lone_surrogates_survive(tmp_path: Path) -> None:
    name, word = 'a/b "ü"\n', "byte \udcff"
    storage.write(tmp_path / "m", "automaton", {"word": word}, {name: np.ones(2)})
    assert_same(storage.read(tmp_path / "m"), {"word": word}, {name: np.ones(2)})


def test_other_readers_of_safetensors_open_the_file(model: Path) -> None:
    found = safetensors.numpy.load_file(model)
    for name, array in small_arrays().items():
        np.testing.assert_array_equal(found[name], array)


def test_the_header_is_read_without_the_arrays(tmp_path: Path) -> None:
    path = tmp_path / "m"
    storage.write(path, "tagger", HEADER, {"big": np.zeros(1 << 18)})
    tracemalloc.start()
    stored = storage.read_header(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (stored.kind, stored.header, stored.arrays) == ("tagger", HEADER, {})
    assert peak < 1 << 18


def test_reading_needs_no_second_copy_of_the_arrays(tmp_path: Path) -> None:
    path = tmp_path / "m"
    array = np.zeros(1 << 20)
    storage.write(path, "tagger", {}, {"big": array})
    tracemalloc.start()
    storage.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.1 * array.nbytes


def test_lists_of_strings_are_tensors(tmp_path: Path) -> None:
    words = ["der", "", "Bär", "熊", "lone \udcff", "nul\0"]
    storage.write(tmp_path / "m", "automaton", {}, {"words": words, "none": [], "counts": np.arange(6)})
    stored = storage.read(tmp_path / "m")
    assert stored.arrays["words"] == words
    assert stored.arrays["none"] == []
    assert safetensors.numpy.load_file(tmp_path / "m").keys() == {
        "words.utf8",
        "words.ends",
        "none.utf8",
        "none.ends",
        "counts",
    }


@pytest.mark.parametrize("ends", [[3, 2, 4], [1, 2, 3], [1, 2, 5], [-1, 2, 4]], ids=str)
def test_strings_that_do_not_fit_their_ends(ends: list[int]) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        storage.unpack_strings(np.frombuffer(b"abcd", np.uint8), np.array(ends))


# Writing


def test_the_file_is_the_one_that_safetensors_would_write(tmp_path: Path) -> None:
    arrays = {f"{dtype}.{i}": np.ones(i, dtype) for dtype in storage.TENSOR_TYPES for i in (3, 0, 2)}
    storage.write(tmp_path / "m", "automaton", {"quoted": 'a "b" \\ \u00e9'}, arrays | {"\u00e9\n": np.ones(1)})
    with safetensors.safe_open(tmp_path / "m", "numpy") as file:
        metadata = file.metadata()
    content = (tmp_path / "m").read_bytes()
    assert content == safetensors.numpy.save(safetensors.numpy.load(content), metadata)


def test_writing_needs_no_second_copy_of_the_arrays(tmp_path: Path) -> None:
    array = np.ones(4_000_000)
    tracemalloc.start()
    storage.write(tmp_path / "m", "automaton", {}, {"a": array})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < array.nbytes / 2


def test_the_same_model_gives_the_same_file(model: Path, tmp_path: Path) -> None:
    shuffled = dict(reversed(small_arrays().items()))
    storage.write(tmp_path / "again", "automaton", HEADER, shuffled)
    assert (tmp_path / "again").read_bytes() == model.read_bytes()


def test_a_full_disk_leaves_the_old_file(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = model.read_bytes()

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("spectragram.files.os.fsync", full_disk)
    with pytest.raises(InputError, match=r"No space left on device.*old file, if any, is untouched"):
        storage.write(model, "automaton", {}, small_arrays())
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([1j]), np.array([None])], ids=["U", "c", "O"])
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, array: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"array 'bad' has dtype .*float, integer or boolean"):
        storage.write(tmp_path / "m", "automaton", {}, {"bad": array})
    assert not (tmp_path / "m").exists()


def test_a_header_that_is_not_plain_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot hold Generator.*random_state as an integer"):
        storage.write(tmp_path / "m", "automaton", {"random_state": np.random.default_rng(0)}, {})
    assert not (tmp_path / "m").exists()


# Refusals


def test_places_that_hold_no_model(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path / "missing" / "deeper", "nul\0byte"):
        with pytest.raises(ModelFileError, match="no such model file"):
            storage.read(path)
    with pytest.raises(ModelFileError, match="is a directory"):
        storage.read(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ModelFileError, match=r"is not a model file.*spectragram train"):
        storage.read(tmp_path / "file")
    with pytest.raises(ModelFileError, match="no such model file"):
        storage.read(tmp_path / "file" / "below")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        storage.read(tmp_path / "pipe")


def test_other_files_are_told_apart(tmp_path: Path) -> None:
    foreign = tmp_path / "other.safetensors"
    safetensors.numpy.save_file({"a": np.ones(3)}, foreign)
    with pytest.raises(ModelFileError, match=r"is not a spectragram model file; give a file that"):
        storage.read(foreign)
    foreign.write_text("The quick brown fox jumps over the lazy dog.\n" * 100)
    with pytest.raises(ModelFileError, match="is not a model file"):
        storage.read(foreign)


def test_a_later_format_asks_for_an_upgrade(model: Path) -> None:
    rebuild(model, lambda table, envelope: envelope.update(format=storage.FORMAT + 1, library="9.1"))
    with pytest.raises(ModelFileError, match=r"format version 3; this library reads version 2; upgrade.*9\.1"):
        storage.read(model)


def test_an_earlier_format_asks_to_train_again(model: Path) -> None:
    rebuild(model, lambda table, envelope: envelope.update(format=1, library="0.1"))
    with pytest.raises(ModelFileError, match=r"format version 1; this library reads version 2; train.*0\.1"):
        storage.read(model)


@pytest.mark.parametrize("version", [0, -1, True, "1", None, 1.0])
def test_a_format_that_is_no_version(model: Path, version: object) -> None:
    rebuild(model, lambda table, envelope: envelope.update(format=version))
    with pytest.raises(ModelFileError, match="states no format version"):
        storage.read(model)


@pytest.mark.parametrize("key", ["kind", "library", "tensors", "header"])
def test_an_envelope_that_lacks_something(model: Path, key: str) -> None:
    rebuild(model, lambda table, envelope: envelope.update({key: 3}))
    with pytest.raises(ModelFileError, match=f"its header lacks '{key}'"):
        storage.read(model)


def with_entry(**changes: object) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda table, envelope: table["counts"].update(changes)


HOSTILE: dict[str, Callable[[dict[str, Any], dict[str, Any]], None]] = {
    "huge shape": with_entry(shape=[1 << 40]),
    "product overflows": with_entry(shape=[1 << 33, 1 << 33]),
    "product wraps to the right size": with_entry(shape=[5, (1 << 64) + 1]),
    "zero hides a huge extent": with_entry(shape=[0, 1 << 40, 1 << 40], data_offsets=[40, 40]),
    "negative extent": with_entry(shape=[-5]),
    "fractional extent": with_entry(shape=[5.0]),
    "many dimensions": with_entry(shape=[5] + [1] * 40),
    "shape is text": with_entry(shape="5"),
    "shape is missing": lambda table, envelope: table["counts"].pop("shape"),
    "unknown dtype": with_entry(dtype="O"),
    "dtype is a list": with_entry(dtype=["I64"]),
    "other dtype of the same size": with_entry(dtype="F64"),
    "offsets outside": with_entry(data_offsets=[1 << 50, (1 << 50) + 40]),
    "offsets backwards": with_entry(data_offsets=[40, 0]),
    "overlap": lambda table, envelope: table["counts"].update(
        data_offsets=[table["operators"]["data_offsets"][0], table["operators"]["data_offsets"][0] + 40]
    ),
    "entry is a number": lambda table, envelope: table.update(counts=7),
    "tensor missing": lambda table, envelope: table.pop("counts"),
    "tensor renamed": lambda table, envelope: table.update(others=table.pop("counts")),
    "a million-digit number": lambda table, envelope: table.update(counts="N"),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_hostile_tables_are_refused(model: Path, change: Callable[[dict, dict], None]) -> None:
    rebuild(model, change)
    raw = model.read_bytes().replace(b'"N"', b"9" * 1_000_000)
    model.write_bytes(struct.pack("<Q", struct.unpack("<Q", raw[:8])[0] + len(raw) - model.stat().st_size) + raw[8:])
    with pytest.raises(ModelFileError) as caught:
        storage.read(model)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "head",
    [
        b"[" * 500_000,
        b'{"a":' * 200_000,
        b'{"__metadata__": {"spectragram": "' + b"[" * 500_000 + b'"}}',
        b'{"a": 1, "a": 2}',
        b'{"__metadata__": {"spectragram": "{}"}, "__metadata__": {}}',
        b"\xff\xfe\xfd",
        b"[]",
        b"null",
        b"",
        b'{"__metadata__": []}',
        b'{"__metadata__": {"spectragram": 3}}',
    ],
    ids=lambda head: repr(head[:20]),
)
def test_hostile_json_is_refused(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "m").write_bytes(with_head(head))
    with pytest.raises(ModelFileError, match=r"spectragram train|train the model again"):
        storage.read(tmp_path / "m")


@pytest.mark.parametrize("length", [1 << 28, 1 << 40, 1 << 63, (1 << 64) - 1, 100])
def test_an_absurd_length_allocates_nothing(tmp_path: Path, length: int) -> None:
    path = tmp_path / "m"
    path.write_bytes(with_head(b"{}", length))
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="cut short"):
        storage.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 18


def test_tensors_that_share_bytes_cannot_multiply_memory(tmp_path: Path) -> None:
    path = tmp_path / "m"
    arrays = {f"a{i}": np.zeros(1000) for i in range(500)}
    storage.write(path, "automaton", {}, arrays)

    def share(table: dict[str, Any], envelope: dict[str, Any]) -> None:
        for name in arrays:
            table[name]["data_offsets"] = [0, 8000]

    rebuild(path, share)
    path.write_bytes(path.read_bytes()[: 8000 - 500 * 8000])
    tracemalloc.start()
    with pytest.raises(ModelFileError, match=r"[Ii]nvalid ?[Oo]ffset"):
        storage.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_bytes_after_the_last_tensor_are_refused(model: Path) -> None:
    model.write_bytes(model.read_bytes() + b"more")
    with pytest.raises(ModelFileError, match=r"not fully covered|IncompleteBuffer"):
        storage.read(model)


def test_a_key_given_twice_is_refused_in_the_header_too(model: Path) -> None:
    raw = model.read_bytes()
    old = rb"\"kind\": \"automaton\""
    new = rb"\"kind\":1, \"kind\":2"
    assert old in raw
    model.write_bytes(raw.replace(old, new + b" " * (len(old) - len(new))))
    with pytest.raises(ModelFileError, match="a key appears twice"):
        storage.read(model)


def test_a_forged_boolean_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m"
    storage.write(path, "automaton", {}, {"mask": np.zeros(4, np.uint8) + 2})
    rebuild(path, lambda table, envelope: table["mask"].update(dtype="BOOL"))
    with pytest.raises(ModelFileError, match="neither 0 nor 1"):
        storage.read(path)


# Fuzz


def mutations(raw: bytes, rng: np.random.Generator, n: int) -> Iterator[bytes]:
    """Damaged copies of a file, from a flipped bit to a shuffled half."""
    tokens = [b"0", b"-1", b"9" * 30, b"1e999", b"NaN", b"null", b"[" * 50, b'"', b"}", b"\\ud800", b"\0", b"\xff" * 8]
    head = 8 + struct.unpack("<Q", raw[:8])[0]
    for i in range(n):
        kind = i % 8
        copy = bytearray(raw)
        # Two mutations in three go for the header, where the structure is.
        place = int(rng.integers(0, head if i % 3 else len(raw)))
        span = slice(place, place + int(rng.integers(1, 24)))
        if kind == 0:
            copy[place] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            copy[place] = int(rng.integers(256))
        elif kind == 2:
            del copy[span]
        elif kind == 3:
            copy[place:place] = rng.bytes(int(rng.integers(1, 24)))
        elif kind == 4:
            copy[span] = tokens[int(rng.integers(len(tokens)))]
        elif kind == 5:
            copy[place:place] = copy[span]
        elif kind == 6:
            digits = [j for j in range(8, head) if chr(copy[j]).isdigit()]
            for j in rng.choice(digits, 3):
                copy[j] = ord("0") + int(rng.integers(10))
        else:
            copy[:8] = struct.pack("<Q", int(rng.integers(0, 1 << int(rng.integers(1, 64)), dtype=np.uint64)))
        yield bytes(copy)


class Memory:
    """Reads bytes as a model file and watches how much memory that takes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, content: bytes) -> storage.StoredModel | None:
        """What the bytes hold, or None where they are refused; it must not take much memory to find out."""
        self.path.write_bytes(content)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            return storage.read(self.path)
        except ModelFileError:
            return None
        finally:
            assert tracemalloc.get_traced_memory()[1] - before < 100 * len(content) + 50_000


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    tracemalloc.start()
    yield Memory(tmp_path / "damaged")
    tracemalloc.stop()


def test_every_truncation_is_found(model: Path, memory: Memory) -> None:
    raw = model.read_bytes()
    assert all(memory.read(raw[:length]) is None for length in range(len(raw)))
    assert memory.read(raw) is not None


def test_every_flipped_bit_of_an_array_is_found(model: Path, memory: Memory) -> None:
    raw = bytearray(model.read_bytes())
    for place in range(8 + struct.unpack("<Q", raw[:8])[0], len(raw)):
        for bit in range(8):
            raw[place] ^= 1 << bit
            assert memory.read(bytes(raw)) is None
            raw[place] ^= 1 << bit


def test_four_thousand_damaged_files(model: Path, memory: Memory) -> None:
    rng = np.random.default_rng(2014)
    refused = 0
    for damaged in mutations(model.read_bytes(), rng, 4000):
        stored = memory.read(damaged)
        refused += stored is None
        if stored is not None:
            assert_same(stored, HEADER, small_arrays())
    assert refused > 3600


def test_a_thousand_forged_tables_with_checksums_that_fit(model: Path, memory: Memory) -> None:
    raw = model.read_bytes()
    rng = np.random.default_rng(2013)
    values: list[Any] = [0, 1, 5, 40, -1, 2**31, 2**63, 2**64 + 5, 0.5, None, "F64", "BOOL", [], [0, 2**50], {}]

    def forge(table: dict[str, Any], envelope: dict[str, Any]) -> None:
        entry = table[str(rng.choice(list(small_arrays())))]
        field = str(rng.choice(["dtype", "shape", "data_offsets"]))
        value = values[int(rng.integers(len(values)))]
        inside = entry[field]
        if isinstance(inside, list) and inside and rng.random() < 0.7:
            inside[int(rng.integers(len(inside)))] = value
        else:
            entry[field] = value

    for _ in range(1000):
        stored = memory.read(rebuilt(raw, forge))
        if stored is not None:  # the forger wrote what was there before
            assert_same(stored, HEADER, small_arrays())


# Estimators


@dataclass(frozen=True)
class EchoModel:
    """Weights in a row."""

    SCHEMA: ClassVar[Schema] = Schema(
        "Echo",
        values={"size": Whole(size="size"), "rows": Whole()},
        optional=("rows",),
        arrays={"weights": Array("f8", ("size",))},
    )

    weights: np.ndarray

    def to_state(self) -> State:
        return {"size": self.weights.size}, {"weights": self.weights}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> EchoModel:
        return cls(arrays["weights"].reshape(values["size"] // values.get("rows", 1)))


class Echo(Estimator):
    """The smallest estimator: remembers one array."""

    kind = "automaton"
    model_type = EchoModel

    def __init__(self, n_states: int = 1, random_state: int = 0) -> None:
        self.n_states = n_states
        self.random_state = random_state

    @fitting
    def fit(self, X: np.ndarray) -> Echo:
        self.model_ = EchoModel(np.asarray(X, float))
        self.summary_ = {}
        return self


@pytest.mark.parametrize(
    ("header", "arrays", "problem"),
    [
        ({}, {}, "lacks 'params'"),
        ({"params": [], "state": {"size": 2}}, {"weights": np.ones(2)}, "lacks 'params'"),
        ({"state": []}, {"weights": np.ones(2)}, "lacks 'state'"),
        (
            {"params": {"n_stats": 3}, "state": {"size": 2}},
            {"weights": np.ones(2)},
            "does not make a 'automaton' model",
        ),
        ({"state": {"size": 2}}, {}, "is not a 'automaton' model: array 'weights' is missing"),
        ({"state": {"size": 3}}, {"weights": np.ones(2)}, "model: array 'weights' has shape"),
        ({"state": {"size": "2"}}, {"weights": np.ones(2)}, "model: value 'size' is '2', not a whole number"),
        ({"state": {"size": 2, "rows": 0}}, {"weights": np.ones(2)}, "does not make a 'automaton' model"),
        ({"state": {"size": 10**30}}, {"weights": np.ones(2)}, "model: value 'size' is"),
    ],
)
def test_valid_files_with_the_wrong_content_are_refused_in_words(
    tmp_path: Path, header: dict[str, Any], arrays: dict[str, np.ndarray], problem: str
) -> None:
    path = tmp_path / "m"
    usual: dict[str, Any] = {"params": {}, "summary": {}, "meanings": {}} if header else {}
    storage.write(path, "automaton", usual | header, arrays)
    with pytest.raises(ModelFileError, match=f"{problem}.*train the model again"):
        Echo.load(path)


def test_a_model_of_another_kind_is_named(tmp_path: Path) -> None:
    storage.write(tmp_path / "m", "tagger", {}, {})
    with pytest.raises(ModelFileError, match="holds a model of kind 'tagger'; Echo loads kind 'automaton'"):
        Echo.load(tmp_path / "m")


def test_save_and_load(tmp_path: Path) -> None:
    Echo(n_states=7).fit(np.arange(4)).save(tmp_path / "m")
    loaded = Echo.load(tmp_path / "m")
    assert loaded.get_params() == {"n_states": 7, "random_state": 0}
    np.testing.assert_array_equal(loaded.model_.weights, np.arange(4.0))
    assert loaded.summary_ == {}  # the seconds that training took are not saved


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=5), max_size=8))
def test_lists_of_strings_come_back(strings: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        storage.write(path, "test", {}, {"words": strings, "part.words": strings[::-1], "x": np.arange(3)})
        found = storage.read(path).arrays
    assert set(found) == {"words", "part.words", "x"}
    assert (found["words"], found["part.words"]) == (strings, strings[::-1])


@pytest.mark.parametrize(
    "arrays",
    [
        {"w.utf8": np.frombuffer(b"abc", np.uint8)},
        {"w.utf8": np.frombuffer(b"abc", np.uint8), "w.ends": np.array([1, 4])},
        {"w.utf8": np.frombuffer(b"abc", np.uint8), "w.ends": np.array([2, 1, 3])},
        {"w.utf8": np.frombuffer(b"abc", np.uint8), "w.ends": np.array([-1, 3])},
        {"w.utf8": np.frombuffer(b"abc", np.uint8), "w.ends": np.array([1.0, 3.0])},
        {"w.utf8": np.frombuffer(b"ab\xff", np.uint8), "w.ends": np.array([1, 3])},
        {"w.utf8": np.zeros((1, 3), np.uint8), "w.ends": np.array([3])},
    ],
)
def test_strings_whose_ends_do_not_fit_are_refused(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    storage.write(tmp_path / "model", "test", {}, arrays)
    with pytest.raises(ModelFileError, match="its strings 'w' cannot be read"):
        storage.read(tmp_path / "model")


def test_a_list_of_anything_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'words' holds something that is not a string"):
        storage.write(tmp_path / "model", "test", {}, {"words": ["a", 1]})  # type: ignore[list-item]
