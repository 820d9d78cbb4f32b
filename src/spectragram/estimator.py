"""What all estimators share: scikit-learn's parameters, model files, clear refusals.

A subclass names its ``kind`` and its ``model_type``, keeps every constructor argument under its own name, and lets
``fit`` put everything that prediction needs into ``model_``. What the parameters say is read by ``fit`` alone: a
trained model depends on nothing but ``model_``, so ``set_params`` after ``fit`` changes neither predictions nor files.
Only ``n_jobs``, ``executor`` and ``verbose`` say how to run rather than what to learn; they are read when used and
never saved. With an ``executor`` (a ``distributed.Client``, or anything with ``submit``) training and prediction send
work to its workers, see :mod:`spectragram.engine.cluster` and :mod:`spectragram.engine.sharding`; results are the same.
"""

from __future__ import annotations

import copy
import inspect
import math
import numbers
import time
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from spectragram import storage
from spectragram._compiled import watch_compilation
from spectragram.display import shown_by
from spectragram.engine import Executor, working_on
from spectragram.errors import InputError, ModelFileError, NotFittedError, ParameterError
from spectragram.files import Source
from spectragram.schema import Misfit, Schema, Value

__all__ = ["RUN_TIME", "Estimator", "Predictions", "State", "TrainedModel", "fitting", "prefixed", "without_prefix"]

State = tuple[dict[str, Any], dict[str, Any]]
"""What a model file holds of a trained model: plain values; named arrays and lists of strings."""
RUN_TIME = ("memory", "n_jobs", "executor", "verbose")
"""Parameters that say how to run, not what to learn."""

Method = TypeVar("Method", bound=Callable[..., Any])


class TrainedModel(Protocol):
    """All that prediction needs, and nothing else; what a model file holds."""

    SCHEMA: ClassVar[Schema]
    """What the state may be: checked before :meth:`from_state`, since kernels do not check bounds."""

    def to_state(self) -> State:
        """Plain values (anything JSON holds), and named arrays and lists of strings."""

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; raises ``KeyError`` or ``ValueError`` for what does not fit together."""


def prefixed(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of a part under names that begin with ``prefix.``"""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays whose names begin with ``prefix.``, without it."""
    return {name[len(prefix) + 1 :]: array for name, array in arrays.items() if name.startswith(prefix + ".")}


def fitting(method: Method) -> Method:
    """Decorate ``fit``: check the seed, time the training, and leave the estimator as it was if training fails."""

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        watch_compilation()
        before = dict(vars(self))
        started = time.perf_counter()
        self._check_whole("random_state", 0, or_else=())
        try:
            with working_on(self.executor):
                result = method(self, *args, **kwargs)
            self.summary_["seconds"] = round(time.perf_counter() - started, 2)
            self.fitted_params_ = {name: value for name, value in self.get_params().items() if name not in RUN_TIME}
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise
        return result

    return guarded  # type: ignore[return-value]


class Estimator:
    """Base of all estimators; never used alone.

    It keeps scikit-learn's protocol (``clone``, ``GridSearchCV`` and pipelines work) without inheriting from its
    ``BaseEstimator``, whose import takes longer than most predictions: half of the time that a command needed.
    """

    kind: ClassVar[str]
    """Name of the model kind, as on the command line and in model files."""
    model_type: ClassVar[type[TrainedModel]]
    """What ``fit`` leaves in ``model_``."""
    meanings: ClassVar[Mapping[str, int]] = {}
    """Versions of whatever gives the learned weights their meaning (word classes, hash functions), by name.

    They are written into model files. A file with other versions is refused, since its weights would meet features
    that they were not learned for.
    """

    executor: Executor | None = None
    """Where shards are sent to; None is this process."""
    records_per_shard: ClassVar[int] = 1024
    """Records that are sent to a worker at a time: some tenths of a second of work, long beside sending them."""

    summary_values: ClassVar[Mapping[str, Value]] = {}
    """What those entries of ``summary_`` may be in a file that more is done with than to show them."""
    unsaved: ClassVar[tuple[str, ...]] = ()
    """Parameters that model files cannot hold, such as functions; a trained model does not need them."""

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

    def __sklearn_clone__(self) -> Self:
        """An untrained copy for scikit-learn; copies share the executor, which cannot be copied."""
        given = self.get_params()
        return type(self)(**{n: value if n == "executor" else copy.deepcopy(value) for n, value in given.items()})

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the executor, which belongs to this process."""
        return {**vars(self), "executor": None}

    def __repr__(self) -> str:
        changed = [f"{n}={v!r}" for n, v in self.get_params().items() if v != self._parameters()[n].default]
        return f"{type(self).__name__}({', '.join(changed)})"

    _repr_html_ = shown_by("model_html")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=InputTags())

    def save(self, path: Source) -> None:
        """Write the trained model to one file (safetensors with a JSON header), atomically.

        Equal training gives equal bytes: the time that training took is left out.
        """
        self._require_fitted()
        values, arrays = self.model_.to_state()
        header = {
            "params": {name: value for name, value in self.fitted_params_.items() if name not in self.unsaved},
            "state": values,
            "summary": {name: value for name, value in self.summary_.items() if not name.startswith("seconds")},
            "meanings": dict(self.meanings),
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
        watch_compilation()
        for name in ("params", "state", "summary", "meanings"):
            if not isinstance(stored.header.get(name), dict):
                raise ModelFileError(f"its header lacks '{name}'", path=path, remedy="train the model again")
        cls._check_meanings(stored, path)
        try:
            cls.model_type.SCHEMA.check(stored.header["state"], stored.arrays)
            for name in cls.summary_values.keys() & stored.header["summary"].keys():
                cls.summary_values[name].check(f"summary.{name}", stored.header["summary"][name], {})
            model = cls(**stored.header["params"])
            model.model_ = cls.model_type.from_state(stored.header["state"], stored.arrays)
            model.summary_ = dict(stored.header["summary"])
            model.fitted_params_ = dict(stored.header["params"])
        except Misfit as misfit:
            remedy = "the file was damaged or written by another version; train the model again"
            raise ModelFileError(f"is not a '{cls.kind}' model: {misfit}", path=path, remedy=remedy) from None
        except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as trouble:
            raise ModelFileError(
                f"its content does not make a '{cls.kind}' model ({type(trouble).__name__}: {trouble})",
                path=path,
                remedy="the file was damaged or written by another version; train the model again",
            ) from trouble
        return model

    @classmethod
    def _check_meanings(cls, stored: storage.StoredModel, path: Source) -> None:
        """Refuse weights that were learned for features which this version computes in another way."""
        written = stored.header["meanings"]
        for name, version in cls.meanings.items():
            if written.get(name) != version:
                raise ModelFileError(
                    f"was trained with version {written.get(name)} of its {name}; this library has version {version}",
                    path=path,
                    remedy=f"use spectragram {stored.library}, which wrote it, or train the model again",
                )

    model_: TrainedModel
    """All that was learned."""

    fitted_params_: dict[str, Any]
    """The parameters that the model was trained with, whatever :meth:`set_params` said since."""

    summary_: dict[str, Any]
    """How training went; kept in the model file, shown by ``inspect``.

    The same names for all kinds: ``learner`` first, then ``states`` (summed over symbols) and ``models`` where there
    are any, ``sentences`` and ``tokens`` that were read, ``types`` (different words), facts of the kind's own, and
    ``seconds`` last. Names that begin with ``seconds`` are not saved.
    """

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

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
            raise ParameterError(name, value, remedy=f"give a whole number of at least {least}{others}")

    def _check_number(self, name: str, least: float = 0.0, *, above: bool = False, infinite: bool = False) -> None:
        """Refuse a parameter that is neither None nor a number from ``least`` on (``above``: greater).

        Only with ``infinite`` may it be infinity.
        """
        value = getattr(self, name)
        if value is None or (infinite and value == math.inf):
            return
        fits = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
        if not fits or value < least or (above and value == least):
            bound = f"above {least:g}" if above else f"of at least {least:g}"
            raise ParameterError(name, value, remedy=f"give a number {bound}")

    def _check_share(self, name: str) -> None:
        """Refuse a parameter that is neither None nor a number from 0 to 1."""
        self._check_number(name)
        if (getattr(self, name) or 0.0) > 1.0:
            raise ParameterError(name, getattr(self, name), remedy="give a share from 0 to 1")

    @staticmethod
    def _sentence_weights(sample_weight: Any, n: int) -> np.ndarray | None:
        """How often each of n sentences counts, float64 (n,), or None; refuses what is not n positive numbers."""
        if sample_weight is None:
            return None
        weights = np.asarray(sample_weight, np.float64)
        if weights.shape != (n,) or not np.isfinite(weights).all() or (weights <= 0).any():
            raise InputError(
                f"sample_weight of shape {weights.shape} for {n} sentences, or not above zero",
                remedy="give a number above zero for each sentence",
            )
        return weights

    def _with_preset(
        self, presets: Mapping[str, Mapping[str, Any]], recipes: Mapping[str, Mapping[str, Any]] | None = None
    ) -> dict[str, Any]:
        """The values of ``self.preset``, with every parameter that was given (is not None) in its place.

        With ``recipes`` (:mod:`spectragram.learning.recipes`), the values of ``self.recipe`` come between the two.
        """
        self._choose("preset", getattr(self, "preset"), tuple(presets))  # noqa: B009
        chosen = dict(presets[getattr(self, "preset")])  # noqa: B009
        if recipes is not None:
            chosen |= recipes[self._choose("recipe", getattr(self, "recipe"), tuple(recipes))]  # noqa: B009
        return chosen | {name: getattr(self, name) for name in chosen if getattr(self, name, None) is not None}

    @staticmethod
    def _choose(name: str, value: str, choices: tuple[str, ...] | list[str]) -> str:
        """Return ``value`` if it is one of ``choices``; otherwise say which are."""
        if value not in choices:
            raise ParameterError(name, value, "is unknown", remedy=f"choose one of {', '.join(choices)}")
        return value


Answer = TypeVar("Answer")


class Predictions(list[Answer]):
    """A list with one answer for each record, in order, and ``diagnostics`` beside it.

    ``diagnostics`` counts what a reader of the answers should know, by name: ``negative`` estimates that were repaired,
    ``fallbacks`` to a simpler model. It belongs to this call alone; predicting never changes the model, so several
    threads can use one.

    numpy takes it as one object for each record, however alike the answers are, so scikit-learn's
    ``cross_val_predict`` can put the answers for several parts of the data together.

    >>> found = Predictions([["DET", "NOUN"], ["VERB"]], {"negative": 3})
    >>> found[1], found.diagnostics["negative"], np.asarray(found).shape
    (['VERB'], 3, (2,))
    """

    def __init__(self, answers: Iterable[Answer] = (), diagnostics: Mapping[str, int] | None = None) -> None:
        super().__init__(answers)
        self.diagnostics: dict[str, int] = dict(diagnostics or {})

    _repr_html_ = shown_by("predictions_html")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = np.empty(len(self), object)
        for number, answer in enumerate(self):
            array[number] = answer
        return array if dtype is None else array.astype(dtype)
