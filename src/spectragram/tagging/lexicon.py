"""What an observation says about labels and hidden states, for frequent, rare and unseen observations alike.

Every observation belongs to ever coarser classes, along which it backs off (:mod:`spectragram.learning.words`):

    word -> lower-case form -> shape and last 5 .. 1 letters -> shape -> kind of word -> anything

With further columns (a part of speech) all these classes are paired with them, and the last resort is the further
columns alone. Classes by looks (shape and suffix) are counted on rare words only, because those are what unseen words
resemble; all others on all words. For a class x with parent p,

    P(a|x)   = (C(x,a) + kappa P(a|p)) / (C(x) + kappa)
    v(x,a)   = (sum of the vectors of its tokens with label a + kappa v(p,a)) / (C(x,a) + kappa)

and the observation vector of label a is c_x^a = P(a|x)/p(a) * v(x,a), which is p(x|a) E[vector | x, a] up to a
factor p(x) that no marginal depends on. The vectors of tokens come from the learner: projected destinies in the
spectral one (d_x^a in figure 4 of Stratos et al. 2013), posteriors of states divided by their mean in EM.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.signatures import neutral_signature
from spectragram.learning.word_cells import Cells, count_words, grow
from spectragram.learning.words import RARE, SEPARATOR, BackOffTree, class_key
from spectragram.schema import Array, Flag, Schema
from spectragram.tagging.sequences import Observation, Observations

__all__ = ["CellVectors", "Lexicon", "back_off_keys", "learn_lexicon"]

SUFFIX_LENGTHS = (5, 4, 3, 2, 1)
"""Suffixes of an unknown word, longest first. Chosen on the dev parts of EWT and CoNLL-2000."""
EXACT, INITIAL = "0", "0^"
"""First part of the key of an observation itself, and of one at the beginning of a sequence."""


def back_off_keys(observation: Observation, by_looks: bool, initial: bool = False) -> list[str]:
    """Names of the classes of an observation, finest first.

    Words at the beginning of a sequence (``initial``) are classes of their own below the same lower-case form.

    >>> [key.replace(SEPARATOR, "/") for key in back_off_keys(("dog", "NN"), by_looks=False)]
    ['0/dog/NN', '-/NN']
    """
    word, *rest = observation
    keys = [class_key(INITIAL if initial and by_looks else EXACT, *observation)]
    if by_looks:
        looks = neutral_signature(word, initial=initial, suffix_lengths=SUFFIX_LENGTHS)
        classes = [word.lower(), *looks]
        keys += [class_key(level, name, *rest) for level, name in enumerate(classes, start=1)]
    return keys + [class_key("-", *rest[k:]) for k in range(len(rest))]


def learn_lexicon(
    observed: Observations, labels: np.ndarray, n_labels: int, *, kappa: float, by_looks: bool
) -> tuple[Lexicon, Cells]:
    """Count the labels of training observations in their classes.

    Parameters
    ----------
    observed : Observations
    labels : int array, shape (n_tokens,)
    n_labels : int
    kappa : float
        How many tokens the estimate of the coarser class is worth.
    by_looks : bool
        Whether words back off to their lower-case form and to classes by shape and suffix.
    """
    types = zip(observed.types, observed.initial.tolist(), strict=True)
    keys = [back_off_keys(observation, by_looks, initial) for observation, initial in types]
    counted = np.ones((len(keys), len(keys[0])), bool)
    if by_looks:
        words = [observation[0] for observation in observed.types]
        seen = count_words(words, np.bincount(observed.tokens, minlength=len(words)))
        # Between the observation, its lower-case form and, at the end, the further columns are the classes by looks.
        looks = slice(2, len(keys[0]) - (observed.n_columns - 1))
        counted[:, looks] = np.array([seen[word] <= RARE for word in words])[:, None]
    cells = grow(keys, counted, observed.tokens, labels, kappa=kappa)
    prior = np.bincount(labels, minlength=n_labels) / len(labels)
    return Lexicon(cells.tree, prior, by_looks), cells


@dataclass(frozen=True)
class Lexicon:
    """The classes of observations with the labels seen in each.

    Attributes
    ----------
    tree : BackOffTree
    prior : float64 array, shape (n_labels,)
        p(a).
    by_looks : bool
        Whether words back off to their lower-case form and to classes by shape and suffix.
    """

    tree: BackOffTree
    prior: np.ndarray
    by_looks: bool

    @property
    def n_labels(self) -> int:
        """Number of labels seen in training."""
        return len(self.prior)

    def nodes(self, observed: Observations) -> np.ndarray:
        """The finest known class of each type of observation, int64 (n_types,); 0 where none is known."""
        tree, by_looks = self.tree, self.by_looks
        found = []
        for observation, initial in zip(observed.types, observed.initial.tolist(), strict=True):
            # Most observations are known, and then their classes need not be computed.
            node = None if initial else tree.get(class_key(EXACT, *observation))
            found.append(tree.find(back_off_keys(observation, by_looks, initial)) if node is None else node)
        return np.array(found, np.int64)

    def exact(self) -> list[tuple[int, Observation]]:
        """The nodes that are observations themselves, not classes, with the observations."""
        split = ((node, key.split(SEPARATOR)) for node, key in enumerate(self.tree.keys))
        return [(node, tuple(parts[1:])) for node, parts in split if parts[0] in (EXACT, INITIAL)]

    def has_columns(self, n_columns: int) -> bool:
        """Whether all observations seen in training have at least so many columns."""
        # Both marks of observations begin with that of EXACT, and no class does.
        return all(key.count(SEPARATOR) >= n_columns for key in self.tree.keys if key.startswith(EXACT))

    def words(self) -> frozenset[str]:
        """First columns of all observations seen in training."""
        return frozenset(observation[0] for _, observation in self.exact())

    def label_probabilities(self, nodes: np.ndarray) -> np.ndarray:
        """P(a|x) of each node: (n,) -> (n, n_labels)."""
        return self.tree.interpolate(nodes, self.tree.cell_counts[:, None], self.prior[:, None])[:, :, 0]

    SCHEMA: ClassVar[Schema] = Schema(
        "Lexicon",
        "The labels of observations: a back-off tree and the frequencies of labels.",
        values={"by_looks": Flag("whether words back off to classes by shape and suffix")},
        arrays={
            **BackOffTree.SCHEMA.arrays,
            "prior": Array("f8", ("n_labels",), "how frequent each label is", sums=True),
        },
        sizes=BackOffTree.SCHEMA.sizes,
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and arrays, for model files."""
        _, arrays = self.tree.to_state()
        return {"by_looks": self.by_looks}, arrays | {"prior": self.prior}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; checks that the parts fit."""
        tree = BackOffTree.from_state({}, arrays)
        if tree.cell_labels.max(initial=-1) >= len(arrays["prior"]):
            raise ValueError("the parts of the lexicon do not fit together")
        return cls(tree, arrays["prior"], bool(values["by_looks"]))


@dataclass(frozen=True)
class CellVectors:
    """Observation vectors by cell of the lexicon.

    Attributes
    ----------
    vectors : float64 array, shape (n_cells, width)
        v(x,a) of every cell.
    root : float64 array, shape (starts[-1],)
        v of labels never seen with any class of an observation.
    starts : int64 array, shape (n_labels + 1,)
        Where the dimensions of each label begin.
    """

    vectors: np.ndarray
    root: np.ndarray
    starts: np.ndarray

    def of_tokens(self, lexicon: Lexicon, observed: Observations, weight: float) -> Callable[[np.ndarray], np.ndarray]:
        """c_x^a = (P(a|x)/p(a))^weight v(x,a), looked up by type."""
        nodes = lexicon.nodes(observed)
        vectors = self.of_nodes(lexicon, nodes, lexicon.label_probabilities(nodes), weight)
        return lambda tokens: vectors[observed.tokens[tokens]]

    def of_nodes(self, lexicon: Lexicon, nodes: np.ndarray, probabilities: np.ndarray, weight: float) -> np.ndarray:
        """The vectors of nodes (n,) with these P(a|x), (n, n_labels): (n, starts[-1])."""
        vectors = lexicon.tree.finest(nodes, self.vectors, self.root, self.starts)
        # A label that occurs in held-out data only has probability 0 for every word, and p(x|a) is taken to be 0.
        seen = lexicon.prior > 0
        ratios = np.divide(probabilities, lexicon.prior, out=np.zeros_like(probabilities), where=seen)
        vectors *= np.repeat(ratios**weight, np.diff(self.starts), axis=1)
        return vectors

    SCHEMA: ClassVar[Schema] = Schema(
        "Cell vectors",
        "Observation vectors by cell of the lexicon.",
        arrays={
            "vectors": Array("f8", ("n_cells", "width"), "the vector of each cell"),
            "root": Array("f8", ("n_observed",), "vectors of labels never seen with any class of an observation"),
            "starts": Array("i8", ("n_labels + 1",), "where the dimensions of each label begin", starts="n_observed"),
        },
        rule=lambda values, arrays, sizes: (
            "array 'starts' gives a label more dimensions than array 'vectors' has"
            if np.diff(arrays["starts"]).max(initial=0) > sizes["width"]
            else None
        ),
    )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name."""
        return {"vectors": self.vectors, "root": self.root, "starts": self.starts}

    def __post_init__(self) -> None:
        if self.starts[-1] != len(self.root) or np.diff(self.starts).max() > self.vectors.shape[1]:
            raise ValueError("observation vectors of unequal length")
