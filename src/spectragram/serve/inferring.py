"""What a model makes of a sentence of which something is known: the rest, inferred around it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.data.trees import Tree
from spectragram.errors import InputError
from spectragram.serve.analysing import MAX_WORDS, tag_options, tagged
from spectragram.serve.pictures import Options, dependency_picture, tag_picture, tree_picture
from spectragram.serve.records import UNKNOWN, ColumnRecord, Record, TreebankRecord
from spectragram.serve.shelf import Shelf
from spectragram.serve.tree_records import NOT, OPEN, TreeRecord

__all__ = ["infer"]

TAGGED = 16
"""Tagged sentences that are kept. Chosen by hand: an annotator goes back and forth between a few."""


def infer(record: Record, shelf: Shelf, name: str | None) -> dict[str, Any]:
    """The picture of a sentence: what is known, and what the model infers around it.

    Without a model, or where it can make nothing of the sentence, the picture has what is known and a ``note`` that
    says why.
    """
    picture = _known_alone(record)
    note = ""
    if name is not None and len(record.words) > MAX_WORDS:
        note = f"sentences of more than {MAX_WORDS} words are not parsed"
    elif name is not None and record.status != "done":
        try:
            picture = _around(record, shelf, shelf.get(name))
        except InputError as trouble:
            note = str(trouble)
    return picture | {"known": record.known(), "status": record.status, "note": note}


def _known_alone(record: Record) -> dict[str, Any]:
    if isinstance(record, TreebankRecord):
        return dependency_picture(record.sentence, record.tag_column)
    if isinstance(record, TreeRecord):
        return tree_picture(_shown(record.tree()))
    return {"kind": "tags", "words": record.words, "tags": record.known()["tags"], "options": {}}


def _shown(tree: Tree) -> Tree:
    """The tree without the brackets that are known not to be there."""
    from spectragram.data.trees import fold

    def kept(node: Tree, below: list[list[Tree]]) -> list[Tree]:
        inner = [tree for trees in below for tree in trees]
        if node.word is not None:
            return [node]
        return inner if node.label.startswith(NOT) else [Tree(node.label, inner)]

    return fold(tree, kept)[0]


def _around(record: Record, shelf: Shelf, model: Any) -> dict[str, Any]:
    if isinstance(record, TreebankRecord):
        return _dependencies(record, shelf, model)
    if isinstance(record, TreeRecord):
        return _tree(record, model)
    assert isinstance(record, ColumnRecord)
    return _tags(record, model)


def _dependencies(record: TreebankRecord, shelf: Shelf, model: Any) -> dict[str, Any]:
    """Tags first, then heads and relations given the tags."""
    sentence, column = record.sentence, record.tag_column
    options = None
    parser = model
    if model.kind == "pipeline":
        n = len(sentence)
        without_heads, options = _tagging(model, sentence.with_heads([-1] * n, [UNKNOWN] * n))
        whole = without_heads.with_heads(sentence.heads, sentence.deprels)
        parser = model.model_.parser
    else:
        whole = tagged(sentence, column, shelf)
    options = options if column == "upos" else None
    if parser is None:
        return dependency_picture(whole, column, tag_options=options)
    return _parsed(whole, column, parser, options)


@lru_cache(TAGGED)
def _tagging(model: Any, sentence: Sentence) -> tuple[Sentence, list[Options] | None]:
    """The sentence as a pipeline tags it, and what else tags could be; heads do not matter, so most steps repeat it."""
    whole = model.model_.annotate([sentence], only=("upos", "xpos", "feats", "lemma"))[0]
    return whole, tag_options(model, sentence)


def _parsed(whole: Sentence, column: str, parser: Any, options: Any) -> dict[str, Any]:
    """What ``confidence`` and ``marginals`` say, from one chart."""
    from spectragram.dependency.constraints import Known
    from spectragram.pipeline.model import with_tags

    given, model = parser.read([with_tags(whole)])[0], parser.model_
    known = Known.of(given, model.labels)
    chart, tree, log_p = model.confident_tree(model.alphabet.encode([given]).columns(0), known)
    return dependency_picture(
        whole.with_heads(tree.heads, tree.relations),
        column,
        head_marginals=known.distributions(model.head_distributions(chart)),
        relation_p=tree.relation_confidence,
        tag_options=options,
    ) | {"tree_p": float(np.exp(log_p))}


def _tags(record: ColumnRecord, model: Any) -> dict[str, Any]:
    known = [label if label in model.labels_ else None for label in record.labels]
    X = [record.observations(model.layout_.columns)]
    picture = tag_picture(
        record.words, model.predict(X, fixed=[known])[0], model.marginals(X, fixed=[known])[0], model.labels_
    )
    for place, label in enumerate(record.known()["tags"]):
        if label is not None:  # also one that the model has never seen
            picture["tags"][place], picture["tag_p"][place] = label, 1.0
    return picture


def _tree(record: TreeRecord, model: Any) -> dict[str, Any]:
    from spectragram.constituency.answers import decode
    from spectragram.data import SpanConstraints

    known = SpanConstraints.from_tree(record.tree())
    posteriors = model.marginals([known])[0]
    # What ``predict`` does as well, without the chart that it would fill a second time.
    parsed = decode(model.model_, posteriors, known)
    picture = tree_picture(parsed, posteriors=posteriors, labels=model.labels_, tags=model.tags_)
    for place, tag in enumerate(record.tags):
        if tag != OPEN:
            picture["tags"][place] = tag
    return picture
