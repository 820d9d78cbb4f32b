"""The pipeline: raw text in, sentences, words, lemmas, tags, features, heads and relations out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.confidence import ArcConfidence
from spectragram.data.conllu import COLUMNS as CONLLU_COLUMNS
from spectragram.data.conllu import Sentence
from spectragram.data.inputs import Dependencies, as_dependencies, is_path, listed
from spectragram.dependency import DependencyParser
from spectragram.distillation import fit_with_raw
from spectragram.engine import Executor, current_executor
from spectragram.engine.sharding import answers_of, in_parts
from spectragram.errors import InputError
from spectragram.estimator import Estimator, Predictions, fitting
from spectragram.files import Source
from spectragram.inference.hashed import VERSION as HASH_VERSION
from spectragram.metrics import per_second, universal_scores
from spectragram.pipeline.model import COLUMNS, Model, with_tags
from spectragram.pipeline.raw_text import plain_text
from spectragram.pipeline.reading import INPUTS, passages
from spectragram.pipeline.settings import settings_of
from spectragram.pipeline.training import learn

__all__ = ["Pipeline"]

STARTS = ("raw", "words", "tags")
"""What :meth:`Pipeline.evaluate` may start from."""
OF_TAGS = ("upos", "xpos")
OF_PARSER = ("head", "deprel")


class Pipeline(Estimator):
    """Raw text to Universal Dependencies, learned from one treebank.

    Parameters
    ----------
    n_states : int, optional
        Hidden states of the parser's automata. Default: that of the preset.
    learner : {"spectral+em", "em"}
        How the automata of the parser are learned.
    preset : {"fast", "default", "best"}
        Sets the sizes of all parts.
    n_models : int, optional
        Members of the parser's ensemble. Default: that of the preset.
    n_folds : int, optional
        The parser is also trained on tags and lemmas that were predicted for each of so many parts of the treebank by
        models of the other parts. 0 or 1 trains it on the tags of the treebank alone. Default: that of the preset.
    clusters : path, optional
        Word clusters of raw text: a clusters model, or a file of paths from any tool. Analyser, tagger and parser look
        at prefixes of the paths of words; the words and their paths become part of the model.
    random_state, n_jobs, executor, verbose
        Seed; threads (-1: all cores); a ``distributed.Client`` or anything with ``submit`` whose workers train the
        members of the parser and annotate; progress on a terminal. Only the seed changes the result.

    Attributes
    ----------
    model_ : Model
        All that was learned: ``tokenizer``, ``morphology`` and ``parser``.
    columns_ : tuple of str
        The columns of CoNLL-U that are filled in: those that the treebank has.
    summary_ : dict

    Examples
    --------
    >>> from spectragram.synthetic import english_treebank
    >>> pipeline = Pipeline(preset="fast").fit(english_treebank(200))
    >>> [sentence.forms for sentence in pipeline("The dog slept. She saw it.")]
    [['The', 'dog', 'slept', '.'], ['She', 'saw', 'it', '.']]
    """

    kind = "pipeline"
    model_type = Model
    model_: Model
    meanings: ClassVar[Mapping[str, int]] = {"hashed features": HASH_VERSION}
    records_per_shard: ClassVar[int] = 128

    def __init__(
        self,
        n_states: int | None = None,
        learner: str = "spectral+em",
        *,
        preset: str = "default",
        n_models: int | None = None,
        n_folds: int | None = None,
        clusters: Source | None = None,
        random_state: int = 0,
        n_jobs: int = -1,
        executor: Executor | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.preset = preset
        self.n_models = n_models
        self.n_folds = n_folds
        self.clusters = clusters
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
        raw: Any = None,
        labelled: Dependencies | None = None,
    ) -> Self:
        """Learn from a treebank.

        Parameters
        ----------
        X : path or iterable
            A CoNLL-U file or sentences. What the treebank lacks (features, lemmas, heads) the pipeline will not fill
            in. Sentences of which only some words have heads teach what they say; those without any head teach the
            rest.
        dev : path or iterable, optional
            Held-out trees by which the training of the parser is stopped.
        raw : path or iterable, optional
            Text without annotation, as for :meth:`predict`. The preset ``best`` annotates it after learning from X, and
            this pipeline learns from both (:mod:`spectragram.distillation`).
        labelled : path or iterable, optional
            Further sentences, which a model has annotated: all parts but the tokeniser learn from them.
        """
        if raw is not None:
            return fit_with_raw(self, as_dependencies(X), raw, dev=dev)
        settings = settings_of(self)
        sentences = as_dependencies(X)
        held_out = None if dev is None else as_dependencies(dev)
        more = [] if labelled is None else as_dependencies(labelled)
        self.model_ = learn(sentences, held_out, settings, more)
        parser = self.model_.parser
        self.summary_ = {
            "learner": settings.learner,
            "states": 0 if parser is None else parser.summary_["states"],
            "models": 0 if parser is None else parser.summary_["models"],
            "sentences": len(sentences),
            "tokens": sum(map(len, sentences)),
            "types": len({form for sentence in sentences for form in sentence.forms}),
            "columns": " ".join(self.columns_) or "none",
        }
        return self

    @property
    def columns_(self) -> tuple[str, ...]:
        """The columns of CoNLL-U that are filled in."""
        self._require_fitted()
        return self.model_.columns

    def __call__(self, text: str) -> Predictions[Sentence]:
        """Annotate raw text, in which blank lines separate paragraphs."""
        self._require_fitted()
        if not isinstance(text, str):
            raise InputError(
                f"a {type(text).__name__} where text was expected", remedy="give a string, or use predict for files"
            )
        return Predictions(self._annotated(self.model_.tokenizer.split(text), ()))

    def predict(self, X: Any, *, input: str = "auto", replace: Collection[str] = ()) -> Predictions[Sentence]:
        """Annotated sentences.

        Parameters
        ----------
        X : path or iterable
            A file of any form that :meth:`stream` reads; or an iterable of sentences, one of which may be a string (a
            sentence of raw text, which is split into words), a sequence of words, or a CoNLL-U sentence.
        input : {"auto", "raw", "sentences", "words", "conllu"}
            What a file holds.
        replace : collection of str
            Columns to fill in anew; everything else that CoNLL-U has already is kept. A sentence of which some words
            have heads is parsed around them; ``NotHead=3,5`` in MISC rules out heads.
        """
        self._require_fitted()
        if is_path(X):
            return Predictions(self.stream(X, input=input, replace=replace))
        return Predictions(self._annotated([self._sentence(item) for item in listed(X, "sentences")], replace))

    def marginals(self, X: Any, *, input: str = "auto") -> Predictions[np.ndarray]:
        """P(head | words, tags) of each word, (n, n + 1), given the heads that sentences have already.

        X and ``input`` as for :meth:`predict`; the answers are those of
        :meth:`spectragram.dependency.DependencyParser.marginals` for the tags that the pipeline predicts.
        """
        parser, sentences = self.tagged(X, input=input)
        return parser.marginals(sentences, constrained=True)

    def kbest(self, X: Any, k: int, *, input: str = "auto") -> Predictions[list[tuple[Sentence, float]]]:
        """Up to ``k`` trees for each sentence with log p(tree | words, tags), see :meth:`marginals`."""
        parser, sentences = self.tagged(X, input=input)
        return parser.kbest(sentences, k, constrained=True)

    def confidence(self, X: Any, *, input: str = "auto") -> Predictions[ArcConfidence]:
        """The annotated sentences with probabilities of heads, relations and trees, see :meth:`marginals`."""
        parser, sentences = self.tagged(X, input=input)
        return parser.confidence(sentences, constrained=True)

    def tagged(self, X: Any, *, input: str = "auto") -> tuple[DependencyParser, list[Sentence]]:
        """The parser of the pipeline, and the sentences as it sees them: with all columns but heads and relations."""
        self._require_fitted()
        self._choose("input", input, INPUTS)
        if is_path(X):
            found = [sentence for passage in passages(X, self.model_.tokenizer, input) for sentence in passage]
        else:
            found = [self._sentence(item) for item in listed(X, "sentences")]
        parser = self.model_.own_parser(self.n_jobs).set_params(executor=self.executor)
        filled = self._in_parts(found, only=tuple(name for name in COLUMNS if name not in OF_PARSER))
        return parser, [with_tags(sentence) for sentence in filled]

    def stream(self, source: Source, *, input: str = "auto", replace: Collection[str] = ()) -> Iterator[Sentence]:
        """Annotate a file (``"-"`` is standard input) a few thousand words at a time, in flat memory.

        ``input`` says what it holds: ``raw`` text in paragraphs, one of the ``sentences`` a line, ``words`` between
        spaces with one sentence a line, or ``conllu``. ``auto`` takes CoNLL-U for what looks like it and raw text
        otherwise. Sentences without a ``# sent_id`` are numbered.
        """
        self._require_fitted()
        self._choose("input", input, INPUTS)
        number = 0
        self._require_columns(replace)
        for passage in self._filled(passages(source, self.model_.tokenizer, input), replace):
            for sentence in passage:
                number += 1
                yield _with_id(sentence, number)

    def evaluate(self, X: Dependencies, *, start: str = "raw") -> dict[str, Any]:
        """The scores of the CoNLL 2018 shared task in percent.

        Parameters
        ----------
        X : path or iterable
            Annotated sentences.
        start : {"raw", "words", "tags"}
            What the pipeline sees of them: raw text, the right words, or the right words, tags, features and lemmas.
            A column of tags that X does not have is predicted for the parser, and not scored.
        """
        self._require_fitted()
        self._choose("start", start, STARTS)
        gold = as_dependencies(X)
        began = time.perf_counter()
        if start == "raw":
            found: list[Sentence] = list(self(plain_text(gold)))
        elif start == "words":
            found = self._in_parts(gold, COLUMNS)
        else:
            found = self._from_tags(gold)
        speed = per_second(sum(map(len, gold)), time.perf_counter() - began)
        scores = universal_scores((s.rows for s in gold), (s.rows for s in found))
        return scores | {"n_sentences": len(gold), "n_words": sum(map(len, gold)), "words_per_second": speed}

    def score(self, X: Dependencies, y: None = None) -> float:
        """Labelled attachment score from the right words, 0 to 1, for scikit-learn's model selection."""
        return float(self.evaluate(X, start="words")["las"]) / 100

    def _from_tags(self, gold: list[Sentence]) -> list[Sentence]:
        """Heads and relations from the columns of ``gold``; the parser gets tags of its own where there are none."""
        lacking = [name for name in OF_TAGS if all(tag == "_" for each in gold for tag in each.column(name))]
        found = self._in_parts(gold, OF_PARSER, (*OF_PARSER, *lacking))
        return [each.with_columns(**{name: ["_"] * len(each) for name in lacking}) for each in found]

    def _annotated(self, sentences: Iterable[Sentence], replace: Collection[str]) -> list[Sentence]:
        self._require_columns(replace)
        return self._in_parts(list(sentences), replace)

    def _in_parts(
        self, sentences: list[Sentence], replace: Collection[str] = (), only: Collection[str] = COLUMNS
    ) -> list[Sentence]:
        """The sentences with columns filled in, see :meth:`Model.annotate`."""
        size = self.records_per_shard if current_executor(self.executor) is not None else max(1, len(sentences))
        return [sentence for part in self._filled(in_parts(sentences, size), replace, only) for sentence in part]

    def _filled(
        self, parts: Iterable[list[Sentence]], replace: Collection[str], only: Collection[str] = COLUMNS
    ) -> Iterator[list[Sentence]]:
        """The same for some sentences after the others, each part as soon as it is done."""
        return answers_of(self, partial(_annotate, replace=tuple(replace), only=tuple(only)), parts)

    def _require_columns(self, replace: Collection[str]) -> None:
        unknown = [name for name in replace if name not in COLUMNS]
        if unknown:
            among = f"choose among {', '.join(COLUMNS)}"
            known = "is not filled in by a pipeline" if unknown[0] in CONLLU_COLUMNS else "is no column of CoNLL-U"
            raise InputError(f"column {unknown[0]!r} {known}", remedy=among)

    def _sentence(self, item: Any) -> Sentence:
        """A sentence of any form as CoNLL-U."""
        if isinstance(item, str) and "\t" not in item:
            found = next(self.model_.tokenizer.split_sentences([item]), None)
            if not found:
                raise InputError("a sentence without words", remedy="give at least one word")
            return found[0]
        if isinstance(item, list | tuple) and all(isinstance(word, str) and word for word in item) and item:
            return Sentence.from_words(item)
        return as_dependencies([item])[0]


def _annotate(
    part: list[Sentence], estimator: Pipeline, replace: Collection[str], only: Collection[str]
) -> list[Sentence]:
    return estimator.model_.annotate(part, replace=replace, only=only, n_jobs=estimator.n_jobs)


def _with_id(sentence: Sentence, number: int) -> Sentence:
    """The sentence with a number in ``# sent_id``, if it has none; paragraphs begin before it, as the format asks."""
    if any(comment.startswith("# sent_id") for comment in sentence.comments):
        return sentence
    first = [comment for comment in sentence.comments if comment.startswith("# new")]
    rest = [comment for comment in sentence.comments if not comment.startswith("# new")]
    return dataclasses.replace(sentence, comments=(*first, f"# sent_id = {number}", *rest))
