"""The tagger: a label for every token of a sequence."""

from __future__ import annotations

import numbers
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.confidence import TagConfidence
from spectragram.data.inputs import WordLists, as_word_lists
from spectragram.data.labelled import Labelled, LabelledFile, Layout, as_labelled
from spectragram.data.signatures import VERSION
from spectragram.distillation import fit_with_raw
from spectragram.engine import Executor, single_threaded_blas
from spectragram.engine.progress import progress
from spectragram.engine.sharding import by_shards
from spectragram.errors import InputError, ParameterError
from spectragram.estimator import Estimator, Predictions, fitting
from spectragram.files import Source
from spectragram.inference import hashed
from spectragram.learning.prefix_mixture import PrefixMixture
from spectragram.learning.sentence_methods import SentenceMethods
from spectragram.metrics import calibration_error, label_table, per_second, span_table, tagging_scores
from spectragram.tagging.calibration import held_out_temperature
from spectragram.tagging.codebook import are_frames
from spectragram.tagging.learners import train
from spectragram.tagging.member import Member
from spectragram.tagging.model import Fixed, Model
from spectragram.tagging.partial import without_unknown
from spectragram.tagging.probabilities import draw_sentence, tagger_mixture
from spectragram.tagging.sequences import Observations
from spectragram.tagging.settings import DECODINGS, settings_of

__all__ = ["Tagger"]

UNKNOWN = "_"
"""How labelled data write a label that is not known, as CoNLL-U does."""


def _sequences(tagger: Tagger, X: Labelled, *, constrained: bool = False, **_: Any) -> LabelledFile:
    """What a worker needs of X."""
    return replace(as_labelled(X, layout=tagger.model_.layout, labels=constrained), records=[])


class Tagger(SentenceMethods, Estimator):
    """Labels sequences with a refinement HMM: every label is split into hidden states that training finds.

    Parameters
    ----------
    n_states : int, optional
        Hidden states of a frequent label; rare labels get fewer. By default the preset chooses.
    learner : str, optional
        ``spectral+em`` (clusters of spectral vectors refined by EM; the most accurate), ``spectral`` (the paper's;
        no iterations), ``pivot``, ``pivot+em``, ``em`` (random starts), ``segments`` (the segments of each run of a
        label, three by default, as in a speech toolkit), ``hmm`` (one state for each label, so learning
        is counting; the learner of this name of ``Automaton`` finds hidden states by anchors and EM), ``unigram`` (no
        context).
    recipe : {"ours", "paper"}
        What parameters stand at if they are left out (None): our values, or those of Stratos et al. 2013 as written
        (:data:`~spectragram.tagging.settings.RECIPES`). Below, our values are given first, the paper's second.
    factors : bool, optional
        Multiply the refinement HMM by log-linear factors that look at the words around each token, as a conditional
        random field does. Without them the model is the paper's. Frames of speech and the learners ``spectral``,
        ``pivot`` and ``unigram`` have none.
    clusters : path, optional
        Word clusters of raw text: a clusters model, or a file of paths from any tool. Factors look at prefixes of the
        paths of words; the words and their paths become part of the model.
    calibrate : bool
        Train twice: first on nine tenths of the sequences, to fit a temperature on the last tenth at which
        probabilities mean what they say (:mod:`spectragram.tagging.calibration`). It changes no label.
    preset : {"fast", "default", "best"}
        Sets ``n_states``, ``max_iter``, ``n_epochs`` and ``n_models`` where they are not given.
    n_models : int, optional
        Members of an ensemble, which differ in their seeds and in noise on their features.
    max_iter : int, optional
        EM iterations; with ``dev`` data the best one is kept.
    n_epochs : int, optional
        Passes over the sequences to fit the factors; with ``dev`` data the best one is kept.
    n_starts : int, optional
        3, 1. Random starts of ``em``.
    em_start : {"states", "shares"}, optional
        Whether ``em`` starts from a random state for every token or from random shares of all states.
    decoding : {"auto", "marginal", "legal", "f1"}, optional
        ``marginal`` takes the most probable label of each token, ``legal`` the best sequence in which spans are well
        formed (I-X only inside a span of X), ``f1`` the same with O made less probable, as far as a held-out part of
        the training data says that guessing more spans raises their F1 (:mod:`spectragram.tagging.decoding`).
        ``auto`` is ``f1`` if labels mark spans and ``marginal`` if not. Without factors ``f1`` and ``legal`` are equal.
    sign_rule : bool, optional
        True, False. Whether the marginals of a sequence change their sign where their sum is negative.
    views : dict, optional
        Templates of the views ``future``, ``past``, ``present`` and ``destiny``. Views that are not named keep their
        usual templates; see :mod:`spectragram.tagging.features`.
    centred : bool, optional
        True, False. Whether views are centred given the label, with a constant in front.
    scaling : {"cca", "none"}, optional
        Whether features are divided by the square roots of their counts plus ``kappa`` (5, 0).
    min_count : int, optional
        2, 1. Rarer features are left out.
    smallest, svd_tolerance : float, optional
        0.01 and 0.01, 0 and 1e-10. Singular values below this share of the largest are dropped; how exactly they are
        computed.
    tokens_a_dimension, tokens_a_state : int, optional
        50, 1 and 100 (60 for Gaussians), 1. A label gets one dimension, or one state, for so many tokens, at most
        ``n_states``.
    backoff : float, optional
        3, 0. How many tokens the estimate of a coarser class of words is worth to a finer one.
    smoothing, trusted, ridge : float, optional
        For ``spectral``: how strongly third-order moments are drawn to lower-order ones (60 for text, 20 for frames;
        30), from how many examples on they are not (never; 1000), and how strongly small singular values are damped
        (0.2, 0).
    class_pull, label_pull, label_smoothing, initial_smoothing, emission_mix : float, optional
        What coarser estimates are worth (:class:`~spectragram.tagging.em.Pulls`); all 0 in the paper.
    emissions : {"auto", "classes", "gaussian"}, optional
        For frames of speech: classes of a codebook, or a Gaussian for every state. ``auto`` takes Gaussians if the
        learner has them.
    n_codes : int, optional
        1000, 10,000. Size of the codebook.
    normalised : bool, optional
        True, False. Whether frames have mean 0 and variance 1 in every utterance.
    emission_weight : float, optional
        Exponent of the likelihood of an observation. By default 1 for text, less for frames.
    random_state, n_jobs, executor, verbose
        Seed; threads to use (-1 is all cores); a ``distributed.Client`` or anything with ``submit`` whose workers train
        members, run E-steps and label sequences; whether to show progress.

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
    records_per_shard: ClassVar[int] = 512

    def __init__(
        self,
        n_states: int | None = None,
        learner: str | None = None,
        *,
        recipe: str = "ours",
        factors: bool | None = None,
        clusters: Source | None = None,
        calibrate: bool = False,
        preset: str = "default",
        n_models: int | None = None,
        max_iter: int | None = None,
        n_epochs: int | None = None,
        n_starts: int | None = None,
        em_start: str | None = None,
        decoding: str | None = None,
        sign_rule: bool | None = None,
        views: dict[str, list[str]] | None = None,
        centred: bool | None = None,
        scaling: str | None = None,
        kappa: float | None = None,
        min_count: int | None = None,
        smallest: float | None = None,
        svd_tolerance: float | None = None,
        tokens_a_dimension: int | None = None,
        tokens_a_state: int | None = None,
        backoff: float | None = None,
        smoothing: float | None = None,
        trusted: float | None = None,
        ridge: float | None = None,
        class_pull: float | None = None,
        label_pull: float | None = None,
        label_smoothing: float | None = None,
        initial_smoothing: float | None = None,
        emission_mix: float | None = None,
        emissions: str | None = None,
        n_codes: int | None = None,
        normalised: bool | None = None,
        emission_weight: float | None = None,
        random_state: int = 0,
        n_jobs: int | None = -1,
        executor: Executor | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.recipe = recipe
        self.factors = factors
        self.clusters = clusters
        self.calibrate = calibrate
        self.preset = preset
        self.n_models = n_models
        self.max_iter = max_iter
        self.n_epochs = n_epochs
        self.n_starts = n_starts
        self.em_start = em_start
        self.decoding = decoding
        self.sign_rule = sign_rule
        self.views = views
        self.centred = centred
        self.scaling = scaling
        self.kappa = kappa
        self.min_count = min_count
        self.smallest = smallest
        self.svd_tolerance = svd_tolerance
        self.tokens_a_dimension = tokens_a_dimension
        self.tokens_a_state = tokens_a_state
        self.backoff = backoff
        self.smoothing = smoothing
        self.trusted = trusted
        self.ridge = ridge
        self.class_pull = class_pull
        self.label_pull = label_pull
        self.label_smoothing = label_smoothing
        self.initial_smoothing = initial_smoothing
        self.emission_mix = emission_mix
        self.emissions = emissions
        self.n_codes = n_codes
        self.normalised = normalised
        self.emission_weight = emission_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.verbose = verbose

    @fitting
    def fit(
        self,
        X: Labelled,
        y: Iterable[Any] | None = None,
        *,
        dev: Labelled | None = None,
        unknown: str | None = None,
        raw: Any = None,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Learn from sequences of observations and their labels.

        Parameters
        ----------
        X : path, LabelledFile or iterable of sequences
            A column file, CoNLL-U file or .npz archive of frames; or what
            :func:`~spectragram.data.labelled.read_labelled` returns, for files of another layout than the usual one; or
            CoNLL-U sentences; or, with ``y``, sequences of tokens. Tokens are strings, or tuples of strings (word, part
            of speech); or each sequence is a matrix of frames.
        y : iterable of sequences of str, optional
            A label for every token, if X does not hold them; None where it is not known.
        dev : path, LabelledFile or pair (X, y), optional
            Held-out data by which the best EM iteration and the best epoch of the factors are chosen. A file is read
            in the layout of X.
        unknown : str, optional
            The label that stands for one which is not known, ``_`` in CoNLL-U. Without it every label is a label. Open
            labels are summed over or completed; sequences without any label are left out.
        raw : path or iterable, optional
            Sentences of words (or, if several columns are observed, those) without labels. The preset ``best`` labels
            them after learning from X, and this tagger learns from both (:mod:`spectragram.distillation`).
        sample_weight : sequence of float, optional
            How much each sequence counts for the factors; the HMM beside them counts all sequences alike.
        """
        data = without_unknown(as_labelled(X, y), unknown)
        if raw is not None:
            return fit_with_raw(self, data, raw, dev=dev)
        weights = self._sentence_weights(sample_weight, len(data.X))
        if weights is not None:
            data, weights = _with_labels(data, weights)
        held_out = None if dev is None else as_labelled(dev, layout=data.layout)
        settings = settings_of(self, frames=are_frames(data.X))
        with single_threaded_blas(), progress("training", settings.n_steps, enabled=self.verbose) as report:
            self.model_, observed = train(
                data, settings, dev=held_out, weights=weights, n_jobs=self.n_jobs, report=report
            )
        if self.calibrate:
            self.model_ = replace(self.model_, temperature=held_out_temperature(data, settings, self.n_jobs))
        self.summary_ = _summary(self.model_, settings.learner, observed)
        return self

    @by_shards(_sequences, beside="fixed")
    def predict(
        self,
        X: Labelled,
        *,
        fixed: Fixed | None = None,
        constrained: bool = False,
        decoding: str | None = None,
    ) -> Predictions[list[str]]:
        """The labels of each sequence.

        Parameters
        ----------
        X : path, LabelledFile or iterable of sequences
            As for :meth:`fit`; labels are ignored and need not be there, unless ``constrained``. Files are read in the
            layout of training; if that is CoNLL-U, a file without tabs is read as lines of words.
        fixed : iterable of sequences of str, collection of str or None, optional
            Labels that are known, or sets of labels of which one is right; None where nothing is known. They are kept,
            and the others follow from them.
        constrained : bool
            Take the known labels from X itself, where ``_`` is one that is not known.
        decoding : {"auto", "marginal", "legal", "f1"}, optional
            In place of the one that the tagger was trained with.

        ``diagnostics`` counts the ``negative`` marginals that were set to zero and the tokens that were labelled
        without their context because no marginal was positive (``fallbacks``); only ``spectral`` has any.
        """
        chosen = self._decoding(decoding)
        observed, allowed = self._observed(X, fixed, constrained)
        probabilities, repaired = self.model_.probabilities(observed, allowed=allowed, n_jobs=self.n_jobs)
        best = self.model_.decode(probabilities, observed.offsets, allowed=allowed, decoding=chosen)
        return Predictions(self._names(best, observed), repaired)

    @by_shards(_sequences, beside="fixed")
    def marginals(
        self, X: Labelled, *, fixed: Fixed | None = None, constrained: bool = False
    ) -> Predictions[np.ndarray]:
        """p(label | sequence) of every token: one array (length, n_labels) for each sequence; rows sum to one.

        X, ``fixed``, ``constrained`` and ``diagnostics`` as for :meth:`predict`; columns are in the order of
        ``labels_``.
        """
        observed, allowed = self._observed(X, fixed, constrained)
        probabilities, repaired = self.model_.probabilities(observed, allowed=allowed, n_jobs=self.n_jobs)
        calibrated = self.model_.calibrated(probabilities)
        return Predictions((calibrated[a:b] for a, b in pairwise(observed.offsets.tolist())), repaired)

    @by_shards(_sequences, beside="fixed")
    def kbest(
        self,
        X: Labelled,
        k: int,
        *,
        fixed: Fixed | None = None,
        constrained: bool = False,
        decoding: str | None = None,
    ) -> Predictions[list[tuple[list[str], float]]]:
        """Up to ``k`` sequences of labels for each sequence, most probable first, with log p(labels | tokens).

        The probability of a sequence of labels is the mean of those that the models of an ensemble give it. Candidates
        are the sequences with the highest products of marginals, so one whose labels are improbable one by one can be
        missed. Parameters and ``diagnostics`` as for :meth:`predict`.
        """
        if not isinstance(k, numbers.Integral) or isinstance(k, bool) or k < 1:
            raise ParameterError("k", k, remedy="give a whole number of at least 1")
        chosen = self._decoding(decoding)
        observed, allowed = self._observed(X, fixed, constrained)
        found, repaired = self.model_.kbest(observed, int(k), allowed=allowed, decoding=chosen, n_jobs=self.n_jobs)
        names = self.model_.labels
        return Predictions(([([names[i] for i in path], value) for path, value in paths] for paths in found), repaired)

    @by_shards(_sequences, beside="fixed")
    def confidence(
        self,
        X: Labelled,
        *,
        fixed: Fixed | None = None,
        constrained: bool = False,
        decoding: str | None = None,
    ) -> Predictions[TagConfidence]:
        """The labels of each sequence with the probability of each, and of all of them together.

        Parameters and ``diagnostics`` as for :meth:`predict`.
        """
        chosen = self._decoding(decoding)
        observed, allowed = self._observed(X, fixed, constrained)
        probabilities, repaired = self.model_.probabilities(observed, allowed=allowed, n_jobs=self.n_jobs)
        best = self.model_.decode(probabilities, observed.offsets, allowed=allowed, decoding=chosen)
        sure = self.model_.calibrated(probabilities)[np.arange(len(best)), best]
        whole = np.exp(self.model_.log_probs(observed, best, allowed, self.n_jobs))
        bounds = pairwise(observed.offsets.tolist())
        parts = zip(self._names(best, observed), bounds, whole.tolist(), strict=True)
        return Predictions((TagConfidence(names, sure[a:b], value) for names, (a, b), value in parts), repaired)

    def _decoding(self, decoding: str | None) -> str:
        self._require_fitted()
        return self._choose("decoding", self.model_.decoding if decoding is None else decoding, DECODINGS)

    def _names(self, best: np.ndarray, observed: Observations) -> list[list[str]]:
        names = [self.model_.labels[i] for i in best.tolist()]
        return [names[a:b] for a, b in pairwise(observed.offsets.tolist())]

    def _observed(self, X: Labelled, fixed: Fixed | None, constrained: bool) -> tuple[Observations, np.ndarray | None]:
        """Observations, and the labels that each token may have, (n_tokens, n_labels), if anything is known."""
        self._require_fitted()
        model = self.model_
        data = as_labelled(X, layout=model.layout, labels=constrained)
        observed = model.observe(data.X)
        if constrained:
            if fixed is not None:
                raise InputError("known labels twice", remedy="give fixed, or constrained=True with labelled data")
            fixed = [[None if label == UNKNOWN else label for label in sequence] for sequence in data.y]
        return observed, None if fixed is None else model.encode_fixed(fixed, observed)

    # The words alone; the other methods are those of SentenceMethods

    def sample(self, n: int = 1, *, random_state: int = 0, max_length: int = 1000) -> list[list[str]]:
        """Draw sentences from the distribution of :meth:`log_prob`; they are cut after ``max_length`` words."""
        mixture, rng = self._mixture(), np.random.default_rng(random_state)
        return [draw_sentence(mixture, rng, max_length) for _ in range(n)]

    def _build_mixture(self) -> PrefixMixture:
        self._require_fitted()
        return tagger_mixture(self.model_)

    def _sentences(self, X: WordLists) -> list[list[str]]:
        return as_word_lists(X, keep_empty=True)

    def score(self, X: Labelled, y: Iterable[Any] | None = None) -> float:
        """Share of tokens labelled right, 0 to 1, for scikit-learn's model selection."""
        data = as_labelled(X, y, self._fitted_layout())
        return tagging_scores(data.y, self.predict(data))["accuracy"] / 100

    def evaluate(self, X: Labelled, y: Iterable[Any] | None = None) -> dict[str, Any]:
        """Scores in percent (:func:`spectragram.metrics.tagging_scores`), and under ``labels`` a row for every label.

        If labels mark spans, the rows are those of types of spans. ``unknown`` counts the tokens whose words training
        never saw; ``calibration_error`` (0 to 1) is that of the probabilities of the labels that were chosen
        (:func:`spectragram.metrics.calibration_error`); ``negative`` and ``fallbacks`` are the diagnostics of
        :meth:`predict`.
        """
        data = as_labelled(X, y, self._fitted_layout())
        self.predict(data[:1])  # the speed does not include what is compiled or read on first use
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
            | {"calibration_error": _calibration_error(self.marginals(data), self.labels_, predicted, data.y)}
            | predicted.diagnostics
            | {"labels": table(data.y, predicted)}
        )

    def _fitted_layout(self) -> Layout:
        self._require_fitted()
        return self.model_.layout

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


def _calibration_error(
    marginals: list[np.ndarray], names: list[str], predicted: list[list[str]], gold: list[list[str]]
) -> float:
    """That of the labels that were chosen, with the marginals (length, n_labels) of each sequence."""
    number = {name: i for i, name in enumerate(names)}
    chosen = [
        row[number[name]]
        for rows, own in zip(marginals, predicted, strict=True)
        for row, name in zip(rows, own, strict=True)
    ]
    right = [a == b for mine, theirs in zip(predicted, gold, strict=True) for a, b in zip(mine, theirs, strict=True)]
    return calibration_error(np.array(chosen, float), np.array(right, bool))


def _with_labels(data: LabelledFile, weights: np.ndarray) -> tuple[LabelledFile, np.ndarray]:
    """The sequences with at least one label, which are those that training uses, and their weights."""
    kept = [i for i, labels in enumerate(data.y) if any(label is not None for label in labels)]
    X, y, records = ([part[i] for i in kept] for part in (data.X, data.y, data.records))
    return replace(data, X=X, y=y, records=records), weights[kept]


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
