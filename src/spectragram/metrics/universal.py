"""Scores of annotated text against gold, as the CoNLL 2018 shared task on parsing from raw text defines them.

A system may split the text in other places than the gold annotation does, so there is no word-by-word comparison.
Both sides are laid over the same characters (white space does not count), and words that stand for the same characters
are *aligned*; inside multiword tokens, whose words have no characters of their own, words are aligned by their forms
(the longest common subsequence). Every score is an F1: 2 correct / (gold + predicted).

    tokens, sentences   spans of characters that agree
    words               aligned words
    upos .. lemmas      aligned words that agree in a column (features: the universal ones only)
    uas, las            ... whose heads are aligned to each other, and whose relations agree (without subtypes)
    clas mlas blex      las of content words; with the tags, features and function words of each; with its lemma
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from spectragram.errors import InputError
from spectragram.metrics.ratios import percent

__all__ = ["UNIVERSAL_SCORES", "universal_scores"]

# fmt: off
UNIVERSAL_SCORES = (
    "tokens", "sentences", "words", "upos", "xpos", "ufeats", "alltags", "lemmas", "uas", "las", "clas", "mlas",
    "blex",
)
"""The keys of :func:`universal_scores`, in the order of the shared task's table."""
FEATURES = frozenset((
    "PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number", "Case", "Definite",
    "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person", "Polite",
))
"""The universal features of the shared task; others do not count."""
CONTENT = frozenset((
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl", "advmod",
    "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound", "list",
    "parataxis", "orphan", "goeswith", "reparandum", "root", "dep",
))
FUNCTION = frozenset(("aux", "cop", "mark", "det", "clf", "case", "cc"))
"""Relations of content words and of function words in the shared task."""
# fmt: on
SHOWN = 20
"""Characters that a message shows of texts that differ."""

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL = range(8)
Rows = Sequence[Sequence[str]]
"""The lines of a sentence in CoNLL-U, ten columns each."""
Span = tuple[int, int]


@dataclass(eq=False)
class _Word:
    """A word over characters span[0] .. span[1] - 1; those of a multiword token share its span."""

    span: Span
    in_multiword: bool
    row: Sequence[str]
    features: str = ""
    relation: str = ""
    head: _Word | None = None
    function_words: list[_Word] = field(default_factory=list)

    def __post_init__(self) -> None:
        known = sorted(pair for pair in self.row[FEATS].split("|") if pair.split("=", 1)[0] in FEATURES)
        self.features = "|".join(known)
        self.relation = self.row[DEPREL].split(":")[0]

    @property
    def is_content(self) -> bool:
        return self.relation in CONTENT


@dataclass
class _Text:
    """An annotated text over its characters."""

    characters: str
    tokens: list[Span]
    sentences: list[Span]
    words: list[_Word]


def universal_scores(gold: Iterable[Rows], predicted: Iterable[Rows]) -> dict[str, float]:
    """All scores in percent, by the names in :data:`UNIVERSAL_SCORES`.

    Parameters
    ----------
    gold, predicted : iterables of sentences
        Each sentence is the rows of CoNLL-U, ten columns each, multiword tokens included. Both texts must consist of
        the same characters, apart from white space; they may be split differently.

    >>> row = lambda i, form, head: (str(i), form, "_", "X", "_", "_", str(head), "dep", "_", "_")
    >>> scores = universal_scores([[row(1, "no", 0), row(2, "body", 1)]], [[row(1, "nobody", 0)]])
    >>> scores["words"], scores["sentences"]
    (0.0, 100.0)
    """
    ours, theirs = _laid_out(gold), _laid_out(predicted)
    _require_same_characters(ours.characters, theirs.characters)
    pairs = _aligned(ours.words, theirs.words)
    gold_of = {guess: right for right, guess in pairs}

    def aligned_head(guess: _Word) -> _Word | str | None:
        return None if guess.head is None else gold_of.get(guess.head, "not aligned")

    def has_head(right: _Word, guess: _Word) -> bool:
        is_known = "_" not in (right.row[HEAD], guess.row[HEAD])
        return is_known and right.head is aligned_head(guess)

    def has_arc(right: _Word, guess: _Word) -> bool:
        return has_head(right, guess) and right.relation == guess.relation

    def has_column(*columns: int) -> Callable[[_Word, _Word], bool]:
        return lambda right, guess: all(right.row[c] == guess.row[c] for c in columns)

    def has_features(right: _Word, guess: _Word) -> bool:
        return right.features == guess.features

    def has_lemma(right: _Word, guess: _Word) -> bool:
        return right.row[LEMMA] in ("_", guess.row[LEMMA])

    def has_function_words(right: _Word, guess: _Word) -> bool:
        return [(w, w.relation, w.row[UPOS], w.features) for w in right.function_words] == [
            (gold_of.get(w), w.relation, w.row[UPOS], w.features) for w in guess.function_words
        ]

    has_upos, has_tags = has_column(UPOS), has_column(UPOS, XPOS)
    tests: dict[str, Callable[[_Word, _Word], bool]] = {
        "words": lambda *_: True,
        "upos": has_upos,
        "xpos": has_column(XPOS),
        "ufeats": has_features,
        "alltags": lambda *pair: has_tags(*pair) and has_features(*pair),
        "lemmas": has_lemma,
        "uas": has_head,
        "las": has_arc,
        "clas": has_arc,
        "mlas": lambda *pair: has_arc(*pair) and has_upos(*pair) and has_features(*pair) and has_function_words(*pair),
        "blex": lambda *pair: has_arc(*pair) and has_lemma(*pair),
    }
    scores = {"tokens": _common(ours.tokens, theirs.tokens), "sentences": _common(ours.sentences, theirs.sentences)}
    for name, test in tests.items():
        of_content = name in ("clas", "mlas", "blex")
        counted = [pair for pair in pairs if pair[0].is_content] if of_content else pairs
        totals = [sum(w.is_content for w in side.words) if of_content else len(side.words) for side in (ours, theirs)]
        scores[name] = percent(2 * sum(test(*pair) for pair in counted), sum(totals))
    return scores


def _laid_out(sentences: Iterable[Rows]) -> _Text:
    """Sentences over the characters of their tokens."""
    text = _Text("", [], [], [])
    pieces: list[str] = []
    at = 0
    for rows in sentences:
        begin, first, last_of_range = at, len(text.words), 0
        span = (at, at)
        for row in rows:
            if "." in row[ID]:  # an empty node
                continue
            if "-" not in row[ID] and int(row[ID]) <= last_of_range:
                text.words.append(_Word(span, True, row))
                continue
            piece = "".join(row[FORM].split())
            span = (at, at + len(piece))
            at = span[1]
            pieces.append(piece)
            text.tokens.append(span)
            if "-" in row[ID]:
                last_of_range = int(row[ID].split("-")[1])
            else:
                text.words.append(_Word(span, False, row))
        text.sentences.append((begin, at))
        _link(text.words[first:])
    text.characters = "".join(pieces)
    return text


def _link(words: list[_Word]) -> None:
    """Connect the words of a sentence to their heads, and content words to their function words."""
    for word in words:
        head = word.row[HEAD]
        if head.isdigit() and 0 < int(head) <= len(words):
            word.head = words[int(head) - 1]
            if word.relation in FUNCTION:
                word.head.function_words.append(word)


def _require_same_characters(gold: str, predicted: str) -> None:
    if gold != predicted:
        same = next((k for k, (a, b) in enumerate(zip(gold, predicted, strict=False)) if a != b), None)
        at = min(len(gold), len(predicted)) if same is None else same
        raise InputError(
            f"the texts differ after {at} characters: gold {gold[at : at + SHOWN]!r}, "
            f"predicted {predicted[at : at + SHOWN]!r}",
            remedy="compare annotations of the same text",
        )


def _common(gold: list[Span], predicted: list[Span]) -> float:
    return percent(2 * len(set(gold) & set(predicted)), len(gold) + len(predicted))


def _aligned(gold: list[_Word], predicted: list[_Word]) -> list[tuple[_Word, _Word]]:
    """Pairs of words that stand for the same characters, from left to right."""
    pairs: list[tuple[_Word, _Word]] = []
    g = p = 0
    while g < len(gold) and p < len(predicted):
        right, guess = gold[g], predicted[p]
        if right.in_multiword or guess.in_multiword:
            g, p, g_end, p_end = _stretch(gold, predicted, g, p)
            pairs += _longest_common(gold[g:g_end], predicted[p:p_end])
            g, p = g_end, p_end
        elif right.span == guess.span:
            pairs.append((right, guess))
            g, p = g + 1, p + 1
        elif right.span[0] <= guess.span[0]:
            g += 1
        else:
            p += 1
    return pairs


def _stretch(gold: list[_Word], predicted: list[_Word], g: int, p: int) -> tuple[int, int, int, int]:
    """The words from g and p on that multiword tokens of either side cover: where they begin and end on both sides.

    A token of one side may overlap one of the other side, which then goes on; so the stretch grows until both sides are
    beyond its end.
    """
    right, guess = gold[g], predicted[p]
    if right.in_multiword:
        end = right.span[1]
        p += not guess.in_multiword and guess.span[0] < right.span[0]
    else:
        end = guess.span[1]
        g += right.span[0] < guess.span[0]
    first_g, first_p = g, p

    def is_beyond(words: list[_Word], k: int) -> bool:
        if k >= len(words):
            return True
        begin, stop = words[k].span
        return begin >= end if words[k].in_multiword else stop > end

    while not (is_beyond(gold, g) and is_beyond(predicted, p)):
        if g < len(gold) and (p >= len(predicted) or gold[g].span[0] <= predicted[p].span[0]):
            taken, g = gold[g], g + 1
        else:
            taken, p = predicted[p], p + 1
        if taken.in_multiword:
            end = max(end, taken.span[1])
    return first_g, first_p, g, p


def _longest_common(gold: list[_Word], predicted: list[_Word]) -> list[tuple[_Word, _Word]]:
    """Pairs of the longest common subsequence of lower-cased forms."""
    a, b = ([word.row[FORM].lower() for word in side] for side in (gold, predicted))
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for g in reversed(range(len(a))):
        for p in reversed(range(len(b))):
            best[g][p] = 1 + best[g + 1][p + 1] if a[g] == b[p] else max(best[g + 1][p], best[g][p + 1])
    pairs, g, p = [], 0, 0
    while g < len(a) and p < len(b):
        if a[g] == b[p]:
            pairs.append((gold[g], predicted[p]))
            g, p = g + 1, p + 1
        elif best[g][p] == best[g + 1][p]:
            g += 1
        else:
            p += 1
    return pairs
