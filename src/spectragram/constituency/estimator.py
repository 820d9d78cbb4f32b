"""ConstituencyParser: phrase-structure trees from latent-variable PCFGs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
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
from spectragram.data.brackets import escape_word, parse_tree
from spectragram.data.trees import Tree
from spectragram.engine import map_threads
from spectragram.errors import InputError
from spectragram.estimator import Estimator
from spectragram.metrics.brackets import bracket_scores
from spectragram.progress import progress

__all__ = ["DECODERS", "PRESETS", "ConstituencyParser"]

DECODERS = ("mbr", "max-rule", "goodman")
PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"n_models": 1, "n_states": 16, "n_iterations": 4, "binarisations": ("right",)},
    "default": {"n_models": 4, "n_states": 16, "n_iterations": 4, "binarisations": ("right", "left")},
    "best": {"n_models": 9, "n_states": 24, "n_iterations": 5, "binarisations": ("right", "left", "head")},
}
"""What each preset gives to the parameters that are None."""
SENTENCES_A_TASK = 8

Sentence = Sequence[str]


class ConstituencyParser(Estimator):
    """A parser learned from a treebank.

    Parameters
    ----------
    learner : str
        ``spectral+em``: states from clusters of spectral vectors, then a few EM iterations (the default: the most
        accurate). ``spectral``: operators from moments alone (Cohen et al. 2012). ``pivot``, ``pivot+em``: Cohen &
        Collins (2014). ``em``: EM from a random start. ``pcfg``: no hidden states.
    preset : {"fast", "default", "best"}
        Sets whatever of ``n_states``, ``n_models``, ``n_iterations`` and ``binarisations`` is None: one model for
        ``fast``, an ensemble of four or nine otherwise.
    n_states : int, optional
        At most so many hidden states for a label; rare labels get fewer.
    n_models : int, optional
        Models averaged in decoding, of other seeds, noised features and binarisations.
    n_iterations : int, optional
        EM iterations (for learners that end in ``em``); with held-out trees in ``fit``, the most that are tried.
    binarisations : sequence of {"right", "left", "head"}, optional
        Taken in turn by the models.
    decoder : {"mbr", "max-rule", "goodman"}
        ``mbr`` has the best F1, ``max-rule`` more trees that are right as a whole.
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

    Examples
    --------
    >>> from spectragram.data.brackets import escape_word, parse_tree
    >>> trees = [parse_tree("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks))))")] * 3
    >>> model = ConstituencyParser(preset="fast").fit(trees)
    >>> print(model.parse([["the", "dog", "barks"]])[0])
    (TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks))))
    """

    kind: ClassVar[str] = "constituency"
    grammars_: list[BinaryGrammar]

    def __init__(
        self,
        learner: str = "spectral+em",
        preset: str = "default",
        n_states: int | None = None,
        n_models: int | None = None,
        n_iterations: int | None = None,
        binarisations: Sequence[str] | None = None,
        decoder: str = "mbr",
        noise: float = 0.3,
        random_state: int = 0,
        n_jobs: int = -1,
        verbose: bool = False,
    ) -> None:
        self.learner = learner
        self.preset = preset
        self.n_states = n_states
        self.n_models = n_models
        self.n_iterations = n_iterations
        self.binarisations = binarisations
        self.decoder = decoder
        self.noise = noise
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, trees: Iterable[Tree | str], dev: Iterable[Tree | str] | None = None) -> Self:
        """Learn from trees (or bracketed strings); held-out trees ``dev`` choose the EM iteration of each model."""
        start = time.perf_counter()
        recipe = self._recipe()
        treebank = _as_trees(trees)
        judge = None if dev is None else Judge(_as_trees(dev), self.n_jobs if recipe.n_models == 1 else 1)
        with progress("training", recipe.n_models, enabled=self.verbose) as advance:
            grammars, facts = train_grammars(treebank, recipe, judge=judge, n_jobs=self.n_jobs, advance=advance)
        self.grammars_ = [_rounded(grammar) for grammar in grammars]
        first = self.grammars_[0]
        self.summary_ = {
            "learner": recipe.learner,
            "trees": len(treebank),
            "words": int(first.coarse.lexicon.table.n_tokens),
            "symbols": first.productions.n_symbols,
            "rules": len(first.productions.binary) + len(first.productions.unary),
            "states": int(first.models[0].operators.n_states.sum()),
            "models": recipe.n_models,
            "iterations": [int(fact["iterations"]) for fact in facts],
            "seconds": round(time.perf_counter() - start, 2),
        }
        scores = [fact["dev_f1"] for fact in facts if "dev_f1" in fact]
        if scores:
            self.summary_["dev_f1"] = [round(score, 2) for score in scores]
        return self

    def _recipe(self) -> Recipe:
        self._choose("learner", self.learner, LEARNERS)
        self._choose("preset", self.preset, list(PRESETS))
        self._choose("decoder", self.decoder, DECODERS)
        chosen = dict(PRESETS[self.preset])
        chosen |= {name: getattr(self, name) for name in chosen if getattr(self, name) is not None}
        for name, least in (("n_models", 1), ("n_states", 1), ("n_iterations", 0)):
            if not isinstance(chosen[name], int) or chosen[name] < least:
                raise InputError(f"{name}={chosen[name]!r}", remedy=f"give a whole number of at least {least}")
        for name in chosen["binarisations"]:
            self._choose("binarisations", name, ("right", "left", "head"))
        if self.learner == "pcfg":
            # All models of a binarisation would be the same.
            chosen["n_models"] = min(chosen["n_models"], len(chosen["binarisations"]))
        # EM gains from a noised start even in a single model; moments that are used as they are do not.
        noise = self.noise if self.learner != "spectral" or chosen["n_models"] > 1 else 0.0
        return Recipe(self.learner, noise=noise, random_state=self.random_state, **chosen)

    # -- parsing ---------------------------------------------------------------------------------------------------

    def parse(self, sentences: Iterable[Sentence | str]) -> list[Tree]:
        """A tree for every sentence (a sequence of words, or a string of words between spaces), whatever happens."""
        self._require_fitted()
        listed = [_as_words(sentence, i) for i, sentence in enumerate(sentences)]
        results = self._map(self._parse_one, listed)
        counts = Counter(status for _, status in results)
        self.statuses_ = {name: counts.get(number, 0) for number, name in enumerate(("pruned", "unpruned", "glued"))}
        return [tree for tree, _ in results]

    predict = parse

    def marginals(self, sentences: Iterable[Sentence | str]) -> list[SpanPosteriors]:
        """Posterior of every label over every span, and of every tag, averaged over the models."""
        self._require_fitted()
        listed = [_as_words(sentence, i) for i, sentence in enumerate(sentences)]
        return [posteriors for posteriors, _ in self._map(self._posteriors, listed)]

    def kbest(self, sentences: Iterable[Sentence | str], k: int) -> list[list[tuple[Tree, float]]]:
        """Up to ``k`` different trees a sentence, best first by the max-rule score, with log p(tree | sentence)."""
        self._require_fitted()
        listed = [_as_words(sentence, i) for i, sentence in enumerate(sentences)]
        return self._map(lambda words: k_best_derivations(self.grammars_[0], words, k), listed)

    def score(self, trees: Iterable[Tree | str], y: object = None) -> float:
        """F1 of labelled brackets, 0 to 1."""
        gold = _as_trees(trees)
        return bracket_scores(gold, self.parse([tree.leaves() for tree in gold]))["f1"] / 100.0

    # -- probabilities -----------------------------------------------------------------------------------------------

    def log_prob(self, sentences: Iterable[Sentence | str]) -> np.ndarray:
        """log p(sentence) under the first model, all trees summed; NaN where a signed model's value is negative."""
        self._require_fitted()
        listed = [_as_words(sentence, i) for i, sentence in enumerate(sentences)]
        return np.array(self._map(lambda words: sentence_log_prob(self.grammars_[0], words), listed))

    def prefix_log_prob(self, sentences: Iterable[Sentence | str]) -> list[np.ndarray]:
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
        listed = [_as_words(sentence, i) for i, sentence in enumerate(sentences)]
        return self._map(lambda words: prefix_log_probs(self.grammars_[0], words), listed)

    def sample(self, n: int = 1, random_state: int | None = None) -> list[Tree]:
        """Draw trees from the first model (not for ``spectral``, which is no distribution)."""
        self._require_fitted()
        if self.learner == "spectral":
            raise InputError("a spectral model cannot be sampled from", remedy="train with another learner")
        rng = np.random.default_rng(self.random_state if random_state is None else random_state)
        return [sample_tree(self.grammars_[0], rng) for _ in range(n)]

    # -- one sentence ------------------------------------------------------------------------------------------------

    def _map(self, function: Any, sentences: list[list[str]]) -> list[Any]:
        batches = [sentences[i : i + SENTENCES_A_TASK] for i in range(0, len(sentences), SENTENCES_A_TASK)]
        done = map_threads(lambda batch: [function(words) for words in batch], batches, self.n_jobs)
        return [result for batch in done for result in batch]

    def _parse_one(self, words: list[str]) -> tuple[Tree, Status]:
        grammar = self.grammars_[0]
        if self.decoder != "mbr":
            tree, status = best_derivation(grammar, words, self.decoder)
            if tree is not None:
                return tree, status
        posteriors, status = self._posteriors(words)
        return bracket_tree(words, posteriors, grammar.labels), status

    def _posteriors(self, words: list[str]) -> tuple[SpanPosteriors, Status]:
        return average_posteriors(self.grammars_, words)

    # -- model files ---------------------------------------------------------------------------------------------------

    def _get_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values: list[dict[str, Any]] = []
        arrays: dict[str, np.ndarray] = {}
        for number, grammar in enumerate(self.grammars_):
            state, part = grammar_to_state(grammar)
            values.append(state)
            arrays |= {f"grammar{number}.{name}": array for name, array in part.items()}
        return {"grammars": values}, arrays

    def _set_state(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        grammars = []
        for number, state in enumerate(values["grammars"]):
            prefix = f"grammar{number}."
            part = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            grammars.append(grammar_from_state(state, part))
        if not grammars:
            raise ValueError("no grammar")
        self.grammars_ = grammars


def _rounded(grammar: BinaryGrammar) -> BinaryGrammar:
    rules = grammar.rules
    models = [rounded(model, rules) for model in grammar.models]
    return replace(grammar, coarse=rounded(grammar.coarse, rules), middle=rounded(grammar.middle, rules), models=models)


def _as_trees(trees: Iterable[Tree | str]) -> list[Tree]:
    if isinstance(trees, (str, bytes)):
        raise InputError("one string where trees were expected", remedy="give a list of trees")
    listed = []
    for number, tree in enumerate(trees):
        if isinstance(tree, str):
            tree = parse_tree(tree)
        if not isinstance(tree, Tree):
            raise InputError(
                f"tree {number} is a {type(tree).__name__}", remedy="give Tree objects or bracketed strings"
            )
        listed.append(tree)
    if not listed:
        raise InputError("no trees", remedy="give at least one")
    return listed


def _as_words(sentence: Sentence | str, number: int) -> list[str]:
    words = sentence.split() if isinstance(sentence, str) else list(sentence)
    if not words or not all(isinstance(word, str) and word for word in words):
        raise InputError(f"sentence {number} has no words, or empty ones", remedy="give at least one word")
    return [escape_word(word) for word in words]
