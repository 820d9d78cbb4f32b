"""A trained parser: an alphabet, the automata and factors of its members, relations; and its state in model files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from spectragram.data.known_heads import with_known_heads
from spectragram.data.pieces import pieces
from spectragram.dependency.constraints import ArcMask, Known, arc_places, mask_of
from spectragram.dependency.crossing import STAYS, restored
from spectragram.dependency.encoding import Alphabet, Encoded
from spectragram.dependency.factors import Factors
from spectragram.dependency.features import ModifierSequences
from spectragram.dependency.grammar import Grammar
from spectragram.dependency.labels import Labels
from spectragram.dependency.long_sentences import LONGEST, MARK, PUNCTUATION, join_pieces, require_chart
from spectragram.dependency.siblings import Siblings, probable_arcs
from spectragram.engine import map_threads
from spectragram.estimator import State, prefixed, without_prefix
from spectragram.inference.headed import ArcList, best_heads, inside_outside, list_arcs, sibling_inside_outside
from spectragram.inference.headed_kbest import k_best_heads
from spectragram.schema import Part, Parts, Schema

__all__ = ["Chart", "Member", "Model", "Parse", "average", "parse_all", "run_chart"]

FLOOR = 1e-30
"""Smaller marginals, negative ones included, count as this when trees are chosen by the sum of logarithms.

A guard against the logarithm of zero; any tiny value does.
"""
ROUNDING = 1e-9
"""Marginals above minus this are zero up to rounding, not negative."""
SMALLEST = 1e-300
"""A guard against division by zero; any tiny value does."""
SENTENCES_PER_PART = 32
"""Sentences that a thread parses at a time: many parts, since lengths differ. Chosen by hand, not tuned."""
CANDIDATES = 2
"""For a list of k trees so many times k are looked at, since the order of their probabilities is another one than that
of their sums of log-marginals. Chosen by hand, not tuned."""

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Chart:
    """Result of inside-outside on a sentence: sign and logarithm of Z, marginals (n,), (2, n, n), (2, n, n)."""

    sign: float
    log_z: float
    roots: np.ndarray
    arcs: np.ndarray
    stops: np.ndarray

    @property
    def n_negative(self) -> int:
        """Number of negative marginals of roots and arcs."""
        return int((self.roots < -ROUNDING).sum() + (self.arcs < -ROUNDING).sum())

    def log_marginals(self, mask: ArcMask | None = None, least: float = FLOOR) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of the marginals of roots (n,) and arcs (2, n, n), -inf for what a mask rules out.

        What is below ``least``, or not a number, counts as that.
        """
        with np.errstate(divide="ignore"):
            logs = np.log(np.fmax(self.roots, least)), np.log(np.fmax(self.arcs, least))
        return logs if mask is None else mask.scores(*logs)

    def best_heads(self, mask: ArcMask | None = None) -> np.ndarray:
        """The minimum-risk tree: the highest sum of log-marginals (equation 2), (n,) int32."""
        return self.k_best_heads(1, mask)[0]

    def k_best_heads(self, k: int, mask: ArcMask | None = None) -> np.ndarray:
        """At most ``k`` trees with the highest sums of log-marginals, (at most k, n) int32.

        Arcs of probability zero, most of them where there are gates, need not be looked at. If some marginals are
        negative, or those above zero make no tree because others were too small for a number, zeros count as tiny.
        """
        for least in (FLOOR,) if self.sign <= 0 or self.n_negative else (0.0, FLOOR):
            logs = self.log_marginals(mask, least)
            trees = best_heads(*logs)[None] if k == 1 else k_best_heads(*logs, k)[0]
            if len(trees) and trees[0, 0] >= 0:
                return trees
        raise AssertionError("a mask that leaves no tree is refused before")

    def head_distributions(self) -> np.ndarray:
        """P(head) of each word, (n, n + 1), column 0 for the root; negative marginals are set to zero."""
        n = len(self.roots)
        found = np.zeros((n, n + 1))
        found[:, 0] = self.roots
        words, heads, places = arc_places(n)
        found[words, heads] = self.arcs.reshape(-1)[places]
        found = np.maximum(found, 0.0)
        return found / np.maximum(found.sum(axis=1, keepdims=True), SMALLEST)


def average(charts: Sequence[Chart]) -> Chart:
    """Mean marginals of several models, and the mean of log Z."""
    if len(charts) == 1:
        return charts[0]
    return Chart(
        1.0,
        float(np.mean([chart.log_z for chart in charts])),
        np.mean([chart.roots for chart in charts], axis=0),
        np.mean([chart.arcs for chart in charts], axis=0),
        np.mean([chart.stops for chart in charts], axis=0),
    )


@dataclass(frozen=True)
class Member:
    """Head automata and, if there are any, the factors that were fitted to them."""

    grammar: Grammar
    factors: Factors | None

    def scores(self, columns: np.ndarray, mask: ArcMask | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Log-factors of the possible arcs and of ends of halves, (2, n, n) each; zero without factors."""
        if self.factors is not None:
            return self.factors.scores(columns, None if mask is None else mask.arcs)
        n = columns.shape[1]
        return np.zeros((2, n, n)), np.zeros((2, n, n))

    def chart(self, columns: np.ndarray, fallback: Grammar | None, mask: ArcMask | None = None) -> tuple[Chart, bool]:
        """Marginals of one sentence with columns (n_rows, n), and whether ``fallback`` had to take over.

        Trees that use what a ``mask`` rules out do not count.
        """
        scores = self.scores(columns, mask)
        chart = run_chart(self.grammar, columns, *scores, mask)
        if chart.sign == 0 and mask is None and self.factors is not None and self.factors.gates is not None:
            # No tree passes the gates.
            scores = replace(self.factors, gates=None).scores(columns)
            chart = run_chart(self.grammar, columns, *scores)
        if chart.sign <= 0:
            if fallback is None:
                return chart, False
            return run_chart(fallback, columns, *scores, mask), True
        if self.factors is None or self.factors.siblings is None:
            return chart, False
        listed = probable_arcs(chart.arcs)
        refined = run_chart(self.grammar, columns, *scores, mask, (listed, self.factors.siblings))
        return (refined if refined.sign > 0 else chart), False

    def tree_chart(
        self, grammar: Grammar, columns: np.ndarray, scores: tuple[np.ndarray, np.ndarray], heads: np.ndarray
    ) -> Chart:
        """The chart of a single tree (n,), whose Z is the weight of the tree; ``scores`` as from :meth:`scores`."""
        mask = mask_of(np.arange(len(heads) + 1) == heads[:, None])
        siblings = None
        if grammar is self.grammar and self.factors is not None and self.factors.siblings is not None:
            siblings = list_arcs(mask.arcs), self.factors.siblings
        return run_chart(grammar, columns, *scores, mask, siblings)

    SCHEMA: ClassVar[Schema] = Schema(
        "Member of a parser",
        "Head automata, and the factors beside them.",
        parts={
            "grammar": Part(Grammar.SCHEMA, {"n_tags": "n_tags"}, values=None),
            "factors": Part(Factors.SCHEMA, optional=True),
        },
    )

    def to_state(self) -> State:
        """Plain values and arrays, as model files hold them."""
        values, arrays = (None, {}) if self.factors is None else self.factors.to_state()
        return {"factors": values}, prefixed("grammar", vars(self.grammar)) | prefixed("factors", arrays)

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        grammar = Grammar(**without_prefix("grammar", arrays))
        if values["factors"] is None:
            return cls(grammar, None)
        return cls(grammar, Factors.from_state(values["factors"], without_prefix("factors", arrays)))


def run_chart(
    grammar: Grammar,
    columns: np.ndarray,
    arc_scores: np.ndarray,
    stop_scores: np.ndarray,
    mask: ArcMask | None = None,
    siblings: tuple[ArcList, Siblings] | None = None,
) -> Chart:
    """Inside-outside on a sentence with columns (n_rows, n) and log-factors (2, n, n), over the trees of a mask.

    With ``siblings`` only the listed arcs are possible.
    """
    tags = columns[0]
    root = np.log(grammar.root[tags])
    if mask is not None:
        root, arc_scores = mask.scores(root, arc_scores)
    given = tags, root, grammar.initial, grammar.operators, grammar.final, arc_scores, stop_scores
    if siblings is None:
        return Chart(*inside_outside(*given))
    listed, factors = siblings
    return Chart(*sibling_inside_outside(*given, listed, *factors.scores(columns, listed))[:5])


def parse_one(
    members: Sequence[Member], fallback: Grammar | None, columns: np.ndarray, mask: ArcMask | None = None
) -> tuple[Chart, bool]:
    """The averaged marginals of the members for one sentence, and whether the fallback took over for one of them."""
    require_chart(columns.shape[1])
    charts, fell_back = zip(*(member.chart(columns, fallback, mask) for member in members), strict=True)
    return average(charts), any(fell_back)


def parse_all(
    members: Sequence[Member],
    fallback: Grammar | None,
    encoded: Encoded,
    n_jobs: int = 1,
    known: Sequence[Known] | None = None,
) -> list[tuple[Chart, bool]]:
    """For every sentence what :func:`parse_one` finds, given what is ``known`` if that is given."""
    return _map_sentences(
        lambda number: parse_one(
            members, fallback, encoded.columns(number), None if known is None else known[number].mask
        ),
        len(encoded),
        n_jobs,
    )


def _map_sentences(function: Callable[[int], Answer], n_sentences: int, n_jobs: int) -> list[Answer]:
    """The function's answers for all sentences, on several threads."""
    parts = map_threads(lambda numbers: [function(int(one)) for one in numbers], _parts(n_sentences), n_jobs)
    return [answer for part in parts for answer in part]


def _parts(n_sentences: int) -> list[np.ndarray]:
    return np.array_split(np.arange(n_sentences), max(1, n_sentences // SENTENCES_PER_PART))


@dataclass(frozen=True)
class Parse:
    """A parsed sentence, and what there is to say about how it was found.

    Attributes
    ----------
    heads : int32 array, shape (n,)
    relations : list of str
    head_confidence, relation_confidence : arrays, shape (n,)
        Probability of each head, and of each relation given the tree.
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
    """

    alphabet: Alphabet
    members: tuple[Member, ...]
    fallback: Grammar | None
    labels: Labels
    crossings: Labels | None
    sequences: ModifierSequences

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

    def trees(self, encoded: Encoded, n_jobs: int = 1, known: Sequence[Known] | None = None) -> list[Parse]:
        """Heads and relations of every sentence, around what is known."""

        def parse(number: int) -> Parse:
            columns, mine = encoded.columns(number), None if known is None else known[number]
            mask = None if mine is None else mine.mask
            if columns.shape[1] > LONGEST and mask is None:
                return self._long(columns, mine)
            return self._finished(columns, *parse_one(self.members, self.fallback, columns, mask), mine)

        return _map_sentences(parse, len(encoded), n_jobs)

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
            chart, _ = parse_one(self.members, self.fallback, columns, mask)
            trees = chart.k_best_heads(CANDIDATES * k, mask)
            values = self.tree_log_probs(columns, trees, mask)
            order = np.argsort(-values, kind="stable")[:k]
            return [(self.completed(columns, trees[i], mine), float(values[i])) for i in order]

        return _map_sentences(best, len(encoded), n_jobs)

    def confident_trees(
        self, encoded: Encoded, n_jobs: int = 1, known: Sequence[Known] | None = None
    ) -> list[tuple[Parse, float]]:
        """The tree of every sentence as :meth:`trees` finds it, and the logarithm of its probability."""

        def parse(number: int) -> tuple[Parse, float]:
            _, found, value = self.confident_tree(encoded.columns(number), None if known is None else known[number])
            return found, value

        return _map_sentences(parse, len(encoded), n_jobs)

    def confident_tree(self, columns: np.ndarray, known: Known | None = None) -> tuple[Chart, Parse, float]:
        """The marginals of a sentence, its tree, and the logarithm of the tree's probability."""
        mask = None if known is None else known.mask
        require_chart(columns.shape[1])
        wholes = [member.chart(columns, self.fallback, mask) for member in self.members]
        chart = average([whole for whole, _ in wholes])
        value = self.tree_log_probs(columns, chart.best_heads(mask)[None], mask, wholes)[0]
        fell_back = any(fell_back for _, fell_back in wholes)
        return chart, self._finished(columns, chart, fell_back, known), float(value)

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
            whole, fell_back = wholes[which] if wholes else member.chart(columns, self.fallback, mask)
            grammar = self.fallback if fell_back and self.fallback is not None else member.grammar
            scores = member.scores(columns, used)  # without a mask what gates keep out stays out
            for number, heads in enumerate(trees):
                one = member.tree_chart(grammar, columns, scores, heads)
                if one.sign > 0:
                    found[which, number] = one.log_z - whole.log_z
        return np.logaddexp.reduce(found, axis=0) - np.log(len(self.members))

    def _long(self, columns: np.ndarray, known: Known | None) -> Parse:
        """The tree of a very long sentence of which no head is known, from those of its pieces."""
        is_mark = columns[1] == self.alphabet.coarse.index.get(PUNCTUATION, -1)
        spans = pieces([MARK if mark else "" for mark in is_mark], LONGEST)
        found = [
            self._finished(part, *parse_one(self.members, self.fallback, part), None)
            for part in (np.ascontiguousarray(columns[:, start:end]) for start, end in spans)
        ]
        heads, confidence = join_pieces([(piece.heads, piece.head_confidence) for piece in found])
        return replace(
            self.completed(columns, heads, known),
            head_confidence=confidence,
            n_negative=sum(piece.n_negative for piece in found),
            fell_back=any(piece.fell_back for piece in found),
            was_split=True,
        )

    def _finished(self, columns: np.ndarray, chart: Chart, fell_back: bool, known: Known | None) -> Parse:
        """The best tree of a chart, with relations and lost heads."""
        heads = chart.best_heads(None if known is None else known.mask)
        parse = self.completed(columns, heads, known)
        words = np.arange(len(heads))
        confidence = chart.head_distributions()[words, heads]
        if known is not None:
            confidence[known.heads >= 0] = 1.0
        return replace(parse, head_confidence=confidence, n_negative=chart.n_negative, fell_back=fell_back)

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
        return Parse(heads, relations, np.ones(len(heads)), confidence, 0, n_restored, False)

    SCHEMA: ClassVar[Schema] = Schema(
        "Dependency parser",
        "An alphabet, the automata and factors of the members, relations.",
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
        )
