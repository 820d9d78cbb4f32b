"""A trained parser: an alphabet, the automata and factors of its members, relations; and its state in model files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from spectragram.data.known_heads import with_known_heads
from spectragram.data.pieces import pieces
from spectragram.dependency.charts import Chart, average
from spectragram.dependency.constraints import ArcMask, Known, mask_of
from spectragram.dependency.crossing import STAYS, restored
from spectragram.dependency.encoding import Alphabet, Encoded
from spectragram.dependency.features import ModifierSequences
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.labels import Labels
from spectragram.dependency.long_sentences import LONGEST, MARK, PUNCTUATION, join_pieces, require_chart
from spectragram.dependency.members import Member, map_parts, parse_all, parse_together
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.learning.temperature import COLDEST, HOTTEST, tempered
from spectragram.schema import Number, Part, Parts, Schema

__all__ = ["Model", "Parse"]

CANDIDATES = 2
"""For a list of k trees so many times k are looked at, since the order of their probabilities is another one than that
of their sums of log-marginals. Chosen by hand, not tuned."""


@dataclass(frozen=True)
class Parse:
    """A parsed sentence, and what there is to say about how it was found.

    Attributes
    ----------
    heads : int32 array, shape (n,)
    relations : list of str
    head_confidence : array, shape (n,)
        Probability of each head; empty unless it was asked for.
    relation_confidence : array, shape (n,)
        Probability of each relation given the tree.
    n_negative, n_restored : int
    fell_back, was_split : bool
        Whether the fallback took over for a member; whether pieces of the sentence were parsed one by one.
    """

    heads: np.ndarray
    relations: list[str]
    head_confidence: np.ndarray
    relation_confidence: np.ndarray
    n_negative: int
    n_restored: int
    fell_back: bool
    was_split: bool = False


def _restored(heads: np.ndarray, relations: list[str], marks: list[str], known: Known | None) -> tuple[np.ndarray, int]:
    """Lost heads put back, but not against what is known."""
    if known is None or all(mark == STAYS for mark in marks):
        return restored(heads, relations, marks)
    marks = [STAYS if head >= 0 else mark for head, mark in zip(known.heads, marks, strict=True)]
    found, n_restored = restored(heads, relations, marks)
    wrong = np.flatnonzero(~known.allowed[np.arange(len(found)), found] & (known.heads < 0))
    if not len(wrong):
        return found, n_restored
    return _restored(heads, relations, [STAYS if i in wrong else mark for i, mark in enumerate(marks)], known)


@dataclass(frozen=True)
class Model:
    """All that parsing needs.

    Attributes
    ----------
    alphabet : Alphabet
    members : tuple of Member
        The marginals of their charts are averaged.
    fallback : Grammar or None
        DET+F automata, for sentences whose estimates by a member do not sum to anything positive.
    labels : Labels
        Relations.
    crossings : Labels or None
        Marks of lifted words, from which crossing arcs are restored; None for a parser of projective trees.
    sequences : ModifierSequences
        The modifier sequences of training, which pictures of automata need.
    temperature : float
        Reported probabilities of heads are those of the charts at this temperature, which changes no tree
        (:mod:`spectragram.dependency.calibration`).
    """

    alphabet: Alphabet
    members: tuple[Member, ...]
    fallback: Grammar | None
    labels: Labels
    crossings: Labels | None
    sequences: ModifierSequences
    temperature: float = 1.0

    def __post_init__(self) -> None:
        k = len(self.alphabet.tags)
        if not self.members:
            raise ValueError("a parser without automata")
        for grammar in (self.fallback, *(member.grammar for member in self.members)):
            if grammar is not None and grammar.n_symbols != k:
                raise ValueError(f"automata of {grammar.n_symbols} symbols for {k} tags")
        for labels in (self.labels, self.crossings):
            if labels is not None and len(labels.candidates) != k:
                raise ValueError(f"candidates of shape {labels.candidates.shape} for {k} tags")
        if self.sequences.n_symbols != k or len(self.sequences.blocks) != 2 * k + 1:
            raise ValueError(f"modifier sequences of {self.sequences.n_symbols} symbols for {k} tags")

    def parse(
        self, encoded: Encoded, n_jobs: int = 1, known: Sequence[Known] | None = None
    ) -> list[tuple[Chart, bool]]:
        """The marginals of every sentence, given what is known, and whether the fallback took over for a member."""
        return parse_all(self.members, self.fallback, encoded, n_jobs, known)

    def head_distributions(self, chart: Chart) -> np.ndarray:
        """P(head) of each word as it is reported, (n, n + 1), column 0 for the root."""
        return tempered(chart.head_distributions(), self.temperature)

    def trees(
        self, encoded: Encoded, n_jobs: int = 1, known: Sequence[Known] | None = None, *, confident: bool = False
    ) -> list[Parse]:
        """Heads and relations of every sentence, around what is known; if ``confident``, how probable heads are."""

        def parse(numbers: np.ndarray) -> list[Parse]:
            sentences = [encoded.columns(number) for number in numbers]
            given = [None if known is None else known[number] for number in numbers]
            masks = [None if mine is None else mine.mask for mine in given]
            # The others go through the members together.
            long = [columns.shape[1] > LONGEST and mask is None for columns, mask in zip(sentences, masks, strict=True)]
            whole = [i for i, is_long in enumerate(long) if not is_long]
            charts = dict(
                zip(whole, self._charts([sentences[i] for i in whole], [masks[i] for i in whole]), strict=True)
            )
            return [
                self._finished(columns, *charts[i], mine, confident)
                if i in charts
                else self._long(columns, mine, confident)
                for i, (columns, mine) in enumerate(zip(sentences, given, strict=True))
            ]

        return map_parts(parse, encoded, n_jobs)

    def _charts(self, sentences: Sequence[np.ndarray], masks: Sequence[ArcMask | None]) -> list[tuple[Chart, bool]]:
        return parse_together(self.members, self.fallback, sentences, masks)

    def kbest(
        self, encoded: Encoded, k: int, n_jobs: int = 1, known: Sequence[Known] | None = None
    ) -> list[list[tuple[Parse, float]]]:
        """Up to ``k`` trees of every sentence, most probable first, with log p(tree | sentence, what is known).

        Candidates are the best trees by their sums of log-marginals. The probability of a tree is the mean over the
        members of its share in Z, for which the chart sums over the hidden states of that tree alone.
        """

        def best(number: int) -> list[tuple[Parse, float]]:
            columns, mine = encoded.columns(number), None if known is None else known[number]
            mask = None if mine is None else mine.mask
            chart, _ = self._charts([columns], [mask])[0]
            trees = chart.k_best_heads(CANDIDATES * k, mask)
            values = self.tree_log_probs(columns, trees, mask)
            order = np.argsort(-values, kind="stable")[:k]
            return [(self.completed(columns, trees[i], mine), float(values[i])) for i in order]

        return map_parts(lambda numbers: list(map(best, numbers)), encoded, n_jobs)

    def confident_trees(
        self, encoded: Encoded, n_jobs: int = 1, known: Sequence[Known] | None = None
    ) -> list[tuple[Parse, float]]:
        """The tree of every sentence as :meth:`trees` finds it, and the logarithm of its probability."""

        def parse(number: int) -> tuple[Parse, float]:
            _, found, value = self.confident_tree(encoded.columns(number), None if known is None else known[number])
            return found, value

        return map_parts(lambda numbers: list(map(parse, numbers)), encoded, n_jobs)

    def confident_tree(self, columns: np.ndarray, known: Known | None = None) -> tuple[Chart, Parse, float]:
        """The marginals of a sentence, its tree, and the logarithm of the tree's probability."""
        mask = None if known is None else known.mask
        require_chart(columns.shape[1])
        wholes = [member.charts([columns], self.fallback, [mask])[0] for member in self.members]
        chart = average([whole for whole, _ in wholes])
        value = self.tree_log_probs(columns, chart.best_heads(mask)[None], mask, wholes)[0]
        fell_back = any(fell_back for _, fell_back in wholes)
        return chart, self._finished(columns, chart, fell_back, known, True), float(value)

    def tree_log_probs(
        self,
        columns: np.ndarray,
        trees: np.ndarray,
        mask: ArcMask | None = None,
        wholes: Sequence[tuple[Chart, bool]] | None = None,
    ) -> np.ndarray:
        """log p(tree | sentence) of projective trees (m, n), among those of a mask, (m,).

        ``wholes`` are the charts of the members with their trees, if they are there already.
        """
        n = trees.shape[1]
        used = None if mask is None else mask_of((np.arange(n + 1) == trees[..., None]).any(axis=0))
        found = np.full((len(self.members), len(trees)), -np.inf)
        for which, member in enumerate(self.members):
            whole, fell_back = wholes[which] if wholes else member.charts([columns], self.fallback, [mask])[0]
            grammar = self.fallback if fell_back and self.fallback is not None else member.grammar
            scores = member.scores([columns], [used])[0]  # without a mask what gates keep out stays out
            for number, heads in enumerate(trees):
                one = member.tree_chart(grammar, columns, scores, heads)
                if one.sign > 0:
                    found[which, number] = one.log_z - whole.log_z
        return np.logaddexp.reduce(found, axis=0) - np.log(len(self.members))

    def _long(self, columns: np.ndarray, known: Known | None, confident: bool) -> Parse:
        """The tree of a very long sentence of which no head is known, from those of its pieces."""
        is_mark = columns[1] == self.alphabet.coarse.index.get(PUNCTUATION, -1)
        spans = pieces([MARK if mark else "" for mark in is_mark], LONGEST)
        parts = [np.ascontiguousarray(columns[:, start:end]) for start, end in spans]
        found = [self._finished(part, *self._charts([part], [None])[0], None, confident) for part in parts]
        heads = join_pieces([piece.heads for piece in found])
        return replace(
            self.completed(columns, heads, known),
            head_confidence=np.concatenate([piece.head_confidence for piece in found]),
            n_negative=sum(piece.n_negative for piece in found),
            fell_back=any(piece.fell_back for piece in found),
            was_split=True,
        )

    def _finished(
        self, columns: np.ndarray, chart: Chart, fell_back: bool, known: Known | None, confident: bool
    ) -> Parse:
        """The best tree of a chart, with relations and lost heads."""
        heads = chart.best_heads(None if known is None else known.mask)
        parse = self.completed(columns, heads, known)
        found = replace(parse, n_negative=chart.n_negative, fell_back=fell_back)
        if not confident:
            return found
        confidence = self.head_distributions(chart)[np.arange(len(heads)), heads]
        if known is not None:
            confidence[known.heads >= 0] = 1.0
        return replace(found, head_confidence=confidence)

    def completed(self, columns: np.ndarray, heads: np.ndarray, known: Known | None = None) -> Parse:
        """A projective tree (n,) with relations, restored heads and those known heads that cross others."""
        projective = heads.astype(np.int64)
        given = () if known is None else known.relations
        relations, confidence = self.labels.predict(columns, projective, given)
        n_restored = 0
        if self.crossings is not None:
            marks, _ = self.crossings.predict(columns, projective)
            heads, n_restored = _restored(heads, relations, marks, known)
        if known is not None:
            heads = with_known_heads(heads, known.heads)
        return Parse(heads, relations, np.zeros(0), confidence, 0, n_restored, False)

    SCHEMA: ClassVar[Schema] = Schema(
        "Dependency parser",
        "An alphabet, the automata and factors of the members, relations.",
        values={
            "temperature": Number("of the probabilities that are reported; 1 if missing", least=COLDEST, most=HOTTEST)
        },
        optional=("temperature",),
        parts={
            "alphabet": Part(Alphabet.SCHEMA, {"n_tags": "n_tags"}),
            "member": Parts(Member.SCHEMA, "n_members", {"n_tags": "n_tags"}, values="members"),
            "fallback": Part(Grammar.SCHEMA, {"n_tags": "n_tags"}, values=None, optional=True),
            "labels": Part(Labels.SCHEMA, {"n_tags": "n_tags"}),
            "crossings": Part(Labels.SCHEMA, {"n_tags": "n_tags"}, optional=True),
            "sequences": Part(ModifierSequences.SCHEMA, {"n_tags": "n_tags"}, values=None),
        },
        sizes={"n_members": 1},
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values: dict[str, Any] = {"crossings": None}
        if self.temperature != 1.0:
            values["temperature"] = self.temperature
        arrays = {} if self.fallback is None else prefixed("fallback", vars(self.fallback))
        arrays |= prefixed("sequences", vars(self.sequences))
        for name in ("alphabet", "labels", "crossings"):
            part = getattr(self, name)
            if part is None:
                continue
            values[name], part_arrays = part.to_state()
            arrays |= prefixed(name, part_arrays)
        states = [member.to_state() for member in self.members]
        for number, (_, member_arrays) in enumerate(states):
            arrays |= prefixed(f"member{number}", member_arrays)
        return values | {"members": [member_values for member_values, _ in states]}, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        crossings = values["crossings"]
        return cls(
            Alphabet.from_state(values["alphabet"], without_prefix("alphabet", arrays)),
            tuple(
                Member.from_state(member, without_prefix(f"member{number}", arrays))
                for number, member in enumerate(values["members"])
            ),
            Grammar(**fallback) if (fallback := without_prefix("fallback", arrays)) else None,
            Labels.from_state(values["labels"], without_prefix("labels", arrays)),
            None if crossings is None else Labels.from_state(crossings, without_prefix("crossings", arrays)),
            ModifierSequences(**without_prefix("sequences", arrays)),
            float(values.get("temperature", 1.0)),
        )
