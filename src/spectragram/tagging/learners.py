"""From labelled sequences to a trained tagger, in the order in which things are learned.

    sequences and labels -> observations -> lexicon -> legal labels -> views -> members -> their factors -> model

Each member is trained by one of the learners:

    spectral      figure 4 of Stratos et al. (2013): operators from projected views, no iterations
    spectral+em   hidden states from clusters of the projected views, then a few smoothed EM iterations
    pivot         states identified by anchor features; probabilities by convex least squares
    pivot+em      the same, then EM
    em            random states, then EM; the best of several starts
    hmm           one state per label: counting
    unigram       no member at all: the lexicon alone
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spectragram.data.corpus import Vocabulary
from spectragram.data.labelled import LabelledFile, Layout
from spectragram.engine import resolve_jobs
from spectragram.engine.progress import Report, silent
from spectragram.errors import InputError
from spectragram.learning.ensembles import train_members
from spectragram.learning.factors import empty_table
from spectragram.learning.states import random_states
from spectragram.tagging.codebook import Codebook, are_frames, stacked_frames
from spectragram.tagging.decoding import legal_moves
from spectragram.tagging.em import chain_from_states
from spectragram.tagging.factors import Factors, learn_factors, training_tokens
from spectragram.tagging.held_out import choose_templates, prefers_looks
from spectragram.tagging.lexicon import CellVectors, Lexicon, learn_lexicon
from spectragram.tagging.member import Member
from spectragram.tagging.model import Model
from spectragram.tagging.pivot import learn_pivot
from spectragram.tagging.sequences import Observations, encode_labels, read_observations
from spectragram.tagging.settings import Settings
from spectragram.tagging.spectral import learn_spectral
from spectragram.tagging.training import Judge, Training

__all__ = ["train"]

NOISE_OF_MEMBERS = 0.3
"""Standard deviation of the factors that features are multiplied by, in all members but the first. As for the parser,
after Narayan & Cohen (2016)."""
CLUSTER_DIMS = 12
"""Dimensions of each view that is clustered. Chosen by hand, not tuned: dimensions are weighted by their singular
values, so further ones hardly count."""
FACTOR_STREAM = 1
"""Distinguishes the random numbers of the factors from those of other steps with the same seed."""


def train(
    data: LabelledFile,
    settings: Settings,
    *,
    dev: LabelledFile | None = None,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> tuple[Model, Observations]:
    """The trained tagger, and the observations that it was trained on.

    ``dev`` is held-out data that chooses the EM iteration and the epoch of the factors.
    """
    observed, labels, names, codebook = _encode(data, settings)
    n_labels, is_speech = len(names), codebook is not None
    by_looks = not is_speech and prefers_looks(observed, labels, n_labels, settings.backoff)
    lexicon, cells = learn_lexicon(observed, labels, n_labels, kappa=settings.backoff, by_looks=by_looks)
    model = Model(
        labels=names,
        n_columns=observed.n_columns,
        lexicon=lexicon,
        legal=legal_moves(names, labels, observed.offsets),
        codebook=codebook,
        decoding=settings.decoding,
        emission_weight=settings.emission_weight,
        layout=_layout_of(data.layout, observed.n_columns, frames=is_speech),
    )
    views = settings.views_for(observed.n_columns, frames=is_speech)
    judge = None if dev is None else _judge(model, dev, n_jobs)
    templates: tuple[str, ...] = ()
    if settings.factors:
        templates = choose_templates(
            observed,
            labels,
            n_labels,
            kappa=settings.backoff,
            by_looks=by_looks,
            seed=settings.random_state,
            n_jobs=resolve_jobs(n_jobs),
        )
    training = Training(observed, labels, n_labels, cells, views, settings, templates, judge=judge, report=report)
    return replace(model, members=_members(training, lexicon, n_jobs)), observed


def _encode(data: LabelledFile, settings: Settings) -> tuple[Observations, np.ndarray, list[str], Codebook | None]:
    """Observations and labels as numbers, without empty sequences; the names of labels; the codebook of frames."""
    codebook = None
    if are_frames(data.X):
        frames, offsets = stacked_frames(data.X)
        _refuse_nothing(len(frames))
        codebook = Codebook.fit(frames, 1 if settings.gaussian else settings.n_codes, seed=settings.random_state)
        observed = codebook.observe(frames, offsets)
    else:
        observed = read_observations(data.X)
        _refuse_nothing(len(observed.tokens))
    labels, vocabulary = encode_labels(data.y, observed.offsets)
    kept, _ = observed.select(np.flatnonzero(np.diff(observed.offsets)))
    return kept, labels, list(vocabulary.words), codebook


def _refuse_nothing(n_tokens: int) -> None:
    if not n_tokens:
        raise InputError("no tokens to learn from", remedy="give at least one sequence with a label for each token")


def _layout_of(layout: Layout, n_columns: int, *, frames: bool) -> Layout:
    """The layout of later files. Sequences that come from no file have none, so the usual one is assumed."""
    if layout.format != "auto":
        return layout
    if frames:
        return layout.with_format("npz")
    return replace(layout, columns=tuple(range(n_columns))).with_format("columns")


def _judge(model: Model, dev: LabelledFile, n_jobs: int | None) -> Judge:
    """Accuracy of a member on held-out data."""
    observed = model.observe(dev.X)
    gold, _ = encode_labels(dev.y, observed.offsets, Vocabulary(model.labels))
    if not (gold >= 0).any():
        raise InputError(
            "held-out data without a single label of the training data",
            remedy=f"give data labelled like it: {', '.join(model.labels[:5])} ...",
        )

    def accuracy(member: Member) -> float:
        marginals = member.marginals(model.lexicon, observed, weight=model.emission_weight, n_jobs=n_jobs)
        marginals *= np.where(marginals.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
        return float((marginals.argmax(axis=1) == gold).mean())

    return accuracy


def _members(training: Training, lexicon: Lexicon, n_jobs: int | None) -> list[Member]:
    settings = training.settings
    if settings.learner == "unigram":
        training.report()
        return []

    def learn(number: int, n_jobs: int) -> Member:
        noise = NOISE_OF_MEMBERS if number else 0.0
        seed = settings.random_state + number
        member = _learn(training.with_jobs(n_jobs), seed, noise)
        if settings.factors:
            member = replace(member, factors=_learn_factors(training, lexicon, member, seed, n_jobs))
        training.report()
        return member

    return train_members(learn, settings.n_models, n_jobs)


def _learn(training: Training, seed: int, noise: float) -> Member:
    """Train one member; ``noise`` perturbs the features, so that members of an ensemble differ."""
    learner = training.settings.learner
    if learner == "hmm":
        return learn_hmm(training)
    if learner == "em":
        return learn_em(training, seed)
    if learner.startswith("pivot"):
        return learn_pivot(training, seed, noise, iterate=learner == "pivot+em")
    return learn_spectral(training, seed, noise) if learner == "spectral" else learn_spectral_em(training, seed, noise)


def _learn_factors(training: Training, lexicon: Lexicon, member: Member, seed: int, n_jobs: int) -> Factors:
    """Log-linear factors beside a member."""
    settings, observed, labels, judge = training.settings, training.observed, training.labels, training.judge
    assert isinstance(member.emissions, CellVectors)
    empty = Factors(training.templates, empty_table(len(labels)))
    weight = settings.emission_weight
    return learn_factors(
        empty,
        member.operators,
        training_tokens(lexicon, training.cells, member.emissions, observed, empty, weight),
        labels,
        observed.offsets,
        n_epochs=settings.n_epochs,
        rate=settings.rate,
        rng=np.random.default_rng([seed, FACTOR_STREAM]),
        judge=None if judge is None else lambda factors: judge(replace(member, factors=factors)),
        n_jobs=n_jobs,
        report=training.report,
    )


def learn_hmm(training: Training) -> Member:
    """The supervised HMM: one state for each label."""
    chain = training.chain(1)
    emissions = training.emissions(chain)
    return Member(
        chain_from_states(chain, np.zeros(len(training.labels), np.int64), emissions).operators(), emissions.model
    )


def learn_spectral_em(training: Training, seed: int, noise: float = 0.0) -> Member:
    """Cluster the projected views into states, then refine them by EM."""
    chain = training.chain(training.settings.n_states)
    across = training.across(CLUSTER_DIMS, seed, noise)
    views = [(across.right, across.singular_values)]
    if not training.settings.gaussian:  # the vector of a frame says all that its present and future would
        along = training.along(CLUSTER_DIMS, seed, noise)
        views += [(along.left, along.singular_values), (across.left, across.singular_values)]
    return training.refine_states(chain, training.clusters(chain, views, seed))[0]


def learn_em(training: Training, seed: int) -> Member:
    """EM from random states: of several starts the best by held-out accuracy, or by likelihood without any."""
    chain = training.chain(training.settings.n_states)
    candidates = []
    for start in range(training.settings.n_starts):
        rng = np.random.default_rng([seed, start])
        states = random_states(chain.sizes[training.labels], rng)
        candidates.append(training.refine_states(chain, states))
    return max(candidates, key=lambda candidate: candidate[1])[0]
