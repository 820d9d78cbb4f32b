"""Language models: hidden classes (Saul & Pereira 1997; Cohen & Collins 2014, section 8), Kneser-Ney, mixtures."""

from spectragram.lm.estimator import ClassBigram

__all__ = ["ClassBigram"]
