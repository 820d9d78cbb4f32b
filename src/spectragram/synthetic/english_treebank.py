"""The demo corpus as a complete treebank of Universal Dependencies: raw text, lemmas and features beside the trees.

It is what a pipeline needs to be trained from end to end. Some contracted words are multiword tokens, as in real
treebanks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from spectragram.data.conllu import Sentence
from spectragram.synthetic.english import english_dependencies
from spectragram.synthetic.english_lexicon import AUXILIARIES, NOUNS, VERB_CLASSES, conjugate, plural

__all__ = ["english_treebank"]

FEATURES = {
    "NN": "Number=Sing", "NNS": "Number=Plur", "NNP": "Number=Sing", "VBD": "Tense=Past|VerbForm=Fin",
    "VBZ": "Number=Sing|Person=3|Tense=Pres|VerbForm=Fin", "VBP": "Tense=Pres|VerbForm=Fin", "VB": "VerbForm=Inf",
    "VBG": "VerbForm=Ger", "VBN": "Tense=Past|VerbForm=Part", "MD": "VerbForm=Fin", "CD": "NumType=Card",
    "PRP$": "Poss=Yes|PronType=Prs", "WP": "PronType=Int", "WRB": "PronType=Int", "WDT": "PronType=Rel",
}  # fmt: skip
"""Features of each Penn tag; other tags have none."""
PRONOUNS = {"me": "I", "him": "he", "her": "she", "them": "they", "us": "we", "an": "a"}
QUOTES = {"``": "“", "''": "”"}
NO_SPACE_BEFORE, NO_SPACE_AFTER = frozenset((".", ",", "?", "”", "'s", "n't")), frozenset("“")
CONTRACTED = {("is", "not"): ("isn't", "n't"), ("was", "not"): ("wasn't", "n't"), ("did", "not"): ("didn't", "n't")}
"""Pairs of words that are written as one token, and the form of the second word in it."""
SENTENCES_PER_PARAGRAPH = 5
"""Chosen by hand: enough sentences that their ends have to be learned."""


def english_treebank(n: int, seed: int = 0) -> list[Sentence]:
    """The trees of :func:`~spectragram.synthetic.english_dependencies` with ``# text``, SpaceAfter, lemmas, features.

    >>> print(english_treebank(2)[1].comments[-1])
    # text = Her dog visited Lisbon before the storm.
    """
    found = []
    for number, tree in enumerate(english_dependencies(n, seed)):
        comments = ["# newpar"] if number % SENTENCES_PER_PARAGRAPH == 0 else []
        found.append(_complete(tree, [*comments, f"# sent_id = {number + 1}"]))
    return found


def _complete(tree: Sentence, comments: Sequence[str]) -> Sentence:
    forms = [QUOTES.get(form, form) for form in tree.forms]
    lemmas = [_lemma(form, tag) for form, tag in zip(forms, tree.xpos, strict=True)]
    tokens = _tokens(forms)
    rows: list[tuple[str, ...]] = []
    text = ""
    for place, (first, last, form) in enumerate(tokens):
        following = tokens[place + 1][2] if place + 1 < len(tokens) else None
        glued = following is not None and (following in NO_SPACE_BEFORE or form in NO_SPACE_AFTER)
        misc = "SpaceAfter=No" if glued else "_"
        text += form + ("" if glued or following is None else " ")
        if last > first:
            rows.append((f"{first + 1}-{last + 1}", form, *"_" * 7, misc))
            forms[last] = CONTRACTED[forms[first].lower(), forms[last]][1]
        for word in range(first, last + 1):
            old = tree.words[word]
            features = FEATURES.get(old[4], "_")
            own_misc = misc if first == last else "_"
            rows.append((old[0], forms[word], lemmas[word], old[3], old[4], features, old[6], old[7], "_", own_misc))
    return Sentence((*comments, f"# text = {text}"), tuple(rows))


def _tokens(forms: Sequence[str]) -> list[tuple[int, int, str]]:
    """First and last word of each token, and its form."""
    found, at = [], 0
    while at < len(forms):
        pair = (forms[at].lower(), forms[at + 1]) if at + 1 < len(forms) else None
        if pair in CONTRACTED:
            form = CONTRACTED[pair][0]
            found.append((at, at + 1, form.capitalize() if forms[at][0].isupper() else form))
        else:
            found.append((at, at, forms[at]))
        at = found[-1][1] + 1
    return found


def _lemma(form: str, tag: str) -> str:
    if tag == "NNP":
        return form
    lower = form.lower()
    if tag.startswith("V"):
        return _verbs().get(lower, lower)
    return _nouns().get(lower, lower) if tag == "NNS" else PRONOUNS.get(lower, lower) if tag in ("PRP", "DT") else lower


@cache
def _nouns() -> dict[str, str]:
    pairs = [plural(noun) for nouns in NOUNS.values() for noun in nouns.split()]
    return {many: one for one, many in pairs}


@cache
def _verbs() -> dict[str, str]:
    listed = {verb.split("-")[0]: conjugate(verb) for group in VERB_CLASSES for verb in group.verbs.split()}
    return {form: base for base, forms in (listed | AUXILIARIES).items() for form in forms.values()}
