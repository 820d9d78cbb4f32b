"""What a model is trained on: the sentences of an annotation file of which something is known, and more files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spectragram.data.brackets import read_trees
from spectragram.data.conllu import Sentence, read_conllu
from spectragram.data.labelled import Layout, as_labelled
from spectragram.data.trees import Tree
from spectragram.errors import InputError
from spectragram.serve.formats import read_annotations
from spectragram.serve.records import UNKNOWN, ColumnRecord, Record, TreebankRecord
from spectragram.serve.tree_records import TreeRecord

__all__ = ["FITTING", "Plan", "learn", "model_kind"]

FITTING = {"dependency": ("pipeline", "dependency"), "constituency": ("constituency",), "tags": ("tagger",)}
"""The kinds of model for a kind of annotation, the usual one first."""


@dataclass(frozen=True)
class Plan:
    """What to train, on what, and where to put it; it travels to another process.

    Attributes
    ----------
    kind : str
        The kind of model.
    corpus : Path
        The annotation file.
    more : tuple of Path
        Other training data in the format of the annotation file.
    out : Path
        The model file to write.
    preset : str
    tag_column : str or None
        The column of tags in CoNLL-U.
    columns : tuple of int
        The observed columns of a column file.
    """

    kind: str
    corpus: Path
    more: tuple[Path, ...]
    out: Path
    preset: str = "fast"
    tag_column: str | None = None
    columns: tuple[int, ...] = (0,)


def model_kind(annotation: str, served: str | None = None) -> str:
    """The kind of model to train for a kind of annotation; ``served`` is that of the model it takes over from."""
    return served if served in FITTING[annotation] else FITTING[annotation][0]


def learn(plan: Plan) -> None:
    """Train a model and save it."""
    from spectragram.kinds import kind_named

    if not plan.corpus.exists():
        raise InputError("nothing is annotated yet", remedy="annotate some sentences first")
    known = [record for record in read_annotations(plan.corpus, tag_column=plan.tag_column).records if _teaches(record)]
    if not known and not plan.more:
        raise InputError("nothing is annotated yet", remedy="annotate some sentences first")
    estimator: Any = kind_named(plan.kind).estimator_class()()
    estimator.set_params(preset=plan.preset, verbose=True)
    if plan.kind == "constituency":
        estimator.fit([*_trees(known), *(tree for path in plan.more for tree in read_trees(path))])
    elif plan.kind == "tagger":
        estimator.fit(*_labelled(known, plan))
    else:
        more = [sentence for path in plan.more for sentence in read_conllu(path)]
        taught = [record.sentence for record in known if isinstance(record, TreebankRecord)]
        # A pipeline gives words without a part of speech one; to a parser ``_`` would be a tag.
        estimator.fit(taught + more if plan.kind == "pipeline" else _tagged(taught, more))
    estimator.save(plan.out)


def _teaches(record: Record) -> bool:
    return record.status != "open"


def _trees(records: Sequence[Record]) -> list[Tree]:
    return [record.tree() for record in records if isinstance(record, TreeRecord)]


def _tagged(known: list[Sentence], more: list[Sentence]) -> list[Sentence]:
    """Sentences whose tags are all known or, if there are none, all."""
    tags = [["".join(pair) for pair in zip(sentence.upos, sentence.xpos, strict=True)] for sentence in known]
    nothing = UNKNOWN + UNKNOWN
    whole = [sentence for sentence, own in zip(known, tags, strict=True) if nothing not in own]
    if not whole and not more and any(tag != nothing for own in tags for tag in own):
        raise InputError("no sentence has a tag for every word", remedy="finish the tags of some sentences")
    return (whole or ([] if more else known)) + more


def _labelled(records: Sequence[Record], plan: Plan) -> tuple[list[Any], list[list[str | None]]]:
    """Observations, and labels that are None where they are not known."""
    X: list[Any] = []
    y: list[list[str | None]] = []
    for record in records:
        if isinstance(record, ColumnRecord):
            X.append(record.observations(plan.columns))
            y.append([None if label == UNKNOWN else label for label in record.labels])
    for path in plan.more:
        read = as_labelled(path, layout=Layout(columns=plan.columns))
        X += read.X
        y += [list(labels) for labels in read.y]
    return X, y
