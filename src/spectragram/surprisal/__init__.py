"""Surprisal of every word of a text under several models, as a table."""

from __future__ import annotations

from spectragram.surprisal.table import SurprisalTable, surprisal_table
from spectragram.surprisal.words import Sentence, read_sentences, split_word

__all__ = ["Sentence", "SurprisalTable", "read_sentences", "split_word", "surprisal_table"]
