"""Lemmas: those that training has seen with the word and its analysis; for all other words a choice of edit scripts.

    remembered   (word, UPOS, FEATS), then (word, UPOS), give the most frequent lemma of training
    otherwise    P(script | word, analysis) ~ P(script | last letters, UPOS)^eta exp sum_p w . f(word, analysis, part p)

A script is favoured if its lemma is that of other words of training: most unknown words are other forms of known ones.

Scripts (:mod:`spectragram.pipeline.edit_scripts`) are labels that are made of parts: the change of case, that of the
beginning, that of the end (:mod:`spectragram.learning.part_choices`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.engine.progress import Report, silent
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.learning.factors import split_templates
from spectragram.learning.likely_labels import LikelyLabels
from spectragram.learning.part_choices import PartModel, learn_parts, make_parts, parts_over
from spectragram.learning.word_cells import grow
from spectragram.learning.words import SEPARATOR, class_key
from spectragram.pipeline.analyses import Analysis
from spectragram.pipeline.edit_scripts import Script, apply_script, parse_script, script_of
from spectragram.schema import Part, Schema, Strings
from spectragram.tagging.surface import COLUMNS as LETTERS
from spectragram.tagging.surface import surface_columns

__all__ = ["Lemmatizer", "learn_lemmatizer"]

KAPPA = 1.0
"""How many words the estimate of a coarser class of words is worth. Chosen by hand, not tuned."""
POWER = 0.3
"""Exponent of P(script | last letters, UPOS). Chosen on the dev parts of seven small treebanks, with gold analyses,
among 0, 0.15, 0.3, 0.6 and 1."""
RATE = 0.05
"""Step size of AdaGrad. Chosen on the same among 0.03, 0.05, 0.1 and 0.3."""
KNOWN_LEMMA = 1000.0
"""How many times as probable a script is if other words have the lemma that it makes. Chosen on the same among 1, 100,
1000 and 100,000; all but the first gain three points on unknown words."""
SUFFIX_LENGTHS = (6, 5, 4, 3, 2, 1, 0)
"""Last letters of a word by which scripts are counted. Chosen by hand, not tuned."""
COLUMNS = LETTERS + "ABCDE"
"""Those of the word's surface; UPOS, FEATS, XPOS, the last five and the last six letters."""
TEMPLATES = split_templates("""
    A0      B0      C0      s0 A0   p0 A0   q0 A0   r0 A0   g0 A0   l0 A0
    a0 A0   b0 A0   c0 A0   d0 A0   D0 A0   E0 A0
    a0 B0   b0 B0   c0 B0   d0 B0   D0 B0   a0 C0   b0 C0   c0 C0   d0 C0
    s0 c0   p0 c0   q0 b0 A0
""")
Known = tuple[str, str, str, str]
"""Word, UPOS, FEATS, XPOS."""
Forms = dict[tuple[str, str], set[str]]
"""The words that have a UPOS and a lemma."""


def _are_scripts(texts: list[str]) -> bool:
    try:
        return all(parse_script(text) for text in texts)
    except ValueError:
        return False


def _are_keys(texts: list[str]) -> bool:
    return all(text.count(SEPARATOR) >= 2 for text in texts)


@dataclass(frozen=True)
class Lemmatizer:
    """A trained lemmatizer.

    Attributes
    ----------
    lemmas : dict
        From the keys of words with their analyses to lemmas.
    scripts : tuple of Script
    model : PartModel
        Its labels are the scripts.
    """

    lemmas: dict[str, str] = field(repr=False)
    scripts: tuple[Script, ...]
    model: PartModel

    @cached_property
    def forms(self) -> Forms:
        """The words of training by UPOS and lemma."""
        return _forms_of(self.lemmas)

    def predict(self, words: Sequence[str], analyses: Sequence[Analysis], n_jobs: int | None = 1) -> list[str]:
        """The lemma of each word with its analysis."""
        keyed = [(word, upos, feats, xpos) for word, (upos, xpos, feats) in zip(words, analyses, strict=True)]
        found: dict[Known, str] = {}
        unknown = []
        for known in dict.fromkeys(keyed):
            lemma = next((self.lemmas[key] for key in _keys(known) if key in self.lemmas), None)
            if lemma is None:
                unknown.append(known)
            else:
                found[known] = lemma
        found |= zip(unknown, self._guess(unknown, n_jobs), strict=True)
        return [found[known] for known in keyed]

    def _guess(self, unknown: list[Known], n_jobs: int | None) -> list[str]:
        """Lemmas of words that training has not seen."""
        if not unknown:
            return []
        nodes = np.array([self.model.tree.find(_classes(known)) for known in unknown])
        likely = _favour_known(self.model.likely(nodes), unknown, self.scripts, self.forms)
        every = np.arange(len(unknown))
        offsets = np.arange(len(unknown) + 1)
        found = self.model.marginals(_columns(unknown), every, offsets, every, likely, n_jobs)
        lemmas = []
        for i, (word, *_) in enumerate(unknown):
            labels = likely.labels[likely.starts[i] : likely.starts[i + 1]]
            order = labels[np.argsort(-found[i, : len(labels)], kind="stable")]
            made = (apply_script(self.scripts[label], word) for label in order.tolist())
            lemmas.append(next((lemma for lemma in made if lemma), word))
        return lemmas

    SCHEMA: ClassVar[Schema] = Schema(
        "Lemmatizer",
        "Lemmas of words seen in training, and edit scripts for others.",
        arrays={
            "scripts": Strings("n_labels", "edit scripts", rule=("edit scripts", _are_scripts)),
            "keys": Strings("n_lemmas", "words with their analyses", rule=("a level, a word and a tag", _are_keys)),
            "lemmas": Strings("n_lemmas", "their lemmas"),
        },
        parts={"model": Part(parts_over(COLUMNS), {"n_labels": "n_labels"}, values=".")},
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values, arrays = self.model.to_state()
        arrays = prefixed("model", arrays) | {"scripts": list(map(str, self.scripts))}
        return values, arrays | {"keys": list(self.lemmas), "lemmas": list(self.lemmas.values())}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; ``ValueError`` or ``KeyError`` for what does not fit together."""
        model = PartModel.from_state(values, without_prefix("model", arrays))
        scripts = tuple(map(parse_script, arrays["scripts"]))
        if len(scripts) != len(model.prior):
            raise ValueError("edit scripts and their model do not fit together")
        return cls(dict(zip(arrays["keys"], arrays["lemmas"], strict=True)), scripts, model)


def learn_lemmatizer(
    words: Sequence[str],
    analyses: Sequence[Analysis],
    lemmas: Sequence[str],
    *,
    n_epochs: int,
    rng: np.random.Generator,
    report: Report = silent,
) -> Lemmatizer:
    """Learn from words, their analyses and lemmas, at least one of each."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seen: defaultdict[Known, Counter[str]] = defaultdict(Counter)
    for word, (upos, xpos, feats), lemma in zip(words, analyses, lemmas, strict=True):
        known = (word, upos, feats, xpos)
        seen[known][lemma] += 1
        for key in _keys(known):
            counts[key][lemma] += 1
    remembered = {key: _most_frequent(of_key) for key, of_key in counts.items()}
    forms = _forms_of(remembered)
    types = list(seen)
    of_types = [script_of(known[0], _most_frequent(seen[known])) for known in types]
    scripts = tuple(sorted(set(of_types)))
    number = {script: i for i, script in enumerate(scripts)}
    labels = np.array([number[script] for script in of_types], np.int64)
    keys = [_classes(known) for known in types]
    every = np.arange(len(types))
    cells = grow(keys, np.ones((len(keys), len(keys[0])), bool), every, labels, kappa=KAPPA)
    model = learn_parts(
        cells,
        np.bincount(labels, minlength=len(scripts)) / len(labels),
        make_parts([_parts(script) for script in scripts], [[] for _ in scripts]),
        _columns(types),
        every,
        np.arange(len(types) + 1),
        templates=TEMPLATES,
        letters=COLUMNS,
        power=POWER,
        rate=RATE,
        reweigh=lambda likely: _favour_known(likely, types, scripts, forms),
        n_epochs=n_epochs,
        rng=rng,
        report=report,
    )
    return Lemmatizer(remembered, scripts, model)


def _forms_of(lemmas: dict[str, str]) -> Forms:
    """The words by UPOS and lemma, from the keys under which lemmas are remembered."""
    found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for key, lemma in lemmas.items():
        _, word, upos, *_ = key.split(SEPARATOR)
        found[upos, lemma].add(word)
    return dict(found)


def _favour_known(
    likely: LikelyLabels, types: Sequence[Known], scripts: Sequence[Script], forms: Forms
) -> LikelyLabels:
    """The candidates of words with their analyses; those whose lemma other words have are more probable."""
    probabilities = likely.probabilities.copy()
    labels, starts = likely.labels.tolist(), likely.starts.tolist()
    for i, (word, upos, *_) in enumerate(types):
        for c in range(starts[i], starts[i + 1]):
            of_lemma = forms.get((upos, apply_script(scripts[labels[c]], word) or ""), ())
            if len(of_lemma) > (word in of_lemma):
                probabilities[c] *= KNOWN_LEMMA
    return likely._replace(probabilities=probabilities)


def _most_frequent(counts: Counter[str]) -> str:
    """The most frequent lemma, the first in the alphabet of equally frequent ones."""
    return min(counts, key=lambda lemma: (-counts[lemma], lemma))


def _keys(known: Known) -> Iterable[str]:
    """Under which keys a word with its analysis is remembered, most specific first."""
    word, upos, feats, _ = known
    yield class_key(0, word, upos, feats)
    yield class_key(1, word, upos)


def _classes(known: Known) -> list[str]:
    """The classes by which scripts are counted, finest first."""
    word, upos, *_ = known
    lower = "^" + word.lower()
    return [class_key(length, lower[len(lower) - length :] if length else "", upos) for length in SUFFIX_LENGTHS]


def _columns(types: Sequence[Known]) -> np.ndarray:
    """What templates see of words with their analyses: int64 (n_columns, n_types)."""
    return surface_columns([(w, upos, feats, xpos, w[-5:].lower(), w[-6:].lower()) for w, upos, feats, xpos in types])


def _parts(script: Script) -> list[str]:
    before = f"before {script.cut_before} {script.prefix}"
    behind = f"behind {script.cut_behind} {script.suffix}"
    return [str(script)] if script.case == "whole" else [script.case, before, behind, str(script)]
