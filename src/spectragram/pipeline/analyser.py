"""The analyser: UPOS, XPOS and FEATS of the words of sentences, chosen together by one chain.

Every word has a few candidates among the analyses of the training data: those seen with the word, or with words that
look like it. A log-linear chain (:mod:`spectragram.inference.part_chain`) chooses among them. Columns that are known
already narrow the candidates down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numba import njit

from spectragram.data.word_paths import WordPaths
from spectragram.engine.progress import Report, silent
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.learning.likely_labels import LikelyLabels
from spectragram.learning.part_choices import MOST_CANDIDATES, PartModel, learn_parts, parts_over
from spectragram.pipeline.analyses import COLUMNS, Analyses, Analysis
from spectragram.schema import Part, Schema
from spectragram.tagging.factors import templates_for
from spectragram.tagging.lexicon import Lexicon, learn_lexicon
from spectragram.tagging.sequences import Observations, read_observations
from spectragram.tagging.surface import COLUMNS as LETTERS
from spectragram.tagging.surface import surface_columns

__all__ = ["Analyser", "Distributions", "learn_analyser"]

KAPPA = 3.0
"""How many tokens the estimate of a coarser class of words is worth: as in the tagger."""
POWER = 0.6
"""Exponent of P(analysis | word). Chosen on the dev parts of eight small treebanks among 0.3, 0.5, 0.7 and 1."""
RATE = 0.03
"""Step size of AdaGrad. Chosen on the same among 0.015, 0.025, 0.03, 0.05, 0.1 and 0.2."""
ROWS_A_BLOCK = 512
"""Words whose candidates are narrowed down at once; a bound on memory."""


AFFIX_TEMPLATES = ("A0", "B0")
"""Beside those of the tagger, affixes of five letters, which gain 0.1 UPOS and UFeats on the dev parts of eight small
treebanks. Shapes in which all letters without case are alike do not help there."""
COLUMNS_SEEN = LETTERS + "AB"
"""A letter for each column: those of the tagger, and two affixes."""
AFFIX = 5
"""Letters of the affixes in the columns A and B."""


@dataclass(frozen=True)
class Distributions:
    """Analyses that words may have, with their probabilities.

    Attributes
    ----------
    analyses : Analyses
    rows : int64 array, shape (n_tokens,)
    likely : LikelyLabels
        Token i has the candidates of list ``rows[i]``.
    marginals : float64 array, shape (n_tokens, w)
        Probabilities of the candidates, in their order.
    """

    analyses: Analyses
    rows: np.ndarray
    likely: LikelyLabels
    marginals: np.ndarray

    def of_upos(self) -> np.ndarray:
        """Probabilities of parts of speech, in the order of ``analyses.names[0]``: (n_tokens, n_upos)."""
        upos = self.analyses.values[0]
        return _sums_of_values(self.rows, self.likely.starts, upos[self.likely.labels], self.marginals, upos.max() + 1)

    def best(self, of_upos: np.ndarray) -> np.ndarray:
        """The numbers of the chosen analyses, int64 (n_tokens,).

        First the best UPOS by ``of_upos`` (n_tokens, n_upos) is chosen among those of the candidates, then FEATS, then
        XPOS.
        """
        values = self.analyses.values[:, self.likely.labels]
        places = _best_candidates(self.rows, self.likely.starts, values, self.marginals, of_upos)
        return self.likely.labels[places]


@dataclass(frozen=True)
class Analyser:
    """A trained analyser.

    Attributes
    ----------
    analyses : Analyses
    model : PartModel
    """

    analyses: Analyses
    model: PartModel

    def distributions(
        self, observed: Observations, known: np.ndarray | None = None, n_jobs: int | None = 1
    ) -> Distributions:
        """Probabilities of the analyses of all words.

        ``known`` (3, n_tokens): the values of UPOS, XPOS and FEATS that are given, as :meth:`Analyses.encode` returns
        them, -1 where none is.
        """
        nodes = Lexicon(self.model.tree, self.model.prior, by_looks=True).nodes(observed)
        if known is None or (known < 0).all():
            rows, likely = observed.tokens.astype(np.int64), self.model.likely(nodes)
        else:
            keys = np.concatenate([observed.tokens[None, :], known])
            distinct, rows = np.unique(keys, axis=1, return_inverse=True)
            rows, likely = rows.ravel(), self._narrowed(nodes[distinct[0]], distinct[1:])
        marginals = self.model.marginals(_columns(observed), observed.tokens, observed.offsets, rows, likely, n_jobs)
        return Distributions(self.analyses, rows, likely, marginals)

    def _narrowed(self, nodes: np.ndarray, known: np.ndarray) -> LikelyLabels:
        """The candidates of nodes (n,) that agree with what is known of them, (3, n)."""
        lists: list[tuple[np.ndarray, np.ndarray]] = []
        every = len(self.analyses.listed)
        for first in range(0, len(nodes), ROWS_A_BLOCK):
            block = slice(first, first + ROWS_A_BLOCK)
            likely = self.model.likely(nodes[block], most=every, least=0.0)
            for i, wanted in enumerate(known[:, block].T):
                own = slice(likely.starts[i], likely.starts[i + 1])
                lists.append(self._agreeing(likely.labels[own], likely.probabilities[own], wanted))
        starts = np.cumsum([0, *(len(labels) for labels, _ in lists)]).astype(np.int64)
        return LikelyLabels(starts, *(np.concatenate(arrays) for arrays in zip(*lists, strict=True)))

    def _agreeing(
        self, labels: np.ndarray, probabilities: np.ndarray, wanted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The likely labels that have the wanted values (3,); if none has, any that has the first of them."""
        for n in range(len(COLUMNS), 0, -1):
            # Candidates first, then all analyses; values that never occur together are given up from the last one.
            asked = np.flatnonzero(wanted[:n] >= 0)
            agrees = (self.analyses.values[asked] == wanted[asked, None]).all(axis=0)
            kept = np.flatnonzero(agrees[labels])[:MOST_CANDIDATES]
            if len(kept):
                return labels[kept], probabilities[kept]
            if agrees.any():
                kept = np.flatnonzero(agrees)
                kept = kept[np.argsort(-self.model.prior[kept], kind="stable")][:MOST_CANDIDATES]
                return kept, self.model.prior[kept]
        return labels[:MOST_CANDIDATES], probabilities[:MOST_CANDIDATES]

    SCHEMA: ClassVar[Schema] = Schema(
        "Analyser",
        "Tags and features of words.",
        parts={
            "model": Part(parts_over(COLUMNS_SEEN), {"n_labels": "n_labels"}, values="."),
            "analyses": Part(Analyses.SCHEMA, {"n_labels": "n_labels"}, values=None),
        },
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values, arrays = self.model.to_state()
        return values, prefixed("model", arrays) | prefixed("analyses", self.analyses.to_state()[1])

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; ``ValueError`` or ``KeyError`` for what does not fit together."""
        analyses = Analyses.from_state({}, without_prefix("analyses", arrays))
        model = PartModel.from_state(values, without_prefix("model", arrays))
        if len(model.prior) != len(analyses.listed):
            raise ValueError("analyses and their model do not fit together")
        return cls(analyses, model)


def learn_analyser(
    forms: Sequence[Sequence[str]],
    analyses: Sequence[Sequence[Analysis]],
    *,
    n_epochs: int,
    rng: np.random.Generator,
    paths: WordPaths | None = None,
    report: Report = silent,
) -> Analyser:
    """Learn from the words of sentences and their analyses; no sentence is empty.

    With the ``paths`` of word clusters there are templates that look at them.
    """
    observed = read_observations(forms, 1, paths)
    flat = [analysis for sentence in analyses for analysis in sentence]
    inventory = Analyses(tuple(sorted(Counter(flat))))
    labels = np.array([inventory.numbers[analysis] for analysis in flat], np.int64)
    lexicon, cells = learn_lexicon(observed, labels, len(inventory.listed), kappa=KAPPA, by_looks=True)
    model = learn_parts(
        cells,
        lexicon.prior,
        inventory.parts(),
        _columns(observed),
        observed.tokens,
        observed.offsets,
        templates=(*templates_for(1, paths=paths is not None), *AFFIX_TEMPLATES),
        letters=COLUMNS_SEEN,
        power=POWER,
        rate=RATE,
        n_epochs=n_epochs,
        rng=rng,
        report=report,
    )
    return Analyser(inventory, model)


def _columns(observed: Observations) -> np.ndarray:
    """What templates see of each type of word: int64 (n_columns, n_types)."""
    words = [observation[0] for observation in observed.types]
    longer = [word.lower() if len(word) > AFFIX else "" for word in words]
    types = [(word, long[-AFFIX:], long[:AFFIX]) for word, long in zip(words, longer, strict=True)]
    return surface_columns(types, observed.paths)


@njit(cache=True, nogil=True)
def _sums_of_values(
    rows: np.ndarray, starts: np.ndarray, values: np.ndarray, marginals: np.ndarray, n_values: int
) -> np.ndarray:
    """Sums of marginals (n, w) by the value of the candidate: (n, n_values)."""
    found = np.zeros((len(rows), n_values))
    for i in range(len(rows)):
        begin = starts[rows[i]]
        for c in range(begin, starts[rows[i] + 1]):
            found[i, values[c]] += marginals[i, c - begin]
    return found


@njit(cache=True, nogil=True)
def _best_candidates(
    rows: np.ndarray, starts: np.ndarray, values: np.ndarray, marginals: np.ndarray, of_upos: np.ndarray
) -> np.ndarray:
    """The chosen candidate of each token; values (3, n_candidates): UPOS, XPOS and FEATS of candidates."""
    upos, feats = values[0], values[2]
    found = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        begin, end = starts[rows[i]], starts[rows[i] + 1]
        best = begin
        for c in range(begin, end):
            if of_upos[i, upos[c]] > of_upos[i, upos[best]]:
                best = c
        chosen, most = best, -1.0
        for c in range(begin, end):
            if upos[c] == upos[best]:
                total = 0.0
                for d in range(begin, end):
                    if upos[d] == upos[c] and feats[d] == feats[c]:
                        total += marginals[i, d - begin]
                if total > most:
                    chosen, most = c, total
        for c in range(begin, end):
            same = upos[c] == upos[chosen] and feats[c] == feats[chosen]
            if same and marginals[i, c - begin] > marginals[i, chosen - begin]:
                chosen = c
        found[i] = chosen
    return found
