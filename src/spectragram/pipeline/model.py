"""A trained pipeline: a tokeniser, morphology, a parser, each of which may be missing; and its state in model files.

text -> sentences, tokens, words -> UPOS, XPOS, FEATS, LEMMA -> HEAD, DEPREL
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from spectragram.data.conllu import Sentence
from spectragram.dependency import DependencyParser
from spectragram.errors import InputError
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.pipeline.morphology import Morphology
from spectragram.pipeline.tokenizer import Tokenizer
from spectragram.schema import Json, Maybe, Part, Record, Schema

__all__ = ["COLUMNS", "Model", "with_tags"]

COLUMNS = ("lemma", "upos", "xpos", "feats", "head", "deprel")
"""The columns that a pipeline fills in."""
NO_TAG = "X"
"""UPOS of words that have no tag: "other" in Universal Dependencies."""


@dataclass(frozen=True)
class Model:
    """All that annotation needs.

    Attributes
    ----------
    tokenizer : Tokenizer
    morphology : Morphology
        Of the columns that the treebank has.
    parser : DependencyParser or None
        None if the treebank has no trees.
    """

    tokenizer: Tokenizer
    morphology: Morphology
    parser: DependencyParser | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are filled in."""
        known = {*self.morphology.columns, *(() if self.parser is None else ("head", "deprel"))}
        return tuple(name for name in COLUMNS if name in known)

    def annotate(
        self,
        sentences: Sequence[Sentence],
        *,
        replace: Collection[str] = (),
        only: Collection[str] = COLUMNS,
        n_jobs: int = 1,
    ) -> list[Sentence]:
        """The sentences with all columns filled in.

        What words have already is kept and is evidence for the rest, except in the columns that ``replace`` names: a
        sentence of which only some words have heads is parsed around them. Columns that are not among ``only`` are
        left alone.
        """
        found = [_without(sentence, replace) for sentence in sentences]
        found = _completed(found, self.morphology, only, n_jobs)
        return (
            found
            if self.parser is None or "head" not in only
            else _parsed(found, copy(self.parser).set_params(n_jobs=n_jobs))
        )

    def own_parser(self, n_jobs: int = 1) -> DependencyParser:
        """The parser; refuses if there is none."""
        if self.parser is None:
            raise InputError("this pipeline has no parser", remedy="train it on a treebank with heads")
        return copy(self.parser).set_params(n_jobs=n_jobs)

    SCHEMA: ClassVar[Schema] = Schema(
        "Pipeline",
        "A tokenizer, a morphology and a parser.",
        values={
            "parser": Maybe(
                Record(
                    {"state": Json(), "params": Json(), "summary": Json()},
                    "the values of a dependency parser, its parameters and how training went",
                )
            )
        },
        parts={
            "tokenizer": Part(Tokenizer.SCHEMA),
            "morphology": Part(Morphology.SCHEMA),
            "parser": Part(DependencyParser.model_type.SCHEMA, values="parser.state", optional=True),
        },
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values: dict[str, Any] = {"parser": None}
        values["tokenizer"], tokenizer = self.tokenizer.to_state()
        values["morphology"], morphology = self.morphology.to_state()
        arrays = prefixed("tokenizer", tokenizer) | prefixed("morphology", morphology)
        if self.parser is not None:
            state, of_parser = self.parser.model_.to_state()
            values["parser"] = {"state": state, "params": self.parser.fitted_params_, "summary": _lasting(self.parser)}
            arrays |= prefixed("parser", of_parser)
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        tokenizer = Tokenizer.from_state(values["tokenizer"], without_prefix("tokenizer", arrays))
        morphology = Morphology.from_state(values["morphology"], without_prefix("morphology", arrays))
        return cls(tokenizer, morphology, _parser_from(values["parser"], without_prefix("parser", arrays)))


def _parser_from(values: dict[str, Any] | None, arrays: dict[str, Any]) -> DependencyParser | None:
    if values is None:
        return None
    parser = DependencyParser(**values["params"])
    parser.model_ = DependencyParser.model_type.from_state(values["state"], arrays)
    parser.fitted_params_, parser.summary_ = dict(values["params"]), dict(values["summary"])
    return parser


def _lasting(parser: DependencyParser) -> dict[str, Any]:
    return {name: value for name, value in parser.summary_.items() if not name.startswith("seconds")}


def _without(sentence: Sentence, columns: Collection[str]) -> Sentence:
    """The sentence with these columns empty."""
    return sentence.with_columns(**{name: ["_"] * len(sentence) for name in columns}) if columns else sentence


def _completed(
    sentences: Sequence[Sentence], morphology: Morphology, only: Collection[str], n_jobs: int
) -> list[Sentence]:
    """Fill in what is missing, in groups of sentences that lack the same columns."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, sentence in enumerate(sentences):
        lacking = tuple(name for name in morphology.columns if name in only and _lacks(sentence, name))
        groups.setdefault(lacking, []).append(number)
    found = list(sentences)
    for lacking, numbers in groups.items():
        if lacking:
            own = [sentences[number] for number in numbers]
            for number, sentence in zip(numbers, morphology.annotate(own, lacking, n_jobs=n_jobs), strict=True):
                found[number] = _keeping(sentences[number], sentence, lacking)
    return found


def _lacks(sentence: Sentence, column: str) -> bool:
    """Whether words lack a value; in FEATS ``_`` may mean that there are no features, so there all words must."""
    values = sentence.column(column)
    return all(value == "_" for value in values) if column == "feats" else "_" in values


def _keeping(given: Sentence, annotated: Sentence, columns: Collection[str]) -> Sentence:
    """The annotated sentence with the values that single words had before."""
    kept = {}
    for name in columns:
        old = given.column(name)
        if any(value != "_" for value in old):
            kept[name] = [a if a != "_" else b for a, b in zip(old, annotated.column(name), strict=True)]
    return annotated.with_columns(**kept) if kept else annotated


def _parsed(sentences: Sequence[Sentence], parser: DependencyParser) -> list[Sentence]:
    """Heads and relations for the sentences that do not have them for every word already."""
    relates = any(name != "_" for name in parser.model_.labels.names)  # some treebanks have heads alone
    open_ones = [
        number
        for number, sentence in enumerate(sentences)
        if (sentence.heads < 0).any() or (relates and "_" in sentence.deprels)
    ]
    found = list(sentences)
    parsed = parser.predict([with_tags(sentences[n]) for n in open_ones], constrained=True)
    for number, sentence in zip(open_ones, parsed, strict=True):
        found[number] = sentences[number].with_columns(head=sentence.column("head"), deprel=sentence.deprels)
    return found


def with_tags(sentence: Sentence) -> Sentence:
    """The sentence as the parser sees it: words without any tag get one that says nothing."""
    if any(upos != "_" or xpos != "_" for upos, xpos in zip(sentence.upos, sentence.xpos, strict=True)):
        return sentence
    return sentence.with_columns(upos=[NO_TAG] * len(sentence))
