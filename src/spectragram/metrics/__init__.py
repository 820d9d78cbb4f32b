"""Evaluation scores, under the keys that ``spectragram evaluate --json`` prints.

Shares are in percent and information is in nats.
"""

from __future__ import annotations

from spectragram.metrics.brackets import SentenceBrackets, bracket_scores, sentence_brackets
from spectragram.metrics.calibration import calibration_error
from spectragram.metrics.clusters import clustering_scores, mutual_information, stream_mutual_information
from spectragram.metrics.dependencies import PUNCTUATION_TAGS, attachment_scores
from spectragram.metrics.language import next_symbol_error, pautomac_scores, perplexity, string_scores
from spectragram.metrics.ratios import per_second
from spectragram.metrics.sequences import label_table, labelled_spans, span_scores, span_table, tagging_scores
from spectragram.metrics.universal import UNIVERSAL_SCORES, universal_scores

__all__ = [
    "PUNCTUATION_TAGS",
    "UNIVERSAL_SCORES",
    "SentenceBrackets",
    "attachment_scores",
    "bracket_scores",
    "calibration_error",
    "clustering_scores",
    "label_table",
    "labelled_spans",
    "mutual_information",
    "next_symbol_error",
    "pautomac_scores",
    "per_second",
    "perplexity",
    "sentence_brackets",
    "span_scores",
    "span_table",
    "stream_mutual_information",
    "string_scores",
    "tagging_scores",
    "universal_scores",
]
