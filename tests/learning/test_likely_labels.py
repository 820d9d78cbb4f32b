"""Short lists of likely labels, against the tables of all labels."""

from __future__ import annotations

import numpy as np

from spectragram.learning.likely_labels import LikelyLabels, labels_of_nodes, labels_without_one
from spectragram.learning.word_cells import Cells, grow

N_LABELS = 6


def random_cells(seed: int = 0) -> tuple[Cells, np.ndarray]:
    """A tree over words with one and two letters to back off to, and the share of each label."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("abc"), 3)) for _ in range(12)]
    words = list(dict.fromkeys(words))
    keys = [[f"0{w}", f"1{w[-2:]}", f"2{w[-1:]}"] for w in words]
    counted = np.ones((len(words), 3), bool)
    counted[::3, 1] = False  # like frequent words, whose looks are not counted
    types, labels = rng.integers(0, len(words), 60), rng.integers(0, N_LABELS, 60)
    return grow(keys, counted, types, labels, kappa=2.0), np.bincount(labels, minlength=N_LABELS) / 60


def row(likely: LikelyLabels, i: int) -> tuple[np.ndarray, np.ndarray]:
    own = slice(likely.starts[i], likely.starts[i + 1])
    return likely.labels[own], likely.probabilities[own]


def test_probabilities_are_those_of_the_tree() -> None:
    cells, prior = random_cells()
    nodes = np.arange(1, len(cells.tree.keys))
    dense = cells.tree.interpolate(nodes, cells.tree.cell_counts[:, None], prior[:, None])[:, :, 0]
    likely = labels_of_nodes(cells.tree, prior, nodes, most=N_LABELS, least=0.0)
    for i in range(len(nodes)):
        labels, probabilities = row(likely, i)
        assert len(labels)
        np.testing.assert_allclose(probabilities, dense[i, labels])
        assert (np.diff(probabilities) <= 0).all()


def test_one_observation_is_left_out() -> None:
    cells, prior = random_cells(1)
    dense = cells.leave_one_out(prior)
    likely = labels_without_one(cells, prior, most=N_LABELS, least=0.0)
    for i in range(len(dense)):
        labels, probabilities = row(likely, i)
        np.testing.assert_allclose(probabilities, dense[i, labels], atol=1e-12)


def test_lists_are_short_and_hold_the_label_of_the_pair() -> None:
    cells, prior = random_cells(2)
    likely = labels_without_one(cells, prior, most=2, least=0.5)
    assert np.diff(likely.starts).max() <= 2
    own = cells.labels[cells.finest_of_pair]
    assert all(own[i] in row(likely, i)[0] for i in range(len(own)))
    assert (np.diff(labels_of_nodes(cells.tree, prior, np.arange(3), most=2, least=0.0).starts) <= 2).all()


def test_a_word_without_any_known_class_gets_the_most_frequent_label() -> None:
    cells, prior = random_cells(3)
    likely = labels_of_nodes(cells.tree, prior, np.array([0]), most=4, least=0.1)
    assert likely.labels.tolist() == [prior.argmax()]
