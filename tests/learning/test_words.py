"""Back-off along classes against a recursion in plain Python over the path of every observation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spectragram.learning.word_cells import Cells, grow
from spectragram.learning.words import BackOffTree, class_key

KAPPA = [1.0, 4.0, 2.5]
N_LABELS, WIDTH = 4, 3


class Corpus:
    """Random words in two positions; words back off to their last letter or (at the beginning) to one class, then to
    all.

    Classes are counted on words seen at most five times.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        names = [f"{i}{'abc'[i % 3]}" for i in range(14)]
        self.type_list = [(name, first) for first in (False, True) for name in names]
        self.types = rng.choice(len(names), 90, p=rng.dirichlet(np.full(len(names), 0.5)))
        self.types[rng.random(90) < 0.3] += len(names)
        self.labels = rng.integers(0, N_LABELS, 90)
        self.weights = rng.integers(1, 3, 90).astype(float)
        self.vectors = rng.normal(size=(90, WIDTH)) * self.weights[:, None]
        self.root = rng.normal(size=(N_LABELS, WIDTH))
        self.pooled = np.tile(np.arange(len(names)), 2)
        self.seen = {w: self.weight(lambda i, w=w: self.word(i) == w) for w in names}

    def word(self, i: int) -> str:
        return self.type_list[self.types[i]][0]

    def weight(self, chosen: Callable[[int], bool]) -> float:
        return sum(self.weights[i] for i in range(len(self.types)) if chosen(i))

    @staticmethod
    def classes(word: str, first: bool) -> list[str]:
        return ["^" if first and word[-1] == "a" else word[-1], "any"]

    def keys(self, word: str, first: bool) -> list[str]:
        classes = self.classes(word, first)
        return [class_key("0^" if classes[0] == "^" else "0", word), class_key(1, classes[0]), class_key(2, classes[1])]

    def grow(self) -> Cells:
        present = np.bincount(self.types, minlength=len(self.type_list)) > 0
        rare = np.array([self.seen[word] <= 5 for word, _ in self.type_list]) & present
        counted = np.stack([np.ones(len(rare), bool), rare, rare], axis=1)
        keys = [self.keys(*t) for t in self.type_list]
        return grow(keys, counted, self.types, self.labels, self.weights, kappa=KAPPA, pooled=self.pooled)

    def expected(self, word: str, first: bool, a: int, per: str) -> np.ndarray:
        """E(x,a) from the definition, class by class."""
        mine = self.classes(word, first)
        rare_counted = [i for i in range(len(self.types)) if self.seen[self.word(i)] <= 5]
        chains = [
            [i for i in range(len(self.types)) if self.word(i) == word],
            [i for i in rare_counted if self.classes(*self.type_list[self.types[i]])[0] == mine[0]],
            rare_counted,
        ]
        estimate = self.root[a]
        for level in (2, 1, 0):
            here = chains[level]
            own = [i for i in here if self.labels[i] == a]
            if not here:
                continue  # the class does not exist
            total = sum(self.weights[i] for i in (here if per == "node" else own))
            summed = sum((self.vectors[i] for i in own), np.zeros(WIDTH))
            estimate = (summed + KAPPA[level] * estimate) / (total + KAPPA[level])
        return estimate


@pytest.fixture
def corpus(rng: np.random.Generator) -> Corpus:
    return Corpus(rng)


def queries(corpus: Corpus) -> list[tuple[str, bool]]:
    """Every known word in both positions, seen there or not, and unknown ones."""
    return [*corpus.type_list, ("newa", False), ("newa", True), ("newb", True), ("newz", False)]


def test_the_corpus_has_all_kinds_of_words(corpus: Corpus) -> None:
    assert min(corpus.seen.values()) <= 5 < max(corpus.seen.values())
    present = set(corpus.types.tolist())
    assert any((i in present) != (i + 14 in present) for i in range(14)), "some words occur in one position only"


def test_estimates_per_node(corpus: Corpus) -> None:
    cells = corpus.grow()
    nodes = np.array([cells.tree.find(corpus.keys(*query)) for query in queries(corpus)])
    found = cells.tree.interpolate(nodes, cells.add_up(corpus.vectors), corpus.root)
    for row, query in zip(found, queries(corpus), strict=True):
        for a in range(N_LABELS):
            np.testing.assert_allclose(row[a], corpus.expected(*query, a, "node"), atol=1e-12, err_msg=str(query))


@pytest.mark.parametrize("per", ["node", "cell"])
def test_estimates_of_training_observations(corpus: Corpus, per: str) -> None:
    cells = corpus.grow()
    found = cells.back_off(cells.add_up(corpus.vectors), corpus.root, per=per)[cells.finest]
    for i, a in enumerate(corpus.labels):
        expected = corpus.expected(*corpus.type_list[corpus.types[i]], int(a), per)
        np.testing.assert_allclose(found[i], expected, atol=1e-12)


def test_estimates_per_cell_are_looked_up_in_the_finest_cell(corpus: Corpus) -> None:
    cells = corpus.grow()
    tree = cells.tree
    by_cell = cells.back_off(cells.add_up(corpus.vectors), corpus.root, per="cell")
    widths = np.array([WIDTH, 1, 2, WIDTH])
    starts = np.concatenate([[0], np.cumsum(widths)])
    used = np.arange(WIDTH) < widths[:, None]
    nodes = np.array([tree.find(corpus.keys(*query)) for query in queries(corpus)])
    found = tree.finest(nodes, by_cell, corpus.root[used], starts)
    for row, query in zip(found, queries(corpus), strict=True):
        expected = np.array([corpus.expected(*query, a, "cell") for a in range(N_LABELS)])
        np.testing.assert_allclose(row, expected[used], atol=1e-12)


def test_classes_that_count_nothing_do_not_exist() -> None:
    """Without rare words, words are below the root."""
    keys = [[class_key(0, word), class_key(1, "class")] for word in ("a", "b")]
    counted = np.array([[True, False], [True, False]])
    cells = grow(keys, counted, np.array([0, 0, 1]), np.array([0, 1, 1]), kappa=2.0)
    assert cells.tree.keys == ["", "0\x1fa", "0\x1fb"]
    assert cells.tree.parents.tolist() == [0, 0, 0]
    found = cells.back_off(cells.add_up(np.array([[1.0], [2.0], [5.0]])), np.array([[0.5], [0.25]]), per="cell")
    np.testing.assert_allclose(found.ravel(), [2 / 3, 2.5 / 3, 5.5 / 3])
    assert cells.tree.find(keys[0][1:]) == 0


def test_another_kappa_for_all_levels(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = corpus.grow()
    found = cells.back_off(cells.add_up(corpus.vectors), corpus.root, per="cell", kappa=7.0)[cells.finest]
    monkeypatch.setattr("tests.learning.test_words.KAPPA", [7.0] * 3)
    expected = corpus.expected(*corpus.type_list[corpus.types[0]], int(corpus.labels[0]), "cell")
    np.testing.assert_allclose(found[0], expected, atol=1e-12)


def test_counts_and_parents(corpus: Corpus) -> None:
    tree = corpus.grow().tree
    assert (tree.parents[1:] < np.arange(1, len(tree.keys))).all()
    for word, count in corpus.seen.items():
        node = tree.get(class_key("0", word))
        assert node is not None
        assert tree.totals[node] == count
        labels = {int(a) for i, a in enumerate(corpus.labels) if corpus.word(i) == word}
        assert tree.labels_at(node).tolist() == sorted(labels)
    assert tree.totals[tree.get(class_key(2, "any"))] == sum(c for c in corpus.seen.values() if c <= 5)
    assert tree.find(["no such class"]) == 0


def test_state_round_trip_and_damage(corpus: Corpus) -> None:
    tree = corpus.grow().tree
    values, arrays = tree.to_state()
    again = BackOffTree.from_state(values, arrays)
    nodes, sums = np.arange(len(tree.keys)), np.arange(len(tree.cell_labels), dtype=float)[:, None]
    root = np.ones((N_LABELS, 1))
    np.testing.assert_array_equal(again.interpolate(nodes, sums, root), tree.interpolate(nodes, sums, root))
    damages = {
        "parents": arrays["parents"][::-1].copy(),
        "levels": arrays["levels"] + 9,
        "cell_labels": arrays["cell_labels"] - 9,
        "cell_starts": arrays["cell_starts"][:-1],
        "keys": arrays["keys"][:-1],
    }
    for name, damaged in damages.items():
        with pytest.raises(ValueError, match="fit together"):
            BackOffTree.from_state(values, arrays | {name: damaged})


def test_leaving_one_out_is_counting_without_it(rng: np.random.Generator) -> None:
    words = [f"{i}{'ab'[i % 2]}" for i in range(8)]
    keys = [[class_key(0, word), class_key(1, word[-1])] for word in words]
    counted = np.ones((8, 2), bool)
    counted[0, 1] = False  # a word that is not counted in its class
    types, labels = rng.permutation(np.append(np.arange(8), rng.integers(0, 5, 22))), rng.integers(0, 3, 30)
    root = np.array([0.5, 0.3, 0.2])
    cells = grow(keys, counted, types, labels, kappa=[2.0, 3.0])
    found = cells.leave_one_out(root)[cells.pair_of]
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for i in range(30):
        others = np.arange(30) != i
        tree = grow(keys, counted, types[others], labels[others], kappa=[2.0, 3.0]).tree
        counts = tree.cell_counts[:, None]
        wanted = tree.interpolate(np.array([tree.find(keys[types[i]])]), counts, root[:, None])
        np.testing.assert_allclose(found[i], wanted[0, :, 0], err_msg=words[types[i]])
