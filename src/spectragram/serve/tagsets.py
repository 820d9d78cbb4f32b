"""Usual labels, to choose from before a file or a model has any: Universal Dependencies, and phrases of treebanks."""

from __future__ import annotations

__all__ = ["USUAL"]

UPOS = "NOUN VERB PUNCT ADP DET ADJ PRON PROPN ADV AUX CCONJ SCONJ NUM PART INTJ SYM X"
RELATIONS = (
    "nsubj obj iobj csubj ccomp xcomp obl nmod case det amod advmod punct conj cc mark aux cop root advcl acl appos "
    "nummod compound flat fixed vocative expl dislocated discourse clf list parataxis orphan goeswith reparandum dep"
)
PHRASES = "S NP VP PP ADJP ADVP SBAR QP PRT CONJP INTJ FRAG X"

USUAL: dict[str, dict[str, list[str]]] = {
    "dependency": {"tags": UPOS.split(), "relations": RELATIONS.split()},
    "constituency": {"tags": UPOS.split(), "spans": PHRASES.split()},
    "tags": {"tags": UPOS.split()},
}
"""By kind of annotation, then by what is labelled."""
