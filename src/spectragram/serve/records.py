"""One sentence of an annotation file: what is known about it, how a step changes that, and how the file says it.

    format     unknown                        a finished sentence has
    conllu     ``_`` in the column            a tag, a head and a relation for every word
    columns    ``_`` in the label column      a label for every token
    brackets   ``?`` as a label               no ``?`` (see :mod:`spectragram.serve.tree_records`)

Records are immutable: a step makes a new one, and undoing it puts the old one back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from spectragram.data.columns import ColumnSentence
from spectragram.data.conllu import Sentence
from spectragram.errors import InputError

__all__ = ["UNKNOWN", "ColumnRecord", "Record", "Step", "TreebankRecord", "status_of"]

UNKNOWN = "_"
MAX_LABEL = 60
"""Characters of a tag, relation or label. Chosen by hand: the longest of Universal Dependencies has half as many."""

Step = Mapping[str, Any]
"""What an annotator did, as the page sends it: an ``op`` and its arguments."""


class Record(Protocol):
    """A sentence of an annotation file."""

    @property
    def words(self) -> list[str]:
        """The words, in order."""

    @property
    def status(self) -> str:
        """``open`` if nothing is known, ``done`` if everything is, else ``partial``."""

    def text(self) -> str:
        """The sentence as it is in the file, with what separates it from the next one."""

    def known(self) -> dict[str, Any]:
        """What is known, for the page."""

    def after(self, step: Step) -> Self:
        """The sentence after a step; :class:`InputError` if the step is not possible."""


def status_of(n_known: int, n_places: int) -> str:
    """The status of a sentence in which so many places are known."""
    return "open" if n_known == 0 else "done" if n_known == n_places else "partial"


def word_of(step: Step, n_words: int, name: str = "word", *, least: int = 1) -> int:
    """An argument of a step that is the number of a word, counted from 1."""
    value = step.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= n_words:
        raise InputError(f"{name} {value!r:.40} of a sentence of {n_words} words", remedy=f"give {least} to {n_words}")
    return value


def label_of(step: Step, name: str, *, unknown: str = UNKNOWN) -> str:
    """An argument of a step that is a label; null is ``unknown``."""
    return checked_label(step.get(name), name, unknown)


def checked_label(value: object, name: str, unknown: str = UNKNOWN) -> str:
    """A label that can be written to a file; None becomes ``unknown``."""
    if value is None:
        return unknown
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > MAX_LABEL or any(c.isspace() or c in "()" or not c.isprintable() for c in text):
        raise InputError(
            f"{name} {value!r:.80}", remedy=f"give 1 to {MAX_LABEL} characters without spaces or parentheses"
        )
    return text


def labels_of(step: Step, name: str, n_words: int) -> list[str]:
    """An argument of a step that has a label for every word; null where it is not known."""
    values = step.get(name)
    if not isinstance(values, list) or len(values) != n_words:
        raise InputError(f"{name} for {n_words} words are needed", remedy="give a list with one for each word")
    return [checked_label(value, name) for value in values]


def unknown_step(step: Step, known: str) -> InputError:
    """The error for a step that this kind of file does not have."""
    return InputError(f"no step {step.get('op')!r:.40}", remedy=f"choose among {known}")


@dataclass(frozen=True)
class TreebankRecord:
    """A sentence of CoNLL-U: tags in ``tag_column``, heads and relations."""

    sentence: Sentence
    tag_column: str = "upos"

    @property
    def words(self) -> list[str]:
        """The forms."""
        return self.sentence.forms

    @property
    def status(self) -> str:
        """Whether tags, heads and relations are known."""
        places = [self.sentence.column(name) for name in (self.tag_column, "head", "deprel")]
        return status_of(sum(value != UNKNOWN for column in places for value in column), 3 * len(self.sentence))

    def text(self) -> str:
        """The lines of CoNLL-U, and a blank one."""
        return f"{self.sentence}\n"

    def known(self) -> dict[str, Any]:
        """``tags``, ``heads`` and ``relations``; null where unknown."""
        return {
            "tags": [_or_none(tag) for tag in self.sentence.column(self.tag_column)],
            "heads": [None if head < 0 else head for head in self.sentence.heads.tolist()],
            "relations": [_or_none(relation) for relation in self.sentence.deprels],
        }

    def after(self, step: Step) -> Self:
        """Steps: ``tag``, ``arc`` (a head, with or without its relation), ``word`` (all three), ``accept``, ``clear``.

        The newest decision wins: known heads that contradict it are forgotten.
        """
        n = len(self.sentence)
        if step.get("op") == "accept":
            return self._accepted(step)
        if step.get("op") == "clear":
            empty = [UNKNOWN] * n
            return self._with(empty, [-1] * n, empty)
        if step.get("op") not in ("tag", "arc", "word"):
            raise unknown_step(step, "tag, arc, word, accept, clear")
        place = word_of(step, n) - 1
        tags, heads, relations = self._columns()
        if step["op"] in ("tag", "word"):
            tags[place] = label_of(step, "tag")
        if step["op"] in ("arc", "word"):
            head = -1 if step.get("head") is None else word_of(step, n, "head", least=0)
            if head == place + 1:
                raise InputError(f"word {head} cannot be its own head", remedy="choose another word, or the root")
            for loser in _contradicting(heads, place, head):
                heads[loser], relations[loser] = -1, UNKNOWN
            heads[place], relations[place] = head, label_of(step, "relation")
        return self._with(tags, heads, relations)

    def _columns(self) -> tuple[list[str], list[int], list[str]]:
        return self.sentence.column(self.tag_column), self.sentence.heads.tolist(), self.sentence.deprels

    def _with(self, tags: list[str], heads: list[int], relations: list[str]) -> Self:
        columns = {self.tag_column: tags}
        return replace(self, sentence=self.sentence.with_columns(**columns).with_heads(heads, relations))

    def _accepted(self, step: Step) -> Self:
        """The whole annotation that the page showed; a value that it could not show stays unknown."""
        n = len(self.sentence)
        heads = step.get("heads")
        if not isinstance(heads, list) or len(heads) != n:
            raise InputError(f"heads for {n} words are needed", remedy="give a list with one for each word")
        whole = [-1 if head is None else word_of({"head": head}, n, "head", least=0) for head in heads]
        found = self._with(labels_of(step, "tags", n), whole, labels_of(step, "relations", n))
        if -1 not in whole:
            found.sentence.check_tree()
        return found


def _contradicting(heads: list[int], place: int, head: int) -> list[int]:
    """Words whose known heads cannot stay if word ``place`` gets ``head``: another root, or the end of a cycle.

    The newest decision wins; heads count from 1, places from 0.
    """
    if head == 0:
        return [other for other, its in enumerate(heads) if its == 0 and other != place]
    above = head - 1
    for _ in heads:
        if head < 1 or heads[above] < 1:
            return []
        if heads[above] - 1 == place:
            return [above]
        above = heads[above] - 1
    return []


def _or_none(value: str) -> str | None:
    return None if value == UNKNOWN else value


@dataclass(frozen=True)
class ColumnRecord:
    """A sentence of a column file whose last column is the label."""

    sentence: ColumnSentence

    @property
    def words(self) -> list[str]:
        """The first column."""
        return self.sentence.columns[0]

    @property
    def labels(self) -> list[str]:
        """The last column."""
        return self.sentence.columns[-1]

    def observations(self, columns: tuple[int, ...]) -> list[Any]:
        """What a tagger sees of every token: a column, or tuples of several."""
        chosen = [self.sentence.columns[column] for column in columns]
        return chosen[0] if len(chosen) == 1 else list(zip(*chosen, strict=True))

    @property
    def status(self) -> str:
        """Whether labels are known."""
        return status_of(sum(label != UNKNOWN for label in self.labels), len(self.labels))

    def text(self) -> str:
        """The lines as they were, and those around them that are not tokens."""
        sentence = self.sentence
        return "".join(f"{line}\n" for line in (*sentence.before, *sentence.lines, *sentence.after))

    def known(self) -> dict[str, Any]:
        """``tags``; null where unknown."""
        return {"tags": [_or_none(label) for label in self.labels]}

    def after(self, step: Step) -> Self:
        """Steps: ``tag``, ``accept``, ``clear``."""
        labels = list(self.labels)
        if step.get("op") == "accept":
            labels = labels_of(step, "tags", len(labels))
        elif step.get("op") == "clear":
            labels = [UNKNOWN] * len(labels)
        elif step.get("op") == "tag":
            labels[word_of(step, len(labels)) - 1] = label_of(step, "tag")
        else:
            raise unknown_step(step, "tag, accept, clear")
        return replace(self, sentence=_relabelled(self.sentence, labels))


def _relabelled(sentence: ColumnSentence, labels: list[str]) -> ColumnSentence:
    """The sentence with other labels; the rest of every line stays as it is."""
    lines = []
    for line, old, new in zip(sentence.lines, sentence.columns[-1], labels, strict=True):
        place = line.rindex(old)
        lines.append(line[:place] + new + line[place + len(old) :])
    return replace(sentence, lines=tuple(lines), columns=(*sentence.columns[:-1], labels))
