"""Constituency parsing with latent-variable PCFGs: spectral, pivot, EM, and combinations."""

from spectragram.constituency.estimator import ConstituencyParser

__all__ = ["ConstituencyParser"]
