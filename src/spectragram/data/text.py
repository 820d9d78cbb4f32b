"""Plain text, one sequence per line, to integer arrays at tens of millions of tokens per second.

Words are separated by ASCII white space (blank, tab, vertical tab, form feed, carriage return) and nothing else. A
no-break space or an ideographic space stays inside its word, as in most tools that read tokenised text. ``lower``
lower-cases as Unicode does; ``fold_digits`` turns every decimal digit, of any script, into ``0``.

Each line is a sequence; lines end at ``\\n`` or ``\\r\\n``. Lines without words are skipped unless ``keep_empty``
asks for them, which predictions need in order to stay aligned with their input.

Text larger than memory is processed in blocks: :func:`shard_file` cuts a file into byte ranges, :func:`count_words`
counts each of them on any machine (the counters add up), and :func:`encode_blocks` turns each into small corpora.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from spectragram.data.corpus import UNKNOWN, Corpus, Vocabulary
from spectragram.data.encoding import WordTable
from spectragram.errors import InputError
from spectragram.files import MAX_LINE_BYTES, Source, decode_utf8, is_gzipped, read_blocks

__all__ = ["FileShard", "count_words", "encode_blocks", "read_text", "shard_file"]


@dataclass(frozen=True)
class FileShard:
    """Bytes ``start`` to ``stop`` of a plain file, or all of a file of any kind (``stop`` None)."""

    path: str
    start: int = 0
    stop: int | None = None


TextSource = Source | FileShard
"""A path, ``"-"`` for standard input, or a part of a file."""


def shard_file(path: Source, n: int) -> list[FileShard]:
    """Cut a plain file into at most ``n`` parts of about the same size, each ending at the end of a line.

    Gzipped files and standard input cannot be read from the middle; they are one part.
    """
    if str(path) == "-" or is_gzipped(path):
        return [FileShard(str(path))]
    size = Path(path).stat().st_size
    cuts = [0]
    with Path(path).open("rb") as stream:
        for i in range(1, n):
            stream.seek(max(i * size // n - 1, 0))
            whole_line = stream.readline(MAX_LINE_BYTES).endswith(b"\n")
            cuts.append(stream.tell() if whole_line else size)
    cuts = sorted({*cuts, size})
    return [FileShard(str(path), a, b) for a, b in pairwise(cuts)]


def count_words(
    sources: TextSource | Iterable[TextSource], *, lower: bool = False, fold_digits: bool = False
) -> Counter[str]:
    """How often each word occurs. Counters of shards add up: ``sum(counters, Counter())``."""
    table = WordTable()
    for block in _normalised_blocks(sources, lower, fold_digits):
        table.encode(block)
    return Counter(dict(zip(table.words(), table.counts.tolist(), strict=True)))


def read_text(
    sources: TextSource | Iterable[TextSource],
    vocabulary: Vocabulary | None = None,
    *,
    min_count: int = 1,
    max_size: int | None = None,
    unknown: str | None = UNKNOWN,
    lower: bool = False,
    fold_digits: bool = False,
    keep_empty: bool = False,
) -> Corpus:
    """Read text into one corpus, in a single pass.

    Without a vocabulary, one is made from the words of the text, most frequent first and ties by code points
    (``min_count``, ``max_size`` and ``unknown`` as in :meth:`Vocabulary.from_counts`). With a vocabulary, words outside
    it get the id of its unknown word, or -1 if it has none.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "text"
    >>> _ = path.write_text("the dog\\nthe cat\\n")
    >>> corpus = read_text(path)
    >>> corpus.vocabulary.words, corpus.tokens.tolist(), corpus.offsets.tolist()
    (('the', 'cat', 'dog'), [0, 2, 0, 1], [0, 2, 4])
    """
    if vocabulary is not None:
        options = {"lower": lower, "fold_digits": fold_digits, "keep_empty": keep_empty}
        return _joined(list(encode_blocks(sources, vocabulary, **options)), vocabulary)
    table = WordTable()
    parts = [table.encode(block) for block in _normalised_blocks(sources, lower, fold_digits)]
    words = table.words()
    vocabulary = Vocabulary.from_counts(
        dict(zip(words, table.counts.tolist(), strict=True)),
        min_count=min_count,
        max_size=max_size,
        unknown=unknown,
    )
    # So far ids are in the order of first appearance; each part gets its final ids while it is small.
    final = vocabulary.encode(words)
    return _joined([_corpus(final[ids], ends, vocabulary, keep_empty) for ids, ends in parts], vocabulary)


def encode_blocks(
    sources: TextSource | Iterable[TextSource],
    vocabulary: Vocabulary,
    *,
    lower: bool = False,
    fold_digits: bool = False,
    keep_empty: bool = False,
) -> Iterator[Corpus]:
    """Stream text as corpora of about a megabyte each, in order, over one vocabulary.

    Words outside the vocabulary get the id of its unknown word, or -1 if it has none.
    """
    table = WordTable(vocabulary.words)
    for block in _normalised_blocks(sources, lower, fold_digits):
        tokens, line_ends = table.encode(block, unknown=vocabulary.unknown_id)
        yield _corpus(tokens, line_ends, vocabulary, keep_empty)


def _corpus(tokens: np.ndarray, line_ends: np.ndarray, vocabulary: Vocabulary, keep_empty: bool) -> Corpus:
    offsets = np.concatenate([[0], line_ends])
    return Corpus(tokens, offsets if keep_empty else np.unique(offsets), vocabulary)


def _joined(parts: list[Corpus], vocabulary: Vocabulary) -> Corpus:
    tokens = np.concatenate([np.empty(0, np.int32), *(part.tokens for part in parts)])
    lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in parts)])
    return Corpus(tokens, np.cumsum(lengths), vocabulary)


def _normalised_blocks(sources: TextSource | Iterable[TextSource], lower: bool, fold_digits: bool) -> Iterator[bytes]:
    """Blocks of whole lines, checked to be UTF-8, after ``lower`` and ``fold_digits``."""
    if isinstance(sources, str | os.PathLike | FileShard):
        sources = [sources]
    for source in sources:
        part = source if isinstance(source, FileShard) else FileShard(os.fspath(source))
        for block, text in _checked_blocks(part):
            if lower:
                block = block.lower() if block.isascii() else text.lower().encode()
            yield _digits_folded(block) if fold_digits else block


def _checked_blocks(part: FileShard) -> Iterator[tuple[bytes, str]]:
    """Blocks as bytes and as text; errors give line numbers of the file, not of the shard."""
    try:
        for first_line, block in read_blocks(part.path, start=part.start, stop=part.stop):
            yield block, decode_utf8(block, part.path, first_line)
    except InputError as error:
        if part.start == 0 or error.line is None:
            raise
        before = sum(block.count(b"\n") for _, block in read_blocks(part.path, stop=part.start))
        raise InputError(error.problem, path=part.path, line=error.line + before, remedy=error.remedy) from None


_FOLD_ASCII = bytes.maketrans(b"123456789", b"000000000")
# Beyond ASCII the first decimal digit is U+0660; excluding what comes before makes the search five times as fast.
_OTHER_DIGIT = re.compile(r"[^\x00-\u065f](?<=\d)")


def _digits_folded(block: bytes) -> bytes:
    folded = block.translate(_FOLD_ASCII)
    return folded if folded.isascii() else _OTHER_DIGIT.sub("0", folded.decode()).encode()
