"""Words of a text as people write them, and the tokens that a model reads for each.

A word is what stands between spaces: ``hasn't``, ``debt.``, ``"Yes,"``. Models of treebanks read ``has n't`` and
``debt .``. A word that a model knows is one token to it; any other is split as the Penn Treebank does: punctuation at
either end comes off, then English clitics. So every model gets the tokens that it can read, and what it says about
them is added up for the word. The tokeniser of a trained pipeline can take the place of these rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from spectragram.data.inputs import WordLists, as_word_lists, is_path, listed
from spectragram.errors import InputError
from spectragram.files import read_lines

__all__ = ["INPUTS", "Sentence", "read_sentences", "split_word"]

INPUTS = ("text", "words")
OPENING = re.compile(r"(``|[\"“‘'(\[{$£€#])(?=.)")
CLOSING = re.compile(r"(?<=.)(\.\.\.|…|''|[.,;:?!%)\]}\"”’'])$")
CLITIC = re.compile(r"(?<=.)(n['’]t|['’](?:s|ll|re|ve|d|m))$", re.IGNORECASE)
MARKS = frozenset(("...", "--", "``", "''", "'s", "n't"))
"""Tokens of treebanks that look like several."""
OPEN_QUOTES, CLOSE_QUOTES = {'"': "``", "“": "``", "‘": "`"}, {'"': "''", "”": "''", "’": "'"}
"""How the Penn Treebank writes quotation marks, by their place."""
PLAIN = str.maketrans("’", "'")

Known = Callable[[str], bool]


@dataclass(frozen=True)
class Sentence:
    """A sentence as it is written, and the tokens of each word.

    Attributes
    ----------
    words : list of str
    tokens : list of list of str, or None
        At least one token for each word; None if every model splits words for itself.
    """

    words: list[str]
    tokens: list[list[str]] | None = None

    def tokens_for(self, known: Known) -> list[list[str]]:
        """The tokens of each word for a model that knows some words."""
        return [split_word(word, known) for word in self.words] if self.tokens is None else self.tokens


def split_word(word: str, known: Known) -> list[str]:
    """The tokens of a word: itself if it is known, otherwise as the Penn Treebank splits it.

    >>> split_word("hasn't", {"has", "n't"}.__contains__), split_word("(U.S.)", {"U.S."}.__contains__)
    (['has', "n't"], ['(', 'U.S.', ')'])
    """
    if known(word) or len(word) == 1 or word in MARKS:
        return [word]
    if found := OPENING.match(word):
        return [_quote(found[1], OPEN_QUOTES, known), *split_word(word[found.end() :], known)]
    if found := CLOSING.search(word):
        return [*split_word(word[: found.start()], known), _quote(found[1], CLOSE_QUOTES, known)]
    if found := CLITIC.search(word):
        return [*split_word(word[: found.start()], known), found[1].translate(PLAIN)]
    return [word]


def _quote(mark: str, spellings: dict[str, str], known: Known) -> str:
    treebank = spellings.get(mark)
    return treebank if treebank is not None and not known(mark) and known(treebank) else mark


def read_sentences(X: WordLists, *, input: str = "text", tokenizer: Any = None) -> list[Sentence]:
    """The sentences of a text.

    Parameters
    ----------
    X : path or iterable
        A text file with one sentence a line, or sentences: strings or sequences of words. With ``tokenizer``, raw text:
        a file, or strings, whose lines may be broken anywhere.
    input : {"text", "words"}
        Whether words that a model does not know are split, or words are tokens as they are.
    tokenizer : Pipeline, optional
        A trained pipeline, which finds sentences and words in raw text.
    """
    if input not in INPUTS:
        raise InputError(f"input={input!r} is unknown", remedy=f"choose {' or '.join(INPUTS)}")
    if tokenizer is not None:
        return [_from_pipeline(sentence) for sentence in tokenizer.model_.tokenizer.split(_raw_text(X))]
    lists = as_word_lists(X)
    return [Sentence(words, None if input == "text" else [[word] for word in words]) for words in lists]


def _raw_text(X: WordLists) -> str:
    if is_path(X):
        return "\n".join(line for _, line in read_lines(X))
    texts = listed(X, "texts")
    return "\n\n".join(text if isinstance(text, str) else " ".join(text) for text in texts)


def _from_pipeline(sentence: Any) -> Sentence:
    """Tokens without a space between them are one word of the text."""
    from spectragram.pipeline.raw_text import surface_tokens

    words: list[str] = []
    tokens: list[list[str]] = []
    space = True
    for token in surface_tokens(sentence):
        if space:
            words.append("")
            tokens.append([])
        words[-1] += token.form
        tokens[-1] += token.words
        space = token.space_after
    return Sentence(words, tokens)


def spelled_tokens(groups: Sequence[Iterable[str]]) -> list[str]:
    """All tokens of a sentence, one after the other."""
    return [token for group in groups for token in group]
