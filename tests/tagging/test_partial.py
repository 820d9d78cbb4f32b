"""Learning from sequences with holes."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.data import Sentence
from spectragram.errors import InputError
from spectragram.inference.factored_chain import Chain, factored_marginals
from spectragram.synthetic import english_tagged
from spectragram.tagging import Tagger

WORDS, TAGS = (list(part) for part in zip(*english_tagged(260, seed=6), strict=True))


def holes(share: float, seed: int = 0) -> list[list[str | None]]:
    rng = np.random.default_rng(seed)
    return [[tag if rng.random() >= share else None for tag in tags] for tags in TAGS[:120]]


def test_half_of_the_labels_teach_more_than_half_of_the_sequences() -> None:
    settings = {"n_states": 2, "n_models": 1, "max_iter": 2, "n_epochs": 2, "n_jobs": 1}
    fewer = Tagger(**settings).fit(WORDS[:60], TAGS[:60]).score(WORDS[200:], TAGS[200:])
    tagger = Tagger(**settings).fit(WORDS[:120], holes(0.5))
    assert tagger.score(WORDS[200:], TAGS[200:]) > fewer + 0.03
    assert None not in tagger.labels_


def test_open_labels_have_the_gradient_of_the_sum_over_them() -> None:
    rng = np.random.default_rng(0)
    transition = rng.random((3, 3))
    chain = Chain(rng.random(3), transition, np.ascontiguousarray(transition.T), rng.random(3), np.arange(4))
    vectors, rows, pairs = rng.random((3, 3)), np.arange(3), np.exp(rng.normal(size=(3, 3)))
    scores = rng.normal(size=(3, 3))
    allowed = np.array([[True, True, True], [False, True, False], [True, True, True]])

    def value(scores: np.ndarray) -> float:
        within = np.where(allowed, scores, -np.inf)
        return (
            factored_marginals(chain, vectors, rows, within, pairs)[2]
            - factored_marginals(chain, vectors, rows, scores, pairs)[2]
        )

    within = factored_marginals(chain, vectors, rows, np.where(allowed, scores, -np.inf), pairs)[0]
    gradient = within - factored_marginals(chain, vectors, rows, scores, pairs)[0]
    for i, a in ((0, 0), (1, 1), (1, 2), (2, 0)):
        nudge = np.zeros((3, 3))
        nudge[i, a] = 1e-5
        assert (value(scores + nudge) - value(scores - nudge)) / 2e-5 == pytest.approx(gradient[i, a], abs=1e-6)


def test_unknown_labels_in_files_are_named() -> None:
    sentences = [Sentence.from_words(w, upos=[t or "_" for t in ts]) for w, ts in zip(WORDS, holes(0.3), strict=False)]
    tagger = Tagger(1, "hmm", n_jobs=1)
    assert "_" in tagger.fit(sentences).labels_
    assert "_" not in tagger.fit(sentences, unknown="_").labels_
    with pytest.raises(InputError, match="no token has a label"):
        tagger.fit(WORDS[:2], [[None] * len(words) for words in WORDS[:2]])
