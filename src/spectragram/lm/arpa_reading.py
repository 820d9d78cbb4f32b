"""Read ARPA files of any toolkit as language models."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spectragram.data.corpus import END, UNKNOWN, Vocabulary
from spectragram.errors import InputError
from spectragram.files import Source, read_lines, split_words
from spectragram.learning.back_off import BackOff
from spectragram.learning.ngram_tree import LONGEST, NgramTree
from spectragram.lm.arpa import START
from spectragram.lm.mixture import Mixture
from spectragram.lm.model import Model

__all__ = ["is_arpa", "read_arpa"]

FIRST_LINE = "\\data\\"
"""What the list of sizes at the beginning of a file is called."""

NEVER = -90.0
"""Logarithms below this stand for probability zero: toolkits write -99 or less."""

REMEDY = "give a file that lmplz, SRILM or 'spectragram export' wrote"


def is_arpa(path: Source) -> bool:
    """Whether a file begins as ARPA files do."""
    if str(path) == "-":
        return False
    return next((line.strip() for _, line in read_lines(path) if line.strip()), "") == FIRST_LINE


def read_arpa(path: Source) -> Model:
    """The model of an ARPA file, plain or gzipped.

    It separates sentences if the file predicts ``</s>``. A file without ``<unk>`` gives unknown words probability zero.
    """
    lines = _Lines(read_lines(path), path)
    sizes = lines.sizes()
    if not 1 <= len(sizes) <= LONGEST or sorted(sizes) != list(range(1, len(sizes) + 1)):
        raise InputError(f"holds n-grams of lengths {sorted(sizes)}", path=path, remedy=REMEDY)
    return _Reading(lines, sizes).model()


@dataclass
class _Lines:
    """Numbered lines of a file, and complaints that name them."""

    numbered: Iterator[tuple[int, str]]
    path: Source
    number: int = 0

    def __iter__(self) -> Iterator[str]:
        for number, line in self.numbered:
            self.number = number
            if line.strip():
                yield line

    def expect(self, wanted: str) -> None:
        """Refuse a file whose next line is another one."""
        found = next(iter(self), "the end of the file").strip()
        if found != wanted:
            raise self.error(f"has {found[:40]!r} in place of {wanted!r}")

    def error(self, message: str) -> InputError:
        """A complaint about the line that was read last."""
        return InputError(message, path=self.path, line=self.number, remedy=REMEDY)

    def sizes(self) -> dict[int, int]:
        """Numbers of n-grams by length, and the line after them."""
        self.expect(FIRST_LINE)
        sizes: dict[int, int] = {}
        for line in self:
            name, _, size = line.partition("=")
            if not line.startswith("ngram"):
                if line.strip() != "\\1-grams:":
                    raise self.error(f"has {line.strip()[:40]!r} in place of n-grams")
                return sizes
            try:
                sizes[int(name.split()[1])] = int(size)
            except (ValueError, IndexError):
                raise self.error(f"has {line.strip()[:40]!r} in place of a number of n-grams") from None
        raise self.error("ends before its n-grams")

    def entries(self, length: int, size: int) -> Iterator[tuple[float, list[str], float]]:
        """Logarithm, words and logarithm of the back-off weight of every n-gram of a length."""
        for _ in range(size):
            fields = split_words(next(iter(self), ""))
            try:
                if len(fields) not in (length + 1, length + 2):
                    raise ValueError
                weight = float(fields[length + 1]) if len(fields) == length + 2 else 0.0
                yield float(fields[0]), fields[1 : length + 1], weight
            except ValueError:
                raise self.error(f"has {' '.join(fields)[:40]!r} in place of an n-gram of length {length}") from None


class _Reading:
    """Reads the sections of a file one after the other."""

    def __init__(self, lines: _Lines, sizes: dict[int, int]) -> None:
        self.lines = lines
        self.sizes = sizes

    def model(self) -> Model:
        """The model of the whole file."""
        unigrams, weights = self._words()
        n_words, columns, probs = len(self.ids), [], []
        gammas = [weights]
        for length in range(2, len(self.sizes) + 1):
            self.lines.expect(f"\\{length}-grams:")
            ngrams, own, bows = self._ngrams(length)
            order = np.lexsort(ngrams.T[::-1])
            columns.append(ngrams[order])
            probs.append(own[order])
            gammas.append(bows[order])
        self.lines.expect("\\end\\")
        try:
            tree = NgramTree.from_columns(columns, n_words)
            NgramTree.from_arrays(n_words, tree.to_arrays())
        except ValueError as trouble:
            raise self.lines.error(f"holds n-grams twice, or without those that they begin with ({trouble})") from None
        passed_down = np.concatenate([np.empty(0), *gammas[: len(self.sizes) - 1]]).astype(np.float32)
        model = BackOff(tree, unigrams, np.zeros(len(tree.words), np.float32), passed_down)
        _interpolate(model, columns, probs)
        vocabulary = Vocabulary(list(self.ids), np.zeros(n_words, np.int64), UNKNOWN)
        return Model(vocabulary, Mixture.of(model), self.boundaries)

    def _words(self) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities and back-off weights of single words; decides which words there are."""
        found = {words[0]: (log, weight) for log, words, weight in self.lines.entries(1, self.sizes[1])}
        if len(found) != self.sizes[1]:
            raise self.lines.error("holds a word twice")
        start = found.pop(START, None)
        self.boundaries = start is not None and found.get(END, (NEVER, 0.0))[0] > NEVER
        if not self.boundaries and found.get(END, (0.0, 0.0))[0] <= NEVER:
            del found[END]
        if start is not None and self.boundaries:
            found[END] = (found[END][0], start[1])  # a sentence begins after the end of another
        found.setdefault(UNKNOWN, (2 * NEVER, 0.0))
        self.ids = {word: number for number, word in enumerate(found)}
        self.first = self.ids | ({START: self.ids[END]} if self.boundaries else {})
        values = np.array(list(found.values()))
        return np.minimum(_exp10(values[:, 0]), 1.0), _exp10(values[:, 1])

    def _ngrams(self, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ids (n, length), probabilities and back-off weights of the n-grams of a length."""
        ids, logs, weights = array("i"), array("d"), array("d")
        for log, words, weight in self.lines.entries(length, self.sizes[length]):
            try:
                ids.append(self.first[words[0]])
                ids.extend([self.ids[word] for word in words[1:]])
            except KeyError as missing:
                raise self.lines.error(f"has an n-gram with {missing}, which is not among the words") from None
            logs.append(log)
            weights.append(weight)
        return np.array(ids).reshape(-1, length), _exp10(np.array(logs)), _exp10(np.array(weights))


def _interpolate(model: BackOff, columns: list[np.ndarray], probs: list[np.ndarray]) -> None:
    """Set what n-grams add to what their contexts pass down, shorter ones first: p(w | h) - gamma(h) p(w | h')."""
    for length, (ngrams, prob) in enumerate(zip(columns, probs, strict=True), 2):
        lower = model.prob(ngrams[:, 1:-1], ngrams[:, -1])
        parents = model.tree.find(ngrams[:, :-1])
        first, stop = model.tree.bounds[length - 1], model.tree.bounds[length]
        model.own[first:stop] = prob - model.gammas[parents] * lower


def _exp10(logs: np.ndarray) -> np.ndarray:
    return np.where(logs > NEVER, 10.0 ** np.maximum(logs, NEVER), 0.0)
