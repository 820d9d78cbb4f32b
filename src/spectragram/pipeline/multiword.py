"""Multiword tokens: which tokens stand for several words, and for which.

The words of a token come from the table of its form (``del`` is ``de el``) or from a rule that cuts and patches its
letters (:mod:`spectragram.pipeline.expansion_rules`), both learned from the pairs of tokens and words in a treebank.
Rules that only one form of the treebank shows stay in the table of that form. Which rule applies, if any, is a
log-linear choice by the form, its ends and its neighbours ("nos" may be a pronoun, or a preposition and an article),
and by whether the stem is a word that the treebank has elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self
from zlib import crc32

import numpy as np

from spectragram.engine.progress import Report, silent
from spectragram.inference.hashed import label_scores, step_labels
from spectragram.inference.token_factors import step_tokens
from spectragram.learning.factors import choice_gradient, fit_weights, require_table, start_weights
from spectragram.pipeline.expansion_rules import Rule, find_rule, recase
from spectragram.schema import Array, ListOf, Maybe, Row, Schema, Table, Text, weight_table

__all__ = ["MultiwordTokens", "learn_multiword_tokens"]

RATE = 0.3
"""Step size of AdaGrad, as for taggers. Not tuned here."""
N_EPOCHS = 10
"""Passes over the tokens that a rule could apply to. 20 are not better for Tamil-TTB, Galician-TreeGal and EWT."""
BITS = 16
"""The table has 2^16 weights, 256 kB. Chosen by hand."""
EXAMPLE = 16
"""Tokens in a training example. Chosen by hand, not tuned."""
FEWEST_FORMS = 2
"""Different forms that a rule must occur with in training to be used for others. Chosen among 1, 2 and 3 on held-out
parts of Tamil-TTB, Galician-TreeGal and EWT, where the words differ by less than half a point."""
Gradients = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Keys of features (n, t), gradients of the scores of choices (n, l) and of the weights of stems (2, 1)."""
LEAVES, WHOLE = 0, 1
"""The first two choices: the token is one word; its expansion is in the table. Rules follow."""


@dataclass(frozen=True)
class MultiwordTokens:
    """Decides which tokens are multiword, and what their words are.

    Attributes
    ----------
    table : dict from str to tuple of str
        Forms in lower case whose words are known and that no rule makes, and these words.
    rules : tuple of Rule
    weights : float32 array, shape (2^b,)
    vocabulary : int64 array, shape (n,)
        Checksums of words in lower case, in ascending order.
    stem_weights : float32 array, shape (2,)
        Scores of rules whose stem is not among the words, and of those whose stem is.
    """

    table: dict[str, tuple[str, ...]]
    rules: tuple[Rule, ...]
    weights: np.ndarray
    vocabulary: np.ndarray
    stem_weights: np.ndarray

    def __post_init__(self) -> None:
        require_table(self.weights)
        require_table(self.stem_weights)

    @cached_property
    def _rules_by_ends(self) -> dict[tuple[str, str], list[int]]:
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, rule in enumerate(self.rules):
            found[rule.front, rule.back].append(WHOLE + 1 + number)
        return dict(found)

    @cached_property
    def _lengths(self) -> list[tuple[int, int]]:
        return sorted({(len(front), len(back)) for front, back in self._rules_by_ends})

    def candidates(self, form: str) -> tuple[int, ...]:
        """The choices that a form in lower case leaves beside ``LEAVES``."""
        found = [WHOLE] if form in self.table else []
        for front, back in self._lengths:
            if len(form) > front + back:
                found += self._rules_by_ends.get((form[:front], form[len(form) - back :]), [])
        return tuple(found)

    def expand(self, forms: Sequence[str]) -> list[tuple[str, ...]]:
        """The words of each token of a text; those of most tokens are the token itself."""
        words = [(form,) for form in forms]
        if not self.table and not self.rules:
            return list(words)
        lower = [form.lower() for form in forms]
        possible_of = {form: self.candidates(form) for form in set(lower)}
        items = [i for i, form in enumerate(lower) if possible_of[form]]
        expanded: list[tuple[str, ...]] = list(words)
        for first in range(0, len(items), 4096):
            part = items[first : first + 4096]
            keys = _keys(lower, part)
            mask = self._mask([possible_of[lower[i]] for i in part])
            stems = self._stems([lower[i] for i in part], mask)
            scores = label_scores(keys, mask, self.weights) + _stem_scores(self._counts(stems), self.stem_weights)
            choices = scores.argmax(axis=1)
            for i, choice in zip(part, choices.tolist(), strict=True):
                if choice != LEAVES:
                    expanded[i] = self._apply(choice, forms[i], lower[i])
        return expanded

    def _apply(self, choice: int, form: str, lower: str) -> tuple[str, ...]:
        if choice == WHOLE:
            return recase(form, self.table[lower])
        return self.rules[choice - WHOLE - 1].apply(form if len(form) == len(lower) else lower)

    def _mask(self, candidates: Sequence[tuple[int, ...]]) -> np.ndarray:
        mask = np.zeros((len(candidates), len(self.rules) + WHOLE + 1), np.bool_)
        mask[:, LEAVES] = True
        for row, possible in zip(mask, candidates, strict=True):
            row[list(possible)] = True
        return mask

    def _stems(self, forms: Sequence[str], mask: np.ndarray) -> np.ndarray:
        """Checksums of the stems that rules would leave, int64 (n, l); -1 for impossible choices and those without."""
        stems = np.full(mask.shape, -1)
        items, choices = np.nonzero(mask[:, WHOLE + 1 :])
        for i, number in zip(items.tolist(), choices.tolist(), strict=True):
            stems[i, WHOLE + 1 + number] = _checksum(self.rules[number].stem(forms[i]))
        return stems

    def _counts(self, stems: np.ndarray) -> np.ndarray:
        """1 for words of the vocabulary, 0 for others, -1 where there is no stem."""
        return np.where(stems < 0, -1, np.isin(stems, self.vocabulary).astype(np.int64))

    SCHEMA: ClassVar[Schema] = Schema(
        "Multiword tokens",
        "Decides which tokens are several words, and which.",
        values={
            "rules": ListOf(
                Row((Text(), Text(), Text(), Text(), ListOf(Maybe(Text()), least=1))),
                "front and back that are cut, what is put on, and the words with null for the stem",
            ),
            "table": Table(ListOf(Text(), least=1), "forms and their words"),
        },
        arrays={
            "weights": weight_table(),
            "vocabulary": Array("i8", ("n_words",), "checksums of words", increasing=True),
            "stem_weights": Array("f4", (2,), "weights of rules whose stem is not a word, and of those whose stem is"),
        },
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values and arrays, for model files."""
        rules = [[r.front, r.back, r.before, r.behind, list(r.words)] for r in self.rules]
        table = {form: list(words) for form, words in self.table.items()}
        arrays = {"weights": self.weights, "vocabulary": self.vocabulary, "stem_weights": self.stem_weights}
        return {"rules": rules, "table": table}, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_state`."""
        rules = tuple(Rule(a, b, c, d, tuple(words)) for a, b, c, d, words in values["rules"])
        table = {form: tuple(words) for form, words in values["table"].items()}
        return cls(table, rules, arrays["weights"], arrays["vocabulary"], arrays["stem_weights"])


def _checksum(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))


def _stem_scores(counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Scores of choices by the number of times that their stems are words; nothing for choices without a stem."""
    return np.where(counts < 0, 0.0, weights[(counts > 0).astype(np.int64)])


def _keys(lower: Sequence[str], items: Sequence[int]) -> np.ndarray:
    """Features of the tokens ``items``, uint64 (n, t)."""
    rows = []
    for i in items:
        form = lower[i]
        before = lower[i - 1] if i else ""
        behind = lower[i + 1] if i + 1 < len(lower) else ""
        seen = (
            "", form, form[-1:], form[-2:], form[-3:], form[-4:], form[-5:], form[:1], form[:2], form[:3], form[:4],
            before, behind, f"{form} {before}", f"{form} {behind}", f"{form} {before[-2:]}", f"{form} {behind[-2:]}",
            before[-2:], behind[-2:], behind[:2], str(len(form)),
        )  # fmt: skip
        rows.append([crc32(f"{number} {text}".encode("utf-8", "surrogatepass")) for number, text in enumerate(seen)])
    return np.array(rows, np.uint64).reshape(len(rows), -1)


def learn_multiword_tokens(
    forms: Sequence[str],
    words: Sequence[tuple[str, ...]],
    *,
    rng: np.random.Generator,
    n_epochs: int = N_EPOCHS,
    n_jobs: int | None = 1,
    report: Report = silent,
) -> MultiwordTokens:
    """Learn from the tokens of a text and the words of each."""
    lower = [form.lower() for form in forms]
    parts = [tuple(word.lower() for word in each) for each in words]
    multiword = [i for i in range(len(forms)) if parts[i] != (lower[i],)]
    rule_of = {key: find_rule(*key) for key in {(lower[i], parts[i]) for i in multiword}}
    n_forms = Counter(rule for rule in rule_of.values() if rule is not None)
    rules = tuple(sorted((rule for rule, n in n_forms.items() if n >= FEWEST_FORMS), key=repr))
    number_of: dict[Rule | None, int] = {rule: WHOLE + 1 + number for number, rule in enumerate(rules)}
    counts: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for i in multiword:
        if rule_of[lower[i], parts[i]] not in number_of:
            counts[lower[i]][parts[i]] += 1
    table = {form: each.most_common(1)[0][0] for form, each in sorted(counts.items())}
    counts_of_words = Counter(_checksum(word) for each in parts for word in each)
    vocabulary = np.array(sorted(counts_of_words), np.int64)
    model = MultiwordTokens(table, rules, np.zeros(1 << BITS, np.float32), vocabulary, np.zeros(2, np.float32))
    gold = np.full(len(forms), LEAVES)
    for i in multiword:
        gold[i] = number_of.get(rule_of[lower[i], parts[i]], WHOLE)
    return _fit(model, lower, gold, counts_of_words, rng=rng, n_epochs=n_epochs, n_jobs=n_jobs, report=report)


def _fit(
    model: MultiwordTokens,
    lower: Sequence[str],
    gold: np.ndarray,
    counts_of_words: Counter[int],
    *,
    rng: np.random.Generator,
    n_epochs: int,
    n_jobs: int | None,
    report: Report,
) -> MultiwordTokens:
    """The model with weights fitted to the choices ``gold`` (n,).

    A stem counts as a word if it is one elsewhere: the right stem is always one of the words of its own token.
    """
    possible_of = {form: model.candidates(form) for form in set(lower)}
    items = [i for i, form in enumerate(lower) if possible_of[form]]
    if not items:
        return model
    keys, mask = _keys(lower, items), model._mask([possible_of[lower[i]] for i in items])
    right = gold[items]
    stems = model._stems([lower[i] for i in items], mask)
    counts = np.where(stems < 0, -1, np.vectorize(lambda stem: counts_of_words[stem], otypes=[np.int64])(stems))
    counts[np.arange(len(items)), right] -= counts[np.arange(len(items)), right] > 0
    weights, stem_weights = start_weights(model.weights), start_weights(model.stem_weights)
    stem_places = np.arange(2)[:, None]
    examples = np.array_split(rng.permutation(len(items)), -(-len(items) // EXAMPLE))

    def gradient(number: int) -> Gradients:
        own = examples[number]
        scores = label_scores(keys[own], mask[own], weights.table) + _stem_scores(counts[own], stem_weights.table)
        found = choice_gradient(scores, right[own])
        of_stems = np.array([[found[counts[own] == 0].sum()], [found[counts[own] > 0].sum()]])
        return keys[own], found, of_stems

    def step(gradients: Gradients, now: int) -> None:
        of_items, found, of_stems = gradients
        step_labels(of_items, found, weights, RATE, now)
        step_tokens(stem_places, of_stems, stem_weights, RATE, now)

    fitted = fit_weights(
        gradient,
        step,
        [weights, stem_weights],
        np.arange(len(examples)),
        n_epochs=n_epochs,
        batch_size=1,
        rng=rng,
        n_jobs=n_jobs,
        report=report,
    )
    return MultiwordTokens(model.table, model.rules, fitted.tables[0], model.vocabulary, fitted.tables[1])
