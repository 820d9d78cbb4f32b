"""Choices that training makes on a part of its own data, with HMMs of one state for each label, which train fast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spectragram.learning.factors import empty_table
from spectragram.learning.word_cells import Cells
from spectragram.tagging.em import CellEmissions, TrainingChain, chain_from_states
from spectragram.tagging.factors import Factors, learn_factors, templates_for, training_tokens
from spectragram.tagging.lexicon import CellVectors, learn_lexicon
from spectragram.tagging.member import Member
from spectragram.tagging.sequences import Observations

__all__ = ["choose_templates", "prefers_looks"]

HELD_OUT = 10
"""One sequence in ten is held out. Chosen by hand, not tuned."""
EPOCHS = 2
"""Passes over the data to compare templates. Chosen by hand, not tuned: what helps shows early."""


def count_hmm(observed: Observations, labels: np.ndarray, cells: Cells, n_labels: int) -> Member:
    """The supervised HMM of labelled sequences; labels (n_tokens,), cells of the lexicon counted on them."""
    chain = TrainingChain(labels, observed.offsets, np.ones(n_labels, np.int64))
    emissions = CellEmissions(cells, chain)
    model = chain_from_states(chain, np.zeros(len(labels), np.int64), emissions)
    return Member(model.operators(), emissions.model)


def prefers_looks(observed: Observations, labels: np.ndarray, n_labels: int, kappa: float) -> bool:
    """Whether backing off through classes by looks helps an HMM on held-out training sequences.

    With one column it always does. With several the others may tell more: a part of speech says all that shape and
    suffix say about chunks, but not about names.
    """
    if observed.n_columns == 1:
        return True
    if len(observed) < 2 * HELD_OUT:
        return False
    held_out = np.arange(len(observed)) % HELD_OUT == HELD_OUT - 1
    kept, rows = observed.select(np.flatnonzero(~held_out))
    dev, dev_rows = observed.select(np.flatnonzero(held_out))
    hits = {}
    for by_looks in (False, True):
        lexicon, cells = learn_lexicon(kept, labels[rows], n_labels, kappa=kappa, by_looks=by_looks)
        marginals = count_hmm(kept, labels[rows], cells, n_labels).marginals(lexicon, dev)
        hits[by_looks] = int((marginals.argmax(axis=1) == labels[dev_rows]).sum())
    return hits[True] > hits[False]


def choose_templates(
    observed: Observations,
    labels: np.ndarray,
    n_labels: int,
    *,
    kappa: float,
    by_looks: bool,
    seed: int,
    n_jobs: int = 1,
) -> tuple[str, ...]:
    """The templates of factors: those of words, with or without those of further columns, whichever do better.

    Columns that a program has filled in may mislead as often as they help. The last tenth of the sequences decides, and
    not every tenth one: neighbouring sequences often come from the same document and share their names.
    """
    every = templates_for(observed.n_columns)
    if observed.n_columns == 1 or len(observed) < 2 * HELD_OUT:
        return every
    first = len(observed) - len(observed) // HELD_OUT
    kept, rows = observed.select(np.arange(first))
    dev, dev_rows = observed.select(np.arange(first, len(observed)))
    lexicon, cells = learn_lexicon(kept, labels[rows], n_labels, kappa=kappa, by_looks=by_looks)
    member = count_hmm(kept, labels[rows], cells, n_labels)
    assert isinstance(member.emissions, CellVectors)
    hits = {}
    for templates in (templates_for(1), every):
        empty = Factors(templates, empty_table(len(rows)))
        factors = learn_factors(
            empty,
            member.operators,
            training_tokens(lexicon, cells, member.emissions, kept, empty, 1.0),
            labels[rows],
            kept.offsets,
            n_epochs=EPOCHS,
            rng=np.random.default_rng(seed),
            n_jobs=n_jobs,
        )
        marginals = replace(member, factors=factors).marginals(lexicon, dev, n_jobs=n_jobs)
        hits[templates] = int((marginals.argmax(axis=1) == labels[dev_rows]).sum())
    return max(hits, key=lambda templates: hits[templates])
