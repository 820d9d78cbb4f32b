"""Choices that training makes on a part of its own data, with HMMs of one state for each label, which train fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spectragram.learning.factors import empty_table
from spectragram.learning.word_cells import Cells
from spectragram.tagging.decoding import Legal, marks_spans, weight_of_outside
from spectragram.tagging.em import CellEmissions, TrainingChain, chain_from_states
from spectragram.tagging.factors import Factors, learn_factors, templates_for, training_tokens
from spectragram.tagging.lexicon import CellVectors, Lexicon, learn_lexicon
from spectragram.tagging.member import Member
from spectragram.tagging.sequences import Observations

__all__ = ["choose_factors", "prefers_looks"]

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


def choose_factors(
    observed: Observations,
    labels: np.ndarray,
    names: Sequence[str],
    legal: Legal | None,
    *,
    kappa: float,
    by_looks: bool,
    seed: int,
    n_jobs: int = 1,
) -> tuple[tuple[str, ...], float]:
    """The templates of factors, and the weight of the label O in decoding.

    The templates are those of words, with or without those of further columns, whichever do better: columns that a
    program has filled in may mislead as often as they help. The last tenth of the sequences decides, and not every
    tenth one: neighbouring sequences often come from the same document and share their names.
    """
    with_paths = observed.paths is not None
    every = templates_for(observed.n_columns, paths=with_paths)
    spans = marks_spans(names)
    if len(observed) < 2 * HELD_OUT or (observed.n_columns == 1 and not spans):
        return every, 1.0
    first = len(observed) - len(observed) // HELD_OUT
    kept, rows = observed.select(np.arange(first))
    dev, dev_rows = observed.select(np.arange(first, len(observed)))
    gold = labels[dev_rows]
    found = {}
    for templates in dict.fromkeys((templates_for(1, paths=with_paths), every)):
        learned = _learn_briefly(kept, labels[rows], len(names), templates, kappa, by_looks, seed, n_jobs)
        found[templates] = learned.marginals(dev, n_jobs=n_jobs)
    best = max(found, key=lambda templates: int((found[templates].argmax(axis=1) == gold).sum()))
    return best, weight_of_outside(found[best], gold, dev.offsets, names, legal) if spans else 1.0


@dataclass(frozen=True)
class _Brief:
    """An HMM with factors, and its lexicon."""

    member: Member
    lexicon: Lexicon

    def marginals(self, observed: Observations, n_jobs: int) -> np.ndarray:
        return self.member.marginals(self.lexicon, observed, n_jobs=n_jobs)


def _learn_briefly(
    observed: Observations,
    labels: np.ndarray,
    n_labels: int,
    templates: tuple[str, ...],
    kappa: float,
    by_looks: bool,
    seed: int,
    n_jobs: int,
) -> _Brief:
    """A few epochs of factors beside an HMM of one state for each label."""
    lexicon, cells = learn_lexicon(observed, labels, n_labels, kappa=kappa, by_looks=by_looks)
    member = count_hmm(observed, labels, cells, n_labels)
    assert isinstance(member.emissions, CellVectors)
    empty = Factors(templates, empty_table(len(labels)))
    factors = learn_factors(
        empty,
        member.operators,
        training_tokens(lexicon, cells, member.emissions, observed, empty, 1.0),
        labels,
        observed.offsets,
        n_epochs=EPOCHS,
        rng=np.random.default_rng(seed),
        n_jobs=n_jobs,
    )
    return _Brief(replace(member, factors=factors), lexicon)
