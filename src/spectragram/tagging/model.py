"""The trained tagger: everything that prediction needs, and nothing else.

sequences -> observations -> marginals of every member -> distributions -> their geometric mean -> labels
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.corpus import Vocabulary
from spectragram.data.labelled import Layout
from spectragram.data.word_paths import WordPaths
from spectragram.engine import single_threaded_blas
from spectragram.errors import InputError
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.inference.labelled_chain import k_best_paths
from spectragram.learning.temperature import COLDEST, HOTTEST, tempered
from spectragram.schema import Array, Flag, Number, Part, Parts, Schema, Strings, Text, Whole
from spectragram.tagging.codebook import Codebook, stacked_frames
from spectragram.tagging.decoding import OUTSIDE, Legal, best_path, weigh_outside
from spectragram.tagging.lexicon import Lexicon
from spectragram.tagging.member import Member, as_probabilities, combine
from spectragram.tagging.sequences import Observations, encode_labels, read_observations
from spectragram.tagging.settings import DECODINGS

__all__ = ["Fixed", "Model"]

SHOWN_LABELS = 20
"""Labels that a message lists at most; more would not help to find a typing error."""
CANDIDATES = 4
"""For a list of k answers so many times k are looked at, since products of marginals order them roughly. Chosen by
hand, not tuned."""
SMALLEST = 1e-300
"""A guard against the logarithm of zero; any tiny value does."""

Fixed = Iterable[Sequence[str | Collection[str] | None]]
"""What is known about the labels of each sequence: a label, several of which one is right, or None for nothing."""


LEGAL = Schema(
    "Legal labels",
    "Which labels may begin a sequence and follow each other.",
    arrays={
        "may_follow": Array("?", ("n_labels", "n_labels"), "whether the second label may follow the first"),
        "may_start": Array("?", ("n_labels",), "whether a sequence may begin with the label"),
    },
)


def _trouble(values: Mapping[str, Any], arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> str | None:
    """What does not fit together in a file although each of its parts is right."""
    if "n_dimensions" in sizes and "codebook.prototypes" not in arrays:
        return "Gaussians without a codebook"
    if values["outside_weight"] != 1.0 and OUTSIDE not in arrays["labels"]:
        return f"a weight of the label {OUTSIDE}, which is not one of the labels"
    return None


@dataclass(frozen=True)
class Model:
    """A trained tagger.

    Attributes
    ----------
    labels : list of str
    n_columns : int
        Strings in each observation.
    lexicon : Lexicon
    legal : Legal or None
        Which labels may follow which, see :func:`~spectragram.tagging.decoding.legal_moves`.
    codebook : Codebook or None
        For frames of speech.
    decoding : str
        How labels are chosen unless a call says otherwise: ``marginal`` takes each token's best label.
    emission_weight : float
        Exponent of the likelihood of an observation.
    layout : Layout
        Where files have observations and labels, as in the training data.
    members : list of Member
        Empty for the learner ``unigram``.
    paths : WordPaths or None
        Paths of the clusters of words, which factors look at.
    outside_weight : float
        What the probability of O is multiplied by where labels are chosen for the F1 of spans.
    temperature : float
        Of the probabilities that are reported, see :meth:`calibrated`.
    sign_rule : bool
        Whether marginals of a sequence whose estimate is negative change their sign; see :func:`as_probabilities`.
    """

    labels: list[str]
    n_columns: int
    lexicon: Lexicon
    legal: Legal | None
    codebook: Codebook | None
    decoding: str
    emission_weight: float
    layout: Layout
    members: list[Member] = field(default_factory=list)
    paths: WordPaths | None = None
    outside_weight: float = 1.0
    sign_rule: bool = True
    temperature: float = 1.0

    def observe(self, X: Sequence[Any]) -> Observations:
        """Sequences as numbers; refuses other columns or frames than those of training."""
        if self.codebook is None:
            return read_observations(X, self.n_columns, self.paths)
        width, normalised = self.codebook.prototypes.shape[1], self.codebook.normalised
        return self.codebook.observe(*stacked_frames(X, width, normalised=normalised))

    def encode_fixed(self, fixed: Fixed, observed: Observations) -> np.ndarray:
        """The labels that tokens may have, bool (n_tokens, n_labels), from what is known about them."""
        listed = [list(sequence) for sequence in fixed]
        encode_labels([[None] * len(sequence) for sequence in listed], observed.offsets, Vocabulary(self.labels))
        index = {label: i for i, label in enumerate(self.labels)}
        allowed = np.ones((len(observed.tokens), len(self.labels)), bool)
        for token, known in enumerate(entry for sequence in listed for entry in sequence):
            if known is None:
                continue
            choices = {known} if isinstance(known, str) else set(known)
            unseen = choices - index.keys()
            if unseen or not choices:
                sequence = int(np.searchsorted(observed.offsets, token, side="right"))
                where = f"sequence {sequence}, token {token - observed.offsets[sequence - 1] + 1}"
                problem = f"the fixed label {min(unseen)!r} was not seen in training" if unseen else "no label is left"
                raise InputError(f"{where}: {problem}", remedy=f"choose among {', '.join(self.labels[:SHOWN_LABELS])}")
            allowed[token] = False
            allowed[token, [index[label] for label in choices]] = True
        return allowed

    def probabilities(
        self, observed: Observations, *, allowed: np.ndarray | None = None, n_jobs: int | None = 1
    ) -> tuple[np.ndarray, dict[str, int]]:
        """Distributions over labels (n_tokens, n_labels), and how many marginals had to be repaired.

        ``allowed`` as :meth:`encode_fixed` returns it.
        """
        nodes = self.lexicon.nodes(observed)
        alone = self.lexicon.label_probabilities(nodes)[observed.tokens]
        found, repaired = [], Counter(negative=0, fallbacks=0)
        with single_threaded_blas():
            for member in self.members:
                signed = member.marginals(
                    self.lexicon, observed, weight=self.emission_weight, allowed=allowed, nodes=nodes, n_jobs=n_jobs
                )
                probabilities, counts = as_probabilities(signed, alone, sign_rule=self.sign_rule)
                found.append(probabilities)
                repaired.update(counts)
        combined = combine(found) if found else alone
        return combined if allowed is None else _within(combined, allowed), dict(repaired)

    def calibrated(self, probabilities: np.ndarray) -> np.ndarray:
        """The probabilities (n_tokens, n_labels) that are reported; labels are chosen by those before."""
        return tempered(probabilities, self.temperature)

    def decode(
        self, probabilities: np.ndarray, offsets: np.ndarray, *, allowed: np.ndarray | None, decoding: str
    ) -> np.ndarray:
        """Numbers of the labels chosen, (n_tokens,)."""
        if decoding in ("auto", "f1"):
            probabilities = weigh_outside(probabilities, self.labels, self.outside_weight)
        return best_path(probabilities, offsets, None if decoding == "marginal" else self.legal, allowed)

    def log_probs(
        self, observed: Observations, labels: np.ndarray, allowed: np.ndarray | None, n_jobs: int | None = 1
    ) -> np.ndarray:
        """log p(labels | tokens) of every sequence, (n_sequences,), with labels (n_tokens,), among those allowed.

        The mean over members of the probability that each gives to the whole sequence of labels: the sum over its
        hidden states, divided by that over all labels.
        """
        every = np.eye(len(self.labels), dtype=bool)[labels]
        nodes = self.lexicon.nodes(observed)
        if not self.members:
            alone = self.lexicon.label_probabilities(nodes)[observed.tokens]
            alone = alone if allowed is None else _within(alone, allowed)
            logs = np.log(np.maximum(alone[np.arange(len(labels)), labels], SMALLEST))
            return np.add.reduceat(np.append(logs, 0.0), observed.offsets[:-1]) * (np.diff(observed.offsets) > 0)
        found = []
        with single_threaded_blas():
            for member in self.members:
                weight = self.emission_weight
                marginals, of_all = member.solve(
                    self.lexicon, observed, weight=weight, allowed=allowed, nodes=nodes, n_jobs=n_jobs
                )
                _, own = member.solve(self.lexicon, observed, weight=weight, allowed=every, nodes=nodes, n_jobs=n_jobs)
                # A label that the lexicon finds impossible has a weight when it is asked for, but none in the sum.
                impossible = marginals[np.arange(len(labels)), labels] == 0.0
                own[np.repeat(np.arange(len(observed)), np.diff(observed.offsets))[impossible]] = -np.inf
                found.append(np.minimum(np.where(np.isfinite(own), own - of_all, -np.inf), 0.0))
        return np.logaddexp.reduce(found, axis=0) - np.log(len(found))

    def kbest(
        self, observed: Observations, k: int, *, allowed: np.ndarray | None, decoding: str, n_jobs: int | None = 1
    ) -> tuple[list[list[tuple[np.ndarray, float]]], dict[str, int]]:
        """Up to ``k`` sequences of labels for each sequence, most probable first, with their log-probabilities.

        Candidates are those with the highest products of marginals that are well formed, if the decoding asks for
        that. Also how many marginals had to be repaired.
        """
        probabilities, repaired = self.probabilities(observed, allowed=allowed, n_jobs=n_jobs)
        n_labels = len(self.labels)
        legal = None if decoding == "marginal" else self.legal
        anything = np.ones((n_labels, n_labels), bool), np.ones(n_labels, bool)
        with np.errstate(divide="ignore"):
            logs = np.log(probabilities)
        candidates = []
        for begin, end in pairwise(observed.offsets.tolist()):
            own = np.ascontiguousarray(logs[begin:end])
            paths = np.zeros((1, 0), np.int32)
            if end > begin:
                paths, _ = k_best_paths(own, *(legal or anything), CANDIDATES * k)
                if not len(paths):
                    paths, _ = k_best_paths(own, *anything, CANDIDATES * k)
            candidates.append(paths)
        numbers = np.repeat(np.arange(len(observed)), [len(paths) for paths in candidates])
        repeated, rows = observed.select(numbers)
        flat = np.concatenate([paths.ravel() for paths in candidates]) if candidates else np.zeros(0, np.int32)
        values = self.log_probs(repeated, flat, None if allowed is None else allowed[rows], n_jobs)
        found, start = [], 0
        for paths in candidates:
            own_values = values[start : start + len(paths)]
            order = np.argsort(-own_values, kind="stable")[:k]
            found.append([(paths[i], float(own_values[i])) for i in order])
            start += len(paths)
        return found, repaired

    SCHEMA: ClassVar[Schema] = Schema(
        "Tagger",
        "A lexicon and the members of an ensemble.",
        values={
            "n_columns": Whole("strings in each observation", least=1, below=2**20),
            "decoding": Text("how labels are chosen", choices=DECODINGS),
            "emission_weight": Number("exponent of the likelihood of an observation", most=100.0),
            "outside_weight": Number("what the probability of O is multiplied by in decoding", least=0.0, most=1.0),
            "members": Whole("how many members there are", size="n_members"),
            "sign_rule": Flag("whether marginals that sum to less than zero change their sign; yes if missing"),
            "temperature": Number("of the probabilities that are reported; 1 if missing", least=COLDEST, most=HOTTEST),
            "normalised": Flag("whether frames are normalised within each utterance; yes if missing"),
        },
        optional=("sign_rule", "temperature", "normalised"),
        arrays={"labels": Strings("n_labels", "the labels", distinct=True)},
        parts={
            "layout": Part(Layout.SCHEMA),
            "lexicon": Part(Lexicon.SCHEMA, {"n_labels": "n_labels", "n_cells": "n_cells"}),
            "member": Parts(
                Member.SCHEMA,
                "n_members",
                {"n_labels": "n_labels", "n_cells": "n_cells", "n_dimensions": "n_dimensions"},
            ),
            "legal": Part(LEGAL, {"n_labels": "n_labels"}, values=None, optional=True),
            "codebook": Part(Codebook.SCHEMA, {"n_dimensions": "n_dimensions"}, values=None, optional=True),
            "paths": Part(WordPaths.SCHEMA, values=None, optional=True),
        },
        rule=_trouble,
    )

    def to_state(self) -> State:
        """Plain values and arrays, for model files."""
        lexicon, arrays = self.lexicon.to_state()
        arrays = prefixed("lexicon", arrays) | {"labels": self.labels}
        for i, member in enumerate(self.members):
            arrays |= prefixed(f"member{i}", member.to_arrays())
        if self.legal is not None:
            arrays |= prefixed("legal", {"may_follow": self.legal[0], "may_start": self.legal[1]})
        if self.paths is not None:
            arrays |= prefixed("paths", self.paths.to_state()[1])
        if self.codebook is not None:
            arrays |= prefixed("codebook", {"prototypes": self.codebook.prototypes})
        values = {
            "n_columns": self.n_columns,
            "decoding": self.decoding,
            "emission_weight": self.emission_weight,
            "outside_weight": self.outside_weight,
            "layout": self.layout.to_state()[0],
            "lexicon": lexicon,
            "members": len(self.members),
        }
        if not self.sign_rule:
            values["sign_rule"] = False
        if self.temperature != 1.0:
            values["temperature"] = self.temperature
        if self.codebook is not None and not self.codebook.normalised:
            values["normalised"] = False
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; ``ValueError`` or ``KeyError`` for what does not fit together."""
        labels = list(arrays["labels"])
        lexicon = Lexicon.from_state(values["lexicon"], without_prefix("lexicon", arrays))
        members = [Member.from_arrays(without_prefix(f"member{i}", arrays)) for i in range(values["members"])]
        legal = without_prefix("legal", arrays)
        codebook = without_prefix("codebook", arrays)
        paths = without_prefix("paths", arrays)
        if lexicon.n_labels != len(labels) or any(len(m.emissions.starts) != len(labels) + 1 for m in members):
            raise ValueError("labels and members do not fit together")
        if any(m.factors is not None and m.factors.n_columns > int(values["n_columns"]) for m in members):
            raise ValueError("factors look at columns that observations do not have")
        if not lexicon.has_columns(int(values["n_columns"])):
            raise ValueError("observations of the lexicon lack columns")
        return cls(
            labels,
            int(values["n_columns"]),
            lexicon,
            (legal["may_follow"], legal["may_start"]) if legal else None,
            Codebook(codebook["prototypes"], bool(values.get("normalised", True))) if codebook else None,
            str(values["decoding"]),
            float(values["emission_weight"]),
            Layout.from_state(values["layout"]),
            members,
            WordPaths.from_state({}, paths) if paths else None,
            float(values["outside_weight"]),
            bool(values.get("sign_rule", True)),
            float(values.get("temperature", 1.0)),
        )


def _within(probabilities: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Distributions (n, l) over the allowed labels only; even ones where no allowed label has any probability."""
    kept = probabilities * allowed
    lost = ~(kept.sum(axis=1) > 0)
    kept[lost] = allowed[lost]
    return kept / kept.sum(axis=1, keepdims=True)
