"""Labels of the words of a finished tree, such as relations (DEPREL): a log-linear chain over the modifiers of a head.

    P(labels | y, x)  ~  prod_j exp sum_t w[f_t(j, y, x), a_j]  prod_{siblings i, j} exp sum_t w[g_t(j, y, x), a_i, a_j]

The tree is known, so features look at siblings, modifiers and the head of the head as well
(:mod:`spectragram.dependency.tree_templates`). The choice is among the labels that training has for words tagged as j,
and every word gets its most probable label. The root word gets the label that root words usually have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from spectragram.dependency.encoding import Encoded
from spectragram.dependency.tree_templates import TreeTemplates, label_templates, pair_templates
from spectragram.engine.progress import Report, silent
from spectragram.estimator import State
from spectragram.inference.hashed import Weights
from spectragram.inference.sibling_chain import (
    Choices,
    chain_gradient,
    chain_posteriors,
    find_choices,
    sibling_scores,
    step_siblings,
)
from spectragram.inference.token_factors import step_tokens, token_scores
from spectragram.inference.tree_factors import find_nodes
from spectragram.learning.factors import empty_table, fit_weights, require_table, start_weights
from spectragram.schema import Array, ListOf, Schema, Strings, Text, weight_table

__all__ = ["Labels", "learn_labels"]

RATE = 0.1
"""Step size of AdaGrad. On the held-out parts of seven small treebanks 0.3 loses 0.3 LAS, and 0.05 with twice the
epochs makes no difference."""
MARGIN = 8.0
"""Labels whose own score is this far below that of the best one are not considered. Chosen by hand, not tuned."""
MISSING = "_"
"""What words without a label have in CoNLL-U."""


class Scored(NamedTuple):
    """A sentence as chains see it: nodes (7, n), places of word and pair features (n, t), choices and posteriors."""

    nodes: np.ndarray
    places: np.ndarray
    pair_places: np.ndarray
    choices: Choices
    words: np.ndarray
    pairs: np.ndarray


@dataclass(frozen=True)
class Labels:
    """Names of labels, the label of root words, and weights.

    Attributes
    ----------
    names : tuple of str
    root : str
    candidates : bool array, shape (n_tags, n_labels)
        The labels considered for words of each tag.
    templates, pair_templates : TreeTemplates
        Of words, and of words with the sibling before them.
    weights : float32 array, shape (2^b,)
    """

    names: tuple[str, ...]
    root: str
    candidates: np.ndarray
    templates: TreeTemplates
    pair_templates: TreeTemplates
    weights: np.ndarray

    def __post_init__(self) -> None:
        require_table(self.weights)
        shape = self.candidates.shape
        if len(shape) != 2 or shape[1] != len(self.names) or self.candidates.dtype != np.bool_:
            raise ValueError(f"candidates of shape {shape} for {len(self.names)} labels")

    def predict(
        self, columns: np.ndarray, heads: np.ndarray, known: Sequence[str | None] = ()
    ) -> tuple[list[str], np.ndarray]:
        """The label of every word of a sentence with columns (n_rows, n) and heads (n,) int64, and their posteriors.

        Labels that are ``known`` are kept, and the others follow from them. Posteriors, (n,), are given the tree; those
        of known labels and of the root word's are 1.
        """
        n = len(heads)
        given = list(known) or [None] * n
        names = [self.root if head == 0 else self.names[0] for head in heads]
        posteriors = np.ones(n)
        if len(self.names) > 1:
            number = {name: i for i, name in enumerate(self.names)}
            fixed = np.array([-1 if label is None else number.get(label, -1) for label in given])
            found = self.score(columns, heads, fixed, heads > 0, self.weights, fixed)
            best = found.words.argmax(axis=1)
            labels = found.choices.labels[np.arange(n), best]
            names = [self.names[label] if head else self.root for label, head in zip(labels, heads, strict=True)]
            posteriors = np.where(heads > 0, found.words[np.arange(n), best], 1.0)
        posteriors[[label is not None for label in given]] = 1.0
        return [a if b is None else b for a, b in zip(names, given, strict=True)], posteriors

    def score(
        self,
        columns: np.ndarray,
        heads: np.ndarray,
        gold: np.ndarray,
        asked: np.ndarray,
        table: np.ndarray,
        known: np.ndarray | None = None,
    ) -> Scored:
        """Posteriors of the labels of all words that are asked for, (n,) bool; gold (n,), -1 where it is not known.

        Where ``known`` (n,) is not -1, the word has no other label than this.
        """
        nodes = find_nodes(heads)
        places = self.templates.places(columns, heads, nodes, table.size)
        pair_places = self.pair_templates.places(columns, heads, nodes, table.size)
        possible = self.candidates[columns[0]] & asked[:, None]
        if known is not None:
            fixed = np.flatnonzero((known >= 0) & asked)
            possible[fixed] = np.arange(len(self.names)) == known[fixed, None]
        choices = find_choices(token_scores(places, possible, table), gold, MARGIN)
        between = sibling_scores(choices, nodes, pair_places, table, len(self.names))
        return Scored(nodes, places, pair_places, choices, *chain_posteriors(choices, nodes, between))

    SCHEMA: ClassVar[Schema] = Schema(
        "Relations",
        "Labels of words in a tree, given their heads.",
        values={
            "root": Text("the label of words without a head"),
            "templates": ListOf(Text(), "what is seen of words", least=1),
            "pair_templates": ListOf(Text(), "what is seen of words and the siblings before them", least=1),
        },
        arrays={
            "names": Strings("n_labels", "the labels"),
            "candidates": Array(
                "?",
                ("n_tags", "n_labels"),
                "the labels considered for words of each tag",
                rule=("every tag has a label", lambda candidates: bool(candidates.any(axis=1).all())),
            ),
            "weights": weight_table(),
        },
        sizes={"n_labels": 1},
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values = {
            "root": self.root,
            "templates": list(self.templates.listed),
            "pair_templates": list(self.pair_templates.listed),
        }
        return values, {"names": list(self.names), "candidates": self.candidates, "weights": self.weights}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        templates = TreeTemplates(tuple(values["templates"])), TreeTemplates(tuple(values["pair_templates"]))
        return cls(tuple(arrays["names"]), values["root"], arrays["candidates"], *templates, arrays["weights"])


def learn_labels(
    given: Sequence[str],
    encoded: Encoded,
    heads: np.ndarray,
    n_tags: int,
    letters: str,
    *,
    n_epochs: int,
    rng: np.random.Generator,
    n_jobs: int = 1,
    report: Report = silent,
) -> Labels:
    """Learn from the label of every word, (n_tokens,); heads (n_tokens,) int64 as in CoNLL-U.

    Templates look at the rows with these letters. Words whose label is ``_`` are passed over, unless no word has
    another one.
    """
    is_root = heads == 0
    root = _usual([label for label, top in zip(given, is_root, strict=True) if top])
    names = tuple(sorted({label for label, top in zip(given, is_root, strict=True) if not top} - {MISSING}))
    names = names or (MISSING,)
    number = {name: i for i, name in enumerate(names)}
    # Root words may have a label that no other word has; it is never looked at.
    gold = np.array([-1 if top else number.get(label, -1) for label, top in zip(given, is_root, strict=True)])
    candidates = _find_candidates(encoded.tags, gold, (n_tags, len(names)))
    # A single label needs no weights: the smallest table there is.
    table = empty_table(len(heads)) if len(names) > 1 else np.zeros(2, np.float32)
    labels = Labels(names, root, candidates, label_templates(letters), pair_templates(letters), table)
    if len(names) == 1:
        return labels
    weights = start_weights(table)

    def score(sentence: int) -> tuple[Scored, np.ndarray]:
        span = slice(*encoded.offsets[sentence : sentence + 2])
        mine = gold[span]
        return labels.score(encoded.columns(sentence), heads[span], mine, mine >= 0, weights.table), mine

    def step(found: tuple[Scored, np.ndarray], now: int) -> None:
        _climb(*found, len(names), weights, now)

    examples = np.arange(len(encoded))
    fitted = fit_weights(score, step, [weights], examples, n_epochs=n_epochs, rng=rng, n_jobs=n_jobs, report=report)
    return replace(labels, weights=fitted.tables[0])


def _climb(found: Scored, gold: np.ndarray, n_labels: int, weights: Weights, now: int) -> None:
    """A step along gold minus expected, for words and for pairs."""
    nodes, places, pair_places, choices, words, pairs = found
    of_words, of_pairs = chain_gradient(choices, nodes, gold, words, pairs, n_labels)
    step_tokens(places, of_words, weights, RATE, now)
    step_siblings(choices, nodes, pair_places, of_pairs, weights, n_labels, RATE, now)


def _usual(labels: list[str]) -> str:
    """The most frequent label but ``_``, which is what words have that have no other."""
    counts = Counter(label for label in labels if label != MISSING)
    return counts.most_common(1)[0][0] if counts else MISSING


def _find_candidates(tags: np.ndarray, labels: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The labels seen in training with each tag; all labels where there are none."""
    candidates = np.zeros(shape, np.bool_)
    known = labels >= 0
    candidates[tags[known], labels[known]] = True
    candidates[~candidates.any(axis=1)] = True
    return candidates
