"""Language models: hidden classes (Saul & Pereira 1997; Cohen & Collins 2014, section 8), Kneser-Ney, mixtures."""

from spectragram.lm.estimator import LanguageModel

__all__ = ["LanguageModel"]
