"""ConstituencyParser: phrase-structure trees from latent-variable PCFGs."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.constituency.averaging import Judge, average_posteriors
from spectragram.constituency.brackets import SpanPosteriors, bracket_tree
from spectragram.constituency.derivations import best_derivation, k_best_derivations
from spectragram.constituency.model_state import grammar_from_state, grammar_to_state, rounded
from spectragram.constituency.parsing import BinaryGrammar, Status
from spectragram.constituency.probabilities import prefix_log_probs, sample_tree, sentence_log_prob
from spectragram.constituency.training import LEARNERS, Recipe, train_grammars
from spectragram.data.brackets import escape_word
from spectragram.data.inputs import as_trees, as_word_lists
from spectragram.data.trees import Tree
from spectragram.engine import map_threads, single_threaded_blas
from spectragram.engine.progress import progress
from spectragram.errors import InputError
from spectragram.estimator import Estimator, State, prefixed, whole_or_nothing, without_prefix
from spectragram.metrics import bracket_scores, per_second

__all__ = ["DECODERS", "PRESETS", "ConstituencyParser"]

Sentence = Sequence[str] | str
"""Words, or a string of words between spaces."""

DECODERS = ("mbr", "max-rule", "goodman")
PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"n_models": 1, "n_states": 16, "max_iter": 4, "binarisations": ("right",)},
    "default": {"n_models": 4, "n_states": 16, "max_iter": 4, "binarisations": ("right", "left")},
    "best": {"n_models": 9, "n_states": 24, "max_iter": 5, "binarisations": ("right", "left", "head")},
}
"""What each preset gives to the parameters that are None."""
BINARISATIONS = ("right", "left", "head")
SENTENCES_A_TASK = 8


class ConstituencyParser(Estimator):
    """A parser learned from a treebank.

    Parameters
    ----------
    n_states : int, optional
        At most so many hidden states for a label; rare labels get fewer.
    learner : str
        ``spectral+em``: states from clusters of spectral vectors, then a few EM iterations (the default: the most
        accurate). ``spectral``: operators from moments alone (Cohen et al. 2012). ``pivot``, ``pivot+em``: Cohen &
        Collins (2014). ``em``: EM from a random start. ``pcfg``: no hidden states.
    preset : {"fast", "default", "best"}
        Sets whatever of ``n_states``, ``n_models``, ``max_iter`` and ``binarisations`` is None: one model for
        ``fast``, an ensemble of four or nine otherwise.
    n_models : int, optional
        Models averaged in decoding, of other seeds, noised features and binarisations.
    max_iter : int, optional
        EM iterations (for learners that end in ``em``); with held-out trees in ``fit``, the most that are tried.
    binarisations : sequence of {"right", "left", "head"}, optional
        Taken in turn by the models.
    decoder : {"mbr", "max-rule", "goodman"}
        ``mbr`` has the best F1, ``max-rule`` more trees that are right as a whole. ``mbr`` asks all models, the other
        two those of the first binarisation only: half of the default ensemble.
    noise : float
        Standard deviation of the factors on features by which the models of an ensemble differ.
    random_state, n_jobs, verbose
        As everywhere; ``n_jobs=-1`` uses all cores. The result does not depend on it.

    Attributes
    ----------
    grammars_ : list of BinaryGrammar
    summary_ : dict
    statuses_ : dict
        How the sentences of the last :meth:`parse` were parsed: ``pruned``, ``unpruned``, ``glued``.
    n_negative_ : int
        Negative posteriors in the last parsing, or sentences with a negative value in the last :meth:`log_prob`
        (``spectral`` only).

    Examples
    --------
    >>> from spectragram.data.brackets import parse_tree
    >>> trees = [parse_tree("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks))))")] * 3
    >>> model = ConstituencyParser(preset="fast").fit(trees)
    >>> print(model.parse([["the", "dog", "barks"]])[0])
    (TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks))))
    """

    kind: ClassVar[str] = "constituency"
    grammars_: list[BinaryGrammar]

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
        n_jobs: int = 1,
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

    @whole_or_nothing
    def fit(self, X: Iterable[Tree | str], y: object = None, *, dev: Iterable[Tree | str] | None = None) -> Self:
        """Learn from trees or bracketed strings ``X``; held-out trees ``dev`` choose the EM iteration of each model.

        ``y`` is there for scikit-learn.
        """
        start = time.perf_counter()
        recipe = self._recipe()
        trees = as_trees(X)
        judge = None if dev is None else Judge(as_trees(dev), self.n_jobs if recipe.n_models == 1 else 1)
        with single_threaded_blas(), progress("training", recipe.n_steps, enabled=self.verbose) as report:
            grammars, facts = train_grammars(trees, recipe, judge=judge, n_jobs=self.n_jobs, report=report)
        self._keep([_rounded(grammar) for grammar in grammars])
        self.summary_ = self._summary(recipe, len(trees), facts)
        self.summary_["seconds"] = round(time.perf_counter() - start, 2)
        return self

    def _keep(self, grammars: list[BinaryGrammar]) -> None:
        """Take the grammars over; nothing has been parsed with them yet."""
        self.grammars_ = grammars
        self.statuses_ = dict.fromkeys((status.name.lower() for status in Status), 0)
        self.n_negative_ = 0

    def _summary(self, recipe: Recipe, n_trees: int, facts: list[dict[str, float]]) -> dict[str, Any]:
        first = self.grammars_[0]
        words = first.coarse.lexicon.table
        scores = [round(fact["dev"], 2) for fact in facts if "dev" in fact]
        return {
            "learner": recipe.learner,
            "states": int(first.models[0].operators.n_states.sum()),
            "models": recipe.n_models,
            "sentences": n_trees,
            "tokens": int(words.n_tokens),
            "types": len(words.word_counts),
            "symbols": first.productions.n_symbols,
            "rules": len(first.productions.binary) + len(first.productions.unary),
            "iterations": [int(fact["iterations"]) for fact in facts],
        } | ({"dev_f1": scores} if scores else {})

    def _recipe(self) -> Recipe:
        self._choose("learner", self.learner, LEARNERS)
        self._choose("decoder", self.decoder, DECODERS)
        for name, least in (("n_states", 1), ("n_models", 1), ("max_iter", 0)):
            self._check_whole(name, least)
        self._check_number("noise")
        chosen = self._with_preset(PRESETS)
        directions = chosen["binarisations"]
        if not isinstance(directions, (list, tuple)) or not directions:
            raise InputError(f"binarisations={directions!r}", remedy=f"give a list of {', '.join(BINARISATIONS)}")
        for name in directions:
            self._choose("binarisations", name, BINARISATIONS)
        if self.learner == "pcfg":
            # All models of a binarisation would be the same.
            chosen["n_models"] = min(chosen["n_models"], len(directions))
        # EM gains from a noised start even in a single model; moments that are used as they are do not.
        noise = self.noise or 0.0 if self.learner != "spectral" or chosen["n_models"] > 1 else 0.0
        return Recipe(self.learner, noise=noise, random_state=self.random_state, **chosen)

    # -- parsing ---------------------------------------------------------------------------------------------------

    def parse(self, sentences: Iterable[Sentence]) -> list[Tree]:
        """A tree for every sentence (a sequence of words, or a string of words between spaces), whatever happens."""
        self._choose("decoder", self.decoder, DECODERS)
        found = self._map(self._parse_one, sentences)
        counts = Counter(status for _, status, _ in found)
        self.statuses_ = {status.name.lower(): counts[status] for status in Status}
        self.n_negative_ = sum(n for _, _, n in found)
        return [tree for tree, _, _ in found]

    predict = parse

    def marginals(self, sentences: Iterable[Sentence]) -> list[SpanPosteriors]:
        """Posterior of every label over every span, and of every tag, averaged over the models."""
        found = self._map(lambda words: average_posteriors(self.grammars_, words), sentences)
        self.n_negative_ = sum(n for _, _, n in found)
        return [posteriors for posteriors, _, _ in found]

    def kbest(self, sentences: Iterable[Sentence], k: int) -> list[list[tuple[Tree, float]]]:
        """Up to ``k`` different trees a sentence, best first by the max-rule score, with log p(tree | sentence).

        A sentence that the grammar cannot derive has one, that of :meth:`parse`, with minus infinity.
        """
        listed = list(sentences)
        found = self._map(lambda words: k_best_derivations(self.grammars_[0], words, k), listed)
        self.n_negative_ = sum(n for _, n in found)
        underivable = [sentence for sentence, (trees, _) in zip(listed, found, strict=True) if not trees]
        glued = iter(self._map(self._parse_one, underivable))
        return [trees or [(next(glued)[0], -math.inf)] for trees, _ in found]

    def score(self, X: Iterable[Tree | str], y: object = None) -> float:
        """F1 of labelled brackets, 0 to 1, for scikit-learn's model selection."""
        return self.evaluate(X)["f1"] / 100.0

    def evaluate(self, trees: Iterable[Tree | str]) -> dict[str, Any]:
        """EVALB's scores of the words of gold trees, parsed (:func:`spectragram.metrics.bracket_scores`).

        Besides them: ``sentences_per_second``; ``parsed_pruned``, ``parsed_unpruned`` and ``parsed_glued``, how the
        sentences were parsed, and ``fallbacks``, the sum of the last two; ``negative``, see ``n_negative_``.
        """
        gold = as_trees(trees)
        sentences = [tree.leaves() for tree in gold]
        self.parse(sentences[:1])  # what is compiled or read on first use is not part of the speed
        start = time.perf_counter()
        predicted = self.parse(sentences)
        seconds = time.perf_counter() - start
        return bracket_scores(gold, predicted) | {
            "sentences_per_second": per_second(len(gold), seconds),
            "fallbacks": self.statuses_["unpruned"] + self.statuses_["glued"],
            **{f"parsed_{name}": n for name, n in self.statuses_.items()},
            "negative": self.n_negative_,
        }

    # -- probabilities -----------------------------------------------------------------------------------------------

    def log_prob(self, sentences: Iterable[Sentence]) -> np.ndarray:
        """log p(sentence) under the first model, all trees summed; NaN where a signed model's value is negative."""
        found = np.array(self._map(lambda words: sentence_log_prob(self.grammars_[0], words), sentences))
        self.n_negative_ = int(np.isnan(found).sum())
        return found

    def prefix_log_prob(self, sentences: Iterable[Sentence]) -> list[np.ndarray]:
        """For each sentence, log p(it begins with its first i words), i = 0 .. n, and log p(sentence) as last entry.

        Differences of neighbours are surprisals: of each word, and of the end of the sentence. They add up to
        -log p(sentence).
        """
        self._require_fitted()
        if self.learner == "spectral":
            raise InputError(
                "prefix probabilities need a probabilistic model, and 'spectral' is none",
                remedy="train with another learner, e.g. spectral+em",
            )
        return self._map(lambda words: prefix_log_probs(self.grammars_[0], words), sentences)

    def sample(self, n: int = 1, random_state: int | None = None) -> list[Tree]:
        """Draw trees from the first model (not for ``spectral``, which is no distribution)."""
        self._require_fitted()
        if self.learner == "spectral":
            raise InputError("a spectral model cannot be sampled from", remedy="train with another learner")
        rng = np.random.default_rng(self.random_state if random_state is None else random_state)
        return [sample_tree(self.grammars_[0], rng) for _ in range(n)]

    # -- one sentence ------------------------------------------------------------------------------------------------

    def _map(self, function: Callable[[list[str]], Any], sentences: Iterable[Sentence]) -> list[Any]:
        """What the function says about the words of each sentence, on ``n_jobs`` threads."""
        self._require_fitted()
        listed = [[escape_word(word) for word in words] for words in as_word_lists(sentences)]
        batches = [listed[i : i + SENTENCES_A_TASK] for i in range(0, len(listed), SENTENCES_A_TASK)]
        done = map_threads(lambda batch: [function(words) for words in batch], batches, self.n_jobs)
        return [result for batch in done for result in batch]

    def _parse_one(self, words: list[str]) -> tuple[Tree, Status, int]:
        """A tree, how it was found, and how many posteriors were negative."""
        if self.decoder != "mbr":
            tree, status, n_negative = best_derivation(self.grammars_[0], words, self.decoder)
            if tree is not None:
                return tree, status, n_negative
        posteriors, status, n_negative = average_posteriors(self.grammars_, words)
        return bracket_tree(words, posteriors, self.grammars_[0].labels), status, n_negative

    # -- model files ---------------------------------------------------------------------------------------------------

    def _get_state(self) -> State:
        values: list[dict[str, Any]] = []
        arrays: dict[str, np.ndarray] = {}
        for number, grammar in enumerate(self.grammars_):
            state, part = grammar_to_state(grammar)
            values.append(state)
            arrays |= prefixed(f"grammar{number}", part)
        return {"grammars": values}, arrays

    def _set_state(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        states = enumerate(values["grammars"])
        grammars = [grammar_from_state(state, without_prefix(f"grammar{number}", arrays)) for number, state in states]
        if not grammars:
            raise ValueError("no grammar")
        self._keep(grammars)


def _rounded(grammar: BinaryGrammar) -> BinaryGrammar:
    rules = grammar.rules
    models = [rounded(model, rules) for model in grammar.models]
    return replace(grammar, coarse=rounded(grammar.coarse, rules), middle=rounded(grammar.middle, rules), models=models)
