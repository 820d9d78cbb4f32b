"""How factors see the spans of a sentence: templates, and the places of their features.

Templates are written ``wb0 te-1 n``: atoms of a column (:mod:`spectragram.constituency.surface`), a place (b: begin,
e: end, k: split) and an offset, or one letter for a value of the span: n length, f g first and last child, m number of
children, x last child but one, p parent, a how it lies in the tree that the grammars find.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from spectragram.constituency.brackets import MBR_THRESHOLD, SpanPosteriors
from spectragram.constituency.surface import COLUMNS, OF_PATHS, surface_columns
from spectragram.data.word_paths import WordPaths
from spectragram.inference.chart_decode import best_brackets
from spectragram.inference.span_factors import OWN, SpanPlaces, span_contexts, span_places

__all__ = ["SpanView", "are_templates", "parse_templates", "require_paths"]

PLACES, VALUES = "bek", "nfgmxpa"
ATOM = re.compile(rf"[{COLUMNS}][{PLACES}][+-]?[0-9]{{1,2}}|[{VALUES}]")
LENGTHS = np.array([1, 2, 3, 4, 5, 6, 8, 11, 16, 21, 31])
"""Lengths at which a new grade begins: exact up to 6, then growing as lengths get rare. Chosen by hand, not tuned."""


def parse_templates(templates: Sequence[str]) -> np.ndarray:
    """Templates as arrays, (t, a, 3) int64: column, place and offset of each atom; -1 fills up shorter templates.

    >>> parse_templates(["wb0 te-1", "n"]).tolist()
    [[[0, 0, 0], [3, 1, -1]], [[0, 3, 0], [-1, -1, -1]]]
    """
    split = [template.split() for template in templates]
    atoms = np.full((len(split), max(map(len, split), default=0), 3), -1, np.int64)
    for t, template in enumerate(split):
        for a, atom in enumerate(template):
            if len(atom) == 1:
                atoms[t, a] = VALUES.index(atom), OWN, 0
            else:
                atoms[t, a] = COLUMNS.index(atom[0]), PLACES.index(atom[1]), int(atom[2:])
    return atoms


def are_templates(listed: list[str]) -> bool:
    """Whether these are templates that :func:`parse_templates` can read."""
    return all(one.strip() and all(map(ATOM.fullmatch, one.split())) for one in listed)


def require_paths(templates: Sequence[str], paths: WordPaths | None) -> None:
    """Raise ``ValueError`` if templates look at paths of words and there are none: kernels do not check any more."""
    if paths is None and any(atom[0] in OF_PATHS for template in templates for atom in template.split()):
        raise ValueError("templates of paths of words without these paths")


class SpanView(NamedTuple):
    """A sentence with the tree that the grammars find, as features see it."""

    columns: np.ndarray  #: int64 (n_columns, n): the words
    split: np.ndarray  #: int32 (n_cells,): the best split of each cell
    label: np.ndarray  #: int64 (n_cells,): the label that the tree has there, or would have; -1 for none
    tags: np.ndarray  #: int64 (n,): the most probable tags
    grades: np.ndarray  #: int64 (n + 1,): grade of each length

    @classmethod
    def of(cls, words: Sequence[str], posteriors: SpanPosteriors, paths: WordPaths | None = None) -> Self:
        """How features see these words, given what the grammars and word clusters say about them."""
        n, spans = len(words), posteriors.spans
        split = best_brackets(n, spans, MBR_THRESHOLD)
        label = np.where(spans.max(axis=1) > MBR_THRESHOLD, spans.argmax(axis=1), -1)
        tags = posteriors.tags.argmax(axis=1)
        grades = np.searchsorted(LENGTHS, np.arange(n + 1), side="right")
        return cls(surface_columns(words, tags, paths), split, label, tags, grades)

    def places(self, spans: np.ndarray, atoms: np.ndarray, n_grades: int, size: int) -> SpanPlaces:
        """Where the features of ``spans`` (n_spans, 2) lie in a table of ``size`` weights."""
        own = np.ascontiguousarray(spans, np.int64)
        seen, values = span_contexts(len(self.tags), own, self.split, self.label, self.tags, self.grades)
        return span_places(self.columns, seen, values, atoms, n_grades, size)
