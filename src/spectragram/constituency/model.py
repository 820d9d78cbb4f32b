"""A trained parser: everything that parsing needs, and how model files hold it.

Model     the grammars of a parser, one for each binarisation, and the decoder
Grammar   the rules of one binarisation, a coarse PCFG and a small model that prune, and the members of the ensemble
Member    weights for the rules and words of a grammar: one model with hidden states
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from spectragram.constituency.brackets import LabelSet
from spectragram.constituency.lexicon import Lexicon, WordTable
from spectragram.constituency.settings import DECODERS
from spectragram.data.binarization import base_label, is_intermediate
from spectragram.data.productions import Productions
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.inference.chart_rules import (
    Operators,
    Rules,
    Weights,
    layout,
    make_operators,
    make_rules,
    make_weights,
)

__all__ = ["Grammar", "Member", "Model", "Thresholds", "rules_of"]

OPERATORS = ("binary", "unary", "kept", "root")
LEXICON = ("values", "divisor", "mean")


def rules_of(productions: Productions) -> Rules:
    """The binary and unary rules of a treebank, sorted for the chart."""
    return make_rules(productions.binary, productions.unary[:, :2], productions.n_symbols)


class Thresholds(NamedTuple):
    """Smallest posteriors that pruning keeps, after the coarse and after the middle pass.

    Chosen by hand, not tuned: larger values are faster and lose more parses. For a plain PCFG 1e-4 to 1e-5 is usual.
    """

    coarse: float = 3e-5
    middle: float = 1e-4


@dataclass(frozen=True)
class Member:
    """A grammar with hidden states: operators for its rules, vectors for its words."""

    operators: Operators
    lexicon: Lexicon

    def rounded(self) -> Member:
        """The same member with weights in single precision.

        Model files hold single precision: half the size, and as exact as counting is. Rounding at the end of training
        makes a model in memory equal to the one that is loaded.
        """
        lexicon = self.lexicon
        values, divisor, mean = (
            part.astype(np.float32).astype(np.float64) for part in (lexicon.values, lexicon.divisor, lexicon.mean)
        )
        return Member(self.operators.rounded(), Lexicon(lexicon.table, values, divisor, mean, lexicon.smooth))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The weights in single precision, by name."""
        weights = {name: getattr(self.operators, name) for name in OPERATORS}
        weights |= {name: getattr(self.lexicon, name) for name in LEXICON}
        arrays = {name: part.astype(np.float32) for name, part in weights.items()}
        return arrays | {"n_states": self.operators.n_states, "smooth": np.array([self.lexicon.smooth])}

    @classmethod
    def from_arrays(cls, rules: Rules, words: WordTable, arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_arrays`; raises ``ValueError`` for sizes that do not fit the rules."""
        n_states = np.asarray(arrays["n_states"], np.int32)
        if n_states.shape != (rules.n_symbols,) or (n_states < 1).any():
            raise ValueError("numbers of states that do not fit the grammar")
        state_start, binary_start, unary_start = layout(rules, n_states)
        starts = (binary_start, unary_start, state_start, state_start)
        for name, start in zip(OPERATORS, starts, strict=True):
            if arrays[name].shape != (start[-1],):
                raise ValueError(f"'{name}' has the shape {arrays[name].shape}, not ({start[-1]},)")
        wide = {name: np.asarray(arrays[name], np.float64) for name in OPERATORS + LEXICON}
        operators = make_operators(rules, n_states, *(wide[name] for name in OPERATORS))
        smooth = float(np.asarray(arrays["smooth"]).ravel()[0])
        return cls(operators, Lexicon(words, wide["values"], wide["divisor"], wide["mean"], smooth))


@dataclass(frozen=True)
class Grammar:
    """One binarisation of the treebank.

    Attributes
    ----------
    productions : Productions
    rules : Rules
        Those of ``productions``, see :func:`rules_of`.
    labels : LabelSet
        The same for all grammars of a model.
    coarse : Member
        A plain PCFG (one state per symbol), which prunes the whole chart.
    middle : Member
        A model with few states, which prunes again.
    members : tuple of Member
        The models of the ensemble that have this binarisation.
    thresholds : Thresholds
    weights : Weights
        The coarse PCFG as the chart reads it.
    label_maps : three int32 arrays
        The label that a symbol shows in trees, (n_symbols,), -1 for none; and where the labels that each unary rule
        shows begin, (n_unary + 1,), in a list of all of them.
    """

    productions: Productions
    rules: Rules
    labels: LabelSet
    coarse: Member
    middle: Member
    members: tuple[Member, ...]
    thresholds: Thresholds = field(default_factory=Thresholds)
    weights: Weights = field(init=False, repr=False)
    label_maps: tuple[np.ndarray, np.ndarray, np.ndarray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        plain = self.coarse.operators
        weights = make_weights(self.rules, plain.binary, plain.unary, plain.kept, plain.root)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "label_maps", _label_maps(self.productions, self.labels))

    def to_state(self) -> State:
        """Values and arrays of the grammar, without its labels and words, which all grammars of a model share."""
        productions, rules = self.productions.to_state()
        values = {"productions": productions, "thresholds": list(self.thresholds), "n_members": len(self.members)}
        arrays = prefixed("rules", rules)
        arrays |= prefixed("coarse", self.coarse.to_arrays()) | prefixed("middle", self.middle.to_arrays())
        for number, member in enumerate(self.members):
            arrays |= prefixed(f"member{number}", member.to_arrays())
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any], labels: LabelSet, words: WordTable) -> Self:
        """Inverse of :meth:`to_state`."""
        productions = Productions.from_state(values["productions"], without_prefix("rules", arrays))
        rules = rules_of(productions)
        names = ["coarse", "middle", *(f"member{number}" for number in range(int(values["n_members"])))]
        coarse, middle, *members = (Member.from_arrays(rules, words, without_prefix(name, arrays)) for name in names)
        if not members:
            raise ValueError("a grammar without members")
        return cls(productions, rules, labels, coarse, middle, tuple(members), Thresholds(*values["thresholds"]))


def _label_maps(productions: Productions, labels: LabelSet) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """See :class:`Grammar`."""
    index = labels.phrase_index
    shown = np.full(productions.n_symbols, -1, np.int32)
    for a in range(productions.n_tags, productions.n_symbols):
        if not is_intermediate(productions.labels[a]):
            shown[a] = index[base_label(productions.labels[a])]
    chains = [
        [shown[upper], *(index[base_label(label)] for label in productions.chains[chain])]
        for upper, _, chain in productions.unary
    ]
    start = np.concatenate([[0], np.cumsum([len(chain) for chain in chains])]).astype(np.int32)
    return shown, start, np.array([label for chain in chains for label in chain], np.int32)


@dataclass(frozen=True)
class Model:
    """A trained parser.

    Attributes
    ----------
    grammars : tuple of Grammar
        At least one.
    decoder : str
        The decoder that is used unless another one is asked for; one of ``DECODERS``.
    probabilistic : bool
        Whether the members are probability distributions. Those of the learner ``spectral`` are not: their values can
        be negative.
    """

    grammars: tuple[Grammar, ...]
    decoder: str
    probabilistic: bool

    @property
    def labels(self) -> LabelSet:
        """The labels of trees."""
        return self.grammars[0].labels

    @property
    def words(self) -> WordTable:
        """The words of the treebank."""
        return self.grammars[0].coarse.lexicon.table

    def to_state(self) -> State:
        """Plain values, and named arrays and lists of strings, for a model file."""
        labels, label_arrays = self.labels.to_state()
        words, word_arrays = self.words.to_state()
        arrays = prefixed("labels", label_arrays) | prefixed("words", word_arrays)
        grammars = []
        for number, grammar in enumerate(self.grammars):
            values, part = grammar.to_state()
            grammars.append(values)
            arrays |= prefixed(f"grammar{number}", part)
        shared = {"decoder": self.decoder, "probabilistic": self.probabilistic, "labels": labels, "words": words}
        return shared | {"grammars": grammars}, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`; raises ``KeyError`` or ``ValueError`` for what does not fit together."""
        if values["decoder"] not in DECODERS or not values["grammars"]:
            raise ValueError("an unknown decoder, or no grammar")
        labels = LabelSet.from_state(values["labels"], without_prefix("labels", arrays))
        words = WordTable.from_state(values["words"], without_prefix("words", arrays))
        grammars = tuple(
            Grammar.from_state(state, without_prefix(f"grammar{number}", arrays), labels, words)
            for number, state in enumerate(values["grammars"])
        )
        return cls(grammars, values["decoder"], bool(values["probabilistic"]))
