"""Dependency parsing with split head automata (Balle et al. 2014, sections 6 and 7) and surface factors."""

from spectragram.dependency.estimator import DependencyParser

__all__ = ["DependencyParser"]
