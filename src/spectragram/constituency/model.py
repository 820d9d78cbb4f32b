"""A grammar with hidden states, and the treebank that learners read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.constituency.lexicon import Lexicon, WordTable
from spectragram.data.productions import UNARY
from spectragram.data.treebank import Treebank
from spectragram.inference.chart_operators import Operators
from spectragram.inference.chart_rules import Rules, make_rules
from spectragram.inference.fixed_tree import Nodes

__all__ = ["Model", "TrainingTrees"]


@dataclass(frozen=True)
class Model:
    """A grammar with hidden states: operators for rules, vectors for words."""

    operators: Operators
    lexicon: Lexicon


@dataclass(frozen=True)
class TrainingTrees:
    """A treebank as the learners read it: words numbered as rows of a word table, rules sorted for the kernels."""

    treebank: Treebank
    rules: Rules
    words: WordTable
    nodes: Nodes

    @classmethod
    def of(cls, treebank: Treebank) -> TrainingTrees:
        """Number the words and mark the nodes that are kept as top items."""
        productions = treebank.productions
        words, row = WordTable.of_treebank(treebank)
        rule = treebank.rule.copy()
        rule[treebank.leaves] = row
        under_unary = np.where(treebank.parent >= 0, treebank.kind[treebank.parent] == UNARY, False)
        kept = ((treebank.kind != UNARY) & ~under_unary).astype(np.uint8)
        nodes = Nodes(
            treebank.kind, treebank.symbol, rule, treebank.left, treebank.right, kept, treebank.offsets.astype(np.int64)
        )
        return cls(
            treebank, make_rules(productions.binary, productions.unary[:, :2], productions.n_symbols), words, nodes
        )
