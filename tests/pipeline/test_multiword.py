"""Multiword tokens: rules, letter case, the choice between rules."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.pipeline.expansion_rules import Rule, find_rule, recase
from spectragram.pipeline.multiword import MultiwordTokens, learn_multiword_tokens


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("bush's", ("bush", "'s")),
        ("traicionalo", ("traicionar", "lo")),
        ("wakitab", ("wa", "kitab")),
        ("fallaríaselles", ("fallaría", "se", "lles")),
        ("wabiha", ("wa", "bi", "ha")),
        ("dotaraos", ("dotará", "os")),
    ],
)
def test_a_rule_makes_the_words_that_it_was_found_in(form: str, words: tuple[str, ...]) -> None:
    rule = find_rule(form, words)
    assert rule is not None
    assert rule.applies(form)
    assert rule.apply(form) == words


def test_words_that_share_nothing_with_the_form_have_no_rule() -> None:
    assert find_rule("du", ["xx", "yy"]) is None


def test_a_rule_applies_to_forms_of_which_something_is_left() -> None:
    rule = Rule("", "lo", "", "", (None, "lo"))
    assert rule.applies("dilo")
    assert not rule.applies("lo")
    assert not rule.applies("dila")


def test_letter_case_is_that_of_the_token() -> None:
    assert recase("No", ("en", "o")) == ("En", "o")
    assert recase("NO", ("en", "o")) == ("EN", "O")
    assert recase("no", ("en", "o")) == ("en", "o")


def learned() -> MultiwordTokens:
    """Verbs in -lo are split, "solo" is not; "nos" is split before nouns; "du" is irregular."""
    pairs = []
    for verb in ("di", "da", "come", "bebe", "mira", "toma"):
        pairs += [("ya", ("ya",)), (f"{verb}lo", (verb, "lo")), ("", ("",))]
        pairs += [("solo", ("solo",)), (verb, (verb,)), ("", ("",))]
        pairs += [("nos", ("en", "os")), ("libros", ("libros",)), ("", ("",))]
        pairs += [("nos", ("nos",)), (verb, (verb,)), ("", ("",)), ("du", ("xx", "yy")), ("", ("",))]
    return learn_multiword_tokens(*map(list, zip(*pairs, strict=True)), rng=np.random.default_rng(0))


def test_expansion_by_rule_by_table_and_by_neighbours() -> None:
    model = learned()
    assert model.expand(["ya", "Canta" + "lo"]) == [("ya",), ("Canta", "lo")]
    assert model.expand(["solo", "canta"]) == [("solo",), ("canta",)]
    assert model.expand(["Nos", "libros"])[0] == ("En", "os")
    assert model.expand(["Nos", "mira"])[0] == ("Nos",)
    assert model.expand(["DU"]) == [("XX", "YY")]
    assert model.expand([]) == []


def test_state_round_trip() -> None:
    model = learned()
    again = MultiwordTokens.from_state(*model.to_state())
    assert (again.table, again.rules) == (model.table, model.rules)
    forms = ["nos", "libros", "", "mira", "miralo", "du"]
    assert again.expand(forms) == model.expand(forms)


def test_a_treebank_without_multiword_tokens() -> None:
    model = learn_multiword_tokens(["a", "b"], [("a",), ("b",)], rng=np.random.default_rng(0))
    assert model.expand(["a", "Ä"]) == [("a",), ("Ä",)]
