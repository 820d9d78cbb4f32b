"""ConstituencyParser: phrase-structure trees from latent-variable PCFGs."""

from __future__ import annotations

import math
import numbers
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from spectragram.constituency.answers import confident_tree, parse, posteriors_of, reported
from spectragram.constituency.brackets import SpanPosteriors
from spectragram.constituency.derivations import k_best_derivations
from spectragram.constituency.learners import train
from spectragram.constituency.long_sentences import LONGEST, require_chart
from spectragram.constituency.model import Model
from spectragram.constituency.nodes import FeatureFunction
from spectragram.constituency.parsing import HeldOutF1, Status
from spectragram.constituency.partial import complete_trees
from spectragram.constituency.probabilities import MAX_WORDS, parser_mixture
from spectragram.constituency.sampling import sample_tree
from spectragram.constituency.settings import DECODERS, Settings, settings_of
from spectragram.data.brackets import escape_word
from spectragram.data.confidence import SpanConfidence
from spectragram.data.inputs import Trees, WordLists, as_known_spans, as_trees, as_word_lists
from spectragram.data.known_spans import SpanConstraints, is_partial
from spectragram.data.signatures import VERSION as WORD_CLASSES
from spectragram.data.trees import Tree
from spectragram.distillation import fit_with_raw
from spectragram.engine import Executor, map_threads, single_threaded_blas
from spectragram.engine.progress import progress
from spectragram.engine.sharding import by_shards
from spectragram.errors import InputError, ParameterError
from spectragram.estimator import Estimator, Predictions, TrainedModel, fitting
from spectragram.files import Source
from spectragram.inference.chart_coarse import span_id
from spectragram.learning.prefix_mixture import PrefixMixture
from spectragram.learning.sentence_methods import SentenceMethods
from spectragram.metrics import bracket_scores, calibration_error, per_second

__all__ = ["ConstituencyParser"]

SENTENCES_PER_TASK = 8
"""Sentences that a thread parses before it asks for more. Chosen by hand: parsing one takes milliseconds, which is long
beside handing over a task."""

CALIBRATED = 1000
"""Sentences whose brackets tell the calibration error: tens of thousands of brackets, and parsing them again takes
seconds. Chosen by hand."""

Answer = TypeVar("Answer")


def _known(parser: ConstituencyParser, X: WordLists, *, constrained: bool = False, **_: Any) -> list[SpanConstraints]:
    return parser.read(X, constrained=constrained)


class ConstituencyParser(SentenceMethods, Estimator):
    """A parser learned from a treebank.

    Every method takes data as a path or as an iterable of records. A record of ``fit``, ``evaluate`` and ``score`` is
    a tree: a Tree, a bracketed string or an nltk tree. A record of all other methods is a sentence: a sequence of
    words, a string with spaces between words, or a tree, of which only the words are used.

    Parameters
    ----------
    n_states : int, optional
        Largest number of hidden states of a label; rare labels get fewer.
    learner : str, optional
        ``spectral+em`` starts from clusters of spectral vectors and adds a few EM iterations (the default, and the
        most accurate). ``spectral`` computes operators from moments alone (Cohen et al. 2012). ``pivot`` and
        ``pivot+em`` are those of Cohen & Collins (2014). ``em`` is EM from a random start. ``pcfg`` has no hidden
        states.
    recipe : {"ours", "paper"}
        What parameters stand at if they are left out (None): our values, or those of Cohen et al. 2012 (``spectral``)
        and Cohen & Collins 2014 (``pivot``, ``em``) as written (:data:`~spectragram.constituency.settings.RECIPES`).
        Below, our values are given first, the papers' second.
    clusters : path, optional
        Word clusters of raw text: a clusters model, or a file of paths from any tool. Unknown and rare words back off
        to words with the same prefixes of their paths, and factors look at these. The words and their paths become part
        of the model.
    preset : {"fast", "default", "best"}
        Sets those of ``n_states``, ``n_models``, ``max_iter`` and ``binarisations`` that are None. ``fast`` trains one
        model, ``default`` an ensemble of four, ``best`` one of nine.
    n_models : int, optional
        Number of models that are averaged in decoding. They differ in their seed, in the noise on their features and in
        their binarisation.
    max_iter : int, optional
        Number of EM iterations, for learners that end in ``em``; if ``fit`` gets held-out trees, the largest number
        that is tried.
    binarisations : sequence of {"right", "left", "head"}, optional
        The models take these in turn.
    decoder : {"mbr", "max-rule", "goodman"}, optional
        The decoder of the trained parser, unless ``predict`` is asked for another one. ``mbr`` has the best F1,
        ``max-rule`` gets more trees entirely right. ``mbr`` uses all models, the other two only those of the first
        binarisation, which are half of the default ensemble.
    factors : bool, optional
        Whether the odds of brackets are multiplied by log-linear factors of the words in and around them, which are
        fitted after the grammars. By default they are for ``spectral+em`` with its usual features from 100 trees on,
        except with the preset ``fast``.
        They count for :meth:`predict` with ``mbr``, :meth:`marginals` and :meth:`confidence`; everything else asks the
        grammars alone.
    absolute : bool, optional
        True, False. Whether ``goodman`` adds up absolute values of marginals, which may be negative for ``spectral``.
    noise : float, optional
        0.3, 0. Standard deviation of the random factors on features by which the models of an ensemble differ.
    states_by_count : bool, optional
        True, False. Whether rare labels get fewer states.
    inside_features, outside_features : callable, optional
        Your own phi and psi: functions of a :class:`~spectragram.constituency.nodes.Node` that return its features, or
        a dictionary of features and their values. They replace the usual templates of their side; they are not saved.
        For ``pivot`` and ``pivot+em`` they return a list, as long for all nodes of a label; with
        ``evidence="combinations"`` the first feature of a tag is its word and the first one of a root marks roots.
    scaling : {"cca", "none"}, optional
        Whether features are divided by the square roots of their counts plus ``kappa`` (5, 0); the pivot learners of
        the paper scale.
    min_count : int, optional
        2, 1. Rarer features are left out.
    decomposition : {"power", "exact"}, optional
        Whether singular vectors are those after a few power iterations, or exact.
    smallest : float, optional
        0.01, 0. Smaller singular values are dropped.
    shrink, trusted, smooth_words : float, optional
        ``spectral``: how strongly third moments are drawn to lower ones (30, 0), from how many examples on they are not
        (1000), and the share of a word's vector that comes from its tag (0.4, 0).
    trust_word, trust_class : float, optional
        1 and 5, 0 and 0. How many observations the next coarser class is worth, to a word and to a class of words.
    smooth_rules, smooth_states : float, optional
        0.01 and 0.1, 0 and 0. Probabilistic learners: shares of the mean over the states of a label in the
        probabilities of rules and of words.
    prune, prune_middle, prune_tags : float, optional
        3e-5, 1e-4 and 1e-5, all 0. Smallest posteriors that the coarse and the middle pass keep, and smallest value of
        a tag relative to the best one; with zeros the whole chart is used, which takes long.
    em_start : {"shares", "perturbed"}, optional
        ``em``: random states of every node, or the PCFG's probabilities times random factors (Matsuzaki et al. 2005).
    exact_words : bool, optional
        False, True. Whether the first feature of a tag is its word as it is, not in lower case.
    evidence : {"mean", "combinations"}, optional
        ``pivot``: the geometric mean over feature templates, or all combinations of them, and section 6.1.
    pivot_count, smooth_membership, align_iterations, rule_iterations, rule_tolerance : optional
        ``pivot``: least count of a pivot feature (20, 1), what is added to q(h | f) (0.001, 0), and when the EM of the
        matching (50, 1000 iterations) and of the rules (15, 1000; 1e-4, 1e-10) stops.
    temperature : float, optional
        Above 1, brackets and tags are reported with less certainty (:mod:`spectragram.learning.temperature`), which
        changes no tree. 1 unless the parser learns from labelled text (:mod:`spectragram.distillation`).
    random_state, n_jobs, executor, verbose
        As everywhere; ``n_jobs=-1`` uses all cores. Members, E-steps and sentences go to the workers of ``executor``
        (a ``distributed.Client`` or anything with ``submit``), if there is one. The result depends on neither.

    Attributes
    ----------
    model_ : Model
        The trained parser.
    labels_, tags_ : list of str
        The labels of phrases and the tags of words, in the order of the columns of :meth:`marginals`.
    summary_ : dict
        How training went.

    Examples
    --------
    >>> model = ConstituencyParser(preset="fast").fit(["(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks))))"] * 3)
    >>> print(model.predict(["the dog barks"])[0])
    (TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks))))
    """

    kind: ClassVar[str] = "constituency"
    model_type: ClassVar[type[TrainedModel]] = Model
    meanings: ClassVar[dict[str, int]] = {"word classes": WORD_CLASSES}
    unsaved: ClassVar[tuple[str, ...]] = ("inside_features", "outside_features")
    records_per_shard: ClassVar[int] = 64
    model_: Model

    def __init__(
        self,
        n_states: int | None = None,
        learner: str | None = None,
        *,
        recipe: str = "ours",
        clusters: Source | None = None,
        preset: str = "default",
        n_models: int | None = None,
        max_iter: int | None = None,
        binarisations: Sequence[str] | None = None,
        decoder: str | None = None,
        factors: bool | None = None,
        absolute: bool | None = None,
        noise: float | None = None,
        states_by_count: bool | None = None,
        inside_features: FeatureFunction | None = None,
        outside_features: FeatureFunction | None = None,
        scaling: str | None = None,
        kappa: float | None = None,
        min_count: int | None = None,
        decomposition: str | None = None,
        smallest: float | None = None,
        shrink: float | None = None,
        trusted: float | None = None,
        smooth_words: float | None = None,
        trust_word: float | None = None,
        trust_class: float | None = None,
        smooth_rules: float | None = None,
        smooth_states: float | None = None,
        prune: float | None = None,
        prune_middle: float | None = None,
        prune_tags: float | None = None,
        em_start: str | None = None,
        exact_words: bool | None = None,
        evidence: str | None = None,
        pivot_count: int | None = None,
        smooth_membership: float | None = None,
        align_iterations: int | None = None,
        rule_iterations: int | None = None,
        rule_tolerance: float | None = None,
        temperature: float | None = None,
        random_state: int = 0,
        n_jobs: int = -1,
        executor: Executor | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.recipe = recipe
        self.clusters = clusters
        self.preset = preset
        self.n_models = n_models
        self.max_iter = max_iter
        self.binarisations = binarisations
        self.decoder = decoder
        self.factors = factors
        self.absolute = absolute
        self.noise = noise
        self.states_by_count = states_by_count
        self.inside_features = inside_features
        self.outside_features = outside_features
        self.scaling = scaling
        self.kappa = kappa
        self.min_count = min_count
        self.decomposition = decomposition
        self.smallest = smallest
        self.shrink = shrink
        self.trusted = trusted
        self.smooth_words = smooth_words
        self.trust_word = trust_word
        self.trust_class = trust_class
        self.smooth_rules = smooth_rules
        self.smooth_states = smooth_states
        self.prune = prune
        self.prune_middle = prune_middle
        self.prune_tags = prune_tags
        self.em_start = em_start
        self.exact_words = exact_words
        self.evidence = evidence
        self.pivot_count = pivot_count
        self.smooth_membership = smooth_membership
        self.align_iterations = align_iterations
        self.rule_iterations = rule_iterations
        self.rule_tolerance = rule_tolerance
        self.temperature = temperature
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.verbose = verbose

    @fitting
    def fit(
        self,
        X: Trees,
        y: object = None,
        *,
        dev: Trees | None = None,
        raw: WordLists | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Learn from trees.

        Parameters
        ----------
        X : path or iterable
            A tree in which a label or tag is ``?``, or a label begins with ``!``, is partial: its brackets are kept and
            the rest is completed by parsing around them.
        y : object
            There for scikit-learn.
        dev : path or iterable, optional
            Held-out trees, which choose the EM iteration of each model.
        raw : path or iterable, optional
            Sentences without trees. The preset ``best`` parses them after learning from X, and this parser learns from
            both (:mod:`spectragram.distillation`).
        sample_weight : sequence of float, optional
            How often each tree counts; not for the learners ``spectral`` and ``pivot``, whose moments have no weights.
        """
        if raw is not None:
            return fit_with_raw(self, as_trees(X), raw, dev=dev)
        settings = settings_of(self)
        given = as_trees(X)
        weights = self._sentence_weights(sample_weight, len(given))
        if weights is not None and settings.learner in ("spectral", "pivot"):
            raise ParameterError("learner", settings.learner, "has no weights of trees", remedy="use spectral+em")
        trees = complete_trees(given, partial(_parser_of, replace(settings, n_models=1, factors=False), self.n_jobs))
        judge = None if dev is None else HeldOutF1(as_trees(dev), self.n_jobs if settings.n_models == 1 else 1)
        with single_threaded_blas(), progress("training", settings.n_steps, enabled=self.verbose) as report:
            self.model_, facts = train(trees, settings, weights=weights, judge=judge, n_jobs=self.n_jobs, report=report)
        self.summary_ = _summary(self.model_, settings, len(trees), facts)
        n_partial = sum(map(is_partial, given))
        if n_partial:
            self.summary_["partial_sentences"] = n_partial
        return self

    @property
    def labels_(self) -> list[str]:
        """The labels of phrases."""
        return list(self.model_.labels.phrases)

    @property
    def tags_(self) -> list[str]:
        """The tags of words."""
        return list(self.model_.labels.tags)

    # Parsing

    @by_shards(_known)
    def predict(self, X: WordLists, *, decoder: str | None = None, constrained: bool = False) -> Predictions[Tree]:
        """A tree for every sentence, even if the grammar cannot derive it.

        ``decoder`` replaces the decoder of the model. What is known about phrases and tags comes in with the sentences:
        :class:`~spectragram.data.SpanConstraints` among them, and with ``constrained`` the brackets of trees and of
        strings that begin with one, in which ``?`` is an open label. Every tree obeys them.

        The diagnostics count how sentences were parsed (``parsed_pruned``, ``parsed_unpruned``, ``parsed_glued``;
        ``parsed_split`` for sentences of more than 150 words, of which pieces were parsed one by one; ``fallbacks`` are
        all but the first) and how many posteriors were ``negative`` (learner ``spectral`` only; their
        absolute values were used). If anything is known, they also count the ``relaxed`` sentences: the grammar cannot
        derive what is known about them, so that is imposed on the tree which is decoded.
        """
        self._require_fitted()
        chosen = self.model_.decoder if decoder is None else self._choose("decoder", decoder, DECODERS)
        return self._predictions(lambda given: parse(self.model_, given, chosen), self.read(X, constrained=constrained))

    @by_shards(_known)
    def marginals(self, X: WordLists, *, constrained: bool = False) -> Predictions[SpanPosteriors]:
        """Posterior of every label over every span, and of every tag, averaged over the models.

        They include the factors, and are those at the ``temperature``. Some factors weigh every bracket on its own:
        posteriors of brackets that cross may add up to a little more than 1. They are given what is known, see
        :meth:`predict`, like the diagnostics.
        """
        model = self._fitted()
        known = self.read(X, constrained=constrained)
        require_chart(known)

        def posteriors(given: SpanConstraints) -> tuple[SpanPosteriors, Status, int]:
            found, status, n_negative = posteriors_of(model, given)
            return reported(model, found), status, n_negative

        return self._predictions(posteriors, known)

    @by_shards(_known)
    def kbest(self, X: WordLists, k: int, *, constrained: bool = False) -> Predictions[list[tuple[Tree, float]]]:
        """Up to ``k`` different trees for each sentence, best first by the max-rule score, with log p(tree | sentence).

        Both are those of the first model, given what is known (see :meth:`predict`). A sentence that the grammar cannot
        derive has one tree, that of :meth:`predict`, with minus infinity. The diagnostics count ``negative``
        posteriors.
        """
        if not isinstance(k, numbers.Integral) or isinstance(k, bool) or k < 1:
            raise ParameterError("k", k, remedy="give a whole number of at least 1")
        sentences = self.read(X, constrained=constrained)
        require_chart(sentences)
        first = self.model_.grammars[0]
        found = self._map(lambda given: k_best_derivations(first, given.words, k, given), sentences)
        underivable = [given for given, (trees, _) in zip(sentences, found, strict=True) if not trees]
        glued = iter(self._map(lambda given: parse(self.model_, given, "mbr")[0], underivable))
        answers = [trees or [(next(glued), -math.inf)] for trees, _ in found]
        return Predictions(answers, {"negative": sum(n for _, n in found)})

    @by_shards(_known)
    def confidence(
        self, X: WordLists, *, decoder: str | None = None, constrained: bool = False
    ) -> Predictions[SpanConfidence]:
        """The trees of :meth:`predict` with the probabilities of their brackets and tags, and of the whole tree.

        Those of brackets and tags are averaged over the models, that of the tree is the first model's. What is known
        has probability 1.
        """
        self._require_fitted()
        chosen = self.model_.decoder if decoder is None else self._choose("decoder", decoder, DECODERS)
        known = self.read(X, constrained=constrained)
        require_chart(known)
        return self._predictions(lambda given: confident_tree(self.model_, given, chosen), known)

    def score(self, X: Trees, y: object = None) -> float:
        """F1 of labelled brackets, from 0 to 1, for scikit-learn's model selection."""
        gold = as_trees(X)
        return bracket_scores(gold, self.predict(gold))["f1"] / 100.0

    def evaluate(self, X: Trees, *, decoder: str | None = None) -> dict[str, Any]:
        """Parse the words of gold trees and score the result (:func:`spectragram.metrics.bracket_scores`).

        Besides EVALB's scores there are ``sentences_per_second``, the diagnostics of :meth:`predict`, and
        ``calibration_error`` (0 to 1): that of the probabilities of the brackets chosen in the first thousand
        sentences (:func:`spectragram.metrics.calibration_error`).
        """
        gold = as_trees(X)
        self.predict(gold[:1], decoder=decoder)  # kernels are compiled or loaded on first use, which is not counted
        start = time.perf_counter()
        predicted = self.predict(gold, decoder=decoder)
        speed = per_second(len(gold), time.perf_counter() - start)
        error = self._calibration_error(gold[:CALIBRATED], predicted[:CALIBRATED])
        facts = {"sentences_per_second": speed, "calibration_error": error}
        return bracket_scores(gold, predicted) | facts | predicted.diagnostics

    def _calibration_error(self, gold: Sequence[Tree], predicted: Sequence[Tree]) -> float:
        """That of the brackets of predicted trees, of sentences that are short enough for a chart."""
        pairs = [(a, b) for a, b in zip(gold, predicted, strict=True) if len(a.leaves()) <= LONGEST]
        found, right = [], []
        index = self.model_.labels.phrase_index
        for (wanted, tree), posteriors in zip(pairs, self.marginals([b for _, b in pairs]), strict=True):
            brackets = set(wanted.without_root().spans())
            for label, i, j in tree.without_root().spans():
                found.append(posteriors.spans[span_id(i, j), index[label]])
                right.append((label, i, j) in brackets)
        return calibration_error(np.array(found, float), np.array(right, bool))

    # Probabilities; the other methods are those of SentenceMethods

    def sample(self, n: int = 1, *, random_state: int = 0) -> list[Tree]:
        """Draw trees; their words are drawn from the distribution of :meth:`log_prob`."""
        parts, rng = self._mixture().parts, np.random.default_rng(random_state)
        return [sample_tree(self.model_, parts, rng) for _ in range(n)]

    def _build_mixture(self) -> PrefixMixture:
        if not self._fitted().probabilistic:
            raise InputError(
                "a spectral model is not a probability distribution: it has no probabilities and no samples",
                remedy="train with another learner, e.g. spectral+em",
            )
        return parser_mixture(self.model_)

    def _sentences(self, X: WordLists) -> list[list[str]]:
        sentences = [[escape_word(word) for word in words] for words in as_word_lists(X, keep_empty=True)]
        for number, words in enumerate(sentences, start=1):
            if len(words) > MAX_WORDS:
                raise InputError(
                    f"sentence {number} has {len(words)} words; prefix probabilities go up to {MAX_WORDS}",
                    remedy="split the text into sentences",
                )
        return sentences

    # Sentences in, answers out

    def _fitted(self) -> Model:
        self._require_fitted()
        return self.model_

    def _words(self, X: WordLists) -> list[list[str]]:
        """The words of each sentence, with brackets written as trees have them."""
        self._require_fitted()
        return [[escape_word(word) for word in words] for words in as_word_lists(X)]

    def read(self, X: WordLists, *, constrained: bool = False) -> list[SpanConstraints]:
        """The words of each sentence, and what is known about it, as :meth:`predict` reads them."""
        self._require_fitted()
        return as_known_spans(X, constrained=constrained)

    def _map(self, function: Callable[[SpanConstraints], Answer], sentences: list[SpanConstraints]) -> list[Answer]:
        """The function's answers for all sentences, on ``n_jobs`` threads."""
        starts = range(0, len(sentences), SENTENCES_PER_TASK)
        batches = [sentences[start : start + SENTENCES_PER_TASK] for start in starts]

        def answers(batch: list[SpanConstraints]) -> list[Answer]:
            self.model_.prepare([given.words for given in batch])
            return [function(given) for given in batch]

        done = map_threads(answers, batches, self.n_jobs)
        return [answer for batch in done for answer in batch]

    def _predictions(
        self, function: Callable[[SpanConstraints], tuple[Answer, Status, int]], sentences: list[SpanConstraints]
    ) -> Predictions[Answer]:
        """Answers of a function that also gives the status of a sentence and its number of negative posteriors."""
        found = self._map(function, sentences)
        counts = Counter(status for _, status, _ in found)
        diagnostics = {"fallbacks": len(found) - counts[Status.PRUNED]}
        plain = (status for status in Status if status != Status.RELAXED)
        diagnostics |= {f"parsed_{status.name.lower()}": counts[status] for status in plain}
        diagnostics["negative"] = sum(n_negative for _, _, n_negative in found)
        if not counts[Status.SPLIT]:
            del diagnostics["parsed_split"]
        if not all(given.is_empty for given in sentences):
            diagnostics["relaxed"] = counts[Status.RELAXED]
        return Predictions((answer for answer, _, _ in found), diagnostics)


def _parser_of(
    settings: Settings, n_jobs: int, trees: Sequence[Tree]
) -> Callable[[Sequence[SpanConstraints]], list[Tree]]:
    """A parser learned from complete trees, which obeys demands."""
    with single_threaded_blas():
        model, _ = train(trees, settings, n_jobs=n_jobs)
    return lambda demands: map_threads(lambda given: parse(model, given, "mbr")[0], list(demands), n_jobs)


def _summary(model: Model, settings: Settings, n_trees: int, facts: list[dict[str, float]]) -> dict[str, Any]:
    first = model.grammars[0]
    words = model.words
    scores = [round(fact["dev"], 2) for fact in facts if "dev" in fact]
    return (
        {
            "learner": settings.learner,
            "states": int(first.members[0].operators.n_states.sum()),
            "models": settings.n_models,
            "sentences": n_trees,
            "tokens": int(words.n_tokens),
            "types": len(words.word_counts),
            "symbols": first.productions.n_symbols,
            "rules": len(first.productions.binary) + len(first.productions.unary),
            "iterations": [int(fact["iterations"]) for fact in facts],
        }
        | ({} if model.factors is None else {"factors": int(np.count_nonzero(model.factors.weights))})
        | ({"dev_f1": scores} if scores else {})
    )
