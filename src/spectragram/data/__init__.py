"""Strings to integer arrays and back: text, CoNLL-U, column files, PAutomaC, vocabularies, rare words."""

from spectragram.data.columns import ColumnSentence, read_columns, write_columns
from spectragram.data.conllu import Sentence, parse_conllu, read_conllu, write_conllu
from spectragram.data.corpus import Corpus
from spectragram.data.pautomac import (
    PautomacModel,
    read_pautomac,
    read_pautomac_model,
    read_pautomac_solution,
    write_pautomac,
    write_pautomac_model,
    write_pautomac_solution,
)
from spectragram.data.projectivity import is_projective, projectivize
from spectragram.data.signatures import SignatureClasses, english_signature, neutral_signature
from spectragram.data.text import FileShard, count_words, encode_blocks, read_text, shard_file
from spectragram.data.vocabulary import UNKNOWN, Vocabulary

__all__ = [
    "UNKNOWN",
    "ColumnSentence",
    "Corpus",
    "FileShard",
    "PautomacModel",
    "Sentence",
    "SignatureClasses",
    "Vocabulary",
    "count_words",
    "encode_blocks",
    "english_signature",
    "is_projective",
    "neutral_signature",
    "parse_conllu",
    "projectivize",
    "read_columns",
    "read_conllu",
    "read_pautomac",
    "read_pautomac_model",
    "read_pautomac_solution",
    "read_text",
    "shard_file",
    "write_columns",
    "write_conllu",
    "write_pautomac",
    "write_pautomac_model",
    "write_pautomac_solution",
]
