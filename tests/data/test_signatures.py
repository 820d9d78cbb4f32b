from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectragram.data.signatures import english_signature, neutral_signature, signatures
from spectragram.data.text import count_words
from spectragram.errors import InputError


@pytest.mark.parametrize(
    ("word", "options", "expected"),
    [
        ("walking", {}, "UNK-LC-ing"),
        ("Walking", {}, "UNK-CAP-ing"),
        ("Walking", {"initial": True}, "UNK-INITC-ing"),
        ("Walking", {"initial": True, "known_lower": True}, "UNK-INITC-KNOWNLC-ing"),
        ("McIntosh", {"initial": True}, "UNK-CAP"),
        ("NASA", {}, "UNK-ALLC"),
        ("I", {}, "UNK-CAP"),
        ("eBay", {}, "UNK-MIXC"),
        ("dogs", {}, "UNK-LC-s"),
        ("gas", {}, "UNK-LC-s"),
        ("bus", {}, "UNK-LC"),
        ("glass", {}, "UNK-LC"),
        ("thing", {}, "UNK-LC-ing"),
        ("ring", {}, "UNK-LC"),
        ("kindness", {}, "UNK-LC"),
        ("movement", {}, "UNK-LC-ment"),
        ("27-year-old", {}, "UNK-LC-NUM-DASH"),
        ("1,234.5", {}, "UNK-NUM"),
        ("--", {}, "UNK-DASH"),
        ("東京", {}, "UNK-NOCASE"),
        ("%", {}, "UNK"),
    ],
)
def test_english_signatures(word: str, options: dict[str, bool], expected: str) -> None:
    assert english_signature(word, **options)[0] == expected


def test_english_classes_back_off_to_all_words() -> None:
    assert english_signature("Rehiring") == ("UNK-CAP-ing", "UNK-CAP", "CAPITAL", "UNK")
    assert [english_signature(word)[2] for word in ("word", "1990s", "3.5", "--")] == [
        *("WORD", "WORD", "NUMBER", "MARK")
    ]


@pytest.mark.parametrize(
    ("word", "options", "expected"),
    [
        ("Häuser", {}, "Xxx|LATIN|ser"),
        ("Häuser", {"initial": True}, "^Xxx|LATIN|ser"),
        ("Häuser", {"initial": True, "known_lower": True}, "^~Xxx|LATIN|ser"),
        ("häuser", {"initial": True}, "xx|LATIN|ser"),
        ("NATO", {}, "XX|LATIN|ato"),
        ("москва", {}, "xx|CYRILLIC|ква"),
        ("東京", {}, "oo|CJK|^東京"),
        ("कि", {}, "o|DEVANAGARI|^कि"),  # the vowel sign is a mark on the letter
        ("١٩٩٠", {}, "dd||000"),
        ("mid-1990s", {}, "xx-ddx|LATIN|00s"),
        ("€5", {}, "*d||^€0"),
        ("a.b.c.d.e.f", {}, "x.x.x.x.|LATIN|e.f"),
    ],
)
def test_neutral_signatures(word: str, options: dict[str, bool], expected: str) -> None:
    assert neutral_signature(word, **options)[0] == expected


def test_neutral_classes_shorten_the_suffix_then_drop_it() -> None:
    assert neutral_signature("Abc", suffix_lengths=(5, 2)) == (
        *("Xxx|LATIN|^abc", "Xxx|LATIN|bc", "Xxx|LATIN", "CAPITAL", "UNK"),
    )


TRICKY = st.text(st.sampled_from("aAsß1٣-%.語Ⅷⅷǅªİ\u0301"), max_size=10)


@given(TRICKY, TRICKY, st.sampled_from(["english", "neutral"]))
@settings(max_examples=500)
def test_levels_are_nested(one: str, other: str, scheme: str) -> None:
    """Words that share a class share all coarser ones, or back-off would not be a tree."""
    first, second = signatures([one, other], scheme=scheme)
    shared = [a == b for a, b in zip(first, second, strict=True)]
    assert shared == sorted(shared)


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(InputError, match="no signature scheme 'german'; choose among english, neutral"):
        signatures(["a"], scheme="german")


def test_the_beginning_of_a_sentence_and_known_words_count() -> None:
    found = signatures(["Dog", "Dog", "Cat"], initial=[True, False, True], known={"cat"}, scheme="english")
    assert [classes[0] for classes in found] == ["UNK-INITC", "UNK-CAP", "UNK-INITC-KNOWNLC"]


def test_real_rare_words_fall_into_few_classes(data_dir: Path) -> None:
    counts = count_words(data_dir / "brown-text/lm/train.txt.gz")
    held_out = count_words(data_dir / "brown-text/lm/dev.txt.gz")
    new = [word for word in held_out if word not in counts]
    for scheme, most, known in [("english", 150, 0.99), ("neutral", 7000, 0.85)]:
        rare = {classes[0] for classes in signatures([word for word, n in counts.items() if n == 1], scheme=scheme)}
        assert len(rare) < most
        seen = [classes[0] in rare for classes in signatures(new, scheme=scheme)]
        assert sum(seen) > known * len(seen), "new words look like rare ones"
