"""``recipe="paper"`` against plain numpy, written from Balle et al. 2014 alone."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from spectragram.automata import Automaton
from spectragram.automata.approximation import LINKAGES
from spectragram.automata.em import random_start, run_em, trees_of
from spectragram.automata.settings import RECIPES
from spectragram.data.conllu import read_conllu
from spectragram.data.corpus import Corpus
from spectragram.learning.recipes import recipe_steps
from spectragram.synthetic.automata import PNFA

SYMBOLS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def strings() -> list[list[str]]:
    rng = np.random.default_rng(2)
    drawn = PNFA.random(3, 3, rng=rng, mean_length=6.0).sample(400, rng)
    return [[SYMBOLS[s] for s in string.tolist()] for string in drawn]


def substring_expectations(strings: list[list[str]], longest: int) -> Counter[tuple[str, ...]]:
    """E[|w|_x] for all x of at most ``longest`` symbols (section 3)."""
    found: Counter[tuple[str, ...]] = Counter()
    for w in strings:
        for length in range(longest + 1):
            for i in range(len(w) - length + 1):
                found[tuple(w[i : i + length])] += 1 / len(strings)
    return found


def spectral(strings: list[list[str]], basis: list[tuple[str, ...]], n: int) -> tuple[np.ndarray, ...]:
    """Section 4.2 on substring expectations, then Lemma 3.1: alpha_1, A, alpha_inf, alpha~_inf."""
    f = substring_expectations(strings, 2 * max(map(len, basis)) + 1)
    H = np.array([[f[u + v] for v in basis] for u in basis])
    H_sigma = {s: np.array([[f[(*u, s, *v)] for v in basis] for u in basis]) for s in SYMBOLS}
    V = np.linalg.svd(H)[2][:n].T
    inverse = np.linalg.pinv(H @ V)
    A = np.array([inverse @ H_sigma[s] @ V for s in SYMBOLS])
    initial = np.array([f[v] for v in basis]) @ V
    final = inverse @ np.array([f[u] for u in basis])
    rest = np.eye(n) - A.sum(axis=0)
    return initial @ rest, A, rest @ final, final


def predicted(automaton: tuple[np.ndarray, ...], string: list[str]) -> list[np.ndarray]:
    """Scores of every symbol and of the end after every prefix, with normalised states (section 5.1)."""
    initial, A, final, total = automaton
    state, scores = initial / (initial @ total), []
    for symbol in [*string, None]:
        scores.append(np.append(A @ total @ state, final @ state))
        if symbol is not None:
            state = state @ A[SYMBOLS.index(symbol)]
            state = state / (state @ total)
    return scores


def top(strings: list[list[str]], k: int) -> list[tuple[str, ...]]:
    f = substring_expectations(strings, 4)
    return sorted(f, key=lambda x: (-f[x], len(x), x))[:k]


@pytest.mark.parametrize("basis", ["sigma", "sigma-lambda", 12])
@pytest.mark.parametrize("n", [2, 3])
def test_spectral_is_the_paper(strings: list[list[str]], basis: str | int, n: int) -> None:
    elements = {"sigma": [(s,) for s in SYMBOLS], "sigma-lambda": [(), *((s,) for s in SYMBOLS)]}
    expected = spectral(strings, elements[basis] if isinstance(basis, str) else top(strings, basis), n)
    model = Automaton(n, recipe="paper", basis=basis).fit(strings)
    wfa = model.model_.to_wfa()
    order = [model.vocabulary_.words.index(s) for s in SYMBOLS]
    initial, A, final, _ = expected
    for x in [x for length in range(5) for x in product(range(3), repeat=length)]:
        state = initial
        for s in x:
            state = state @ A[s]
        np.testing.assert_allclose(wfa.value([order[s] for s in x]), state @ final, atol=1e-8)
    for string in strings[:30]:
        scores = np.array(predicted(expected, string))
        distributions = np.array([model.next([string[:i]])[0] for i in range(len(string) + 1)])
        clipped = np.maximum(scores, 0.0)
        clipped /= clipped.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(distributions[:, [*order, 3]], clipped, atol=1e-8)


def plain_em(strings: list[list[int]], initial: np.ndarray, A: np.ndarray, final: np.ndarray, steps: int) -> tuple:
    for _ in range(steps):
        starts, moves, stops = np.zeros_like(initial), np.zeros_like(A), np.zeros_like(final)
        for x in strings:
            alphas, betas = [initial], [final]
            for s in x:
                alphas.append(alphas[-1] @ A[s])
            for s in reversed(x):
                betas.append(A[s] @ betas[-1])
            betas.reverse()
            p = alphas[-1] @ final
            starts += initial * betas[0] / p
            stops += alphas[-1] * final / p
            for i, s in enumerate(x):
                moves[s] += np.outer(alphas[i], betas[i + 1]) * A[s] / p
        leaving = moves.sum(axis=(0, 2)) + stops
        initial, A, final = starts / starts.sum(), moves / leaving[None, :, None], stops / leaving
    return initial, A, final


def test_em_is_the_paper(strings: list[list[str]]) -> None:
    corpus = Corpus.from_sequences(strings[:60])
    trees = trees_of(corpus)
    start = random_start(trees, 3, 3, np.random.default_rng(0))
    expected = plain_em([corpus[i].tolist() for i in range(60)], start.initial, start.operators, start.final, 7)
    model = Automaton(3, "em", recipe="paper", max_iter=7).fit(corpus)
    wfa = model.model_.to_wfa()
    for found, wanted in zip((wfa.initial, wfa.operators, wfa.final), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-8)
    assert len(run_em(trees, start, max_iter=7, prior=0.0, tolerance=0.0, over_relaxed=False).training) == 7


def test_bigrams_are_not_smoothed(strings: list[list[str]]) -> None:
    counts = Counter(pair for w in strings for pair in zip(["<s>", *w], [*w, "</s>"], strict=True))
    model = Automaton(learner="bigram", recipe="paper").fit(strings)
    names = [*model.vocabulary_.words, "</s>"]
    for before in SYMBOLS:
        row = np.array([counts[before, after] for after in names])
        np.testing.assert_allclose(model.next([[before]])[0], row / row.sum(), atol=1e-12)


def test_every_step_between_the_recipes_is_a_parameter(strings: list[list[str]]) -> None:
    steps = list(recipe_steps(RECIPES))
    assert {name for name, _, _ in steps} <= set(Automaton().get_params())
    walked = Automaton(**{name: value for name, _, value in steps}).fit(strings)
    assert walked.next(strings[:5]).tolist() == Automaton(recipe="paper").fit(strings).next(strings[:5]).tolist()


def test_group_average_is_that_of_the_union() -> None:
    """Section 7.3: merge the two clusters whose union has the highest mean cosine over its pairs."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(12, 3))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    clusters = [[i] for i in range(12)]
    while len(clusters) > 4:
        pairs = {(i, j): clusters[i] + clusters[j] for i, j in combinations(range(len(clusters)), 2)}
        mean = {key: np.mean([unit[a] @ unit[b] for a, b in combinations(union, 2)]) for key, union in pairs.items()}
        i, j = max(mean, key=lambda key: mean[key])
        clusters = [c for k, c in enumerate(clusters) if k not in (i, j)] + [pairs[i, j]]
    found = LINKAGES["gaac"](unit, 4)
    assert {frozenset(c) for c in clusters} == {frozenset(np.flatnonzero(found == x).tolist()) for x in set(found)}


@pytest.mark.slow
def test_figure_5_the_sigma_basis_beats_the_bigram_near_eleven_states(data_dir: Path) -> None:
    """The paper's curve on 45 tags: better than the bigram around n = 11, worse again with more states."""
    folder = data_dir / "wsj-dependencies"
    training, dev = (
        [list(sentence.xpos) for sentence in read_conllu(folder / name)] for name in ("train.conllu.gz", "dev.conllu")
    )
    wer = {n: Automaton(n, recipe="paper").fit(training).evaluate(dev)["wer"] for n in (4, 11, 20)}
    bigram = Automaton(learner="bigram", recipe="paper").fit(training).evaluate(dev)["wer"]
    assert bigram == pytest.approx(67.05, abs=0.01)
    assert wer[11] < bigram < min(wer[4], wer[20])
