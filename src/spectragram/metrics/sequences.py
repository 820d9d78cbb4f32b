"""Scores for sequence labelling: accuracy on all tokens and on unknown words, scores per label, and labelled spans.

Spans are read as in conlleval. A span of type X starts at ``B-X`` or ``S-X``. It also starts at any other prefix with
type X if no span of type X is open: after O, after another type, after ``E-`` or ``S-``, or at the start of the
sentence. Thus IOB2, IOB1 (``I-`` at the start of a span, ``B-`` only between adjacent spans) and IOBES are all read
correctly, and invalid sequences from a tagger are read as the spans that a person would see in them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence

from spectragram.metrics.ratios import f1, paired_tokens, percent

__all__ = ["label_table", "labelled_spans", "span_scores", "span_table", "tagging_scores"]

_OUTSIDE = "O"
_STARTS = frozenset("BS")
_ENDS = frozenset("ES")
_PREFIXES = frozenset("BIES")

Labels = Iterable[Sequence[str]]


def tagging_scores(
    gold: Labels,
    predicted: Labels,
    *,
    words: Iterable[Sequence[str]] | None = None,
    known: Container[str] | None = None,
) -> dict[str, float]:
    """Token accuracy, accuracy on unknown words, and span scores if the gold labels are spans, in percent.

    Parameters
    ----------
    gold, predicted : iterables of str sequences
        The labels of each sentence.
    words : iterable of str sequences, optional
        The words of each sentence.
    known : container of str, optional
        The training vocabulary. Unknown words are scored if both ``words`` and ``known`` are given.

    Returns
    -------
    dict
        ``accuracy exact sentences tokens``; with words also ``unknown_accuracy unknown``; if every gold label is O or
        a prefix with a type (``B-NP``), also ``span_f1 span_precision span_recall``.
    """
    gold, predicted = list(gold), list(predicted)
    hits = [[a == b for a, b in pair] for pair in paired_tokens(gold, predicted, "labels")]
    n_tokens = sum(map(len, hits))
    scores: dict[str, float] = {"accuracy": percent(sum(map(sum, hits)), n_tokens)}
    if words is not None and known is not None:
        unknown = [hit for pair in paired_tokens(hits, words, "words") for hit, word in pair if word not in known]
        scores["unknown_accuracy"] = percent(sum(unknown), len(unknown))
        scores["unknown"] = len(unknown)
    if _are_spans({label for sentence in gold for label in sentence}):
        scores |= {f"span_{name}": value for name, value in span_scores(gold, predicted).items()}
    scores["exact"] = percent(sum(map(all, hits)), len(hits))
    return scores | {"sentences": len(hits), "tokens": n_tokens}


def label_table(gold: Labels, predicted: Labels) -> dict[str, dict[str, float]]:
    """For each label: precision, recall and F1 over tokens in percent, and support; frequent labels first."""
    tokens = [pair for sentence in paired_tokens(gold, predicted, "labels") for pair in sentence]
    return _table(
        matched=Counter(a for a, b in tokens if a == b),
        gold=Counter(a for a, _ in tokens),
        predicted=Counter(b for _, b in tokens),
    )


def labelled_spans(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    """The spans (type, start, end) in order; ``end`` is exclusive.

    >>> labelled_spans(["B-NP", "I-NP", "I-VP", "O", "I-NP"])
    [('NP', 0, 2), ('VP', 2, 3), ('NP', 4, 5)]
    """
    spans = []
    start, open_kind, open_prefix = 0, "", _OUTSIDE
    for position, label in enumerate([*labels, _OUTSIDE]):
        prefix, _, kind = label.partition("-")
        breaks = prefix in _STARTS or prefix == _OUTSIDE or kind != open_kind or open_prefix in _ENDS
        if open_prefix != _OUTSIDE and breaks:
            spans.append((open_kind, start, position))
        if prefix != _OUTSIDE and (breaks or open_prefix == _OUTSIDE):
            start = position
        open_kind, open_prefix = kind, prefix
    return spans


def span_scores(gold: Labels, predicted: Labels) -> dict[str, float]:
    """``precision recall f1`` in percent; a span is right if its type, start and end are right."""
    matched, n_gold, n_predicted = (counts.total() for counts in _count_spans(gold, predicted))
    precision, recall = percent(matched, n_predicted), percent(matched, n_gold)
    return {"precision": precision, "recall": recall, "f1": f1(precision, recall)}


def span_table(gold: Labels, predicted: Labels) -> dict[str, dict[str, float]]:
    """For each type: precision, recall and F1 over spans in percent, and support; frequent types first."""
    return _table(*_count_spans(gold, predicted))


def _count_spans(gold: Labels, predicted: Labels) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Number of spans of each type that are in both, in the gold labels, and in the prediction."""
    matched: Counter[str] = Counter()
    in_gold: Counter[str] = Counter()
    in_predicted: Counter[str] = Counter()
    for pairs in paired_tokens(gold, predicted, "labels"):
        truth = labelled_spans([a for a, _ in pairs])
        guess = labelled_spans([b for _, b in pairs])
        in_gold.update(kind for kind, _, _ in truth)
        in_predicted.update(kind for kind, _, _ in guess)
        matched.update(kind for kind, _, _ in set(truth).intersection(guess))
    return matched, in_gold, in_predicted


def _table(matched: Counter[str], gold: Counter[str], predicted: Counter[str]) -> dict[str, dict[str, float]]:
    rows = {}
    for label in sorted(gold | predicted, key=lambda label: (-gold[label], label)):
        precision = percent(matched[label], predicted[label])
        recall = percent(matched[label], gold[label])
        rows[label] = {
            "precision": precision,
            "recall": recall,
            "f1": f1(precision, recall),
            "support": gold[label],
        }
    return rows


def _are_spans(labels: set[str]) -> bool:
    """Whether all labels look like B-X, I-X, ... or O, and at least one is not O."""
    parts = [label.partition("-") for label in labels if label != _OUTSIDE]
    return bool(parts) and all(prefix in _PREFIXES and dash for prefix, dash, _ in parts)
