"""The models that a server has, by name."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import spectragram
from spectragram.errors import InputError
from spectragram.estimator import Estimator

__all__ = ["Shelf", "plain"]


class Shelf:
    """Trained models under the names of their files. Requests read it while training puts a new model there."""

    def __init__(self, models: Iterable[tuple[str, Estimator]] = ()) -> None:
        self._models: dict[str, Estimator] = {}
        self._lock = threading.Lock()
        for name, model in models:
            self.put(self._unused(name), model)

    @classmethod
    def load(cls, paths: Iterable[Path]) -> Shelf:
        """Load model files of any kind."""
        return cls((path.stem, spectragram.load(path)) for path in paths)

    def _unused(self, name: str) -> str:
        number = 2
        chosen = name
        while chosen in self._models:
            chosen, number = f"{name} {number}", number + 1
        return chosen

    def put(self, name: str, model: Estimator) -> None:
        """Add a model, or let it take the place of the one with its name."""
        if "n_jobs" in model.get_params():
            model.set_params(n_jobs=1)  # requests run beside each other: more threads for one would slow the others
        with self._lock:
            self._models = {**self._models, name: model}

    def names(self) -> list[str]:
        """The names, in the order in which the models came."""
        return list(self._models)

    def find(self, *kinds: str) -> tuple[str, Any] | None:
        """The first model of the first of these kinds that there is."""
        for kind in kinds:
            for name, model in self._models.items():
                if model.kind == kind:
                    return name, model
        return None

    def get(self, name: object) -> Any:
        """The model with a name; says which there are if there is none."""
        models = self._models
        if not isinstance(name, str) or name not in models:
            raise InputError(f"no model {name!r:.60}", remedy=f"there are {', '.join(models) or 'none'}")
        return models[name]

    def of_kind(self, name: object, kind: str) -> Any:
        """The model with a name, which must be of this kind."""
        model = self.get(name)
        if model.kind != kind:
            raise InputError(f"the model {name} is of kind {model.kind}", remedy=f"choose one of kind {kind}")
        return model

    def described(self) -> list[dict[str, Any]]:
        """Names, kinds and facts of all models, for the page."""
        return [
            {
                "name": name,
                "kind": model.kind,
                "has_surprisal": hasattr(model, "surprisal"),
                "facts": {key: plain(value) for key, value in model.summary_.items() if key != "parts"},
            }
            for name, model in self._models.items()
        ]


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers without numpy, null where they are not finite."""
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
