"""Surface factors: what the words around a token say about its label.

    p(a, h | x)  ~  RHMM(x, a, h)^eta  prod_i exp score(i, a_i)  prod_i exp pair(a_i, a_{i+1})        labels a, states h

The refinement HMM sees one word at a time, through its hidden states; the factors see the sentence. Scores are sums of
weights of hashed features (:mod:`spectragram.inference.token_factors`), fitted by conditional likelihood with the HMM
held fixed (:mod:`spectragram.learning.factors`): the gradient is gold minus expected, and expectations are marginals.

The HMM is raised to the power eta, because factors and emissions look at the same words. On the training data emissions
are those of a lexicon that has not counted the token (:meth:`~spectragram.learning.word_cells.Cells.leave_one_out`);
otherwise the HMM would seem to know every word, and the factors would not learn what to do about unknown ones.

Templates are written ``l-1 l0``: atoms of a column (:mod:`spectragram.tagging.surface`) and an offset. Their text
belongs to the model and its file, so weights always meet the templates they were learned for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.corpus import even_parts
from spectragram.engine import map_threads
from spectragram.engine.progress import Report, silent
from spectragram.inference.factored_chain import Chain, Tokens, factored_marginals, label_sequences
from spectragram.inference.labelled_chain import ChainOperators
from spectragram.inference.token_factors import (
    label_pair_places,
    label_pair_scores,
    step_tokens,
    token_places,
    token_scores,
)
from spectragram.learning.factors import (
    fit_weights,
    parse_atoms,
    require_table,
    split_templates,
    start_weights,
    template_list,
)
from spectragram.learning.word_cells import Cells
from spectragram.schema import Array, Schema, weight_table
from spectragram.tagging.lexicon import CellVectors, Lexicon
from spectragram.tagging.sequences import Observations
from spectragram.tagging.surface import COLUMNS, PATH_COLUMNS

__all__ = ["Factors", "factored_chain", "learn_factors", "prediction_tokens", "templates_for", "training_tokens"]

WORD_TEMPLATES = """
    w0    l0    s0    a0    b0    c0    d0    p0    q0    r0    g0    s0 c0
    l-2   l-1   l+1   l+2   l-1 l0      l0 l+1      l-1 l+1     l-2 l-1     l+1 l+2     w-1   w+1
    s-2   s-1   s+1   s+2   s-1 s0      s0 s+1      s-1 s0 s+1  s-2 s-1 s0  s0 s+1 s+2
    c-2   c-1   c+1   c+2   c-1 c0      c0 c+1      b-1 b0 b+1
    s0 l-1      s0 l+1      l-1 s0 l+1  l-1 s0 s+1
"""
COLUMN_TEMPLATES = """
    X0    X-1   X+1   X-2   X+2   X-1 X0      X0 X+1      X-2 X-1     X+1 X+2
    X-1 X0 X+1  X-2 X-1 X0  X0 X+1 X+2        X0 l0       X-1 l0      X+1 l0
"""
"""For each further column, which takes the place of X."""
PATH_TEMPLATES = """
    X0    X-1   X+1   X-2   X+2   X-1 X0      X0 X+1      X-1 X+1     X0 s0
"""
"""For each length of prefixes of paths, whose column takes the place of X."""
POWER = 0.5
"""eta. Chosen after trials of a few values with one seed on the dev parts of EWT, CoNLL-2000, CoNLL-2002 and WNUT-17;
not every value was tried on every corpus."""
RATE = 0.3
"""Step size of AdaGrad. Chosen after trials of a few values with one seed on the dev parts of EWT and CoNLL-2000."""
CANDIDATE = 1e-5
"""A label is possible at a token if the lexicon finds it at least this probable, compared with the best label. Chosen
by hand, not tuned: less costs time, and more excludes right labels."""
N_SHARDS = 8
"""Parts in which sequences are labelled; any number of at least that of cores would do."""

TokenGradients = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Places of features (n, t), gradients of the scores of tokens (n, l) and of pairs of labels (l, l)."""


def templates_for(n_columns: int, *, paths: bool = False) -> tuple[str, ...]:
    """The templates for observations of ``n_columns`` strings, with or without paths of clusters."""
    listed = list(split_templates(WORD_TEMPLATES))
    for letter in PATH_COLUMNS if paths else "":
        listed += [template.replace("X", letter) for template in split_templates(PATH_TEMPLATES)]
    for letter in ascii_uppercase[: n_columns - 1]:  # columns beyond the alphabet are not looked at
        listed += [template.replace("X", letter) for template in split_templates(COLUMN_TEMPLATES)]
    return tuple(listed)


@dataclass(frozen=True)
class Factors:
    """Templates and their weights.

    Attributes
    ----------
    templates : tuple of str
    weights : float32 array, shape (2^b,)
    power : float
        Exponent of the HMM beside these factors.
    atoms : int64 array, shape (n_templates, n_atoms, 2)
        Column and offset of each atom, -1 where there is none.
    """

    templates: tuple[str, ...]
    weights: np.ndarray
    power: float = POWER
    atoms: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_table(self.weights)
        if not self.templates:
            raise ValueError("factors without templates")
        object.__setattr__(self, "atoms", parse_atoms(self.templates, COLUMNS + ascii_uppercase))

    def label(
        self,
        operators: ChainOperators,
        tokens: Tokens,
        offsets: np.ndarray,
        *,
        allowed: np.ndarray | None = None,
        n_jobs: int | None = 1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """p(a_i = a | x) of all tokens, (n_tokens, n_labels); zeros for sequences without any possible labels.

        Also the logarithms of the sums over all labels, (n_sequences,). ``allowed`` (n_tokens, n_labels) are the labels
        that tokens may have.
        """
        chain = factored_chain(operators, self.power)
        n_labels = tokens.possible.shape[1]
        marginals, log_sums = np.zeros((len(tokens.rows), n_labels)), np.zeros(len(offsets) - 1)
        known = np.zeros((0, n_labels), bool) if allowed is None else np.ascontiguousarray(allowed)

        def solve(part: tuple[int, int]) -> None:
            label_sequences(chain, tokens, self.atoms, self.weights, offsets, *part, known, marginals, log_sums)

        map_threads(solve, even_parts(offsets, N_SHARDS), n_jobs)
        return marginals, log_sums

    @property
    def n_columns(self) -> int:
        """Strings that observations must have at least."""
        return max(1, 2 + int(self.atoms[:, :, 0].max()) - len(COLUMNS))

    SCHEMA: ClassVar[Schema] = Schema(
        "Factors of tokens",
        "Weights of what the words around a token say about its label.",
        arrays={
            "templates": template_list(COLUMNS + ascii_uppercase),
            "weights": weight_table(),
            "power": Array("f8", (), "exponent of the hidden Markov model", least=0, most=100.0),
        },
        sizes={"n_templates": 1},
    )

    def to_arrays(self) -> dict[str, Any]:
        """Arrays and lists of strings, as model files hold them."""
        return {"templates": list(self.templates), "weights": self.weights, "power": np.array(self.power)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_arrays`."""
        return cls(tuple(arrays["templates"]), arrays["weights"], float(arrays["power"]))


def factored_chain(operators: ChainOperators, power: float) -> Chain:
    """The operators of a probabilistic model, raised to a power, as the kernels for factors take them."""
    transition = np.ascontiguousarray(operators.transition**power)
    transposed = np.ascontiguousarray(transition.T)
    return Chain(operators.initial**power, transition, transposed, operators.final**power, operators.label_starts)


def prediction_tokens(
    lexicon: Lexicon,
    nodes: np.ndarray,
    emissions: CellVectors,
    observed: Observations,
    factors: Factors,
    weight: float,
) -> Tokens:
    """What the model sees of new sequences.

    ``nodes`` are the observed types in the lexicon; ``weight`` is the exponent of emissions without factors.
    """
    probabilities = lexicon.label_probabilities(nodes)
    vectors = emissions.of_nodes(lexicon, nodes, probabilities, weight) ** factors.power
    types = observed.tokens.astype(np.int64)
    columns = observed.surface
    return Tokens(types, columns, types, vectors, _possible(probabilities))


def training_tokens(
    lexicon: Lexicon,
    cells: Cells,
    emissions: CellVectors,
    observed: Observations,
    factors: Factors,
    weight: float,
) -> Tokens:
    """The same for the sequences that the lexicon was counted on, with each token left out."""
    probabilities = cells.leave_one_out(lexicon.prior)
    finest = cells.finest_of_pair
    nodes = cells.tree.cell_nodes[finest]
    vectors = emissions.of_nodes(lexicon, nodes, probabilities, weight) ** factors.power
    possible = _possible(probabilities)
    possible[np.arange(len(finest)), cells.labels[finest]] = True
    columns = observed.surface
    return Tokens(observed.tokens.astype(np.int64), columns, cells.pair_of, vectors, possible)


def _possible(probabilities: np.ndarray) -> np.ndarray:
    return probabilities > CANDIDATE * probabilities.max(axis=1, keepdims=True)


def learn_factors(
    factors: Factors,
    operators: ChainOperators,
    tokens: Tokens,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    n_epochs: int,
    rate: float = RATE,
    rng: np.random.Generator,
    is_open: np.ndarray | None = None,
    weights_of: np.ndarray | None = None,
    judge: Callable[[Factors], float] | None = None,
    n_jobs: int = 1,
    report: Report = silent,
) -> Factors:
    """Fit the weights to labelled sequences, without empty ones.

    Parameters
    ----------
    factors : Factors
        Templates, and the weights to start from.
    operators : ChainOperators
        Of a probabilistic model.
    tokens : Tokens
        See :func:`training_tokens`.
    labels : int array, shape (n_tokens,)
    offsets : int array, shape (n_sequences + 1,)
    n_epochs : int
        Passes over the sequences; with a ``judge`` (score on held-out data, higher is better) at most.
    is_open : bool array, shape (n_tokens,), optional
        Tokens whose label is not known: there the gradient is expected given the known labels, minus expected.
    weights_of : float array, shape (n_sequences,), optional
        What the gradients of each sequence are multiplied by.
    """
    chain, n_labels = factored_chain(operators, factors.power), tokens.possible.shape[1]
    weights = start_weights(factors.weights)
    pair_places = label_pair_places(n_labels, len(factors.weights))
    every = np.eye(n_labels)

    def gradient(number: int) -> TokenGradients | None:
        own = slice(offsets[number], offsets[number + 1])
        rows, gold = tokens.rows[own], labels[own]
        places = token_places(tokens.columns, tokens.types[own], factors.atoms, len(weights.table))
        scores = token_scores(places, tokens.possible[rows], weights.table)
        pairs = np.exp(label_pair_scores(n_labels, weights.table))
        marginals, expected, log_sum = factored_marginals(chain, tokens.vectors, rows, scores, pairs)
        if log_sum == -np.inf:
            return None
        if is_open is not None and is_open[own].any():
            known = np.where(is_open[own, None] | (every[gold] > 0), scores, -np.inf)
            found, seen, log_sum = factored_marginals(chain, tokens.vectors, rows, known, pairs)
            if log_sum == -np.inf:
                return None
        else:
            found, seen = every[gold], np.zeros_like(expected)
            np.add.at(seen, (gold[:-1], gold[1:]), 1.0)
        weight = 1.0 if weights_of is None else float(weights_of[number])
        return places, weight * (found - marginals), weight * (seen - expected)

    def step(found: TokenGradients, now: int) -> None:
        places, of_tokens, of_pairs = found
        step_tokens(places, of_tokens, weights, rate, now)
        step_tokens(pair_places, of_pairs, weights, rate, now)

    fitted = fit_weights(
        gradient,
        step,
        [weights],
        np.arange(len(offsets) - 1),
        n_epochs=n_epochs,
        rng=rng,
        judge=None if judge is None else lambda tables: judge(_with_weights(factors, tables[0])),
        n_jobs=n_jobs,
        report=report,
    )
    return _with_weights(factors, fitted.tables[0])


def _with_weights(factors: Factors, weights: np.ndarray) -> Factors:
    return Factors(factors.templates, weights, factors.power)
