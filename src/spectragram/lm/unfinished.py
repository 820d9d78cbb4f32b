"""Class models on the way: each is kept in a file when it is learned, so that training goes on with the next one."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from spectragram import storage
from spectragram.data.corpus import Corpus
from spectragram.errors import InputError, ModelFileError
from spectragram.estimator import prefixed, without_prefix
from spectragram.files import Source
from spectragram.lm.em import ClassModel
from spectragram.lm.settings import Settings
from spectragram.schema import Json, ListOf, Parts, Schema, Text, Whole

__all__ = ["NOT_KEPT", "UNFINISHED_SCHEMA", "Unfinished"]

UNFINISHED_KIND = "unfinished-lm"

UNFINISHED_SCHEMA = Schema(
    "Unfinished language model",
    "What `train lm --resume` keeps until the model is written.",
    values={
        "job": Json("what is learned, and how"),
        "names": ListOf(Text(), "the class models that are learned", size="n_models"),
        "iterations": ListOf(Whole(), "EM iterations of each", size="n_models"),
    },
    parts={"model": Parts(ClassModel.SCHEMA, "n_models", {"n_words": "n_words"})},
)

HOW_TO_RUN = ("n_jobs", "memory", "verbose")
"""Settings that do not change the result."""

Learned = tuple[ClassModel, int]
"""A class model and the EM iterations that were made."""


class Unfinished:
    """Keeps class models in a file, if there is one, and has those that an interrupted training left there.

    A file belongs to one text and one set of parameters; another one is refused.
    """

    def __init__(self, path: Source | None, corpus: Corpus | None = None, settings: Settings | None = None) -> None:
        self.path = path
        self._learned: dict[str, Learned] = {}
        if path is None or corpus is None or settings is None:
            return
        chosen = {name: value for name, value in vars(settings).items() if name not in HOW_TO_RUN}
        text = zlib.crc32(np.ascontiguousarray(corpus.tokens).data)
        self._job = {"settings": repr(chosen), "n_words": len(corpus.vocabulary), "text": text}
        if Path(path).exists():
            self._restore(path)

    def _restore(self, path: Source) -> None:
        stored = storage.read(path)
        if stored.kind != UNFINISHED_KIND:
            raise ModelFileError(f"holds '{stored.kind}'", path=path, remedy="delete it, or do not resume")
        header: dict[str, Any] = stored.header
        try:
            UNFINISHED_SCHEMA.check(header, stored.arrays, {})
        except ValueError as trouble:
            raise ModelFileError(f"its content is not a model ({trouble})", path=path, remedy="delete it") from trouble
        if header["job"] != self._job:
            raise InputError(
                "holds a model of other text or with other parameters", path=path, remedy="delete it to start again"
            )
        for number, (name, made) in enumerate(zip(header["names"], header["iterations"], strict=True)):
            self._learned[name] = ClassModel(**without_prefix(f"model{number}", stored.arrays)), made

    def once(self, name: str, learn: Callable[[], Learned]) -> Learned:
        """What was learned under this name before the interrupt; otherwise it is learned now, and kept."""
        if name in self._learned:
            return self._learned[name]
        learned = learn()
        if self.path is not None:
            self._learned[name] = learned
            self._write(self.path)
        return learned

    def _write(self, path: Source) -> None:
        arrays: dict[str, Any] = {}
        for number, (model, _) in enumerate(self._learned.values()):
            arrays |= prefixed(f"model{number}", vars(model))
        header = {
            "job": self._job,
            "names": list(self._learned),
            "iterations": [made for _, made in self._learned.values()],
        }
        storage.write(path, UNFINISHED_KIND, header, arrays)

    def remove(self) -> None:
        """Delete the file: the model is there."""
        if self.path is not None:
            Path(self.path).unlink(missing_ok=True)


NOT_KEPT = Unfinished(None)
"""No file."""
