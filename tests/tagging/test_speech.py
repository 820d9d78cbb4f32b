"""Frames: codebooks, Gaussian states, and taggers of both."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from spectragram import load
from spectragram.errors import InputError, ParameterError
from spectragram.tagging import Tagger
from spectragram.tagging.codebook import Codebook, stacked_frames
from spectragram.tagging.em import TrainingChain
from spectragram.tagging.gaussians import GaussianEmissions, GaussianStates


def speech(n: int, rng: np.random.Generator) -> tuple[list[np.ndarray], list[list[str]]]:
    """Utterances of three phones; each begins and ends with frames of its own, so one Gaussian does not fit."""
    centres = rng.standard_normal((3, 3, 4)) * 2
    X, y = [], []
    for _ in range(n):
        frames, labels = [], []
        for phone in rng.permutation(3):
            for part in range(3):
                frames.append(centres[phone, part] + rng.standard_normal((4, 4)))
                labels += ["abc"[phone]] * 4
        X.append(np.concatenate(frames))
        y.append(labels)
    return X, y


@pytest.fixture(scope="module")
def corpus() -> tuple[list[np.ndarray], list[list[str]]]:
    return speech(80, np.random.default_rng(5))


def test_gaussian_states_beat_one_gaussian(corpus: tuple, tmp_path) -> None:
    X, y = corpus
    scores = {}
    for learner in ("hmm", "spectral+em"):
        tagger = Tagger(3, learner, emissions="gaussian").fit(X[:60], y[:60])
        scores[learner] = tagger.score(X[60:], y[60:])
    assert scores["spectral+em"] > scores["hmm"] > 0.6
    tagger.save(tmp_path / "m")
    again = load(tmp_path / "m").marginals(X[60:])
    np.testing.assert_array_equal(np.concatenate(again), np.concatenate(tagger.marginals(X[60:])))


@pytest.mark.parametrize("learner", ["unigram", "hmm", "spectral", "em", "spectral+em"])
def test_labels_of_frames(learner: str, corpus: tuple) -> None:
    X, y = corpus
    tagger = Tagger(3, learner, emissions="classes", n_codes=20, max_iter=2, n_starts=1).fit(X[:60], y[:60])
    assert tagger.score(X[60:], y[60:]) > 0.5
    assert "unknown_accuracy" not in tagger.evaluate(X[60:], y[60:])


def test_em_refines_gaussian_states(corpus: tuple) -> None:
    X, y = corpus
    scores = [
        Tagger(3, "em", emissions="gaussian", max_iter=n, n_starts=1, n_models=1)
        .fit(X[:60], y[:60])
        .score(X[60:], y[60:])
        for n in (0, 8)
    ]
    assert scores[1] > scores[0]


def test_gaussians_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ValueError, match="fit together"):
        GaussianStates(np.zeros((2, 3)), np.zeros((2, 3, 2)), np.array([0, 2]))


def test_gaussians_need_a_learner_with_states(corpus: tuple) -> None:
    with pytest.raises(ParameterError, match="learner spectral has no Gaussians"):
        Tagger(learner="spectral", emissions="gaussian").fit(*corpus)
    with pytest.raises(ParameterError, match="for text"):
        Tagger(emissions="gaussian").fit([["a"]], [["X"]])


def test_frames_must_have_the_width_of_training(corpus: tuple) -> None:
    tagger = Tagger(1, "hmm").fit(*corpus)
    with pytest.raises(InputError, match=r"\(frames, 4\)"):
        tagger.predict([np.zeros((5, 3))])
    with pytest.raises(InputError, match="finite"):
        tagger.predict([np.full((5, 4), np.nan)])


def test_log_densities_are_those_of_the_gaussian(rng: np.random.Generator) -> None:
    frames = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 3))
    chain = TrainingChain(np.zeros(200, np.int32), np.array([0, 200]), np.array([1]))
    emissions = GaussianEmissions(frames, chain, weight=1.0)
    emissions.update(np.ones((200, 1)))
    W = emissions.model.whitening[0]
    expected = multivariate_normal(emissions.model.means[0], np.linalg.inv(W.T @ W)).logpdf(frames)
    found = emissions.model.log_densities(frames, np.array([0]))[:, 0]
    np.testing.assert_allclose(found - 1.5 * np.log(2 * np.pi), expected)
    np.testing.assert_allclose(np.linalg.inv(W.T @ W), np.cov(frames.T), rtol=0.05, atol=0.05)


def test_codes_are_nearest_prototypes(rng: np.random.Generator) -> None:
    frames = rng.standard_normal((50, 2))
    book = Codebook.fit(frames, 5, seed=0)
    distances = ((frames[:, None] - book.prototypes[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(book.codes(frames), distances.argmin(axis=1))


def test_utterances_are_normalised(rng: np.random.Generator) -> None:
    frames, offsets = stacked_frames([rng.normal(3, 5, (40, 2)), np.ones((3, 2))])
    assert offsets.tolist() == [0, 40, 43]
    np.testing.assert_allclose(frames[:40].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(frames[:40].std(axis=0), 1)
    assert (frames[40:] == 0).all()
