"""Weighted automata: distributions over strings (Balle, Carreras, Luque & Quattoni 2014)."""

from spectragram.automata.dfa import DFA
from spectragram.automata.estimator import Automaton
from spectragram.automata.wfa import WFA

__all__ = ["DFA", "WFA", "Automaton"]
