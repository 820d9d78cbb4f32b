"""What users hand to the parser, checked: trees to learn from, sentences to parse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spectragram.data.brackets import escape_word, parse_tree
from spectragram.data.trees import Tree
from spectragram.errors import InputError

__all__ = ["Sentence", "as_sentences", "as_trees"]

Sentence = Sequence[str] | str
"""Words, or a string of words between spaces."""


def as_trees(trees: Iterable[Tree | str]) -> list[Tree]:
    """Trees, those given as bracketed strings read; at least one."""
    if isinstance(trees, (str, bytes)):
        raise InputError("one string where trees were expected", remedy="give a list of trees")
    listed = []
    for number, tree in enumerate(trees):
        if isinstance(tree, str):
            tree = parse_tree(tree)
        if not isinstance(tree, Tree):
            raise InputError(
                f"tree {number} is a {type(tree).__name__}", remedy="give Tree objects or bracketed strings"
            )
        listed.append(tree)
    if not listed:
        raise InputError("no trees", remedy="give at least one")
    return listed


def as_sentences(sentences: Iterable[Sentence]) -> list[list[str]]:
    """The words of each sentence, written as trees write them."""
    if isinstance(sentences, (str, bytes)):
        raise InputError("one string where sentences were expected", remedy="give a list of sentences, if only of one")
    return [_words(sentence, number) for number, sentence in enumerate(sentences)]


def _words(sentence: Sentence, number: int) -> list[str]:
    words = sentence.split() if isinstance(sentence, str) else list(sentence)
    if not words or not all(isinstance(word, str) and word for word in words):
        raise InputError(f"sentence {number} has no words, or empty ones", remedy="give at least one word")
    return [escape_word(word) for word in words]
