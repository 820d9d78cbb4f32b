"""One trained refinement HMM: its operators, its observation vectors, its factors, and the marginals that follow.

All members of an ensemble share the lexicon. Their marginals are multiplied (a geometric mean), which rewards labels
that every member finds possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from spectragram.engine import map_threads
from spectragram.estimator import prefixed, without_prefix
from spectragram.inference.labelled_chain import ChainOperators, batches, forward_backward
from spectragram.schema import Array, OneOf, Part, Schema
from spectragram.tagging.factors import Factors, prediction_tokens
from spectragram.tagging.gaussians import GaussianStates
from spectragram.tagging.lexicon import CellVectors, Lexicon
from spectragram.tagging.sequences import Observations

__all__ = ["EmissionModel", "Member", "as_probabilities", "combine"]

CHAIN = Schema(
    "Chain",
    "Operators of a refinement hidden Markov model.",
    arrays={
        "initial": Array("f8", ("n_dims",), "weights of the first token"),
        "transition": Array("f8", ("n_pairs", "n_dims"), "weights from one token to the next"),
        "final": Array("f8", ("n_pairs",), "weights of the last token"),
        "pair_observed": Array("i8", ("n_pairs",), "dimension of observations", least=0, below="n_observed"),
        "pair_state": Array(
            "i8",
            ("n_pairs",),
            "dimension of states",
            least=0,
            below="n_dims",
            rule=("ascending without gaps", lambda at: at[0] == 0 and bool(np.isin(np.diff(at), (0, 1)).all())),
        ),
        "label_starts": Array(
            "i8", ("n_labels + 1",), "where the dimensions of each label begin", starts="n_dims", increasing=True
        ),
    },
    sizes={"n_labels": 1},
    rule=lambda values, arrays, sizes: (
        "array 'pair_state' lacks some dimensions" if arrays["pair_state"].max() + 1 != sizes["n_dims"] else None
    ),
)
EMISSIONS = OneOf(
    {"cells": CellVectors.SCHEMA, "gaussians": GaussianStates.SCHEMA},
    lambda values, arrays: "gaussians" if "means" in arrays else "cells",
)


def _factors_fit(values: Mapping[str, Any], arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> str | None:
    """Factors stand beside probabilities alone, which can be raised to powers."""
    if "factors.weights" not in arrays:
        return None
    if not np.array_equal(arrays["emissions.starts"], arrays["chain.label_starts"]) or "emissions.means" in arrays:
        return "factors beside a model without probabilities"
    names = ("chain.initial", "chain.transition", "chain.final", "emissions.vectors", "emissions.root")
    negative = [name for name in names if (arrays[name] < 0).any()]
    return f"array '{negative[0]}' is negative, beside factors" if negative else None


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
        allowed: np.ndarray | None = None,
        nodes: np.ndarray | None = None,
        n_jobs: int | None = 1,
    ) -> np.ndarray:
        """mu(a,i) of all tokens, (n_tokens, n_labels), each row up to a positive factor; entries may be negative.

        Labels that are not ``allowed`` (n_tokens, n_labels) get the observation vector 0, so that no path passes
        through them. ``nodes`` are those of the observed types in the lexicon, if they are known.
        """
        return self.solve(lexicon, observed, weight=weight, allowed=allowed, nodes=nodes, n_jobs=n_jobs)[0]

    def solve(
        self,
        lexicon: Lexicon,
        observed: Observations,
        *,
        weight: float = 1.0,
        allowed: np.ndarray | None = None,
        nodes: np.ndarray | None = None,
        n_jobs: int | None = 1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`marginals`, and the logarithm of the sum over all allowed labels for each sequence, (n_sequences,)."""
        if self.factors is not None:
            assert isinstance(self.emissions, CellVectors)
            found = lexicon.nodes(observed) if nodes is None else nodes
            tokens = prediction_tokens(lexicon, found, self.emissions, observed, self.factors, weight)
            return self.factors.label(self.operators, tokens, observed.offsets, allowed=allowed, n_jobs=n_jobs)
        marginals = np.zeros((int(observed.offsets[-1]), lexicon.n_labels))
        log_sums = np.zeros(len(observed))
        vectors_of = self.emissions.of_tokens(lexicon, observed, weight)
        sizes = np.diff(self.emissions.starts)

        def observations(tokens: np.ndarray) -> np.ndarray:
            vectors = vectors_of(tokens)
            return vectors if allowed is None else vectors * np.repeat(allowed[tokens], sizes, axis=1)

        def solve(group: np.ndarray) -> None:
            tokens, values, logs = forward_backward(self.operators, observed.offsets, group, observations)
            marginals[tokens] = values
            log_sums[group] = logs

        map_threads(solve, batches(observed.offsets), n_jobs)
        return marginals, log_sums

    SCHEMA: ClassVar[Schema] = Schema(
        "Member of a tagger",
        "One refinement hidden Markov model, and the factors beside it.",
        parts={
            "emissions": Part(
                EMISSIONS,
                {name: name for name in ("n_labels", "n_observed", "n_cells", "n_dimensions")},
                values=None,
            ),
            "chain": Part(CHAIN, {"n_labels": "n_labels", "n_observed": "n_observed"}, values=None),
            "factors": Part(Factors.SCHEMA, values=None, optional=True),
        },
        rule=_factors_fit,
    )

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


def as_probabilities(
    marginals: np.ndarray, instead: np.ndarray, *, sign_rule: bool = True
) -> tuple[np.ndarray, dict[str, int]]:
    """Distributions over labels from signed marginals, and counts of what was repaired.

    The sign rule: where the sum of a row is negative, the estimate of p(x) is negative, and the whole row changes its
    sign. Entries that are still negative become zero (counted as ``negative``). A row without any positive entry is
    replaced by that of ``instead`` (counted as ``fallbacks``).

    Parameters
    ----------
    marginals, instead : arrays, shape (n_tokens, n_labels)
    sign_rule : bool
        Without it rows keep their sign, and one without any positive entry is certain of its largest, as in the paper.
    """
    if not sign_rule:
        largest = np.eye(marginals.shape[1])[marginals.argmax(axis=1)]
        instead = np.where(marginals.any(axis=1, keepdims=True), largest, instead)
    totals = marginals.sum(axis=1, keepdims=True)
    signed = np.where((totals < 0) & sign_rule, -marginals, marginals)
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
