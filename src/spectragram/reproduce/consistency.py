"""Consistency: the error of every estimator as its paper writes it, against the model that the data were drawn from.

An experiment draws a random model, samples n examples of it, trains an estimator with ``recipe="paper"`` on them, and
compares what it finds with the truth. If the estimator is consistent, the error falls like 1 / sqrt(n): a slope of
-1/2 on logarithmic axes. EM is left out, for which the papers promise no such thing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spectragram.automata import Automaton
from spectragram.clusters import WordClusters
from spectragram.constituency import ConstituencyParser
from spectragram.constituency.nodes import Node
from spectragram.data.conllu import Sentence
from spectragram.data.trees import Tree
from spectragram.dependency import DependencyParser
from spectragram.lm import LanguageModel
from spectragram.plots.charts import line_chart
from spectragram.reproduce.report import Claim, Report
from spectragram.synthetic.automata import PNFA, all_strings
from spectragram.synthetic.brown import BrownModel
from spectragram.synthetic.lpcfg import LatentPCFG
from spectragram.synthetic.rhmm import RefinementHMM
from spectragram.synthetic.shag import LEFT, RIGHT, HeadAutomata
from spectragram.tagging import Tagger

__all__ = ["EXPERIMENTS", "TOLERANCE", "Experiment", "consistency", "mean_errors", "slope_of"]

CONDITIONING = 0.1
"""Weakest correlation of the random models: the smaller it is, the later the slope shows. Chosen by hand."""
TOLERANCE = 0.15
"""How far from -1/2 a slope may be and still count as that. Chosen by hand."""
N_PROBES = 60
"""Sampled trees and sequences on which a model is compared with the truth; more change the errors little."""
TAGGER_VIEWS = {
    "future": ["word[0]", "label[1]", "word[1]"],
    "past": ["label[-1]", "word[-1]"],
    "present": ["word[0]"],
    "destiny": ["label[-1]", "label[1]", "word[-1]", "word[1]"],
}
"""The views of :func:`~spectragram.synthetic.rhmm.window_features`, by which random models are conditioned."""
Errors = list[float]


@dataclass(frozen=True)
class Experiment:
    """What is trained, what is compared, what n counts, its smallest value, and the errors for each n and a generator.

    From ``smallest`` on the slope can be seen; with fewer examples singular values are noise. Chosen by hand.
    """

    title: str
    compared: str
    unit: str
    smallest: int
    errors: Callable[[Sequence[int], np.random.Generator], Errors]


def _automaton(sizes: Sequence[int], rng: np.random.Generator) -> Errors:
    true = PNFA.random(3, 5, rng=rng, mean_length=4.0, conditioning=CONDITIONING)
    probes = all_strings(5, 3)
    wanted = np.array([true.probability(x) for x in probes])
    sample = true.sample(max(sizes), rng)
    errors = []
    for n in sizes:
        model = Automaton(3, recipe="paper").fit(sample.slice(0, n))
        wfa, index = model.model_.to_wfa(), model.vocabulary_.index
        number = [index[f"s{s}"] for s in range(true.n_symbols)]
        errors.append(float(np.abs([wfa.value([number[s] for s in x]) for x in probes] - wanted).sum()))
    return errors


def _dependency(sizes: Sequence[int], rng: np.random.Generator) -> Errors:
    true = HeadAutomata.random(3, 2, rng=rng, mean_modifiers=0.9, conditioning=CONDITIONING)
    probes = all_strings(3, 3)
    sample = true.sample(max(sizes), rng)
    words, bounds = sample.words, sample.words.offsets
    trees = [
        Sentence.from_words(
            words.decode(i), xpos=words.decode(i), head=[str(h) for h in sample.heads[bounds[i] : bounds[i + 1]]]
        )
        for i in range(len(words))
    ]
    errors = []
    for n in sizes:
        parser = DependencyParser(2, recipe="paper").fit(trees[:n])
        number = [parser.tags_.index(f"s{s}") for s in range(true.n_symbols)]
        total = 0.0
        for head in range(true.n_symbols):
            for direction in (LEFT, RIGHT):
                found, wanted = parser.grammar_.automaton(number[head], direction), true.automaton(head, direction)
                total += sum(abs(found.value([number[s] for s in x]) - wanted.probability(x)) for x in probes)
        errors.append(total / (2 * true.n_symbols))
    return errors


def _tagger(sizes: Sequence[int], rng: np.random.Generator) -> Errors:
    true = RefinementHMM.random(2, 2, 5, rng=rng, conditioning=CONDITIONING)
    sample = true.sample(max(sizes), rng)
    X, Y = list(sample.observations.decoded()), list(sample.labels.decoded())
    probes = [x for x in (true.sample(N_PROBES, rng).observations.decoded()) if len(x) < 9]
    truth = [true.brute_force_marginals([int(word[1:]) for word in x]) for x in probes]
    errors = []
    for n in sizes:
        model = Tagger(2, recipe="paper", views=TAGGER_VIEWS).fit(X[:n], Y[:n]).model_
        order = [model.labels.index(f"a{a}") for a in range(true.n_labels)]
        difference = []
        for x, wanted in zip(probes, truth, strict=True):
            found = model.members[0].marginals(model.lexicon, model.observe([x]))[:, order]
            gap = found / found.sum(axis=1, keepdims=True) - wanted / wanted.sum(axis=1, keepdims=True)
            difference.append(np.abs(gap).sum(axis=1))
        errors.append(float(np.median(np.concatenate(difference))))
    return errors


def _rule(node: Node) -> list[Any]:
    """The one inside feature: tau(t) is the rule at the node, with the word of a tag."""
    return [node.rule]


def _rule_above(node: Node) -> list[Any]:
    """The one outside feature: the rule above and the place of the node in it."""
    return ["root"] if node.parent is None else [(node.parent.rule, node.is_left)]


def _parser(sizes: Sequence[int], rng: np.random.Generator, *, learner: str) -> Errors:
    true = LatentPCFG.random(1, 3, 6, 2, rng=rng, conditioning=CONDITIONING, pivot=learner == "pivot")
    sample, probes = true.sample(max(sizes), rng), list(true.sample(N_PROBES, rng))
    wanted = np.array([true.probability(derivation.tolist()) for derivation in probes])
    trees = [true.to_tree(sample[i].tolist()) for i in range(len(sample))]
    errors = []
    for n in sizes:
        features: dict[str, Any] = {"inside_features": _rule, "outside_features": _rule_above}
        parser = ConstituencyParser(2, recipe="paper", learner=learner, **features).fit(trees[:n])
        found = [tree_value(parser, true.to_tree(derivation.tolist())) for derivation in probes]
        errors.append(float(np.mean(np.abs(found - wanted) / wanted)))
    return errors


def tree_value(parser: ConstituencyParser, tree: Tree) -> float:
    """The probability of a tree without unary rules by the first model of a parser (Cohen et al. 2012, figure 2)."""
    grammar = parser.model_.grammars[0]
    member, labels, rules = grammar.members[0], grammar.productions.labels, grammar.rules.binary.tolist()
    operators, table = member.operators, member.lexicon.table

    def inside(node: Tree) -> np.ndarray:
        a = labels.index(node.label)
        if node.word is not None:
            tags, vectors = member.lexicon.vectors(node.word, False)
            # A lexicon divides by p(word), which all tags share.
            share = table.word_counts[node.word] / table.n_tokens
            return vectors[tags.tolist().index(a), : operators.n_states[a]] * share
        left, right = node.children
        rule = [a, labels.index(left.label), labels.index(right.label)]
        if rule not in rules:  # it was not sampled
            return np.zeros(operators.n_states[a])
        start, shape = operators.binary_start[rules.index(rule)], operators.n_states[rule]
        tensor = operators.binary[start : start + shape.prod()].reshape(shape)
        return np.einsum("xyz,y,z->x", tensor, inside(left), inside(right))

    first = operators.state_start[labels.index(tree.label)]
    value = inside(tree)
    return float(operators.root[first : first + len(value)] @ value)


def _language_model(sizes: Sequence[int], rng: np.random.Generator, m: int = 3, n_words: int = 12) -> Errors:
    histories = rng.dirichlet(np.full(m, 0.5), n_words)
    emissions = rng.dirichlet(np.ones(n_words), m) + 1 / n_words
    emissions[:, :m] *= np.eye(m)  # the first m words are pivots
    emissions /= emissions.sum(axis=1, keepdims=True)
    true = histories @ emissions
    steps, chances, text = np.cumsum(true, axis=1), rng.random(max(sizes)), [0]
    for chance in chances:
        text.append(min(int(np.searchsorted(steps[text[-1]], chance)), n_words - 1))
    words = [f"w{word}" for word in text]
    errors = []
    for n in sizes:
        model = LanguageModel(m, recipe="paper").fit([words[:n]])
        columns = [model.outcomes_.index(f"w{word}") for word in range(n_words)]
        found = model.next([[f"w{word}"] for word in range(n_words)])[:, columns]
        errors.append(float(np.abs(found - true).sum(axis=1).mean()))
    return errors


def _clusters(sizes: Sequence[int], rng: np.random.Generator) -> Errors:
    true = BrownModel.random(30, 4, rng=rng, conditioning=2 * CONDITIONING)
    text = true.sample(1, max(sizes), rng).decode(0)
    errors = []
    for n in sizes:
        model = WordClusters(4, recipe="paper", context="R1", kappa=0.0).fit([text[:n]])
        names = [word for word in model.vocabulary_.words if word.startswith("w")]
        vectors = model.model_.vectors[[model.vocabulary_.index[word] for word in names]].astype(float)
        cluster = true.clusters[[int(word[1:]) for word in names]]
        errors.append(float(np.abs(vectors @ vectors.T - (cluster[:, None] == cluster)).mean()))
    return errors


_SPECTRAL, _PIVOT = (partial(_parser, learner=learner) for learner in ("spectral", "pivot"))
EXPERIMENTS: dict[str, Experiment] = {
    "automaton": Experiment("Automaton", "probabilities of short strings, summed", "strings", 8000, _automaton),
    "dependency": Experiment(
        "DependencyParser", "probabilities of short modifier sequences, summed", "trees", 500, _dependency
    ),
    "tagger": Experiment("Tagger", "marginals of labels, median", "sequences", 1000, _tagger),
    "spectral": Experiment("ConstituencyParser, spectral", "probabilities of trees, relative", "trees", 500, _SPECTRAL),
    "pivot": Experiment("ConstituencyParser, pivot", "probabilities of trees, relative", "trees", 500, _PIVOT),
    "lm": Experiment("LanguageModel, pivot", "probabilities of the next word, summed", "words", 2000, _language_model),
    "clusters": Experiment(
        "WordClusters", "inner products of vectors of words (1 in a cluster, else 0)", "words", 4000, _clusters
    ),
}
"""By name. Errors are absolute differences unless it says relative."""


def mean_errors(name: str, sizes: Sequence[int], n_models: int, first_seed: int = 0) -> Errors:
    """The geometric mean over random models of the error after each number of examples."""
    seeds = range(first_seed, first_seed + n_models)
    found = [EXPERIMENTS[name].errors(sizes, np.random.default_rng(seed)) for seed in seeds]
    return [float(error) for error in np.exp(np.log(found).mean(axis=0))]


def slope_of(sizes: Sequence[int], errors: Sequence[float]) -> float:
    """Slope of a straight line through the errors on logarithmic axes.

    >>> round(slope_of([100, 400, 1600], [0.4, 0.2, 0.1]), 3)
    -0.5
    """
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def consistency(report: Report, names: Sequence[str]) -> None:
    """Write the section on the estimators of a paper."""
    factors, n_models = ((1, 4, 16), 5) if report.quick else ((1, 2, 4, 8, 16, 32), 10)
    report.section(
        "Consistency of the estimators as written",
        f'Data are sampled from {n_models} random models, the estimator is trained on them with `recipe="paper"` and '
        "the true number of states, and what it finds is compared with the truth; the table has the geometric mean of "
        "the error.",
    )
    rows, curves, claims = [], {}, []
    for name in names:
        experiment = EXPERIMENTS[name]
        sizes = [experiment.smallest * factor for factor in factors]
        errors = report.cell(f"consistency/{name}", partial(mean_errors, name, sizes, n_models))
        what = f"{experiment.compared}; {experiment.smallest:,} {experiment.unit}"
        rows.append([experiment.title, what, *(f"{error:.4f}" for error in errors)])
        curves[experiment.title] = list(zip(map(float, sizes), errors, strict=True))
        slope = slope_of(sizes, errors)
        says = f"{experiment.title}: the error falls like 1 / sqrt(n)."
        claims.append(Claim(says, f"Slope {slope:.2f}.", abs(slope + 0.5) < TOLERANCE, slope >= 0))
    report.table(["estimator", "compared; n", *(f"n x {factor}" for factor in factors)], rows)
    chart = line_chart(curves, x_label="examples n", y_label="error", log_x=True, log_y=True)
    report.figure("estimators", chart, "Error of the estimators as written against the number of examples")
    report.claims(claims)
