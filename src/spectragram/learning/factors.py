"""Log-linear models with hashed features: the table of weights, templates, and training by conditional likelihood.

    P(y | x)  ~  exp sum_{parts p of y} w . f(p, x)
    gradient  =  f(y) - E f(y' | x)                                                          gold minus expected

What a part is (an arc, the tag of a word), how it gets its features and how expectations are computed is up to the
task; see :mod:`spectragram.dependency.factors`. What follows is the same for all of them:

    tables      2^b float32 weights; a feature's place is its hash (:mod:`spectragram.inference.hashed`)
    templates   ``t0 w-1``: letters name the columns of a sentence, numbers are offsets
    training    AdaGrad (Duchi, Hazan & Singer 2011) in small batches; the result is the average over all steps

All gradients of a batch are computed at the same weights and applied in a fixed order, so the result is the same for
any number of threads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from spectragram.engine import Threads, resolve_jobs
from spectragram.engine.progress import Report, silent
from spectragram.inference.hashed import Weights
from spectragram.schema import Strings

__all__ = [
    "Fitted",
    "averaged",
    "choice_gradient",
    "empty_table",
    "fit_weights",
    "parse_atoms",
    "require_table",
    "split_templates",
    "start_weights",
    "template_list",
]

Gradient = TypeVar("Gradient")

DAMPING = 1.0
"""Squared gradient that every feature starts with, so that features met once or twice take small steps.

Chosen by hand, not tuned.
"""
SMALLEST_WEIGHT = 0.005
"""Averaged weights below this become zero. Of 0.005, 0.01, 0.02, 0.04 and 0.08, the first three change no score of the
pipeline on Afrikaans dev by more than 0.1, and already the first leaves a sixth of the weights."""
LARGEST_WEIGHT = 60000.0
"""Half precision ends a little above it; a weight of 20 is a rare one."""
BATCH = 16
"""Examples in a batch: enough to keep several threads busy. Chosen by hand, not tuned."""
WEIGHTS_PER_TOKEN = 24
"""Places in a table for each token of the training data: a few for each feature that occurs. Chosen by hand."""
FEWEST_BITS, MOST_BITS = 14, 22
"""Bounds on the size of a table: 64 kB, so that small models keep some room, and 16 MB, so that files stay small."""


def empty_table(n_tokens: int) -> np.ndarray:
    """A table of zeros for training data of ``n_tokens`` tokens, (2^b,) float32.

    >>> empty_table(1000).size
    32768
    """
    bits = np.ceil(np.log2(WEIGHTS_PER_TOKEN * max(n_tokens, 1)))
    return np.zeros(1 << int(np.clip(bits, FEWEST_BITS, MOST_BITS)), np.float32)


def require_table(table: np.ndarray) -> None:
    """Raise ``ValueError`` unless the table is float32 and a power of two long: kernels do not check any more."""
    n = table.size
    if table.ndim != 1 or table.dtype != np.float32 or n < 2 or n & (n - 1):
        raise ValueError(f"a table of weights of shape {table.shape} and type {table.dtype}")


def start_weights(table: np.ndarray) -> Weights:
    """Weights at the beginning of training; ``table`` itself is not changed."""
    return Weights(table.copy(), np.full_like(table, DAMPING), np.zeros_like(table))


def averaged(weights: Weights, now: int) -> np.ndarray:
    """The average of the tables before each of the ``now`` steps so far, without weights too small to matter.

    What is left is rounded to half precision, as model files hold it, so a model is the same before and after saving.
    """
    table = weights.table - weights.summed / np.float32(max(now, 1))
    table[np.abs(table) < SMALLEST_WEIGHT] = 0.0
    return np.clip(table, -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(np.float16).astype(np.float32)


def split_templates(text: str) -> tuple[str, ...]:
    """The templates of a text: two or more spaces, or a line end, separate them.

    >>> split_templates("t0 t+1  w0")
    ('t0 t+1', 'w0')
    """
    return tuple(part.strip() for line in text.splitlines() for part in line.split("  ") if part.strip())


def parse_atoms(templates: Sequence[str], columns: str) -> np.ndarray:
    """Templates as arrays, (t, a, 2) int64: column and offset of each atom; -1 fills up shorter templates.

    ``columns`` holds one letter for each column. Raises ``ValueError`` for a letter that is not among them.

    >>> parse_atoms(["t0 w-1", "t+1"], "tw").tolist()
    [[[0, 0], [1, -1]], [[0, 1], [-1, -1]]]
    """
    split = [template.split() for template in templates]
    atoms = np.full((len(split), max(map(len, split), default=0), 2), -1, np.int64)
    for t, template in enumerate(split):
        for a, atom in enumerate(template):
            atoms[t, a] = columns.index(atom[0]), int(atom[1:])
    return atoms


def template_list(letters: str = "") -> Strings:
    """How model files hold templates: atoms with a letter (one of ``letters``, if there are any) and an offset."""
    atom = re.compile(rf"[{re.escape(letters)}][+-]?[0-9]{{1,3}}" if letters else r"\S[+-]?[0-9]{1,3}")

    def are_templates(listed: list[str]) -> bool:
        return all(one.strip() and all(map(atom.fullmatch, one.split())) for one in listed)

    return Strings("n_templates", "what features look at", rule=("letters with offsets", are_templates))


def choice_gradient(scores: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Gradient of the log-probability of one label for each item: gold minus expected.

    Parameters
    ----------
    scores : array, shape (n, l)
        Scores of labels; -inf for labels that are impossible. Rows without any possible label have gradient zero.
    gold : int array, shape (n,)
        The right labels.

    Returns
    -------
    array, shape (n, l)

    >>> choice_gradient(np.log([[1.0, 3.0]]), np.array([0])).round(2).tolist()
    [[0.75, -0.75]]
    """
    possible = np.isfinite(scores).any(axis=1)
    finite = np.where(possible[:, None], scores, 0.0)
    shares = np.exp(finite - finite.max(axis=1, keepdims=True))
    gradient = -shares / shares.sum(axis=1, keepdims=True)
    gradient[np.arange(len(gold)), gold] += 1.0
    gradient[~possible] = 0.0
    return gradient


@dataclass
class Fitted:
    """Averaged tables after an epoch of training (0 is the start), and their score on held-out data if it was asked."""

    tables: list[np.ndarray]
    epoch: int = 0
    score: float = -np.inf


def fit_weights(
    gradient: Callable[[int], Gradient | None],
    step: Callable[[Gradient, int], None],
    weights: Sequence[Weights],
    examples: np.ndarray,
    *,
    n_epochs: int,
    batch_size: int = BATCH,
    rng: np.random.Generator,
    judge: Callable[[list[np.ndarray]], float] | None = None,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> Fitted:
    """Fit tables of weights to examples.

    Parameters
    ----------
    gradient
        ``gradient(example)`` at the current weights, which it must not change, or None to skip the example. It may run
        in several threads.
    step
        ``step(gradient, now)`` changes the weights along a gradient; ``now`` counts batches from 1.
    weights
        The weights that ``gradient`` reads and ``step`` changes.
    examples : int array, shape (n,)
        Numbers of the examples; each epoch goes through them in another order.
    n_epochs, batch_size : int
    judge
        Score of averaged tables on held-out data, higher is better; called after every epoch. The best tables win,
        those of the earlier epoch if scores are equal. Without a judge the last tables win.
    report
        Called after every epoch, with ``dev=...`` if there is a judge.
    """
    best = Fitted([averaged(one, 0) for one in weights])
    now = 0
    with Threads(resolve_jobs(n_jobs) if batch_size > 1 else 1) as threads:
        for epoch in range(1, n_epochs + 1):
            order = examples[rng.permutation(len(examples))]
            for batch in np.array_split(order, max(1, round(len(order) / batch_size))):
                now += 1
                for found in _batch_gradients(gradient, batch, threads):
                    step(found, now)
            if judge is None and epoch < n_epochs:
                report()
                continue
            tables = [averaged(one, now) for one in weights]
            score = -np.inf if judge is None else judge(tables)
            if judge is None or score > best.score:
                best = Fitted(tables, epoch, score)
            report(**({} if judge is None else {"dev": f"{score:.5g}"}))
    return best


def _batch_gradients(gradient: Callable[[int], Gradient | None], batch: np.ndarray, threads: Threads) -> list[Gradient]:
    """The gradients of a batch, in order. Each thread gets two parts of it, since examples differ in size."""
    n_parts = min(2 * threads.n_jobs, len(batch)) if threads.n_jobs > 1 else 1
    parts = threads.map(lambda part: [gradient(int(example)) for example in part], np.array_split(batch, n_parts))
    return [found for part in parts for found in part if found is not None]
