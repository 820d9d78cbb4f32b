"""The page of a trained pipeline: its parts, and the first sentences of a text with their trees and columns."""

from __future__ import annotations

from collections.abc import Sequence

from spectragram.data.conllu import Sentence
from spectragram.pipeline import Pipeline
from spectragram.plots.dependency import draw_dependencies
from spectragram.plots.page import html_page, html_table, summary_table

__all__ = ["pipeline_page"]

SHOWN_COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel")


def pipeline_page(pipeline: Pipeline, name: str, sentences: Sequence[Sentence] = ()) -> str:
    """A page with the summary of a pipeline and its parser, and pictures and tables of annotated sentences."""
    sections = [("Summary", summary_table(pipeline.summary_))]
    if pipeline.model_.parser is not None:
        sections.append(("Parser", summary_table(pipeline.model_.parser.summary_)))
    for number, sentence in enumerate(sentences, 1):
        picture = str(draw_dependencies(sentence)) if (sentence.heads >= 0).all() else ""
        columns = [sentence.column(column) for column in SHOWN_COLUMNS]
        rows = list(zip(*columns, strict=True))
        sections.append((f"Sentence {number}", picture + html_table(SHOWN_COLUMNS, rows)))
    return html_page(f"Pipeline {name}", sections)
