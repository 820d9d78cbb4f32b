"""N-grams by stretches of the vocabulary: those of the text, wherever and however it is cut."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spectragram.engine import working_on
from spectragram.learning import ngram_counting
from spectragram.learning.ngram_tree import NgramTree
from tests.clusters_of_workers import Courier


@pytest.mark.parametrize("start", [-1, 3])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_every_ngram_is_counted(
    order: int, start: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngram_counting, "WINDOWS", 50)
    tokens = (rng.zipf(1.5, 600) % 9).astype(np.int32)  # one word has several stretches' worth of windows
    tree, counts = NgramTree.count(tokens, 10, order, start, n_jobs=2)
    text = tokens.tolist()
    for length in range(1, order + 1):
        expected = Counter(
            tuple(text[i : i + length])
            for i in range(len(text) - length + 1)
            if start not in text[i + 1 : i + length - 1]
        )
        nodes = slice(tree.bounds[length - 1], tree.bounds[length])
        found = dict(zip(map(tuple, tree.level(length).tolist()), counts[nodes].tolist(), strict=True))
        assert {ngram: n for ngram, n in found.items() if n} == expected


def test_stretches_and_workers_do_not_show(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = rng.integers(0, 30, 2000).astype(np.int32)
    whole, counts = NgramTree.count(tokens, 30, 3)
    monkeypatch.setattr(ngram_counting, "WINDOWS", 100)
    courier = Courier()
    with working_on(courier):
        there, counted = NgramTree.count(tokens, 30, 3)
    assert courier.n_tasks > 10
    for one, other in (
        (whole.bounds, there.bounds),
        (whole.words, there.words),
        (whole.starts, there.starts),
        (counts, counted),
    ):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
