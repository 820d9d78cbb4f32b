"""From signed marginals to distributions, from several distributions to one; models to files and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spectragram.synthetic import english_chunks
from spectragram.tagging import Tagger
from spectragram.tagging.lexicon import CellVectors
from spectragram.tagging.member import as_probabilities, combine
from spectragram.tagging.model import Model


def test_the_sign_rule() -> None:
    signed = np.array([[3.0, 1.0], [-3.0, -1.0], [4.0, -1.0], [-4.0, 1.0], [0.0, 0.0], [np.nan, 1.0]])
    instead = np.full((6, 2), 0.5)
    found, repaired = as_probabilities(signed, instead)
    np.testing.assert_array_equal(found, [[0.75, 0.25], [0.75, 0.25], [1, 0], [1, 0], [0.5, 0.5], [0.5, 0.5]])
    assert repaired == {"negative": 2, "fallbacks": 2}


def test_members_are_multiplied() -> None:
    sure, torn = np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]])
    np.testing.assert_allclose(combine([sure, torn]), [[0.75, 0.25]], atol=1e-3)
    assert combine([sure]) is sure
    vetoed = combine([np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])])
    np.testing.assert_allclose(vetoed, [[0.5, 0.5]])


@pytest.fixture(scope="module")
def state() -> tuple[dict[str, Any], dict[str, Any]]:
    X, y = (list(part) for part in zip(*english_chunks(60, seed=1), strict=True))
    return Tagger(2, max_iter=1).fit(X, y).model_.to_state()


def test_strings_of_a_model_are_in_arrays(state: tuple) -> None:
    values, arrays = state
    assert arrays["labels"] == ["B-NP", "I-NP", "O"]
    assert isinstance(arrays["lexicon.keys"], list)
    assert all(not isinstance(value, list) for value in values.values())


def test_parts_that_do_not_fit_together_are_refused(state: tuple) -> None:
    values, arrays = state
    assert Model.from_state(values, arrays).labels == ["B-NP", "I-NP", "O"]
    damages: dict[str, Any] = {
        "labels": ["O"],
        "lexicon.prior": arrays["lexicon.prior"][:-1],
        "member0.chain.final": arrays["member0.chain.final"][:-1],
        "member0.chain.initial": arrays["member0.chain.initial"][:-1],
        "member0.emissions.root": arrays["member0.emissions.root"][:-1],
        "member0.emissions.vectors": arrays["member0.emissions.vectors"][:, :1],
    }
    for name, damaged in damages.items():
        with pytest.raises(ValueError):
            Model.from_state(values, arrays | {name: damaged})
    other = Tagger(2, max_iter=1).fit([["a", "b"]] * 9, [["X", "Y"]] * 9).model_.to_state()[1]
    members = {name: array for name, array in other.items() if name.startswith("member0.")}
    with pytest.raises(ValueError, match="labels and members"):
        Model.from_state(values, arrays | members)
    for name in damages:
        with pytest.raises((KeyError, TypeError)):
            Model.from_state(values, {other: array for other, array in arrays.items() if other != name})


def test_observation_vectors_have_one_width() -> None:
    with pytest.raises(ValueError, match="unequal length"):
        CellVectors(np.ones((4, 2)), np.ones(5), np.array([0, 2, 4]))
