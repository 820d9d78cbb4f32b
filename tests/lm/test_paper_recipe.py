"""``recipe="paper"`` against plain numpy, written from section 8 of Cohen & Collins 2014 alone."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import nnls

from spectragram.learning.counts import count_ngrams
from spectragram.learning.recipes import recipe_steps
from spectragram.lm import LanguageModel
from spectragram.lm.pivot import pivot
from spectragram.lm.settings import RECIPES, settings_of

M, STEPS = 3, 20


@pytest.fixture(scope="module")
def text() -> list[str]:
    """One sentence drawn from three classes of words that follow each other unevenly."""
    rng = np.random.default_rng(7)
    classes, moves = [["a", "b", "c"], ["d", "e"], ["f", "g", "h"]], [[0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.3, 0.3, 0.4]]
    state, words = 0, []
    for _ in range(3000):
        state = int(rng.choice(3, p=moves[state]))
        words.append(str(rng.choice(classes[state])))
    return words


def anchors(points: np.ndarray) -> list[int]:
    """FastAnchorWords: always the point farthest from the affine span of those before; then each again, given all."""

    def farthest(span: list[int]) -> int:
        base = points[span[0]]
        Q, _ = np.linalg.qr((points[span[1:]] - base).T)
        return int((((points - base) - (points - base) @ Q @ Q.T) ** 2).sum(axis=1).argmax())

    found = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())]
    while len(found) < M:
        found.append(farthest(found))
    for i in range(M):
        found[i] = farthest(found[:i] + found[i + 1 :])
    return found


def section_8(text: list[str]) -> tuple[list[str], np.ndarray]:
    """Steps 1 and 2: p(w2 | w1) for all pairs of words."""
    words = sorted(set(text))
    pairs = Counter(pairwise(text))
    Q = np.array([[pairs[a, b] for b in words] for a in words], float) / (len(text) - 1)
    p1, p2 = Q.sum(axis=1), Q.sum(axis=0)
    # Section 5.2 on the transpose: phi(w1) by canonical correlation analysis, v(w2) = E[phi(w1) | w2]
    _, _, Vt = np.linalg.svd(Q.T / np.sqrt(np.outer(p2, p1)))
    phi = Vt[:M].T / np.sqrt(p1)[:, None]
    v = (Q.T / p2[:, None]) @ phi
    corners = v[anchors(v)]
    heavy = 1e6
    q = np.array([nnls(np.vstack([corners.T, heavy * np.ones(M)]), np.append(x, heavy))[0] for x in v])
    q /= q.sum(axis=1, keepdims=True)
    prior = p2 @ q
    s = p2[:, None] * q / prior
    r = np.repeat(prior[None], len(words), axis=0)
    for _ in range(STEPS):
        expected = r * ((Q / (r @ s.T)) @ s)
        r = expected / expected.sum(axis=1, keepdims=True)
    return words, r @ s.T


def test_pivot_is_the_paper(text: list[str]) -> None:
    words, expected = section_8(text)
    estimator = LanguageModel(M, recipe="paper", history_steps=STEPS, history_tolerance=0.0)
    stream = np.array([words.index(word) for word in text], np.int32)
    how, rng = settings_of(estimator).anchoring, np.random.default_rng(0)
    found = pivot(count_ngrams(stream, 2, len(words)), M, prior=settings_of(estimator).prior, how=how, rng=rng)
    np.testing.assert_allclose(found.histories @ found.emissions.T, expected, atol=1e-8)
    model = estimator.fit([text]).model_  # the same in single precision
    index = [model.vocabulary.index[word] for word in words]
    classes = model.mixture.classes[0]
    np.testing.assert_allclose((classes.histories @ classes.emissions.T)[np.ix_(index, index)], expected, atol=1e-5)


def test_one_discount(text: list[str]) -> None:
    model = LanguageModel(learner="kn", recipe="paper", order=2).fit([text])
    pairs = Counter(pairwise(text))
    n1, n2 = (sum(count == k for count in pairs.values()) for k in (1, 2))
    discount = n1 / (n1 + 2 * n2) if 0 < n1 / max(n1 + 2 * n2, 1) < 1 else 0.5
    np.testing.assert_allclose(model.model_.mixture.ngrams.discounts[-1], discount)


def test_every_step_between_the_recipes_is_a_parameter(text: list[str]) -> None:
    steps = list(recipe_steps(RECIPES))
    assert {name for name, _, _ in steps} <= set(LanguageModel().get_params())
    walked = LanguageModel(**{name: value for name, _, value in steps}).set_params(n_states=M).fit([text])
    papers = LanguageModel(M, recipe="paper").fit([text])
    assert walked.surprisal([text[:50]])[0].tolist() == papers.surprisal([text[:50]])[0].tolist()
