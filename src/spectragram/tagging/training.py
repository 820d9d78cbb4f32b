"""From labelled sequences to a trained tagger, in the order in which things are learned.

observations and labels -> lexicon -> which labels may follow which -> views -> members
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spectragram.data.vocabulary import Vocabulary
from spectragram.engine.progress import Report, silent
from spectragram.errors import InputError
from spectragram.learning.ensembles import train_members
from spectragram.tagging.codebook import Codebook, are_frames, stacked_frames
from spectragram.tagging.decoding import legal_moves
from spectragram.tagging.learners import Judge, Training, learn, prefers_looks
from spectragram.tagging.lexicon import learn_lexicon
from spectragram.tagging.model import Member
from spectragram.tagging.sequences import Observations, encode_labels, read_observations
from spectragram.tagging.settings import Settings, usual_views
from spectragram.tagging.trained import Sequences, Trained

__all__ = ["Labels", "train"]

NOISE_OF_MEMBERS = 0.3

Labels = Iterable[Sequence[str]]


def train(
    X: list[Any],
    y: Labels,
    settings: Settings,
    *,
    views: Mapping[str, Sequence[str]] | None = None,
    dev: tuple[Sequences, Labels] | None = None,
    report: Report = silent,
) -> tuple[Trained, Observations]:
    """The trained tagger, and the observations that it was trained on.

    ``views`` replaces templates of the usual views; ``dev`` is held-out data that chooses the EM iteration.
    """
    observed, labels, names, codebook = _encode(X, y, settings)
    is_speech = codebook is not None
    by_looks = not is_speech and prefers_looks(observed, labels, len(names), settings.backoff)
    lexicon, cells = learn_lexicon(observed, labels, len(names), kappa=settings.backoff, by_looks=by_looks)
    legal = legal_moves(names, labels, observed.offsets)
    trained = Trained(names, observed.n_columns, lexicon, legal, codebook, [])
    chosen = usual_views(settings, observed.n_columns, frames=is_speech).replaced(views or {})
    judge = None if dev is None else _judge(trained, dev, settings)
    training = Training(observed, labels, len(names), cells, chosen, settings, judge, report)
    return replace(trained, members=_members(training)), observed


def _encode(X: list[Any], y: Labels, settings: Settings) -> tuple[Observations, np.ndarray, list[str], Codebook | None]:
    """Observations and labels as numbers, empty sequences left out; the names of labels; the codebook of frames."""
    codebook = None
    if are_frames(X):
        frames, offsets = stacked_frames(X)
        _refuse_nothing(len(frames))
        codebook = Codebook.fit(frames, 1 if settings.gaussian else settings.n_codes, seed=settings.random_state)
        observed = codebook.observe(frames, offsets)
    else:
        observed = read_observations(X)
        _refuse_nothing(len(observed.tokens))
    labels, vocabulary = encode_labels(y, observed.offsets)
    kept, _ = observed.select(np.flatnonzero(np.diff(observed.offsets)))
    return kept, labels, list(vocabulary.words), codebook


def _refuse_nothing(n_tokens: int) -> None:
    if not n_tokens:
        raise InputError("no tokens to learn from", remedy="give at least one sequence with a label for each token")


def _judge(trained: Trained, dev: tuple[Sequences, Labels], settings: Settings) -> Judge:
    """Accuracy of a member on held-out data."""
    observed = trained.observe(dev[0])
    gold, _ = encode_labels(dev[1], observed.offsets, Vocabulary(trained.labels))
    if not (gold >= 0).any():
        raise InputError(
            "held-out data without a single label of the training data",
            remedy=f"give data labelled like it: {', '.join(trained.labels[:5])} ...",
        )

    def accuracy(member: Member) -> float:
        weight, n_jobs = settings.emission_weight, settings.n_jobs
        marginals = member.marginals(trained.lexicon, observed, weight=weight, n_jobs=n_jobs)
        marginals *= np.where(marginals.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
        return float((marginals.argmax(axis=1) == gold).mean())

    return accuracy


def _members(training: Training) -> list[Member]:
    settings = training.settings
    if settings.learner == "unigram":
        training.report()
        return []

    def train(number: int, n_jobs: int) -> Member:
        noise = NOISE_OF_MEMBERS if number else 0.0
        return learn(training.with_jobs(n_jobs), settings.random_state + number, noise)

    return train_members(train, settings.n_models, settings.n_jobs)
