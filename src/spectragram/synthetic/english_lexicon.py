"""The words of the demo grammar, the most frequent ones first in each list, and their inflection.

The grammar knows the kind of each noun and the class of each verb, and its trees do not show them: a cake can be eaten
but not read, and only people say that something is so. All weights were set by hand, for varied sentences.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = [
    "AUXILIARIES",
    "NOUNS",
    "OBJECT",
    "PREPOSITIONS",
    "VERB_CLASSES",
    "WORDS",
    "VerbClass",
    "conjugate",
    "plural",
]

NOUNS = {
    "person": "girl boy teacher woman/women man/men child/children baker doctor sailor farmer queen poet "
    "pirate judge wizard",
    "animal": "cat dog horse bird goat fox mouse/mice goose/geese parrot rabbit penguin donkey",
    "food": "cake apple pie egg sandwich onion pancake cherry potato/potatoes biscuit dumpling",
    "tool": "spoon hammer knife/knives broom telescope ladder brush lantern bucket",
    "wear": "hat coat scarf/scarves ring umbrella moustache crown glove boot",
    "text": "book letter story song poem map recipe joke diary newspaper",
    "place": "house garden kitchen village market harbour library forest castle tower cave island",
}


class VerbClass(NamedTuple):
    """Verbs that take the same subjects, complements and adjuncts.

    ``complements`` lists alternatives, in which ``{o}`` stands for a kind from ``objects`` and ``{k}`` for the kind of
    the subject. Irregular verbs are followed by their past tense and participle.
    """

    name: str
    weight: float
    subjects: str
    complements: tuple[str, ...]
    objects: str
    adjuncts: str
    verbs: str


OBJECT = "NP/acc.{m}.{o}"

VERB_CLASSES = (
    VerbClass("rest", 4, "person animal", ("",), "", "loc manner time clause",
              "sleep-slept-slept wait dance yawn sneeze"),
    VerbClass("laugh", 3, "person", ("",), "", "loc manner time clause",
              "laugh sing-sang-sung smile whistle cry argue"),
    VerbClass("move", 4, "person animal", ("PP/goal",), "", "manner time",
              "walk run-ran-run wander hurry swim-swam-swum march"),
    VerbClass("happen", 2, "food tool wear text", ("",), "", "time loc",
              "vanish fall-fell-fallen burn disappear"),
    VerbClass("eat", 5, "person animal", (OBJECT,), "food", "loc manner time clause",
              "eat-ate-eaten steal-stole-stolen taste smell devour"),
    VerbClass("cook", 3, "person", (OBJECT,), "food", "with loc time",
              "cook bake slice peel serve"),
    VerbClass("chase", 4, "person animal", (OBJECT,), "person animal", "loc time clause",
              "chase follow love bite-bit-bitten hear-heard-heard fear"),
    VerbClass("see", 5, "person", (OBJECT,), "person animal food tool wear text place", "with loc time",
              "see-saw-seen find-found-found like remember admire draw-drew-drawn"),
    VerbClass("read", 4, "person", (OBJECT,), "text", "loc manner time",
              "read-read-read write-wrote-written recite translate copy"),
    VerbClass("wear", 2, "person", (OBJECT,), "wear", "loc time",
              "wear-wore-worn lose-lost-lost sew-sewed-sewn knit-knitted-knitted"),
    VerbClass("fix", 4, "person", (OBJECT,), "tool wear", "with manner time",
              "repair clean buy-bought-bought carry borrow paint"),
    VerbClass("give", 4, "person", (OBJECT + " PP/to", "NP/acc.{n}.person=iobj NP/core.{m}.{o}"),
              "food tool wear text", "time",
              "give-gave-given send-sent-sent show-showed-shown lend-lent-lent offer"),
    VerbClass("put", 3, "person", (OBJECT + " PP/into",), "food tool wear text", "time clause",
              "put-put-put hide-hid-hidden leave-left-left drop"),
    VerbClass("visit", 3, "person animal", (OBJECT,), "place", "time clause",
              "visit reach leave-left-left guard explore"),
    VerbClass("amuse", 3, "animal food wear text", (OBJECT,), "person", "time",
              "amuse surprise worry please bore"),
    VerbClass("say", 5, "person", ("SBAR/that",), "", "",
              "say-said-said think-thought-thought believe know-knew-known hope"),
    VerbClass("ask", 1, "person", ("SBAR/whether",), "", "",
              "wonder ask forget-forgot-forgotten"),
    VerbClass("want", 3, "person animal", ("S/to.{k}",), "", "",
              "want try learn refuse plan"),
)  # fmt: skip

PREPOSITIONS = {
    "loc": "in near behind outside",
    "goal": "to into through towards around",
    "into": "under behind near in",
    "time": "after before during",
    "on": "on",
    "with": "with",
    "without": "with without",
    "of": "of",
    "about": "about",
    "from": "from",
    "to": "to",
    "by": "by",
    "that": "that",
    "whether": "whether if",
    "clause": "because when while although",
}

#: All other lexical symbols of the grammar, with their words.
WORDS = {
    "DT/sg": "the a this every",
    "DT/pl": "the some these many",
    "DT/the": "the",
    "DT/a": "a",
    "PRP$": "her his their our",
    "CD": "two three four seven twelve",
    "CC": "and or",
    "CC/and": "and",
    "CC/clause": "and but",
    "PRP/nom.sg.person": "she he",
    "PRP/acc.sg.person": "her him",
    "PRP/nom.pl.person": "they we you",
    "PRP/acc.pl.person": "them us you",
    "PRP/sg.thing": "it",
    "PRP/nom.pl.thing": "they",
    "PRP/acc.pl.thing": "them",
    "NNP/person": "Ada Boris Clara Omar Greta Hugo Ines Vera",
    "NNP/title": "Captain Doctor Lady",
    "NNP/place": "Lisbon Oslo Cairo Lima Kyoto",
    "NNP/day": "Sunday Monday Friday Tuesday",
    "NN/event": "storm wedding concert dinner war",
    "JJ/person": "old young brave tired famous clever lazy proud",
    "JJ/animal": "small hungry old fat wild clever tired",
    "JJ/food": "fresh sweet small salty rotten warm",
    "JJ/tool": "old heavy rusty new sharp",
    "JJ/wear": "red new elegant old enormous",
    "JJ/text": "long strange old secret boring famous",
    "JJ/place": "old quiet dark beautiful distant",
    "RB/degree": "very rather extremely",
    "RB/not": "not",
    "RB/manner": "quickly quietly happily badly slowly carefully",
    "RB/often": "often always never rarely",
    "RB/past": "yesterday once recently",
    "RB/pres": "usually today nowadays",
    "RB/fut": "tomorrow soon eventually",
    "MD": "will can must may should",
    "TO": "to",
    "POS": "'s",
    "WP": "who",
    "WP/what": "what",
    "WDT": "that which",
    "WRB": "where when why",
    ",": ",",
    "``": "``",
    "''": "''",
    ".": ".",
    "./question": "?",
}

#: Auxiliaries have more irregular forms than other verbs; "have" and "do" only need their finite ones.
AUXILIARIES = {
    "be": {
        "pres.sg": "is", "pres.pl": "are", "past.sg": "was", "past.pl": "were", "base": "be", "part": "been",
    },
    "have": {"pres.sg": "has", "pres.pl": "have", "past.sg": "had", "past.pl": "had"},
    "do": {"pres.sg": "does", "pres.pl": "do", "past.sg": "did", "past.pl": "did"},
}  # fmt: skip

_VOWELS = "aeiou"
_SIBILANT = re.compile(r"(s|sh|ch|x|z)$")
_CONSONANT_Y = re.compile(rf"[^{_VOWELS}]y$")
# A final consonant after a single short vowel is doubled: run, running.
_DOUBLES = re.compile(rf"^[^{_VOWELS}]*[{_VOWELS}][^{_VOWELS}wxy]$|forget$")


def plural(noun: str) -> tuple[str, str]:
    """The singular and plural of an entry of ``NOUNS``.

    >>> plural("mouse/mice"), plural("cherry")
    (('mouse', 'mice'), ('cherry', 'cherries'))
    """
    singular, _, irregular = noun.partition("/")
    return singular, irregular or _with_s(singular)


def conjugate(verb: str) -> dict[str, str]:
    """All forms of an entry of ``VERB_CLASSES``.

    >>> conjugate("steal-stole-stolen")["past.pl"], conjugate("carry")["pres.sg"], conjugate("bake")["ing"]
    ('stole', 'carries', 'baking')
    """
    base, *irregular = verb.split("-")
    stem = base + base[-1] if _DOUBLES.search(base) else base
    silent_e = base[:-1] if base.endswith("e") and not base.endswith("ee") else stem
    regular = (base[:-1] + "i" if _CONSONANT_Y.search(base) else silent_e) + "ed"
    past, participle = irregular or (regular, regular)
    return {
        "pres.sg": _with_s(base),
        "pres.pl": base,
        "past.sg": past,
        "past.pl": past,
        "base": base,
        "part": participle,
        "ing": silent_e + "ing",
    }


def _with_s(word: str) -> str:
    if _CONSONANT_Y.search(word):
        return word[:-1] + "ies"
    return word + ("es" if _SIBILANT.search(word) else "s")
