"""Sequence labelling with refinement HMMs (Stratos, Rush, Cohen & Collins 2013)."""

from spectragram.tagging.estimator import Tagger
from spectragram.tagging.features import SPEECH_VIEWS, Views, text_views

__all__ = ["SPEECH_VIEWS", "Tagger", "Views", "text_views"]
