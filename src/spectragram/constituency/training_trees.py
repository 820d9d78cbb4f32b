"""A treebank as the learners read it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.constituency.lexicon import WordTable
from spectragram.constituency.model import rules_of
from spectragram.data.productions import UNARY
from spectragram.data.treebank import Treebank
from spectragram.inference.chart_rules import Rules
from spectragram.inference.fixed_tree import Nodes

__all__ = ["TrainingTrees"]


@dataclass(frozen=True)
class TrainingTrees:
    """A treebank with its words numbered as rows of a word table and its rules sorted for the kernels."""

    treebank: Treebank
    rules: Rules
    words: WordTable
    nodes: Nodes

    @classmethod
    def of(cls, treebank: Treebank, words: WordTable | None = None) -> TrainingTrees:
        """Number the words, and mark the nodes that are kept as top items (see ``inference.chart_rules``).

        ``words`` is the table of the same trees in another binarisation, so that both can share one object.
        """
        own, row = WordTable.of_treebank(treebank)
        rule = treebank.rule.copy()
        rule[treebank.leaves] = row
        under_unary = np.where(treebank.parent >= 0, treebank.kind[treebank.parent] == UNARY, False)
        kept = ((treebank.kind != UNARY) & ~under_unary).astype(np.uint8)
        nodes = Nodes(
            treebank.kind, treebank.symbol, rule, treebank.left, treebank.right, kept, treebank.offsets.astype(np.int64)
        )
        return cls(treebank, rules_of(treebank.productions), words or own, nodes)
