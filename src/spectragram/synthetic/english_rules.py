"""The rules of the demo grammar, as schemata over variables.

A symbol is ``LABEL/state``. Trees show the label (NP, VP, NN) and hide the state: number, kind of noun, case, tense,
class of verb, gaps. For example::

    9  NP/{x}.{n}.{k} > DT/{n} *N/{n}.{k}      "a baker": determiner and noun agree, and the NP remembers both

A variable on the left gives one rule per value. A variable that occurs only on the right is drawn by the weights of its
values. ``*`` marks the head, and ``=rel`` gives a dependency relation other than the one in :data:`RELATIONS`. Schemata
may be generous: instances with an undefined symbol (a spoon that reads) are dropped. All weights were set by hand, for
varied sentences of natural length.
"""

from __future__ import annotations

from collections.abc import Mapping

from spectragram.synthetic.english_lexicon import NOUNS

__all__ = ["ADJUNCTS", "RELATIONS", "RELATIONS_BY_CHILD", "RULES", "TAGS", "VARIABLES"]

VARIABLES: Mapping[str, Mapping[str, float]] = {
    "n": {"sg": 2, "pl": 1},
    "m": {"sg": 2, "pl": 1},
    "t": {"past": 5, "pres": 4, "fut": 1.5},  # tense
    "a": {"past": 5, "pres": 4},  # tense of an auxiliary
    "r": {"nom": 1, "acc": 1},  # case, for pronouns
    "c": {"nom": 1, "acc": 1, "core": 1},  # a core is not a pronoun and has no postmodifier
    "x": {"nom": 1, "acc": 1, "core": 1, "mod": 1},  # "mod" takes a postmodifier, and is not a name either
    "k": {"person": 9, "animal": 5, "text": 1, "food": 1, "wear": 1, "tool": 0.5, "place": 0.5},
    "o": dict.fromkeys(NOUNS, 1.0),
    "thing": dict.fromkeys(["animal", "food", "tool", "wear", "text", "place"], 1.0),
}
#: The tag of a noun by its number and of a verb by its form, both at the start of the state.
TAGS = {
    "N": {"sg": "NN", "pl": "NNS"},
    "V": {
        "pres.sg": "VBZ", "pres.pl": "VBP", "past.sg": "VBD", "past.pl": "VBD",
        "base": "VB", "part": "VBN", "ing": "VBG",
    },
}  # fmt: skip

RULES = """
   # Sentences.
80 TOP                 > *S/root
 7 TOP                 > *SQ/root
 5 TOP                 > *SBARQ
60 S/root              > NP/nom.{n}.{k} *VP/{t}.{n}.{k} .
 6 S/root              > NP/nom.{n}.{k} ADVP/often *VP/{a}.{n}.{k} .
12 S/root              > ADVP/{t} , NP/nom.{n}.{k} *VP/{t}.{n}.{k} .
 6 S/root              > PP/time , NP/nom.{n}.{k} *VP/{t}.{n}.{k} .
 5 S/root              > SBAR/clause=advcl , NP/nom.{n}.{k} *VP/{t}.{n}.{k} .
 7 S/root              > *S/clause , CC/clause S/clause=conj .
 4 S/root              > `` S/clause , '' NP/nom.{n}.person *VP/said.{n} .
 1 S/clause            > NP/nom.{n}.{k} *VP/{t}.{n}.{k}
 3 SQ/root             > *V/{a}.{n}.do NP/nom.{n}.{k} VP/base.{k} ./question
 1 SQ/root             > *V/{a}.{n}.be NP/nom.{n}.{k} ADJP/{k} ./question
 1 SQ/root             > *MD NP/nom.{n}.{k} VP/base.{k} ./question
 2 SBARQ               > WHNP/person *SQ/who ./question
 2 SBARQ               > WHNP/what *SQ/what ./question
 2 SBARQ               > WHADVP *SQ/where ./question
 1 SQ/who              > *VP/{t}.sg.person
 1 SQ/what             > *V/{a}.{n}.do NP/nom.{n}.{k} VP/gap.base.{k}.{thing}
 1 SQ/where            > *V/{a}.{n}.do NP/nom.{n}.{k} VP/base.{k}

   # Embedded clauses.
 1 SBAR/that           > *IN/that S/clause
 1 SBAR/whether        > *IN/whether S/clause
 1 SBAR/clause         > *IN/clause S/clause
 1 S/to.{k}            > *VP/to.{k}
 3 SBAR/rel.{n}.{k}    > WHNP/{k} *S/subject-gap.{n}.{k}
 2 SBAR/rel.{n}.{o}    > WHNP/{o} *S/object-gap.{o}
 1 S/subject-gap.{n}.{k} > *VP/{t}.{n}.{k}
 1 S/object-gap.{o}    > NP/nom.{n}.{k} *VP/gap.{a}.{n}.{k}.{o}
 1 WHNP/person         > *WP
 1 WHNP/what           > *WP/what
 1 WHNP/{thing}        > *WDT
 1 WHADVP              > *WRB

   # Noun phrases.
 9 NP/{x}.{n}.{k}      > DT/{n} *N/{n}.{k}
 4 NP/{x}.{n}.{k}      > DT/{n} JJ/{k} *N/{n}.{k}
 2 NP/{x}.pl.{k}       > *N/pl.{k}
 2 NP/{x}.pl.{k}       > JJ/{k} *N/pl.{k}
 2 NP/{x}.pl.{k}       > CD *N/pl.{k}
 2 NP/{x}.{n}.{k}      > PRP$ *N/{n}.{k}
 1 NP/{x}.{n}.{thing}  > NP/owner *N/{n}.{thing}
 5 NP/{c}.sg.person    > *NNP/person
 1 NP/{c}.sg.person    > NNP/title *NNP/person
 5 NP/{c}.sg.place     > *NNP/place
 7 NP/{r}.{n}.person   > *PRP/{r}.{n}.person
 1 NP/{r}.sg.{thing}   > *PRP/sg.thing
 1 NP/{r}.pl.{thing}   > *PRP/{r}.pl.thing
 4 NP/{r}.{n}.{k}      > *NP/mod.{n}.{k} PP/of.{k}
 3 NP/{r}.{n}.{k}      > *NP/mod.{n}.{k} SBAR/rel.{n}.{k}
 5 NP/nom.pl.{k}       > *NP/core.{n}.{k} CC/and NP/core.{m}.{k}=conj
 3 NP/acc.pl.{k}       > *NP/core.{n}.{k} CC NP/core.{m}.{k}=conj
 2 NP/role.sg          > DT/a *N/sg.person
 1 NP/role.sg          > DT/a JJ/person *N/sg.person
 2 NP/role.pl          > *N/pl.person
 1 NP/role.pl          > JJ/person *N/pl.person
 2 NP/owner            > DT/sg *N/sg.person POS
 1 NP/owner            > *NNP/person POS
 1 NP/day              > *NNP/day
 1 NP/event            > DT/the *NN/event

   # Prepositional phrases: some attach to nouns and some to verbs; places and "with" attach to both.
 3 PP/of.person        > *IN/without NP/core.{m}.wear
 2 PP/of.person        > *IN/from NP/core.sg.place
 1 PP/of.person        > *IN/loc NP/core.sg.place
 1 PP/of.animal        > *IN/without NP/core.sg.wear
 2 PP/of.animal        > *IN/from NP/core.sg.place
 2 PP/of.food          > *IN/without NP/core.pl.food
 1 PP/of.food          > *IN/from NP/core.sg.place
 2 PP/of.tool          > *IN/of NP/core.sg.person
 2 PP/of.wear          > *IN/of NP/core.sg.person
 4 PP/of.text          > *IN/about NP/core.{m}.{o}
 1 PP/of.text          > *IN/from NP/core.sg.person
 2 PP/of.place         > *IN/of NP/core.sg.person
 1 PP/of.place         > *IN/loc NP/core.sg.place
 1 PP/with             > *IN/with NP/core.sg.tool
 1 PP/loc              > *IN/loc NP/core.sg.place
 1 PP/goal             > *IN/goal NP/core.sg.place
 1 PP/into             > *IN/into NP/core.sg.place
 1 PP/to               > *IN/to NP/acc.{m}.person
 1 PP/by.{k}           > *IN/by NP/acc.{m}.{k}
 1 PP/time             > *IN/on NP/day
 1 PP/time             > *IN/time NP/event

   # Verb phrases. The rules for verbs and their complements come from the verb classes.
 9 VP/{a}.{n}.{k}      > *V/{a}.{n}.be ADJP/{k}
 2 VP/{a}.{n}.{k}      > *V/{a}.{n}.be PP/loc
 3 VP/{a}.{n}.person   > *V/{a}.{n}.be NP/role.{n}
 7 VP/{a}.{n}.{k}      > *V/{a}.{n}.be VP/ing.{k}
 6 VP/{a}.{n}.{k}      > *V/{a}.{n}.be VP/passive.{k}
 6 VP/{a}.{n}.{k}      > *V/{a}.{n}.have VP/part.{k}
 3 VP/{a}.{n}.{k}      > *V/{a}.{n}.do RB/not VP/base.{k}
 6 VP/{a}.{n}.{k}      > *VP/{a}.{n}.{k} CC/clause VP/{a}.{n}.{k}=conj
 9 VP/fut.{n}.{k}      > *MD VP/base.{k}
 1 VP/fut.{n}.{k}      > *MD RB/not VP/base.{k}
 3 VP/fut.{n}.{k}      > *MD VP/be.{k}
 1 VP/be.{k}           > *V/base.be VP/passive.{k}
 1 VP/be.{k}           > *V/base.be ADJP/{k}
 2 VP/part.{k}         > *V/part.be ADJP/{k}
 1 VP/to.{k}           > *TO VP/base.{k}
 1 VP/said.{n}         > *V/past.{n}.say

   # Adjectives and adverbs.
 6 ADJP/{k}            > *JJ/{k}
 3 ADJP/{k}            > RB/degree *JJ/{k}
 1 ADJP/{k}            > *JJ/{k} CC/clause JJ/{k}=conj
 1 ADVP/{t}            > *RB/{t}
 1 ADVP/often          > *RB/often
 1 ADVP/manner         > *RB/manner
 1 ADVP/manner         > RB/degree *RB/manner
"""

#: Relation of a child to the head of its parent, by the labels of the parent and the child.
RELATIONS = {
    ("S", "NP"): "nsubj", ("SQ", "NP"): "nsubj", ("VP", "NP"): "obj", ("PP", "NP"): "pobj", ("NP", "NP"): "poss",
    ("VP", "VP"): "vcomp", ("SQ", "VP"): "vcomp", ("VP", "S"): "xcomp", ("SBAR", "S"): "clause", ("S", "S"): "ccomp",
    ("VP", "SBAR"): "ccomp", ("NP", "SBAR"): "relcl", ("NP", "PP"): "nmod", ("VP", "PP"): "obl", ("S", "PP"): "obl",
    ("VP", "ADJP"): "acomp", ("SQ", "ADJP"): "acomp", ("NP", "NNP"): "flat", ("VP", "RB"): "neg",
    ("SBAR", "WHNP"): "rel",
}  # fmt: skip
RELATIONS_BY_CHILD = {
    "DT": "det", "JJ": "amod", "CD": "nummod", "PRP$": "poss", "POS": "case", "CC": "cc", "RB": "advmod",
    "ADVP": "advmod", "WHNP": "wh", "WHADVP": "wh", ".": "punct", ",": "punct", "``": "punct", "''": "punct",
}  # fmt: skip

#: Symbols of the adjuncts that verb classes name.
ADJUNCTS = {
    "loc": "PP/loc",
    "time": "PP/time",
    "with": "PP/with",
    "manner": "ADVP/manner",
    "clause": "SBAR/clause=advcl",
}
