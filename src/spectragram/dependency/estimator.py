"""The dependency parser: a head and a relation for every word of a tagged sentence."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.dependency.encoding import Encoded
from spectragram.dependency.features import ModifierSequences
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.model import Chart, Model
from spectragram.dependency.settings import settings_of
from spectragram.dependency.training import train
from spectragram.engine import map_threads
from spectragram.errors import InputError
from spectragram.estimator import Estimator, State, whole_or_nothing
from spectragram.metrics import attachment_scores, per_second

__all__ = ["DependencyParser"]


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
        ``spectral``: a factor, so many substrings in the basis for each symbol of an automaton's alphabet (3 and 3.0
        are the same), or the paper's Sigma'.
    min_mass : float
        ``spectral``: states of singular values below this share of their sum are discarded.
    random_state, n_jobs, verbose

    Attributes
    ----------
    model_ : Model
        All that was learned.
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

    @whole_or_nothing
    def fit(self, X: Iterable[Sentence], y: None = None) -> Self:
        """Learn from sentences with heads (and relations); trees that are not projective are lifted until they are."""
        settings = settings_of(self)
        started = time.perf_counter()
        sentences = _listed(X)
        self.model_, lifted = train(sentences, settings)
        self.n_fallbacks_ = self.n_negative_ = 0
        self.summary_ = {
            "learner": self.learner,
            "states": self.grammar_.n_states_in_all,
            "models": len(self.model_.members),
            "sentences": len(sentences),
            "tokens": sum(map(len, sentences)),
            "types": len({form for sentence in sentences for form in sentence.forms}),
            "tags": len(self.tags_) - 1,
            "tag_column": self.model_.alphabet.column,
            "states_per_automaton": self.grammar_.n_states,
            "lifted_sentences": lifted,
            "seconds": round(time.perf_counter() - started, 2),
        }
        return self

    @property
    def grammar_(self) -> Grammar:
        """The automata of all heads, those of the first member of an ensemble."""
        self._require_fitted()
        return self.model_.members[0].grammar

    @property
    def sequences_(self) -> ModifierSequences:
        """The modifier sequences of training."""
        self._require_fitted()
        return self.model_.sequences

    @property
    def tags_(self) -> tuple[str, ...]:
        """Symbols of the automata, by number."""
        self._require_fitted()
        return self.model_.alphabet.tags.words

    @property
    def labels_(self) -> tuple[str, ...]:
        """Relations, without that of root words."""
        self._require_fitted()
        return self.model_.labels.names

    def parse(self, X: Iterable[Sentence]) -> list[Sentence]:
        """The sentences with heads and relations filled in, everything else kept."""
        sentences = _listed(X, may_be_empty=True)
        encoded = self._encode(sentences)
        trees = self._heads(encoded)
        parsed = []
        for number, (sentence, heads) in enumerate(zip(sentences, trees, strict=True)):
            relations = self.model_.labels.predict(encoded.columns(number), heads.astype(np.int64))
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
        column = self.model_.alphabet.column
        if sentences and all(tag == "_" for sentence in sentences for tag in sentence.column(column)):
            raise InputError(
                f"column {column.upper()}, the tags this model was trained on, is empty",
                path=sentences[0].path,
                line=sentences[0].line,
                remedy="give tagged sentences, or --tagger MODEL to tag them first",
            )
        return self.model_.alphabet.encode(sentences)

    def _heads(self, encoded: Encoded) -> list[np.ndarray]:
        return [chart.best_heads() for chart in self._charts(encoded)]

    def _charts(self, encoded: Encoded) -> list[Chart]:
        def some(numbers: np.ndarray) -> list[tuple[Chart, bool]]:
            return [self.model_.chart(encoded.columns(number)) for number in numbers]

        # Parts of equal numbers of sentences, several for each thread: lengths differ.
        parts = np.array_split(np.arange(len(encoded)), max(1, len(encoded) // 32))
        found = [one for part in map_threads(some, parts, self.n_jobs) for one in part]
        self.n_fallbacks_ = sum(fell_back for _, fell_back in found)
        self.n_negative_ = sum(chart.n_negative for chart, _ in found)
        return [chart for chart, _ in found]

    def evaluate(self, X: Iterable[Sentence], given: Iterable[Sentence] | None = None) -> dict[str, Any]:
        """Attachment scores in percent against the heads and relations that the sentences have.

        ``given`` are the same sentences as the parser shall see them, e.g. with the tags of a tagger.
        """
        gold = _listed(X)
        for sentence in gold:
            sentence.check_tree()
        started = time.perf_counter()
        parsed = self.parse(gold if given is None else given)
        speed = per_second(len(gold), time.perf_counter() - started)
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
        return scores | {
            "sentences_per_second": speed,
            "fallbacks": self.n_fallbacks_,
            "negative": self.n_negative_,
        }

    def score(self, X: Iterable[Sentence], y: None = None) -> float:
        """Share of words with the right head, 0 to 1, for scikit-learn's model selection."""
        return self.evaluate(X)["uas"] / 100

    def _get_state(self) -> State:
        return self.model_.to_state()

    def _set_state(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.model_ = Model.from_state(values, arrays, factors=self.factors, words=self.words)
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
