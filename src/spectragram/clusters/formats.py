"""Files that other tools read: Liang's ``paths`` and word2vec's text format."""

from __future__ import annotations

import re
from typing import IO

from spectragram.clusters.estimator import WordClusters
from spectragram.errors import InputError

__all__ = ["FORMATS", "write_paths", "write_word2vec"]

# Whatever some reader takes for the end of a field or of a line: blanks, control characters, Unicode's line ends.
_BREAKING = re.compile("[\\x00-\\x20\\x7f-\\x9f\\u2028\\u2029]")


def _field(word: str) -> str:
    """A word that stays in its field: characters that could break the line become escapes such as ``\\x09``."""
    return _BREAKING.sub(_escape, word)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def write_paths(model: WordClusters, stream: IO[str]) -> None:
    """``bit string TAB word TAB count``, in the order of the tree, most frequent words of a cluster first."""
    words, counts = model.vocabulary_.words, model.vocabulary_.counts.tolist()
    labels = model.labels_.tolist()
    # Clusters are numbered from left to right in the tree.
    for i in sorted(range(len(words)), key=lambda i: (labels[i], -counts[i], words[i])):
        stream.write(f"{model.cluster_paths_[labels[i]]}\t{_field(words[i])}\t{counts[i]}\n")


def write_word2vec(model: WordClusters, stream: IO[str]) -> None:
    """A line with the numbers of words and dimensions, then ``word value value ...``, most frequent words first."""
    n, d = model.vectors_.shape
    if d == 0:
        raise InputError("this model has no vectors", remedy="train it with --dimensions 50")
    stream.write(f"{n} {d}\n")
    for word, vector in zip(model.vocabulary_.words, model.vectors_, strict=True):
        stream.write(_field(word) + " " + " ".join(f"{value:.6g}" for value in vector.tolist()) + "\n")


FORMATS = {"paths": write_paths, "word2vec": write_word2vec}
