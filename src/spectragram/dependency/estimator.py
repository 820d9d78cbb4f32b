"""The dependency parser: a head and a relation for every word of a tagged sentence."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.dependency.encoding import Alphabet, Encoded, encode_trees
from spectragram.dependency.factors import Factors, Templates, learn_factors
from spectragram.dependency.features import ModifierSequences, modifier_sequences
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.labels import Labels, learn_labels
from spectragram.dependency.learners import LEARNERS, Training, learn_grammar
from spectragram.dependency.model import Chart, Member, average, grammar_from_arrays, grammar_to_arrays
from spectragram.engine import map_threads
from spectragram.errors import InputError
from spectragram.estimator import Estimator, State
from spectragram.inference.headed_decode import best_heads
from spectragram.metrics import attachment_scores
from spectragram.progress import progress

__all__ = ["DependencyParser"]

PRESETS: dict[str, dict[str, int]] = {
    "fast": {"n_states": 4, "max_iter": 10, "n_epochs": 1, "n_models": 1},
    "default": {"n_states": 8, "max_iter": 20, "n_epochs": 3, "n_models": 1},
    "best": {"n_states": 8, "max_iter": 20, "n_epochs": 3, "n_models": 4},
}
FLOOR = 1e-30
"""Marginals below this, negative ones included, count as this when trees are chosen by the sum of logarithms."""
LABEL_EPOCHS = 2
WEIGHTS_PER_TOKEN, MOST_BITS = 24, 22
"""Size of the tables of hashed weights."""


class DependencyParser(Estimator):
    """Projective dependency trees from split head automata and surface factors.

    Parameters
    ----------
    n_states : int, optional
        Hidden states of each head automaton. Default: that of the preset.
    learner : str
        How automata are learned: ``spectral+em`` (EM from a spectral start; the most accurate), ``em`` (from a random
        start), ``spectral`` (no iterations), or the deterministic baselines ``det+f`` and ``det``.
    factors : bool
        Multiply the automata by factors of the words around each arc and each end of a modifier sequence. Without them
        the parser is the paper's.
    words : bool
        Whether factors look at words, or at tags alone.
    preset : {"fast", "default", "best"}
        Sets ``n_states``, ``max_iter``, ``n_epochs`` and ``n_models`` where they are not given.
    tag_column : {"auto", "xpos", "upos"}
        The tags that automata generate; ``auto`` takes XPOS where training sentences have it.
    max_iter : int, optional
        EM iterations.
    n_epochs : int, optional
        Passes over the trees to fit the factors.
    n_models : int, optional
        Members of an ensemble, with other seeds and factors fitted on bootstrap samples; marginals are averaged.
    basis : float or "sigma-lambda"
        ``spectral``: substrings in the basis for each symbol of an automaton's alphabet, or the paper's Sigma'.
    min_mass : float
        ``spectral``: states of singular values below this share of their sum are discarded.
    random_state, n_jobs, verbose

    Attributes
    ----------
    grammar_ : Grammar
        The automata of all heads (of the first member of an ensemble).
    sequences_ : ModifierSequences
        The modifier sequences of training, which pictures of automata need.
    tags_, labels_ : tuples of str
        Symbols of the automata by number, 0 for unknown ones; relations, without that of root words.
    n_fallbacks_ : int
        Sentences of the last call for which the estimates summed to nothing positive; they were parsed with DET+F.
    n_negative_ : int
        Negative marginals of the last call, counted as zero (``spectral`` only).
    summary_ : dict

    Examples
    --------
    >>> from spectragram.synthetic import english_dependencies
    >>> trees = english_dependencies(300)
    >>> parser = DependencyParser(n_states=2).fit(trees[:250])
    >>> parser.predict(trees[250:])[0].shape == trees[250].heads.shape
    True
    """

    kind = "dependency"

    def __init__(
        self,
        n_states: int | None = None,
        learner: str = "spectral+em",
        *,
        factors: bool = True,
        words: bool = True,
        preset: str = "default",
        tag_column: str = "auto",
        max_iter: int | None = None,
        n_epochs: int | None = None,
        n_models: int | None = None,
        basis: str | float = 3.0,
        min_mass: float = 0.0,
        random_state: int = 0,
        n_jobs: int = 1,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.factors = factors
        self.words = words
        self.preset = preset
        self.tag_column = tag_column
        self.max_iter = max_iter
        self.n_epochs = n_epochs
        self.n_models = n_models
        self.basis = basis
        self.min_mass = min_mass
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Iterable[Sentence], y: None = None) -> Self:
        """Learn from sentences with heads (and relations); trees that are not projective are lifted until they are."""
        settings = self._settings()
        started = time.perf_counter()
        sentences = _listed(X)
        heads, lifted = encode_trees(sentences)
        self._alphabet = Alphabet.of(sentences, self.tag_column)
        encoded = self._alphabet.encode(sentences)
        counts = self._alphabet.tags.counts.astype(np.float64)
        self.sequences_ = modifier_sequences(encoded, heads, len(counts))
        training = Training(self.sequences_, counts, self._alphabet.coarse_of)
        # Seeds of members do not depend on how many there are.
        seeds = np.random.default_rng(self.random_state).spawn(settings["n_models"] + 1)
        self._fallback = self._learn_automata("det+f", training, settings, seeds[0])
        self._members = []
        for rng in seeds[1:]:
            grammar = self._learn_automata(self.learner, training, settings, rng)
            factors = self._learn_factors(grammar, encoded, heads, settings, rng)
            self._members.append(Member(grammar, factors))
        self._labels = learn_labels(
            sentences, encoded, heads, Templates.for_labels(words=self.words), n_coarse=len(self._alphabet.coarse),
            n_symbols=len(self._alphabet.tags), n_epochs=LABEL_EPOCHS, bits=_table_bits(len(heads)), rng=seeds[0],
        )  # fmt: skip
        self.labels_ = self._labels.names
        self.n_fallbacks_ = self.n_negative_ = 0
        self.summary_ = {
            "sentences": len(sentences),
            "words": len(heads),
            "tags": len(self._alphabet.tags) - 1,
            "tag_column": self._alphabet.column,
            "states": self.grammar_.n_states,
            "models": len(self._members),
            "lifted_sentences": lifted,
            "seconds": round(time.perf_counter() - started, 2),
        }
        return self

    def _settings(self) -> dict[str, int]:
        """The preset with what was given in its place."""
        self._choose("learner", self.learner, LEARNERS)
        self._choose("preset", self.preset, tuple(PRESETS))
        self._choose("tag_column", self.tag_column, ("auto", "xpos", "upos"))
        given = {name: getattr(self, name) for name in PRESETS["default"]}
        settings = PRESETS[self.preset] | {name: value for name, value in given.items() if value is not None}
        for name, value in settings.items():
            if value < (1 if name in ("n_states", "n_models") else 0):
                raise InputError(f"{name}={value}", remedy="give a positive number")
        if isinstance(self.basis, str) and self.basis != "sigma-lambda":
            raise InputError(f"basis={self.basis!r}", remedy='give "sigma-lambda" or a factor like 3.0')
        return settings

    def _learn_automata(
        self, learner: str, training: Training, settings: dict[str, int], rng: np.random.Generator
    ) -> Grammar:
        with progress("automata", 2 * settings["max_iter"], enabled=self.verbose) as advance:
            return learn_grammar(
                learner, training, settings["n_states"], max_iter=settings["max_iter"], basis=self.basis,
                min_mass=self.min_mass, rng=rng, n_jobs=self.n_jobs, report=advance,
            )  # fmt: skip

    def _learn_factors(
        self,
        grammar: Grammar,
        encoded: Encoded,
        heads: np.ndarray,
        settings: dict[str, int],
        rng: np.random.Generator,
    ) -> Factors | None:
        if not self.factors:
            return None
        n_epochs, resample = settings["n_epochs"], settings["n_models"] > 1
        bits = _table_bits(len(heads))
        with progress("factors", n_epochs, enabled=self.verbose) as advance:
            return learn_factors(
                Factors.empty(words=self.words, bits=bits), grammar, encoded, heads, n_epochs=n_epochs, rng=rng,
                resample=resample, n_jobs=self.n_jobs, report=advance,
            )  # fmt: skip

    @property
    def grammar_(self) -> Grammar:
        """The automata of all heads, those of the first member of an ensemble."""
        self._require_fitted()
        return self._members[0].grammar

    @property
    def tags_(self) -> tuple[str, ...]:
        """Symbols of the automata, by number."""
        self._require_fitted()
        return self._alphabet.tags.words

    # -- parsing ---------------------------------------------------------------------------------------------------

    def parse(self, X: Iterable[Sentence]) -> list[Sentence]:
        """The sentences with heads and relations filled in, everything else kept."""
        sentences = _listed(X, may_be_empty=True)
        encoded = self._encode(sentences)
        trees = self._heads(encoded)
        parsed = []
        for number, (sentence, heads) in enumerate(zip(sentences, trees, strict=True)):
            relations = self._labels.predict(encoded.columns(number), heads.astype(np.int64))
            parsed.append(sentence.with_heads(heads, relations))
        return parsed

    def predict(self, X: Iterable[Sentence]) -> list[np.ndarray]:
        """Heads of each sentence, (n,) int32, counted from 1 with 0 for the root."""
        return self._heads(self._encode(_listed(X, may_be_empty=True)))

    def marginals(self, X: Iterable[Sentence]) -> list[np.ndarray]:
        """P(head | sentence) of each word, (n, n + 1); column 0 is the root, column i word i. Rows sum to one."""
        return [chart.head_distributions() for chart in self._charts(self._encode(_listed(X, may_be_empty=True)))]

    def log_prob(self, X: Iterable[Sentence]) -> np.ndarray:
        """log of Z, summed over all trees, of each sentence: the probability of its tags if there are no factors."""
        return np.array([chart.log_z for chart in self._charts(self._encode(_listed(X, may_be_empty=True)))])

    def _encode(self, sentences: Sequence[Sentence]) -> Encoded:
        self._require_fitted()
        column = self._alphabet.column
        if sentences and all(tag == "_" for sentence in sentences for tag in sentence.column(column)):
            raise InputError(
                f"column {column.upper()}, the tags this model was trained on, is empty",
                path=sentences[0].path,
                line=sentences[0].line,
                remedy="give tagged sentences, or --tagger MODEL to tag them first",
            )
        return self._alphabet.encode(sentences)

    def _heads(self, encoded: Encoded) -> list[np.ndarray]:
        """Minimum-risk trees: the highest sum of log-marginals (equation 2)."""
        return [
            best_heads(np.log(np.maximum(chart.roots, FLOOR)), np.log(np.maximum(chart.arcs, FLOOR)))
            for chart in self._charts(encoded)
        ]

    def _charts(self, encoded: Encoded) -> list[Chart]:
        def some(numbers: np.ndarray) -> list[tuple[Chart, bool]]:
            found = []
            for number in numbers:
                columns = encoded.columns(number)
                charts, fell_back = zip(*(m.chart(columns, self._fallback) for m in self._members), strict=True)
                found.append((average(charts), any(fell_back)))
            return found

        # Parts of equal numbers of sentences, several for each thread: lengths differ.
        parts = np.array_split(np.arange(len(encoded)), max(1, len(encoded) // 32))
        found = [one for part in map_threads(some, parts, self.n_jobs) for one in part]
        self.n_fallbacks_ = sum(fell_back for _, fell_back in found)
        self.n_negative_ = sum(int((chart.arcs < -1e-9).sum()) for chart, _ in found)
        return [chart for chart, _ in found]

    # -- scores ----------------------------------------------------------------------------------------------------

    def evaluate(self, X: Iterable[Sentence], given: Iterable[Sentence] | None = None) -> dict[str, Any]:
        """Attachment scores in percent against the heads and relations that the sentences have.

        ``given`` are the same sentences as the parser shall see them, e.g. with the tags of a tagger.
        """
        gold = _listed(X)
        for sentence in gold:
            sentence.check_tree()
        started = time.perf_counter()
        parsed = self.parse(gold if given is None else given)
        seconds = max(time.perf_counter() - started, 1e-9)
        tags = "upos" if any(tag != "_" for sentence in gold for tag in sentence.upos) else "xpos"
        scores: dict[str, Any] = dict(
            attachment_scores(
                [sentence.heads.tolist() for sentence in gold],
                [sentence.heads.tolist() for sentence in parsed],
                tags=[sentence.column(tags) for sentence in gold],
                gold_labels=[sentence.deprels for sentence in gold],
                predicted_labels=[sentence.deprels for sentence in parsed],
            )
        )
        return scores | {"sentences_per_second": round(len(gold) / seconds, 1), "fallbacks": self.n_fallbacks_}

    def score(self, X: Iterable[Sentence], y: None = None) -> float:
        """Share of words with the right head, 0 to 1, for scikit-learn's model selection."""
        return self.evaluate(X)["uas"] / 100

    # -- model files -----------------------------------------------------------------------------------------------

    def _get_state(self) -> State:
        arrays = {"coarse_of": self._alphabet.coarse_of, "coarse_exceptions": self._alphabet.exceptions}
        arrays |= grammar_to_arrays(self._fallback, "fallback")
        for number, member in enumerate(self._members):
            arrays |= member.to_arrays(str(number))
        for part, array in asdict(self.sequences_).items():
            arrays[f"sequences.{part}"] = array
        arrays |= {"label_weights": self._labels.weights, "label_candidates": self._labels.candidates}
        values = {
            "alphabet": self._alphabet.to_state(),
            "labels": list(self._labels.names),
            "root_label": self._labels.root,
            "n_members": len(self._members),
        }
        return values, arrays

    def _set_state(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._alphabet = Alphabet.from_state(values["alphabet"], arrays["coarse_of"], arrays["coarse_exceptions"])
        self._fallback = grammar_from_arrays(arrays, "fallback")
        self._members = [
            Member.from_arrays(arrays, str(number), factors=self.factors, words=self.words)
            for number in range(values["n_members"])
        ]
        k = len(self._alphabet.tags)
        for grammar in (self._fallback, *(member.grammar for member in self._members)):
            if grammar.n_symbols != k:
                raise ValueError(f"automata of {grammar.n_symbols} symbols for {k} tags")
        self.sequences_ = ModifierSequences(
            *(arrays[f"sequences.{part}"] for part in ("tokens", "offsets", "blocks", "roots"))
        )
        self._labels = Labels(
            tuple(values["labels"]),
            values["root_label"],
            arrays["label_candidates"],
            Templates.for_labels(words=self.words),
            arrays["label_weights"],
        )
        if self._labels.candidates.shape[:3] != (2, len(self._alphabet.coarse), k):
            raise ValueError(f"candidates of shape {self._labels.candidates.shape} for {k} tags")
        self.labels_ = self._labels.names
        self.n_fallbacks_ = self.n_negative_ = 0


def _listed(sentences: Iterable[Sentence], *, may_be_empty: bool = False) -> list[Sentence]:
    listed = list(sentences)
    for sentence in listed:
        if not isinstance(sentence, Sentence):
            raise InputError(
                f"{type(sentence).__name__} ({sentence!r:.40}) where a sentence was expected",
                remedy="read them with spectragram.data.read_conllu or make them with Sentence.from_words",
            )
    if not listed and not may_be_empty:
        raise InputError("no sentences", remedy="give at least one tree")
    return listed


def _table_bits(n_tokens: int) -> int:
    """Weights to a table: the power of two above so many for each token, 14 to 22 bits."""
    return int(np.clip(np.ceil(np.log2(WEIGHTS_PER_TOKEN * n_tokens)), 14, MOST_BITS))
