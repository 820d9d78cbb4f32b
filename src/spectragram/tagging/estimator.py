"""The tagger: a label for every token of a sequence."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.labelled import Labelled, LabelledFile, Layout, as_labelled
from spectragram.data.signatures import VERSION
from spectragram.engine import single_threaded_blas
from spectragram.engine.progress import progress
from spectragram.estimator import Estimator, Predictions, fitting
from spectragram.inference import hashed
from spectragram.metrics import label_table, per_second, span_table, tagging_scores
from spectragram.tagging.codebook import are_frames
from spectragram.tagging.learners import train
from spectragram.tagging.member import Member
from spectragram.tagging.model import Model
from spectragram.tagging.sequences import Observations
from spectragram.tagging.settings import DECODINGS, settings_of

__all__ = ["Tagger"]

Fixed = Iterable[Sequence[str | None]]
"""For each sequence the labels that are known, None where they are not."""


class Tagger(Estimator):
    """Labels sequences with a refinement HMM: every label is split into hidden states that training finds.

    Parameters
    ----------
    n_states : int, optional
        Hidden states of a frequent label; rare labels get fewer. By default the preset chooses.
    learner : str
        ``spectral+em`` (clusters of spectral vectors refined by EM; the most accurate), ``spectral`` (the paper's;
        no iterations), ``pivot``, ``pivot+em``, ``em`` (random starts), ``hmm`` (one state for each label, so learning
        is counting; the learner of this name of ``Automaton`` finds hidden states by anchors and EM), ``unigram`` (no
        context).
    factors : bool
        Multiply the refinement HMM by log-linear factors that look at the words around each token, as a conditional
        random field does. Without them the model is the paper's. Frames of speech and the learners ``spectral``,
        ``pivot`` and ``unigram`` have none.
    preset : {"fast", "default", "best"}
        Sets ``n_states``, ``max_iter``, ``n_epochs`` and ``n_models`` where they are not given.
    n_models : int, optional
        Members of an ensemble, which differ in their seeds and in noise on their features.
    max_iter : int, optional
        EM iterations; with ``dev`` data the best one is kept.
    n_epochs : int, optional
        Passes over the sequences to fit the factors; with ``dev`` data the best one is kept.
    n_starts : int
        Random starts of ``em``.
    decoding : {"auto", "marginal", "legal"}
        ``marginal`` takes the most probable label of each token, ``legal`` the best sequence in which spans are well
        formed (I-X only inside a span of X); ``auto`` is ``legal`` if labels mark spans and ``marginal`` if not.
    views : dict, optional
        Templates of the views ``future``, ``past``, ``present`` and ``destiny``. Views that are not named keep their
        usual templates; see :mod:`spectragram.tagging.features`.
    backoff : float
        How many tokens the estimate of a coarser class of words is worth to a finer one. The default was chosen
        by hand.
    smoothing, ridge : float
        For ``spectral``: how strongly third-order moments are drawn to lower-order ones, and how strongly small
        singular values are damped. The defaults were chosen on the dev parts of EWT and CoNLL-2000.
    emissions : {"auto", "classes", "gaussian"}
        For frames of speech: classes of a codebook, or a Gaussian for every state. ``auto`` takes Gaussians if the
        learner has them.
    n_codes : int
        Size of the codebook. The default was chosen on the dev part of the TIMIT sample.
    emission_weight : float, optional
        Exponent of the likelihood of an observation. By default 1 for text, less for frames.
    random_state, n_jobs, verbose
        Seed; threads to use (-1 is all cores); whether to show progress.

    Attributes
    ----------
    model_ : Model
        All that was learned.
    labels_ : list of str
        Labels, in the order of the columns of marginals.
    members_ : list of Member
        The trained models, one unless ``n_models`` says otherwise; none for ``unigram``.
    layout_ : Layout
        Where files have observations and labels.
    summary_ : dict

    Examples
    --------
    >>> words = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]] * 5
    >>> tags = [["DET", "NOUN", "VERB"]] * 15
    >>> Tagger(n_states=1).fit(words, tags).predict([["a", "dog", "sleeps"]])
    [['DET', 'NOUN', 'VERB']]
    """

    kind = "tagger"
    model_type = Model
    model_: Model
    meanings: ClassVar = {"word classes": VERSION, "hash functions": hashed.VERSION}

    def __init__(
        self,
        n_states: int | None = None,
        learner: str = "spectral+em",
        *,
        factors: bool = True,
        preset: str = "default",
        n_models: int | None = None,
        max_iter: int | None = None,
        n_epochs: int | None = None,
        n_starts: int = 3,
        decoding: str = "auto",
        views: dict[str, list[str]] | None = None,
        backoff: float = 3.0,
        smoothing: float | None = None,
        ridge: float = 0.2,
        emissions: str = "auto",
        n_codes: int = 1000,
        emission_weight: float | None = None,
        random_state: int = 0,
        n_jobs: int | None = -1,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.factors = factors
        self.preset = preset
        self.n_models = n_models
        self.max_iter = max_iter
        self.n_epochs = n_epochs
        self.n_starts = n_starts
        self.decoding = decoding
        self.views = views
        self.backoff = backoff
        self.smoothing = smoothing
        self.ridge = ridge
        self.emissions = emissions
        self.n_codes = n_codes
        self.emission_weight = emission_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fitting
    def fit(self, X: Labelled, y: Iterable[Any] | None = None, *, dev: Labelled | None = None) -> Self:
        """Learn from sequences of observations and their labels.

        Parameters
        ----------
        X : path, LabelledFile or iterable of sequences
            A column file, CoNLL-U file or .npz archive of frames; or what
            :func:`~spectragram.data.labelled.read_labelled` returns, for files of another layout than the usual one; or
            CoNLL-U sentences; or, with ``y``, sequences of tokens. Tokens are strings, or tuples of strings (word, part
            of speech); or each sequence is a matrix of frames.
        y : iterable of sequences of str, optional
            A label for every token, if X does not hold them.
        dev : path, LabelledFile or pair (X, y), optional
            Held-out data by which the best EM iteration and the best epoch of the factors are chosen. A file is read
            in the layout of X.
        """
        data = as_labelled(X, y)
        held_out = None if dev is None else as_labelled(dev, layout=data.layout)
        settings = settings_of(self, frames=are_frames(data.X))
        with single_threaded_blas(), progress("training", settings.n_steps, enabled=self.verbose) as report:
            self.model_, observed = train(data, settings, dev=held_out, n_jobs=self.n_jobs, report=report)
        self.summary_ = _summary(self.model_, settings.learner, observed)
        return self

    def predict(
        self, X: Labelled, *, fixed: Fixed | None = None, decoding: str | None = None
    ) -> Predictions[list[str]]:
        """The labels of each sequence.

        Parameters
        ----------
        X : path, LabelledFile or iterable of sequences
            As for :meth:`fit`; labels are ignored and need not be there. Files are read in the layout of training; if
            that is CoNLL-U, a file without tabs is read as lines of words.
        fixed : iterable of sequences of str or None, optional
            Labels that are known, None where they are not. They are kept, and the others follow from them.
        decoding : {"auto", "marginal", "legal"}, optional
            In place of the one that the tagger was trained with.

        ``diagnostics`` counts the ``negative`` marginals that were set to zero and the tokens that were labelled
        without their context because no marginal was positive (``fallbacks``); only ``spectral`` has any.
        """
        self._require_fitted()
        chosen = self._choose("decoding", self.model_.decoding if decoding is None else decoding, DECODINGS)
        observed, probabilities, known, repaired = self._probabilities(X, fixed)
        best = self.model_.decode(probabilities, observed.offsets, fixed=known, decoding=chosen)
        names = [self.model_.labels[i] for i in best.tolist()]
        return Predictions((names[a:b] for a, b in pairwise(observed.offsets.tolist())), repaired)

    def marginals(self, X: Labelled, *, fixed: Fixed | None = None) -> Predictions[np.ndarray]:
        """p(label | sequence) of every token: one array (length, n_labels) for each sequence; rows sum to one.

        X, ``fixed`` and ``diagnostics`` as for :meth:`predict`; columns are in the order of ``labels_``.
        """
        self._require_fitted()
        observed, probabilities, _, repaired = self._probabilities(X, fixed)
        return Predictions((probabilities[a:b] for a, b in pairwise(observed.offsets.tolist())), repaired)

    def _probabilities(
        self, X: Labelled, fixed: Fixed | None
    ) -> tuple[Observations, np.ndarray, np.ndarray | None, dict[str, int]]:
        """Observations, their distributions over labels (n_tokens, n_labels), the known labels, and what was
        repaired."""
        model = self.model_
        observed = model.observe(as_labelled(X, layout=model.layout, labels=False).X)
        known = None if fixed is None else model.encode_fixed(fixed, observed)
        found, repaired = model.probabilities(observed, fixed=known, n_jobs=self.n_jobs)
        return observed, found, known, repaired

    def score(self, X: Labelled, y: Iterable[Any] | None = None) -> float:
        """Share of tokens labelled right, 0 to 1, for scikit-learn's model selection."""
        return self.evaluate(X, y)["accuracy"] / 100

    def evaluate(self, X: Labelled, y: Iterable[Any] | None = None) -> dict[str, Any]:
        """Scores in percent (:func:`spectragram.metrics.tagging_scores`), and under ``labels`` a row for every label.

        If labels mark spans, the rows are those of types of spans. ``unknown`` counts the tokens whose words training
        never saw; ``negative`` and ``fallbacks`` are the diagnostics of :meth:`predict`.
        """
        self._require_fitted()
        data = as_labelled(X, y, self.model_.layout)
        self.predict(_first(data))  # the speed does not include what is compiled or read on first use
        started = time.perf_counter()
        predicted = self.predict(data)
        seconds = time.perf_counter() - started
        words = known = None
        if self.model_.codebook is None:
            words = [[t if isinstance(t, str) else t[0] for t in sequence] for sequence in data.X]
            known = self.known_words_
        scores = tagging_scores(data.y, predicted, words=words, known=known)
        table = span_table if "span_f1" in scores else label_table
        return (
            scores
            | {"tokens_per_second": per_second(int(scores["tokens"]), seconds)}
            | predicted.diagnostics
            | {"labels": table(data.y, predicted)}
        )

    @property
    def labels_(self) -> list[str]:
        """Labels, in the order of the columns of marginals."""
        self._require_fitted()
        return self.model_.labels

    @property
    def members_(self) -> list[Member]:
        """The trained models; none for ``unigram``."""
        self._require_fitted()
        return self.model_.members

    @property
    def layout_(self) -> Layout:
        """Where files have observations and labels, as in the training data."""
        self._require_fitted()
        return self.model_.layout

    @property
    def known_words_(self) -> frozenset[str]:
        """The first column of all observations seen in training."""
        self._require_fitted()
        return self.model_.lexicon.words()


def _first(data: LabelledFile) -> LabelledFile:
    return replace(data, X=data.X[:1], y=data.y[:1], records=data.records[:1])


def _summary(model: Model, learner: str, observed: Observations) -> dict[str, Any]:
    states = int(model.members[0].operators.label_starts[-1]) if model.members else len(model.labels)
    return {
        "learner": learner,
        "states": states,
        "models": len(model.members),
        "sentences": len(observed),
        "tokens": len(observed.tokens),
        "types": len({observation[0] for observation in observed.types}),
        "labels": len(model.labels),
    }
