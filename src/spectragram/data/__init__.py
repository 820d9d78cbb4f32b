"""Strings to integer arrays and back: text, trees, CoNLL-U, column files, PAutomaC, vocabularies, rare words."""

from spectragram.data.binarization import Binarizer, binarize, unbinarize
from spectragram.data.brackets import clean, escape_word, parse_tree, read_trees, unescape_word, write_trees
from spectragram.data.columns import ColumnSentence, read_columns, write_columns
from spectragram.data.confidence import ArcConfidence, SpanConfidence, TagConfidence
from spectragram.data.conllu import Sentence, parse_conllu, read_conllu, write_conllu
from spectragram.data.corpus import UNKNOWN, Corpus, Vocabulary
from spectragram.data.heads import ENGLISH_HEADS, HeadRules, learn_head_rules
from spectragram.data.inputs import as_corpus, as_dependencies, as_trees, as_word_lists
from spectragram.data.interchange import from_nltk, to_nltk
from spectragram.data.known_heads import HeadConstraints
from spectragram.data.known_spans import SpanConstraints
from spectragram.data.labelled import LabelledFile, Layout, as_labelled, read_labelled
from spectragram.data.pautomac import (
    PautomacModel,
    read_pautomac,
    read_pautomac_model,
    read_pautomac_solution,
    write_pautomac,
    write_pautomac_model,
    write_pautomac_solution,
)
from spectragram.data.productions import Productions
from spectragram.data.projectivity import is_projective, projectivize
from spectragram.data.signatures import english_signature, neutral_signature
from spectragram.data.text import FileShard, count_words, encode_blocks, read_text, shard_file
from spectragram.data.treebank import Treebank, head_words
from spectragram.data.trees import Tree

__all__ = [
    "ENGLISH_HEADS",
    "UNKNOWN",
    "ArcConfidence",
    "Binarizer",
    "ColumnSentence",
    "Corpus",
    "FileShard",
    "HeadConstraints",
    "HeadRules",
    "LabelledFile",
    "Layout",
    "PautomacModel",
    "Productions",
    "Sentence",
    "SpanConfidence",
    "SpanConstraints",
    "TagConfidence",
    "Tree",
    "Treebank",
    "Vocabulary",
    "as_corpus",
    "as_dependencies",
    "as_labelled",
    "as_trees",
    "as_word_lists",
    "binarize",
    "clean",
    "count_words",
    "encode_blocks",
    "english_signature",
    "escape_word",
    "from_nltk",
    "head_words",
    "is_projective",
    "learn_head_rules",
    "neutral_signature",
    "parse_conllu",
    "parse_tree",
    "projectivize",
    "read_columns",
    "read_conllu",
    "read_labelled",
    "read_pautomac",
    "read_pautomac_model",
    "read_pautomac_solution",
    "read_text",
    "read_trees",
    "shard_file",
    "to_nltk",
    "unbinarize",
    "unescape_word",
    "write_columns",
    "write_conllu",
    "write_pautomac",
    "write_pautomac_model",
    "write_pautomac_solution",
    "write_trees",
]
