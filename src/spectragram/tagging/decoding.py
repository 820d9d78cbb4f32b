"""Labels that mark spans: which may follow which, and the best sequence that is well formed.

B-X begins a span of type X, I-X continues it, O is outside; in IOBES, E-X ends a span and S-X is one of a single token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from spectragram.inference.labelled_chain import best_legal_path

__all__ = ["Legal", "best_path", "legal_moves"]

Legal = tuple[np.ndarray, np.ndarray]
"""``may_follow[a, b]``, bool (n_labels, n_labels), and ``may_start[b]``, bool (n_labels,)."""

SLIPS = 0.01
"""Share of exceptions up to which a corpus obeys a rule. Chosen by hand, not tuned: annotated corpora have a few
errors, and other schemes break the rules far more often."""
_SPAN_LABEL = re.compile("O|[BIES]-.+")


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
    probabilities: np.ndarray, offsets: np.ndarray, legal: Legal | None, fixed: np.ndarray | None = None
) -> np.ndarray:
    """The best well-formed labels, or each token's best label where nothing is illegal: int array (n_tokens,).

    Parameters
    ----------
    probabilities : array, shape (n_tokens, n_labels)
    offsets : int array, shape (n_sequences + 1,)
    legal : Legal or None
    fixed : int array, shape (n_tokens,), optional
        Labels that are known; -1 where none is. They are kept even where they break a rule.
    """
    if legal is None:
        return probabilities.argmax(axis=1)
    if fixed is None:
        return best_legal_path(offsets, probabilities, *legal)
    known = fixed >= 0
    # Known labels weigh more than all other tokens together, so the others follow them as well as the rules allow.
    weighted = probabilities + len(fixed) * probabilities * known[:, None]
    return np.where(known, fixed, best_legal_path(offsets, weighted, *legal))
