"""Hidden Markov models of whole numbers and of vectors, for those who come from hmmlearn."""

from spectragram.hmm.estimator import HMM

__all__ = ["HMM"]
