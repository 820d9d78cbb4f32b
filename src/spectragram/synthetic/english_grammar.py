"""The demo grammar of English: a latent-variable PCFG whose hidden states have names, and its sampler.

The rule schemata (:mod:`~spectragram.synthetic.english_rules`) and verb classes
(:mod:`~spectragram.synthetic.english_lexicon`) expand to about 4000 rules over 500 symbols ``LABEL/state``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, product
from typing import NamedTuple, TypeVar

from spectragram.synthetic.english_lexicon import (
    AUXILIARIES,
    NOUNS,
    OBJECT,
    PREPOSITIONS,
    VERB_CLASSES,
    WORDS,
    VerbClass,
    conjugate,
    plural,
)
from spectragram.synthetic.english_rules import ADJUNCTS, RELATIONS, RELATIONS_BY_CHILD, RULES, TAGS, VARIABLES

__all__ = ["Derivation", "EnglishGrammar", "Rule", "instances", "label_of", "schemata"]

MAX_DEPTH = 40
"""Deeper derivations are rejected, which bounds the recursion. Accepted sentences reach about half of it."""
ADJUNCT_SHARE = 0.4
"""Share of verbs that take an adjunct, among those that can take one. Chosen by hand, not tuned."""

Item = TypeVar("Item")


class Rule(NamedTuple):
    """One way to rewrite a symbol: its children, which of them is the head, and their relations to the head."""

    weight: float
    children: tuple[str, ...]
    head: int
    relations: tuple[str, ...]


class Derivation(NamedTuple):
    """A tree over symbols with hidden states. A leaf has a word and neither rule nor children."""

    symbol: str
    rule: Rule | None
    children: tuple[Derivation, ...]
    word: str

    @property
    def label(self) -> str:
        """The part of the symbol that a treebank shows."""
        return label_of(self.symbol)


@cache
def label_of(symbol: str) -> str:
    """The part of a symbol that a treebank shows.

    >>> label_of("NP/nom.sg.person"), label_of("V/past.pl.eat"), label_of("./question")
    ('NP', 'VBD', '.')
    """
    label, _, state = symbol.partition("/")
    for form, tag in TAGS.get(label, {}).items():
        if state.startswith(form):
            return tag
    return label


class EnglishGrammar:
    """The weighted rules and words of the grammar, and a sampler.

    Attributes
    ----------
    rules : dict from symbol to list of Rule
    words : dict from lexical symbol to list of str, most frequent first
    """

    def __init__(self) -> None:
        self.words = dict(_lexicon())
        self.rules = _useful_rules(self.words)
        self._rule_weights = {
            symbol: list(accumulate(rule.weight for rule in rules)) for symbol, rules in self.rules.items()
        }
        # Every list follows Zipf's law: the word of rank r has weight 1/r.
        self._word_weights = {
            symbol: list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
            for symbol, words in self.words.items()
        }

    def sample(self, uniform: Callable[[], float]) -> Derivation | None:
        """Draw a sentence using random numbers in [0, 1); None if it nests more than ``MAX_DEPTH`` levels deep."""
        try:
            return self._expand("TOP", uniform, MAX_DEPTH)
        except _TooDeepError:
            return None

    def _expand(self, symbol: str, uniform: Callable[[], float], depth: int) -> Derivation:
        if symbol in self.words:
            return Derivation(symbol, None, (), _draw(self.words[symbol], self._word_weights[symbol], uniform()))
        if depth == 0:
            raise _TooDeepError
        rule = _draw(self.rules[symbol], self._rule_weights[symbol], uniform())
        children = tuple(self._expand(child, uniform, depth - 1) for child in rule.children)
        return Derivation(symbol, rule, children, "")


class _TooDeepError(Exception):
    pass


def _draw(items: Sequence[Item], cumulative: Sequence[float], u: float) -> Item:
    return items[bisect_right(cumulative, u * cumulative[-1], hi=len(items) - 1)]


def _lexicon() -> Iterator[tuple[str, list[str]]]:
    """Yield every lexical symbol with its words."""
    for kind, nouns in NOUNS.items():
        singulars, plurals = zip(*map(plural, nouns.split()), strict=True)
        yield f"N/sg.{kind}", list(singulars)
        yield f"N/pl.{kind}", list(plurals)
    for verb_class in VERB_CLASSES:
        verbs = [conjugate(verb) for verb in verb_class.verbs.split()]
        for form in TAGS["V"]:
            yield f"V/{form}.{verb_class.name}", [forms[form] for forms in verbs]
    for name, forms in AUXILIARIES.items():
        yield from ((f"V/{form}.{name}", [word]) for form, word in forms.items())
    yield from ((f"IN/{name}", words.split()) for name, words in PREPOSITIONS.items())
    yield from ((symbol, words.split()) for symbol, words in WORDS.items())


def schemata() -> Iterator[str]:
    """Yield the schemata of ``RULES`` and those that follow from the verb classes, as text."""
    yield from (line for line in RULES.splitlines() if line.strip() and not line.strip().startswith("#"))
    for verb_class in VERB_CLASSES:
        yield from _verb_schemata(verb_class)


def _verb_schemata(verb_class: VerbClass) -> Iterator[str]:
    """Yield active, passive and object-gap schemata (in relative clauses and questions the object comes first)."""
    name, objects = verb_class.name, verb_class.objects.split() or [""]
    adjuncts = [ADJUNCTS[adjunct] for adjunct in verb_class.adjuncts.split()]
    tails = [("", 1 - ADJUNCT_SHARE if adjuncts else 1.0)]
    tails += [(adjunct, ADJUNCT_SHARE / len(adjuncts)) for adjunct in adjuncts]
    for complement, o, (tail, share) in product(verb_class.complements, objects, tails):
        # The weight of a class does not depend on the number of its alternatives.
        weight = verb_class.weight * share / (len(verb_class.complements) * len(objects))
        rest = complement.removeprefix(OBJECT) if complement.startswith(OBJECT) else None
        for k in verb_class.subjects.split():
            filled = complement.replace("{k}", k).replace("{o}", o)
            for form in TAGS["V"]:
                yield f"{weight} VP/{form}.{k} > *V/{form}.{name} {filled} {tail}"
                if rest is not None:
                    yield f"{weight} VP/gap.{form}.{k}.{o} > *V/{form}.{name} {rest} {tail}"
            if rest is not None:
                yield f"{weight} VP/passive.{o} > *V/part.{name} {rest} {tail}"
                yield f"{weight} VP/passive.{o} > *V/part.{name} {rest} PP/by.{k}"


def instances(schema: str) -> Iterator[tuple[str, Rule]]:
    """Yield one rule for each assignment of values to the variables of a schema."""
    weight, left, _, *right = schema.split()
    names = sorted(set(re.findall(r"{(\w+)}", schema)))
    for values in product(*(VARIABLES[name] for name in names)):
        binding = dict(zip(names, values, strict=True))
        factor = float(weight)
        for name, value in binding.items():
            if f"{{{name}}}" not in left:
                factor *= VARIABLES[name][value] / sum(VARIABLES[name].values())
        yield left.format(**binding), _rule(factor, left, [child.format(**binding) for child in right])


def _rule(weight: float, parent: str, children: list[str]) -> Rule:
    parts = [child.removeprefix("*").partition("=") for child in children]
    symbols = tuple(symbol for symbol, _, _ in parts)
    (head,) = [i for i, child in enumerate(children) if child.startswith("*")]
    relations = tuple(given or _relation(label_of(parent), label_of(symbol)) for symbol, _, given in parts)
    return Rule(weight, symbols, head, relations)


def _relation(parent: str, child: str) -> str:
    return RELATIONS.get((parent, child)) or RELATIONS_BY_CHILD.get(child, "dep")


def _useful_rules(words: Container[str]) -> dict[str, list[Rule]]:
    """The rules that are reachable from TOP and can be expanded to words."""
    rules: dict[str, list[Rule]] = defaultdict(list)
    for schema in schemata():
        for symbol, rule in instances(schema):
            rules[symbol].append(rule)
    while True:
        defined = {symbol for symbol, found in rules.items() if found}
        kept = {
            symbol: [rule for rule in found if all(child in words or child in defined for child in rule.children)]
            for symbol, found in rules.items()
        }
        if kept == rules:
            return {symbol: kept[symbol] for symbol in _reachable(kept)}
        rules = kept


def _reachable(rules: Mapping[str, list[Rule]]) -> list[str]:
    found: dict[str, None] = {}
    todo = ["TOP"]
    while todo:
        symbol = todo.pop()
        if symbol in rules and symbol not in found:
            found[symbol] = None
            todo.extend(child for rule in rules[symbol] for child in rule.children)
    return list(found)
