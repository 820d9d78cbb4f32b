"""Surface factors: what the words in and around a span say about its label.

    odds(i, j, a | x)  =  odds of the grammars(i, j, a | x)  *  exp score(i, j, a)

The grammars see a sentence through rules and hidden states; the factors see the words at both ends of a span, beside
them and at the best split, their tags, and how the span lies in the tree that the grammars find. The odds of a
labelled bracket, p / (1 - p), are multiplied by a factor for each feature that it has, and the decoder finds the tree
with the best expected F1 under the new posteriors. Scores are sums of weights of hashed features
(:mod:`spectragram.inference.span_factors`), fitted by conditional likelihood, bracket by bracket, with the grammars
held fixed (:mod:`spectragram.learning.factors`): the gradient is gold minus expected.

Grammars are too sure about the trees they learned from, so factors learn from trees that were parsed by grammars of
other trees (:mod:`spectragram.constituency.jackknife`).

The templates were chosen by hand. Their text (:mod:`spectragram.constituency.span_view`) belongs to the model and its
file, so weights always meet the templates they were learned for.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from spectragram.constituency.brackets import SpanPosteriors
from spectragram.constituency.span_view import SpanView, are_templates, parse_templates, require_paths
from spectragram.data.word_paths import WordPaths
from spectragram.engine.progress import Report, silent
from spectragram.inference.hashed import VERSION
from spectragram.inference.span_factors import Candidates, SpanPlaces, bracket_scores, step_brackets
from spectragram.learning.factors import empty_table, fit_weights, require_table, split_templates, start_weights
from spectragram.schema import Array, Schema, Strings, weight_table

__all__ = ["EPOCHS", "FOLDS", "Example", "Factors", "learn_factors"]

TEMPLATES = """
    n     wb0   we-1  wb-1  we0   tb0   te-1  tb-1  te0   cb0   ce-1  cb-1  ce0   sb0   se-1  sb-1  se0
    wk0   wk-1  tk0   tk-1
    tb0 te-1    tb-1 tb0    te-1 te0    tb-1 te0    tb-1 te-1   tb0 te0     tb-1 tb0 te0  tb0 te-1 te0
    tb-1 tb0 te-1 te0
    wb0 te-1    tb0 we-1    wb-1 tb0    tb-1 wb0    we-1 te0    te-1 we0    wb-1 te0    tb-1 we0    wb0 te0
    wb-1 te-1   wb0 we-1    wb-1 we0    wb0 we0     wb-1 wb0    we-1 we0
    tb0 tb+1    te-2 te-1   tb-2 tb-1   te0 te+1    tb0 tb+1 tb+2  te-3 te-2 te-1  tb-2 tb-1 tb0  te-1 te0 te+1
    n tb0       n te-1      n tb-1      n te0       n wb0       n wb-1      n we0       n tb0 te-1  n tb-1 te0
    tk0 tk-1    tb0 tk0     tk0 te-1    tb0 tk0 te-1  wb0 wk0   wk-1 wk0    wb0 wk0 te-1  tb0 tk-1 tk0 te-1
    tb0 wk0     wk0 wb-1
    f g   f g m   f m   g m   f wb0   g we-1  g x   f tb-1   g te0
    p     p a   p f g   p tb-1 te0  p wb-1  p we0   a   p a tb0 te-1
"""
OF_CLUSTERS = """
    hb0   he-1  hb-1  he0   jb0   je-1  jb-1  je0   lb0   le-1  lb-1  le0   hk0   hk-1  jk0   jk-1  lk0   lk-1
    jb0 te-1    tb0 je-1    jb-1 tb0    je-1 te0    jb-1 te0    tb-1 je0    jb0 je-1    jb-1 je0
    lb-1 lb0    le-1 le0    lb-1 le0    hb-1 hb0 he-1 he0
    jb-1 jb0 tk0    jb0 jk0    jk-1 jk0    lk-1 lk0    jb0 jk0 te-1    p jb-1  p je0  f jb0  g je-1
"""
"""More of them where there are word clusters."""
RATE = 0.02
"""Step size of AdaGrad. With one jackknife of the training part of wsj-sample, of which the last quarter was held out,
0.1 gains nothing over the grammars (87.0 F1) and 0.02 gains 0.1 to 0.2."""
EPOCHS = 4
"""Passes over the trees. In the same trial scores hardly change from the second pass on."""
FOLDS = 4
"""Parts of the treebank of which each is parsed by grammars of the others. Chosen by hand, not tuned: grammars of three
quarters are nearly as good as those of all trees."""
LEAST = 1e-3
"""Smallest posterior of a bracket that factors look at; those of others stay as they are. Of the brackets of training
trees, 1.5 % are below it. Chosen by hand."""
SUREST = 1e-4
"""Posteriors are taken to be at least this far from 0 and 1: averages over a few models are no surer than that."""
GRADES = np.array([-6.0, -5.0, -4.0, -3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0])
"""Log-odds at which a new grade begins. Chosen by hand, not tuned."""


class Example(NamedTuple):
    """What there is to learn from a sentence."""

    candidates: Candidates
    places: SpanPlaces
    is_gold: np.ndarray  #: float64 (m,): 1 for candidates that are in the tree, 0 for others
    weight: float = 1.0  #: how often the sentence counts


@dataclass(frozen=True)
class Factors:
    """Templates and their weights.

    Attributes
    ----------
    templates : tuple of str
    weights : float32 array, shape (2^b,)
    paths : WordPaths or None
        Of word clusters; the parser stores them with its words.
    atoms : int64 array, shape (n_templates, n_atoms, 3)
        Column, place and offset of each atom, -1 where there is none.
    """

    templates: tuple[str, ...]
    weights: np.ndarray
    paths: WordPaths | None = field(default=None, repr=False, compare=False)
    atoms: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_table(self.weights)
        if not self.templates:
            raise ValueError("factors without templates")
        require_paths(self.templates, self.paths)
        object.__setattr__(self, "atoms", parse_templates(self.templates))

    @classmethod
    def empty(cls, n_tokens: int, paths: WordPaths | None = None) -> Self:
        """The usual templates with weights of zero, and room for ``n_tokens``."""
        templates = TEMPLATES if paths is None else TEMPLATES + OF_CLUSTERS
        return cls(split_templates(templates), empty_table(n_tokens), paths)

    def candidates(self, words: Sequence[str], posteriors: SpanPosteriors) -> tuple[Candidates, SpanPlaces]:
        """The brackets of a sentence that factors look at, and where their features lie."""
        n, spans = len(words), posteriors.spans
        rows, labels = np.nonzero(spans > LEAST)
        cells, span_of = np.unique(rows, return_inverse=True)
        ends = np.searchsorted(np.arange(n + 1) * np.arange(1, n + 2) // 2, cells, side="right")
        where = np.stack([cells - ends * (ends - 1) // 2, ends], axis=1)
        share = np.clip(spans[rows, labels], SUREST, 1.0 - SUREST)
        log_odds = np.log(share / (1.0 - share))
        places = SpanView.of(words, posteriors, self.paths).places(
            where, self.atoms, len(GRADES) + 1, len(self.weights)
        )
        return Candidates(where, span_of, labels, log_odds, np.searchsorted(GRADES, log_odds)), places

    def example(
        self, words: Sequence[str], posteriors: SpanPosteriors, gold: Container[tuple[int, int, int]]
    ) -> Example:
        """A sentence to learn from: posteriors of grammars that have not seen its tree, and begin, end and label of
        the brackets that its tree has."""
        candidates, places = self.candidates(words, posteriors)
        brackets = np.column_stack([candidates.spans[candidates.span_of], candidates.labels]).tolist()
        return Example(candidates, places, np.array([tuple(bracket) in gold for bracket in brackets], np.float64))

    def apply(self, words: Sequence[str], posteriors: SpanPosteriors) -> SpanPosteriors:
        """The posteriors with the factors; those of tags, and of brackets that are next to impossible, stay."""
        candidates, places = self.candidates(words, posteriors)
        spans = posteriors.spans.copy()
        i, j = candidates.spans[candidates.span_of].T
        spans[j * (j - 1) // 2 + i, candidates.labels] = _share(bracket_scores(candidates, places, self.weights))
        return SpanPosteriors(spans, posteriors.tags)

    SCHEMA: ClassVar[Schema] = Schema(
        "Factors of spans",
        "Weights of what the words in and around a span say about its label.",
        arrays={
            "templates": Strings("n_templates", "what features look at", rule=("atoms of spans", are_templates)),
            "weights": weight_table(),
            "version": Array("i8", (), "version of the hash functions", least=0),
        },
        sizes={"n_templates": 1},
    )

    def to_arrays(self) -> dict[str, Any]:
        """Arrays and lists of strings, as model files hold them."""
        return {"templates": list(self.templates), "weights": self.weights, "version": np.array(VERSION)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], paths: WordPaths | None = None) -> Self:
        """Inverse of :meth:`to_arrays`; raises ``ValueError`` for weights that belong to other hash functions."""
        if int(arrays["version"]) != VERSION:
            raise ValueError(f"features hashed by version {int(arrays['version'])}, not {VERSION}")
        return cls(tuple(arrays["templates"]), arrays["weights"], paths)


def _share(log_odds: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-log_odds))


def learn_factors(
    factors: Factors,
    examples: Sequence[Example],
    *,
    n_epochs: int = EPOCHS,
    rate: float = RATE,
    rng: np.random.Generator,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> Factors:
    """Fit the weights to trees, starting from those that there are."""
    weights = start_weights(factors.weights)

    def gradient(number: int) -> tuple[Example, np.ndarray]:
        example = examples[number]
        found = _share(bracket_scores(example.candidates, example.places, weights.table))
        return example, example.weight * (example.is_gold - found)

    def step(found: tuple[Example, np.ndarray], now: int) -> None:
        example, difference = found
        step_brackets(example.candidates, example.places, difference, weights, rate, now)

    numbers = np.arange(len(examples))
    fitted = fit_weights(gradient, step, [weights], numbers, n_epochs=n_epochs, rng=rng, n_jobs=n_jobs, report=report)
    return replace(factors, weights=fitted.tables[0])
