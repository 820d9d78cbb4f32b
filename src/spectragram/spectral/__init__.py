"""Linear algebra on moments: scale, decompose, smooth, cluster. Nothing here knows about language."""

from __future__ import annotations

from spectragram.spectral.anchors import (
    OneSided,
    TwoSided,
    decompose_means,
    find_anchors,
    pivot_decompose,
    pivot_decompose_both,
)
from spectragram.spectral.mixtures import (
    ConvexEM,
    convex_em,
    match_states,
    mixture_weights,
)
from spectragram.spectral.products import ProductMoments
from spectragram.spectral.scaling import Scaling, cca_weights
from spectragram.spectral.simplex import simplex_least_squares
from spectragram.spectral.smoothing import confidence, smooth_moments
from spectragram.spectral.subspace import Subspace, choose_method, find_subspace

__all__ = [
    "ConvexEM",
    "OneSided",
    "ProductMoments",
    "Scaling",
    "Subspace",
    "TwoSided",
    "cca_weights",
    "choose_method",
    "confidence",
    "convex_em",
    "decompose_means",
    "find_anchors",
    "find_subspace",
    "match_states",
    "mixture_weights",
    "pivot_decompose",
    "pivot_decompose_both",
    "simplex_least_squares",
    "smooth_moments",
]
