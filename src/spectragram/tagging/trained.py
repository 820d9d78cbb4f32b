"""All that training leaves behind: how to read sequences, what each member says about them, which labels may follow.

sequences -> observations -> marginals of every member -> distributions -> their geometric mean -> labels
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spectragram.data.vocabulary import Vocabulary
from spectragram.engine import single_threaded_blas
from spectragram.errors import InputError
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.inference.labelled_chain import best_legal_path
from spectragram.tagging.codebook import Codebook, stacked_frames
from spectragram.tagging.lexicon import Lexicon
from spectragram.tagging.model import Member, as_probabilities, combine
from spectragram.tagging.sequences import Observation, Observations, encode_labels, read_observations

__all__ = ["Sequences", "Trained"]

Sequences = Sequence[Sequence[str | Observation]] | Sequence[np.ndarray]
"""Tokens are strings or tuples of strings; or each sequence is a matrix of frames."""


@dataclass(frozen=True)
class Trained:
    """A trained tagger.

    Attributes
    ----------
    labels : list of str
    n_columns : int
        Strings in each observation.
    lexicon : Lexicon
    legal : (bool array (n_labels, n_labels), bool array (n_labels,)) or None
        Which labels may follow which and which may begin, see :func:`~spectragram.tagging.decoding.legal_moves`.
    codebook : Codebook or None
        For frames.
    members : list of Member
        Empty for the learner ``unigram``.
    """

    labels: list[str]
    n_columns: int
    lexicon: Lexicon
    legal: tuple[np.ndarray, np.ndarray] | None
    codebook: Codebook | None
    members: list[Member]

    def observe(self, X: Sequences) -> Observations:
        """Sequences as numbers; refuses other columns or frames than those of training."""
        if self.codebook is None:
            return read_observations(X, self.n_columns)  # type: ignore[arg-type]
        frames = stacked_frames(X, self.codebook.prototypes.shape[1])  # type: ignore[arg-type]
        return self.codebook.observe(*frames)

    def encode_fixed(self, fixed: Iterable[Sequence[str | None]], observed: Observations) -> np.ndarray:
        """Numbers of the labels that are known, -1 for the others: (n_tokens,)."""
        listed = [list(sequence) for sequence in fixed]
        labels, _ = encode_labels(listed, observed.offsets, Vocabulary(self.labels))  # type: ignore[arg-type]
        unseen = {label for sequence in listed for label in sequence if label is not None} - set(self.labels)
        if unseen:
            raise InputError(
                f"the fixed label {min(unseen)!r} was not seen in training",
                remedy=f"choose among {', '.join(self.labels[:20])}",
            )
        return labels

    def probabilities(
        self, observed: Observations, *, weight: float = 1.0, fixed: np.ndarray | None = None, n_jobs: int = 1
    ) -> tuple[np.ndarray, int]:
        """Marginals of all tokens as distributions (n_tokens, n_labels), and how many were negative.

        ``weight`` is the exponent of what an observation says; ``fixed`` as :meth:`encode_fixed` gives it.
        """
        alone = self.lexicon.label_probabilities(self.lexicon.nodes(observed))[observed.tokens]
        found, n_negative = [], 0
        with single_threaded_blas():
            for member in self.members:
                signed = member.marginals(self.lexicon, observed, weight=weight, fixed=fixed, n_jobs=n_jobs)
                probabilities, n = as_probabilities(signed, alone)
                found.append(probabilities)
                n_negative += n
        combined = combine(found) if found else alone
        if fixed is not None:
            known = np.flatnonzero(fixed >= 0)
            combined[known] = np.eye(len(self.labels))[fixed[known]]
        return combined, n_negative

    def best_path(self, probabilities: np.ndarray, offsets: np.ndarray, fixed: np.ndarray | None) -> np.ndarray:
        """The best well-formed labels, or simply each token's best where labels mark no spans: (n_tokens,)."""
        if self.legal is None:
            return probabilities.argmax(axis=1)
        if fixed is None:
            return best_legal_path(offsets, probabilities, *self.legal)
        # What the user knows stands, even where it breaks a rule; the rest follows it as well as the rules allow.
        known = fixed >= 0
        path = best_legal_path(offsets, probabilities + (len(fixed) * probabilities * known[:, None]), *self.legal)
        return np.where(known, fixed, path)

    def to_state(self) -> State:
        """Plain values and arrays, for model files."""
        values, arrays = self.lexicon.to_state()
        arrays = prefixed("lexicon", arrays)
        for i, member in enumerate(self.members):
            arrays |= prefixed(f"member{i}", member.to_arrays())
        if self.legal is not None:
            arrays |= prefixed("legal", {"may_follow": self.legal[0], "may_start": self.legal[1]})
        if self.codebook is not None:
            arrays |= prefixed("codebook", {"prototypes": self.codebook.prototypes})
        state = {"lexicon": values, "labels": self.labels, "n_columns": self.n_columns, "members": len(self.members)}
        return state, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Inverse of :meth:`to_state`; ``ValueError`` or ``KeyError`` for what does not fit together."""
        labels = list(values["labels"])
        lexicon = Lexicon.from_state(values["lexicon"], without_prefix("lexicon", arrays))
        members = [Member.from_arrays(without_prefix(f"member{i}", arrays)) for i in range(values["members"])]
        legal = without_prefix("legal", arrays)
        codebook = without_prefix("codebook", arrays)
        if lexicon.n_labels != len(labels) or any(len(m.emissions.starts) != len(labels) + 1 for m in members):
            raise ValueError("labels and members do not fit together")
        return cls(
            labels,
            int(values["n_columns"]),
            lexicon,
            (legal["may_follow"], legal["may_start"]) if legal else None,
            Codebook(**codebook) if codebook else None,
            members,
        )
