"""From raw text to sentences, tokens and words, learned from a treebank.

Three models follow each other: where tokens end (:mod:`spectragram.pipeline.token_ends`), which of them end sentences
(:mod:`spectragram.pipeline.sentence_ends`), which are multiword and what their words are
(:mod:`spectragram.pipeline.multiword`).

A blank line ends a paragraph, and with it a sentence. A single line break is white space like any other, because lines
of raw text are broken anywhere. Text of any length is read in pieces: short paragraphs together, a long one window by
window, each beginning where the last sentence that is certain to be complete has ended. Results do not depend on
how the text arrives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.engine.progress import Report, silent
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.pipeline.characters import GAP, NO_GAP, PARAGRAPH_END, read_text
from spectragram.pipeline.multiword import MultiwordTokens, learn_multiword_tokens
from spectragram.pipeline.raw_text import NEW_PARAGRAPH, NO_SPACE, paragraphs
from spectragram.pipeline.sentence_ends import SentenceEnds, learn_sentence_ends
from spectragram.pipeline.token_ends import TokenEnds, learn_token_ends
from spectragram.schema import Part, Schema

__all__ = ["Tokenizer", "learn_tokenizer"]

PIECE = 1 << 16
"""Characters that are read together: enough that calls do not cost, and 20 MB of memory."""
EMPTY = ("_",) * 7
"""Columns between form and misc."""
MARGIN = 1 << 13
"""Characters at the end of a window whose sentences are decided again in the next one: several sentences."""


class Spans(NamedTuple):
    """Tokens in a text.

    starts, stops (n,) int64: offsets of the first character of each, and of the one behind its last; ends (n,) bool:
    whether a sentence ends with it; gaps (n,) uint8: what follows it.
    """

    text: str
    starts: np.ndarray
    stops: np.ndarray
    ends: np.ndarray
    gaps: np.ndarray


@dataclass(frozen=True)
class Tokenizer:
    """Splits raw text into sentences, tokens and words.

    Attributes
    ----------
    token_ends : TokenEnds
    sentence_ends : SentenceEnds
    multiword : MultiwordTokens
    """

    token_ends: TokenEnds
    sentence_ends: SentenceEnds
    multiword: MultiwordTokens

    def split(self, text: str) -> list[Sentence]:
        """The sentences of a text: forms, ``# text``, ``SpaceAfter=No``, and rows for multiword tokens."""
        return [sentence for part in self.split_stream(text.split("\n")) for sentence in part]

    def split_stream(self, lines: Iterable[str]) -> Iterator[list[Sentence]]:
        """The sentences of a text that is given line by line, in lists of some hundred, in flat memory.

        Lines may have their line ends or not. Memory holds one piece of the text, or the longest line if that is
        longer.
        """
        batch: list[tuple[str, bool]] = []  # ends of paragraphs, each with whether it is all of its paragraph
        size = 0  # of the batch
        paragraph, at, is_new = "", 0, True  # what is left of the paragraph begins at ``at``
        for line in chain(lines, [""]):
            if line and not line.isspace():
                line = line.rstrip("\r\n")
                paragraph, at = f"{paragraph[at:]}\n{line}" if at < len(paragraph) else line, 0
                while len(paragraph) - at > PIECE:
                    if batch:
                        yield self._split_batch(batch)
                        batch, size = [], 0
                    sentences, used = self._split_window(paragraph[at : at + PIECE + 1], is_new)
                    yield sentences
                    at, is_new = at + used, False
                continue
            rest = paragraph[at:]
            if rest and not rest.isspace():
                batch.append((rest, is_new))
                size += len(rest)
                if size > PIECE:
                    yield self._split_batch(batch)
                    batch, size = [], 0
            paragraph, at, is_new = "", 0, True
        if batch:
            yield self._split_batch(batch)

    def split_sentences(self, lines: Iterable[str]) -> Iterator[list[Sentence]]:
        """The same for text with one sentence on each line: tokens and words are found, sentence ends are given.

        Blank lines are skipped. Memory holds one piece of the text, or the longest line if that is longer.
        """
        batch: list[str] = []
        size = 0
        for line in lines:
            if line and not line.isspace():
                batch.append(line.rstrip("\r\n"))
                size += len(line)
                if size > PIECE:
                    yield self._sentences(self._spans(batch, find_sentences=False), [False] * len(batch))
                    batch, size = [], 0
        if batch:
            yield self._sentences(self._spans(batch, find_sentences=False), [False] * len(batch))

    def _split_batch(self, batch: Sequence[tuple[str, bool]]) -> list[Sentence]:
        """The sentences of texts, each the end of a paragraph and (True) all of it or not."""
        return self._sentences(self._spans([text for text, _ in batch]), [is_new for _, is_new in batch])

    def _split_window(self, text: str, is_new: bool) -> tuple[list[Sentence], int]:
        """The sentences of a window that are certain to be complete, and the number of characters that they take.

        The last character of ``text`` is the first one behind the window. At least one sentence is found complete.
        """
        found = self._spans([text[:-1]])
        last = np.flatnonzero(found.ends)
        sure = last[found.stops[last] <= PIECE - MARGIN]
        if len(sure) == 0:
            sure = last[: max(1, len(last) - 1)]
        n = int(sure[-1]) + 1
        gaps = found.gaps[:n].copy()
        if gaps[-1] == PARAGRAPH_END:
            gaps[-1] = GAP if text[-1].isspace() else NO_GAP
        kept = Spans(found.text, found.starts[:n], found.stops[:n], found.ends[:n], gaps)
        return self._sentences(kept, [is_new]), int(found.stops[n - 1])

    def _spans(self, texts: list[str], *, find_sentences: bool = True) -> Spans:
        """The tokens of texts, and which of them end sentences."""
        text = read_text(texts)
        last = np.flatnonzero(self.token_ends.predict(text))
        first = np.append(0, last[:-1] + 1)[: len(last)]
        gaps = text.gaps[last]
        ends = self.sentence_ends.predict(text, last + 1) if find_sentences else gaps == PARAGRAPH_END
        return Spans("".join(texts), text.places[first], text.places[last] + 1, ends, gaps)

    def _sentences(self, spans: Spans, is_new: Sequence[bool]) -> list[Sentence]:
        """Sentences of spans; ``is_new`` says for each text in them whether it begins a paragraph."""
        text, inside = spans.text, self.token_ends.spaces_inside
        starts, stops, gaps = spans.starts.tolist(), spans.stops.tolist(), spans.gaps.tolist()
        forms = [text[start:stop] for start, stop in zip(starts, stops, strict=True)]
        if inside:
            forms = [" ".join(form.split()) for form in forms]
        ends = (np.flatnonzero(spans.ends) + 1).tolist()
        words = self.multiword.expand([form for a, b in pairwise([0, *ends]) for form in (*forms[a:b], "")])
        sentences, number, begins = [], 0, True
        for k, (a, b) in enumerate(pairwise([0, *ends])):
            comments = [f"# text = {' '.join(text[starts[a] : stops[b - 1]].split())}"]
            if begins and is_new[number]:
                comments.insert(0, NEW_PARAGRAPH)
            begins = gaps[b - 1] == PARAGRAPH_END
            number += begins
            rows = _rows(forms[a:b], words[a + k : b + k], gaps[a:b])
            sentences.append(Sentence(tuple(comments), rows))
        return sentences

    SCHEMA: ClassVar[Schema] = Schema(
        "Tokenizer",
        "From characters to sentences and words.",
        parts={
            "token_ends": Part(TokenEnds.SCHEMA),
            "sentence_ends": Part(SentenceEnds.SCHEMA),
            "multiword": Part(MultiwordTokens.SCHEMA),
        },
    )

    def to_state(self) -> State:
        """Plain values and arrays, for model files."""
        values: dict[str, Any] = {}
        arrays: dict[str, Any] = {}
        for name, part in self._parts().items():
            values[name], own = part.to_state()
            arrays |= prefixed(name, own)
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; ``ValueError`` or ``KeyError`` for what does not fit together."""
        return cls(
            TokenEnds.from_state(values["token_ends"], without_prefix("token_ends", arrays)),
            SentenceEnds.from_state(values["sentence_ends"], without_prefix("sentence_ends", arrays)),
            MultiwordTokens.from_state(values["multiword"], without_prefix("multiword", arrays)),
        )

    def _parts(self) -> dict[str, TokenEnds | SentenceEnds | MultiwordTokens]:
        return {"token_ends": self.token_ends, "sentence_ends": self.sentence_ends, "multiword": self.multiword}


def _rows(forms: Sequence[str], words: Sequence[tuple[str, ...]], gaps: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    """The rows of a sentence in CoNLL-U."""
    rows: list[tuple[str, ...]] = []
    number = 1
    for form, parts, gap in zip(forms, words, gaps, strict=True):
        misc = NO_SPACE if gap == NO_GAP else "_"
        if len(parts) == 1:
            rows.append((str(number), form, *EMPTY, misc))
            number += 1
            continue
        rows.append((f"{number}-{number + len(parts) - 1}", form, *EMPTY, misc))
        for part in parts:
            rows.append((str(number), part, *EMPTY, "_"))
            number += 1
    return tuple(rows)


def learn_tokenizer(
    sentences: Iterable[Sentence],
    *,
    seed: int = 0,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> Tokenizer:
    """Learn from a treebank, which must have at least one sentence.

    Spaces and paragraphs are taken from ``# text``, ``SpaceAfter=No``, ``# newpar`` and ``# newdoc``
    (:mod:`spectragram.pipeline.raw_text`). The result is the same for any ``n_jobs``.
    """
    known = paragraphs(sentences)
    rng = np.random.default_rng(seed)
    token_ends = learn_token_ends(known, rng=rng, n_jobs=n_jobs, report=report)
    sentence_ends = learn_sentence_ends(known, rng=rng, n_jobs=n_jobs, report=report)
    forms: list[str] = []
    words: list[tuple[str, ...]] = []
    for paragraph in known:
        for token, is_last in zip(paragraph.tokens, paragraph.ends.tolist(), strict=True):
            forms.append(token.form)
            words.append(token.words)
            if is_last:  # neighbours are those in the same sentence
                forms.append("")
                words.append(("",))
    multiword = learn_multiword_tokens(forms, words, rng=rng, n_jobs=n_jobs, report=report)
    return Tokenizer(token_ends, sentence_ends, multiword)
