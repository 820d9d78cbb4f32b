"""Numbers of the symbols and rules of a grammar that mean the same in every grammar, made from their names.

Factors are learned beside grammars of parts of the treebank, whose own numbers differ, and over several binarisations.
"""

from __future__ import annotations

from typing import NamedTuple, Self
from zlib import crc32

import numpy as np

from spectragram.data.binarization import base_label, is_intermediate
from spectragram.data.productions import Productions
from spectragram.inference.chart_rules import Forest
from spectragram.inference.rule_factors import Shown

__all__ = ["RuleNumbers"]


def _number(*names: str) -> int:
    return crc32("\t".join(names).encode("utf-8", "surrogatepass"))


class RuleNumbers(NamedTuple):
    """Numbers of what a forest consists of; a kind of link is a kept symbol or, behind those, a unary rule."""

    symbols: np.ndarray  #: int64 (n_symbols,)
    binary: np.ndarray  #: int64 (n_binary,)
    links: np.ndarray  #: int64 (n_kinds,)
    start: np.ndarray  #: int64 (n_kinds + 1,): a kind of link shows ``labels[start[kind]:start[kind + 1]]``
    labels: np.ndarray  #: int64 (n_shown,)

    @classmethod
    def of(cls, productions: Productions) -> Self:
        """The numbers of a grammar with these productions."""
        n_tags = productions.n_tags
        tags = [f"tag {name}" for name in productions.labels[:n_tags]]
        phrases = [f"part of {base_label(a)}" if is_intermediate(a) else a for a in productions.labels[n_tags:]]
        names = tags + phrases
        symbols = np.array([_number(name) for name in names], np.int64)
        binary = [_number(*(names[symbol] for symbol in rule)) for rule in productions.binary.tolist()]
        shown = [[number] for number in symbols.tolist()]
        links = [_number("kept", name) for name in names]
        for upper, lower, chain in productions.unary.tolist():
            above = [names[upper], *map(base_label, productions.chains[chain])]
            shown.append([_number(name) for name in (*above, names[lower])])
            links.append(_number(*above, names[lower]))
        start = np.concatenate([[0], np.cumsum([len(labels) for labels in shown])]).astype(np.int64)
        flat = np.array([label for labels in shown for label in labels], np.int64)
        return cls(symbols, np.array(binary, np.int64), np.array(links, np.int64), start, flat)

    def shown(self, forest: Forest) -> Shown:
        """What the links of a forest show."""
        rule, bottom = forest.links[:, 1], forest.links[:, 2]
        kind = np.where(rule < 0, forest.items[bottom, 0], len(self.symbols) + rule)
        lengths = self.start[kind + 1] - self.start[kind]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        within = np.arange(start[-1]) - np.repeat(start[:-1], lengths)
        return Shown(start, self.labels[np.repeat(self.start[kind], lengths) + within], self.links[kind])
