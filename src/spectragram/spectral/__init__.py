"""Linear algebra on moments: count, scale, decompose, smooth. Knows nothing of language."""

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
    conditional_weights,
    convex_em,
    match_states,
    mixture_weights,
)
from spectragram.spectral.moments import CrossMoment, GroupedCrossMoment, GroupMoment
from spectragram.spectral.products import ProductMoments
from spectragram.spectral.scaling import Scaling, cca_weights, scale_features
from spectragram.spectral.simplex import project_to_simplex, simplex_least_squares
from spectragram.spectral.smoothing import confidence, smooth_means, smooth_moments
from spectragram.spectral.subspace import Subspace, choose_method, find_subspace

__all__ = [
    "ConvexEM",
    "CrossMoment",
    "GroupMoment",
    "GroupedCrossMoment",
    "OneSided",
    "ProductMoments",
    "Scaling",
    "Subspace",
    "TwoSided",
    "cca_weights",
    "choose_method",
    "conditional_weights",
    "confidence",
    "convex_em",
    "decompose_means",
    "find_anchors",
    "find_subspace",
    "match_states",
    "mixture_weights",
    "pivot_decompose",
    "pivot_decompose_both",
    "project_to_simplex",
    "scale_features",
    "simplex_least_squares",
    "smooth_means",
    "smooth_moments",
]
