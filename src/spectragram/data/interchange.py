"""Exchange trees with nltk and CoNLL-U sentences with the conllu package (both in the extra ``interchange``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spectragram.data.brackets import escape_word
from spectragram.data.conllu import Sentence, parse_conllu
from spectragram.data.trees import ROOT, UNTAGGED, Tree, fold
from spectragram.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import nltk
    from conllu import TokenList

__all__ = ["from_nltk", "from_token_list", "to_nltk", "to_token_list"]


def to_nltk(tree: Tree) -> nltk.Tree:
    """The same tree as an nltk.Tree, its leaves the words as they stand in the file (``-LRB-`` and so on)."""
    nltk_tree = _nltk_tree()

    def convert(node: Tree, below: list[Any]) -> Any:
        return nltk_tree(node.label, below if node.word is None else [node.word])

    return fold(tree, convert)


def from_nltk(tree: nltk.Tree) -> Tree:
    """The same tree as ours.

    Leaves may be strings or, as in nltk's chunk trees, ``(word, tag)`` pairs; a string beside other children gets the
    tag ``X``. Parentheses in words are written ``-LRB-`` and ``-RRB-``; a root without a label becomes ``TOP``.
    """
    nltk_tree = _nltk_tree()

    def children(node: Any) -> Sequence[Any]:
        return node if isinstance(node, nltk_tree) and not _is_tag(node) else ()

    def convert(node: Any, below: list[Tree]) -> Tree:
        if isinstance(node, nltk_tree):
            label = str(node.label()) or (ROOT if node is tree else "")
            return Tree(label, below, escape_word(node[0]) if _is_tag(node) else None)
        word, tag = node if isinstance(node, tuple) and len(node) == 2 else (node, UNTAGGED)
        if not isinstance(word, str):
            raise InputError(f"a leaf {node!r}", remedy="give words, or (word, tag) pairs")
        return Tree(tag, word=escape_word(word))

    return fold(tree, convert, children)


def _is_tag(node: nltk.Tree) -> bool:
    return len(node) == 1 and isinstance(node[0], str)


def _nltk_tree() -> type[Any]:
    try:
        from nltk import Tree as nltk_tree
    except ImportError:
        raise MissingExtraError("nltk", "interchange") from None
    return nltk_tree


def to_token_list(sentence: Sentence) -> TokenList:
    """The sentence as a ``conllu.TokenList``, comments as its metadata."""
    try:
        import conllu
    except ImportError:
        raise MissingExtraError("conllu", "interchange") from None
    return conllu.parse(f"{sentence}\n")[0]


def from_token_list(tokens: TokenList) -> Sentence:
    """A ``conllu.TokenList`` as a sentence: the inverse of :func:`to_token_list`.

    The package may respell comments, and keeps one of several with the same key; columns come back as they
    were.
    """
    if not hasattr(tokens, "serialize"):
        raise InputError(f"a {type(tokens).__name__}", remedy="give a conllu.TokenList")
    return parse_conllu(tokens.serialize())[0]
