"""The dependency parser: a head and a relation for every word of a tagged sentence."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.data.inputs import Dependencies, as_dependencies, is_path, listed
from spectragram.dependency.encoding import TAG_FIRST, Encoded
from spectragram.dependency.features import ModifierSequences
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.learners import learn
from spectragram.dependency.model import Chart, Model
from spectragram.dependency.settings import settings_of
from spectragram.dependency.surface import VERSION as ROWS_VERSION
from spectragram.errors import InputError
from spectragram.estimator import Estimator, Predictions, fitting
from spectragram.inference.hashed import VERSION as HASH_VERSION
from spectragram.metrics import attachment_scores, per_second

__all__ = ["DependencyParser"]


class DependencyParser(Estimator):
    """Dependency trees from split head automata and surface factors.

    Parameters
    ----------
    n_states : int, optional
        Hidden states of each head automaton. Default: that of the preset, but at most 4 for treebanks of fewer than
        50,000 words.
    learner : str
        How automata are learned: ``spectral+em`` (EM from a spectral start; the most accurate), ``em`` (EM from a
        random start), ``spectral`` (no iterations), or the deterministic baselines ``det+f`` and ``det``.
    factors : bool
        Multiply the automata by factors that look at the words around each arc and each end of a modifier sequence.
        Without them the parser is that of the paper.
    words : bool
        Whether factors look at words, or at tags alone.
    preset : {"fast", "default", "best"}
        Sets ``n_states``, ``max_iter``, ``n_epochs`` and ``n_models`` where they are not given.
    tag_column : {"auto", "xpos", "upos"}
        The tags that automata generate; ``auto`` takes XPOS if nearly all words have one and there are not too many
        different ones, UPOS otherwise. Factors look at both.
    crossing : bool
        Restore crossing arcs: words of training trees that were lifted to make them projective are marked, and words
        that are found to be marked go back to the head they lost. Without it all parses are projective.
    max_iter : int, optional
        EM iterations; with held-out trees the most that are tried.
    n_epochs : int, optional
        Passes over the trees to fit the factors; with held-out trees the most that are tried.
    n_models : int, optional
        Members of an ensemble, which have different seeds and factors fitted on different bootstrap samples; their
        marginals are averaged.
    basis : float or "sigma-lambda"
        ``spectral``: the number of substrings in the basis for each symbol of an automaton's alphabet (3 and 3.0 are
        the same), or the paper's Sigma'.
    min_mass : float
        ``spectral``: states with singular values below this share of their sum are discarded.
    random_state, n_jobs, verbose

    Attributes
    ----------
    model_ : Model
        All that was learned.
    grammar_ : Grammar
        The automata of all heads (of the first member of an ensemble).
    sequences_ : ModifierSequences
        The modifier sequences of training, which pictures of automata need.
    tags_ : tuple of str
        The symbols of the automata; number 0 stands for unknown tags.
    labels_ : tuple of str
        The relations, without that of root words.
    summary_ : dict

    Examples
    --------
    >>> from spectragram.synthetic import english_dependencies
    >>> trees = english_dependencies(300)
    >>> parser = DependencyParser(n_states=2).fit(trees[:250])
    >>> parsed = parser.predict(trees[250:])
    >>> parsed[0].forms == trees[250].forms, parsed.diagnostics
    (True, {'fallbacks': 0, 'negative': 0, 'restored': 0})
    """

    kind = "dependency"
    model_type = Model
    model_: Model
    meanings: ClassVar[Mapping[str, int]] = {"hashed features": HASH_VERSION, "rows of words": ROWS_VERSION}

    def __init__(
        self,
        n_states: int | None = None,
        learner: str = "spectral+em",
        *,
        factors: bool = True,
        words: bool = True,
        preset: str = "default",
        tag_column: str = "auto",
        crossing: bool = True,
        max_iter: int | None = None,
        n_epochs: int | None = None,
        n_models: int | None = None,
        basis: str | float = 3.0,
        min_mass: float = 0.0,
        random_state: int = 0,
        n_jobs: int = -1,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.factors = factors
        self.words = words
        self.preset = preset
        self.tag_column = tag_column
        self.crossing = crossing
        self.max_iter = max_iter
        self.n_epochs = n_epochs
        self.n_models = n_models
        self.basis = basis
        self.min_mass = min_mass
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fitting
    def fit(self, X: Dependencies, y: None = None, *, dev: Dependencies | None = None) -> Self:
        """Learn from sentences with heads (and relations).

        Parameters
        ----------
        X : path or iterable
            A CoNLL-U file or sentences whose heads form trees. Trees that are not projective are lifted until they are.
        dev : path or iterable, optional
            Held-out trees. The number of EM iterations and the number of epochs of the factors are those with the best
            unlabelled attachment on them; without them all iterations and epochs are run.
        """
        settings = settings_of(self)
        sentences = _trees(X)
        learned = learn(sentences, None if dev is None else _trees(dev), settings)
        self.model_ = learned.model
        self.summary_ = {
            "learner": settings.learner,
            "states": self.grammar_.n_states_in_all,
            "models": len(self.model_.members),
            "sentences": len(sentences),
            "tokens": sum(map(len, sentences)),
            "types": len({form for sentence in sentences for form in sentence.forms}),
            "tags": len(self.tags_) - 1,
            "tag_column": self.model_.alphabet.column,
            "states_per_automaton": self.grammar_.n_states,
            "lifted_sentences": learned.trees.n_sentences,
            "lifted_words": learned.trees.n_words,
        }
        if learned.dev_uas is not None:
            chosen = {"iterations": learned.iterations, "epochs": learned.epochs}
            self.summary_ |= chosen | {"dev_uas": round(learned.dev_uas, 2)}
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
        """The symbols of the automata; number 0 stands for unknown tags."""
        self._require_fitted()
        return self.model_.alphabet.tags.words

    @property
    def labels_(self) -> tuple[str, ...]:
        """The relations, without that of root words."""
        self._require_fitted()
        return self.model_.labels.names

    def predict(self, X: Dependencies) -> Predictions[Sentence]:
        """The sentences with heads and relations filled in; everything else is kept.

        X is a CoNLL-U file or sentences with tags; heads that they have are not looked at. The diagnostics count
        ``fallbacks``, sentences whose estimates did not sum to anything positive, so that they were parsed with the
        DET+F automata, ``negative`` marginals, which count as zero (both only with the learner ``spectral``), and
        ``restored`` words, whose arcs may cross others.
        """
        sentences = self._sentences(X)
        trees = self.model_.trees(self._encode(sentences), self.n_jobs)
        diagnostics = {
            "fallbacks": sum(tree.fell_back for tree in trees),
            "negative": sum(tree.n_negative for tree in trees),
            "restored": sum(tree.n_restored for tree in trees),
        }
        parsed = [
            sentence.with_heads(tree.heads, tree.relations) for sentence, tree in zip(sentences, trees, strict=True)
        ]
        return Predictions(parsed, diagnostics)

    def marginals(self, X: Dependencies) -> Predictions[np.ndarray]:
        """P(head | sentence) of each word, (n, n + 1); column 0 is the root, column i word i. Rows sum to one."""
        charts, diagnostics = self._charts(self._encode(self._sentences(X)))
        return Predictions([chart.head_distributions() for chart in charts], diagnostics)

    def log_prob(self, X: Dependencies) -> np.ndarray:
        """Logarithm of Z, the sum over all trees, for each sentence, shape (n_sentences,).

        Without factors this is the log-probability of the tags. With factors it is not normalised.
        """
        charts, _ = self._charts(self._encode(self._sentences(X)))
        return np.array([chart.log_z for chart in charts])

    def _sentences(self, X: Dependencies) -> list[Sentence]:
        """Sentences to parse; words without tags are refused, since the automata generate tags."""
        self._require_fitted()
        if is_path(X):
            return as_dependencies(X, may_be_empty=True)
        records = listed(X, "sentences")
        for number, record in enumerate(records):
            is_plain_text = isinstance(record, str) and "\t" not in record
            if is_plain_text or isinstance(record, list | tuple):
                raise InputError(
                    f"sentence {number} consists of words alone; this parser needs tags in column "
                    f"{self.model_.alphabet.column.upper()} of CoNLL-U",
                    remedy=TAG_FIRST,
                )
        return _with_words(as_dependencies(records, may_be_empty=True))

    def _encode(self, sentences: list[Sentence]) -> Encoded:
        column = self.model_.alphabet.column
        if sentences and all(tag == "_" for sentence in sentences for tag in sentence.column(column)):
            raise InputError(
                f"column {column.upper()} is empty; this parser was trained on its tags",
                path=sentences[0].path,
                line=sentences[0].line,
                remedy=TAG_FIRST,
            )
        return self.model_.alphabet.encode(sentences)

    def _charts(self, encoded: Encoded) -> tuple[list[Chart], dict[str, int]]:
        """The chart of every sentence, and the diagnostics of all of them."""
        found = self.model_.parse(encoded, self.n_jobs)
        charts = [chart for chart, _ in found]
        fallbacks = sum(fell_back for _, fell_back in found)
        return charts, {"fallbacks": fallbacks, "negative": sum(chart.n_negative for chart in charts)}

    def evaluate(self, X: Dependencies, given: Dependencies | None = None) -> dict[str, Any]:
        """Attachment scores in percent against the heads and relations of the sentences.

        ``given`` are the same sentences as the parser should see them, e.g. with the tags of a tagger.
        """
        gold = _trees(X)
        started = time.perf_counter()
        parsed = self.predict(gold if given is None else given)
        speed = per_second(len(gold), time.perf_counter() - started)
        tags = "upos" if any(tag != "_" for sentence in gold for tag in sentence.upos) else "xpos"
        scores = attachment_scores(
            [sentence.heads.tolist() for sentence in gold],
            [sentence.heads.tolist() for sentence in parsed],
            tags=[sentence.column(tags) for sentence in gold],
            gold_labels=[sentence.deprels for sentence in gold],
            predicted_labels=[sentence.deprels for sentence in parsed],
        )
        return scores | {"sentences_per_second": speed} | parsed.diagnostics

    def score(self, X: Dependencies, y: None = None) -> float:
        """Share of words with the right head, 0 to 1, for scikit-learn's model selection."""
        return float(self.evaluate(X)["uas"]) / 100


def _trees(X: Dependencies) -> list[Sentence]:
    """Sentences whose heads form trees, at least one."""
    return _with_words(as_dependencies(X, check_tree=True))


def _with_words(sentences: list[Sentence]) -> list[Sentence]:
    for number, sentence in enumerate(sentences):
        if len(sentence) == 0:
            raise InputError(f"sentence {number} has no words", remedy="give at least one word")
    return sentences
