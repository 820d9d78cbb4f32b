"""Attachment scores of dependency trees: how many words got the right head, and the right label too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spectragram.metrics.ratios import paired_tokens, percent

__all__ = ["PUNCTUATION_TAGS", "attachment_scores"]

#: Universal Dependencies' PUNCT, the 12-tag set's ".", and the Penn tags that evaluations usually leave out.
PUNCTUATION_TAGS = frozenset(["PUNCT", ".", ",", ":", "``", "''"])

Hits = list[list[bool]]


def attachment_scores(
    gold_heads: Iterable[Sequence[int]],
    predicted_heads: Iterable[Sequence[int]],
    *,
    tags: Iterable[Sequence[str]] | None = None,
    gold_labels: Iterable[Sequence[str]] | None = None,
    predicted_labels: Iterable[Sequence[str]] | None = None,
) -> dict[str, float]:
    """Unlabelled and labelled attachment in percent, with and without punctuation, and exact match.

    Parameters
    ----------
    gold_heads, predicted_heads : iterables of int sequences, one per sentence
        Head of each word (1-based, 0 for the root, as CoNLL-U has it).
    tags : iterable of str sequences, optional
        Gold tags; words tagged as in ``PUNCTUATION_TAGS`` are what the ``_nopunct`` scores leave out.
    gold_labels, predicted_labels : iterables of str sequences, optional
        Relations, compared as they stand (strip subtypes first where those should not count).

    Returns
    -------
    dict
        ``uas exact sentences tokens``; with tags ``uas_nopunct``; with labels ``las``; with both
        ``las_nopunct``. ``exact`` is about heads: the percentage of sentences that have all of them right.

    >>> scores = attachment_scores([[2, 0, 2]], [[2, 0, 1]], tags=[["PRON", "VERB", "PUNCT"]])
    >>> round(scores["uas"], 1), scores["uas_nopunct"], scores["exact"]
    (66.7, 100.0, 0.0)
    """
    gold_listed = list(gold_heads)
    right = _hits(gold_listed, predicted_heads, "heads")
    scored = {"uas": right}
    if gold_labels is not None and predicted_labels is not None:
        labels = _hits(gold_labels, predicted_labels, "labels")
        scored["las"] = [[a and b for a, b in pair] for pair in paired_tokens(right, labels, "labels")]

    scores = {name: _share(hits) for name, hits in scored.items()}
    if tags is not None:
        tagged = [[tag for _, tag in pair] for pair in paired_tokens(gold_listed, tags, "tags")]
        words = [[tag not in PUNCTUATION_TAGS for tag in sentence] for sentence in tagged]
        scores |= {f"{name}_nopunct": _share(_where(hits, words)) for name, hits in scored.items()}
    scores["exact"] = percent(sum(all(sentence) for sentence in right), len(right))
    return scores | {"sentences": len(right), "tokens": sum(map(len, right))}


def _hits(gold: Iterable[Sequence[object]], predicted: Iterable[Sequence[object]], what: str) -> Hits:
    """Sentence by sentence, which tokens agree."""
    return [[a == b for a, b in pair] for pair in paired_tokens(gold, predicted, what)]


def _share(hits: Hits) -> float:
    """Percentage of true entries."""
    return percent(sum(map(sum, hits)), sum(map(len, hits)))


def _where(hits: Hits, mask: Hits) -> Hits:
    """Only the entries at which the mask is true."""
    return [[hit for hit, keep in zip(*pair, strict=True) if keep] for pair in zip(hits, mask, strict=True)]
