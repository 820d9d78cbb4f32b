"""The page of a class language model: what its hidden classes stand for."""

from __future__ import annotations

from spectragram.files import split_words
from spectragram.lm import LanguageModel
from spectragram.lm.inspection import class_rows
from spectragram.plots.charts import measures_chart
from spectragram.plots.page import html_page, html_table, summary_table

__all__ = ["lm_page"]


def lm_page(model: LanguageModel, name: str, n_words: int = 10, sentence: str = "") -> str:
    """A page with the summary of training, the surprisal of a sentence, and the words of every class."""
    sections = [("Training", summary_table(model.summary_))]
    if split_words(sentence):
        sections.append(("Surprisal word by word", str(measures_chart(model.measure([sentence])[0]))))
    for title, rows in class_rows(model.model_, n_words).items():
        sections.append((title, html_table(["class", "weight", "words"], rows)))
    return html_page(f"Language model {name}", sections)
