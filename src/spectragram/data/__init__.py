"""Strings to integer arrays and back: text, trees, CoNLL-U, column files, PAutomaC, vocabularies, rare words."""

from spectragram.data.binarization import Binarizer, binarize, unbinarize
from spectragram.data.brackets import escape_word, parse_tree, read_trees, unescape_word, write_trees
from spectragram.data.cleaning import clean
from spectragram.data.columns import ColumnSentence, read_columns, write_columns
from spectragram.data.conllu import Sentence, parse_conllu, read_conllu, write_conllu
from spectragram.data.corpus import Corpus
from spectragram.data.heads import ENGLISH_HEADS, HeadRules, learn_head_rules
from spectragram.data.nltk_trees import from_nltk, to_nltk
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
from spectragram.data.signatures import SignatureClasses, english_signature, neutral_signature
from spectragram.data.text import FileShard, count_words, encode_blocks, read_text, shard_file
from spectragram.data.treebank import Treebank
from spectragram.data.treebank_heads import head_words
from spectragram.data.trees import Tree
from spectragram.data.unary import collapse_unaries, expand_unaries
from spectragram.data.vocabulary import UNKNOWN, Vocabulary

__all__ = [
    "ENGLISH_HEADS",
    "UNKNOWN",
    "Binarizer",
    "ColumnSentence",
    "Corpus",
    "FileShard",
    "HeadRules",
    "PautomacModel",
    "Productions",
    "Sentence",
    "SignatureClasses",
    "Tree",
    "Treebank",
    "Vocabulary",
    "binarize",
    "clean",
    "collapse_unaries",
    "count_words",
    "encode_blocks",
    "english_signature",
    "escape_word",
    "expand_unaries",
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
