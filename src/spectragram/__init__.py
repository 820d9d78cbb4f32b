"""Latent-variable models of language learned from moments: one pass of counting, one decomposition, a model.

    import spectragram as sg

    model = sg.Automaton().fit([["a", "b"], ["a", "b", "b"]])
    model.save("model.sgm")
    sg.load("model.sgm").log_prob([["a", "b"]])

Importing this package loads nothing heavy: estimators are imported when first named.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from spectragram._compiled import ensure_kernel_cache
from spectragram._version import __version__
from spectragram.kinds import KINDS, load

ensure_kernel_cache()  # before any kernel is imported

_ESTIMATORS = {kind.estimator: kind.module for kind in KINDS.values()} | {
    "distil": "spectragram.distillation",
    "surprisal_table": "spectragram.surprisal",
}

__all__ = ["KINDS", "__version__", "load"]
__all__ += list(_ESTIMATORS)


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:
        return getattr(import_module(_ESTIMATORS[name]), name)
    raise AttributeError(f"module 'spectragram' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
