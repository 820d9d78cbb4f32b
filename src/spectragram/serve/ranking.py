"""What to annotate next: the sentences of a file in the order of what they would teach."""

from __future__ import annotations

from typing import Any

from spectragram.serve.analysing import MAX_WORDS, tagged
from spectragram.serve.records import ColumnRecord, Record, TreebankRecord
from spectragram.serve.shelf import Shelf
from spectragram.serve.tree_records import TreeRecord

__all__ = ["ranked"]


def ranked(records: list[Record], shelf: Shelf, name: str) -> list[int]:
    """The places of records, most instructive first; sentences that are too long to parse are left out."""
    from spectragram.annotation import rank

    model = shelf.get(name)
    short = [place for place, record in enumerate(records) if len(record.words) <= MAX_WORDS]
    found = rank(model, [_known(records[place], shelf, model) for place in short], by="uncertainty", unit="sentence")
    return [short[one.sentence] for one in found]


def _known(record: Record, shelf: Shelf, model: Any) -> Any:
    """A sentence as ``rank`` takes it, with what is known of it."""
    if isinstance(record, TreebankRecord):
        return record.sentence if model.kind == "pipeline" else tagged(record.sentence, record.tag_column, shelf)
    if isinstance(record, TreeRecord):
        from spectragram.data import SpanConstraints

        return SpanConstraints.from_tree(record.tree())
    assert isinstance(record, ColumnRecord)
    return record.observations(model.layout_.columns)
