"""What each part of the default search for an automaton brings, on every PAutomaC problem at hand.

One search a problem. Its finalists are mixed part by part, each time with the weights that make held-out strings most
probable; the last column is the default model, whose parts learn once more from all strings. The solution only scores.
Quick: three problems.

    python -m benchmarks.accuracy.search_parts 1 43       some problems, nothing is added to the history
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.__main__ import HEADER, table_line
from benchmarks.accuracy.automaton import PROBLEMS
from benchmarks.measure import Row, data_folder, row
from spectragram.automata import Automaton
from spectragram.automata.held_out import Split, hold_out
from spectragram.automata.model import Model, Part, Weighted, string_log_probs
from spectragram.automata.ngram import learn_ngrams
from spectragram.automata.sampler_search import Sampler
from spectragram.automata.search import AHEAD, ITERATIONS, Finalists, choose_finalists, mix_finalists
from spectragram.automata.settings import settings_of
from spectragram.cli.console import print_table
from spectragram.data.corpus import Corpus
from spectragram.data.pautomac import read_pautomac, read_pautomac_solution
from spectragram.engine.progress import silent
from spectragram.inference.prefix_tree import grow_prefix_tree
from spectragram.learning.mixtures import held_out_weights
from spectragram.metrics import pautomac_scores

QUICK = (7, 29, 39)
STAGES = ("k-grams", "best automaton of EM", "all automata of EM and k-grams", "and samplers from them",
          "and samplers from random starts", "learned again from all strings")  # fmt: skip
Component = tuple[list[Part], float]
"""Parts in equal shares, and their weight before held-out strings decide."""


def run(quick: bool, problems: Sequence[int] = tuple(PROBLEMS)) -> list[Row]:
    data = data_folder()
    if data is None:
        return []
    rows: list[Row] = []
    for problem in QUICK if quick else problems:
        rows += (new := list(_stages(data / "pautomac", problem)))
        print(problem, *(f"{each['value']:.4f}" for each in new), flush=True)  # a run takes long: show what there is
    for stage in STAGES:
        values = [each["value"] for each in rows if each["measure"].startswith(f"{stage}:")]
        rows.append(row(f"PAutomaC, mean of {len(values)}", f"{stage}: above the bound", float(np.mean(values))))
    return rows


def _stages(folder: Path, problem: int) -> Iterator[Row]:
    training = folder / f"{problem}.pautomac.train"
    corpus = read_pautomac(training if training.exists() else training.with_suffix(".train.gz"))
    test = read_pautomac(folder / f"{problem}.pautomac.test")
    solution = read_pautomac_solution(folder / f"{problem}.pautomac_solution.txt")
    settings = settings_of(Automaton())
    split = hold_out(corpus, None, settings.seed)
    chosen = choose_finalists(split, settings, silent)
    models = [_mixture(split, parts) for parts in _growing(split, chosen)]
    models.append(mix_finalists(corpus, chosen, settings, silent)[0])
    for stage, model in zip(STAGES, models, strict=True):
        scores = pautomac_scores(solution, _probabilities(model, test))
        distance = scores["pautomac"] - scores["pautomac_bound"]
        yield row(f"PAutomaC {problem}", f"{stage}: above the bound", distance)


def _growing(split: Split, chosen: Finalists) -> list[list[Component]]:
    """What is mixed in each stage but the last."""
    grams: list[Component] = [([learn_ngrams(split.training, order)], 1.0) for order in chosen.orders]
    automata: list[Component] = [([Weighted.probabilistic(candidate.wfa)], 1.0) for candidate in chosen.candidates]
    best = automata[int(np.argmax([candidate.score for candidate in chosen.candidates]))]
    at_random = [_component(sampler) for sampler in chosen.samplers if " random " in sampler.name]
    others = [_component(sampler) for sampler in chosen.samplers if " random " not in sampler.name]
    return [grams, [best], automata + grams, automata + grams + others, automata + grams + others + at_random]


def _component(sampler: Sampler) -> Component:
    return [Weighted.probabilistic(average) for average in sampler.averages], AHEAD


def _mixture(split: Split, components: list[Component]) -> Model:
    assert split.judges is not None
    judged = []
    for parts, _ in components:
        each = [string_log_probs(split.judges, part) for part in parts]
        judged.append(np.logaddexp.reduce(each) - np.log(len(parts)))
    weights = held_out_weights(judged, [start for _, start in components], ITERATIONS)
    shares = [weight / len(parts) for (parts, _), weight in zip(components, weights, strict=True) for _ in parts]
    return Model.of(split.training, [part for parts, _ in components for part in parts], np.array(shares))


def _probabilities(model: Model, test: Corpus) -> np.ndarray:
    """Of the test strings, which sum to 1 as the competition has it."""
    tree = grow_prefix_tree(test.tokens, test.offsets)
    log_probs = np.stack([string_log_probs(tree, part) for part in model.parts]) + np.log(model.weights)[:, None]
    return np.exp(log_probs - log_probs.max()).sum(axis=0)


if __name__ == "__main__":
    found = run(quick=False, problems=[int(problem) for problem in sys.argv[1:]] or tuple(PROBLEMS))
    print_table(HEADER, [table_line(each) for each in found])
