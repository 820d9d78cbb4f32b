"""The spectral learner of head automata: a singular value decomposition for every head and direction (section 6.2).

    basis            prefixes and suffixes of the Hankel block of head h and direction d           (section 7.1)
    "sigma-lambda"   Sigma' = the modifiers of h and the empty string; states below ``min_mass`` are discarded
    factor f         the f |Sigma^{h,d}| most frequent substrings

The alphabet of an automaton is the set of modifiers seen in training, so a little of the head's DET automaton is mixed
into the estimate: then no modifier is impossible, and no sentence either.

The paper counts substring expectations, decomposes that block as it is, and gets the automaton of whole sequences by
Lemma 3.1. Here the statistic is ``marked`` (:mod:`spectragram.automata.hankel`), from which initial and final weights
are read off, and the block is scaled as in canonical correlation analysis before Lemma 4.1 is applied. Singular values
below a hundredth of the largest are dropped whatever ``min_mass`` is, and substrings have up to 8 symbols, not 4.
"""

from __future__ import annotations

import numpy as np

from spectragram.automata.hankel import count_hankel, find_basis
from spectragram.automata.spectral import KAPPA, SMALLEST, automaton_from_block
from spectragram.automata.wfa import WFA
from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.dependency.features import ModifierSequences
from spectragram.dependency.grammar import Grammar
from spectragram.engine.progress import Report, silent

__all__ = ["head_automaton", "learn_spectral"]

PSEUDO_SEQUENCES = 10.0
"""Weight of the DET automaton in the mixture, as a number of sequences. Chosen by hand, not tuned."""


def learn_spectral(
    sequences: ModifierSequences,
    deterministic: Grammar,
    n_states: int,
    *,
    basis: str | float = "sigma-lambda",
    min_mass: float = 0.0,
    report: Report = silent,
) -> Grammar:
    """Head automata of at most ``n_states`` states, plus the one state of the automata in ``deterministic`` (DET)."""
    k, m = sequences.n_symbols, n_states + 1
    initial, final = np.zeros((2, k, m)), np.zeros((2, k, m))
    operators = np.zeros((2, k, k, m, m))
    operators[..., -1, -1] = deterministic.operators[..., 0, 0]
    final[..., -1] = deterministic.final[..., 0]
    for direction in range(2):
        for head in range(k):
            report()
            tokens, offsets = sequences.of(direction, head)
            share = PSEUDO_SEQUENCES / (len(offsets) - 1 + PSEUDO_SEQUENCES)
            initial[direction, head, -1] = share
            if len(offsets) == 1:
                continue
            wfa, modifiers = head_automaton(tokens, offsets, n_states, basis=basis, min_mass=min_mass)
            r = wfa.n_states
            initial[direction, head, :r] = (1.0 - share) * wfa.initial
            operators[direction, head, modifiers, :r, :r] = wfa.operators
            final[direction, head, :r] = wfa.final
    return Grammar(deterministic.root, initial, operators, final)


def head_automaton(
    tokens: np.ndarray, offsets: np.ndarray, n_states: int, *, basis: str | float, min_mass: float = 0.0
) -> tuple[WFA, np.ndarray]:
    """The automaton of some modifier sequences, and the symbols it is over (their own numbers, sorted).

    ``basis`` is "sigma-lambda" or a factor, the number of substrings for each symbol.
    """
    modifiers, local = np.unique(tokens, return_inverse=True)
    if not len(modifiers):
        return WFA(np.ones(1), np.zeros((0, 1, 1)), np.ones(1)), modifiers
    corpus = Corpus(local.astype(np.int32), offsets, Vocabulary([str(symbol) for symbol in modifiers]))
    block = count_hankel(corpus, find_basis(corpus, basis))
    # min_mass is a share of the sum of all singular values, the learner's threshold one of the largest.
    smallest = SMALLEST
    if min_mass > 0.0:
        rows, columns = block.scales(KAPPA)
        values = np.linalg.svd(rows[:, None] * block.matrix * columns, compute_uv=False)
        smallest = max(smallest, min_mass * values.sum() / values[0])
    wfa, _, _, _ = automaton_from_block(block, min(n_states, len(modifiers)), smallest=smallest)
    return wfa, modifiers
