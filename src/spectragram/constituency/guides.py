"""The forest of one binarisation guides the chart of another: what the first one pruned is not built again.

This works from a right-branching binarisation to a left-branching one (:mod:`spectragram.inference.chart_guide`).
Weights of the coarse grammars differ a little, so their charts do too; members judge what is left.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from spectragram.data.binarization import base_label, is_intermediate
from spectragram.data.productions import Productions
from spectragram.inference.chart_guide import guided_mask
from spectragram.inference.chart_rules import Forest, Rules, SpanMask

__all__ = ["Guide"]


class Guide(NamedTuple):
    """How the symbols of one grammar are called in another one."""

    same: np.ndarray  #: int64 (n_first_symbols,): the symbol with the same name, or -1
    part: np.ndarray  #: int64 (n_symbols,): the intermediate symbol of the parts of a phrase, or -1
    rules: Rules  #: of the grammar that is guided

    @classmethod
    def between(cls, first: Productions, second: Productions, rules: Rules) -> Self | None:
        """From one grammar to another, or None unless the first branches to the right and the second to the left."""
        if _intermediate_children(first)[0] or _intermediate_children(second)[1]:
            return None
        number = {name: symbol for symbol, name in enumerate(second.labels)}
        # A label may be called like a tag; only symbols of the same kind are the same.
        same = [
            found if found >= 0 and (found < second.n_tags) == (symbol < first.n_tags) else -1
            for symbol, found in enumerate(number.get(name, -1) for name in first.labels)
        ]
        parts = {
            base_label(name): symbol
            for name, symbol in number.items()
            if symbol >= second.n_tags and is_intermediate(name)
        }
        part = [
            -1 if symbol < second.n_tags or is_intermediate(name) else parts.get(base_label(name), -1)
            for symbol, name in enumerate(second.labels)
        ]
        return cls(np.array(same, np.int64), np.array(part, np.int64), rules)

    def mask(self, n: int, forest: Forest) -> SpanMask:
        """What the chart of n words may build, given the forest of the first grammar."""
        return guided_mask(n, forest, self.same, self.part, self.rules)


def _intermediate_children(productions: Productions) -> tuple[bool, bool]:
    """Whether an intermediate symbol is the left child of some rule, and the right one."""
    labels, n_tags = productions.labels, productions.n_tags
    intermediate = np.array([symbol >= n_tags and is_intermediate(name) for symbol, name in enumerate(labels)])
    left, right = (intermediate[productions.binary[:, side]].any() for side in (1, 2))
    return bool(left), bool(right)
