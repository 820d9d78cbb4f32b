"""How a language model is learned from a stream of word ids: the learners by name.

em          EM for hidden classes from a random start
pivot       hidden classes by the anchor decomposition (Cohen & Collins 2014, section 8)
pivot+em    EM started from pivot
kn          interpolated modified Kneser-Ney n-grams
mixed       n-grams, classes of the last word and classes of the word before it, mixed on held-out text
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from spectragram.data.corpus import END, UNKNOWN, Corpus, Vocabulary
from spectragram.data.inputs import Strings, as_corpus
from spectragram.engine.progress import Report, progress
from spectragram.errors import InputError
from spectragram.learning.counts import TupleCounts, count_ngrams
from spectragram.learning.kneser_ney import KneserNey
from spectragram.lm.em import ClassModel, em, random_start
from spectragram.lm.mixture import Events, Mixture
from spectragram.lm.model import Model, one_stream
from spectragram.lm.pivot import pivot
from spectragram.lm.settings import Settings
from spectragram.lm.unfinished import NOT_KEPT, Unfinished

__all__ = ["Iterations", "learn", "training_corpus"]

HELD_OUT_SHARE = 20
"""Without held-out text, one word of this many is held out of the training text. Chosen by hand, not tuned."""

SHARE_OF_PAIRS = 8
"""Counts of pairs may take one byte of this many of a bound on memory; tables of classes want most of it."""

FEWEST_WORDS = 3
"""A shorter text has no trigram."""

Iterations = dict[tuple[int, int], int]
"""EM iterations by the distance of the context word (1 is the last word, 2 the one before) and number of classes."""


def training_corpus(X: Strings, settings: Settings) -> Corpus:
    """Text over a vocabulary that has the unknown word, and the end of a sentence where it is predicted."""
    corpus = as_corpus(X)
    if corpus.n_tokens < FEWEST_WORDS:
        raise InputError(f"a text of {corpus.n_tokens} words", remedy="give at least a few sentences")
    full = corpus.vocabulary
    counts = np.bincount(corpus.tokens[corpus.tokens >= 0], minlength=len(full))
    counted = Counter({word: int(n) for word, n in zip(full.words, counts, strict=True) if n})
    unknown = full.unknown or UNKNOWN
    counted[unknown] += int((corpus.tokens < 0).sum())
    kept = Vocabulary.from_counts(counted, min_count=settings.min_count, unknown=unknown)
    if kept.unknown is None:  # no word was rare, but other texts will contain words that this one does not
        kept = Vocabulary([*kept.words, unknown], np.append(kept.counts, 0), unknown)
    if settings.boundaries and END not in kept:
        kept = Vocabulary([*kept.words, END], np.append(kept.counts, len(corpus)), kept.unknown)
    return Corpus.over(corpus, kept)


def learn(
    corpus: Corpus, dev: Strings | None, settings: Settings, report: Report, unfinished: Unfinished = NOT_KEPT
) -> tuple[Model, Iterations]:
    """Learn a model, and say how many EM iterations were made.

    Held-out text decides when EM stops and how models are mixed. Without ``dev`` the last twentieth of the training
    text plays that part first; then everything is learned again from all of the text, with the numbers of iterations
    and the weights that were found. ``unfinished`` keeps class models on the way, and has those of a training that was
    interrupted.
    """
    vocabulary = corpus.vocabulary
    end = vocabulary.index[END] if settings.boundaries else -1
    stream = one_stream(corpus, end)
    training = _Training(settings, len(vocabulary), end, settings.class_sizes(len(vocabulary)), report, unfinished)
    settings.require_memory_for_classes(len(vocabulary), len(stream))
    if dev is not None:
        mixture, iterations = training.run(stream, held_out=_held_out(dev, vocabulary, end, settings.width))
    elif settings.learner in ("pivot", "kn") or (settings.learner != "mixed" and settings.max_iter == 0):
        mixture, iterations = training.run(stream)
    else:
        cut = len(stream) - max(len(stream) // HELD_OUT_SHARE, 1)
        rest = Events.from_stream(stream[cut:], ignore=vocabulary.unknown_id, width=settings.width)
        mixture, iterations = training.run(stream[:cut], held_out=rest)
        weights = mixture.weights
        del mixture  # its tables make room for those of the training proper
        mixture, _ = training.run(stream, iterations=iterations, part="all")
        mixture = replace(mixture, weights=weights)
    return Model(vocabulary, mixture.compact(), settings.boundaries), iterations


def _held_out(dev: Strings, vocabulary: Vocabulary, end: int, width: int) -> Events:
    stream = one_stream(as_corpus(dev, vocabulary), end)
    held_out = Events.from_stream(stream, before=end, ignore=vocabulary.unknown_id, width=width)
    if not (held_out.words != end).any():
        raise InputError("the held-out text contains no known word", remedy="give text like the training text")
    return held_out


@dataclass(frozen=True)
class _Training:
    """What does not change between a rehearsal and the training proper."""

    settings: Settings
    n_words: int
    end: int
    class_sizes: list[int]
    report: Report
    unfinished: Unfinished

    def run(
        self,
        stream: np.ndarray,
        *,
        held_out: Events | None = None,
        iterations: Iterations | None = None,
        part: str = "first",
    ) -> tuple[Mixture, Iterations]:
        """Learn from a stream; EM makes the given ``iterations``, or as many as are best on ``held_out``.

        ``part`` names what is learned among the parts that are kept.
        """
        learner = self.settings.learner
        ngrams = None
        if learner in ("kn", "mixed"):
            # Every sentence begins after the end of another, the first one too.
            sentences = stream if self.end < 0 else np.concatenate([np.array([self.end], stream.dtype), stream])
            names = ("modified", "memory", "n_jobs")
            how: dict[str, Any] = {name: getattr(self.settings, name) for name in names}
            with progress("n-grams", enabled=self.settings.verbose):
                ngrams = KneserNey.fit(sentences, self.n_words, self.settings.order, start=self.end, **how)
        if learner == "kn":
            return Mixture.of(ngrams), {}
        classes: dict[int, list[ClassModel]] = {}
        made: Iterations = {}
        for distance in (1, 2) if learner == "mixed" else (1,):
            counts = self._pairs(stream, distance)
            for n_states in self.class_sizes:
                max_iter = None if iterations is None else iterations[distance, n_states]
                model, made[distance, n_states] = self.unfinished.once(
                    f"{part}-{distance}-{n_states}",
                    partial(self._classes, counts, distance, n_states, held_out, max_iter),
                )
                classes.setdefault(distance, []).append(model)
        mixture = Mixture.of(ngrams, classes)
        if learner == "mixed" and held_out is not None:
            mixture = mixture.fit_weights(held_out)
        return mixture, {} if learner == "pivot" else made

    def _pairs(self, stream: np.ndarray, distance: int) -> TupleCounts:
        """Counts of words and the words ``distance`` places before them; on disk if a bound on memory asks for it."""
        bound, n_jobs = self.settings.memory, self.settings.n_jobs
        memory = None if bound is None else bound // SHARE_OF_PAIRS
        return count_ngrams(stream, 2, self.n_words, n_jobs=n_jobs, gap=distance - 1, memory=memory)

    def _classes(
        self, counts: TupleCounts, distance: int, n_states: int, held_out: Events | None, max_iter: int | None
    ) -> tuple[ClassModel, int]:
        """Hidden classes of the word ``distance`` places back, and the number of EM iterations."""
        settings = self.settings
        if settings.learner == "pivot":
            return self._start(counts, distance, n_states), 0
        model, made, _ = em(
            counts,
            self._start(counts, distance, n_states),
            max_iter=settings.max_iter if max_iter is None else max_iter,
            loss=_held_out_loss(held_out, counts, distance),
            prior=settings.prior,
            n_jobs=settings.n_jobs,
            report=self.report,
        )
        return model, made

    def _start(self, counts: TupleCounts, distance: int, n_states: int) -> ClassModel:
        """Where EM begins: at random, or at what the anchors say."""
        settings = self.settings
        rng = np.random.default_rng([settings.seed, distance])
        if settings.learner == "em":
            return random_start(self.n_words, n_states, rng, settings.start_shape)
        return pivot(counts, n_states, prior=settings.prior, how=settings.anchoring, rng=rng, n_jobs=settings.n_jobs)


def _held_out_loss(held_out: Events | None, counts: TupleCounts, distance: int) -> Callable[[ClassModel], float] | None:
    """Held-out loss of class models of the word ``distance`` places back; None if there is nothing to judge them by.

    It leaves out words without counts: EM gives them probability zero, so they would outweigh everything else.
    """
    if held_out is None:
        return None
    known = np.zeros(counts.n_ids, bool)
    for part in counts.slices():
        known[counts.keys[part] % counts.n_ids] = True
    seen = known[held_out.words]
    if not seen.any():
        return None
    events = Events(held_out.contexts[seen], held_out.words[seen])
    return lambda model: events.log_loss(lambda contexts, words: model.prob(contexts[:, -distance], words))
