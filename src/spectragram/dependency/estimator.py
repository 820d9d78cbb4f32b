"""The dependency parser: a head and a relation for every word of a tagged sentence."""

from __future__ import annotations

import numbers
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.confidence import ArcConfidence
from spectragram.data.conllu import Sentence
from spectragram.data.inputs import Dependencies, as_dependencies, is_path, listed
from spectragram.data.known_heads import HeadConstraints
from spectragram.dependency.charts import Chart
from spectragram.dependency.constraints import Known
from spectragram.dependency.encoding import TAG_FIRST, Encoded
from spectragram.dependency.features import ModifierSequences
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.learners import learn
from spectragram.dependency.model import Model, Parse
from spectragram.dependency.partial import is_complete
from spectragram.dependency.settings import settings_of
from spectragram.dependency.surface import VERSION as ROWS_VERSION
from spectragram.distillation import fit_with_raw
from spectragram.engine import Executor
from spectragram.engine.sharding import Read, by_shards
from spectragram.errors import InputError, ParameterError
from spectragram.estimator import Estimator, Predictions, fitting
from spectragram.files import Source
from spectragram.inference.hashed import VERSION as HASH_VERSION
from spectragram.metrics import attachment_scores, calibration_error, per_second

__all__ = ["DependencyParser"]


def _sentences(parser: DependencyParser, X: Dependencies, **_: Any) -> list[Sentence]:
    return parser.read(X)


class DependencyParser(Estimator):
    """Dependency trees from split head automata and surface factors.

    Parameters
    ----------
    n_states : int, optional
        Hidden states of each head automaton. Default: that of the preset, but at most 4 for treebanks of fewer than
        50,000 words, and with factors that look at words.
    learner : str
        How automata are learned: ``spectral+em`` (EM from a spectral start; the most accurate), ``em`` (EM from a
        random start), ``spectral`` (no iterations), or the deterministic baselines ``det+f`` and ``det``.
    factors : bool
        Multiply the automata by factors that look at the words around each arc and each end of a modifier sequence.
        Without them the parser is that of the paper.
    words : bool
        Whether factors look at words, or at tags alone.
    clusters : path, optional
        Word clusters of raw text: a clusters model, or a file of paths from any tool. Factors look at prefixes of the
        paths of words; the words and their paths become part of the model.
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
    basis : float or "sigma-lambda", optional
        ``spectral``: the number of substrings in the basis for each symbol of an automaton's alphabet (3 and 3.0 are
        the same), or the paper's Sigma'. 3.0, "sigma-lambda".
    empty_on_top : bool, optional
        False, True. Whether the empty substring comes on top of that number.
    statistic, max_length, scaling, kappa, smallest
        ``spectral``: as for :class:`~spectragram.automata.Automaton`.
    min_mass : float, optional
        ``spectral``: states with singular values below this share of their sum are discarded. 0 in both.
    det_sequences : float, optional
        10, 0. ``spectral``: weight of the DET automaton that is mixed into each estimate, as a number of sequences.
    shrinkage : float, optional
        10, 0. ``em``, ``det`` and ``det+f``: events that the automaton of the coarser head counts as in each state;
        with 0 nothing is smoothed.
    root_prior : float, optional
        0.5, 0. Sentences that the overall frequencies of tags count as in the distribution of root words.
    fallback : bool, optional
        True, False. Whether DET+F parses sentences whose trees have estimates that do not sum to anything positive; if
        not, the marginals are used as they are.
    random_state, n_jobs, executor, verbose
        Seed; threads (-1: all cores); a ``distributed.Client`` or anything with ``submit`` whose workers train members,
        run E-steps and parse; progress on a terminal. Only the seed changes the result.

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
    records_per_shard: ClassVar[int] = 128

    def __init__(
        self,
        n_states: int | None = None,
        learner: str | None = None,
        *,
        recipe: str = "ours",
        factors: bool | None = None,
        words: bool = True,
        clusters: Source | None = None,
        preset: str = "default",
        tag_column: str = "auto",
        crossing: bool | None = None,
        max_iter: int | None = None,
        n_epochs: int | None = None,
        n_models: int | None = None,
        basis: str | float | None = None,
        empty_on_top: bool | None = None,
        statistic: str | None = None,
        max_length: int | None = None,
        scaling: str | None = None,
        kappa: float | None = None,
        smallest: float | None = None,
        min_mass: float | None = None,
        det_sequences: float | None = None,
        shrinkage: float | None = None,
        root_prior: float | None = None,
        fallback: bool | None = None,
        random_state: int = 0,
        n_jobs: int = -1,
        executor: Executor | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.recipe = recipe
        self.factors = factors
        self.words = words
        self.clusters = clusters
        self.preset = preset
        self.tag_column = tag_column
        self.crossing = crossing
        self.max_iter = max_iter
        self.n_epochs = n_epochs
        self.n_models = n_models
        self.basis = basis
        self.empty_on_top = empty_on_top
        self.statistic = statistic
        self.max_length = max_length
        self.scaling = scaling
        self.kappa = kappa
        self.smallest = smallest
        self.min_mass = min_mass
        self.det_sequences = det_sequences
        self.shrinkage = shrinkage
        self.root_prior = root_prior
        self.fallback = fallback
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.verbose = verbose

    @fitting
    def fit(
        self,
        X: Dependencies,
        y: None = None,
        *,
        dev: Dependencies | None = None,
        raw: Dependencies | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Learn from sentences with heads (and relations).

        Parameters
        ----------
        X : path or iterable
            A CoNLL-U file or sentences whose heads form trees. Trees that are not projective are lifted until they are.
            Some heads and relations may be open (``_``): training sums over what is open, or completes it. Sentences
            without any head are left out.
        dev : path or iterable, optional
            Held-out trees. The number of EM iterations and the number of epochs of the factors are those with the best
            labelled attachment on them (unlabelled if there are no relations); without them all iterations and epochs
            are run.
        raw : path or iterable, optional
            Sentences with tags, but without heads. The preset ``best`` parses them after learning from X, and this
            parser learns from both (:mod:`spectragram.distillation`).
        sample_weight : sequence of float, optional
            How much each sentence counts for the factors; automata and relations count all sentences alike.
        """
        if raw is not None:
            return fit_with_raw(self, as_dependencies(X), raw, dev=dev)
        settings = settings_of(self)
        given = as_dependencies(X)
        weights = self._sentence_weights(sample_weight, len(given))
        if weights is not None:
            weights = weights[[bool((sentence.heads >= 0).any()) for sentence in given]]
        sentences = _annotated(given)
        learned = learn(sentences, None if dev is None else _trees(dev), settings, weights)
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
        n_partial = sum(not is_complete(sentence) for sentence in sentences)
        if n_partial:
            self.summary_["partial_sentences"] = n_partial
        if learned.dev_scores:
            chosen = {"iterations": learned.iterations, "epochs": learned.epochs}
            scores = {f"dev_{name}": round(score, 2) for name, score in learned.dev_scores.items()}
            self.summary_ |= chosen | scores
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

    @by_shards(_sentences)
    def predict(self, X: Dependencies, *, constrained: bool = False) -> Predictions[Sentence]:
        """The sentences with heads and relations filled in; everything else is kept.

        X is a CoNLL-U file or sentences with tags. Heads and relations that they have are not looked at, unless
        ``constrained``: then they are kept, like words that ``NotHead=3,5`` in MISC rules out as heads, and the rest is
        parsed around them. The diagnostics count ``fallbacks``, sentences whose estimates did not sum to anything
        positive, so that they were parsed with the DET+F automata, ``negative`` marginals, which count as zero (both
        only with the learner ``spectral``), ``restored`` words, whose arcs may cross others, and sentences of more than
        400 words, which were ``split`` and parsed in pieces.
        """
        found = self._parses(X, constrained=constrained)
        return Predictions((sentence for sentence, _ in found), found.diagnostics)

    @by_shards(_sentences)
    def _parses(
        self, X: Dependencies, *, constrained: bool = False, confident: bool = False
    ) -> Predictions[tuple[Sentence, Parse]]:
        """What :meth:`predict` returns, with the parses behind it."""
        sentences = self.read(X)
        known = self._known(sentences, constrained)
        trees = self.model_.trees(self._encode(sentences), self.n_jobs, known, confident=confident)
        diagnostics = {
            "fallbacks": sum(tree.fell_back for tree in trees),
            "negative": sum(tree.n_negative for tree in trees),
            "restored": sum(tree.n_restored for tree in trees),
            **({"split": n_split} if (n_split := sum(tree.was_split for tree in trees)) else {}),
        }
        return Predictions(zip(map(_parsed, sentences, trees), trees, strict=True), diagnostics)

    @by_shards(_sentences)
    def marginals(self, X: Dependencies, *, constrained: bool = False) -> Predictions[np.ndarray]:
        """P(head | sentence) of each word, (n, n + 1); column 0 is the root, column i word i. Rows sum to one.

        They are those of the chart at the temperature of the model. With ``constrained`` they are given what the
        sentences say about heads, see :meth:`predict`.
        """
        sentences = self.read(X)
        known = self._known(sentences, constrained)
        charts, diagnostics = self._charts(self._encode(sentences), known)
        found = list(map(self.model_.head_distributions, charts))
        if known is not None:
            found = [mine.distributions(rows) for mine, rows in zip(known, found, strict=True)]
        return Predictions(found, diagnostics)

    @by_shards(_sentences)
    def kbest(self, X: Dependencies, k: int, *, constrained: bool = False) -> Predictions[list[tuple[Sentence, float]]]:
        """Up to ``k`` different trees for each sentence, most probable first, with log p(tree | sentence).

        The probability is that of the heads before lifted words are restored; every tree has its most probable
        relations. The candidates are the trees with the highest sums of log-marginals, so a probable tree that has
        none of the probable arcs can be missed. ``constrained`` as for :meth:`predict`.
        """
        if not isinstance(k, numbers.Integral) or isinstance(k, bool) or k < 1:
            raise ParameterError("k", k, remedy="give a whole number of at least 1")
        sentences = self.read(X)
        known = self._known(sentences, constrained)
        found = self.model_.kbest(self._encode(sentences), int(k), self.n_jobs, known)
        return Predictions(
            [(_parsed(sentence, tree), value) for tree, value in trees]
            for sentence, trees in zip(sentences, found, strict=True)
        )

    @by_shards(_sentences)
    def confidence(self, X: Dependencies, *, constrained: bool = False) -> Predictions[ArcConfidence]:
        """The parsed sentences with the probabilities of heads, relations and whole trees.

        ``constrained`` and the diagnostics as for :meth:`predict`; what is known has probability 1.
        """
        sentences = self.read(X)
        known = self._known(sentences, constrained)
        found = self.model_.confident_trees(self._encode(sentences), self.n_jobs, known)
        answers = [
            ArcConfidence(_parsed(sentence, tree), tree.head_confidence, tree.relation_confidence, float(np.exp(value)))
            for sentence, (tree, value) in zip(sentences, found, strict=True)
        ]
        return Predictions(answers, {"fallbacks": sum(tree.fell_back for tree, _ in found)})

    def _known(self, sentences: list[Sentence], constrained: bool) -> list[Known] | None:
        return [Known.of(sentence, self.model_.labels) for sentence in sentences] if constrained else None

    @by_shards(_sentences)
    def log_prob(self, X: Dependencies) -> np.ndarray:
        """Logarithm of Z, the sum over all trees, for each sentence, shape (n_sentences,).

        Without factors this is the log-probability of the tags. With factors it is not normalised.
        """
        charts, _ = self._charts(self._encode(self.read(X)))
        return np.array([chart.log_z for chart in charts])

    def read(self, X: Dependencies) -> list[Sentence]:
        """The sentences of a file or an iterable, as :meth:`predict` reads them.

        Words without tags are refused, since the automata generate tags.
        """
        self._require_fitted()
        if isinstance(X, Read):
            return X
        if is_path(X):
            return self._with_tags(as_dependencies(X, may_be_empty=True))
        records = listed(X, "sentences")
        for number, record in enumerate(records):
            is_plain_text = isinstance(record, str) and "\t" not in record
            if is_plain_text or isinstance(record, list | tuple):
                raise InputError(
                    f"sentence {number} consists of words alone; this parser needs tags in column "
                    f"{self.model_.alphabet.column.upper()} of CoNLL-U",
                    remedy=TAG_FIRST,
                )
        return self._with_tags(_with_words(as_dependencies(records, may_be_empty=True)))

    def _with_tags(self, sentences: list[Sentence]) -> list[Sentence]:
        column = self.model_.alphabet.column
        if sentences and all(tag == "_" for sentence in sentences for tag in sentence.column(column)):
            raise InputError(
                f"column {column.upper()} is empty; this parser was trained on its tags",
                path=sentences[0].path,
                line=sentences[0].line,
                remedy=TAG_FIRST,
            )
        return sentences

    def _encode(self, sentences: list[Sentence]) -> Encoded:
        return self.model_.alphabet.encode(sentences)

    def _charts(self, encoded: Encoded, known: list[Known] | None = None) -> tuple[list[Chart], dict[str, int]]:
        """The chart of every sentence, and the diagnostics of all of them."""
        found = self.model_.parse(encoded, self.n_jobs, known)
        charts = [chart for chart, _ in found]
        fallbacks = sum(fell_back for _, fell_back in found)
        return charts, {"fallbacks": fallbacks, "negative": sum(chart.n_negative for chart in charts)}

    def evaluate(self, X: Dependencies, given: Dependencies | None = None) -> dict[str, Any]:
        """Attachment scores in percent against the heads and relations of the sentences.

        ``given`` are the same sentences as the parser should see them, e.g. with the tags of a tagger.
        ``calibration_error`` (0 to 1) is that of the probabilities of the heads that were chosen
        (:func:`spectragram.metrics.calibration_error`).
        """
        gold = _trees(X)
        started = time.perf_counter()
        found = self._parses(gold if given is None else given, confident=True)
        parsed, trees = zip(*found, strict=True)
        speed = per_second(len(gold), time.perf_counter() - started)
        tags = "upos" if any(tag != "_" for sentence in gold for tag in sentence.upos) else "xpos"
        scores = attachment_scores(
            [sentence.heads.tolist() for sentence in gold],
            [sentence.heads.tolist() for sentence in parsed],
            tags=[sentence.column(tags) for sentence in gold],
            gold_labels=[sentence.deprels for sentence in gold],
            predicted_labels=[sentence.deprels for sentence in parsed],
        )
        right = np.concatenate([a.heads == b.heads for a, b in zip(gold, parsed, strict=True)])
        error = calibration_error(np.concatenate([tree.head_confidence for tree in trees]), right)
        return scores | {"sentences_per_second": speed, "calibration_error": error} | found.diagnostics

    def score(self, X: Dependencies, y: None = None) -> float:
        """Share of words with the right head, 0 to 1, for scikit-learn's model selection."""
        return float(self.evaluate(X)["uas"]) / 100


def _parsed(sentence: Sentence, tree: Parse) -> Sentence:
    return sentence.with_heads(tree.heads, tree.relations)


def _annotated(X: Dependencies) -> list[Sentence]:
    """Sentences with some heads, at least one; heads of whole sentences form trees."""
    sentences = _with_words(as_dependencies(X))
    if all((sentence.heads < 0).all() for sentence in sentences):
        sentences[0].check_tree()  # says that the first word has no head
    kept = [sentence for sentence in sentences if (sentence.heads >= 0).any()]
    for sentence in kept:
        if is_complete(sentence):
            sentence.check_tree()
        else:
            HeadConstraints.of(sentence)
    return kept


def _trees(X: Dependencies) -> list[Sentence]:
    """Sentences whose heads form trees, at least one."""
    return _with_words(as_dependencies(X, check_tree=True))


def _with_words(sentences: list[Sentence]) -> list[Sentence]:
    for number, sentence in enumerate(sentences):
        if len(sentence) == 0:
            raise InputError(f"sentence {number} has no words", remedy="give at least one word")
    return sentences
