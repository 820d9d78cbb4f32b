"""What clusters contain: words by path, nearest neighbours, and files that other tools read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import IO

import numpy as np

from spectragram.clusters.model import Model
from spectragram.errors import InputError

__all__ = ["FORMATS", "nearest_words", "words_by_prefix", "write_paths", "write_word2vec"]


def words_by_prefix(model: Model, bits: int) -> dict[str, list[str]]:
    """Words by the first ``bits`` bits of their path, in the order of the tree, most frequent words first."""
    groups: dict[str, list[str]] = {path[:bits]: [] for path in model.paths}
    for word, cluster in zip(model.vocabulary.words, model.clusters.tolist(), strict=True):
        groups[model.paths[cluster][:bits]].append(word)
    return groups


def nearest_words(model: Model, word: str, n: int) -> list[tuple[str, float]]:
    """The ``n`` words whose vectors are closest to that of ``word``, with the cosine."""
    vocabulary, vectors = model.vocabulary, _vectors(model)
    word = model.options.normalised(word)
    if word not in vocabulary:
        raise InputError(f"{word!r} is not in the vocabulary", remedy="choose a word of the training text")
    this, unknown = vocabulary.index[word], vocabulary.unknown_id
    cosine = vectors @ vectors[this]
    cosine[[this] if unknown < 0 else [this, unknown]] = -np.inf
    order = np.argsort(-cosine, kind="stable")[:n]
    return [(vocabulary.words[i], float(cosine[i])) for i in order if np.isfinite(cosine[i])]


def _vectors(model: Model) -> np.ndarray:
    if model.vectors.shape[1] == 0:
        raise InputError("this model has no vectors", remedy="train it with vectors of 50 dimensions, say")
    return model.vectors


def write_paths(model: Model, stream: IO[str]) -> None:
    """``bit string TAB word TAB count``, in the order of the tree, most frequent words of a cluster first.

    This is what Liang's brown-cluster writes.
    """
    words, counts = model.vocabulary.words, model.vocabulary.counts.tolist()
    clusters = model.clusters.tolist()
    # Clusters are numbered from left to right in the tree.
    for i in sorted(range(len(words)), key=lambda i: (clusters[i], -counts[i], words[i])):
        stream.write(f"{model.paths[clusters[i]]}\t{_field(words[i])}\t{counts[i]}\n")


def write_word2vec(model: Model, stream: IO[str]) -> None:
    """A line with the numbers of words and dimensions, then ``word value value ...``, most frequent words first."""
    n, d = _vectors(model).shape
    stream.write(f"{n} {d}\n")
    for word, vector in zip(model.vocabulary.words, model.vectors, strict=True):
        stream.write(_field(word) + " " + " ".join(f"{value:.6g}" for value in vector.tolist()) + "\n")


FORMATS: dict[str, Callable[[Model, IO[str]], None]] = {"paths": write_paths, "word2vec": write_word2vec}

# Whatever some reader takes for the end of a field or of a line: blanks, control characters, Unicode's line ends.
_BREAKING = re.compile("[\\x00-\\x20\\x7f-\\x9f\\u2028\\u2029]")


def _field(word: str) -> str:
    """A word that stays in its field: characters that could break the line become escapes such as ``\\x09``."""
    return _BREAKING.sub(_escape, word)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
