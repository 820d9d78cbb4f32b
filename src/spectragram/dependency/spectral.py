"""The spectral learner of head automata: a singular value decomposition for every head and direction (section 6.2).

    basis            prefixes and suffixes of the Hankel block of head h and direction d           (section 7.1)
    "sigma-lambda"   Sigma' = the modifiers of h and the empty string; states below ``min_mass`` are discarded
    factor f         the f |Sigma^{h,d}| most frequent substrings

The alphabet of an automaton is the set of modifiers seen in training, so a little of the head's DET automaton is mixed
into the estimate: then no modifier is impossible, and no sentence either.

The paper (``recipe="paper"``) counts substring expectations, decomposes that block as it is, and gets the automaton of
whole sequences by Lemma 3.1. By default the statistic is ``marked`` (:mod:`spectragram.automata.hankel`), from which
initial and final weights are read off, and the block is scaled as in canonical correlation analysis before Lemma 4.1 is
applied. Singular values below a hundredth of the largest are dropped whatever ``min_mass`` is, and substrings have up
to 8 symbols, not 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.automata.hankel import MAX_LENGTH, CountedBlock, count_hankel, find_basis
from spectragram.automata.spectral import KAPPA, SMALLEST, automaton_of_strings
from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.dependency.features import ModifierSequences
from spectragram.dependency.grammar import Grammar
from spectragram.engine.progress import Report, silent

__all__ = ["Decomposition", "head_automaton", "learn_spectral"]

PSEUDO_SEQUENCES = 10.0
"""Weight of the DET automaton in the mixture, as a number of sequences. Chosen by hand, not tuned."""


@dataclass(frozen=True)
class Decomposition:
    """How each automaton is estimated; see :class:`~spectragram.dependency.DependencyParser`."""

    basis: str | float = "sigma-lambda"
    empty_on_top: bool = False
    statistic: str = "marked"
    max_length: int = MAX_LENGTH
    scaled: bool = True
    kappa: float = KAPPA
    smallest: float = SMALLEST
    min_mass: float = 0.0

    def automaton(self, corpus: Corpus, n_states: int) -> WFA:
        """The automaton of the strings of a corpus."""
        basis = find_basis(corpus, self.basis, self.statistic, max_length=self.max_length, one_more=self.empty_on_top)
        block = count_hankel(corpus, basis)
        smallest = max(self.smallest, self._least_share(block))
        wfa, _, _, _ = automaton_of_strings(block, n_states, scaled=self.scaled, kappa=self.kappa, smallest=smallest)
        return wfa

    def _least_share(self, block: CountedBlock) -> float:
        """``min_mass``, a share of the sum of all singular values, as a share of the largest."""
        if self.min_mass == 0.0:
            return 0.0
        rows, columns = block.scales(self.kappa) if self.scaled else map(np.ones, block.matrix.shape)
        values = np.linalg.svd(rows[:, None] * block.matrix * columns, compute_uv=False)
        return float(self.min_mass * values.sum() / values[0])


def learn_spectral(
    sequences: ModifierSequences,
    deterministic: Grammar,
    n_states: int,
    how: Decomposition,
    *,
    det_sequences: float = PSEUDO_SEQUENCES,
    report: Report = silent,
) -> Grammar:
    """Head automata of at most ``n_states`` states, plus the one state of the automata in ``deterministic`` (DET).

    Without ``det_sequences`` a head that was never seen has no modifiers.
    """
    k, m = sequences.n_symbols, n_states + (det_sequences > 0.0)
    initial, final = np.zeros((2, k, m)), np.zeros((2, k, m))
    operators = np.zeros((2, k, k, m, m))
    if det_sequences > 0.0:
        operators[..., -1, -1] = deterministic.operators[..., 0, 0]
        final[..., -1] = deterministic.final[..., 0]
    for direction in range(2):
        for head in range(k):
            report()
            tokens, offsets = sequences.of(direction, head)
            if det_sequences > 0.0:
                share = det_sequences / (len(offsets) - 1 + det_sequences)
                initial[direction, head, -1] = share
            else:
                share = 0.0
            if len(offsets) == 1:
                if not det_sequences:
                    initial[direction, head, 0] = final[direction, head, 0] = 1.0
                continue
            wfa, modifiers = head_automaton(tokens, offsets, n_states, how)
            r = wfa.n_states
            initial[direction, head, :r] = (1.0 - share) * wfa.initial
            operators[direction, head, modifiers, :r, :r] = wfa.operators
            final[direction, head, :r] = wfa.final
    return Grammar(deterministic.root, initial, operators, final)


def head_automaton(
    tokens: np.ndarray, offsets: np.ndarray, n_states: int, how: Decomposition
) -> tuple[WFA, np.ndarray]:
    """The automaton of some modifier sequences, and the symbols it is over (their own numbers, sorted).

    It has min(number of modifiers, n) states (section 7.1).
    """
    modifiers, local = np.unique(tokens, return_inverse=True)
    if not len(modifiers):
        return WFA(np.ones(1), np.zeros((0, 1, 1)), np.ones(1)), modifiers
    corpus = Corpus(local.astype(np.int32), offsets, Vocabulary([str(symbol) for symbol in modifiers]))
    return how.automaton(corpus, min(n_states, len(modifiers))), modifiers
