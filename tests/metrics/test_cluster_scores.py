"""Mutual information by hand, and its invariances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.errors import InputError
from spectragram.metrics import clustering_scores, mutual_information, stream_mutual_information


def test_a_worked_stream() -> None:
    # 0 1 0 1 1: bigrams 01 x2, 10 x1, 11 x1; left margins (2, 2)/4, right margins (1, 3)/4.
    by_hand = 2 / 4 * np.log(2 * 4 / (2 * 3)) + 1 / 4 * np.log(4 / (2 * 1)) + 1 / 4 * np.log(4 / (2 * 3))
    assert stream_mutual_information([0, 1, 0, 1, 1]) == pytest.approx(by_hand)
    assert mutual_information([[0, 2], [1, 1]]) == pytest.approx(by_hand)
    assert clustering_scores([0, 1, 0, 1, 1]) == {
        "mutual_information": pytest.approx(by_hand),
        "clusters": 2,
        "tokens": 5,
    }


def test_extremes() -> None:
    assert mutual_information(np.ones((3, 4))) == pytest.approx(0)
    assert mutual_information(np.eye(4)) == pytest.approx(np.log(4))
    assert stream_mutual_information([7, 7, 7]) == 0


def test_numbers_too_large_for_a_table() -> None:
    assert stream_mutual_information([0, 10**6, 0, 10**6, 10**6]) == pytest.approx(
        stream_mutual_information([0, 1, 0, 1, 1])
    )


@pytest.mark.parametrize("bad", [[], [1], [0, -1], [0.5, 1.0], [[0, 1]]])
def test_arrays_that_are_not_streams_are_refused(bad: list) -> None:
    with pytest.raises(InputError, match="not a stream of cluster numbers"):
        stream_mutual_information(bad)


@pytest.mark.parametrize("bad", [[[0, 0]], [1, 2], [[1, -1]]])
def test_arrays_that_are_not_tables_are_refused(bad: list) -> None:
    with pytest.raises(InputError, match="not a table of counts"):
        mutual_information(bad)


streams = st.lists(st.integers(0, 4), min_size=2, max_size=40)


@given(streams, st.permutations(range(5)))
def test_names_of_clusters_do_not_matter(stream: list[int], names: list[int]) -> None:
    value = stream_mutual_information(stream)
    assert stream_mutual_information([names[c] for c in stream]) == pytest.approx(value, abs=1e-12)
    assert -1e-12 <= value <= np.log(5) + 1e-12


@given(streams)
def test_merging_clusters_loses_information(stream: list[int]) -> None:
    merged = [min(c, 3) for c in stream]
    assert stream_mutual_information(merged) <= stream_mutual_information(stream) + 1e-12


@given(streams)
def test_table_and_stream_agree(stream: list[int]) -> None:
    table = np.zeros((5, 5))
    np.add.at(table, (stream[:-1], stream[1:]), 1)
    assert mutual_information(table) == pytest.approx(stream_mutual_information(stream), abs=1e-12)
    assert mutual_information(table.T) == pytest.approx(mutual_information(table), abs=1e-12)
