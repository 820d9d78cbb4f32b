"""Project the nodes of each label to the few dimensions in which their insides and outsides agree.

Figure 5 of Cohen et al. (2012), the singular value decompositions, and step 1 of figure 4, the projection; computed by
:mod:`spectragram.learning.views`.

paper      here         shape for label a
Y          inside       (n, m)      U' phi
Z sigma    outside      (n, m)      V' psi
sigma      sigma        (m,)        at most n_states, those above a threshold
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectragram.constituency.features import FeatureColumns
from spectragram.learning import views

__all__ = ["Projection", "project_labels"]

# Not the exact solver: it is as fast, but with exact trailing directions F1 on wsj-sample is 0.2 to 0.4 lower.
DECOMPOSITION = views.Decomposition(centred=False, solver="power", least=0.01)
"""Directions with a smaller correlation than 0.01 are noise, and inverting them would amplify it. The bound is that
of Cohen et al. (2013)."""


@dataclass(frozen=True)
class Projection:
    """One label's nodes, projected.

    Attributes
    ----------
    nodes : int64 array, shape (n,)
    inside, outside : float64 arrays, shape (n, m)
    sigma : float64 array, shape (m,)
        Correlations of insides and outsides, largest first.
    """

    nodes: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    sigma: np.ndarray

    def first(self, m: int) -> Projection:
        """Its leading ``m`` dimensions."""
        return Projection(self.nodes, self.inside[:, :m], self.outside[:, :m], self.sigma[:m])


def project_labels(
    columns: FeatureColumns,
    symbol: np.ndarray,
    n_symbols: int,
    n_states: int,
    *,
    noise: float = 0.0,
    random_state: int = 0,
    n_jobs: int = 1,
) -> list[Projection]:
    """Steps 0 and 1 of figure 4: a projection for every symbol.

    Parameters
    ----------
    columns : FeatureColumns
    symbol : int array, shape (n_nodes,)
        The label of each node; every label occurs.
    n_symbols : int
    n_states : int
        Dimensions at most.
    noise : float
        Perturbs the features, see :meth:`spectragram.learning.views.View.of`.
    random_state, n_jobs : int
    """
    found = views.project_labels(
        columns.inside,
        columns.outside,
        symbol,
        n_symbols,
        lambda n_nodes: n_states,
        DECOMPOSITION,
        noise=noise,
        seed=random_state,
        n_jobs=n_jobs,
    )
    return [_with_constant(p) if len(p.sigma) == 0 else Projection(p.rows, p.left, p.right, p.sigma) for p in found]


def _with_constant(projection: views.Projection) -> Projection:
    """No two nodes share anything: one dimension, which is constant."""
    ones = np.ones((len(projection.rows), 1))
    return Projection(projection.rows, ones, ones.copy(), np.ones(1))
