"""Find the head child of a phrase by an order of preference over its children.

A rule is a list of searches, tried in turn. Each takes the first child from the left (or right) whose label is in the
search's set. Preference is therefore a total order on (label, position), and the head of many children is the winner
of a tournament between neighbours. Binarised trees rely on this: the head of an intermediate symbol is the best child
so far.

:data:`ENGLISH_HEADS` follows the table of Magerman (1995) and Collins (1999) for Penn Treebank labels, without the
adjustment for coordination, which is not such an order. For any other treebank :func:`learn_head_rules` finds rules in
the trees themselves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from spectragram.data.trees import Tree

__all__ = ["ENGLISH_HEADS", "HeadRules", "learn_head_rules"]

Side = Literal["left", "right"]
Search = tuple[Side, frozenset[str]]
"""The side to start from, and the labels to look for."""


class Preference(NamedTuple):
    """A child as a candidate for the head: the lower rank wins, and among equal ranks the leftmost or rightmost."""

    rank: int
    rightmost: bool


@dataclass(frozen=True)
class HeadRules:
    """Head rules for the phrases of a treebank.

    Attributes
    ----------
    searches : mapping from phrase label to a sequence of (side to start from, labels)
        Tried in order; a child that none of them names is taken from the side of the last search.
    punctuation : set of labels
        Labels that are heads only if all children are punctuation, or if a search names them.
    default : 'left' or 'right'
        The side to start from in phrases without searches.
    """

    searches: Mapping[str, Sequence[Search]]
    punctuation: frozenset[str] = frozenset()
    default: Side = "left"
    _known: dict[tuple[str, str], Preference] = field(default_factory=dict, repr=False, compare=False)

    def preference(self, phrase: str, child: str) -> Preference:
        """The preference for a child as the head of a phrase."""
        found = self._known.get((phrase, child))
        if found is None:
            found = self._known[phrase, child] = self._search(phrase, child)
        return found

    def _search(self, phrase: str, child: str) -> Preference:
        searches = self.searches.get(phrase, ())
        for rank, (side, labels) in enumerate(searches):
            if child in labels:
                return Preference(rank, side == "right")
        last_side = searches[-1][0] if searches else self.default
        return Preference(len(searches) + (child in self.punctuation), last_side == "right")

    def head_index(self, phrase: str, children: Sequence[str]) -> int:
        """Position of the head, given the labels of a phrase's children.

        >>> ENGLISH_HEADS.head_index("NP", ["DT", "JJ", "NN", "PP"])
        2
        """
        best = self.preference(phrase, children[0])
        place = 0
        for i in range(1, len(children)):
            candidate = self.preference(phrase, children[i])
            if candidate.rank < best.rank or (candidate.rank == best.rank and candidate.rightmost):
                best, place = candidate, i
        return place


def learn_head_rules(trees: Iterable[Tree]) -> HeadRules:
    """Find head rules in a treebank of any language.

    A head is what phrases of one kind have and other phrases lack. The children c of phrases A are therefore ranked by
    P(A | c) sqrt(P(c | A)), counted over phrases with exactly one c. If c is A itself the first factor is 1: an A with
    something added is still an A. Among equals the search starts from the end to which the best child is closer. Tags
    that mostly cover words without letters and digits are punctuation.
    """
    productions: Counter[tuple[str, tuple[str, ...]]] = Counter()
    tokens: Counter[tuple[str, str]] = Counter()
    for tree in trees:
        for node in tree.subtrees():
            if node.word is not None:
                tokens[node.label, node.word] += 1
            elif len(node.children) > 1:
                productions[node.label, tuple([child.label for child in node.children])] += 1
    punctuation = _punctuation_tags(tokens)
    return HeadRules(_rank_children(productions, punctuation), punctuation)


def _punctuation_tags(tokens: Counter[tuple[str, str]]) -> frozenset[str]:
    excess: Counter[str] = Counter()
    for (tag, word), n in tokens.items():
        excess[tag] += -n if any(map(str.isalnum, word)) else n
    return frozenset(tag for tag, n in excess.items() if n > 0)


def _rank_children(
    productions: Counter[tuple[str, tuple[str, ...]]], punctuation: frozenset[str]
) -> dict[str, list[Search]]:
    n_phrases: Counter[str] = Counter()
    n_single: Counter[str] = Counter()  # of each child label, under any phrase
    single: dict[str, Counter[str]] = {}  # the same by phrase
    lean: Counter[tuple[str, str]] = Counter()  # how far right of the middle a child stands, summed
    for (phrase, labels), n in productions.items():
        n_phrases[phrase] += n
        counts = single.setdefault(phrase, Counter())
        content = [label for label in labels if label not in punctuation]
        for label, times in Counter(content).items():
            if times == 1:
                n_single[label] += n
                counts[label] += n
                lean[phrase, label] += n * (2 * content.index(label) - len(content) + 1)
    searches: dict[str, list[Search]] = {}
    for phrase, counts in single.items():
        score = {
            label: (1.0 if label == phrase else n / n_single[label]) * math.sqrt(n / n_phrases[phrase])
            for label, n in counts.items()
        }
        ranked = sorted(score, key=lambda label: (-score[label], label))
        side: Side = "right" if ranked and lean[phrase, ranked[0]] > 0 else "left"
        # Several A under A are a coordination: take the first.
        searches[phrase] = [("left" if label == phrase else side, frozenset([label])) for label in ranked]
    return searches


def _table(text: str) -> dict[str, list[Search]]:
    """Read lines ``phrases side labels``. Each label is a search of its own; ``{...}`` is one search for several.

    A phrase may have several lines, which are tried in order.
    """
    searches: dict[str, list[Search]] = {}
    for line in text.strip().splitlines():
        phrases, side, *labels = line.split()
        groups = [labels[1:-1]] if labels[:1] == ["{"] else [[label] for label in labels] or [[]]
        for phrase in phrases.split("/"):
            entry = searches.setdefault(phrase, [])
            entry.extend(("right" if side == "right" else "left", frozenset(group)) for group in groups)
    return searches


ENGLISH_HEADS = HeadRules(
    _table("""
    ADJP       left   NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
    ADVP       right  RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
    CONJP      right  CC RB IN
    FRAG/UCP/X right
    INTJ/PRN   left
    LST        right  LS :
    NAC        left   NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
    NP/NX      right  { NN NNP NNPS NNS NX POS JJR }
    NP/NX      left   NP
    NP/NX      right  { $ ADJP PRN }
    NP/NX      right  CD
    NP/NX      right  { JJ JJS RB QP }
    PP         right  IN TO VBG VBN RP FW
    PRT        right  RP
    QP         left   $ IN NNS NN JJ RB DT CD NCD QP JJR JJS
    RRC        right  VP NP ADVP ADJP PP
    S          left   TO IN VP S SBAR ADJP UCP NP
    SBAR       left   WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
    SBARQ      left   SQ S SINV SBARQ FRAG
    SINV       left   VBZ VBD VBP VB MD VP S SINV ADJP NP
    SQ         left   VBZ VBD VBP VB MD VP SQ
    TOP        left
    VP         left   TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP
    WHADJP     left   CC WRB JJ ADJP
    WHADVP     right  CC WRB
    WHNP       left   WDT WP WP$ WHADJP WHPP WHNP
    WHPP       right  IN TO FW
    """),
    punctuation=frozenset(["``", "''", ",", ".", ":", "-LRB-", "-RRB-"]),
)
"""Head rules for Penn Treebank labels."""
