"""What a pipeline reads: raw text, one sentence a line, words between spaces, or CoNLL-U, as a stream of sentences.

Everything is read in passages, a few thousand words at a time, so that memory stays flat and output begins at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from spectragram.data.conllu import Sentence, looks_like_row, parse_lines, sentences_of_words
from spectragram.files import Source, read_lines
from spectragram.pipeline.tokenizer import Tokenizer

__all__ = ["INPUTS", "passages"]

INPUTS = ("auto", "raw", "sentences", "words", "conllu")
"""How text may come in; see :func:`passages`."""
WORDS_PER_PASSAGE = 4000
"""Words that are annotated at a time: enough to keep all cores busy, and a fraction of a second of work. Chosen by
hand, not tuned."""

Lines = Iterator[tuple[int, str]]


def passages(source: Source, tokenizer: Tokenizer, form: str = "auto") -> Iterator[list[Sentence]]:
    """Yield the sentences of a file, several at a time, as CoNLL-U with words and whatever else the file has.

    Parameters
    ----------
    source : path, or "-" for standard input
    tokenizer : Tokenizer
        For raw text and sentences.
    form : {"auto", "raw", "sentences", "words", "conllu"}
        Raw text with blank lines between paragraphs; one sentence a line; words separated by spaces, one sentence a
        line; or CoNLL-U. ``auto`` takes CoNLL-U for what looks like it, and raw text otherwise.
    """
    lines, form = _recognised(source, form)
    if form == "conllu":
        yield from _grouped([sentence] for sentence in parse_lines(lines, source))
    elif form == "words":
        yield from _grouped([sentence] for sentence in sentences_of_words(lines))
    elif form == "sentences":
        yield from _grouped(tokenizer.split_sentences(line for _, line in lines))
    else:
        yield from _grouped(tokenizer.split_stream(line for _, line in lines))


def _recognised(source: Source, form: str) -> tuple[Lines, str]:
    """The lines of a file, and its form: ``auto`` looks at the first line that is neither blank nor a comment."""
    lines = read_lines(source)
    if form != "auto":
        return lines, form
    seen = []
    for number, line in lines:
        seen.append((number, line))
        if line.strip() and not line.startswith("#"):
            break
    is_conllu = bool(seen) and looks_like_row(seen[-1][1])
    return chain(seen, lines), "conllu" if is_conllu else "raw"


def _grouped(pieces: Iterable[list[Sentence]]) -> Iterator[list[Sentence]]:
    """Pieces put together until they have enough words."""
    group: list[Sentence] = []
    n_words = 0
    for piece in pieces:
        group += piece
        n_words += sum(map(len, piece))
        if n_words >= WORDS_PER_PASSAGE:
            yield group
            group, n_words = [], 0
    if group:
        yield group
