"""ConstituencyParser: phrase-structure trees from latent-variable PCFGs."""

from __future__ import annotations

import math
import numbers
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from spectragram.constituency.brackets import SpanPosteriors, bracket_tree
from spectragram.constituency.derivations import best_derivation, k_best_derivations
from spectragram.constituency.learners import train
from spectragram.constituency.model import Model
from spectragram.constituency.parsing import HeldOutF1, Status, average_posteriors
from spectragram.constituency.probabilities import prefix_log_probs, sample_tree, sentence_log_prob
from spectragram.constituency.settings import DECODERS, Settings, settings_of
from spectragram.data.brackets import escape_word
from spectragram.data.inputs import Trees, WordLists, as_trees, as_word_lists
from spectragram.data.signatures import VERSION as WORD_CLASSES
from spectragram.data.trees import Tree
from spectragram.engine import map_threads, single_threaded_blas
from spectragram.engine.progress import progress
from spectragram.errors import InputError, ParameterError
from spectragram.estimator import Estimator, Predictions, TrainedModel, fitting
from spectragram.metrics import bracket_scores, per_second

__all__ = ["ConstituencyParser"]

SENTENCES_PER_TASK = 8
"""Sentences that a thread parses before it asks for more. Chosen by hand: parsing one takes milliseconds, which is long
beside handing over a task."""

Answer = TypeVar("Answer")


class ConstituencyParser(Estimator):
    """A parser learned from a treebank.

    Every method takes data as a path or as an iterable of records. A record of ``fit``, ``evaluate`` and ``score`` is
    a tree: a Tree, a bracketed string or an nltk tree. A record of all other methods is a sentence: a sequence of
    words, a string with spaces between words, or a tree, of which only the words are used.

    Parameters
    ----------
    n_states : int, optional
        Largest number of hidden states of a label; rare labels get fewer.
    learner : str
        ``spectral+em`` starts from clusters of spectral vectors and adds a few EM iterations (the default, and the
        most accurate). ``spectral`` computes operators from moments alone (Cohen et al. 2012). ``pivot`` and
        ``pivot+em`` are those of Cohen & Collins (2014). ``em`` is EM from a random start. ``pcfg`` has no hidden
        states.
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
    decoder : {"mbr", "max-rule", "goodman"}
        The decoder of the trained parser, unless ``predict`` is asked for another one. ``mbr`` has the best F1,
        ``max-rule`` gets more trees entirely right. ``mbr`` uses all models, the other two only those of the first
        binarisation, which are half of the default ensemble.
    noise : float
        Standard deviation of the random factors on features by which the models of an ensemble differ. The default was
        tuned on the dev part of wsj-sample.
    random_state, n_jobs, verbose
        As everywhere; ``n_jobs=-1`` uses all cores. The result does not depend on ``n_jobs``.

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
    model_: Model

    def __init__(
        self,
        n_states: int | None = None,
        learner: str = "spectral+em",
        *,
        preset: str = "default",
        n_models: int | None = None,
        max_iter: int | None = None,
        binarisations: Sequence[str] | None = None,
        decoder: str = "mbr",
        noise: float = 0.3,
        random_state: int = 0,
        n_jobs: int = -1,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.preset = preset
        self.n_models = n_models
        self.max_iter = max_iter
        self.binarisations = binarisations
        self.decoder = decoder
        self.noise = noise
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fitting
    def fit(self, X: Trees, y: object = None, *, dev: Trees | None = None) -> Self:
        """Learn from trees; held-out trees ``dev`` choose the EM iteration of each model.

        ``y`` is there for scikit-learn.
        """
        settings = settings_of(self)
        trees = as_trees(X)
        judge = None if dev is None else HeldOutF1(as_trees(dev), self.n_jobs if settings.n_models == 1 else 1)
        with single_threaded_blas(), progress("training", settings.n_steps, enabled=self.verbose) as report:
            self.model_, facts = train(trees, settings, judge=judge, n_jobs=self.n_jobs, report=report)
        self.summary_ = _summary(self.model_, settings, len(trees), facts)
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

    def predict(self, X: WordLists, *, decoder: str | None = None) -> Predictions[Tree]:
        """A tree for every sentence, even if the grammar cannot derive it.

        ``decoder`` replaces the decoder of the model. The diagnostics count how sentences were parsed
        (``parsed_pruned``, ``parsed_unpruned``, ``parsed_glued``; ``fallbacks`` is the sum of the last two) and how
        many posteriors were ``negative`` (learner ``spectral`` only; their absolute values were used).
        """
        self._require_fitted()
        chosen = self.model_.decoder if decoder is None else self._choose("decoder", decoder, DECODERS)
        return self._predictions(lambda words: _parse(self.model_, words, chosen), self._words(X))

    def marginals(self, X: WordLists) -> Predictions[SpanPosteriors]:
        """Posterior of every label over every span, and of every tag, averaged over the models.

        The diagnostics are those of :meth:`predict`.
        """
        return self._predictions(lambda words: average_posteriors(self.model_.grammars, words), self._words(X))

    def kbest(self, X: WordLists, k: int) -> Predictions[list[tuple[Tree, float]]]:
        """Up to ``k`` different trees for each sentence, best first by the max-rule score, with log p(tree | sentence).

        Both are those of the first model. A sentence that the grammar cannot derive has one tree, that of
        :meth:`predict`, with minus infinity. The diagnostics count ``negative`` posteriors.
        """
        if not isinstance(k, numbers.Integral) or isinstance(k, bool) or k < 1:
            raise ParameterError("k", k, remedy="give a whole number of at least 1")
        sentences = self._words(X)
        found = self._map(lambda words: k_best_derivations(self.model_.grammars[0], words, k), sentences)
        underivable = [words for words, (trees, _) in zip(sentences, found, strict=True) if not trees]
        glued = iter(self._map(lambda words: _parse(self.model_, words, "mbr")[0], underivable))
        answers = [trees or [(next(glued), -math.inf)] for trees, _ in found]
        return Predictions(answers, {"negative": sum(n for _, n in found)})

    def score(self, X: Trees, y: object = None) -> float:
        """F1 of labelled brackets, from 0 to 1, for scikit-learn's model selection."""
        return self.evaluate(X)["f1"] / 100.0

    def evaluate(self, X: Trees, *, decoder: str | None = None) -> dict[str, Any]:
        """Parse the words of gold trees and score the result (:func:`spectragram.metrics.bracket_scores`).

        Besides EVALB's scores there are ``sentences_per_second`` and the diagnostics of :meth:`predict`.
        """
        gold = as_trees(X)
        self.predict(gold[:1], decoder=decoder)  # kernels are compiled or loaded on first use, which is not counted
        start = time.perf_counter()
        predicted = self.predict(gold, decoder=decoder)
        speed = per_second(len(gold), time.perf_counter() - start)
        return bracket_scores(gold, predicted) | {"sentences_per_second": speed} | predicted.diagnostics

    # Probabilities

    def log_prob(self, X: WordLists) -> np.ndarray:
        """log p(sentence) under the first model, summed over all trees, (n_sentences,).

        NaN if the value of a signed model (learner ``spectral``) is negative; minus infinity without a parse.
        """
        grammars = self._fitted().grammars
        return np.array(self._map(lambda words: sentence_log_prob(grammars[0], words), self._words(X)), np.float64)

    def prefix_log_prob(self, X: WordLists) -> list[np.ndarray]:
        """For each sentence of n words an array (n + 1,): log p(a sentence begins with its first i words), i = 0 .. n.

        From the first model; not for the learner ``spectral``.
        """
        return [prefixes for prefixes, _ in self._prefixes(X)]

    def surprisal(self, X: WordLists) -> list[np.ndarray]:
        """For each sentence of n words an array (n + 1,): bits for each word, then for the end of the sentence.

        They add up to -log2 p(sentence). From the first model; not for the learner ``spectral``.
        """
        return [-np.diff(np.append(prefixes, whole)) / math.log(2.0) for prefixes, whole in self._prefixes(X)]

    def sample(self, n: int = 1, *, random_state: int = 0) -> list[Tree]:
        """Draw trees from the first model; not for the learner ``spectral``."""
        self._require_distribution()
        rng = np.random.default_rng(random_state)
        return [sample_tree(self.model_.grammars[0], rng) for _ in range(n)]

    def _prefixes(self, X: WordLists) -> list[tuple[np.ndarray, float]]:
        self._require_distribution()
        return self._map(lambda words: prefix_log_probs(self.model_.grammars[0], words), self._words(X))

    def _require_distribution(self) -> None:
        if not self._fitted().probabilistic:
            raise InputError(
                "a spectral model is not a probability distribution: it has no prefix probabilities and no samples",
                remedy="train with another learner, e.g. spectral+em",
            )

    # Sentences in, answers out

    def _fitted(self) -> Model:
        self._require_fitted()
        return self.model_

    def _words(self, X: WordLists) -> list[list[str]]:
        """The words of each sentence, with brackets written as trees have them."""
        self._require_fitted()
        return [[escape_word(word) for word in words] for words in as_word_lists(X)]

    def _map(self, function: Callable[[list[str]], Answer], sentences: list[list[str]]) -> list[Answer]:
        """The function's answers for all sentences, on ``n_jobs`` threads."""
        starts = range(0, len(sentences), SENTENCES_PER_TASK)
        batches = [sentences[start : start + SENTENCES_PER_TASK] for start in starts]
        done = map_threads(lambda batch: [function(words) for words in batch], batches, self.n_jobs)
        return [answer for batch in done for answer in batch]

    def _predictions(
        self, function: Callable[[list[str]], tuple[Answer, Status, int]], sentences: list[list[str]]
    ) -> Predictions[Answer]:
        """Answers of a function that also gives the status of a sentence and its number of negative posteriors."""
        found = self._map(function, sentences)
        counts = Counter(status for _, status, _ in found)
        diagnostics = {"fallbacks": len(found) - counts[Status.PRUNED]}
        diagnostics |= {f"parsed_{status.name.lower()}": counts[status] for status in Status}
        diagnostics["negative"] = sum(n_negative for _, _, n_negative in found)
        return Predictions((answer for answer, _, _ in found), diagnostics)


def _parse(model: Model, words: list[str], decoder: str) -> tuple[Tree, Status, int]:
    """A tree, how it was found, and how many posteriors were negative."""
    if decoder != "mbr":
        tree, status, n_negative = best_derivation(model.grammars[0], words, decoder)
        if tree is not None:
            return tree, status, n_negative
    posteriors, status, n_negative = average_posteriors(model.grammars, words)
    return bracket_tree(words, posteriors, model.labels), status, n_negative


def _summary(model: Model, settings: Settings, n_trees: int, facts: list[dict[str, float]]) -> dict[str, Any]:
    first = model.grammars[0]
    words = model.words
    scores = [round(fact["dev"], 2) for fact in facts if "dev" in fact]
    return {
        "learner": settings.learner,
        "states": int(first.members[0].operators.n_states.sum()),
        "models": settings.n_models,
        "sentences": n_trees,
        "tokens": int(words.n_tokens),
        "types": len(words.word_counts),
        "symbols": first.productions.n_symbols,
        "rules": len(first.productions.binary) + len(first.productions.unary),
        "iterations": [int(fact["iterations"]) for fact in facts],
    } | ({"dev_f1": scores} if scores else {})
