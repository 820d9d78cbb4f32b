"""``recipe="paper"`` against plain numpy, written from Stratos et al. 2014 alone (figures 4 and 5)."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spectragram.clusters import WordClusters
from spectragram.clusters.settings import RECIPES
from spectragram.learning.recipes import recipe_steps
from spectragram.synthetic.brown import BrownModel

M = 5


@pytest.fixture(scope="module")
def text() -> list[str]:
    rng = np.random.default_rng(1)
    sample = BrownModel.random(80, 6, rng=rng).sample(1, 8000, rng)
    words = sample.decode(0)
    rare = {word for word, count in Counter(words).items() if count < 60}
    return ["<unk>" if word in rare else word for word in words]


def figure_4(text: list[str], words: list[str], places: tuple[int, ...], kappa: float) -> np.ndarray:
    """Rows of U of length one; B, u and v are counts, since 1 / (N - 1) cancels."""
    number = {word: i for i, word in enumerate(words)}
    n, ids = len(words), [number[word] for word in text]
    blocks = []
    for place in places:
        block = np.zeros((n, n))
        for i in range(len(ids)):
            if 0 <= i + place < len(ids):
                block[ids[i], ids[i + place]] += 1
        blocks.append(block)
    B = np.hstack(blocks)
    u, v = B.sum(axis=1) / len(places) + kappa, B.sum(axis=0) + kappa
    U = np.linalg.svd(B / np.sqrt(np.outer(u, v)))[0][:, :M]
    return U / np.linalg.norm(U, axis=1, keepdims=True)


def figure_5(vectors: np.ndarray) -> tuple[list[set[int]], float]:
    """The M clusters, and how often a loose bound had to be tightened for each merge."""
    clusters: list[set[int]] = []
    bound: dict[int, float] = {}
    nearest: dict[int, int] = {}
    tight: dict[int, bool] = {}
    alive: list[int] = []

    def distance(a: int, b: int) -> float:
        x, y = (vectors[list(clusters[c])].mean(axis=0) for c in (a, b))
        na, nb = len(clusters[a]), len(clusters[b])
        return na * nb / (na + nb) * float(((x - y) ** 2).sum())

    def tighten(c: int) -> None:
        bound[c], nearest[c] = min((distance(c, other), other) for other in alive if other != c)
        tight[c] = True

    tightened = 0
    for i in range(M):
        clusters.append({i})
        alive.append(i)
    for c in alive:
        tighten(c)
    for i in range(M, len(vectors)):
        clusters.append({i})
        alive.append(len(clusters) - 1)
        tighten(alive[-1])
        best = min(alive, key=lambda c: bound[c])
        while not tight[best]:
            tighten(best)
            tightened += 1
            best = min(alive, key=lambda c: bound[c])
        other = nearest[best]
        clusters.append(clusters[best] | clusters[other])
        loose = [c for c in alive if nearest[c] in (best, other)]
        alive = [c for c in alive if c not in (best, other)] + [len(clusters) - 1]
        for c in loose:
            tight[c] = False
        tighten(alive[-1])
    return [clusters[c] for c in alive], tightened / (len(vectors) - M)


@pytest.mark.parametrize(("context", "places"), [("R1", (1,)), ("LR1", (-1, 1)), ("LR2", (-2, -1, 1, 2))])
def test_clusters_are_the_papers(text: list[str], context: str, places: tuple[int, ...]) -> None:
    counts = Counter(text)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    expected, gamma = figure_5(figure_4(text, words, places, 3.0))
    model = WordClusters(M, recipe="paper", context=context, kappa=3.0, min_count=2).fit([text])
    found = {word: model.clusters_[i] for i, word in enumerate(model.vocabulary_.words)}
    together = {frozenset(word for word in found if found[word] == c) for c in set(found.values())}
    assert together == {frozenset(words[i] for i in cluster) for cluster in expected}
    assert "<unk>" in counts
    assert model.summary_["gamma"] == pytest.approx(gamma)


def test_vectors_are_the_papers(text: list[str]) -> None:
    counts = Counter(text)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    model = WordClusters(M, recipe="paper", context="R1", kappa=3.0).fit([text])
    expected = figure_4(text, words, (1,), 3.0)
    order = [model.vocabulary_.words.index(word) for word in words]
    found = model.model_.vectors[order].astype(float)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-6)  # saved in single precision


def test_every_step_between_the_recipes_is_a_parameter(text: list[str]) -> None:
    steps = list(recipe_steps(RECIPES))
    assert {name for name, _, _ in steps} <= set(WordClusters().get_params())
    walked = WordClusters(**{name: value for name, _, value in steps}).set_params(n_clusters=M).fit([text])
    papers = WordClusters(M, recipe="paper").fit([text])
    assert walked.clusters_.tolist() == papers.clusters_.tolist()
