"""Attachment scores of dependency trees: the share of words with the right head, and with the right label as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spectragram.metrics.ratios import paired_tokens, percent

__all__ = ["PUNCTUATION_TAGS", "attachment_scores"]

#: PUNCT of Universal Dependencies, "." of the 12-tag set, and the Penn tags that evaluations usually exclude.
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
    """Unlabelled and labelled attachment scores, with and without punctuation, and exact matches, in percent.

    Parameters
    ----------
    gold_heads, predicted_heads : iterables of int sequences, one per sentence
        The head of each word, counted from 1, with 0 for the root, as in CoNLL-U.
    tags : iterable of str sequences, optional
        Gold tags. The ``_nopunct`` scores exclude words whose tag is in ``PUNCTUATION_TAGS``.
    gold_labels, predicted_labels : iterables of str sequences, optional
        Relations, which are compared as they are. Strip subtypes first if they should not count.

    Returns
    -------
    dict
        ``uas exact sentences tokens``; with tags also ``uas_nopunct``, with labels also ``las``, and with both also
        ``las_nopunct``. ``exact`` is the percentage of sentences in which all heads are right.

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
    """For each sentence, which of its tokens agree."""
    return [[a == b for a, b in pair] for pair in paired_tokens(gold, predicted, what)]


def _share(hits: Hits) -> float:
    """Percentage of true entries."""
    return percent(sum(map(sum, hits)), sum(map(len, hits)))


def _where(hits: Hits, mask: Hits) -> Hits:
    """The entries for which the mask is true."""
    return [[hit for hit, keep in zip(*pair, strict=True) if keep] for pair in zip(hits, mask, strict=True)]
