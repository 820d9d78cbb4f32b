"""Exchange sentences with the ``conllu`` package (extra ``interchange``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spectragram.data.conllu import Sentence, parse_conllu
from spectragram.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from conllu import TokenList

__all__ = ["from_token_list", "to_token_list"]


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
