"""From what users pass to an estimator to what the estimator works on: the one door for files and Python objects.

The same rules hold for every kind of model and every method:

- a ``str`` or a path object is the *path of a file*, plain or gzipped; ``"-"`` is standard input;
- an iterable holds records: trees, sentences, sequences of words or symbols;
- a string *inside* an iterable is one record, read as a line of a file is read: words between spaces, or a tree in
  brackets. A single sentence therefore goes in a list. For a sequence of characters write ``list("abba")``.

Reading a file here and passing its records gives the same result, so the command line and Python train the same
models. Labelled sequences have a module of their own, :mod:`spectragram.data.labelled`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from spectragram.data.brackets import clean, parse_tree, read_trees
from spectragram.data.conllu import Sentence, parse_conllu, read_conllu
from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.data.known_spans import SpanConstraints
from spectragram.data.pautomac import looks_like_pautomac, read_pautomac
from spectragram.data.text import read_text
from spectragram.data.trees import Tree
from spectragram.errors import InputError
from spectragram.files import Source, read_lines, split_words

__all__ = [
    "STRING_FORMATS",
    "Dependencies",
    "Strings",
    "Trees",
    "WordLists",
    "as_corpus",
    "as_dependencies",
    "as_known_spans",
    "as_strings",
    "as_trees",
    "as_word_lists",
    "is_path",
    "known_line",
    "listed",
]

Trees = Source | Iterable[Any]
"""A treebank file, or trees: Tree objects, bracketed strings, nltk trees."""

WordLists = Source | Iterable[Any]
"""A text file, or sentences: strings, sequences of words, trees, CoNLL-U sentences."""

Dependencies = Source | Iterable[Any]
"""A CoNLL-U file, or sentences: Sentence objects, strings in CoNLL-U, token lists of the conllu package."""

Strings = Source | Corpus | Iterable[Any]
"""A text (or PAutomaC) file, a corpus, or sequences of symbols, which may be strings with spaces between symbols."""

STRING_FORMATS = ("auto", "text", "pautomac")

SHOWN = 60
"""Characters of a value that is no path quoted in a message. Chosen by hand: messages stay on one line."""


def is_path(X: object) -> TypeGuard[Source]:
    """Whether X names a file; refuses a string that does not, and says how to pass a single sentence."""
    if isinstance(X, bytes):
        raise InputError("bytes where data was expected", remedy="give a path, or a list of strings")
    if not isinstance(X, str | os.PathLike):
        return False
    # os.path: unlike Path.exists it answers False, without an error, for a text too long for a file name.
    if isinstance(X, str) and X != "-" and not os.path.exists(X):  # noqa: PTH110
        shown = X if len(X) <= SHOWN else X[:SHOWN] + "..."
        # Only what looks like a sentence gets the advice: on the command line there are no lists.
        advice = "; a single sentence goes in a list" if " " in X else ""
        raise InputError("no such file", path=shown, remedy="check the path" + advice)
    return True


def listed(X: Any, what: str) -> list[Any]:
    """The records of an iterable; refuses a single record and other things that cannot be iterated over."""
    try:
        return list(X)
    except TypeError:
        raise InputError(
            f"a {type(X).__name__} where {what} were expected", remedy="give a path or a list, even of one"
        ) from None


def as_trees(X: Trees) -> list[Tree]:
    """Trees without traces, functional tags and indices; at least one.

    Every tree is cleaned, wherever it comes from (:func:`~spectragram.data.brackets.clean`), so a file and the trees
    read from it are the same data. Trees that consist of traces only are left out.

    Parameters
    ----------
    X : path or iterable
        A file of bracketed trees, or an iterable of Tree objects, bracketed strings and nltk trees.
    """
    found = read_trees(X) if is_path(X) else map(_tree, listed(X, "trees"))
    trees = [tree for tree in map(clean, found) if tree is not None]
    if not trees:
        where = X if is_path(X) else None
        raise InputError("no trees", path=where, remedy="give at least one tree, e.g. (S (NP ...) (VP ...))")
    return trees


def _tree(item: object) -> Tree:
    if isinstance(item, Tree):
        return item
    if isinstance(item, str):
        return parse_tree(item)
    if _is_nltk_tree(item):
        from spectragram.data.interchange import from_nltk

        return from_nltk(item)
    raise InputError(
        f"a {type(item).__name__} where a tree was expected", remedy="give Tree objects or bracketed strings"
    )


def _is_nltk_tree(item: object) -> TypeGuard[Any]:
    # A tree of nltk exists only if nltk has been imported; importing it here would take a second.
    nltk = sys.modules.get("nltk.tree")
    return nltk is not None and isinstance(item, nltk.Tree)


def as_word_lists(X: WordLists, *, keep_empty: bool = False) -> list[list[str]]:
    """The words of each sentence.

    Parameters
    ----------
    X : path or iterable
        A text file with one sentence a line; or an iterable of strings with spaces between words, sequences of words,
        trees (their leaves without traces), CoNLL-U sentences (their forms). A :class:`Corpus` is decoded.
    keep_empty : bool
        Whether lines and sequences without words stay, as empty lists. Otherwise blank lines of a file are skipped
        and an empty sentence in an iterable is an error.
    """
    if is_path(X):
        lines = (split_words(line) for _, line in read_lines(X))
        return [words for words in lines if words or keep_empty]
    sentences = X.decoded() if isinstance(X, Corpus) else map(_words, listed(X, "sentences"))
    found = []
    for number, words in enumerate(sentences):
        if not words and not keep_empty:
            raise InputError(f"sentence {number} has no words", remedy="give at least one word")
        _check_words(words, number)
        found.append(words)
    return found


def as_known_spans(X: WordLists, *, constrained: bool = False) -> list[SpanConstraints]:
    """The words of each sentence, with what is known about its phrases.

    Parameters
    ----------
    X : path or iterable
        As for :func:`as_word_lists`; SpanConstraints objects among the records always count.
    constrained : bool
        Whether brackets count as well: those of trees, and of lines and strings that begin with a bracket. Otherwise
        only the words of trees are used.
    """
    if is_path(X):
        if not constrained:
            return [SpanConstraints(tuple(words)) for words in as_word_lists(X)]
        lines = ((number, line.strip()) for number, line in read_lines(X))
        return [known_line(line, X, number) for number, line in lines if line]
    records = listed(X, "sentences")
    found = []
    for number, item in enumerate(records):
        is_tree = isinstance(item, Tree) or _is_nltk_tree(item) or (isinstance(item, str) and item.startswith("("))
        if isinstance(item, SpanConstraints):
            found.append(item)
        elif constrained and is_tree:
            found.append(SpanConstraints.from_tree(_tree(item)))
        else:
            words = as_word_lists([item], keep_empty=True)[0]
            if not words:
                raise InputError(f"sentence {number} has no words", remedy="give at least one word")
            found.append(SpanConstraints(tuple(words)))
    return found


def known_line(line: str, path: Source, number: int) -> SpanConstraints:
    """What one line of a file says about a sentence: a tree in brackets, or words."""
    try:
        if line.startswith("("):
            return SpanConstraints.from_tree(parse_tree(line))
        return SpanConstraints(tuple(split_words(line)))
    except InputError as trouble:
        raise InputError(trouble.problem, path=path, line=number, remedy=trouble.remedy) from None


def _words(item: object) -> list[Any]:
    if isinstance(item, SpanConstraints):
        return list(item.words)
    if isinstance(item, str):
        return split_words(item)
    if isinstance(item, Sentence):
        return item.forms
    if isinstance(item, Tree) or _is_nltk_tree(item):
        tree = clean(_tree(item))  # traces are not words
        return [] if tree is None else tree.leaves()
    try:
        return list(item)  # type: ignore[call-overload, no-any-return]
    except TypeError:
        raise InputError(
            f"a {type(item).__name__} ({item!r:.40}) where a sentence was expected",
            remedy="give strings or sequences of words, e.g. [['the', 'dog'], ...]",
        ) from None


def _check_words(words: list[Any], number: int) -> None:
    for word in words:
        if not isinstance(word, str) or not word:
            raise InputError(
                f"sentence {number} contains {word!r:.40}, which is not a word", remedy="give non-empty strings"
            )


def as_dependencies(X: Dependencies, *, check_tree: bool = False, may_be_empty: bool = False) -> list[Sentence]:
    """CoNLL-U sentences.

    Parameters
    ----------
    X : path or iterable
        A CoNLL-U file, or an iterable of Sentence objects, strings in CoNLL-U and ``conllu.TokenList`` objects.
    check_tree : bool
        Whether the heads of every sentence must form a tree with one root, as training and evaluation need.
    may_be_empty : bool
        Whether no sentence at all is fine, as in prediction.
    """
    if is_path(X):
        sentences = list(read_conllu(X))
    else:
        sentences = [_sentence(item) for item in listed(X, "sentences")]
    if not sentences and not may_be_empty:
        where = X if is_path(X) else None
        raise InputError("no sentences", path=where, remedy="give at least one sentence in CoNLL-U")
    if check_tree:
        for sentence in sentences:
            sentence.check_tree()
    return sentences


def _sentence(item: Any) -> Sentence:
    if isinstance(item, Sentence):
        return item
    if hasattr(item, "serialize"):  # conllu.TokenList
        item = item.serialize()
    if not isinstance(item, str):
        raise InputError(
            f"a {type(item).__name__} ({item!r:.40}) where a CoNLL-U sentence was expected",
            remedy="read sentences with spectragram.data.read_conllu or make them with Sentence.from_words",
        )
    found = parse_conllu(item)
    if len(found) != 1:
        raise InputError(f"a string with {len(found)} CoNLL-U sentences", remedy="give one sentence per string")
    return found[0]


def as_corpus(
    X: Strings, vocabulary: Vocabulary | None = None, *, format: str = "text", keep_empty: bool = False
) -> Corpus:
    """Sequences of words or symbols as a corpus.

    Parameters
    ----------
    X : path, Corpus or iterable
        A text file with one sequence a line, or a PAutomaC file; or an iterable of strings with spaces between
        symbols, or of sequences of symbols (``list("abba")`` for characters).
    vocabulary : Vocabulary, optional
        Encode over this vocabulary; symbols outside it get its unknown symbol, or -1. Without it the vocabulary has
        every symbol of X, sorted by code points, whether X is a file or not.
    format : {"text", "auto", "pautomac"}
        Format of a file. ``auto`` recognises PAutomaC files by name and by their first lines; standard input can be
        read only once and counts as text.
    keep_empty : bool
        Whether sequences without symbols stay: predictions need them to stay aligned, and for an automaton the empty
        string is a string like any other. A Corpus is never shortened.
    """
    if format not in STRING_FORMATS:
        raise InputError(f"format {format!r} is unknown", remedy=f"choose one of {', '.join(STRING_FORMATS)}")
    if is_path(X):
        found = _read_strings(X, vocabulary, format, keep_empty)
    elif isinstance(X, Corpus):
        found = X
    else:
        sequences = as_word_lists(X, keep_empty=True)
        found = Corpus.from_sequences((words for words in sequences if words or keep_empty), vocabulary)
    return found if vocabulary is None else Corpus.over(found, vocabulary)


def as_strings(X: Strings, vocabulary: Vocabulary | None = None) -> Corpus:
    """Strings of any hashable symbols as a corpus, in which empty strings stay.

    In a file, and in a ``str`` among the strings, a symbol of the vocabulary that is not a string is written as it
    is spelled: ``0 1`` are two integers if those are the vocabulary's.

    Parameters
    ----------
    X : path, Corpus or iterable
        A text or PAutomaC file, or sequences of symbols.
    vocabulary : Vocabulary, optional
        Encode over this vocabulary; other symbols become -1, but those of a type that it has none of are refused.
    """
    if vocabulary is None or vocabulary.is_text:
        if is_path(X):
            return as_corpus(X, vocabulary, format="auto", keep_empty=True)
    elif is_path(X) or (isinstance(X, Corpus) and X.vocabulary.is_text):
        spelled = as_corpus(X, vocabulary.spelled, format="auto", keep_empty=True)
        return Corpus(spelled.tokens, spelled.offsets, vocabulary)
    if isinstance(X, Corpus):
        return X if vocabulary is None else Corpus.over(X, vocabulary)
    sequences = [_symbols(item, vocabulary) for item in listed(X, "strings")]
    return Corpus.from_sequences(sequences, vocabulary, any_symbols=True)


def _symbols(item: object, vocabulary: Vocabulary | None) -> list[Any]:
    words = _words(item)
    if not isinstance(item, str) or vocabulary is None or vocabulary.is_text:
        return words
    index = vocabulary.spelled.index
    unknown = [word for word in words if word not in index]
    if unknown:
        raise InputError(
            f"{unknown[0]!r} is not the spelling of a symbol", remedy="give the string as a sequence of symbols"
        )
    return [vocabulary.words[index[word]] for word in words]


def _read_strings(source: Source, vocabulary: Vocabulary | None, format: str, keep_empty: bool) -> Corpus:
    if format == "auto":
        named = ".pautomac" in Path(source).name
        format = "pautomac" if named or (str(source) != "-" and looks_like_pautomac(source)) else "text"
    if format == "pautomac":
        return read_pautomac(source)
    corpus = read_text(source, vocabulary, unknown=None, keep_empty=keep_empty)
    return corpus if vocabulary is not None else _sorted_vocabulary(corpus)


def _sorted_vocabulary(corpus: Corpus) -> Corpus:
    """The same corpus with words numbered by code points, not by frequency: the order of ``from_sequences``."""
    old = corpus.vocabulary
    order = sorted(range(len(old)), key=old.words.__getitem__)
    new = Vocabulary([old.words[i] for i in order], old.counts[order])
    number = np.empty(len(old), np.int32)
    number[order] = np.arange(len(old), dtype=np.int32)
    return Corpus(number[corpus.tokens], corpus.offsets, new)
