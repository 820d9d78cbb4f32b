"""Morphology: UPOS, XPOS, FEATS and LEMMA for the words of sentences, learned from one treebank.

    words --analyser--> probabilities of analyses (UPOS + XPOS + FEATS) -\\
    words --tagger----> probabilities of UPOS ----------------------------+--> analysis --lemmatizer--> lemma

The tagger, a refinement HMM with factors, and the analyser see parts of speech differently; their probabilities are
multiplied, as those of members of an ensemble are. Columns that the training data do not have are left alone, and
those that are given but not asked for are evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.data.labelled import as_labelled
from spectragram.data.word_paths import WordPaths
from spectragram.engine import map_threads
from spectragram.engine.progress import Report, silent
from spectragram.errors import InputError, ParameterError
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.pipeline.analyser import Analyser, learn_analyser
from spectragram.pipeline.analyses import COLUMNS, Analysis
from spectragram.pipeline.lemmatizer import Lemmatizer, learn_lemmatizer
from spectragram.pipeline.tag_holes import EMPTY, with_every_upos
from spectragram.schema import ListOf, Part, Schema, Text
from spectragram.tagging.estimator import Tagger
from spectragram.tagging.learners import train
from spectragram.tagging.member import combine
from spectragram.tagging.model import Model as TaggerModel
from spectragram.tagging.sequences import Observations, read_observations
from spectragram.tagging.settings import settings_of

__all__ = ["MORPHOLOGY_PRESETS", "Morphology", "MorphologySettings", "learn_morphology"]

SMALL = 100_000
"""Words below which a treebank is small. Chosen by hand, not tuned: those that were tried have 5,000 to 34,000 words,
and EWT has 200,000."""
RATE_OF_SMALL = 0.1
"""Step size of the factors of the tagger for small treebanks. Chosen on the dev parts of eight of them among 0.05, 0.1
and 0.3. For EWT the tagger's own step size is better."""


@dataclass(frozen=True)
class MorphologySettings:
    """How much to train.

    Attributes
    ----------
    n_taggers : int
        Members of the tagger of parts of speech; with 0 the analyser chooses alone.
    tagger_epochs, analyser_epochs, lemma_epochs : int
        Passes over the data for the factors of the tagger, the weights of the analyser and those of the lemmatizer.
    """

    n_taggers: int = 1
    tagger_epochs: int = 4
    analyser_epochs: int = 4
    lemma_epochs: int = 5


MORPHOLOGY_PRESETS = {
    "fast": MorphologySettings(0, 0, 3, 3),
    "default": MorphologySettings(),
    "best": MorphologySettings(n_taggers=2),
}
"""On the dev parts of eight small treebanks 4 epochs of the analyser were better than 7, one tagger gained 0.2 UPOS
over none, and a second one next to nothing."""


@dataclass(frozen=True)
class Morphology:
    """What was learned from a treebank about the words of its language.

    Attributes
    ----------
    columns : tuple of str
        The columns that the treebank has, of ``upos``, ``xpos``, ``feats`` and ``lemma``.
    analyser : Analyser or None
        None if the treebank has neither UPOS nor XPOS nor FEATS.
    tagger : tagging.Model or None
        For UPOS.
    lemmatizer : Lemmatizer or None
    paths : WordPaths or None
        Of word clusters, which analyser and tagger look at.
    """

    columns: tuple[str, ...]
    analyser: Analyser | None
    tagger: TaggerModel | None
    lemmatizer: Lemmatizer | None
    paths: WordPaths | None = None

    def annotate(
        self, sentences: Sequence[Sentence], columns: Collection[str] | None = None, n_jobs: int | None = 1
    ) -> list[Sentence]:
        """The sentences with columns filled in.

        Parameters
        ----------
        sentences : sequence of Sentence
        columns : collection of str, optional
            The columns to fill in, by default all that the treebank had. Others keep their values; UPOS, XPOS and FEATS
            among them are evidence for those that are filled in.
        n_jobs : int, optional
        """
        asked = [name for name in self.columns if columns is None or name in columns]
        if not sentences or not asked:
            return list(sentences)
        given = {name: _given(sentences, name) for name in COLUMNS if name not in asked}
        observed = read_observations([sentence.forms for sentence in sentences], 1, self.paths)
        found = self._analyses(observed, given, n_jobs)
        filled = {name: [analysis[c] for analysis in found] for c, name in enumerate(COLUMNS) if name in asked}
        if "lemma" in asked:
            assert self.lemmatizer is not None
            forms = [form for sentence in sentences for form in sentence.forms]
            filled["lemma"] = self.lemmatizer.predict(forms, found, n_jobs)
        spans = [
            slice(a, b) for a, b in zip(observed.offsets[:-1].tolist(), observed.offsets[1:].tolist(), strict=True)
        ]
        return [
            sentence.with_columns(**{name: values[span] for name, values in filled.items()})
            for sentence, span in zip(sentences, spans, strict=True)
        ]

    def _analyses(self, observed: Observations, given: dict[str, list[str]], n_jobs: int | None) -> list[Analysis]:
        """The analysis of each word; columns that are given keep their values."""
        n = len(observed.tokens)
        if self.analyser is None:
            chosen: list[Analysis] = [(EMPTY, EMPTY, EMPTY)] * n
        else:
            analyses = self.analyser.analyses
            known = np.full((len(COLUMNS), n), -1)
            for c, name in enumerate(COLUMNS):
                if name in given and name in self.columns:
                    known[c] = analyses.encode(c, given[name])
            distributions = self.analyser.distributions(observed, known, n_jobs)
            of_upos = distributions.of_upos()
            if self.tagger is not None and "upos" not in given:
                of_tagger, _ = self.tagger.probabilities(observed, n_jobs=n_jobs)
                of_upos = combine([of_upos, of_tagger])
            chosen = [analyses.listed[a] for a in distributions.best(of_upos).tolist()]
        if not any(value for values in given.values() for value in values):
            return chosen
        kept = [given.get(name, [""] * n) for name in COLUMNS]
        return [(upos or a[0], xpos or a[1], feats or a[2]) for a, upos, xpos, feats in zip(chosen, *kept, strict=True)]

    def upos_probabilities(
        self, sentence: Sentence, *, known: bool = False
    ) -> tuple[tuple[str, ...], np.ndarray] | None:
        """The parts of speech and their probabilities for the words of a sentence, (n, n_upos).

        With ``known``, those that the sentence has already are certain, and evidence for the others. None if the
        treebank had no parts of speech.
        """
        if self.analyser is None or "upos" not in self.columns:
            return None
        analyses = self.analyser.analyses
        given = np.full((len(COLUMNS), len(sentence)), -1)
        if known:
            given[0] = analyses.encode(0, _given([sentence], "upos"))
        observed = read_observations([sentence.forms], 1, self.paths)
        found = self.analyser.distributions(observed, given).of_upos()
        if self.tagger is not None:
            sure = found.max(axis=1, keepdims=True) == 1.0  # known, or the only candidate
            found = np.where(sure, found, combine([found, self.tagger.probabilities(observed)[0]]))
        return analyses.names[0], found

    SCHEMA: ClassVar[Schema] = Schema(
        "Morphology",
        "Tags, features and lemmas of words.",
        values={"columns": ListOf(Text(choices=(*COLUMNS, "lemma")), "the columns that are filled in")},
        parts={
            "analyser": Part(Analyser.SCHEMA, optional=True),
            "tagger": Part(TaggerModel.SCHEMA, optional=True),
            "lemmatizer": Part(Lemmatizer.SCHEMA, optional=True),
            "paths": Part(WordPaths.SCHEMA, values=None, optional=True),
        },
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values: dict[str, Any] = {"columns": list(self.columns)}
        arrays: dict[str, Any] = {}
        for name in ("analyser", "tagger", "lemmatizer"):
            part = getattr(self, name)
            if part is not None:
                values[name], own = part.to_state()
                arrays |= prefixed(name, own)
        if self.paths is not None:
            arrays |= prefixed("paths", self.paths.to_state()[1])
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; ``ValueError`` or ``KeyError`` for what does not fit together."""
        kinds: dict[str, Any] = {"analyser": Analyser, "tagger": TaggerModel, "lemmatizer": Lemmatizer}
        parts: dict[str, Any] = dict.fromkeys(kinds)
        for name, kind in kinds.items():
            if name in values:
                parts[name] = kind.from_state(values[name], without_prefix(name, arrays))
        columns = tuple(values["columns"])
        if ("lemma" in columns) != (parts["lemmatizer"] is not None):
            raise ValueError("the lemmatizer does not fit the columns")
        analyser, tagger = parts["analyser"], parts["tagger"]
        if (analyser is None) != (not set(columns) & set(COLUMNS)):
            raise ValueError("the analyser does not fit the columns")
        if tagger is not None and (analyser is None or list(analyser.analyses.names[0]) != tagger.labels):
            raise ValueError("the tagger does not fit the analyser")
        paths = without_prefix("paths", arrays)
        return cls(columns, **parts, paths=WordPaths.from_state({}, paths) if paths else None)


def _given(sentences: Sequence[Sentence], name: str) -> list[str]:
    """A column of all words; empty strings where it has no value.

    ``_`` is a value of FEATS, but not where no word of the sentence has any other.
    """
    values: list[str] = []
    for sentence in sentences:
        column = sentence.column(name)
        is_value = name == "feats" and any(value != EMPTY for value in column)
        values += column if is_value else ["" if value == EMPTY else value for value in column]
    return values


def learn_morphology(
    sentences: Sequence[Sentence],
    settings: MorphologySettings | str = "default",
    *,
    paths: WordPaths | None = None,
    random_state: int = 0,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> Morphology:
    """Learn from the sentences of a treebank.

    A column in which every word has ``_`` does not exist. Where some words have a part of speech, a tagger of those
    gives the others one, and sentences without any tags or features are not examples of them. In XPOS, ``_`` is a value
    like any other; words without a lemma are not examples of lemmas.

    Parameters
    ----------
    sentences : sequence of Sentence
    settings : MorphologySettings or {"fast", "default", "best"}
    paths : WordPaths, optional
        Of word clusters, for analyser and tagger.
    random_state : int
        Seed.
    n_jobs : int, optional
        Analyser, tagger and lemmatizer are learned side by side.
    report : callable
        Called after every epoch of the analyser and of the lemmatizer.
    """
    settings = _resolved(settings)
    kept = [sentence for sentence in sentences if len(sentence)]
    if not kept:
        raise InputError("no words to learn from", remedy="give at least one sentence")
    kept = with_every_upos(kept, random_state)
    analyses = [list(zip(*(s.column(name) for name in COLUMNS), strict=True)) for s in kept]
    has = [any(a[c] != EMPTY for own in analyses for a in own) for c in range(len(COLUMNS))]
    examples = _examples(kept, analyses)
    analysed = [i for i, own in enumerate(analyses) if set(own) != {(EMPTY, EMPTY, EMPTY)}]
    forms, analyses = [kept[i].forms for i in analysed], [analyses[i] for i in analysed]
    seeds = np.random.SeedSequence(random_state).spawn(2)

    def analyser() -> Analyser:
        rng = np.random.default_rng(seeds[0])
        return learn_analyser(forms, analyses, n_epochs=settings.analyser_epochs, rng=rng, paths=paths, report=report)

    def tagger() -> TaggerModel:
        return _learn_tagger(forms, [[a[0] for a in own] for own in analyses], settings, paths, random_state)

    def lemmatizer() -> Lemmatizer:
        rng = np.random.default_rng(seeds[1])
        return learn_lemmatizer(*zip(*examples, strict=True), n_epochs=settings.lemma_epochs, rng=rng, report=report)

    learners: dict[str, Callable[[], Any]] = {"analyser": analyser, "tagger": tagger, "lemmatizer": lemmatizer}
    wanted = {"analyser": any(has), "tagger": has[0] and settings.n_taggers > 0, "lemmatizer": bool(examples)}
    names = [name for name in learners if wanted[name]]
    learned = map_threads(lambda name: learners[name](), names, n_jobs)
    columns = [name for name, there in zip(COLUMNS, has, strict=True) if there] + ["lemma"] * bool(examples)
    return Morphology(tuple(columns), **(dict.fromkeys(learners) | dict(zip(names, learned, strict=True))), paths=paths)


def _resolved(settings: MorphologySettings | str) -> MorphologySettings:
    if not isinstance(settings, str):
        return settings
    if settings not in MORPHOLOGY_PRESETS:
        raise ParameterError("settings", settings, remedy=f"choose among {', '.join(MORPHOLOGY_PRESETS)}")
    return MORPHOLOGY_PRESETS[settings]


def _examples(sentences: Sequence[Sentence], analyses: Sequence[Sequence[Analysis]]) -> list[tuple[str, Analysis, str]]:
    """Words with their analyses and lemmas, where they have one."""
    return [
        (form, analysis, lemma)
        for sentence, own in zip(sentences, analyses, strict=True)
        for form, analysis, lemma in zip(sentence.forms, own, sentence.lemmas, strict=True)
        if lemma != EMPTY or form == EMPTY
    ]


def _learn_tagger(
    forms: list[list[str]],
    upos: list[list[str]],
    settings: MorphologySettings,
    paths: WordPaths | None,
    seed: int,
) -> TaggerModel:
    """The tagger of parts of speech, with one thread; its paths are those of the morphology."""
    tagger = Tagger(
        n_models=settings.n_taggers, n_epochs=settings.tagger_epochs, decoding="marginal", random_state=seed
    )
    chosen = replace(settings_of(tagger, frames=False), paths=paths)
    if sum(map(len, forms)) < SMALL:
        chosen = replace(chosen, rate=RATE_OF_SMALL)
    model, _ = train(as_labelled(forms, upos), chosen, n_jobs=1)
    return replace(model, paths=None)
