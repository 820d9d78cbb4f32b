"""A trained parser: everything that parsing needs, and how model files hold it.

Model     the grammars of a parser, one for each binarisation, the factors beside them, and the decoder
Grammar   the rules of one binarisation, a coarse PCFG and a small model that prune, and the members of the ensemble
Member    weights for the rules and words of a grammar: one model with hidden states
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.constituency.brackets import LabelSet
from spectragram.constituency.factors import Factors
from spectragram.constituency.guides import Guide
from spectragram.constituency.lexicon import Lexicon, WordTable
from spectragram.constituency.rule_factors import RuleFactors
from spectragram.constituency.rule_numbers import RuleNumbers
from spectragram.constituency.settings import DECODERS, Thresholds
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
from spectragram.learning.temperature import COLDEST, HOTTEST
from spectragram.schema import Array, Flag, ListOf, Number, Part, Parts, Schema, Text, Whole

__all__ = ["Grammar", "Member", "Model", "Thresholds", "rules_of"]

OPERATORS = ("binary", "unary", "kept", "root")
SMALLEST_DIVISOR = 1e-30
"""Divisors are positive; smaller ones would make infinite vectors."""
OF_MEMBER = {name: name for name in ("n_tags", "n_symbols", "n_rows")}
"""Sizes that members share with their grammar."""
LEXICON = ("values", "divisor", "mean")
WORDS_AT_A_TIME = 256
"""Words whose vectors are computed together, a few megabytes. Chosen by hand."""


def rules_of(productions: Productions) -> Rules:
    """The binary and unary rules of a treebank, sorted for the chart."""
    return make_rules(productions.binary, productions.unary[:, :2], productions.n_symbols)


def _states_fit(values: Mapping[str, Any], arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> str | None:
    """Whether vectors of words and of symbols are as long as there are states."""
    n_states = arrays["n_states"]
    if n_states[: sizes["n_tags"]].max(initial=1) > sizes["width"]:
        return "array 'n_states' gives a tag more states than array 'values' has columns"
    if n_states.sum() != sizes["n_all_states"]:
        return f"array 'kept' has {sizes['n_all_states']} entries for {n_states.sum()} states"
    return None


def _grammar_fits(values: Mapping[str, Any], arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> str | None:
    """Whether the weights of rules are as many as the states of their symbols make."""
    for name in ("coarse", "middle", *(f"member{number}" for number in range(sizes["n_members"]))):
        n_states = arrays[f"{name}.n_states"].astype(np.int64)
        if name == "coarse" and (n_states != 1).any():
            return "array 'coarse.n_states' is not 1 for every symbol"
        for kind, columns in (("binary", 3), ("unary", 2)):
            wanted = n_states[arrays[f"rules.{kind}"][:, :columns]].prod(axis=1).sum()
            if len(arrays[f"{name}.{kind}"]) != wanted:
                return f"array '{name}.{kind}' has {len(arrays[f'{name}.{kind}'])} weights, not {wanted}"
    return None


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

    SCHEMA: ClassVar[Schema] = Schema(
        "Member of a grammar",
        "Weights of rules, and vectors of words, for every hidden state.",
        arrays={
            "n_states": Array("i4", ("n_symbols",), "hidden states of each symbol", least=1, most=2**15),
            "binary": Array("f4", ("n_binary_weights",), "a tensor for each binary rule: parent, left, right"),
            "unary": Array("f4", ("n_unary_weights",), "a matrix for each unary rule: parent, child"),
            "kept": Array("f4", ("n_all_states",), "weights of nodes without a unary rule"),
            "root": Array("f4", ("n_all_states",), "weights at the root"),
            "values": Array("f4", ("n_rows", "width"), "sums over the tokens of each row of the table of words"),
            "divisor": Array(
                "f4", ("n_tags", "width"), "what they are divided by; infinite beyond the states of a tag",
                least=SMALLEST_DIVISOR, any_float=True,
            ),
            "mean": Array("f4", ("n_tags", "width"), "the vector of a token about which nothing is known"),
            "smooth": Array("f8", (1,), "share of a vector that does not depend on the word", least=0, most=1),
        },
        rule=_states_fit,
    )  # fmt: skip

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
        operators = make_operators(rules, n_states, *(wide[name] for name in OPERATORS)).rounded()
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

    @cached_property
    def link_chains(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """The labels that each kept symbol, and each unary rule with its child, shows over a span, top first.

        Rules are in the order of ``rules.by_child``.
        """
        shown, start, chains = self.label_maps
        kept: list[tuple[int, ...]] = [(label,) if label >= 0 else () for label in shown.tolist()]
        unary = [
            (*chains[start[u] : start[u + 1]].tolist(), *kept[self.rules.unary[u, 1]])
            for u in self.rules.by_child[:, 1].tolist()
        ]
        return kept, unary

    @cached_property
    def shown_labels(self) -> tuple[list[list[str]], list[list[str]]]:
        """The names of the labels that each kept symbol, and each unary rule with its child, shows over a span.

        Unlike those of :attr:`link_chains`, rules are in their own order.
        """
        shown, start, chains = self.label_maps
        names = self.labels.phrases
        kept = [[names[label]] if label >= 0 else [] for label in shown.tolist()]
        lower = self.rules.unary[:, 1].tolist()
        unary = [[*(names[a] for a in chains[start[u] : start[u + 1]]), *kept[b]] for u, b in enumerate(lower)]
        return kept, unary

    @cached_property
    def numbers(self) -> RuleNumbers:
        """Numbers of symbols and rules, as factors of rules know them."""
        return RuleNumbers.of(self.productions)

    def guide_from(self, first: Grammar) -> Guide | None:
        """How forests of another grammar guide this one's chart, or None if they cannot; the last answer is kept."""
        known = self.__dict__.get("_guide")
        if known is None or known[0] is not first.productions:
            known = first.productions, Guide.between(first.productions, self.productions, self.rules)
            self.__dict__["_guide"] = known
        return known[1]

    @cached_property
    def link_labels(self) -> tuple[np.ndarray, np.ndarray]:
        """The same as sets: bool (n_symbols, n_phrases) and (n_unary, n_phrases)."""
        found = []
        for chains in self.link_chains:
            table = np.zeros((len(chains), len(self.labels.phrases)), bool)
            rows = np.repeat(np.arange(len(chains)), [len(chain) for chain in chains])
            table[rows, [label for chain in chains for label in chain]] = True
            found.append(table)
        return found[0], found[1]

    SCHEMA: ClassVar[Schema] = Schema(
        "Grammar",
        "One binarisation of the treebank: a plain grammar, one with few states, and the members of the ensemble.",
        values={
            "thresholds": ListOf(Number(most=1.0), "smallest posteriors that pruning keeps", size=2),
            "n_members": Whole("how many members there are", least=1, size="n_members"),
            "likely_tags": Number("smallest value of a tag, as a share of the best one; 1e-5 if missing", most=1.0),
        },
        optional=("likely_tags",),
        parts={
            "rules": Part(Productions.SCHEMA, {"n_tags": "n_tags", "n_symbols": "n_symbols"}, values="productions"),
            "coarse": Part(Member.SCHEMA, OF_MEMBER, values=None),
            "middle": Part(Member.SCHEMA, OF_MEMBER, values=None),
            "member": Parts(Member.SCHEMA, "n_members", OF_MEMBER),
        },
        rule=_grammar_fits,
    )

    def to_state(self) -> State:
        """Values and arrays of the grammar, without its labels and words, which all grammars of a model share."""
        productions, rules = self.productions.to_state()
        values = {"productions": productions, "thresholds": list(self.thresholds)[:2], "n_members": len(self.members)}
        if self.thresholds.tags != Thresholds().tags:
            values["likely_tags"] = self.thresholds.tags
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
        thresholds = Thresholds(*values["thresholds"])
        thresholds = thresholds._replace(tags=values.get("likely_tags", thresholds.tags))
        return cls(productions, rules, labels, coarse, middle, tuple(members), thresholds)


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
    absolute : bool
        Whether ``goodman`` adds up absolute values of marginals; if not, it adds them up as they are.
    factors : Factors or None
        What multiplies the odds of brackets.
    rule_factors : RuleFactors or None
        What weighs whole derivations; only beside ``factors``.
    temperature : float
        Reported probabilities are those of the grammars and factors at this temperature, which changes no tree.
    """

    grammars: tuple[Grammar, ...]
    decoder: str
    probabilistic: bool
    absolute: bool = True
    factors: Factors | None = None
    rule_factors: RuleFactors | None = None
    temperature: float = 1.0

    @property
    def labels(self) -> LabelSet:
        """The labels of trees."""
        return self.grammars[0].labels

    @property
    def words(self) -> WordTable:
        """The words of the treebank."""
        return self.grammars[0].coarse.lexicon.table

    def prepare(self, sentences: Sequence[Sequence[str]]) -> None:
        """Compute the vectors of all words of some sentences that are not known yet; parsing would do so one by one."""
        types = {(word, i == 0) for words in sentences for i, word in enumerate(words)}
        for grammar in self.grammars:
            lexicons = [member.lexicon for member in (grammar.coarse, grammar.middle, *grammar.members)]
            table = lexicons[0].table
            for initial in (False, True):
                new = [word for word, first in types if first == initial and not lexicons[0].knows(word, initial)]
                for part in (new[start : start + WORDS_AT_A_TIME] for start in range(0, len(new), WORDS_AT_A_TIME)):
                    nodes, tags = table.nodes(part, initial), [table.certain_tags(word) for word in part]
                    for lexicon in lexicons:
                        lexicon.prepare(part, initial, nodes, tags)

    SCHEMA: ClassVar[Schema] = Schema(
        "Constituency parser",
        "Grammars over the same labels and words.",
        values={
            "decoder": Text("how trees are chosen", choices=DECODERS),
            "probabilistic": Flag("whether the members are probability distributions"),
            "absolute": Flag("whether goodman adds up absolute values of marginals; it does if it is missing"),
            "temperature": Number("of the probabilities that are reported; 1 if missing", least=COLDEST, most=HOTTEST),
        },
        optional=("absolute", "temperature"),
        parts={
            "labels": Part(LabelSet.SCHEMA, {"n_tags": "n_tags"}),
            "words": Part(WordTable.SCHEMA, {"n_tags": "n_tags", "n_rows": "n_rows"}),
            "grammar": Parts(Grammar.SCHEMA, "n_grammars", {"n_tags": "n_tags", "n_rows": "n_rows"}, values="grammars"),
            "factors": Part(Factors.SCHEMA, values=None, optional=True),
            "rule_factors": Part(RuleFactors.SCHEMA, values=None, optional=True),
        },
        sizes={"n_grammars": 1},
    )

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
        if self.factors is not None:
            arrays |= prefixed("factors", self.factors.to_arrays())
        if self.rule_factors is not None:
            arrays |= prefixed("rule_factors", self.rule_factors.to_arrays())
        shared = {"decoder": self.decoder, "probabilistic": self.probabilistic, "labels": labels, "words": words}
        if not self.absolute:
            shared["absolute"] = False
        if self.temperature != 1.0:
            shared["temperature"] = self.temperature
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
        of_factors, of_rules = (without_prefix(name, arrays) for name in ("factors", "rule_factors"))
        return cls(
            grammars,
            values["decoder"],
            bool(values["probabilistic"]),
            bool(values.get("absolute", True)),
            Factors.from_arrays(of_factors, words.paths) if of_factors else None,
            RuleFactors.from_arrays(of_rules, words.paths) if of_rules else None,
            float(values.get("temperature", 1.0)),
        )
