"""Split head-automata grammars with known parameters: exact probabilities of dependency trees, samples.

    paper (Balle et al. 2014, section 6)   here         shape
    P(x | *, RIGHT)                        root         (k,)             the one word that heads a sentence
    alpha_1^{h,d}                          initial      (2, k, m)        [direction, head, state]
    A_sigma^{h,d}                          operators    (2, k, k, m, m)  [direction, head, modifier, state, state]
    alpha_inf^{h,d}                        final        (2, k, m)

Directions are LEFT = 0 and RIGHT = 1; modifiers are listed from the head outwards. A tree consists of words and heads,
both in sentence order: ``heads[i]`` is the position of word i's head, counted from 1, or 0 for the root, as in CoNLL-U.
Each head and direction has a :class:`~spectragram.synthetic.automata.PNFA`, which offers exact Hankel blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spectragram.data.corpus import Corpus
from spectragram.data.projectivity import find_tree_problem, is_projective
from spectragram.errors import InputError
from spectragram.synthetic._chance import (
    Outcomes,
    draw_many,
    expected_visits,
    require_distributions,
    require_shapes,
    symbols,
    without_end,
)
from spectragram.synthetic.automata import PNFA, walk

__all__ = ["LEFT", "RIGHT", "DependencySample", "HeadAutomata", "modifier_sequences"]

LEFT, RIGHT = 0, 1


class DependencySample(NamedTuple):
    """Sentences and, for each token, the position of its head in the sentence (1, 2, ...; 0 for the root)."""

    words: Corpus
    heads: np.ndarray


@dataclass(frozen=True)
class HeadAutomata:
    """A grammar over symbols 0 .. k - 1; each has one automaton for its left modifiers and one for its right ones."""

    root: np.ndarray
    initial: np.ndarray
    operators: np.ndarray
    final: np.ndarray

    def __post_init__(self) -> None:
        k, m = len(self.root), self.initial.shape[-1]
        automata = (self.initial, self.operators, self.final)
        fits = [array.shape for array in automata] == [(2, k, m), (2, k, k, m, m), (2, k, m)]
        require_shapes("(2, k, m), (2, k, k, m, m) and (2, k, m)", fits, *automata)
        require_distributions("the root weights", self.root.sum(), self.root)
        if without_end(self.offspring):
            raise InputError(
                "trees may grow without end", remedy="lower the expected number of modifiers per word below 1"
            )

    @classmethod
    def random(
        cls,
        n_symbols: int,
        n_states: int,
        *,
        rng: np.random.Generator,
        mean_modifiers: float = 0.8,
        conditioning: float = 0.02,
    ) -> HeadAutomata:
        """Draw a grammar in which the conditioning of every automaton is at least ``conditioning``.

        Every word has ``mean_modifiers`` (below 1) modifiers on average, half of them on each side, so the expected
        length of a sentence is 1 / (1 - mean_modifiers) words: five with the default, which was chosen by hand.
        """
        if not 0 < mean_modifiers < 1:
            raise InputError(f"mean_modifiers={mean_modifiers}", remedy="give a number between 0 and 1")
        automata = [
            PNFA.random(n_states, n_symbols, rng=rng, mean_length=mean_modifiers / 2, conditioning=conditioning)
            for _ in range(2 * n_symbols)
        ]

        def stacked(name: str) -> np.ndarray:
            parts = np.stack([getattr(automaton, name) for automaton in automata])
            return parts.reshape(2, n_symbols, *parts.shape[1:])

        root = rng.dirichlet(np.ones(n_symbols))
        return cls(root, stacked("initial"), stacked("operators"), stacked("final"))

    @property
    def n_symbols(self) -> int:
        """Number of symbols k."""
        return len(self.root)

    @property
    def n_states(self) -> int:
        """Number of states m of each automaton."""
        return self.initial.shape[-1]

    def automaton(self, head: int, direction: int) -> PNFA:
        """The automaton that generates the modifiers of a head in one direction."""
        return self._automata[direction, head]

    @cached_property
    def _automata(self) -> dict[tuple[int, int], PNFA]:
        places = [(direction, head) for direction in (LEFT, RIGHT) for head in range(self.n_symbols)]
        return {place: PNFA(self.initial[place], self.operators[place], self.final[place]) for place in places}

    @cached_property
    def offspring(self) -> np.ndarray:
        """Expected number of modifiers of each symbol (columns) for each head (rows), shape (k, k)."""
        counts = np.zeros((self.n_symbols, self.n_symbols))
        for (_, head), automaton in self._automata.items():
            visits, _ = automaton.ends("substring")
            counts[head] += automaton.operators.sum(axis=2) @ visits
        return counts

    def expected_words(self) -> np.ndarray:
        """Expected number of occurrences of each symbol in a sentence, shape (k,)."""
        return expected_visits(self.root, self.offspring)

    def conditioning(self) -> float:
        """The conditioning of the worst automaton."""
        return min(automaton.conditioning() for automaton in self._automata.values())

    def probability(self, words: Sequence[int], heads: Sequence[int]) -> float:
        """P(y) of a dependency tree (equation 1), which is 0 unless the tree is projective and has one root."""
        if find_tree_problem(heads) is not None or not is_projective(heads):
            return 0.0
        p = float(self.root[words[list(heads).index(0)]])
        for head, direction, modifiers in modifier_sequences(words, heads):
            p *= self.automaton(head, direction).probability(modifiers)
        return p

    def sample(self, n: int, rng: np.random.Generator) -> DependencySample:
        """Draw n dependency trees over words named s0, s1, ..."""
        k, m = self.n_symbols, self.n_states
        steps = np.vstack([automaton.steps() for automaton in self._automata.values()])
        starts = Outcomes(self.initial.reshape(2 * k, m))
        words = draw_many(self.root, n, rng)
        generations: list[tuple[np.ndarray, np.ndarray]] = []  # words, and where the modifiers of each side begin
        while len(words):
            # The left and the right automaton of each word alternate, so modifiers are grouped by head and side.
            automata = (words[:, None] + [LEFT * k, RIGHT * k]).ravel()
            modifiers, offsets = walk(automata * m + starts.draw(automata, rng), steps, m, rng)
            generations.append((words, offsets))
            words = modifiers
        tokens, heads, sentences = _in_sentence_order(generations)
        return DependencySample(Corpus(tokens, sentences, symbols("s", k, tokens)), heads)


def modifier_sequences(words: Sequence[int], heads: Sequence[int]) -> list[tuple[int, int, list[int]]]:
    """For both sides of every word: (head, direction, modifiers from the head outwards)."""
    sequences = []
    for i, head in enumerate(words):
        mine = [j for j in range(len(words)) if heads[j] == i + 1]
        sequences.append((head, LEFT, [words[j] for j in reversed(mine) if j < i]))
        sequences.append((head, RIGHT, [words[j] for j in mine if j > i]))
    return sequences


def _in_sentence_order(
    generations: list[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Put the words in sentence order: tokens, heads, and where each sentence begins.

    ``generations`` holds, for each generation, its words and the offsets of their left and right modifiers in the next
    generation.
    """
    # Bottom up: the subtrees of the first j words of generation g hold totals[g][j] tokens.
    totals = [np.zeros(1, np.int64)]
    for _, offsets in reversed(generations):
        size = 1 + np.diff(totals[0][offsets[::2]])
        totals.insert(0, np.concatenate([[0], np.cumsum(size)]))
    sentences, below = totals[0], totals[1:]
    tokens, heads = np.empty(sentences[-1], np.int32), np.empty(sentences[-1], np.int32)
    # Top down: where each subtree and its sentence begin, and the head of the subtree's top word.
    first = sentence = sentences[:-1]
    head = np.zeros(len(first), np.int64)
    for (words, offsets), total in zip(generations, below, strict=True):
        edge = total[offsets[1::2]]
        place = first + edge - total[offsets[:-1:2]]  # after all left modifiers
        tokens[place], heads[place] = words, head
        parent, side = np.divmod(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), 2)
        outwards_left = first[parent] + edge[parent] - total[1:]
        outwards_right = place[parent] + 1 + total[:-1] - edge[parent]
        first = np.where(side == LEFT, outwards_left, outwards_right)
        sentence = sentence[parent]
        head = place[parent] - sentence + 1
    return tokens, heads, sentences
