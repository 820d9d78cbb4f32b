"""Which labels may follow which, where labels mark spans: B-X begins one, I-X goes on, O is outside, E-X, S-X end."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

__all__ = ["legal_moves"]

_SPAN_LABEL = re.compile("O|[BIES]-.+")
SLIPS = 0.01
"""Share of exceptions up to which a corpus obeys a rule."""


def legal_moves(
    labels: Sequence[str], encoded: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """``may_follow[a, b]`` and ``may_start[b]``, or None where labels mark no spans.

    Two rules: I-X and E-X need a span of type X open before them (IOB2, IOBES); what follows B-X and I-X must go on
    with the span (IOBES only). Each holds only if the training data, ``encoded`` with ``offsets``, obeys it but for
    a few slips, so that IOB1 and home-made schemes are left free.
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
