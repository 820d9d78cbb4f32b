"""Factors of rules: what the words say about the steps of a derivation.

    p(tree | x)  ~  q(tree | x)  *  exp sum over the steps of the tree  w . f(step, x)

q is what the grammars of one binarisation say: each step, a binary rule at a place or labels over a span, is a choice
with the probability mu(step) / mu(item), with posteriors mu averaged over the members
(:mod:`spectragram.inference.rule_factors`). Where factors of brackets (:mod:`spectragram.constituency.factors`) judge
each bracket on its own, here whole trees compete, tags included, and features see splits and rules. The two make
different mistakes, so their posteriors are averaged (:func:`blended`).

Weights are fitted by conditional likelihood, gold minus expected, to forests of trees that were parsed by grammars of
other trees. The gold derivation is the one with the most gold brackets, for a forest may lack that of the tree itself.
Templates are written as those of brackets; to an edge, ``n`` is the lengths of both halves.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from spectragram.constituency.brackets import SpanPosteriors
from spectragram.constituency.factors import OF_CLUSTERS, TEMPLATES
from spectragram.constituency.span_view import SpanView, are_templates, parse_templates, require_paths
from spectragram.data.word_paths import WordPaths
from spectragram.engine.progress import Report, silent
from spectragram.inference.chart_decode import add_label_posteriors, viterbi
from spectragram.inference.chart_forest import Posteriors
from spectragram.inference.chart_prune import thin_with_posteriors
from spectragram.inference.chart_rules import Forest
from spectragram.inference.hashed import VERSION
from spectragram.inference.rule_factors import (
    Choices,
    Shown,
    choice_posteriors,
    edge_places,
    link_scores,
    step_links,
    step_places,
    table_scores,
)
from spectragram.learning.factors import empty_table, fit_weights, require_table, split_templates, start_weights
from spectragram.schema import Array, Schema, Strings, weight_table

if TYPE_CHECKING:
    from spectragram.constituency.model import Grammar

__all__ = ["EPOCHS", "THRESHOLD", "GrammarForest", "RuleExample", "RuleFactors", "blended", "learn_rule_factors"]

OF_PARENTS = """
    n  wk0  wk-1  tk0  tk-1  tk-1 tk0  wk-1 wk0  wk0 tb0  tb0 tk0  tk-1 te-1  wb0  we-1  wb-1  we0  tb-1  te0  wk0 we-1
    wk-1 wk0 wb0  tb0 tk-1 tk0 te-1  wb0 wk0  wb0 tk0  tb-1 tk0  tk0 te0  sk-1  sk0  sb0 se-1
"""
OF_RULES = """
    n tb0  tk-1 tk0  tb0 tk0  tk-1 te-1  wk0  wk-1  wb0  we-1  tb-1 te0  tb-1  te0 wb-1  we0
"""
PARENTS_AND_CLUSTERS = """
    jk0  jk-1  lk0  lk-1  hk-1 hk0  jk-1 jk0  lk-1 lk0  jk0 jb0  jk0 je-1  jk-1 jk0 jb0  lb0 lk0  lk0 le-1
"""
RULES_AND_CLUSTERS = "jk0  jk-1  hk-1 hk0  jk0 tb0  jb0  je-1"
"""More of them where there are word clusters."""
RATE = 0.05
"""Step size of AdaGrad: on wsj-sample dev 0.1 is worse by 0.2 F1 and 0.02 needs more passes."""
EPOCHS = 2
"""Passes over the forests. From the second pass on scores hardly change."""
LEAST = 1e-3
"""Smallest posterior of a step that factors look at. Chosen by hand: it leaves a few hundred steps of a sentence."""
SHARE = 0.4
"""Share of the posteriors with factors of rules in the average with those with factors of brackets. Larger shares get
more trees entirely right and are surer of themselves than they should be; F1 is the same from 1/3 to 1/2 on wsj-sample
dev (87.6) and rises from 86.7 to 86.9 on cess-esp dev (docs/constituency.md)."""
THRESHOLD = 0.45
"""A bracket is worth its place if the averaged posterior is larger than this. It is above that of the grammars alone,
0.4, since factors of rules are surer: it brings 0.0 to 0.1 F1 on wsj-sample and cess-esp dev, and without factors it
loses 0.1 on both."""
TIE = 1e-3
"""Weight of the log-probability of a step beside a gold bracket: it only decides between equally good derivations."""
TAG = 0.5
"""Weight of a right tag beside that of a gold bracket, when the best derivation of a forest is looked for."""
SALTS = (10_000, 20_000)
"""Keep the features of edges apart from those of spans, whose templates are numbered from 1."""


class GrammarForest(NamedTuple):
    """What the grammars of one binarisation find in a sentence."""

    grammar: Grammar
    weight: float  #: its share in the average over all grammars
    forest: Forest
    posteriors: Posteriors  #: averaged over the members

    def thinned(self) -> tuple[Forest, Posteriors]:
        """The likely part of the forest, and the posteriors of what it consists of."""
        return thin_with_posteriors(self.forest, self.posteriors, LEAST)


class Seen(NamedTuple):
    """A thinned forest as features see it."""

    view: SpanView
    forest: Forest
    posteriors: Posteriors
    choices: Choices
    shown: Shown
    parents: np.ndarray  #: int64 (n_edges,): number of the symbol that an edge rewrites
    rules: np.ndarray  #: int64 (n_edges,): number of its rule

    @classmethod
    def of(cls, view: SpanView, found: GrammarForest) -> Self:
        """What there is to see; posteriors become the choices of a derivation."""
        forest, posteriors = found.thinned()
        edges, links, items = posteriors[2:]
        with np.errstate(divide="ignore"):
            choices = Choices(
                np.log(edges / items[forest.edges[:, 0]]), np.log(links / items[forest.links[:, 0]]), np.log(items)
            )
        numbers = found.grammar.numbers
        symbols = forest.items[forest.edges[:, 0], 0]
        rules = numbers.binary[forest.edges[:, 1]]
        return cls(view, forest, posteriors, choices, numbers.shown(forest), numbers.symbols[symbols], rules)


class RuleExample(NamedTuple):
    """What there is to learn from a forest."""

    seen: Seen
    edges: np.ndarray  #: float64 (n_edges,): 1 for edges of the gold derivation, 0 for others
    links: np.ndarray  #: float64 (n_links,): likewise
    weight: float = 1.0  #: how often the sentence counts


class Places(NamedTuple):
    """Where the features of spans, of edges with their parents and of edges with their rules lie in the table."""

    spans: np.ndarray
    parents: np.ndarray
    rules: np.ndarray


@dataclass(frozen=True)
class RuleFactors:
    """Templates of spans, of edges with their parents and of edges with their rules, and the weights.

    Attributes
    ----------
    spans, parents, rules : tuple of str
    weights : float32 array, shape (2^b,)
    paths : WordPaths or None
        Of word clusters; the parser stores them with its words.
    atoms : three int64 arrays, shape (n_templates, n_atoms, 3)
        Column, place and offset of each atom, -1 where there is none.
    """

    spans: tuple[str, ...]
    parents: tuple[str, ...]
    rules: tuple[str, ...]
    weights: np.ndarray
    paths: WordPaths | None = field(default=None, repr=False, compare=False)
    atoms: tuple[np.ndarray, np.ndarray, np.ndarray] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_table(self.weights)
        if not (self.spans and self.parents and self.rules):
            raise ValueError("factors without templates")
        require_paths(self.spans + self.parents + self.rules, self.paths)
        atoms = tuple(parse_templates(templates) for templates in (self.spans, self.parents, self.rules))
        object.__setattr__(self, "atoms", atoms)

    @classmethod
    def empty(cls, n_tokens: int, paths: WordPaths | None = None) -> Self:
        """The usual templates with weights of zero, and room for ``n_tokens``."""
        listed = (TEMPLATES, OF_PARENTS, OF_RULES)
        more = (OF_CLUSTERS, PARENTS_AND_CLUSTERS, RULES_AND_CLUSTERS) if paths is not None else ("", "", "")
        spans, parents, rules = (split_templates(f"{one}\n{other}") for one, other in zip(listed, more, strict=True))
        # Rules and pairs of binarisations take about twice the room of brackets.
        return cls(spans, parents, rules, empty_table(2 * n_tokens), paths)

    def places(self, seen: Seen) -> Places:
        """Where the features of a forest lie in the table."""
        size, view, forest = len(self.weights), seen.view, seen.forest
        of_spans, of_parents, of_rules = self.atoms
        edges = (
            edge_places(view.columns, forest, atoms, view.grades, numbers, salt, size)
            for atoms, numbers, salt in zip((of_parents, of_rules), (seen.parents, seen.rules), SALTS, strict=True)
        )
        return Places(view.places(forest.spans, of_spans, 1, size).spans, *edges)

    def example(
        self,
        words: Sequence[str],
        posteriors: SpanPosteriors,
        found: GrammarForest,
        gold: Container[tuple[int, int, str]],
        tags: Sequence[str],
    ) -> RuleExample | None:
        """A forest to learn from, of grammars that have not seen the tree, or None if its likely part has no tree.

        ``gold`` holds begin, end and label of the brackets of the tree, ``posteriors`` are averaged over all grammars.
        """
        seen = Seen.of(SpanView.of(words, posteriors, self.paths), found)
        steps = _best_steps(seen, found.grammar, gold, tags)
        return None if steps is None else RuleExample(seen, *steps)

    def apply(
        self, words: Sequence[str], posteriors: SpanPosteriors, forests: Sequence[GrammarForest]
    ) -> SpanPosteriors:
        """The averaged posteriors with the factors: those of the likely part of each forest change."""
        view = SpanView.of(words, posteriors, self.paths)
        spans, tags = posteriors.spans.copy(), posteriors.tags.copy()
        for found in forests:
            seen = Seen.of(view, found)
            _, links, items, total = choice_posteriors(seen.forest, scored(seen, self.places(seen), self.weights))
            if total > -np.inf:
                change = seen.posteriors._replace(
                    links=links - seen.posteriors.links, items=items - seen.posteriors.items
                )
                _add(found, seen.forest, change, spans, tags)
        # Within the likely part posteriors add up to one, where they were a little less.
        tags = np.maximum(tags, 0.0)
        tags *= (posteriors.tags.sum(axis=1) / tags.sum(axis=1))[:, None]
        return SpanPosteriors(np.clip(spans, 0.0, 1.0), tags)

    SCHEMA: ClassVar[Schema] = Schema(
        "Factors of rules",
        "Weights of what the words say about the rules and labels of a derivation.",
        arrays={
            name: Strings(f"n_{name}", "what features look at", rule=("atoms of spans", are_templates))
            for name in ("spans", "parents", "rules")
        }
        | {
            "weights": weight_table(),
            "version": Array("i8", (), "version of the hash functions", least=0),
        },
        sizes={"n_spans": 1, "n_parents": 1, "n_rules": 1},
    )

    def to_arrays(self) -> dict[str, Any]:
        """Arrays and lists of strings, as model files hold them."""
        templates = {name: list(getattr(self, name)) for name in ("spans", "parents", "rules")}
        return templates | {"weights": self.weights, "version": np.array(VERSION)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], paths: WordPaths | None = None) -> Self:
        """Inverse of :meth:`to_arrays`; raises ``ValueError`` for weights that belong to other hash functions."""
        if int(arrays["version"]) != VERSION:
            raise ValueError(f"features hashed by version {int(arrays['version'])}, not {VERSION}")
        spans, parents, rules = (tuple(arrays[name]) for name in ("spans", "parents", "rules"))
        return cls(spans, parents, rules, arrays["weights"], paths)


def scored(seen: Seen, places: Places, table: np.ndarray) -> Choices:
    """The choices of a derivation with the scores of its steps."""
    edges = seen.choices.edges + table_scores(places.parents, table) + table_scores(places.rules, table)
    links = seen.choices.links + link_scores(seen.forest, seen.shown, places.spans, table)
    return seen.choices._replace(edges=edges, links=links)


def blended(brackets: SpanPosteriors, rules: SpanPosteriors) -> SpanPosteriors:
    """The average of posteriors with factors of brackets and with factors of rules."""
    pairs = (brackets.spans, rules.spans), (brackets.tags, rules.tags)
    return SpanPosteriors(*((1.0 - SHARE) * one + SHARE * other for one, other in pairs))


def _add(found: GrammarForest, forest: Forest, change: Posteriors, spans: np.ndarray, tags: np.ndarray) -> None:
    """Add changes of posteriors of items and links to those of labels and tags."""
    n_tags = tags.shape[1]
    add_label_posteriors(forest, change.items, change.links, *found.grammar.label_maps, found.weight, spans)
    at = np.flatnonzero((forest.items[:, 1] == 0) & (forest.items[:, 0] < n_tags))
    words = forest.spans[forest.items[at, 2], 0]
    np.add.at(tags, (words, forest.items[at, 0]), found.weight * change.items[at])


def _best_steps(
    seen: Seen, grammar: Grammar, gold: Container[tuple[int, int, str]], tags: Sequence[str]
) -> tuple[np.ndarray, np.ndarray] | None:
    """The edges and links of the derivation with the most gold brackets less wrong ones, as ones among zeros."""
    forest, (kept, unary) = seen.forest, grammar.shown_labels
    names, n_tags = grammar.productions.labels, grammar.productions.n_tags
    of_links = np.zeros(len(forest.links))
    for e, (_, rule, bottom) in enumerate(forest.links.tolist()):
        symbol, span = forest.items[bottom, 0], forest.items[bottom, 2]
        i, j = forest.spans[span].tolist()
        for label in kept[symbol] if rule < 0 else unary[rule]:
            of_links[e] += 1.0 if (i, j, label) in gold else -1.0
        if symbol < n_tags and names[symbol] == tags[i]:
            of_links[e] += TAG
    edges, links = TIE * seen.choices.edges, of_links + TIE * seen.choices.links
    choice, _, root = viterbi(forest, edges, links, np.zeros(len(forest.items)), np.zeros(grammar.rules.n_symbols))
    if root < 0:
        return None
    of_edges, of_links = np.zeros(len(forest.edges)), np.zeros(len(forest.links))
    stack = [root]
    while stack:
        item = stack.pop()
        step = choice[item]
        if forest.items[item, 1]:
            of_links[step] = 1.0
            stack.append(forest.links[step, 2])
        elif step >= 0:
            of_edges[step] = 1.0
            stack += forest.edges[step, 2:].tolist()
    return of_edges, of_links


def learn_rule_factors(
    factors: RuleFactors,
    examples: Sequence[RuleExample],
    *,
    n_epochs: int = EPOCHS,
    rate: float = RATE,
    rng: np.random.Generator,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> RuleFactors:
    """Fit the weights to forests, starting from those that there are."""
    weights = start_weights(factors.weights)
    Difference = tuple[RuleExample, Places, np.ndarray, np.ndarray]

    def gradient(number: int) -> Difference:
        example = examples[number]
        places = factors.places(example.seen)
        edges, links, _, _ = choice_posteriors(example.seen.forest, scored(example.seen, places, weights.table))
        return example, places, example.weight * (example.edges - edges), example.weight * (example.links - links)

    def step(found: Difference, now: int) -> None:
        example, places, edges, links = found
        step_places(places.parents, edges, weights, rate, now)
        step_places(places.rules, edges, weights, rate, now)
        step_links(example.seen.forest, example.seen.shown, places.spans, links, weights, rate, now)

    numbers = np.arange(len(examples))
    fitted = fit_weights(gradient, step, [weights], numbers, n_epochs=n_epochs, rng=rng, n_jobs=n_jobs, report=report)
    return replace(factors, weights=fitted.tables[0])
