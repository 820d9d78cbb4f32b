"""ARPA files: the n-gram form of any of the models for other toolkits, and models of other toolkits for us.

Every n-gram that is listed keeps the model's own probability; everything else goes through a back-off weight. For
Kneser-Ney that weight is the mass that a context passes down, so the file is the model itself. For class models and
mixtures it is

    bow(h) = (1 - sum_listed p(w|h)) / (1 - sum_listed p(w|h'))

so that each context sums to one: the closest that the format can hold.

In these files a sentence begins with ``<s>``, which is never predicted; in our models it begins after ``</s>``. A model
of one stream knows neither, and other toolkits insist on both: they are listed with probability zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import numpy as np

from spectragram.data.corpus import END
from spectragram.learning.ngram_tree import NgramTree
from spectragram.lm.model import Model

__all__ = ["START", "write_arpa"]

START = "<s>"
"""What stands before the first word of a sentence in ARPA files."""

NEVER = -99.0
"""The logarithm of zero, as other toolkits write it into ARPA files."""

SUCCESSORS = 10
"""Words listed after each word by a model without n-grams. Chosen by hand, not tuned: ten lines a word."""

SMALLEST, LEAST_REST = 1e-99, 1e-12
"""Guards against the logarithm of zero and division by zero; any tiny values do."""

Listed = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""N-grams of one length, (n, length), their probabilities and, except for the longest, their back-off weights."""


def write_arpa(model: Model, stream: IO[str]) -> None:
    """Write n-grams of length 1 .. k with their probabilities and back-off weights."""
    ngrams = model.mixture.ngrams
    exact = ngrams is not None and not model.mixture.classes
    tree = ngrams.tree if ngrams is not None else _likely_pairs(model)
    sizes = np.diff(tree.bounds)
    sizes[0] += len(_special(model))
    stream.write("\\data\\\n" + "".join(f"ngram {k}={n}\n" for k, n in enumerate(sizes, 1)))
    for k in range(1, tree.order + 1):
        stream.write(f"\n\\{k}-grams:\n")
        listed = ngrams.listed(k) if exact and ngrams is not None else _nearest(model, tree, k)
        stream.writelines(_rows(model, *listed))
    stream.write("\n\\end\\\n")


def _special(model: Model) -> list[str]:
    """What a file must list beside the vocabulary."""
    return [START] if model.boundaries else [word for word in (START, END) if word not in model.vocabulary]


def _rows(model: Model, ngrams: np.ndarray, probs: np.ndarray, weights: np.ndarray | None) -> Iterator[str]:
    words, length = model.vocabulary.words, ngrams.shape[1]
    logs = _log10(probs).tolist()
    bows = None if weights is None else _log10(weights).tolist()
    if length == 1:
        before = bows[model.before] if bows is not None and model.boundaries else 0.0
        if bows is not None and model.boundaries:
            bows[model.before] = 0.0  # nothing follows the end of a sentence
        yield from (
            f"{NEVER:g}\t{word}" + ("" if bows is None else f"\t{before:.6f}") + "\n" for word in _special(model)
        )
    first = [START if model.boundaries and length > 1 and i == model.before else w for i, w in enumerate(words)]
    for number, row in enumerate(ngrams.tolist()):
        gram = " ".join([first[row[0]], *(words[i] for i in row[1:])])
        yield f"{logs[number]:.6f}\t{gram}\n" if bows is None else f"{logs[number]:.6f}\t{gram}\t{bows[number]:.6f}\n"


def _likely_pairs(model: Model) -> NgramTree:
    """A pure class model keeps no n-grams: for every word its most probable successors."""
    classes = model.mixture.classes[0]
    best = [np.sort(np.argsort(-(classes.emissions @ row), kind="stable")[:SUCCESSORS]) for row in classes.histories]
    pairs = np.array([(first, second) for first, row in enumerate(best) for second in row.tolist()], np.int64)
    return NgramTree.from_columns([pairs], len(model.vocabulary))


def _nearest(model: Model, tree: NgramTree, length: int) -> Listed:
    """The n-grams of a length as the model sees them, with weights that make each context sum to one."""
    ngrams = tree.level(length)
    probs = _prob(model, ngrams)
    if length == tree.order:
        return ngrams, probs, None
    longer = tree.level(length + 1)
    first, stop = tree.bounds[length - 1], tree.bounds[length]
    parents = np.repeat(np.arange(stop - first), np.diff(tree.starts[first : stop + 1]))
    kept = np.bincount(parents, _prob(model, longer), stop - first)
    covered = np.bincount(parents, _prob(model, longer[:, 1:]), stop - first)
    return ngrams, probs, np.maximum(1.0 - kept, 0.0) / np.maximum(1.0 - covered, LEAST_REST)


def _prob(model: Model, ngrams: np.ndarray) -> np.ndarray:
    """Probability of the last word of each n-gram (n, length) after the others, shape (n,)."""
    contexts = np.full((len(ngrams), model.mixture.width), -1, np.int64)
    if ngrams.shape[1] > 1:
        contexts[:, 1 - ngrams.shape[1] :] = ngrams[:, :-1]
    return model.mixture.prob(contexts, ngrams[:, -1])


def _log10(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, np.log10(np.maximum(values, SMALLEST)), NEVER)
