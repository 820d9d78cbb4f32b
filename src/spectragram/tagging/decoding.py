"""Labels that mark spans: which may follow which, and the best sequence that is well formed.

B-X begins a span of type X, I-X continues it, O is outside; in IOBES, E-X ends a span and S-X is one of a single token.

Spans are scored by F1, and the most probable labels are not those with the best expected F1: where most spans are
missed, it pays to guess more of them. If F is the best F1 that can be reached, a decision is worth making whenever its
probability exceeds F/2 (Lipton, Elkan & Naryanaswamy 2014, theorem 1). So the probability of O is multiplied by

    tau / (1 - tau),    tau = F / 2,

with the F that a part of the training data shows. At F = 1 that is 1, and nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from spectragram.inference.labelled_chain import best_legal_path
from spectragram.metrics import span_scores

__all__ = ["OUTSIDE", "Legal", "best_path", "legal_moves", "marks_spans", "weigh_outside", "weight_of_outside"]

Legal = tuple[np.ndarray, np.ndarray]
"""``may_follow[a, b]``, bool (n_labels, n_labels), and ``may_start[b]``, bool (n_labels,)."""

SLIPS = 0.01
"""Share of exceptions up to which a corpus obeys a rule. Chosen by hand, not tuned: annotated corpora have a few
errors, and other schemes break the rules far more often."""
OUTSIDE = "O"
LEAST_THRESHOLD = 0.1
"""Smallest tau. Chosen by hand, not tuned: a few held-out spans may all be missed, and then tau says nothing."""
ROUNDS = 2
"""How often F and tau are computed in turn; tau changes little after the first time."""
_SPAN_LABEL = re.compile("O|[BIES]-.+")


def marks_spans(labels: Sequence[str]) -> bool:
    """Whether labels are O and others of the form B-X, I-X, E-X or S-X."""
    return OUTSIDE in labels and len(labels) > 1 and all(_SPAN_LABEL.fullmatch(label) for label in labels)


def legal_moves(labels: Sequence[str], encoded: np.ndarray, offsets: np.ndarray) -> Legal | None:
    """Which labels may follow which and which may begin a sequence; None where labels mark no spans.

    Parameters
    ----------
    labels : sequence of str
        Names of labels.
    encoded : int array, shape (n_tokens,)
        Labels of the training data.
    offsets : int array, shape (n_sequences + 1,)

    There are two rules: I-X and E-X need an open span of type X before them (IOB2, IOBES); after B-X and I-X the span
    must go on (IOBES only). Each holds only if the training data obey it with few exceptions, so IOB1 and schemes of
    one's own are not constrained.
    """
    if not any(label != "O" for label in labels) or not all(_SPAN_LABEL.fullmatch(label) for label in labels):
        return None
    parts = [(label[0], label[2:]) for label in labels]
    continues = np.array([[p in "BI" and q in "IE" and s == t for q, t in parts] for p, s in parts])
    goes_on = np.array([q in "IE" for q, _ in parts])
    is_open = np.array([p in "BI" for p, _ in parts])
    lengths = np.diff(offsets)
    inner = np.ones(len(encoded), bool)
    inner[offsets[1:][lengths > 0] - 1] = False
    here = np.flatnonzero(inner)
    a, b = encoded[here], encoded[here + 1]
    first = encoded[offsets[:-1][lengths > 0]]
    may_follow, may_start = np.ones(continues.shape, bool), np.ones(len(parts), bool)
    slips = int((goes_on[b] & ~continues[a, b]).sum() + goes_on[first].sum())
    if slips <= SLIPS * goes_on[encoded].sum():
        may_follow &= continues | ~goes_on[None, :]
        may_start &= ~goes_on
    slips = int((is_open[a] & ~continues[a, b]).sum())
    if slips <= SLIPS * is_open[encoded].sum():
        may_follow &= continues | ~is_open[:, None]
    return None if may_follow.all() and may_start.all() else (may_follow, may_start)


def best_path(
    probabilities: np.ndarray, offsets: np.ndarray, legal: Legal | None, allowed: np.ndarray | None = None
) -> np.ndarray:
    """The best well-formed labels, or each token's best label where nothing is illegal: int array (n_tokens,).

    Parameters
    ----------
    probabilities : array, shape (n_tokens, n_labels)
        Zero for labels that are not allowed.
    offsets : int array, shape (n_sequences + 1,)
    legal : Legal or None
    allowed : bool array, shape (n_tokens, n_labels), optional
        The labels that tokens may have. They are obeyed even where that breaks a rule.
    """
    if legal is None:
        return probabilities.argmax(axis=1)
    if allowed is None:
        return best_legal_path(offsets, probabilities, *legal)
    known = np.flatnonzero(~allowed.all(axis=1))
    # Known labels weigh more than all other tokens together, so the others follow them as well as the rules allow.
    weighted = probabilities.copy()
    weighted[known] += len(allowed) * allowed[known]
    path = best_legal_path(offsets, weighted, *legal)
    return np.where(allowed[np.arange(len(path)), path], path, probabilities.argmax(axis=1))


def weigh_outside(probabilities: np.ndarray, labels: Sequence[str], weight: float) -> np.ndarray:
    """Distributions over labels, (n_tokens, n_labels), after multiplying the probability of O by ``weight``."""
    if weight == 1.0:
        return probabilities
    weighted = probabilities.copy()
    weighted[:, labels.index(OUTSIDE)] *= weight
    return weighted / weighted.sum(axis=1, keepdims=True)


def weight_of_outside(
    marginals: np.ndarray, gold: np.ndarray, offsets: np.ndarray, labels: Sequence[str], legal: Legal | None
) -> float:
    """tau / (1 - tau) from held-out sequences.

    Parameters
    ----------
    marginals : array, shape (n_tokens, n_labels)
        Rows sum to one, or to zero where nothing is known.
    gold : int array, shape (n_tokens,)
    offsets : int array, shape (n_sequences + 1,)
    """

    def named(numbers: np.ndarray) -> list[list[str]]:
        names = [labels[i] for i in numbers.tolist()]
        return [names[a:b] for a, b in pairwise(offsets.tolist())]

    truth, weight = named(gold), 1.0
    for _ in range(ROUNDS):
        found = best_path(weigh_outside(marginals, labels, weight), offsets, legal)
        tau = max(span_scores(truth, named(found))["f1"] / 200, LEAST_THRESHOLD)
        weight = tau / (1 - tau)
    return weight
