"""Bracketed trees <-> text: one tree per line, or Penn Treebank ``.mrg`` with trees over several lines.

Besides plain ``(label child ...)`` a file may contain:

- an outer bracket without a label, ``( (S ...) )``, which gets the label ``TOP``;
- words without a tag of their own, ``(NP the (NN dog))``, which get the tag ``X``;
- traces, functional tags and indices, which are kept; :func:`clean` removes them;
- parentheses as words, written ``-LRB-`` and ``-RRB-``, which are kept too (see :func:`unescape_word`).

Anything else is an :class:`~spectragram.errors.InputError` with file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from spectragram.data.trees import ROOT, UNTAGGED, Tree, fold, make_tree
from spectragram.errors import InputError
from spectragram.files import SEPARATORS, Source, output, read_lines

__all__ = [
    "EMPTY_TAG",
    "clean",
    "escape_word",
    "parse_tree",
    "plain_label",
    "read_trees",
    "unescape_word",
    "write_trees",
]

MAX_TREE_CHARACTERS = 1 << 28
"""A longer tree (256 million characters) is refused: a bracket is missing, or the file is not a treebank."""

EMPTY_TAG = "-NONE-"
"""Tag of traces and other empty elements in the Penn Treebank."""

_FUNCTION = re.compile(r"(?<=.)[-=|].*")
_ESCAPED = re.compile("-LRB-|-RRB-")

_TOKEN = rf"[^{SEPARATORS}()]"
_GAP = rf"[{SEPARATORS}]*"
# One match per node: "(tag word)" whole, else "(" with its label if any, else a word without a tag, else ")".
_PIECES = re.compile(rf"\({_GAP}({_TOKEN}+)[{SEPARATORS}]+({_TOKEN}+){_GAP}\)|(\(){_GAP}({_TOKEN}*)|({_TOKEN}+)|\)")


class _Malformed(Exception):
    """A problem with a text, and the number of the piece where it is."""

    def __init__(self, problem: str, piece: int, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.piece = piece
        self.remedy = remedy


def parse_tree(text: str) -> Tree:
    """The only tree in ``text``.

    >>> parse_tree("(NP (DT the) (NN dog))").leaves()
    ['the', 'dog']
    """
    if "\0" in text:
        raise InputError("a NUL character", remedy="give a bracketed tree")
    trees = _Builder().parse(text, None, 1)
    if len(trees) != 1:
        raise InputError(f"{len(trees)} trees where one was expected", remedy="give one bracketed tree")
    return trees[0]


def read_trees(source: Source) -> Iterator[Tree]:
    """Read bracketed trees one by one, from a plain or gzipped file or standard input (``"-"``)."""
    builder = _Builder()
    empty = True
    for first_line, text in _balanced_blocks(source):
        for tree in builder.parse(text, source, first_line):
            empty = False
            yield tree
    if empty:
        raise InputError("contains no trees", path=source, remedy="give bracketed trees, e.g. (TOP (S ...))")


def write_trees(trees: Iterable[Tree], target: Source | None = None) -> int:
    """Write one tree per line to a file, atomically, or to standard output (None, ``"-"``); return their number."""
    n_trees = 0
    with output(target) as stream:
        for tree in trees:
            stream.write(f"{tree}\n")
            n_trees += 1
    return n_trees


def escape_word(word: str) -> str:
    """Write parentheses as ``-LRB-`` and ``-RRB-``, so that the word can be part of a tree.

    >>> escape_word(":-)"), unescape_word(":--RRB-")
    (':--RRB-', ':-)')
    """
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def unescape_word(token: str) -> str:
    """Inverse of :func:`escape_word`.

    ``escape_word(unescape_word(token)) == token`` for every token of a tree. The other way round it holds unless the
    word contains ``-LRB-`` or ``-RRB-``, or one of them with a parenthesis for its last hyphen (``-LRB)``): the
    convention of treebanks has no other way to write those. Marks that share a hyphen are read from the left.

    >>> unescape_word("-RRB-LRB-")
    ')LRB-'
    """
    return _ESCAPED.sub(lambda mark: "(" if mark[0] == "-LRB-" else ")", token)


@lru_cache(maxsize=1 << 16)
def plain_label(label: str) -> str:
    """The label without functional tags, indices and alternatives; one that starts with a mark stays whole.

    >>> plain_label("NP-SBJ-1=2"), plain_label("ADVP|PRT"), plain_label("-LRB-"), plain_label("S.NF.P")
    ('NP', 'ADVP', '-LRB-', 'S.NF.P')
    """
    return label if label[:1] in "-=|" else _FUNCTION.sub("", label)


def clean(tree: Tree) -> Tree | None:
    """Remove traces, the phrases that become empty without them, functional tags and indices; unary chains stay.

    None for a tree that consists of traces only. A clean tree stays as it is.

    >>> tree = parse_tree("( (S (NP-SBJ-1 (NN rent)) (VP (VBD was) (VP (VBN paid) (NP (-NONE- *-1))))) )")
    >>> str(clean(tree))
    '(TOP (S (NP (NN rent)) (VP (VBD was) (VP (VBN paid)))))'
    """
    return fold(tree, _clean_node)


def _clean_node(node: Tree, below: list[Tree | None]) -> Tree | None:
    if node.label == EMPTY_TAG and node.word is not None:
        return None
    children = tuple(child for child in below if child is not None)
    if node.word is None and not children:
        return None
    return make_tree(plain_label(node.label), children, node.word)


def _balanced_blocks(source: Source) -> Iterator[tuple[int, str]]:
    """Yield ``(first line, lines)`` up to each line where all brackets are closed: usually one tree."""
    pending: list[str] = []
    depth = size = 0
    first_line = 1
    for number, line in read_lines(source):
        if not pending:
            first_line = number
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            # Also below zero: the builder then finds the bracket that closes nothing.
            yield first_line, "\n".join([*pending, line]) if pending else line
            pending.clear()
            depth = size = 0
            continue
        pending.append(line)
        size += len(line)
        if size > MAX_TREE_CHARACTERS:
            raise _unclosed(depth, source, first_line)
    if pending:
        raise _unclosed(depth, source, first_line)


def _unclosed(depth: int, source: Source | None, line: int) -> InputError:
    return InputError(
        f"unbalanced brackets: {depth} '(' of the tree that begins here are never closed",
        path=source,
        line=line,
        remedy="add the missing ')'",
    )


class _Builder:
    """Turns text into trees, with one object for all occurrences of a label, word or pre-terminal."""

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self.tagged: dict[tuple[str, str], Tree] = {}

    def parse(self, text: str, source: Source | None, first_line: int) -> list[Tree]:
        """All trees of a text that begins on ``first_line``; errors name the line."""
        try:
            return self._build(_PIECES.findall(text))
        except _Malformed as trouble:
            # Positions are recorded only now, when there is an error.
            starts = [match.start() for match in _PIECES.finditer(text)]
            line = first_line + text.count("\n", 0, starts[trouble.piece])
            raise InputError(trouble.problem, path=source, line=line, remedy=trouble.remedy) from None

    def _build(self, pieces: list[tuple[str, str, str, str, str]]) -> list[Tree]:
        done: list[Tree] = []  # finished trees whose parent is still open
        opened: list[tuple[str, int]] = []  # label of each open bracket, where its children begin in `done`
        labels, tagged = self.labels, self.tagged
        for place, (tag, word, bracket, label, bare) in enumerate(pieces):
            if word:
                leaf = tagged.get((tag, word))
                done.append(self._leaf(tag, word) if leaf is None else leaf)
            elif bracket:
                if not label:
                    if opened:
                        raise _Malformed("a bracket without a label", place, "write (label ...)")
                    label = ROOT
                opened.append((labels.setdefault(label, label), len(done)))
            elif bare:
                if not opened:
                    raise _Malformed(f"the text {bare[:40]!r} outside any tree", place, "is this a treebank?")
                done.append(self._leaf(UNTAGGED, bare))
            else:
                if not opened:
                    raise _Malformed("unbalanced brackets: a ')' closes nothing", place, "remove it")
                label, first = opened.pop()
                if first == len(done):
                    raise _Malformed(f"the tree {label!r} has no words", place, "remove it or write (tag word)")
                children = tuple(done[first:])
                done[first:] = [make_tree(label, children)]
        if opened:
            raise _unclosed(len(opened), None, 1)
        return done

    def _leaf(self, tag: str, word: str) -> Tree:
        tag = self.labels.setdefault(tag, tag)
        return self.tagged.setdefault((tag, word), make_tree(tag, (), word))
