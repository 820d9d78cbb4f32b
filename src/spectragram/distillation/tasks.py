"""What distillation must know about a kind of model: how its data are read, labelled and learned from.

    kind           gold data             raw text                                     labelled text comes back as
    constituency   trees                 sentences of words                           trees
    tagger         labelled sequences    sentences of words, or the observed columns  labelled sequences
    dependency     CoNLL-U               CoNLL-U with tags                            CoNLL-U
    pipeline       CoNLL-U               raw text, or CoNLL-U                         CoNLL-U

Labelled sentences come before gold ones: learners that hold out the end of their data then hold out gold sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol, Self

import numpy as np

from spectragram.data.inputs import as_dependencies, as_trees, as_word_lists, is_path
from spectragram.data.labelled import LabelledFile, as_labelled, looks_like_conllu
from spectragram.errors import InputError
from spectragram.estimator import Estimator

__all__ = ["WEIGHTS", "Records", "Task", "task_of"]

WEIGHTS = (1.0, 0.5, 0.25, 0.0)
"""Weights of labelled sentences that are tried. Chosen by hand, not tuned."""
TEMPERATURE = 1.5
"""Of parsers of phrases that learn from labelled text: labelled trees are more regular than others, so students are too
sure. On the dev parts of wsj-sample (two students) and cess-esp (one) the best one is 1.5 to 1.7 with factors, and 1.15
to 1.6 for the same single models without."""


class Records(Protocol):
    """Labelled sentences of a kind."""

    def __len__(self) -> int: ...

    def select(self, numbers: np.ndarray) -> Self:
        """Some of them, by their numbers."""

    def as_data(self) -> Any:
        """What ``fit`` and ``score`` take."""


class Task(Protocol):
    """A kind of model.

    Attributes
    ----------
    weights : tuple of float
        Weights of labelled sentences that are tried, the first of equally good ones being chosen.
    of_students : mapping
        Parameters of students that learn from labelled sentences, unless they are given.
    """

    weights: tuple[float, ...]
    of_students: Mapping[str, Any]

    def read(self, data: Any, teacher: Any) -> Records:
        """Labelled data; a trained teacher says in which columns files have them."""

    def label(self, teacher: Any, text: Any) -> Records:
        """The text as the teacher labels it."""

    def fit(self, student: Any, labelled: Any, gold: Any, weight: float, dev: Any) -> None:
        """Train the student on both; labelled sentences count ``weight``, gold ones 1."""


@dataclass(frozen=True)
class Listed:
    """Trees, or sentences of CoNLL-U."""

    items: list[Any]

    def __len__(self) -> int:
        return len(self.items)

    def select(self, numbers: np.ndarray) -> Self:
        return replace(self, items=[self.items[i] for i in numbers.tolist()])

    def as_data(self) -> list[Any]:
        return self.items


@dataclass(frozen=True)
class Sequences:
    """Labelled sequences with the layout of their file."""

    data: LabelledFile

    def __len__(self) -> int:
        return len(self.data.X)

    def select(self, numbers: np.ndarray) -> Self:
        chosen = numbers.tolist()
        X, y, records = ([part[i] for i in chosen] for part in (self.data.X, self.data.y, self.data.records))
        return replace(self, data=replace(self.data, X=X, y=y, records=records))

    def as_data(self) -> LabelledFile:
        return self.data


def _weights(labelled: Sequence[Any], gold: Sequence[Any], weight: float) -> list[float] | None:
    """A weight for each sentence, or None where all are alike."""
    return None if not labelled or not gold or weight == 1.0 else [weight] * len(labelled) + [1.0] * len(gold)


class TreeTask:
    """Parsers of phrases."""

    weights: tuple[float, ...] = WEIGHTS
    of_students: Mapping[str, Any] = MappingProxyType({"temperature": TEMPERATURE})

    def read(self, data: Any, teacher: Any) -> Listed:
        """See :class:`Task`."""
        return Listed(as_trees(data))

    def label(self, teacher: Any, text: Any) -> Listed:
        """See :class:`Task`."""
        return Listed(list(teacher.predict(as_word_lists(text))))

    def fit(
        self, student: Any, labelled: Listed | None, gold: Listed | None, weight: float, dev: Listed | None
    ) -> None:
        """See :class:`Task`."""
        first, last = ([] if part is None else part.items for part in (labelled, gold))
        held_out = None if dev is None else dev.items
        student.fit(first + last, dev=held_out, sample_weight=_weights(first, last, weight))


class DependencyTask(TreeTask):
    """Parsers of tagged sentences."""

    of_students: Mapping[str, Any] = MappingProxyType({})

    def read(self, data: Any, teacher: Any) -> Listed:
        """See :class:`Task`."""
        return Listed(as_dependencies(data))

    def label(self, teacher: Any, text: Any) -> Listed:
        """See :class:`Task`."""
        return Listed(list(teacher.predict(as_dependencies(text, may_be_empty=True))))


class PipelineTask(DependencyTask):
    """Pipelines; raw text is split by the teacher, and tokenisers learn from gold sentences alone.

    Their many parts have no weights: labelled sentences count like gold ones or not at all.
    """

    weights: tuple[float, ...] = (1.0, 0.0)

    def label(self, teacher: Any, text: Any) -> Listed:
        """See :class:`Task`."""
        return Listed([sentence for sentence in teacher.predict(text) if len(sentence)])

    def fit(
        self, student: Any, labelled: Listed | None, gold: Listed | None, weight: float, dev: Listed | None
    ) -> None:
        """See :class:`Task`."""
        held_out = None if dev is None else dev.items
        if gold is None:
            assert labelled is not None
            student.fit(labelled.items, dev=held_out)
        else:
            student.fit(gold.items, dev=held_out, labelled=None if labelled is None else labelled.items)


class TaggerTask:
    """Taggers of words, or of several columns."""

    weights: tuple[float, ...] = WEIGHTS
    of_students: Mapping[str, Any] = MappingProxyType({})

    def read(self, data: Any, teacher: Any) -> Sequences:
        """See :class:`Task`."""
        return Sequences(as_labelled(data, layout=None if teacher is None else teacher.layout_))

    def label(self, teacher: Any, text: Any) -> Sequences:
        """See :class:`Task`."""
        layout = teacher.layout_
        if teacher.model_.codebook is not None:
            raise InputError("this tagger labels frames of speech, not text", remedy="give a tagger of words")
        is_words = len(layout.columns) == 1 and not (is_path(text) and looks_like_conllu(text))
        given = as_word_lists(text) if is_words else as_labelled(text, layout=layout, labels=False).X
        return Sequences(LabelledFile(given, list(teacher.predict(given)), given, layout))

    def fit(
        self, student: Any, labelled: Sequences | None, gold: Sequences | None, weight: float, dev: Sequences | None
    ) -> None:
        """See :class:`Task`."""
        parts = [part.data for part in (labelled, gold) if part is not None]
        X, y, records = ([one for part in parts for one in getattr(part, name)] for name in ("X", "y", "records"))
        weights = None if len(parts) == 1 else _weights(parts[0].X, parts[1].X, weight)
        data = replace(parts[-1], X=X, y=y, records=records)
        student.fit(data, dev=None if dev is None else dev.data, sample_weight=weights)


TASKS: dict[str, Any] = {
    "constituency": TreeTask(),
    "tagger": TaggerTask(),
    "dependency": DependencyTask(),
    "pipeline": PipelineTask(),
}


def task_of(teacher: Estimator) -> Task:
    """What distillation knows about the kind of a model; refuses kinds without labels."""
    kind = getattr(teacher, "kind", None)
    if kind not in TASKS:
        what = f"a model of kind '{kind}'" if kind else f"a {type(teacher).__name__}"
        raise InputError(f"{what} cannot teach: it has no labels", remedy=f"give a {', a '.join(TASKS)} model")
    return TASKS[kind]
