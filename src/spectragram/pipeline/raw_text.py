"""Raw text behind a treebank: what a tokeniser would have been given, and what it should have answered.

A treebank lists tokens; ``SpaceAfter=No`` says where no space follows one, ``# newpar`` and ``# newdoc`` where a
paragraph begins, and ``# text`` repeats the sentence. From these the text is put together again: a space between
sentences (none if the last token says so), a blank line between paragraphs. This is how the raw files of the CoNLL 2018
shared task were made, so a score from this text is a score in the sense of that task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from spectragram.data.conllu import COLUMNS, Sentence

__all__ = ["NEW_PARAGRAPH", "Paragraph", "SurfaceToken", "paragraphs", "plain_text", "surface_tokens"]

ID, FORM, UPOS, MISC = (COLUMNS.index(name) for name in ("id", "form", "upos", "misc"))
NO_SPACE = "SpaceAfter=No"
NEW_PARAGRAPH = "# newpar"
_BEGINS_PARAGRAPH = re.compile(r"#\s*new(par|doc)\b")
_TEXT = re.compile(r"#\s*text\s*=\s?(.*)", re.DOTALL)


@dataclass(frozen=True)
class SurfaceToken:
    """A token of the text.

    Attributes
    ----------
    form : str
    words : tuple of str
        The words that it stands for: itself, unless it is multiword.
    space_after : bool
    upos : str
        Parts of speech of the words, with ``+`` between them; empty if the treebank does not give them.
    """

    form: str
    words: tuple[str, ...]
    space_after: bool
    upos: str = ""

    @property
    def is_multiword(self) -> bool:
        """Whether the treebank has a row of its own for this token, beside those of its words."""
        return self.words != (self.form,)


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of raw text with the right answer.

    Attributes
    ----------
    text : str
    spans : int64 array, shape (n_tokens, 2)
        Offsets of the first character of each token, and of the one behind its last.
    ends : bool array, shape (n_tokens,)
        Whether a token is the last of its sentence.
    tokens : tuple of SurfaceToken
    """

    text: str
    spans: np.ndarray
    ends: np.ndarray
    tokens: tuple[SurfaceToken, ...]


def surface_tokens(sentence: Sentence) -> list[SurfaceToken]:
    """The tokens of a sentence as they stand in the text: multiword tokens take the place of their words.

    Empty nodes are not in the text. For the words of a multiword token, only its own row says what follows.
    """
    tokens: list[SurfaceToken] = []
    form, misc, last = "", "", 0  # of the multiword token whose words are being read
    words: list[str] = []
    tags: list[str] = []
    for row in sentence.rows:
        if "-" in row[ID]:
            form, misc, words, tags, last = row[FORM], row[MISC], [], [], int(row[ID].partition("-")[2])
        elif "." in row[ID]:
            continue
        elif int(row[ID]) <= last:
            words.append(row[FORM])
            tags.append(row[UPOS])
            if int(row[ID]) == last:
                tokens.append(SurfaceToken(form, tuple(words), _space_after(misc), _part_of_speech(tags)))
        else:
            own = _part_of_speech([row[UPOS]])
            tokens.append(SurfaceToken(row[FORM], (row[FORM],), _space_after(row[MISC]), own))
    return tokens


def _space_after(misc: str) -> bool:
    return NO_SPACE not in misc.split("|")


def _part_of_speech(tags: list[str]) -> str:
    return "" if "_" in tags else "+".join(tags)


def plain_text(sentences: Iterable[Sentence]) -> str:
    """The raw text of a treebank, which ends with a newline unless it is empty.

    >>> plain_text([Sentence.from_words(["Yes", "."], misc=["SpaceAfter=No", "_"]), Sentence.from_words(["No"])])
    'Yes. No\\n'
    """
    return "".join("\n" * (number > 0) + each.text + "\n" for number, each in enumerate(paragraphs(sentences)))


def paragraphs(sentences: Iterable[Sentence]) -> list[Paragraph]:
    """The raw text of a treebank, paragraph by paragraph; never empty ones."""
    groups: list[list[Sentence]] = []
    for sentence in sentences:
        if not groups or any(_BEGINS_PARAGRAPH.match(comment) for comment in sentence.comments):
            groups.append([])
        groups[-1].append(sentence)
    return [_paragraph(group) for group in groups]


def _paragraph(sentences: list[Sentence]) -> Paragraph:
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    ends: list[bool] = []
    everything: list[SurfaceToken] = []
    at, glued = 0, True
    for sentence in sentences:
        if not glued:
            pieces.append(" ")
            at += 1
        tokens = surface_tokens(sentence)
        text, found = _sentence_text(sentence, tokens)
        pieces.append(text)
        spans += [(at + start, at + stop) for start, stop in found]
        at += len(text)
        ends += [False] * (len(tokens) - 1) + [True]
        everything += tokens
        glued = not tokens[-1].space_after
    return Paragraph(
        "".join(pieces), np.array(spans, np.int64).reshape(-1, 2), np.array(ends, np.bool_), tuple(everything)
    )


def _sentence_text(sentence: Sentence, tokens: list[SurfaceToken]) -> tuple[str, list[tuple[int, int]]]:
    """The text of a sentence and the spans of its tokens in it.

    ``# text`` is believed if the tokens are in it, one behind the other with nothing but white space between them;
    otherwise the text is put together from the tokens.
    """
    for comment in sentence.comments:
        if match := _TEXT.fullmatch(comment):
            text = match[1].strip()
            spans = _find_tokens(text, tokens)
            if spans is not None:
                return text, spans
    pieces, spans, at = [], [], 0
    for token in tokens:
        spans.append((at, at + len(token.form)))
        pieces.append(token.form + " " * token.space_after)
        at += len(pieces[-1])
    return "".join(pieces).rstrip(), spans


def _find_tokens(text: str, tokens: list[SurfaceToken]) -> list[tuple[int, int]] | None:
    spans, at = [], 0
    for token in tokens:
        while at < len(text) and text[at].isspace():
            at += 1
        if not text.startswith(token.form, at):
            return None
        spans.append((at, at + len(token.form)))
        at += len(token.form)
    return spans if not text[at:].strip() else None
