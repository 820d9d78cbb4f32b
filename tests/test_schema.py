"""Model files are checked as a whole before they are used: what does not fit is refused by name."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectragram import kinds, load, storage
from spectragram.errors import ModelFileError
from spectragram.schema import Array, Flag, ListOf, Misfit, OneOf, Part, Parts, Schema, Strings, Whole
from spectragram.schema.sizes import Unbound, bind, evaluate

GOLDEN = Path(__file__).parent / "golden"
PAIRS = Schema(
    "Pairs",
    values={"n": Whole(size="n_pairs")},
    arrays={
        "left": Array("i8", ("n_pairs",), least=0, below="n_words"),
        "starts": Array("i8", ("n_pairs + 1",), starts="n_words"),
        "shares": Array("f8", ("n_pairs", 2), sums=True),
    },
    parts={"words": Part(Schema("Words", arrays={"words": Strings("n", distinct=True)}), {"n": "n_words"}, None)},
)


def pairs(**changes: Any) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "left": np.array([0, 2]),
        "starts": np.array([0, 1, 3]),
        "shares": np.full((2, 2), 0.5),
        "words.words": ["a", "b", "c"],
    }
    return {name: array for name, array in (arrays | changes).items() if array is not None}


def test_a_state_that_fits_is_accepted() -> None:
    PAIRS.check({"n": 2}, pairs())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"left": np.array([0, 3])}, r"array 'left' holds 3, which is not below n_words = 3"),
        ({"left": np.array([0, -1])}, r"array 'left' holds -1, which is below 0"),
        ({"left": np.array([0, 1, 2])}, r"array 'left' has shape \(3,\), not \(n_pairs,\) = \(2,\)"),
        ({"left": np.array([[0, 1]])}, r"array 'left' has shape \(1, 2\), not \(n_pairs,\)"),
        ({"left": np.array([0.0, 1.0])}, r"array 'left' has dtype f8, not i8"),
        ({"left": ["a", "b"]}, r"'left' is a list of strings"),
        ({"left": None}, r"array 'left' is missing"),
        ({"right": np.zeros(2)}, r"array 'right' is unknown"),
        ({"starts": np.array([0, 2, 1])}, r"array 'starts' does not rise from 0 to n_words = 3"),
        ({"starts": np.array([1, 1, 3])}, r"array 'starts' does not rise"),
        ({"starts": np.array([0, 1, 4])}, r"array 'starts' does not rise"),
        ({"shares": np.array([[0.5, 0.5], [0.5, 0.4]])}, r"array 'shares' .* do not sum to 1"),
        ({"shares": np.array([[0.5, 0.5], [1.5, -0.5]])}, r"array 'shares' .*negative"),
        ({"shares": np.array([[0.5, 0.5], [np.nan, 0.5]])}, r"array 'shares' holds nan"),
        ({"shares": np.array([[0.5, 0.5], [1e300, 0.5]])}, r"array 'shares' holds 1e\+300"),
        ({"words.words": ["a", "b", "b"]}, r"'words.words' holds a string twice"),
    ],
)
def test_arrays_that_disagree_are_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Misfit, match=message):
        PAIRS.check({"n": 2}, pairs(**changes))


@pytest.mark.parametrize("values", [{}, {"n": -1}, {"n": True}, {"n": 3}, {"n": "2"}, {"n": 2, "m": 1}, []])
def test_values_that_do_not_fit_are_refused(values: Any) -> None:
    with pytest.raises(Misfit):
        PAIRS.check(values, pairs())


def test_parts_are_repeated_optional_and_of_several_kinds() -> None:
    flag, number = Schema("Flag", values={"on": Flag()}), Schema("Number", arrays={"at": Array("i8", (), least=0)})
    either = OneOf({"flag": flag, "number": number}, lambda values, arrays: "number" if "at" in arrays else "flag")
    schema = Schema(
        "All",
        values={"sizes": ListOf(Whole(), size="n")},
        parts={"part": Parts(either, "n", values="parts"), "more": Part(number, values=None, optional=True)},
    )
    values = {"sizes": [1, 2], "parts": [{"on": True}, {}]}
    schema.check(values, {"part1.at": np.array(3)})
    schema.check(values, {"part1.at": np.array(3), "more.at": np.array(3)})
    with pytest.raises(Misfit, match=r"array 'more.at' holds -3"):
        schema.check(values, {"part1.at": np.array(3), "more.at": np.array(-3)})
    with pytest.raises(Misfit, match="'parts' has 1 entries, not 2"):
        schema.check({**values, "parts": [{"on": True}]}, {})
    with pytest.raises(Misfit, match=r"array 'part2.at' is unknown"):
        schema.check(values, {"part1.at": np.array(3), "part2.at": np.array(3)})


def test_sizes() -> None:
    assert evaluate("2 * n + m ** 3 + 1", {"n": 5, "m": 2}) == 19
    with pytest.raises(Unbound):
        evaluate("n + 1", {})
    known: dict[str, int] = {}
    assert not bind("n + 3", 2, known)
    assert bind("n + 3", 5, known)
    assert known == {"n": 2}


def test_the_page_about_model_files_is_up_to_date() -> None:
    folder = Path(__file__).parents[1] / "docs"
    spec = importlib.util.spec_from_file_location("write_model_files", folder / "write_model_files.py")
    assert spec is not None
    assert spec.loader is not None
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    written = (folder / "model-files.md").read_text(encoding="utf-8")
    assert writer.page() == written, "run: python docs/write_model_files.py"


ANYTHING = ("total", "divisor", "multiword.vocabulary", "classes.keys", "counts1", "counts2", "counts3")
"""Ends of the names of arrays whose last entry may be anything."""


@pytest.mark.parametrize("kind", sorted(kinds.KINDS))
def test_every_array_of_a_model_is_checked(kind: str) -> None:
    stored = storage.read(GOLDEN / f"{kind}.sgm")
    schema = kinds.KINDS[kind].estimator_class().model_type.SCHEMA
    for name, array in stored.arrays.items():
        changes: list[Any] = [None, np.zeros(np.shape(array), np.uint16)]
        if isinstance(array, np.ndarray) and array.size and array.dtype.kind in "if" and not name.endswith(ANYTHING):
            changes.append(array.copy())
            changes[-1].flat[-1] = np.iinfo(array.dtype).max if array.dtype.kind == "i" else np.nan
        for changed in changes:
            arrays = {other: changed if other == name else kept for other, kept in stored.arrays.items()}
            arrays = {other: kept for other, kept in arrays.items() if kept is not None}
            with pytest.raises(Misfit, match=name.split(".")[0]):
                schema.check(stored.header["state"], arrays)


@pytest.mark.parametrize("kind", sorted(kinds.KINDS))
def test_a_hostile_file_is_refused_with_the_name_of_the_array(kind: str, tmp_path: Path) -> None:
    stored = storage.read(GOLDEN / f"{kind}.sgm")
    name = next(name for name, array in stored.arrays.items() if isinstance(array, np.ndarray) and array.ndim)
    path = tmp_path / "hostile.sgm"
    storage.write(path, kind, stored.header, stored.arrays | {name: stored.arrays[name][..., None]})
    with pytest.raises(ModelFileError, match=rf"is not a '{kind}' model: array '{name}' has shape .*; the file was"):
        load(path)


def test_a_weight_of_a_label_that_is_missing_is_refused(tmp_path: Path) -> None:
    stored = storage.read(GOLDEN / "tagger.sgm")
    header = {**stored.header, "state": {**stored.header["state"], "outside_weight": 0.5}}
    labels = [label.replace("O", "X") for label in stored.arrays["labels"]]
    storage.write(tmp_path / "hostile.sgm", "tagger", header, stored.arrays | {"labels": labels})
    with pytest.raises(ModelFileError, match="a weight of the label O"):
        load(tmp_path / "hostile.sgm")


@pytest.mark.parametrize("labels", [{"outer": ""}, {"top": "no phrase"}])
def test_a_tree_may_only_have_labels_of_trees(labels: dict[str, str], tmp_path: Path) -> None:
    stored = storage.read(GOLDEN / "constituency.sgm")
    state = stored.header["state"]
    header = {**stored.header, "state": {**state, "labels": {**state["labels"], **labels}}}
    storage.write(tmp_path / "hostile.sgm", "constituency", header, stored.arrays)
    with pytest.raises(ModelFileError, match=next(iter(labels))):
        load(tmp_path / "hostile.sgm")


@pytest.mark.parametrize("parts", [3, [3], [{"part": "em"}], [{"part": "em", "states": "x", "weight": 1.0}]])
def test_a_summary_that_cannot_be_shown_is_refused(parts: Any, tmp_path: Path) -> None:
    stored = storage.read(GOLDEN / "automaton.sgm")
    header = {**stored.header, "summary": {**stored.header["summary"], "parts": parts}}
    storage.write(tmp_path / "hostile.sgm", "automaton", header, stored.arrays)
    with pytest.raises(ModelFileError, match=r"value 'summary\.parts"):
        load(tmp_path / "hostile.sgm")


def test_an_observation_without_columns_is_refused(tmp_path: Path) -> None:
    stored = storage.read(GOLDEN / "tagger.sgm")
    keys = list(stored.arrays["lexicon.keys"])
    exact = next(i for i, key in enumerate(keys) if key.startswith("0"))
    keys[exact] = "0"
    storage.write(tmp_path / "hostile.sgm", "tagger", stored.header, stored.arrays | {"lexicon.keys": keys})
    with pytest.raises(ModelFileError, match="lack columns"):
        load(tmp_path / "hostile.sgm")
