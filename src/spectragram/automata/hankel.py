"""Hankel blocks: the moments from which automata are learned.

    H(u, v) = f(u v)     H_sigma(u, v) = f(u sigma v)     for u in P, v in S     (Balle et al. 2014, section 2.1)

    statistic     f(w) counts                       prefixes u          suffixes v
    string        the strings w                     all of the past     all of the future
    prefix        the strings that begin with w     all of the past     any part next to the gap
    substring     every occurrence of w             any part            any part
    marked        every occurrence in begin w end   both kinds          both kinds

``marked`` is the default. It uses every occurrence, as ``substring`` does, and also knows where strings begin and end,
so the initial and final weights do not need Lemma 3.1. Counts are sums over strings, so blocks counted on parts of a
corpus can be added. The paper's p-closure, which stacks all H_sigma below H, is never formed; see
:meth:`CountedBlock.shifted`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from spectragram.automata.contexts import FUTURE, PAST, ContextTree, Element, find_gaps, frequent_contexts
from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.errors import InputError, ParameterError
from spectragram.spectral import cca_weights

__all__ = ["Basis", "CountedBlock", "ExactBlock", "HankelBlock", "check_basis", "count_hankel", "find_basis"]

STATISTICS = ("marked", "string", "prefix", "substring")
BasisChoice = str | int | float | dict[str, Any]
"""How a basis is asked for; see :func:`find_basis`."""

MAX_LENGTH = 8
"""Longest basis element that is considered (4 in the paper). Chosen by hand: the most frequent ones are rarely
longer."""
ANCHORED_FACTOR = 20
"""How many times more substrings are listed to find enough that reach an end of their string. Chosen by hand: too few
only make the basis smaller."""
DENSE_ENTRIES = 4_000_000
"""Tables up to this size (32 MB) are counted densely, which needs no sorting. Chosen by hand to save time; it does not
change any count."""


@dataclass(frozen=True)
class Basis:
    """Prefixes and suffixes (tuples of symbols, see :mod:`spectragram.automata.contexts`) for one statistic."""

    pasts: ContextTree
    futures: ContextTree
    statistic: str = "marked"

    @classmethod
    def of(
        cls,
        prefixes: Sequence[Sequence[int]],
        suffixes: Sequence[Sequence[int]],
        n_symbols: int,
        statistic: str = "marked",
    ) -> Basis:
        """A basis of given strings, without markers.

        Markers are added to every string where the statistic anchors strings, and as elements of their own for
        ``marked``.
        """
        if statistic not in STATISTICS:
            raise InputError(f"statistic {statistic!r} is unknown", remedy=f"choose one of {', '.join(STATISTICS)}")
        past_marker: Element = (n_symbols,) if statistic in ("string", "prefix") else ()
        future_marker: Element = (n_symbols,) if statistic == "string" else ()
        ends: list[Element] = [(n_symbols,)] if statistic == "marked" else []
        pasts = [past_marker + u for u in [*ends, *map(tuple, prefixes)]]
        futures = [v + future_marker for v in [*ends, *map(tuple, suffixes)]]
        return cls(ContextTree.of(pasts, n_symbols, PAST), ContextTree.of(futures, n_symbols, FUTURE), statistic)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of prefixes and of suffixes."""
        return len(self.pasts.elements), len(self.futures.elements)


def check_basis(basis: object) -> None:
    """Refuse what :func:`find_basis` cannot read, as far as that can be said without a corpus."""
    if basis in ("sigma", "sigma-lambda"):
        return
    if isinstance(basis, dict):
        if set(basis) != {"prefixes", "suffixes"}:
            raise ParameterError("basis", basis, remedy="give a dictionary with prefixes and suffixes")
        return
    if isinstance(basis, bool) or not isinstance(basis, (int, float, np.number)) or not 0 < basis < np.inf:
        raise ParameterError(
            "basis", basis, remedy="give sigma, sigma-lambda, a number of substrings, or a factor like 5.0"
        )


def find_basis(
    corpus: Corpus,
    basis: BasisChoice,
    statistic: str = "marked",
    *,
    max_length: int = MAX_LENGTH,
    one_more: bool = False,
) -> Basis:
    """Choose a basis for a corpus.

    Parameters
    ----------
    corpus : Corpus
    basis : str, int, float or dict
        ``"sigma"``: the single symbols. ``"sigma-lambda"``: those and the empty string (the paper's Sigma'). An int:
        this many of the most frequent substrings of at most ``max_length`` symbols. A float: the same, as a multiple
        of the size of the alphabet (the paper's cut factor). A dictionary: the user's own ``prefixes`` and
        ``suffixes``, sequences of symbols.
    statistic : {"marked", "string", "prefix", "substring"}
        For ``string`` and ``prefix``, frequent prefixes (and suffixes) are taken instead of substrings.
    one_more : bool
        Whether the empty string comes on top of the number or multiple, as in the paper's extended basis; otherwise it
        is one of them.
    """
    check_basis(basis)
    n = len(corpus.vocabulary)
    if isinstance(basis, dict):
        return _given_basis(basis, corpus.vocabulary, statistic)
    if isinstance(basis, str):
        symbols: list[Element] = [(s,) for s in range(n)]
        elements = symbols if basis == "sigma" else [(), *symbols]
        return Basis.of(elements, elements, n, statistic)
    size = (int(basis) if isinstance(basis, Integral) else max(1, round(basis * n))) + one_more
    gaps = find_gaps(corpus.tokens, corpus.offsets, n)

    def frequent(step: int, anchored: bool) -> list[Element]:
        # Anchored elements are rarer than free ones: list many and keep those that reach the end.
        wanted = ANCHORED_FACTOR * size if anchored else size
        found = frequent_contexts(gaps, step, wanted, max_length=max_length, markers=anchored or statistic == "marked")
        if not anchored:
            return found
        end = 0 if step == PAST else -1
        inner = [e[1:] if step == PAST else e[:-1] for e in found if e and e[end] == n]
        return inner[:size]

    pasts = frequent(PAST, statistic in ("string", "prefix"))
    futures = frequent(FUTURE, statistic == "string")
    return Basis.of(pasts, futures, n, statistic)


def _given_basis(given: dict[str, Any], vocabulary: Vocabulary, statistic: str) -> Basis:
    """The user's own strings, encoded."""
    encoded = {side: [vocabulary.encode(string).tolist() for string in given[side]] for side in given}
    for side, strings in encoded.items():
        for number, string in enumerate(strings):
            if -1 in string:
                shown = " ".join(map(str, given[side][number]))
                problem = f"has {shown!r} among its {side}, with a symbol outside the alphabet"
                raise ParameterError("basis", given, problem, remedy="use symbols of the training strings")
    return Basis.of(encoded["prefixes"], encoded["suffixes"], len(vocabulary), statistic)


class HankelBlock(Protocol):
    """What the spectral learner needs to know about a Hankel block."""

    @property
    def matrix(self) -> np.ndarray:
        """H, shape (p, s)."""

    @property
    def initial_row(self) -> np.ndarray:
        """The row of H whose prefix is the start of every string, shape (s,)."""

    @property
    def final_column(self) -> np.ndarray:
        """The column of H whose suffix ends a string, shape (p,)."""

    @property
    def total_column(self) -> np.ndarray | None:
        """The column of H whose suffix is anything, shape (p,), where the statistic has one."""

    def scales(self, kappa: float) -> tuple[np.ndarray, np.ndarray]:
        """Factors that give frequent and rare rows and columns about equal variance, shapes (p,) and (s,)."""

    def shifted(self, right: np.ndarray) -> np.ndarray:
        """H_sigma @ right for all symbols, (s, r) -> (n_symbols, p, r)."""


@dataclass(frozen=True)
class ExactBlock:
    """A block given by its entries: H (p, s), all H_sigma (k, p, s), and the row and column of the empty string."""

    matrix: np.ndarray
    shifted_matrices: np.ndarray
    initial_row: np.ndarray
    final_column: np.ndarray
    total_column: np.ndarray | None = None

    def scales(self, kappa: float) -> tuple[np.ndarray, np.ndarray]:
        """Ones: all rows and columns of an exact block are equally reliable."""
        return np.ones(self.matrix.shape[0]), np.ones(self.matrix.shape[1])

    def shifted(self, right: np.ndarray) -> np.ndarray:
        """H_sigma @ right."""
        return self.shifted_matrices @ right


@dataclass(frozen=True)
class CountedBlock:
    """A block counted on a corpus, stored as counts of pairs (past node, future node).

    ``+`` adds two blocks over the same basis.

    Attributes
    ----------
    pairs : sparse, shape (past nodes, future nodes)
        Number of gaps with this deepest past and this deepest future.
    steps : sparse, shape (n_symbols * past nodes, future nodes)
        The same, with the past of the gap *before* a symbol and the future of the gap *after* it.
    n_strings : float
        Number of strings. All values are divided by it, which makes them expectations.
    """

    basis: Basis
    pairs: sparse.csr_array
    steps: sparse.csr_array
    n_strings: float

    def __add__(self, other: CountedBlock) -> CountedBlock:
        return CountedBlock(
            self.basis, self.pairs + other.pairs, self.steps + other.steps, self.n_strings + other.n_strings
        )

    @cached_property
    def _past(self) -> sparse.csr_array:
        return self.basis.pasts.ancestors()

    @cached_property
    def _future(self) -> sparse.csr_array:
        return self.basis.futures.ancestors()

    @cached_property
    def node_values(self) -> sparse.csr_array:
        """H for all nodes of the two trees, whether elements of the basis or not, sparse (past nodes, future nodes)."""
        return self._past.T @ self.pairs @ self._future / self.n_strings

    @cached_property
    def matrix(self) -> np.ndarray:
        """H, shape (p, s)."""
        return self.node_values[self.basis.pasts.places][:, self.basis.futures.places].toarray()

    @property
    def initial_row(self) -> np.ndarray:
        """Row of the begin marker, or of the empty string if occurrences anywhere are counted, shape (s,)."""
        pasts = self.basis.pasts
        node = 0 if self.basis.statistic == "substring" else pasts.marker_node
        return self.node_values[[node]].toarray()[0, self.basis.futures.places]

    @property
    def final_column(self) -> np.ndarray:
        """Column of the end marker, or of the empty string if the statistic does not see ends, shape (p,)."""
        futures = self.basis.futures
        sees_ends = self.basis.statistic in ("marked", "string")
        return self._column(futures.marker_node if sees_ends else 0)

    @property
    def total_column(self) -> np.ndarray | None:
        """Column of the empty suffix, shape (p,); the statistic of whole strings has none."""
        return None if self.basis.statistic == "string" else self._column(0)

    def _column(self, node: int) -> np.ndarray:
        return self.node_values[:, [node]].toarray()[self.basis.pasts.places, 0]

    def scales(self, kappa: float) -> tuple[np.ndarray, np.ndarray]:
        """(n / (count + kappa))^1/2 of every prefix and suffix, as canonical correlation analysis scales."""
        rows = self._past.T @ np.asarray(self.pairs.sum(axis=1)).ravel()
        columns = self._future.T @ np.asarray(self.pairs.sum(axis=0)).ravel()
        n_gaps = float(self.pairs.sum())
        return (
            cca_weights(rows[self.basis.pasts.places], kappa=kappa, n=n_gaps),
            cca_weights(columns[self.basis.futures.places], kappa=kappa, n=n_gaps),
        )

    def shifted(self, right: np.ndarray) -> np.ndarray:
        """H_sigma @ right for all symbols, without forming any H_sigma."""
        pushed = self.steps @ (self._future[:, self.basis.futures.places] @ right) / self.n_strings
        upwards = self._past[:, self.basis.pasts.places].T.tocsr()
        return np.stack([upwards @ part for part in pushed.reshape(-1, len(self.basis.pasts.parent), right.shape[1])])


def count_hankel(corpus: Corpus, basis: Basis, weights: np.ndarray | None = None) -> CountedBlock:
    """Count a block on a corpus in one pass; ``weights`` (n_strings,) say how often each string counts."""
    gaps = find_gaps(corpus.tokens, corpus.offsets, len(corpus.vocabulary))
    past, future = basis.pasts.locate(gaps), basis.futures.locate(gaps)
    following = gaps.following
    per_gap = None if weights is None else np.repeat(np.asarray(weights, np.float64), np.diff(corpus.offsets) + 1)
    n_past, n_future = len(basis.pasts.parent), len(basis.futures.parent)
    pairs = _tally(past, future, per_gap, (n_past, n_future))
    inside = np.flatnonzero(following < gaps.n_symbols)
    steps = _tally(
        following[inside].astype(np.int64) * n_past + past[inside],
        future[inside + 1],
        None if per_gap is None else per_gap[inside],
        (gaps.n_symbols * n_past, n_future),
    )
    return CountedBlock(basis, pairs, steps, float(len(corpus) if weights is None else np.sum(weights)))


def _tally(
    rows: np.ndarray, columns: np.ndarray, weights: np.ndarray | None, shape: tuple[int, int]
) -> sparse.csr_array:
    if shape[0] * shape[1] <= DENSE_ENTRIES:
        table = np.bincount(rows * shape[1] + columns, weights, minlength=shape[0] * shape[1])
        return sparse.csr_array(table.reshape(shape).astype(np.float64))
    values = np.ones(len(rows)) if weights is None else weights
    return sparse.coo_array((values, (rows, columns)), shape=shape).tocsr()
