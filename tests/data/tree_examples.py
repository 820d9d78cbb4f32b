"""Trees for tests: made up by hypothesis, very deep, and those of the real treebanks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hypothesis import strategies as st

from spectragram.data.brackets import read_trees
from spectragram.data.trees import Tree, make_tree

TREEBANKS = ("wsj-sample/clean", "cess-esp", "icepahc")

# Characters that transforms and treebanks use for their own purposes, among ordinary ones.
names = st.text("@|^+\\-=ABé", min_size=1, max_size=4)
tagged_words = st.builds(lambda tag, word: Tree(tag, word=word), names, names)
trees = st.recursive(
    tagged_words,
    lambda below: st.builds(Tree, names, st.lists(below, min_size=1, max_size=5)),
    max_leaves=12,
)

DEPTH = 5000


def deep_tree(*labels: str, depth: int = DEPTH) -> Tree:
    """A tree much deeper than Python's stack, unary and branching to both sides in turn."""
    tree = Tree("NN", word="dog")
    word = Tree("JJ", word="big")
    for level in range(depth):
        children = [(tree,), (word, tree), (tree, word), (word, tree, word)][level % 4]
        tree = make_tree(labels[level % len(labels)], children)
    return tree


def real_trees(data_dir: Path, treebank: str, part: str, step: int = 1) -> Iterator[Tree]:
    """Every ``step``-th tree of a part of a treebank."""
    (path,) = (data_dir / treebank).glob(f"{part}.*")
    return (tree for i, tree in enumerate(read_trees(path)) if i % step == 0)
