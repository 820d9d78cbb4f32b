"""Paths of word clusters from whatever holds them: a clusters model, or a file of paths from any tool."""

from __future__ import annotations

import os
from typing import Any

from spectragram.data.word_paths import WordPaths, read_paths
from spectragram.errors import ModelFileError, ParameterError
from spectragram.files import Source
from spectragram.kinds import KINDS
from spectragram.storage import read_header

__all__ = ["load_word_paths", "paths_for_factors"]


def load_word_paths(source: Source) -> WordPaths:
    """The path of every word of a clusters model or of a file of paths; words outside the vocabulary have none."""
    if not isinstance(source, str | os.PathLike):
        remedy = "give the path of a clusters model or of a file of paths"
        raise ParameterError("clusters", source, "is not a path", remedy=remedy)
    try:
        read_header(source)
    except ModelFileError:
        return read_paths(source)  # text, or nothing that can be read; it says which
    model: Any = KINDS["clusters"].estimator_class().load(source)
    unknown = model.vocabulary_.unknown
    return WordPaths.of({word: path for word, path in model.paths_.items() if word != unknown})


def paths_for_factors(clusters: Source | None, factors: bool, remedy: str) -> WordPaths | None:
    """What an estimator's parameter ``clusters`` asks for; refused where there are no factors to look at paths."""
    if clusters is None:
        return None
    if not factors:
        raise ParameterError(
            "clusters", str(clusters), "but this model has no factors that look at words", remedy=remedy
        )
    return load_word_paths(clusters)
