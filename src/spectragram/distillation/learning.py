"""From a teacher and raw text to a student: label, weigh, learn.

    teacher      an ensemble, slow and accurate          labels the text
    student      one model, fast                         learns from gold sentences and, with weight w, labelled ones
    w            of ``Task.weights``                     the one whose student is best on held-out gold sentences

Gold sentences weigh 1. The candidates learn from nine tenths of them and are scored on the rest, or learn from all of
them and are scored on ``dev``; weight 0 is the student that never saw the text, so text that does not help is left
out. The final student learns from all gold sentences with the best weight. Note that the teacher has usually seen the
held-out tenth, which makes labelled text look a little better than it is; ``dev`` is free of that.

This module works through the surface of the estimators alone; what differs between kinds is in
:mod:`spectragram.distillation.tasks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectragram.data.inputs import is_path, listed
from spectragram.distillation.tasks import Records, Task, task_of
from spectragram.errors import InputError, ParameterError
from spectragram.estimator import RUN_TIME, Estimator
from spectragram.files import is_blank

__all__ = ["HELD_OUT", "distil", "fit_with_raw"]

HELD_OUT = 10
"""Every tenth gold sentence is held out to choose the weight, as everywhere in the library."""
KEPT = ("clusters", "words", "tag_column", "random_state", *RUN_TIME)
"""Parameters that teacher and student share: what they look at, and how to run. The others say how much to learn."""


@dataclass(frozen=True)
class _Lesson:
    """What a student learns from."""

    task: Task
    labelled: Records
    gold: Records | None
    dev: Records | None

    def taught(self, student: Estimator, weight: float) -> Estimator:
        """A copy of the student that has learned from everything."""
        known = student.get_params()
        usual = {name: value for name, value in self.task.of_students.items() if weight > 0 and known[name] is None}
        copy = type(student)(**known | usual)
        self.task.fit(copy, self.labelled if weight > 0 else None, self.gold, weight, self.dev)
        return copy

    def scores(self, student: Estimator) -> dict[float, float]:
        """The held-out score of each weight."""
        assert self.gold is not None
        if self.dev is None:
            is_held_out = np.arange(len(self.gold)) % HELD_OUT == HELD_OUT - 1
            kept, held_out = self.gold.select(np.flatnonzero(~is_held_out)), self.gold.select(is_held_out.nonzero()[0])
            part = _Lesson(self.task, self.labelled, kept, None)
        else:
            part, held_out = self, self.dev
        return {w: part.taught(student, w).score(held_out.as_data()) for w in self.task.weights}  # type: ignore[attr-defined]


def distil(
    teacher: Estimator,
    text: Any,
    *,
    gold: Any = None,
    dev: Any = None,
    weight: float | None = None,
    preset: str = "fast",
    **parameters: Any,
) -> Any:
    """A student of the teacher's kind, learned from text that the teacher labels.

    Parameters
    ----------
    teacher : Tagger, ConstituencyParser, DependencyParser or Pipeline
        Trained.
    text : path or iterable
        What the teacher predicts from, without labels: sentences of words for parsers of phrases and for taggers of
        words, a file with the observed columns for other taggers, CoNLL-U with tags for dependency parsers, raw text
        for pipelines.
    gold : path or iterable, optional
        Labelled data, as for ``fit``, usually those of the teacher. Without them the student learns from text alone.
    dev : path or iterable, optional
        Held-out labelled data: they choose the weight, and what ``fit`` chooses by them.
    weight : float, optional
        How much a labelled sentence counts beside a gold one. By default the best of a few on held-out data; for
        pipelines 1 or 0.
    preset : {"fast", "default", "best"}
        Of the student: ``fast`` is one model.
    **parameters
        Further parameters of the student. Clusters, columns, seed and the like are those of the teacher.

    Returns
    -------
    estimator
        Trained; its ``summary_`` has ``raw_sentences`` and ``raw_weight``.

    Examples
    --------
    >>> from spectragram.constituency import ConstituencyParser
    >>> from spectragram.synthetic.english import english_trees
    >>> trees = english_trees(60)
    >>> teacher = ConstituencyParser(n_states=2, n_models=2, max_iter=1).fit(trees[:40])
    >>> student = distil(teacher, [tree.leaves() for tree in trees[40:]], gold=trees[:40], weight=1.0, n_states=2)
    >>> student.summary_["models"], student.summary_["sentences"], student.summary_["raw_sentences"]
    (1, 60, 20)
    """
    task = task_of(teacher)
    teacher._require_fitted()
    text = _with_sentences(text)
    _check_weight(weight, gold, task)
    here = {name: getattr(teacher, name) for name in RUN_TIME if hasattr(teacher, name)}
    known: Mapping[str, Any] = teacher.fitted_params_ | here
    shared = {name: known[name] for name in KEPT if name in known}
    student = type(teacher)(**shared | {"preset": preset} | parameters)
    lesson = _Lesson(
        task,
        task.label(teacher, text),
        None if gold is None else task.read(gold, teacher),
        None if dev is None else task.read(dev, teacher),
    )
    return _learned(student, lesson, weight)


def fit_with_raw(student: Any, gold: Any, raw: Any, *, dev: Any = None) -> Any:
    """Train ``student`` on gold data and raw text: the best ensemble of its kind learns from the gold data, labels the
    text, and teaches it. This is what ``fit(..., raw=...)`` does."""
    task = task_of(student)
    raw = _with_sentences(raw)
    shared = {name: getattr(student, name) for name in KEPT if hasattr(student, name)}
    teacher = type(student)(**shared, preset="best")
    records = task.read(gold, None)
    held_out = None if dev is None else task.read(dev, None)
    task.fit(teacher, None, records, 0.0, held_out)
    taught = _learned(student, _Lesson(task, task.label(teacher, raw), records, held_out), None)
    student.model_, student.summary_ = taught.model_, taught.summary_
    return student


def _with_sentences(text: Any) -> Any:
    """The text, as a list if it is not a file; refuses one without any sentence before anything is learned."""
    if not is_path(text):
        text = listed(text, "sentences")
    if (is_path(text) and str(text) != "-" and is_blank(text)) or (isinstance(text, list) and not text):
        path = text if is_path(text) else None
        raise InputError("no sentences to learn from", path=path, remedy="give text with at least one sentence")
    return text


def _learned(student: Estimator, lesson: _Lesson, weight: float | None) -> Estimator:
    """The student after its lesson, with the weight that was given or is best."""
    scores: dict[float, float] = {}
    chosen = 1.0 if weight is None else weight
    if weight is None and lesson.gold is not None and (lesson.dev is not None or len(lesson.gold) >= 2 * HELD_OUT):
        scores = lesson.scores(student)
        chosen = max(lesson.task.weights, key=lambda w: scores[w])
    taught = lesson.taught(student, chosen)
    taught.summary_ |= {"raw_sentences": len(lesson.labelled), "raw_weight": chosen}
    if scores:
        taught.summary_["raw_scores"] = [round(100 * scores[w], 2) for w in lesson.task.weights]
    return taught


def _check_weight(weight: float | None, gold: Any, task: Task) -> None:
    if weight is None:
        return
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0.0 <= weight < float("inf"):
        raise ParameterError("weight", weight, remedy="give a number of at least 0")
    if weight not in task.weights and len(task.weights) == 2:
        raise ParameterError("weight", weight, "but pipelines have no weights of sentences", remedy="give 1 or 0")
    if weight == 0 and gold is None:
        raise ParameterError("weight", weight, "leaves nothing to learn from", remedy="give gold data, or a weight")
