"""One trained refinement HMM: its operators, its observation vectors, its factors, and the marginals that follow.

All members of an ensemble share the lexicon. Their marginals are multiplied (a geometric mean), which rewards labels
that every member finds possible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self

import numpy as np

from spectragram.engine import map_threads
from spectragram.estimator import prefixed, without_prefix
from spectragram.inference.labelled_chain import ChainOperators, batches, forward_backward
from spectragram.tagging.factors import Factors, prediction_tokens
from spectragram.tagging.gaussians import GaussianStates
from spectragram.tagging.lexicon import CellVectors, Lexicon
from spectragram.tagging.sequences import Observations

__all__ = ["EmissionModel", "Member", "as_probabilities", "combine"]

VectorsOf = Callable[[np.ndarray], np.ndarray]
"""From token numbers (n,) to their observation vectors (n, n_observed)."""

FLOOR_OF_MEMBERS = 1e-4
"""Added to the marginals of every member before they are multiplied, so that none has a veto. Chosen by hand, not
tuned."""


class EmissionModel(Protocol):
    """Gives observations their vectors c_x^a, labels one after the other."""

    @property
    def starts(self) -> np.ndarray:
        """Where the observation dimensions of each label begin, (n_labels + 1,)."""

    def of_tokens(self, lexicon: Lexicon, observed: Observations, weight: float) -> VectorsOf:
        """The vectors of the observed tokens.

        ``weight`` is an exponent of p(x|a), below 1 where neighbouring observations repeat each other (speech).
        """

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, for model files."""


@dataclass(frozen=True)
class Member:
    """One trained model.

    Attributes
    ----------
    operators : ChainOperators
        Initial, transition and final operators of the chain.
    emissions : EmissionModel
        The vectors of observations.
    factors : Factors or None
        Log-linear factors beside a probabilistic chain whose emissions are :class:`CellVectors`.
    """

    operators: ChainOperators
    emissions: EmissionModel
    factors: Factors | None = None

    def marginals(
        self,
        lexicon: Lexicon,
        observed: Observations,
        *,
        weight: float = 1.0,
        fixed: np.ndarray | None = None,
        nodes: np.ndarray | None = None,
        n_jobs: int | None = 1,
    ) -> np.ndarray:
        """mu(a,i) of all tokens, (n_tokens, n_labels), each row up to a positive factor; entries may be negative.

        Where ``fixed`` (n_tokens,) holds a label and not -1, all other labels get the observation vector 0, so that
        no path passes through them. ``nodes`` are those of the observed types in the lexicon, if they are known.
        """
        if self.factors is not None:
            assert isinstance(self.emissions, CellVectors)
            found = lexicon.nodes(observed) if nodes is None else nodes
            tokens = prediction_tokens(lexicon, found, self.emissions, observed, self.factors, weight)
            return self.factors.label(self.operators, tokens, observed.offsets, fixed=fixed, n_jobs=n_jobs)
        n_labels = lexicon.n_labels
        marginals = np.zeros((int(observed.offsets[-1]), n_labels))
        vectors_of = self.emissions.of_tokens(lexicon, observed, weight)
        may_be = np.repeat(np.vstack([np.eye(n_labels), np.ones(n_labels)]), np.diff(self.emissions.starts), axis=1)

        def observations(tokens: np.ndarray) -> np.ndarray:
            return vectors_of(tokens) if fixed is None else vectors_of(tokens) * may_be[fixed[tokens]]

        def solve(group: np.ndarray) -> None:
            tokens, values, _ = forward_backward(self.operators, observed.offsets, group, observations)
            marginals[tokens] = values

        map_threads(solve, batches(observed.offsets), n_jobs)
        return marginals

    def to_arrays(self) -> dict[str, Any]:
        """All arrays and lists of strings by name, for model files."""
        of_chain = {field.name: getattr(self.operators, field.name) for field in fields(ChainOperators)}
        arrays = prefixed("chain", of_chain) | prefixed("emissions", self.emissions.to_arrays())
        return arrays if self.factors is None else arrays | prefixed("factors", self.factors.to_arrays())

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_arrays`; checks that the parts fit."""
        operators = ChainOperators(**without_prefix("chain", arrays))
        stored = without_prefix("emissions", arrays)
        emissions: EmissionModel = GaussianStates(**stored) if "means" in stored else CellVectors(**stored)
        n_pairs, n_dims = operators.transition.shape
        fits = (
            len(operators.initial) == operators.label_starts[-1] == n_dims
            and len(operators.final) == len(operators.pair_state) == len(operators.pair_observed) == n_pairs
            and np.array_equal(np.unique(operators.pair_state), np.arange(n_dims))
            and 0 <= operators.pair_observed.min() <= operators.pair_observed.max() < emissions.starts[-1]
            and len(emissions.starts) == len(operators.label_starts)
        )
        if not fits:
            raise ValueError("the parts of a member do not fit together")
        of_factors = without_prefix("factors", arrays)
        if not of_factors:
            return cls(operators, emissions)
        if n_pairs != n_dims or not np.array_equal(emissions.starts, operators.label_starts):
            raise ValueError("factors beside a model without probabilities")
        return cls(operators, emissions, Factors.from_arrays(of_factors))


def as_probabilities(marginals: np.ndarray, instead: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
    """Distributions over labels from signed marginals, and counts of what was repaired.

    The sign rule: where the sum of a row is negative, the estimate of p(x) is negative, and the whole row changes its
    sign. Entries that are still negative become zero (counted as ``negative``). A row without any positive entry is
    replaced by that of ``instead`` (counted as ``fallbacks``).

    Parameters
    ----------
    marginals, instead : arrays, shape (n_tokens, n_labels)
    """
    totals = marginals.sum(axis=1, keepdims=True)
    signed = np.where(totals < 0, -marginals, marginals)
    negative = signed < 0
    clipped = np.where(negative, 0.0, signed)
    sums = clipped.sum(axis=1, keepdims=True)
    lost = ~(sums > 0) | ~np.isfinite(sums)
    probabilities = np.where(lost, instead, clipped / np.where(lost, 1.0, sums))
    return probabilities, {"negative": int(negative.sum()), "fallbacks": int(lost.sum())}


def combine(members: list[np.ndarray]) -> np.ndarray:
    """Normalised geometric mean of the members' distributions over labels, each (n_tokens, n_labels)."""
    if len(members) == 1:
        return members[0]
    logs = sum(np.log(member + FLOOR_OF_MEMBERS) for member in members) / len(members)
    weights = np.exp(logs - np.max(logs, axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
