"""What all estimators share: scikit-learn's parameters, model files, clear refusals.

A subclass names its ``kind``, keeps every constructor argument under its own name, ends learned attributes in
``_`` and says with :meth:`Estimator._get_state` / :meth:`Estimator._set_state` which arrays and plain values
make up a trained model. Saving, loading, and the command line follow from that.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

import numpy as np

from spectragram import storage
from spectragram.display import shown_by
from spectragram.errors import InputError, ModelFileError, NotFittedError
from spectragram.files import Source

__all__ = ["Estimator"]

State = tuple[dict[str, Any], dict[str, np.ndarray]]


class Estimator:
    """Base of the six estimators; never used alone.

    It keeps scikit-learn's protocol (``clone``, ``GridSearchCV`` and pipelines work) without inheriting from its
    ``BaseEstimator``, whose import takes longer than most predictions: half of the time that a command needed.
    """

    kind: ClassVar[str]
    """Name of the model kind, as on the command line and in model files."""

    @classmethod
    def _parameters(cls) -> dict[str, inspect.Parameter]:
        return {name: p for name, p in inspect.signature(cls.__init__).parameters.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name; ``deep`` is there for scikit-learn."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor; they count from the next ``fit`` on."""
        known = self._parameters()
        for name, value in params.items():
            if name not in known:
                raise InputError(
                    f"{type(self).__name__} has no parameter '{name}'", remedy=f"there are {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [f"{n}={v!r}" for n, v in self.get_params().items() if v != self._parameters()[n].default]
        return f"{type(self).__name__}({', '.join(changed)})"

    _repr_html_ = shown_by("model_html")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=InputTags())

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
