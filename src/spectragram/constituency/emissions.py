"""The parser's lexicon as a distribution over all strings.

    p(w | t, x) = p(w) P(t, x | w) / P(t, x)  divided by its sum over known words and the unknown word

The lexicon gives the ratio P(t, x | w) / P(t, x), with which trees are scored. Its sums over words are not exactly one,
because words back off to classes, and trees do not need them to be. An unknown word has the ratio of rare words.
"""

from __future__ import annotations

import numpy as np

from spectragram.constituency.lexicon import Lexicon
from spectragram.learning.emissions import Emissions
from spectragram.learning.openings import Openings, WordChances

__all__ = ["lexicon_emissions"]

WORDS_AT_ONCE = 1000
"""Words whose vectors are computed together; a bound on memory, chosen by hand."""


def lexicon_emissions(lexicon: Lexicon, n_states: np.ndarray, chances: WordChances) -> Emissions:
    """Emissions of a member; ``n_states`` (n_tags,) are the hidden states of the tags."""
    inside = _weights(lexicon, n_states, chances.inside, initial=False)
    return Emissions(inside, _weights(lexicon, n_states, chances.initial, initial=True), n_states, chances)


def _weights(lexicon: Lexicon, n_states: np.ndarray, openings: Openings, *, initial: bool) -> np.ndarray:
    """p(w) times the ratio of known words and, last, of all unknown ones: (n_words + 1, n_tag_states)."""
    table = lexicon.table
    own = np.arange(int(n_states.max())) < n_states[:, None]
    nodes = table.nodes(openings.like, initial)
    # A word that was never seen at the beginning is like its lower-case form elsewhere.
    other = [i for i, (word, like) in enumerate(zip(openings.words, openings.like, strict=True)) if word != like]
    if other:
        nodes[other] = table.nodes([openings.like[i] for i in other], initial=False)
    nodes = np.append(nodes, table.rare_node())
    found = np.empty((len(nodes), int(n_states.sum())))
    for start in range(0, len(nodes), WORDS_AT_ONCE):
        part = slice(start, start + WORDS_AT_ONCE)
        found[part] = lexicon.of_nodes(nodes[part])[:, : len(own), : own.shape[1]][:, own]
    for i, word in enumerate(openings.like):
        tags = table.certain_tags(word)
        if len(tags) < len(table.possible_tags):
            found[i] *= np.repeat(np.isin(np.arange(len(own)), tags), n_states)
    return found * openings.chances[:, None]
