"""A trained tagger as a distribution over sentences: the hidden Markov models below its factors.

    p(next label and state | w_1 .. w_i)   = alpha_i T          alpha_0 T = initial
    p(end | w_1 .. w_i)                    = alpha_i . final
    alpha_{i+1}                            proportional to (alpha_i T) * p(w_{i+1} | label, state)

Factors look at the words around and give p(labels | words), not p(words), so they are left out. The lexicon's ratios
P(a, h | w) / P(a, h) become p(w | a, h) as in the parser: times p(w), divided by their sum over words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectragram.errors import InputError
from spectragram.inference.chart_prefix import Prefixes
from spectragram.inference.labelled_chain import ChainOperators
from spectragram.learning.emissions import Emissions
from spectragram.learning.openings import Openings, WordRows, word_chances
from spectragram.learning.prefix_mixture import Part, PrefixMixture
from spectragram.tagging.lexicon import INITIAL, CellVectors, Lexicon, back_off_keys
from spectragram.tagging.model import Model
from spectragram.tagging.sequences import begins_with_capital

__all__ = ["ChainPrefixes", "draw_sentence", "tagger_mixture"]


@dataclass(frozen=True)
class ChainPrefixes:
    """A hidden Markov model that predicts the label and state of the next word."""

    operators: ChainOperators

    def prefixes(self, sentences: Sequence[np.ndarray], *, entropy: bool = False) -> list[Prefixes]:
        """As of a grammar; there are no derivations, and no entropies of them."""
        return [self._prefixes(vectors) for vectors in sentences]

    def _prefixes(self, vectors: np.ndarray) -> Prefixes:
        operators = self.operators
        opened, ends = np.zeros((len(vectors) + 1, len(operators.initial))), np.zeros(len(vectors) + 1)
        opened[0] = operators.initial / operators.initial.sum()
        for i, vector in enumerate(vectors):
            alpha = opened[i] * vector
            following, end = alpha @ operators.transition, float(alpha @ operators.final)
            total = following.sum() + end
            if total <= 0.0:
                break
            opened[i + 1], ends[i + 1] = following / total, end / total
        return Prefixes(opened, ends)


def tagger_mixture(model: Model) -> PrefixMixture:
    """The mixture of all members, each with the same weight; refuses taggers that are not distributions over words."""
    _require_words(model)
    rows = _word_rows(model.lexicon)
    chances = word_chances(rows)
    parts = []
    for member in model.members:
        emissions = member.emissions
        assert isinstance(emissions, CellVectors)
        n_states = np.diff(emissions.starts)
        inside = _weights(model.lexicon, emissions, chances.inside, initial=False)
        at_first = _weights(model.lexicon, emissions, chances.initial, initial=True)
        words = Emissions(inside, at_first, n_states, chances)
        parts.append(Part(ChainPrefixes(member.operators), words, 1.0 / len(model.members)))
    return PrefixMixture(parts, rows, list(model.labels))


def _require_words(model: Model) -> None:
    chains = [member.operators for member in model.members]
    if model.codebook is not None or model.n_columns != 1:
        raise InputError(
            "this tagger reads more than words, or frames, so it is not a distribution over sentences",
            remedy="train a tagger on words and labels alone",
        )
    signed = any(len(chain.pair_state) != len(chain.initial) or chain.transition.min() < 0 for chain in chains)
    if not chains or signed:
        raise InputError(
            "a tagger of the learner spectral or unigram is not a distribution over sentences",
            remedy="train with another learner, e.g. spectral+em",
        )


def _word_rows(lexicon: Lexicon) -> WordRows:
    """The words of training with their labels, from the finest classes of the lexicon."""
    tree = lexicon.tree
    words, initial, tags, counts = [], [], [], []
    for node, observation in lexicon.exact():
        cells = slice(tree.cell_starts[node], tree.cell_starts[node + 1])
        n = cells.stop - cells.start
        words += [observation[0]] * n
        initial += [tree.keys[node].startswith(INITIAL)] * n
        tags.append(tree.cell_labels[cells])
        counts.append(tree.cell_counts[cells])
    return WordRows(words, np.array(initial, bool), np.concatenate(tags), np.concatenate(counts), lexicon.n_labels)


def _weights(lexicon: Lexicon, vectors: CellVectors, openings: Openings, *, initial: bool) -> np.ndarray:
    """p(w) times the ratio of known words and, last, of all unknown ones: (n_words + 1, n_states)."""
    tree, looks = lexicon.tree, lexicon.by_looks
    nodes = []
    for word, like in zip(openings.words, openings.like, strict=True):
        # A word that was never seen at the beginning is like its lower-case form elsewhere.
        at_first = initial and word == like and begins_with_capital(word)
        nodes.append(tree.find(back_off_keys((like,), looks, at_first)))
    nodes.append(tree.find(back_off_keys(("?",), looks)[-1:]) if looks else 0)
    found = np.array(nodes, np.int64)
    ratios = vectors.of_nodes(lexicon, found, lexicon.label_probabilities(found), 1.0)
    return np.maximum(ratios, 0.0) * openings.chances[:, None]


def draw_sentence(mixture: PrefixMixture, rng: np.random.Generator, max_length: int) -> list[str]:
    """Draw a member, then words from left to right until the end; at most ``max_length``."""
    part = mixture.parts[int(rng.integers(len(mixture.parts)))]
    assert isinstance(part.model, ChainPrefixes)
    operators = part.model.operators
    words: list[str] = []
    starts = np.concatenate([[0], np.cumsum(part.emissions.n_states)])
    chances = np.append(operators.initial / operators.initial.sum(), 0.0)
    while len(words) < max_length:
        state = int(rng.choice(len(chances), p=chances / chances.sum()))
        if state == len(operators.initial):
            break
        label = int(np.searchsorted(starts, state, side="right")) - 1
        words.append(part.emissions.draw(label, state - int(starts[label]), not words, rng))
        chances = np.append(operators.transition[state], operators.final[state])
    return words
