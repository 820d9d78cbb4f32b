"""Distillation: one model learns from raw text that an ensemble has labelled, beside the gold data."""

from spectragram.distillation.learning import HELD_OUT, distil, fit_with_raw

__all__ = ["HELD_OUT", "distil", "fit_with_raw"]
