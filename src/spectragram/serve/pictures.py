"""What the page draws, as plain JSON: words with tags, arcs or brackets, and how sure the model is of each.

All pictures have ``kind`` and ``words``. Probabilities are rounded; ``options`` lists what else a place could be, the
most probable first. Words are numbered from 1 where they are heads (0 is the root), and spans are counted from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectragram.data.brackets import unescape_word
from spectragram.data.conllu import Sentence
from spectragram.data.trees import Tree, fold

if TYPE_CHECKING:
    from spectragram.constituency.brackets import SpanPosteriors  # which compiles; a server without models need not

__all__ = ["chart_of", "dependency_picture", "options_of", "surprisal_picture", "tag_picture", "tree_picture"]

N_OPTIONS = 6
"""Alternatives sent for a place: more than a person compares. Chosen by hand."""
LEAST = 0.01
"""Probability below which an alternative, or a span of the chart, is not sent: it would not be seen."""

Options = list[list[Any]]
"""Pairs of a value and its probability, the most probable first."""


def rounded(values: Iterable[float]) -> list[float]:
    """Probabilities with as many digits as a page can show."""
    return [round(min(max(float(value), 0.0), 1.0), 4) for value in values]


def options_of(distribution: np.ndarray, names: Sequence[Any], n: int = N_OPTIONS) -> Options:
    """The most probable names and their probabilities, (n_names,)."""
    order = np.argsort(-distribution, kind="stable")[:n]
    return [[names[i], rounded([distribution[i]])[0]] for i in order.tolist() if distribution[i] >= LEAST]


def tag_picture(
    words: Sequence[str], tags: Sequence[str], marginals: np.ndarray, names: Sequence[str]
) -> dict[str, Any]:
    """Words with tags; ``marginals`` (n, n_names)."""
    index = {name: i for i, name in enumerate(names)}
    sure = [marginals[i, index[tag]] if tag in index else 0.0 for i, tag in enumerate(tags)]
    return {
        "kind": "tags",
        "words": list(words),
        "tags": list(tags),
        "tag_p": rounded(sure),
        "options": {"tags": [options_of(row, names) for row in marginals]},
    }


def dependency_picture(
    parsed: Sentence,
    tag_column: str,
    *,
    head_marginals: np.ndarray | None = None,
    relation_p: np.ndarray | None = None,
    tag_options: list[Options] | None = None,
) -> dict[str, Any]:
    """Arcs over tagged words; ``head_marginals`` (n, n + 1), of which column 0 is the root."""
    heads = parsed.heads.tolist()
    n = len(heads)
    tags = [None if tag == "_" else tag for tag in parsed.column(tag_column)]
    picture: dict[str, Any] = {
        "kind": "dependency",
        "words": parsed.forms,
        "tags": tags,
        "heads": [None if head < 0 else head for head in heads],
        "relations": [None if relation == "_" else relation for relation in parsed.deprels],
        "lemmas": parsed.lemmas,
        "features": parsed.column("feats"),
        "options": {},
    }
    if head_marginals is not None:
        picture["head_p"] = rounded(head_marginals[np.arange(n), np.maximum(heads, 0)])
        picture["options"]["heads"] = [options_of(row, range(n + 1)) for row in head_marginals]
    if relation_p is not None:
        picture["relation_p"] = rounded(relation_p)
    if tag_options is not None:
        chances = [dict(map(tuple, options)) for options in tag_options]
        picture["tag_p"] = [chance.get(tag, 0.0) for chance, tag in zip(chances, tags, strict=True)]
        picture["options"]["tags"] = tag_options
    return picture


def tree_picture(
    tree: Tree,
    *,
    posteriors: SpanPosteriors | None = None,
    labels: Sequence[str] = (),
    tags: Sequence[str] = (),
) -> dict[str, Any]:
    """A phrase tree, nested, with a probability for every bracket and tag, and the chart of all probable spans."""
    n = len(tree.leaves())
    chances = None if posteriors is None else _Chances(posteriors, labels, tags)
    picture: dict[str, Any] = {
        "kind": "constituency",
        "words": list(map(unescape_word, tree.leaves())),
        "tags": tree.tags(),
        "tree": _nested(tree, chances),
        "brackets": str(tree),
        "options": {},
    }
    if posteriors is not None:
        picture["chart"] = chart_of(posteriors, labels)
        picture["tag_p"] = [chances.of(i, i + 1, tag) for i, tag in enumerate(tree.tags())] if chances else []
        picture["options"]["tags"] = [options_of(posteriors.tags[i], tags) for i in range(n)]
    return picture


def chart_of(posteriors: SpanPosteriors, labels: Sequence[str]) -> list[list[Any]]:
    """``[start, end, options]`` for every span that has a probable label."""
    found = ((i, j, options_of(row, labels, 3)) for i, j, row in posteriors if row.max(initial=0.0) >= LEAST)
    return [[i, j, options] for i, j, options in found]


class _Chances(dict[tuple[int, int, str], float]):
    """Probabilities of labels and tags by span, where they are not next to nothing."""

    def __init__(self, posteriors: SpanPosteriors, labels: Sequence[str], tags: Sequence[str]) -> None:
        found = {(i, j, labels[k]): row[k] for i, j, row in posteriors for k in np.flatnonzero(row >= LEAST).tolist()}
        of_tags = posteriors.tags
        found |= {
            (i, i + 1, tags[k]): of_tags[i, k]
            for i in range(len(of_tags))
            for k in np.flatnonzero(of_tags[i] >= LEAST).tolist()
        }
        super().__init__(zip(found, rounded(found.values()), strict=True))
        self.known = {*labels, *tags}

    def of(self, start: int, end: int, label: str) -> float | None:
        """The probability of a label over a span; None for labels that the model does not have, such as TOP."""
        return self.get((start, end, label), 0.0) if label in self.known else None


def _nested(tree: Tree, chances: _Chances | None) -> dict[str, Any]:
    """The tree as nested objects with ``label``, ``start``, ``end``, ``p``, and ``children`` or ``word``."""
    place = 0

    def node(one: Tree, below: list[dict[str, Any]]) -> dict[str, Any]:
        nonlocal place
        found: dict[str, Any]
        if one.word is not None:
            place -= 1  # nodes come from the right to the left
            found = {"label": one.label, "start": place, "end": place + 1, "word": unescape_word(one.word)}
        else:
            found = {"label": one.label, "start": below[0]["start"], "end": below[-1]["end"], "children": below}
        if chances is not None:
            found["p"] = chances.of(found["start"], found["end"], one.label)
        return found

    place = len(tree.leaves())
    return fold(tree, node)


def surprisal_picture(words: Sequence[str], bits: np.ndarray) -> dict[str, Any]:
    """Bits for every word, and for the end of the sentence where the model predicts it."""
    shown = [None if not np.isfinite(value) else round(float(value), 3) for value in bits]
    return {"kind": "surprisal", "words": list(words), "bits": shown}
