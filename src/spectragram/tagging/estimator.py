"""The tagger: a label for every token of a sequence."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from spectragram.engine import single_threaded_blas
from spectragram.engine.progress import progress
from spectragram.errors import InputError
from spectragram.estimator import Estimator, State, whole_or_nothing
from spectragram.metrics import label_table, per_second, span_table, tagging_scores
from spectragram.tagging.codebook import are_frames
from spectragram.tagging.model import Member
from spectragram.tagging.sequences import Observations
from spectragram.tagging.settings import (
    DECODINGS,
    EMISSIONS,
    FRAMES_A_STATE,
    LEARNERS,
    TOKENS_A_STATE,
    Settings,
    emits_gaussians,
    presets,
)
from spectragram.tagging.trained import Sequences, Trained
from spectragram.tagging.training import Labels, train

__all__ = ["Tagger"]


class Tagger(Estimator):
    """Labels sequences with a refinement HMM: every label is split into hidden states that training finds.

    Parameters
    ----------
    n_states : int, optional
        Hidden states of a frequent label; rare labels get fewer. Default: that of the preset.
    learner : str
        ``spectral+em`` (clusters of spectral vectors refined by EM; the most accurate), ``spectral`` (the paper's;
        no iterations), ``pivot``, ``pivot+em``, ``em`` (random starts), ``hmm`` (one state per label, which the data
        name: counting; of ``Automaton`` the learner of this name finds hidden states by anchors and EM), ``unigram``
        (no context).
    preset : {"fast", "default", "best"}
        Sets ``n_states``, ``max_iter`` and ``n_models`` where they are not given.
    n_models : int, optional
        Members of an ensemble, trained with other seeds and noised features.
    max_iter : int, optional
        EM iterations; with ``dev`` data the best one is kept.
    n_starts : int
        Random starts of ``em``.
    decoding : {"auto", "marginal", "legal"}
        Each token's most probable label, or the best sequence in which spans are well formed (I-X only inside a
        span of X); ``auto`` is ``legal`` where labels mark spans.
    views : dict, optional
        Templates of the views ``future``, ``past``, ``present`` and ``destiny``, those not named as usual; see
        :mod:`spectragram.tagging.features`.
    backoff : float
        Tokens that the opinion of the coarser class of a word is worth.
    smoothing, ridge : float
        ``spectral``: pull of third-order moments towards lower-order ones; damping of small singular values.
    emissions : {"auto", "classes", "gaussian"}
        Frames of speech: as classes of a codebook, or with a Gaussian for every state.
    n_codes : int
        Size of that codebook.
    emission_weight : float, optional
        Exponent of the likelihood of an observation; 1 for text and less for frames, where not given.
    random_state, n_jobs, verbose

    Attributes
    ----------
    classes_ : list of str
        Labels, in the order of the columns of marginals.
    members_ : list of Member
        The trained models, one unless ``n_models`` says otherwise; none for ``unigram``.
    n_negative_ : int
        Negative marginals set to zero in the last prediction (``spectral`` only).
    summary_ : dict

    Examples
    --------
    >>> words = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]] * 5
    >>> tags = [["DET", "NOUN", "VERB"]] * 15
    >>> Tagger(n_states=1).fit(words, tags).predict([["a", "dog", "sleeps"]])
    [['DET', 'NOUN', 'VERB']]
    """

    kind = "tagger"

    def __init__(
        self,
        n_states: int | None = None,
        learner: str = "spectral+em",
        *,
        preset: str = "default",
        n_models: int | None = None,
        max_iter: int | None = None,
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
        n_jobs: int = 1,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.preset = preset
        self.n_models = n_models
        self.max_iter = max_iter
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

    @whole_or_nothing
    def fit(self, X: Sequences, y: Labels, *, dev: tuple[Sequences, Labels] | None = None) -> Self:
        """Learn from sequences of observations and their labels.

        Parameters
        ----------
        X : list of sequences
            Tokens are strings, or tuples of strings (word, part of speech); or each sequence is a matrix of frames.
        y : list of sequences of str
            A label for every token.
        dev : (X, y), optional
            Held-out data by which the best EM iteration is chosen.
        """
        started = time.perf_counter()
        self._check_parameters()
        listed = list(X)
        settings = self._settings(frames=are_frames(listed))
        with single_threaded_blas(), progress("training", settings.n_steps, enabled=self.verbose) as report:
            trained, observed = train(listed, y, settings, views=self.views, dev=dev, report=report)
        self._keep(trained)
        self.summary_ = self._summary(observed, time.perf_counter() - started)
        return self

    def _keep(self, trained: Trained) -> None:
        """Take the model over; nothing has been predicted with it yet."""
        self._trained = trained
        self.n_negative_ = 0

    def predict(self, X: Sequences, *, fixed: Iterable[Sequence[str | None]] | None = None) -> list[list[str]]:
        """The labels of each sequence; ``fixed`` gives labels that are known (None where not), which it keeps."""
        self._choose("decoding", self.decoding, DECODINGS)
        observed, probabilities, known = self._probabilities(X, fixed)
        if self.decoding == "marginal":
            best = probabilities.argmax(axis=1)
        else:
            best = self._trained.best_path(probabilities, observed.offsets, known)
        names = [self.classes_[i] for i in best.tolist()]
        return [names[a:b] for a, b in pairwise(observed.offsets.tolist())]

    def predict_marginals(
        self, X: Sequences, *, fixed: Iterable[Sequence[str | None]] | None = None
    ) -> list[np.ndarray]:
        """p(label | sequence) of every token: one array (length, n_labels) a sequence, rows sum to one."""
        observed, probabilities, _ = self._probabilities(X, fixed)
        return [probabilities[start:stop] for start, stop in pairwise(observed.offsets.tolist())]

    def _probabilities(
        self, X: Sequences, fixed: Iterable[Sequence[str | None]] | None
    ) -> tuple[Observations, np.ndarray, np.ndarray | None]:
        """Observations, their distributions over labels (n_tokens, n_labels), and the numbers of known labels."""
        self._require_fitted()
        trained = self._trained
        observed = trained.observe(X)
        known = None if fixed is None else trained.encode_fixed(fixed, observed)
        weight = self._settings(frames=trained.codebook is not None).emission_weight
        found, self.n_negative_ = trained.probabilities(observed, weight=weight, fixed=known, n_jobs=self.n_jobs)
        return observed, found, known

    def score(self, X: Sequences, y: Labels) -> float:
        """Share of tokens labelled right, 0 to 1, for scikit-learn's model selection."""
        return self.evaluate(X, y)["accuracy"] / 100

    def evaluate(self, X: Sequences, y: Labels) -> dict[str, Any]:
        """Scores in percent (:func:`spectragram.metrics.tagging_scores`), and under ``labels`` a row for every label.

        Where labels mark spans these are rows for types of spans. ``unknown`` counts the tokens whose words training
        never saw, ``negative`` is ``n_negative_``.
        """
        sequences: list[Any] = list(X)
        gold = list(y)
        self.predict(sequences[:1])  # what is compiled or read on first use is not part of the speed
        started = time.perf_counter()
        predicted = self.predict(sequences)
        seconds = time.perf_counter() - started
        words = known = None
        if self._trained.codebook is None:
            words = [[t if isinstance(t, str) else t[0] for t in sequence] for sequence in sequences]
            known = self.known_words_
        scores = tagging_scores(gold, predicted, words=words, known=known)
        table = span_table if "span_f1" in scores else label_table
        return scores | {
            "tokens_per_second": per_second(int(scores["tokens"]), seconds),
            "negative": self.n_negative_,
            "labels": table(gold, predicted),
        }

    @property
    def classes_(self) -> list[str]:
        """Labels, in the order of the columns of marginals."""
        self._require_fitted()
        return self._trained.labels

    @property
    def members_(self) -> list[Member]:
        """The trained models; none for ``unigram``."""
        self._require_fitted()
        return self._trained.members

    @property
    def known_words_(self) -> frozenset[str]:
        """The first column of all observations seen in training."""
        self._require_fitted()
        return self._trained.lexicon.words()

    # -- training --------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        for name, choices in (("learner", LEARNERS), ("decoding", DECODINGS), ("emissions", EMISSIONS)):
            self._choose(name, getattr(self, name), choices)
        for name, least in (("n_states", 1), ("n_models", 1), ("max_iter", 0)):
            self._check_whole(name, least)
        for name, least in (("n_starts", 1), ("n_codes", 1)):
            self._check_whole(name, least, or_else=())
        for name in ("smoothing", "ridge"):
            self._check_number(name)
        for name in ("backoff", "emission_weight"):
            self._check_number(name, above=True)
        for name in ("ridge", "backoff"):
            if getattr(self, name) is None:
                raise InputError(f"{name}=None", remedy="give a number")
        if self.views is not None and not isinstance(self.views, dict):
            raise InputError(f"views={self.views!r}", remedy="give a dict of lists of templates by view")

    def _settings(self, *, frames: bool) -> Settings:
        """Every choice made, by presets where it was not given, for text or for frames of speech."""
        gaussian = emits_gaussians(self.learner, self.emissions, frames=frames)
        return Settings(
            learner=self.learner,
            n_starts=self.n_starts,
            backoff=self.backoff,
            ridge=self.ridge,
            gaussian=gaussian,
            tokens_a_state=FRAMES_A_STATE if gaussian else TOKENS_A_STATE,
            n_codes=self.n_codes,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            **self._with_preset(presets(self.learner, frames=frames, gaussian=gaussian)),
        )

    def _summary(self, observed: Observations, seconds: float) -> dict[str, Any]:
        states = [int(member.operators.label_starts[-1]) for member in self.members_[:1]]
        return {
            "learner": self.learner,
            "states": states[0] if states else len(self.classes_),
            "models": len(self.members_),
            "sentences": len(observed),
            "tokens": len(observed.tokens),
            "types": len({observation[0] for observation in observed.types}),
            "labels": len(self.classes_),
            "seconds": round(seconds, 2),
        }

    # -- model files -----------------------------------------------------------------------------------------------

    def _get_state(self) -> State:
        return self._trained.to_state()

    def _set_state(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._keep(Trained.from_state(values, arrays))
