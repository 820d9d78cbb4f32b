"""A trained parser as a distribution over sentences: the mixture of all members of its ensemble.

One more part of the mixture, with the tiny weight ``UNGRAMMATICAL``, draws tags independently: sentences that no member
can derive keep a probability.
"""

from __future__ import annotations

import numpy as np

from spectragram.constituency.emissions import lexicon_emissions
from spectragram.constituency.model import Grammar, Member, Model
from spectragram.inference.chart_entropy import EntropyGrammar
from spectragram.learning.measures import LOG_2, entropy_bits
from spectragram.learning.openings import WordChances, WordRows, word_chances
from spectragram.learning.prefix_mixture import Independent, Part, PrefixMixture

__all__ = ["MAX_WORDS", "parser_mixture"]

UNGRAMMATICAL = 1e-6
"""Weight of the part of the mixture that knows no grammar. Small enough to change no surprisal that can be seen where
there is a parse; a word after which there is none costs about 20 bits more. Chosen by hand."""
MAX_WORDS = 400
"""Longest sentence that has a chart; one member takes about a gigabyte for it. Chosen by hand."""


def parser_mixture(model: Model) -> PrefixMixture:
    """The mixture of all members, each with the same weight; ``model`` is one that is ``probabilistic``."""
    table, productions = model.words, model.grammars[0].productions
    rows = WordRows(table.words, table.initial, table.tags, table.counts, productions.n_tags)
    chances = word_chances(rows)
    members = [(grammar, member) for grammar in model.grammars for member in grammar.members]
    parts = [_part(grammar, member, chances, (1.0 - UNGRAMMATICAL) / len(members)) for grammar, member in members]
    parts.append(Part(_independent(model), parts[0].emissions, UNGRAMMATICAL))
    return PrefixMixture(parts, rows, list(productions.labels[: productions.n_tags]))


def _part(grammar: Grammar, member: Member, chances: WordChances, weight: float) -> Part:
    n_tags = grammar.productions.n_tags
    emissions = lexicon_emissions(member.lexicon, member.operators.n_states[:n_tags], chances)
    entropies = [LOG_2 * entropy_bits(words.T) for words in (emissions.inside, emissions.initial)]
    return Part(EntropyGrammar(grammar.rules, member.operators, n_tags, *entropies), emissions, weight)


def _independent(model: Model) -> Independent:
    """The tags and states of the first member by their frequency alone."""
    member, n_tags = model.grammars[0].members[0], model.grammars[0].productions.n_tags
    seen = np.where(np.isfinite(member.lexicon.divisor), member.lexicon.divisor, 0.0)[:n_tags]
    states = seen[np.arange(seen.shape[1]) < member.operators.n_states[:n_tags, None]]
    n_sentences = float(model.words.counts[model.words.initial].sum())
    return Independent(states / states.sum(), n_sentences / (model.words.n_tokens + n_sentences))
