"""The tagger: a label for every token of a sequence."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from threadpoolctl import threadpool_limits

from spectragram.data.vocabulary import Vocabulary
from spectragram.errors import InputError
from spectragram.estimator import Estimator, State
from spectragram.inference.labelled_chain import best_legal_path
from spectragram.metrics import label_table, span_table, tagging_scores
from spectragram.tagging.cells import learn_lexicon
from spectragram.tagging.codebook import Codebook, are_frames, stacked_frames
from spectragram.tagging.decoding import legal_moves
from spectragram.tagging.learners import Training, learn, prefers_looks
from spectragram.tagging.lexicon import Lexicon
from spectragram.tagging.model import Member, as_probabilities, combine, prefixed, without_prefix
from spectragram.tagging.sequences import Observation, Observations, encode_labels, read_observations
from spectragram.tagging.settings import Settings, check_parameters, settle, usual_views

__all__ = ["Tagger"]

NOISE_OF_MEMBERS = 0.3

Sequences = Sequence[Sequence[str | Observation]] | Sequence[np.ndarray]
Labels = Iterable[Sequence[str]]


class Tagger(Estimator):
    """Labels sequences with a refinement HMM: every label is split into hidden states that training finds.

    Parameters
    ----------
    n_states : int, optional
        Hidden states of a frequent label; rare labels get fewer. Default: that of the preset.
    learner : str
        ``spectral+em`` (clusters of spectral vectors refined by EM; the most accurate), ``spectral`` (the paper's;
        no iterations), ``pivot``, ``pivot+em``, ``em`` (random starts), ``hmm`` (one state per label), ``unigram``
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
        with threadpool_limits(1):  # n_jobs threads of ours, not as many again for each of them
            return self._fit(X, y, dev)

    def _fit(self, X: Sequences, y: Labels, dev: tuple[Sequences, Labels] | None) -> Self:
        started = time.perf_counter()
        check_parameters(self.get_params())
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self._codebook: Codebook | None = None
        observed, labels = self._encode_training(X, y)
        by_looks = self._codebook is None and prefers_looks(observed, labels, len(self.classes_), self.backoff)
        self._lexicon, cells = learn_lexicon(
            observed, labels, len(self.classes_), kappa=self.backoff, by_looks=by_looks
        )
        self._legal = legal_moves(self.classes_, labels, observed.offsets)
        settings, is_speech = self._settings(), self._codebook is not None
        views = usual_views(settings, observed.n_columns, frames=is_speech).replaced(self.views or {})
        training = Training(observed, labels, len(self.classes_), cells, views, settings, self._judge(dev))
        self.members_: list[Member] = []
        if self.learner != "unigram":
            noises = [0.0] + [NOISE_OF_MEMBERS] * (settings.n_models - 1)
            self.members_ = [learn(training, self.random_state + i, noise) for i, noise in enumerate(noises)]
        self.summary_ = self._summary(observed, time.perf_counter() - started)
        return self

    def predict(self, X: Sequences, *, fixed: Iterable[Sequence[str | None]] | None = None) -> list[list[str]]:
        """The labels of each sequence; ``fixed`` gives labels that are known (None where not), which it keeps."""
        observed = self._observe(X)
        known = None if fixed is None else self._encode_fixed(fixed, observed)
        best = self._decode(self._probabilities(observed, known), observed.offsets, known)
        names = [self.classes_[i] for i in best.tolist()]
        ends = observed.offsets.tolist()
        return [names[a:b] for a, b in pairwise(ends)]

    def predict_marginals(
        self, X: Sequences, *, fixed: Iterable[Sequence[str | None]] | None = None
    ) -> list[np.ndarray]:
        """p(label | sequence) of every token: one array (length, n_labels) a sequence, rows sum to one."""
        observed = self._observe(X)
        known = None if fixed is None else self._encode_fixed(fixed, observed)
        return np.split(self._probabilities(observed, known), observed.offsets[1:-1])

    def score(self, X: Sequences, y: Labels) -> float:
        """Share of tokens labelled right, 0 to 1, for scikit-learn's model selection."""
        return self.evaluate(X, y)["accuracy"] / 100

    def evaluate(self, X: Sequences, y: Labels) -> dict[str, Any]:
        """Scores in percent (:func:`spectragram.metrics.tagging_scores`), and under ``labels`` a row for every label.

        Where labels mark spans these are rows for types of spans.
        """
        started = time.perf_counter()
        predicted = self.predict(X)
        seconds = max(time.perf_counter() - started, 1e-9)
        words = known = None
        if self._codebook is None:
            words = [[t if isinstance(t, str) else t[0] for t in sequence] for sequence in X]
            known = self.known_words_
        gold = list(y)
        scores: dict[str, Any] = dict(tagging_scores(gold, predicted, words=words, known=known))
        table = span_table if "span_f1" in scores else label_table
        speed = round(scores["tokens"] / seconds)
        return scores | {"tokens_per_second": speed, "labels": table(gold, predicted)}

    @property
    def known_words_(self) -> frozenset[str]:
        """The first column of all observations seen in training."""
        self._require_fitted()
        return self._lexicon.words()

    # -- encoding --------------------------------------------------------------------------------------------------

    def _encode_training(self, X: Sequences, y: Labels) -> tuple[Observations, np.ndarray]:
        """Observations and labels as numbers; sets the labels, and the codebook for frames; drops empty sequences."""
        if are_frames(X):
            frames, offsets = stacked_frames(X)  # type: ignore[arg-type]
            if len(frames):
                n_codes = 1 if settle(self.get_params(), frames=True).gaussian else self.n_codes
                self._codebook = Codebook.fit(frames, n_codes, seed=self.random_state)
                observed = self._codebook.observe(frames, offsets)
        else:
            observed = read_observations(X)  # type: ignore[arg-type]
        if not len(observed.tokens):
            raise InputError("no tokens to learn from", remedy="give at least one sequence with a label for each token")
        labels, vocabulary = encode_labels(y, observed.offsets)
        self.classes_ = list(vocabulary.words)
        self._n_columns = observed.n_columns
        return observed.select(np.flatnonzero(np.diff(observed.offsets)))[0], labels

    def _observe(self, X: Sequences) -> Observations:
        self._require_fitted()
        if self._codebook is None:
            return read_observations(X, self._n_columns)  # type: ignore[arg-type]
        return self._codebook.observe(*stacked_frames(X, self._codebook.prototypes.shape[1]))  # type: ignore[arg-type]

    def _encode_fixed(self, fixed: Iterable[Sequence[str | None]], observed: Observations) -> np.ndarray:
        """Numbers of the labels that are known, -1 for the others."""
        listed = [list(sequence) for sequence in fixed]
        labels, _ = encode_labels(listed, observed.offsets, Vocabulary(self.classes_))  # type: ignore[arg-type]
        unseen = {label for sequence in listed for label in sequence if label is not None} - set(self.classes_)
        if unseen:
            raise InputError(
                f"the fixed label {min(unseen)!r} was not seen in training",
                remedy=f"choose among {', '.join(self.classes_[:20])}",
            )
        return labels

    # -- inference -------------------------------------------------------------------------------------------------

    def _probabilities(self, observed: Observations, fixed: np.ndarray | None = None) -> np.ndarray:
        """Marginals of all tokens as distributions: (n_tokens, n_labels)."""
        with threadpool_limits(1):
            return self._combined(observed, fixed)

    def _combined(self, observed: Observations, fixed: np.ndarray | None) -> np.ndarray:
        lexicon, weight = self._lexicon, self._settings().emission_weight
        alone = lexicon.label_probabilities(lexicon.nodes(observed))[observed.tokens]
        self.n_negative_ = 0
        found = []
        for member in self.members_:
            signed = member.marginals(lexicon, observed, weight=weight, fixed=fixed, n_jobs=self.n_jobs)
            probabilities, n_negative = as_probabilities(signed, alone)
            self.n_negative_ += n_negative
            found.append(probabilities)
        combined = combine(found) if found else alone
        if fixed is not None:
            known = np.flatnonzero(fixed >= 0)
            combined[known] = np.eye(len(self.classes_))[fixed[known]]
        return combined

    def _decode(self, probabilities: np.ndarray, offsets: np.ndarray, fixed: np.ndarray | None) -> np.ndarray:
        if self.decoding == "marginal" or self._legal is None:
            return probabilities.argmax(axis=1)
        if fixed is None:
            return best_legal_path(offsets, probabilities, *self._legal)
        # What the user knows stands, even where it breaks a rule; the rest follows it as well as the rules allow.
        known = fixed >= 0
        path = best_legal_path(offsets, probabilities + (len(fixed) * probabilities * known[:, None]), *self._legal)
        return np.where(known, fixed, path)

    def _judge(self, dev: tuple[Sequences, Labels] | None) -> Any:
        """Accuracy of a member on held-out data, or None."""
        if dev is None:
            return None
        self.members_ = []  # observing needs a fitted tagger: labels and lexicon are all it uses
        observed = self._observe(dev[0])
        gold, _ = encode_labels(dev[1], observed.offsets, Vocabulary(self.classes_))
        weight = self._settings().emission_weight

        def accuracy(member: Member) -> float:
            marginals = member.marginals(self._lexicon, observed, weight=weight, n_jobs=self.n_jobs)
            marginals *= np.where(marginals.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
            return float((marginals.argmax(axis=1) == gold).mean())

        return accuracy

    def _settings(self) -> Settings:
        return settle(self.get_params(), frames=self._codebook is not None)

    def _summary(self, observed: Observations, seconds: float) -> dict[str, Any]:
        sizes = [np.diff(member.operators.label_starts) for member in self.members_[:1]]
        return {
            "learner": self.learner,
            "labels": len(self.classes_),
            "states": int(sizes[0].max()) if sizes else 1,
            "states_in_all": int(sizes[0].sum()) if sizes else len(self.classes_),
            "models": len(self.members_),
            "sequences": len(observed),
            "tokens": len(observed.tokens),
            "observations": len(observed.types),
            "seconds": round(seconds, 2),
        }

    # -- model files -----------------------------------------------------------------------------------------------

    def _get_state(self) -> State:
        values, arrays = self._lexicon.to_state()
        arrays = prefixed("lexicon", arrays)
        for i, member in enumerate(self.members_):
            arrays |= prefixed(f"member{i}", member.to_arrays())
        if self._legal is not None:
            arrays |= {"legal.may_follow": self._legal[0], "legal.may_start": self._legal[1]}
        if self._codebook is not None:
            arrays["codebook.prototypes"] = self._codebook.prototypes
        state = {
            "lexicon": values,
            "labels": self.classes_,
            "n_columns": self._n_columns,
            "members": len(self.members_),
        }
        return state, arrays

    def _set_state(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.classes_ = list(values["labels"])
        self._n_columns = int(values["n_columns"])
        self._lexicon = Lexicon.from_state(values["lexicon"], without_prefix("lexicon", arrays))
        self.members_ = [Member.from_arrays(without_prefix(f"member{i}", arrays)) for i in range(values["members"])]
        legal = without_prefix("legal", arrays)
        self._legal = (legal["may_follow"], legal["may_start"]) if legal else None
        prototypes = arrays.get("codebook.prototypes")
        self._codebook = None if prototypes is None else Codebook(prototypes)
        n_labels = len(self.classes_)
        if self._lexicon.n_labels != n_labels or any(len(m.emissions.starts) != n_labels + 1 for m in self.members_):
            raise ValueError("labels and members do not fit together")
