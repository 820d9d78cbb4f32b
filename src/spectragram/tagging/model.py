"""The trained tagger: everything that prediction needs, and nothing else.

sequences -> observations -> marginals of every member -> distributions -> their geometric mean -> labels
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from spectragram.data.corpus import Vocabulary
from spectragram.data.labelled import Layout
from spectragram.engine import single_threaded_blas
from spectragram.errors import InputError
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.tagging.codebook import Codebook, stacked_frames
from spectragram.tagging.decoding import Legal, best_path
from spectragram.tagging.lexicon import Lexicon
from spectragram.tagging.member import Member, as_probabilities, combine
from spectragram.tagging.sequences import Observations, encode_labels, read_observations

__all__ = ["Model"]

SHOWN_LABELS = 20
"""Labels that a message lists at most; more would not help to find a typing error."""


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

    def observe(self, X: Sequence[Any]) -> Observations:
        """Sequences as numbers; refuses other columns or frames than those of training."""
        if self.codebook is None:
            return read_observations(X, self.n_columns)
        return self.codebook.observe(*stacked_frames(X, self.codebook.prototypes.shape[1]))

    def encode_fixed(self, fixed: Iterable[Sequence[str | None]], observed: Observations) -> np.ndarray:
        """Numbers of the labels that are known, -1 for the others: (n_tokens,)."""
        listed = [list(sequence) for sequence in fixed]
        labels, _ = encode_labels(listed, observed.offsets, Vocabulary(self.labels))
        unseen = {label for sequence in listed for label in sequence if label is not None} - set(self.labels)
        if unseen:
            raise InputError(
                f"the fixed label {min(unseen)!r} was not seen in training",
                remedy=f"choose among {', '.join(self.labels[:SHOWN_LABELS])}",
            )
        return labels

    def probabilities(
        self, observed: Observations, *, fixed: np.ndarray | None = None, n_jobs: int | None = 1
    ) -> tuple[np.ndarray, dict[str, int]]:
        """Distributions over labels (n_tokens, n_labels), and how many marginals had to be repaired.

        ``fixed`` as :meth:`encode_fixed` returns it.
        """
        nodes = self.lexicon.nodes(observed)
        alone = self.lexicon.label_probabilities(nodes)[observed.tokens]
        found, repaired = [], Counter(negative=0, fallbacks=0)
        with single_threaded_blas():
            for member in self.members:
                signed = member.marginals(
                    self.lexicon, observed, weight=self.emission_weight, fixed=fixed, nodes=nodes, n_jobs=n_jobs
                )
                probabilities, counts = as_probabilities(signed, alone)
                found.append(probabilities)
                repaired.update(counts)
        combined = combine(found) if found else alone
        if fixed is not None:
            known = np.flatnonzero(fixed >= 0)
            combined[known] = np.eye(len(self.labels))[fixed[known]]
        return combined, dict(repaired)

    def decode(
        self, probabilities: np.ndarray, offsets: np.ndarray, *, fixed: np.ndarray | None, decoding: str
    ) -> np.ndarray:
        """Numbers of the labels chosen, (n_tokens,)."""
        return best_path(probabilities, offsets, None if decoding == "marginal" else self.legal, fixed)

    def to_state(self) -> State:
        """Plain values and arrays, for model files."""
        lexicon, arrays = self.lexicon.to_state()
        arrays = prefixed("lexicon", arrays) | {"labels": self.labels}
        for i, member in enumerate(self.members):
            arrays |= prefixed(f"member{i}", member.to_arrays())
        if self.legal is not None:
            arrays |= prefixed("legal", {"may_follow": self.legal[0], "may_start": self.legal[1]})
        if self.codebook is not None:
            arrays |= prefixed("codebook", {"prototypes": self.codebook.prototypes})
        values = {
            "n_columns": self.n_columns,
            "decoding": self.decoding,
            "emission_weight": self.emission_weight,
            "layout": self.layout.to_state()[0],
            "lexicon": lexicon,
            "members": len(self.members),
        }
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; ``ValueError`` or ``KeyError`` for what does not fit together."""
        labels = list(arrays["labels"])
        lexicon = Lexicon.from_state(values["lexicon"], without_prefix("lexicon", arrays))
        members = [Member.from_arrays(without_prefix(f"member{i}", arrays)) for i in range(values["members"])]
        legal = without_prefix("legal", arrays)
        codebook = without_prefix("codebook", arrays)
        if lexicon.n_labels != len(labels) or any(len(m.emissions.starts) != len(labels) + 1 for m in members):
            raise ValueError("labels and members do not fit together")
        if any(m.factors is not None and m.factors.n_columns > int(values["n_columns"]) for m in members):
            raise ValueError("factors look at columns that observations do not have")
        return cls(
            labels,
            int(values["n_columns"]),
            lexicon,
            (legal["may_follow"], legal["may_start"]) if legal else None,
            Codebook(**codebook) if codebook else None,
            str(values["decoding"]),
            float(values["emission_weight"]),
            Layout.from_state(values["layout"]),
            members,
        )
