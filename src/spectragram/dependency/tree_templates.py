"""Templates of the words of a finished tree, from which relations are chosen.

An atom is a node, the letter of a row (:mod:`spectragram.dependency.encoding`) and an offset in the text: ``ht+1`` is
the tag of the word after the head. A star adds the distance to the head, an equals sign the attributes in which word
and head agree or differ. Which side the head is on is part of every feature.

    m    the word itself         p, n   its siblings on both sides
    h    its head                l, r   its first and last modifier
    g    the head of its head

Row ``v`` holds valencies: how many modifiers a word has on the left and on the right. Row ``d`` holds the side of its
head on which a word is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from spectragram.dependency.encoding import LETTERS
from spectragram.dependency.gates import GRADES
from spectragram.inference.tree_factors import tree_places, valencies
from spectragram.learning.factors import split_templates

__all__ = ["TreeTemplates", "label_templates", "pair_templates"]

NODES = "mhgpnlr"
ROWS = LETTERS + "vd"
LABEL_TEMPLATES = """
    mt0   ht0   mt0 *   mt0 ht0   mt0 ht0 *   mt0 ho0   mo0 ht0   mo0 ho0   mt0 mt-1   mt0 mt+1
    mt0 ht0 mt-1 mt+1   mt0 ht0 mt-1   mt0 ht0 mt+1   mt0 ht0 ht-1   mt0 ht0 ht+1   mt0 ht0 ht-1 ht+1
    mt0 ht0 gt0   mt0 ht0 pt0   mt0 ht0 nt0   mt0 ht0 pt0 nt0   mt0 ht0 lt0   mt0 ht0 rt0   mt0 ht0 lt0 rt0
    mt0 ht0 mv0   mt0 ht0 hv0   mt0 mv0 hv0
    mw0   mw0 ht0   mw0 ht0 *   hw0 mt0   hw0 mt0 *   hw0 mw0   mt0 lw0   mt0 ht0 lw0   mt0 rw0   mt0 ht0 rw0
    mt0 ht0 pw0   mt0 ht0 nw0   hw0 mt0 lw0
    mm0   mm0 ht0   hm0 mt0   hm0 mm0   hm0 mt0 lm0   ms0   ms0 ht0   hs0 mt0
    mt0 mf0   mt0 mf0 ht0   mt0 ht0 hf0   mt0 mf0 ht0 hf0   mt0 mk0 ht0 hk0   mt0 mk0 hm0
    mt0 mk0 lm0   mt0 mk0 lw0 ht0   mt0 mk0 ht0 pt0 pk0   mt0 mk0 ht0 nt0 nk0   mt0 mk0 ht0 mv0
    mt0 mk0 ht0 hv0   mt0 ht0 =   mt0 mk0 ht0 =
    me0   me0 ht0   he0 mt0   he0 me0   mb0 hb0   mt0 mb0 ht0   hw0 me0   hm0 mb0   mt0 ht0 le0
"""

PAIR_TEMPLATES = """
    pd0   pd0 ht0   pd0 mt0 pt0   pd0 hm0   pd0 mt0 pt0 ht0   pd0 mk0 pk0 ht0
"""


@dataclass(frozen=True)
class TreeTemplates:
    """A family of templates.

    Attributes
    ----------
    listed : tuple of str
        Their text in the notation above.
    atoms : int64 array, shape (n_templates, n_atoms, 3)
        Node, row and offset of each atom, -1 where there is none.
    graded, agreeing : bool arrays, shape (n_templates,)
        Whether a template looks at the distance, and at agreement.
    """

    listed: tuple[str, ...]
    atoms: np.ndarray = field(init=False, repr=False, compare=False)
    graded: np.ndarray = field(init=False, repr=False, compare=False)
    agreeing: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        split = [[atom for atom in template.split() if atom not in "*="] for template in self.listed]
        if not split:
            raise ValueError("relations without templates")
        atoms = np.full((len(split), max(map(len, split)), 3), -1, np.int64)
        for t, template in enumerate(split):
            for a, atom in enumerate(template):
                atoms[t, a] = NODES.index(atom[0]), ROWS.index(atom[1]), int(atom[2:])
        object.__setattr__(self, "atoms", atoms)
        object.__setattr__(self, "graded", np.array(["*" in template for template in self.listed]))
        object.__setattr__(self, "agreeing", np.array(["=" in template for template in self.listed]))

    def places(self, columns: np.ndarray, heads: np.ndarray, nodes: np.ndarray, size: int) -> np.ndarray:
        """Where the features of every word lie in a table of ``size`` weights, (n, t).

        columns (n_rows, n), heads (n,) int64 as in CoNLL-U, nodes (7, n) those of the same tree.
        """
        n = len(heads)
        side = (heads > np.arange(1, n + 1)).astype(np.int64)
        rows = np.vstack([columns[: len(LETTERS)], valencies(heads), side])
        attributes = np.ascontiguousarray(columns[len(LETTERS) :].T)
        grades = np.searchsorted(GRADES, np.arange(n), side="right").astype(np.int64)
        return tree_places(rows, nodes, self.atoms, grades, self.graded, attributes, self.agreeing, size)


def label_templates(letters: str) -> TreeTemplates:
    """The templates of words that look at nothing but the rows with these letters."""
    return _select(LABEL_TEMPLATES, letters)


def pair_templates(letters: str) -> TreeTemplates:
    """The templates of a word and the sibling before it."""
    return _select(PAIR_TEMPLATES, letters)


def _select(text: str, letters: str) -> TreeTemplates:
    usable = set(letters) | set("vd*")
    return TreeTemplates(
        tuple(one for one in split_templates(text) if {atom[1:2] or atom for atom in one.split()} <= usable)
    )
