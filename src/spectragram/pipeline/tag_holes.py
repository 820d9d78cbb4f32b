"""Words of a treebank without a part of speech, where others have one: those tell what they are likely to be."""

from __future__ import annotations

from collections.abc import Sequence

from spectragram.data.conllu import Sentence
from spectragram.tagging.estimator import Tagger

__all__ = ["EMPTY", "with_every_upos"]

EMPTY = "_"
"""What CoNLL-U writes where there is no value."""


def with_every_upos(sentences: Sequence[Sentence], seed: int) -> list[Sentence]:
    """The sentences; if some words have a part of speech, those of analysed sentences that have none get one, too.

    A tagger learns from the words that have one, and labels the others around them.
    """
    holes = [i for i, s in enumerate(sentences) if EMPTY in s.upos and _is_analysed(s)]
    if not holes or all(upos == EMPTY for sentence in sentences for upos in sentence.upos):
        return list(sentences)
    tagger = Tagger(preset="fast", random_state=seed, n_jobs=1)
    tagger.fit([s.forms for s in sentences], [s.upos for s in sentences], unknown=EMPTY)
    fixed = [[None if upos == EMPTY else upos for upos in sentences[i].upos] for i in holes]
    found = list(sentences)
    for i, upos in zip(holes, tagger.predict([sentences[i].forms for i in holes], fixed=fixed), strict=True):
        found[i] = sentences[i].with_columns(upos=upos)
    return found


def _is_analysed(sentence: Sentence) -> bool:
    """Whether any word has a tag or features."""
    return any(value != EMPTY for name in ("upos", "xpos", "feats") for value in sentence.column(name))
