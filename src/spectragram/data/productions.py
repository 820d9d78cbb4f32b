"""The symbols and rules of a treebank of binarised trees, as integer tables.

Three kinds of rule rewrite the nodes of such a tree. Tags and phrases have separate symbols even if they share a
name. A chain of phrases with one child each is *one* unary rule that carries the labels in between, so there are
never two unary rules over the same words:

========= ============================== ===============================
kind      rule                           example
========= ============================== ===============================
LEXICAL   tag -> word                    ``NN -> dog``
UNARY     phrase -(chain)-> tag, phrase  ``S -(VP)-> VB``
BINARY    phrase -> left right           ``S -> NP VP``
========= ============================== ===============================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.corpus import Vocabulary
from spectragram.data.trees import Tree, make_tree
from spectragram.errors import InputError
from spectragram.schema import Array, ListOf, Part, Schema, Strings, Text, Whole

__all__ = ["BINARY", "LEXICAL", "UNARY", "Chain", "Productions"]

LEXICAL, UNARY, BINARY = 0, 1, 2
"""Kinds of node, named after the rule that rewrites them; also the number of their children."""

Chain = tuple[str, ...]
"""Labels between the two ends of a unary rule, top first; mostly empty."""


def _rules_fit(values: Mapping[str, Any], arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> str | None:
    """Whether the columns of rules are symbols, words and chains that exist; the upper symbol is a phrase."""
    n_tags, n = sizes["n_tags"], sizes["n_symbols"]
    bounds = {
        "lexical": ((0, n_tags), (0, sizes["n_words"])),
        "unary": ((n_tags, n), (0, n), (0, sizes["n_chains"])),
        "binary": ((n_tags, n), (0, n), (0, n)),
    }
    for name, columns in bounds.items():
        for column, (least, below) in enumerate(columns):
            found = arrays[name][:, column]
            if ((found < least) | (found >= below)).any():
                return f"column {column} of array '{name}' holds a number outside {least} .. {below - 1}"
    return None


@dataclass(frozen=True)
class Productions:
    """The labels, words and rules that trees are made of.

    Attributes
    ----------
    labels : tuple of str
        Label of each symbol: first the tags, then the phrases, each part in alphabetical order.
    n_tags : int
        Symbols below this are tags.
    words : Vocabulary
        Most frequent first.
    chains : tuple of Chain
        The distinct chains in alphabetical order; the first is the empty one.
    lexical : int32 array, shape (n_lexical, 2)
        Tag and word of each lexical rule. All rules are sorted in ascending order.
    unary : int32 array, shape (n_unary, 3)
        Upper symbol, lower symbol and chain of each unary rule.
    binary : int32 array, shape (n_binary, 3)
        Parent, left and right symbol of each binary rule.
    """

    labels: tuple[str, ...]
    n_tags: int
    words: Vocabulary
    chains: tuple[Chain, ...]
    lexical: np.ndarray
    unary: np.ndarray
    binary: np.ndarray

    @property
    def n_symbols(self) -> int:
        """Number of tags and phrases."""
        return len(self.labels)

    @property
    def n_productions(self) -> int:
        """Number of ways to rewrite a node, ignoring words: tags, unary rules and binary rules."""
        return self.n_tags + len(self.unary) + len(self.binary)

    def tree(self, kinds: Iterable[int], symbols: Iterable[int], rules: Iterable[int], words: Iterable[str]) -> Tree:
        """The binarised tree with these nodes, children before parents; words may be unknown.

        Rules are needed only for the chains of unary nodes; everything else follows from the symbols.
        """
        remaining = iter(words)
        built: list[Tree] = []
        for kind, symbol, rule in zip(kinds, symbols, rules, strict=True):
            label = self.labels[symbol]
            if kind == LEXICAL:
                built.append(make_tree(label, (), next(remaining)))
            elif kind == BINARY:
                right, left = built.pop(), built.pop()
                built.append(make_tree(label, (left, right)))
            else:
                node = built.pop()
                for between in reversed(self.chains[self.unary[rule, 2]]):
                    node = make_tree(between, (node,))
                built.append(make_tree(label, (node,)))
        return built.pop()

    SCHEMA: ClassVar[Schema] = Schema(
        "Productions",
        "The labels and rules of one binarisation of a treebank.",
        values={
            "n_tags": Whole("symbols below this are tags", least=1, size="n_tags"),
            "chains": ListOf(ListOf(Text()), "labels between the two ends of unary rules", size="n_chains", least=1),
        },
        arrays={
            "labels": Strings("n_symbols", "label of each symbol: first the tags, then the phrases"),
            "lexical": Array("i4", ("n_lexical", 2), "tag and word of each lexical rule", least=0),
            "unary": Array("i4", ("n_unary", 3), "upper symbol, lower symbol and chain of each unary rule", least=0),
            "binary": Array("i4", ("n_binary", 3), "parent, left and right symbol of each binary rule", least=0),
        },
        parts={"words": Part(Vocabulary.SCHEMA, {"n_words": "n_words"})},
        rule=_rules_fit,
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and arrays (labels and words are lists of strings), as model files hold them."""
        words, word_arrays = self.words.to_state()
        values = {"n_tags": self.n_tags, "words": words, "chains": [list(chain) for chain in self.chains]}
        arrays = {"labels": list(self.labels), "lexical": self.lexical, "unary": self.unary, "binary": self.binary}
        return values, arrays | {f"words.{name}": array for name, array in word_arrays.items()}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; refuses rules over symbols that do not exist."""
        made = cls(
            labels=tuple(arrays["labels"]),
            n_tags=int(values["n_tags"]),
            words=Vocabulary.from_state(
                values["words"], {"words": arrays["words.words"], "counts": arrays["words.counts"]}
            ),
            chains=tuple(tuple(chain) for chain in values["chains"]),
            **{kind: np.asarray(arrays[kind], np.int32) for kind in ("lexical", "unary", "binary")},
        )
        for name, sizes in made.sizes.items():
            rules = getattr(made, name)
            if rules.shape[1:] != (len(sizes),) or (rules < 0).any() or (rules >= sizes).any():
                raise InputError(f"{name} rules that do not fit the labels", remedy="the model file is damaged")
        return made

    @property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The number of possible values of each column of the rules, by kind of rule."""
        n = self.n_symbols
        return {"lexical": (self.n_tags, len(self.words)), "unary": (n, n, len(self.chains)), "binary": (n, n, n)}
