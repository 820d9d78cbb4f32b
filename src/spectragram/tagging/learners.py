"""From labelled sequences to a trained tagger, in the order in which things are learned.

    sequences and labels -> observations -> lexicon -> legal labels -> views -> members -> their factors -> model

Each member is trained by one of the learners:

    spectral      figure 4 of Stratos et al. (2013): operators from projected views, no iterations
    spectral+em   hidden states from clusters of the projected views, then a few smoothed EM iterations
    pivot         states identified by anchor features; probabilities by convex least squares
    pivot+em      the same, then EM
    em            random states, then EM; the best of several starts
    segments      the segments of each run of a label as states, then EM
    hmm           one state per label: counting
    unigram       no member at all: the lexicon alone
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spectragram.data.corpus import Vocabulary
from spectragram.data.labelled import LabelledFile, Layout
from spectragram.engine import resolve_jobs
from spectragram.engine.progress import Report, silent
from spectragram.errors import InputError
from spectragram.learning.ensembles import train_members
from spectragram.learning.factors import empty_table
from spectragram.learning.states import random_shares, random_states
from spectragram.learning.words import LEAST_KAPPA
from spectragram.tagging.codebook import Codebook, are_frames, stacked_frames
from spectragram.tagging.decoding import legal_moves
from spectragram.tagging.em import chain_from_states
from spectragram.tagging.factors import Factors, learn_factors, training_tokens
from spectragram.tagging.held_out import choose_factors, prefers_looks
from spectragram.tagging.lexicon import CellVectors, Lexicon, learn_lexicon
from spectragram.tagging.member import Member
from spectragram.tagging.model import Model
from spectragram.tagging.partial import complete_labels
from spectragram.tagging.pivot import learn_pivot
from spectragram.tagging.sequences import Observations, encode_labels, read_observations
from spectragram.tagging.settings import Settings
from spectragram.tagging.spectral import learn_spectral
from spectragram.tagging.training import Training

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
    weights: np.ndarray | None = None,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> tuple[Model, Observations]:
    """The trained tagger, and the observations that it was trained on.

    ``dev`` is held-out data that chooses the EM iteration and the epoch of the factors. Labels of ``data`` that are
    None are open, see :mod:`spectragram.tagging.partial`. ``weights`` (n_sequences,), if any, say how much each
    sequence counts for the factors; then every sequence has a label.
    """
    counting = replace(settings, learner="hmm", factors=False, n_models=1)
    data, is_open = complete_labels(data, lambda runs: train(runs, counting, n_jobs=n_jobs)[0], n_jobs)
    observed, labels, names, codebook = _encode(data, settings)
    n_labels, is_speech = len(names), codebook is not None
    by_looks = not is_speech and prefers_looks(observed, labels, n_labels, max(settings.backoff, LEAST_KAPPA))
    lexicon, cells = learn_lexicon(
        observed, labels, n_labels, kappa=max(settings.backoff, LEAST_KAPPA), by_looks=by_looks
    )
    model = Model(
        labels=names,
        n_columns=observed.n_columns,
        lexicon=lexicon,
        legal=legal_moves(names, labels, observed.offsets),
        codebook=codebook,
        decoding=settings.decoding,
        emission_weight=settings.emission_weight,
        layout=_layout_of(data.layout, observed.n_columns, frames=is_speech),
        sign_rule=settings.sign_rule,
        paths=settings.paths,
    )
    views = settings.views_for(observed.n_columns, frames=is_speech)
    judge = None if dev is None else _judge(model, dev, n_jobs)
    templates: tuple[str, ...] = ()
    if settings.factors:
        templates, outside = choose_factors(
            observed,
            labels,
            names,
            model.legal,
            kappa=max(settings.backoff, LEAST_KAPPA),
            by_looks=by_looks,
            seed=settings.random_state,
            n_jobs=resolve_jobs(n_jobs),
        )
        model = replace(model, outside_weight=outside)
    training = Training(
        observed,
        labels,
        n_labels,
        cells,
        views,
        settings,
        templates,
        is_open=is_open,
        weights=weights,
        judge=judge,
        report=report,
    )
    return replace(model, members=_members(training, lexicon, n_jobs)), observed


def _encode(data: LabelledFile, settings: Settings) -> tuple[Observations, np.ndarray, list[str], Codebook | None]:
    """Observations and labels as numbers, without empty sequences; the names of labels; the codebook of frames."""
    codebook = None
    if are_frames(data.X):
        frames, offsets = stacked_frames(data.X, normalised=settings.normalised)
        _refuse_nothing(len(frames))
        n_codes = 1 if settings.gaussian else settings.n_codes
        codebook = Codebook.fit(frames, n_codes, seed=settings.random_state, normalised=settings.normalised)
        observed = codebook.observe(frames, offsets)
    else:
        observed = read_observations(data.X, paths=settings.paths)
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


def _judge(model: Model, dev: LabelledFile, n_jobs: int | None) -> _Accuracy:
    """Accuracy of a member on held-out data."""
    observed = model.observe(dev.X)
    gold, _ = encode_labels(dev.y, observed.offsets, Vocabulary(model.labels))
    if not (gold >= 0).any():
        raise InputError(
            "held-out data without a single label of the training data",
            remedy=f"give data labelled like it: {', '.join(model.labels[:5])} ...",
        )
    return _Accuracy(model, observed, gold, n_jobs)


@dataclass(frozen=True)
class _Accuracy:
    """Accuracy of a member on held-out observations with the labels ``gold``, (n_tokens,)."""

    model: Model
    observed: Observations
    gold: np.ndarray
    n_jobs: int | None

    def __call__(self, member: Member) -> float:
        model = self.model
        marginals = member.marginals(model.lexicon, self.observed, weight=model.emission_weight, n_jobs=self.n_jobs)
        if model.sign_rule:
            marginals *= np.where(marginals.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
        return float((marginals.argmax(axis=1) == self.gold).mean())


def _members(training: Training, lexicon: Lexicon, n_jobs: int | None) -> list[Member]:
    settings = training.settings
    if settings.learner == "unigram":
        training.report()
        return []
    learn = _LearnMember(replace(training, report=silent), lexicon)
    return train_members(learn, settings.n_models, n_jobs, training.report)


@dataclass(frozen=True)
class _LearnMember:
    """What it takes to train any member, here or on a worker."""

    training: Training
    lexicon: Lexicon

    def __call__(self, number: int, n_jobs: int, report: Report) -> Member:
        settings = self.training.settings
        training = self.training.with_jobs(n_jobs, report)
        seed = settings.random_state + number
        member = _learn(training, seed, NOISE_OF_MEMBERS if number else 0.0)
        if settings.factors:
            member = replace(member, factors=_learn_factors(training, self.lexicon, member, seed, n_jobs))
        report()
        return member


def _learn(training: Training, seed: int, noise: float) -> Member:
    """Train one member; ``noise`` perturbs the features, so that members of an ensemble differ."""
    learner = training.settings.learner
    if learner == "hmm":
        return learn_hmm(training)
    if learner == "em":
        return learn_em(training, seed)
    if learner == "segments":
        return learn_segments(training)
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
        is_open=training.is_open,
        weights_of=training.weights,
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
        sizes = chain.sizes[training.labels]
        if training.settings.em_start == "shares":
            candidates.append(training.refine_shares(chain, random_shares(sizes, rng)))
        else:
            candidates.append(training.refine_states(chain, random_states(sizes, rng)))
    return max(candidates, key=lambda candidate: candidate[1])[0]


def learn_segments(training: Training) -> Member:
    """Equal segments of each run of a label as states, then EM: a fixed-structure HMM like that of a speech toolkit.

    A move that no run makes (to an earlier segment, or over one) stays impossible unless ``label_pull`` allows it.
    """
    labels, offsets = training.labels, training.observed.offsets
    chain = training.chain(training.settings.n_states)
    begins = np.append(True, labels[1:] != labels[:-1])
    begins[offsets[:-1]] = True
    run = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    place, lengths = np.arange(len(labels)) - first[run], np.bincount(run)[run]
    return training.refine_states(chain, place * chain.sizes[labels] // lengths)[0]
