"""What all estimators share: scikit-learn's parameters, model files, clear refusals.

A subclass names its ``kind``, keeps every constructor argument under its own name, ends learned attributes in
``_`` and says with :meth:`Estimator._get_state` / :meth:`Estimator._set_state` which arrays and plain values
make up a trained model. Saving, loading, and the command line follow from that.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from spectragram import storage
from spectragram.display import shown_by
from spectragram.errors import InputError, ModelFileError, NotFittedError
from spectragram.files import Source

__all__ = ["Estimator", "State", "prefixed", "whole_or_nothing", "without_prefix"]

State = tuple[dict[str, Any], dict[str, Any]]
"""What a model file holds of a trained model: plain values, and named arrays or lists of strings."""

Method = TypeVar("Method", bound=Callable[..., Any])


def prefixed(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of a part under names that begin with ``prefix.``"""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays whose names begin with ``prefix.``, without it."""
    return {name[len(prefix) + 1 :]: array for name, array in arrays.items() if name.startswith(prefix + ".")}


def whole_or_nothing(method: Method) -> Method:
    """For ``fit``: the seed is checked, and training that fails or is interrupted leaves the estimator as it was."""

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        self._check_whole("random_state", 0, or_else=())
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return guarded  # type: ignore[return-value]


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
    """How training went; kept in the model file, shown by ``inspect``.

    The same names for all kinds: ``learner`` first, then ``states`` (of all symbols together) and ``models`` where
    there are any, ``sentences`` and ``tokens`` that were read, ``types`` (different words), facts of the kind's own,
    and ``seconds`` last.
    """

    def __sklearn_is_fitted__(self) -> bool:
        return any(name.endswith("_") and not name.startswith("_") for name in vars(self))

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not trained yet: call fit(...) or load(path) first")

    def _check_whole(self, name: str, least: int = 1, *, or_else: tuple[object, ...] = (None,)) -> None:
        """Refuse a parameter that is neither a whole number of at least ``least`` nor one of ``or_else``."""
        value = getattr(self, name)
        if any(value is other or (isinstance(other, str) and value == other) for other in or_else):
            return
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
            others = "".join(f" or {other!r}" for other in or_else)
            raise InputError(f"{name}={value!r}", remedy=f"give a whole number of at least {least}{others}")

    def _check_number(self, name: str, least: float = 0.0, *, above: bool = False) -> None:
        """Refuse a parameter that is neither None nor a finite number from ``least`` on (``above``: greater)."""
        value = getattr(self, name)
        if value is None:
            return
        fits = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
        if not fits or value < least or (above and value == least):
            bound = f"above {least:g}" if above else f"of at least {least:g}"
            raise InputError(f"{name}={value!r}", remedy=f"give a number {bound}")

    def _with_preset(self, presets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The values of ``self.preset``, with every parameter that was given (is not None) in its place."""
        self._choose("preset", getattr(self, "preset"), tuple(presets))  # noqa: B009
        chosen = dict(presets[getattr(self, "preset")])  # noqa: B009
        return chosen | {name: getattr(self, name) for name in chosen if getattr(self, name, None) is not None}

    @staticmethod
    def _choose(name: str, value: str, choices: tuple[str, ...] | list[str]) -> str:
        """Return ``value`` if it is one of ``choices``; otherwise say which are."""
        if value not in choices:
            raise InputError(f"{name}={value!r} is unknown", remedy=f"choose one of {', '.join(choices)}")
        return value
