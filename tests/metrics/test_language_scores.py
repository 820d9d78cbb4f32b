"""Next-symbol error, perplexities and the PAutomaC score by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.errors import InputError
from spectragram.metrics import next_symbol_error, pautomac_scores, perplexity, string_scores


def test_next_symbol_error_counts_the_end_too() -> None:
    # "ab" has three events (a, b, end), "" has one. Two are wrong: b is predicted as c, and the end of "" as a.
    assert next_symbol_error(["ab", ""], ["ac$", "a"], stop="$") == 50
    # Events have equal weight, not strings: there is one error in 1 + 4 events.
    assert next_symbol_error([[], [1, 2, 3]], [[7], [1, 2, 3, -1]], stop=-1) == 20


def test_next_symbol_error_needs_a_guess_for_the_end() -> None:
    with pytest.raises(InputError, match="string 1 has 2 predictions for 2 symbols"):
        next_symbol_error(["ab"], ["ab"], stop="$")


def test_perplexities_by_hand() -> None:
    # Two strings of probability 1/4 and 1/64, of 1 and 2 symbols: 8 bits over 5 events, or over 2 strings.
    scores = string_scores(np.log([1 / 4, 1 / 64]), [1, 2])
    assert scores["perplexity_string"] == pytest.approx(2**4)
    assert scores["perplexity_symbol"] == pytest.approx(2 ** (8 / 5))
    assert scores["strings"] == 2
    assert perplexity(np.log([0.5, 0.125])) == pytest.approx(4)
    assert perplexity([-np.inf, -1.0]) == np.inf


@pytest.mark.parametrize("bad", [[], [np.nan], [np.inf]])
def test_perplexity_refuses_invalid_log_probabilities(bad: list[float]) -> None:
    with pytest.raises(InputError):
        perplexity(bad)


def test_one_length_for_each_string() -> None:
    with pytest.raises(InputError, match="2 log-probabilities for 1 strings"):
        string_scores([-1.0, -2.0], [3])


def test_pautomac_by_hand() -> None:
    # Renormalised: p = (1/2, 1/2), q = (1/4, 3/4).
    scores = pautomac_scores([0.1, 0.1], [0.05, 0.15])
    assert scores["pautomac"] == pytest.approx(4 / np.sqrt(3))
    assert scores["pautomac_bound"] == pytest.approx(2)
    assert scores["nonpositive"] == 0


def test_pautomac_with_zero_and_negative_predictions() -> None:
    assert pautomac_scores([0.1, 0.1], [0.2, -0.1])["pautomac"] == np.inf
    # A string with probability zero needs no positive prediction.
    scores = pautomac_scores([0.1, 0.1, 0.0], [0.3, 0.3, 0.0])
    assert scores["pautomac"] == pytest.approx(2)
    assert scores["nonpositive"] == 1


@pytest.mark.parametrize(
    ("solution", "predicted"), [([0.1], [0.1, 0.2]), ([], []), ([0.1], [np.nan]), ([-1.0], [0.1]), ([0.0], [0.1])]
)
def test_pautomac_refuses_invalid_probabilities(solution: list[float], predicted: list[float]) -> None:
    with pytest.raises(InputError):
        pautomac_scores(solution, predicted)


positive = st.floats(1e-6, 1.0)


@given(st.lists(st.tuples(positive, positive), min_size=1), st.floats(0.01, 100))
def test_nothing_beats_the_solution_and_scale_does_not_matter(pairs: list[tuple[float, float]], scale: float) -> None:
    p, q = (np.array(side) for side in zip(*pairs, strict=True))
    scores = pautomac_scores(p, q)
    assert scores["pautomac"] >= scores["pautomac_bound"] * (1 - 1e-12)
    assert pautomac_scores(p, q * scale)["pautomac"] == pytest.approx(scores["pautomac"])
    assert pautomac_scores(p, p * scale)["pautomac"] == pytest.approx(scores["pautomac_bound"])


# The score of each problem's true model on its test strings, which is the lower bound of the competition.
@pytest.mark.parametrize(("problem", "bound"), [(1, 29.898), (3, 49.956), (7, 51.224), (39, 10.002), (45, 24.042)])
def test_bounds_of_real_problems(data_dir: Path, problem: int, bound: float) -> None:
    lines = (data_dir / "pautomac" / f"{problem}.pautomac_solution.txt").read_text().split()
    solution = np.array(lines[1:], float)
    assert pautomac_scores(solution, solution)["pautomac_bound"] == pytest.approx(bound, abs=5e-4)
