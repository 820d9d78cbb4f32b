"""Weighted automata: distributions over strings (Balle, Carreras, Luque & Quattoni 2014)."""

from spectragram.automata.approximation import CountedDFA
from spectragram.automata.comparison import Estimate
from spectragram.automata.determinization import determinize
from spectragram.automata.dfa import DFA
from spectragram.automata.estimator import Automaton
from spectragram.automata.report import Agreement, Extraction
from spectragram.automata.wfa import WFA

__all__ = ["DFA", "WFA", "Agreement", "Automaton", "CountedDFA", "Estimate", "Extraction", "determinize"]
