"""The temperature of a parser: how much less sure it is of its heads than the factors of its training data make it.

A tagger trains a second time to find its temperature (:mod:`spectragram.tagging.calibration`). Parsers of very
different treebanks want nearly the same one, so those without held-out trees take that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.dependency.long_sentences import LONGEST
from spectragram.dependency.model import Model
from spectragram.learning.temperature import fit_temperature
from spectragram.metrics import calibration_error

__all__ = ["USUAL", "held_out_temperature"]

USUAL = 1.45
"""The temperature of parsers with factors, unless there are held-out trees.

On the dev parts of ten treebanks of 5,000 to 205,000 words the best one is 1.3 to 1.65, for two seeds of each and for
all presets; this one lowers the mean calibration error from 0.062 to 0.021. A temperature found on a tenth of a small
treebank is further off: on Tamil 1.65, where the dev part wants 1.35.
"""
FEWEST_WORDS = 1000
"""Fewer held-out words than this do not tell a temperature from another one. Chosen by hand."""


def held_out_temperature(model: Model, sentences: Sequence[Sentence], n_jobs: int = 1) -> float:
    """The temperature at which the best heads of held-out trees are calibrated best; :data:`USUAL` for few words."""
    short = [sentence for sentence in sentences if len(sentence) <= LONGEST]
    if sum(map(len, short)) < FEWEST_WORDS:
        return USUAL
    found = [chart.head_distributions() for chart, _ in model.parse(model.alphabet.encode(short), n_jobs)]
    widest = max(rows.shape[1] for rows in found)
    padded = np.concatenate([np.pad(rows, ((0, 0), (0, widest - rows.shape[1]))) for rows in found])
    return fit_temperature(padded, np.concatenate([sentence.heads for sentence in short]), calibration_error)
