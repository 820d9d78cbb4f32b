"""What all estimators share: scikit-learn's parameters, model files, clear refusals.

A subclass names its ``kind``, keeps every constructor argument under its own name, ends learned attributes in
``_`` and says with :meth:`Estimator._get_state` / :meth:`Estimator._set_state` which arrays and plain values
make up a trained model. Saving, loading, and the command line follow from that.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from spectragram import storage
from spectragram.errors import InputError, ModelFileError, NotFittedError
from spectragram.files import Source

__all__ = ["Estimator"]

State = tuple[dict[str, Any], dict[str, np.ndarray]]


class Estimator(BaseEstimator):
    """Base of the six estimators; never used alone."""

    kind: ClassVar[str]
    """Name of the model kind, as on the command line and in model files."""

    def _get_state(self) -> State:
        """Plain values (anything JSON holds) and named arrays of the trained model."""
        raise NotImplementedError

    def _set_state(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`_get_state` gave; raise ``KeyError`` or ``ValueError`` when it does not fit."""
        raise NotImplementedError

    def save(self, path: Source) -> None:
        """Write the trained model to one file (safetensors with a JSON header), atomically."""
        self._require_fitted()
        values, arrays = self._get_state()
        header = {
            "params": self.get_params(deep=False),
            "state": values,
            "summary": getattr(self, "summary_", {}),
        }
        storage.write(path, self.kind, header, arrays)

    @classmethod
    def load(cls, path: Source) -> Self:
        """Read a model that :meth:`save` wrote. Loading never runs code from the file."""
        stored = storage.read(path)
        if stored.kind != cls.kind:
            raise ModelFileError(
                f"holds a model of kind '{stored.kind}'",
                path=path,
                remedy=f"{cls.__name__} loads kind '{cls.kind}'; use spectragram.load for any kind",
            )
        return cls._from_stored(stored, path)

    @classmethod
    def _from_stored(cls, stored: storage.StoredModel, path: Source) -> Self:
        try:
            model = cls(**stored.header["params"])
            model._set_state(stored.header["state"], stored.arrays)
            model.summary_ = stored.header.get("summary", {})
        except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as trouble:
            raise ModelFileError(
                f"its content does not make a '{cls.kind}' model ({type(trouble).__name__}: {trouble})",
                path=path,
                remedy="the file was damaged or written by another version; train the model again",
            ) from trouble
        return model

    summary_: dict[str, Any]
    """How training went (sizes, iterations, seconds); kept in the model file, shown by ``inspect``."""

    def __sklearn_is_fitted__(self) -> bool:
        return any(name.endswith("_") and not name.startswith("_") for name in vars(self))

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not trained yet: call fit(...) or load(path) first")

    @staticmethod
    def _choose(name: str, value: str, choices: tuple[str, ...] | list[str]) -> str:
        """Return ``value`` if it is one of ``choices``; otherwise say which are."""
        if value not in choices:
            raise InputError(f"{name}={value!r} is unknown", remedy=f"choose one of {', '.join(choices)}")
        return value
