"""Learning from sentences of which only some heads are known.

    factors     gradient = E[arcs | x, K] - E[arcs | x]: expected under what is known, K, minus expected; a sum over
                all trees that agree with K, by the chart that parses under constraints
    automata    the modifier sequences of the best tree that agrees with K, under the model of the round before
    relations   the same tree with the relations that this model gives it around those that are known

Rounds: where most of what is known is in complete sentences, the others are completed by a model of those alone, then
by one of all sentences. Otherwise by a chart that only prefers short arcs, then by a model of all sentences, then each
fifth by a model of the other four, which has not yet made up its mind about them. The final model learns from these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spectragram.data.conllu import Sentence
from spectragram.data.known_heads import with_known_heads
from spectragram.dependency.charts import Chart
from spectragram.dependency.constraints import ArcMask, Known
from spectragram.dependency.labels import MISSING
from spectragram.dependency.model import Model
from spectragram.inference.headed import inside_outside
from spectragram.learning.folds import fold_numbers

__all__ = ["complete_trees", "is_complete", "short_arcs"]

ENOUGH = 0.5
"""Complete sentences with this share of the known heads complete the others at first, by a model of them alone.

Chosen by hand. Where single heads are known, the few complete sentences are short ones and teach the wrong things: on
Maltese-MUDT without half of its heads, a model of 17 of 4,011 known ones called a quarter of all open relations `amod`.
"""

N_FOLDS = 5
"""Parts of a jackknife. Without half of the heads of 8,000 words it gains 0.4, 0.6 and 0.7 LAS on other sentences of
Afrikaans, Galician and Maltese (7,000 to 15,000 words); 0.0 and -0.2 on the small dev parts of Tamil and Belarusian
(means of four removals). A second round without it gains 0.2 on Maltese."""
FEWEST_FOLDED = 50
"""Sentences from which there is a jackknife: with fewer, a fifth of them is missed. Chosen by hand, not tuned."""

Learn = Callable[[Sequence[Sentence], Sequence[ArcMask | None]], Model]
"""From trees, and the masks of those that are only completed, to a model."""


def is_complete(sentence: Sentence) -> bool:
    """Whether every word has a head."""
    return bool((sentence.heads >= 0).all())


def complete_trees(
    sentences: Sequence[Sentence], learn: Learn, n_jobs: int = 1
) -> tuple[list[Sentence], list[ArcMask | None]]:
    """The sentences with all heads filled in, and for those that lacked some the mask of what is known about them.

    Their open relations are filled in, too. ``learn`` makes the models of the rounds.
    """
    known = [None if is_complete(sentence) else Known.of(sentence) for sentence in sentences]
    masks = [None if mine is None else mine.mask for mine in known]
    whole = [sentence for sentence in sentences if is_complete(sentence)]
    n_known = sum(int((sentence.heads >= 0).sum()) for sentence in sentences)
    if sum(map(len, whole)) >= ENOUGH * n_known:
        found = _completed(sentences, known, learn(whole, [None] * len(whole)), n_jobs, relations=False)
        return _completed(sentences, known, learn(found, masks), n_jobs), masks
    found = [
        sentence if mine is None else sentence.with_heads(with_known_heads(short_arcs(mine), mine.heads))
        for sentence, mine in zip(sentences, known, strict=True)
    ]
    found = _completed(sentences, known, learn(found, masks), n_jobs)
    fold_of = fold_numbers(len(sentences), N_FOLDS)
    parts = list(found)
    for fold in range(N_FOLDS if len(sentences) >= FEWEST_FOLDED else 0):
        others, own = np.flatnonzero(fold_of != fold).tolist(), np.flatnonzero(fold_of == fold).tolist()
        model = learn([found[i] for i in others], [masks[i] for i in others])
        completed = _completed([sentences[i] for i in own], [known[i] for i in own], model, n_jobs)
        for number, tree in zip(own, completed, strict=True):
            parts[number] = tree
    return parts, masks


def _completed(
    sentences: Sequence[Sentence],
    known: Sequence[Known | None],
    model: Model,
    n_jobs: int,
    *,
    relations: bool = True,
) -> list[Sentence]:
    """The sentences with the heads and, if asked for, relations that a model finds around those that are known."""
    places = [number for number, mine in enumerate(known) if mine is not None]
    encoded = model.alphabet.encode([sentences[number] for number in places])
    trees = model.trees(encoded, n_jobs, [mine for mine in known if mine is not None])
    found = list(sentences)
    for number, tree in zip(places, trees, strict=True):
        pairs = zip(sentences[number].deprels, tree.relations, strict=True)
        names = [guess if relations and given == MISSING else given for given, guess in pairs]
        found[number] = sentences[number].with_heads(tree.heads, names)
    return found


def short_arcs(known: Known) -> np.ndarray:
    """The tree of a chart that knows nothing but what is known, and prefers short arcs: heads (n,) int32.

    An arc of length d has the weight 1 / d^2.
    """
    n = len(known.heads)
    one, distance = np.ones((2, 1, 1)), np.maximum(np.arange(n), 1)
    arcs = np.tile(-2.0 * np.log(distance), (2, n, 1))
    root = np.zeros(n)
    if known.mask is not None:
        root, arcs = known.mask.scores(root, arcs)
    operators = np.ones((2, 1, 1, 1, 1))
    found = inside_outside(np.zeros(n, np.int64), root, one, operators, one, arcs, np.zeros((2, n, n)))
    return Chart(*found).best_heads(known.mask)
