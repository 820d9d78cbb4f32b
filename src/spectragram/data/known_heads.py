"""What is known about the heads of a sentence: heads, relations, and heads that are ruled out.

It is read from CoNLL-U. A head or relation that is not ``_`` is known. ``NotHead=3,5`` in MISC says that neither word 3
nor word 5 is the head of this word; ``NotHead=0`` says that it does not head the sentence.

A parser of projective trees cannot draw every set of known arcs. An arc that no projective tree can have together with
the other known ones is left open in the chart (:func:`lifted_words`), as lifting does with training trees
(:mod:`spectragram.data.projectivity`), and drawn into the finished tree (:func:`with_known_heads`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.data.projectivity import find_tree_problem
from spectragram.errors import InputError
from spectragram.files import plain_number

__all__ = ["NOT_HEAD", "HeadConstraints", "lifted_words", "with_known_heads"]

NOT_HEAD = "NotHead"
"""The attribute of MISC that lists heads which a word does not have."""


@dataclass(frozen=True)
class HeadConstraints:
    """What is known about a sentence of n words.

    Attributes
    ----------
    heads : int32 array, shape (n,)
        Known heads, counted from 1; 0 is the root, -1 an unknown head.
    allowed : bool array, shape (n, n + 1)
        The heads that each word may have; column 0 is the root.
    relations : tuple of str or None
        Known relations.
    """

    heads: np.ndarray
    allowed: np.ndarray
    relations: tuple[str | None, ...]

    @classmethod
    def of(cls, sentence: Sentence) -> Self:
        """Read the known heads and relations of a sentence; refuses what no tree can have."""
        heads = sentence.heads
        n = len(heads)
        allowed = np.ones((n, n + 1), bool)
        allowed[np.arange(n), np.arange(1, n + 1)] = False
        excluding = [(word, misc) for word, misc in enumerate(sentence.column("misc"), 1) if NOT_HEAD in misc]
        for word, misc in excluding:
            ruled_out = _ruled_out(misc, n)
            if ruled_out is None:
                _refuse(sentence, word, f"{misc!r:.40} in MISC", f"list words of the sentence: {NOT_HEAD}=0 or 3,5")
            allowed[word - 1, ruled_out] = False
        _check(sentence, heads, allowed, bool(excluding))
        known = np.flatnonzero(heads >= 0)
        allowed[known] = np.arange(n + 1) == heads[known, None]
        return cls(heads, allowed, tuple(None if name == "_" else name for name in sentence.deprels))


def _ruled_out(misc: str, n: int) -> list[int] | None:
    """The heads that a value of MISC excludes; None if it cannot be read."""
    found = [part.partition("=")[2] for part in misc.split("|") if part.startswith(NOT_HEAD + "=")]
    numbers = [plain_number(number) for part in found for number in part.split(",")]
    return numbers if all(0 <= number <= n for number in numbers) else None


def _check(sentence: Sentence, heads: np.ndarray, allowed: np.ndarray, excludes: bool) -> None:
    """Refuse cycles, several roots, and words that are left without any head."""
    remedy = "correct the heads, or put _ where they are not known"
    # With every open head at the root there are several roots; what is left to find are cycles, and heads outside.
    problem = find_tree_problem(np.maximum(heads, 0).tolist())
    if problem is not None and "second root" not in problem[1]:
        _refuse(sentence, problem[0], problem[1], remedy)
    roots = np.flatnonzero(heads == 0) + 1
    if len(roots) > 1:
        _refuse(sentence, int(roots[1]), f"a second root: word {roots[0]} has head 0 already", remedy)
    if not excludes:
        return
    known = np.flatnonzero(heads >= 0)
    for word in known[~allowed[known, heads[known]]] + 1:
        _refuse(sentence, int(word), f"its head {heads[word - 1]} is ruled out", remedy)
    for word in np.flatnonzero(~allowed.any(axis=1)) + 1:
        _refuse(sentence, int(word), "all heads are ruled out", f"shorten its list {NOT_HEAD}= in MISC")


def _refuse(sentence: Sentence, word: int, problem: str, remedy: str) -> None:
    line = None if sentence.line is None else sentence.line + sentence.rows.index(sentence.words[word - 1])
    form = sentence.forms[word - 1]
    # A sentence that comes from no file has no line to find it by.
    where = "" if sentence.path else f" of the sentence {' '.join(sentence.forms)!r:.60}"
    raise InputError(f"word {word} ({form:.40}){where}: {problem}", path=sentence.path, line=line, remedy=remedy)


def lifted_words(heads: np.ndarray) -> list[int]:
    """The words whose known arcs no projective tree can have beside the other known ones, shortest arcs first.

    ``heads`` (n,) is -1 where a head is not known. An arc is impossible if it spans a word that is above its head, or
    that is known to hang, by a chain of known heads, outside the arc without being below its head. Of arcs that merely
    cross, one is lifted.

    >>> lifted_words(np.array([3, 4, 0, 3])), lifted_words(np.array([2, -1, 1]))
    ([2], [3])
    """
    heads = np.array(heads, np.int64)
    lifted: list[int] = []
    if _is_drawable(heads):
        return lifted
    while True:
        above = [_chain(heads, word) for word in range(len(heads) + 1)]
        words = range(1, len(heads) + 1)
        impossible = [word for word in words if _is_impossible(heads, above, word)]
        impossible = impossible or [word for word in words if _crosses(heads, word)]
        if not impossible:
            return lifted
        word = min(impossible, key=lambda word: (abs(word - heads[word - 1]), word))
        lifted.append(word)
        heads[word - 1] = -1


def _is_drawable(heads: np.ndarray) -> bool:
    """Whether no known arcs cross and none spans a word above its head: then a projective tree has them all."""
    above = heads.tolist()
    known = [(word, head) for word, head in enumerate(above, 1) if head >= 0]
    arcs = [(word, head) if word < head else (head, word) for word, head in known]
    open_until: list[int] = []
    for left, right in sorted(arcs, key=lambda arc: (arc[0], -arc[1])):
        while open_until and open_until[-1] <= left:
            open_until.pop()
        if open_until and open_until[-1] < right:
            return False
        open_until.append(right)
    for (_, head), (left, right) in zip(known, arcs, strict=True):
        while head > 0:
            head = above[head - 1]
            if left < head < right:
                return False
    return True


def _chain(heads: np.ndarray, word: int) -> list[int]:
    """A word and what is known to be above it, up to the root (0) or the first word without a known head."""
    chain = [word]
    while chain[-1] > 0 and heads[chain[-1] - 1] >= 0:
        chain.append(int(heads[chain[-1] - 1]))
    return chain


def _is_impossible(heads: np.ndarray, above: list[list[int]], word: int) -> bool:
    head = int(heads[word - 1])
    if head < 0:
        return False
    first, last = min(word, head), max(word, head)
    for between in range(first + 1, last):
        chain = above[between]
        outside = any(not first <= other <= last for other in chain)
        if head not in chain and (outside or between in above[head]):
            return True
    return False


def _crosses(heads: np.ndarray, word: int) -> bool:
    """Whether the known arc of a word crosses another one."""
    others = np.flatnonzero(heads >= 0)
    first, last = np.minimum(others + 1, heads[others]), np.maximum(others + 1, heads[others])
    a, b = sorted((word, int(heads[word - 1])))
    inside_first, inside_last = (a < first) & (first < b), (a < last) & (last < b)
    beyond = (first < a) | (last > b)
    return bool(heads[word - 1] >= 0 and ((inside_first | inside_last) & beyond).any())


def with_known_heads(found: np.ndarray, known: np.ndarray) -> np.ndarray:
    """A tree with the known heads in place of those that were found, int32 (n,); it stays a tree.

    ``found`` (n,) is a tree; ``known`` (n,) is -1 where a head is not known, and has no cycle. Where a known head lies
    below its word in ``found``, the topmost word in between whose head is not known takes the place of the word.

    >>> with_known_heads(np.array([0, 1, 2]), np.array([3, -1, -1])).tolist()
    [3, 0, 2]
    """
    heads = np.array(found, np.int32)
    for word in np.flatnonzero((known >= 0) & (known != heads)) + 1:
        head, before = int(known[word - 1]), int(heads[word - 1])
        chain = [head]
        while chain[-1] not in (0, word):
            chain.append(int(heads[chain[-1] - 1]))
        if chain[-1] == word:
            # There is one: otherwise the known heads would form a cycle.
            gives_way = next(other for other in reversed(chain[:-1]) if known[other - 1] != heads[other - 1])
            heads[gives_way - 1] = before
        elif head == 0:
            # The sentence has one root: the word that was it hangs below the new one.
            heads[np.flatnonzero(heads == 0)[0]] = word
        heads[word - 1] = head
    return heads
