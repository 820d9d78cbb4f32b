"""The four views of a token around its hidden state (Stratos et al. 2013, figure 3, sections 5.1 and 7).

    view       paper     may look at                                            feature function
    future     F_1       this observation, and everything to the right          phi
    past       P         labels and observations to the left                    psi
    present    R         this observation alone                                 xi
    destiny    D         all labels and all observations but this one           upsilon

Given label and hidden state, future and past are independent, and so are present and destiny. A view is a list of
templates; a template is a product of atoms, each an aspect of the token at a distance: ``"label[1]*label[2]"``.

    atom         of the token at that distance
    word         the first column: frequent words in lower case, rare ones as their class by spelling
    looks        shape and last three letters of the first column
    column1 ...  the further columns
    label        its label
    next         the first different label to the right of its run of equal labels
    previous     the last different label to the left of that run
    position     beginning, middle or end third of that run
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from spectragram.data.signatures import neutral_signature
from spectragram.errors import ParameterError
from spectragram.learning.words import RARE
from spectragram.tagging.sequences import Observations

__all__ = ["SPEECH_VIEWS", "Views", "extract_views", "text_views", "token_atoms"]

_ATOM = re.compile(r"([a-z]+\d*)\[([+-]?\d+)\]")


@dataclass(frozen=True)
class Views:
    """Templates of the four views."""

    future: tuple[str, ...]
    past: tuple[str, ...]
    present: tuple[str, ...]
    destiny: tuple[str, ...]

    def replaced(self, views: Mapping[str, Sequence[str]]) -> Views:
        """The same with the named views replaced."""
        unknown = set(views) - {field.name for field in fields(self)}
        if unknown:
            raise ParameterError(
                "views", min(unknown), "is not a view", remedy="there are future, past, present and destiny"
            )
        return replace(self, **{name: tuple(templates) for name, templates in views.items()})

    def without(self, *atoms: str) -> Views:
        """The same without the templates that use one of the atoms, for ablations."""
        kept = {
            field.name: tuple(t for t in getattr(self, field.name) if not {atom for atom, _ in _parse(t)} & set(atoms))
            for field in fields(self)
        }
        return replace(self, **kept)


def text_views(n_columns: int) -> Views:
    """The default for text with ``n_columns`` columns of observations."""
    future = [
        "word[0]",
        "looks[0]",
        "label[1]",
        "label[1]*label[2]",
        "word[1]",
        "looks[1]",
        "word[0]*label[1]",
        "word[2]",
    ]
    past = ["label[-1]", "label[-1]*label[-2]", "word[-1]", "looks[-1]", "word[-1]*label[-1]", "word[-2]"]
    present = ["word[0]", "looks[0]"]
    destiny = [
        *("label[1]", "label[-1]", "label[-1]*label[1]", "label[1]*label[2]", "label[-1]*label[-2]"),
        *("word[1]", "word[-1]", "looks[1]", "looks[-1]"),
    ]
    for column in (f"column{k}" for k in range(1, n_columns)):
        future += [f"{column}[0]", f"{column}[1]", f"{column}[0]*{column}[1]", f"{column}[1]*{column}[2]"]
        past += [f"{column}[-1]", f"{column}[-1]*{column}[-2]", f"{column}[-1]*label[-1]"]
        present += [f"{column}[0]"]
        destiny += [f"{column}[1]", f"{column}[-1]", f"{column}[-1]*{column}[1]"]
    return Views(tuple(future), tuple(past), tuple(present), tuple(destiny))


SPEECH_VIEWS = Views(
    future=("word[0]", "label[1]", "word[1]", "next[0]", "position[0]", "next[0]*position[0]"),
    past=("label[-1]", "word[-1]", "previous[0]", "position[-1]*label[-1]", "word[-2]"),
    present=("word[0]",),
    destiny=(
        *("label[1]", "label[-1]", "word[1]", "word[-1]"),
        *("next[0]", "previous[0]", "position[0]", "previous[0]*position[0]", "next[0]*position[0]"),
    ),
)
"""The templates of figure 6: neighbouring frames, neighbouring phones, place within the phone."""


def _parse(template: str) -> list[tuple[str, int]]:
    atoms = []
    for part in template.split("*"):
        match = _ATOM.fullmatch(part.strip())
        if match is None:
            raise ParameterError(
                "views", template, "is not a template", remedy="write atoms as in word[0] or label[1]*label[2]"
            )
        atoms.append((match[1], int(match[2])))
    return atoms


def token_atoms(observed: Observations, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Every atom of every token as integers from 0: arrays of shape (n_tokens,)."""
    words = [observation[0] for observation in observed.types]
    initial = observed.initial.tolist()
    seen: Counter[str] = Counter()
    for word, count in zip(words, np.bincount(observed.tokens, minlength=len(words)).tolist(), strict=True):
        seen[word] += count
    # Beginning a sequence is part of what a capitalised word looks like.
    signatures = [neutral_signature(w, initial=i, suffix_lengths=(3, 2)) for w, i in zip(words, initial, strict=True)]
    frequent = ["^" + w.lower() if i else w.lower() for w, i in zip(words, initial, strict=True)]
    # Codes of a codebook have no looks to back off to: a rare one is still a feature of its own.
    is_code = observed.frames is not None
    named = {
        "word": [
            w if is_code else f if seen[w] > RARE else s[1] for w, f, s in zip(words, frequent, signatures, strict=True)
        ],
        "looks": [signature[0] for signature in signatures],
    }
    named |= {f"column{k}": [observation[k] for observation in observed.types] for k in range(1, observed.n_columns)}
    atoms = {name: _numbered(values)[observed.tokens] for name, values in named.items()}
    return atoms | {"label": labels.astype(np.int64)} | _runs(labels, observed.offsets)


def _numbered(values: Sequence[str]) -> np.ndarray:
    index: dict[str, int] = {}
    return np.array([index.setdefault(value, len(index)) for value in values], np.int64)


def _runs(labels: np.ndarray, offsets: np.ndarray) -> dict[str, np.ndarray]:
    """``next``, ``previous`` and ``position`` from runs of equal labels within sequences."""
    n = len(labels)
    starts = np.concatenate([[True], labels[1:] != labels[:-1]])
    first = np.unique(offsets[:-1][np.diff(offsets) > 0])
    starts[first] = True
    run = np.cumsum(starts) - 1
    run_start = np.flatnonzero(starts)
    run_length = np.diff(np.append(run_start, n))
    run_label = labels[run_start].astype(np.int64)
    boundary = int(labels.max()) + 1
    begins = np.isin(run_start, first)
    previous = np.where(begins, boundary, np.concatenate([[boundary], run_label[:-1]]))
    ends = np.append(begins[1:], True)
    following = np.where(ends, boundary, np.append(run_label[1:], boundary))
    third = (np.arange(n) - run_start[run]) * 3 // run_length[run]
    return {"next": following[run], "previous": previous[run], "position": third}


def extract_views(atoms: dict[str, np.ndarray], offsets: np.ndarray, templates: Sequence[str]) -> np.ndarray:
    """Feature numbers of every token, one column a template, each template with numbers of its own.

    Returns
    -------
    int32 array, shape (n_tokens, n_templates)
    """
    n_tokens = int(offsets[-1])
    sequence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    columns, base = [], 0
    for template in templates:
        key = np.zeros(n_tokens, np.int64)
        for name, distance in _parse(template):
            if name not in atoms:
                raise ParameterError("views", template, f"has no atom {name!r}", remedy=f"there are {', '.join(atoms)}")
            value = atoms[name]
            key = key * (int(value.max()) + 2) + _at(value, sequence, distance)
        distinct, column = np.unique(key, return_inverse=True)
        columns.append(column + base)
        base += len(distinct)
    return np.stack(columns, axis=1).astype(np.int32)


def _at(values: np.ndarray, sequence: np.ndarray, distance: int) -> np.ndarray:
    """The value ``distance`` tokens ahead, a number of its own beyond the ends of the sequence."""
    if distance == 0:
        return values
    place = np.arange(len(values)) + distance
    inside = (place >= 0) & (place < len(values))
    place = np.where(inside, place, 0)
    return np.where(inside & (sequence[place] == sequence), values[place], int(values.max()) + 1)
