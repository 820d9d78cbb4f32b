"""The temperature of a tagger, from sequences that a tagger like it has not seen.

Briefer models than the one that is reported will not do: their probabilities are too sure to another degree. On WNUT-17
with clusters an HMM of one state, with two epochs of factors, wants a temperature of 2.3, the tagger itself 1.5.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spectragram.data.corpus import Vocabulary
from spectragram.data.labelled import LabelledFile
from spectragram.learning.temperature import fit_temperature
from spectragram.metrics import calibration_error
from spectragram.tagging.held_out import HELD_OUT
from spectragram.tagging.learners import train
from spectragram.tagging.sequences import encode_labels
from spectragram.tagging.settings import Settings

__all__ = ["held_out_temperature"]


def held_out_temperature(data: LabelledFile, settings: Settings, n_jobs: int | None = 1) -> float:
    """The temperature at which a tagger of nine tenths of the data is calibrated best on the last tenth.

    The last tenth, and not every tenth sequence: neighbouring sequences often come from the same document. With fewer
    than twenty sequences it is 1.
    """
    n = len(data.X)
    if n < 2 * HELD_OUT:
        return 1.0
    first = n - n // HELD_OUT
    seen = replace(data, X=data.X[:first], y=data.y[:first], records=data.records[:first])
    model, _ = train(seen, settings, n_jobs=n_jobs)
    observed = model.observe(data.X[first:])
    probabilities, _ = model.probabilities(observed, n_jobs=n_jobs)
    gold, _ = encode_labels(data.y[first:], observed.offsets, Vocabulary(model.labels))
    is_known = np.array([label is not None for labels in data.y[first:] for label in labels], bool)
    return fit_temperature(probabilities[is_known], gold[is_known], calibration_error)
