"""``recipe="paper"`` against plain numpy, written from sections 6 and 7 of Balle et al. 2014 alone."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from spectragram.data import Sentence
from spectragram.dependency import DependencyParser
from spectragram.dependency.settings import RECIPES
from spectragram.learning.recipes import recipe_steps
from spectragram.synthetic import english_dependencies

Sequences = dict[tuple[str, int], list[list[str]]]


@pytest.fixture(scope="module")
def trees() -> list[Sentence]:
    return english_dependencies(300)


def modifier_sequences(trees: list[Sentence]) -> Sequences:
    """For every head symbol and direction (0 left, 1 right) the tags of its modifiers, head-outwards (section 6.1)."""
    found: Sequences = defaultdict(list)
    for tree in trees:
        for head in range(len(tree.xpos)):
            modifiers = [i for i, above in enumerate(tree.heads) if above == head + 1]
            found[tree.xpos[head], 0].append([tree.xpos[i] for i in reversed(modifiers) if i < head])
            found[tree.xpos[head], 1].append([tree.xpos[i] for i in modifiers if i > head])
    return found


def spectral(
    sequences: list[list[str]], n: int, factor: float | None, mass: float, tags: tuple[str, ...]
) -> tuple[list[str], tuple]:
    """Substring expectations, truncated decomposition, Lemma 3.1 (section 7.1): alpha_1, A, alpha_inf.

    Equally frequent substrings come in the order of their lengths and then of ``tags``, as the paper does not say.
    """
    symbols = sorted({x for w in sequences for x in w})
    f: Counter[tuple[str, ...]] = Counter()
    for w in sequences:
        for i in range(len(w) + 1):
            for j in range(i, len(w) + 1):
                f[tuple(w[i:j])] += 1
    short = [x for x in f if 0 < len(x) <= 4]
    if factor is None:
        basis = [(), *((s,) for s in symbols)]
    else:
        basis = [(), *sorted(short, key=lambda x: (-f[x], len(x), *map(tags.index, x)))[: round(factor * len(symbols))]]
    f = Counter({x: count / len(sequences) for x, count in f.items()})
    H = np.array([[f[u + v] for v in basis] for u in basis])
    _, sigma, V = np.linalg.svd(H)
    kept = [i for i in range(min(n, len(symbols))) if sigma[i] > 1e-12 and sigma[i] / sigma.sum() >= mass]
    V = V[kept].T
    inverse = np.linalg.pinv(H @ V)
    A = np.array([inverse @ np.array([[f[(*u, s, *v)] for v in basis] for u in basis]) @ V for s in symbols])
    rest = np.eye(len(kept)) - A.sum(axis=0)
    initial, final = np.array([f[v] for v in basis]) @ V, inverse @ np.array([f[u] for u in basis])
    return symbols, (initial @ rest, A, rest @ final)


def value(symbols: list[str], automaton: tuple, sequence: list[str]) -> float:
    initial, A, final = automaton
    for s in sequence:
        initial = initial @ A[symbols.index(s)]
    return float(initial @ final)


@pytest.mark.parametrize(("basis", "mass"), [("sigma-lambda", 0.0), ("sigma-lambda", 0.01), (2.0, 0.0)])
def test_spectral_is_the_paper(trees: list[Sentence], basis: str | float, mass: float) -> None:
    parser = DependencyParser(3, recipe="paper", basis=basis, min_mass=mass).fit(trees)
    for (tag, direction), sequences in modifier_sequences(trees).items():
        if not any(sequences):
            continue
        symbols, expected = spectral(
            sequences, 3, None if basis == "sigma-lambda" else float(basis), mass, parser.tags_
        )
        found = parser.grammar_.automaton(parser.tags_.index(tag), direction)
        for sequence in sequences[:20]:
            numbers = [parser.tags_.index(x) for x in sequence]
            np.testing.assert_allclose(found.value(numbers), value(symbols, expected, sequence), atol=1e-8)


@pytest.mark.parametrize("learner", ["det", "det+f"])
def test_deterministic_baselines_are_relative_frequencies(trees: list[Sentence], learner: str) -> None:
    parser = DependencyParser(recipe="paper", learner=learner).fit(trees)
    for (tag, direction), sequences in modifier_sequences(trees).items():
        counts: Counter[tuple[int, str]] = Counter()
        for w in sequences:
            for i, x in enumerate([*w, "STOP"]):
                counts[(min(i, 1) if learner == "det+f" else 0), x] += 1
        totals = Counter({state: sum(n for (s, _), n in counts.items() if s == state) for state in (0, 1)})
        found = parser.grammar_.automaton(parser.tags_.index(tag), direction)
        for w in sequences[:20]:
            p = 1.0
            for i, x in enumerate([*w, "STOP"]):
                state = min(i, 1) if learner == "det+f" else 0
                p *= counts[state, x] / totals[state]
            np.testing.assert_allclose(found.value([parser.tags_.index(x) for x in w]), p, rtol=1e-8)
    roots = Counter(tree.xpos[list(tree.heads).index(0)] for tree in trees)
    wanted = [roots[tag] / len(trees) for tag in parser.tags_]
    np.testing.assert_allclose(parser.grammar_.root, wanted, atol=1e-12)


def test_every_step_between_the_recipes_is_a_parameter(trees: list[Sentence]) -> None:
    steps = list(recipe_steps(RECIPES))
    assert {name for name, _, _ in steps} <= set(DependencyParser().get_params())
    walked = DependencyParser(**{name: value for name, _, value in steps}).fit(trees)
    papers = DependencyParser(recipe="paper").fit(trees)
    assert walked.grammar_.operators.tolist() == papers.grammar_.operators.tolist()
    assert walked.model_.fallback is None
    assert papers.predict(trees[:10]).diagnostics["fallbacks"] == 0
