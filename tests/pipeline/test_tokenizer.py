"""Raw text to sentences: an invented treebank is recovered exactly; pieces, edge cases, state."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.data.conllu import Sentence, parse_conllu
from spectragram.pipeline import tokenizer
from spectragram.pipeline.characters import joined_characters, read_text, unit_kinds
from spectragram.pipeline.raw_text import plain_text, surface_tokens
from spectragram.pipeline.tokenizer import Tokenizer, learn_tokenizer


def invented(seed: int, n: int = 150) -> list[Sentence]:
    """Sentences of short words with commas, quotes, abbreviations ("dr." goes on), and "dela", which is "de la"."""
    rng = np.random.default_rng(seed)
    words = ["tal", "mer", "soni", "ka", "bel", "dr.", "ori", "dela"]
    found = []
    for number in range(n):
        rows: list[tuple[str, ...]] = []
        forms = [words[k] for k in rng.integers(0, len(words), rng.integers(2, 9))] + ["tal"]
        forms[0] = forms[0].capitalize() if forms[0] != "dela" else "Ori"
        count = 1
        for k, form in enumerate(forms):
            comma = k < len(forms) - 1 and rng.random() < 0.2
            misc = "SpaceAfter=No" if comma or k == len(forms) - 1 else "_"
            if form == "dela":
                rows.append((f"{count}-{count + 1}", form, *"_" * 7, misc))
                rows += [(str(count), "de", *"_" * 8), (str(count + 1), "la", *"_" * 8)]
                count += 2
            else:
                rows.append((str(count), form, *"_" * 7, misc))
                count += 1
            if comma:
                rows.append((str(count), ",", *"_" * 8))
                count += 1
        rows.append((str(count), rng.choice([".", "?", "!"]), *"_" * 8))
        found.append(Sentence(("# newpar",) if number % 10 == 0 else (), tuple(rows)))
    return found


@pytest.fixture(scope="module")
def learned() -> Tokenizer:
    return learn_tokenizer(invented(0))


def rows_of(sentences: list[Sentence]) -> list[list[tuple[str, str, str]]]:
    return [[(row[0], row[1], row[9]) for row in sentence.rows] for sentence in sentences]


def same_text(text: str, sentences: list[Sentence]) -> bool:
    """Whether the tokens of the sentences are the text, up to white space."""
    tokens = [token.form for sentence in sentences for token in surface_tokens(sentence)]
    return "".join("".join(tokens).split()) == "".join(text.split())


def test_new_sentences_are_recovered_exactly(learned: Tokenizer) -> None:
    gold = invented(1)
    found = learned.split(plain_text(gold))
    assert rows_of(found) == rows_of(gold)
    assert [sentence.comments[0] == "# newpar" for sentence in found] == [bool(s.comments) for s in gold]
    assert found[0].comments[-1] == f"# text = {plain_text(gold[:1]).strip()}"
    assert plain_text(found) == plain_text(gold)


def test_what_is_written_can_be_read(learned: Tokenizer) -> None:
    found = learned.split("Tal, dela mer. Ori tal?")
    assert rows_of(parse_conllu("\n".join(map(str, found)))) == rows_of(found)


def test_a_stream_of_lines_gives_what_the_whole_text_gives(learned: Tokenizer) -> None:
    text = plain_text(invented(2, 60)).replace(" mer", "\nmer")
    whole = learned.split(text)
    for lines in (text.split("\n"), text.splitlines(keepends=True), [line + "\r\n" for line in text.split("\n")]):
        assert [sentence for part in learned.split_stream(lines) for sentence in part] == whole


def test_long_paragraphs_are_cut_without_a_trace(learned: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    gold = [Sentence((), sentence.rows) for sentence in invented(3, 120)]
    text = plain_text(gold)
    whole = learned.split(text)
    monkeypatch.setattr(tokenizer, "PIECE", 600)
    monkeypatch.setattr(tokenizer, "MARGIN", 200)
    parts = list(learned.split_stream(text.split("\n")))
    assert len(parts) > 5
    assert [sentence for part in parts for sentence in part] == whole


def test_line_breaks_are_spaces_and_blank_lines_end_sentences(learned: Tokenizer) -> None:
    broken = learned.split("Tal ka\nmer tal. Ori\r\nsoni tal.")
    assert [sentence.forms for sentence in broken] == [["Tal", "ka", "mer", "tal", "."], ["Ori", "soni", "tal", "."]]
    assert broken[0].comments == ("# newpar", "# text = Tal ka mer tal.")
    apart = learned.split("Tal ka\n \t\nmer tal.")
    assert [sentence.forms for sentence in apart] == [["Tal", "ka"], ["mer", "tal", "."]]


def test_one_sentence_per_line(learned: Tokenizer) -> None:
    (found,) = learned.split_sentences(["Mer tal. Ori tal.\n", "\n", "dela mer"])
    assert [sentence.forms for sentence in found] == [["Mer", "tal", ".", "Ori", "tal", "."], ["de", "la", "mer"]]
    assert found[1].comments == ("# text = dela mer",)


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\r\n \n", "\u00a0\u3000"])
def test_nothing_gives_nothing(learned: Tokenizer, text: str) -> None:
    assert learned.split(text) == []
    assert list(learned.split_sentences([text])) == []


ODD_TEXTS = [
    "x",
    ".",
    "a\u200bb \u200b c",
    "👩\u200d👩\u200d👧 ok 🇸🇮!",
    "e\u0301te\u0301 \u0301",
    "سلام دنيا. نعم؟",
    "a\0b",
    "\ufeffTal",
    "𠀀𠀁 tal.",
    "#tal # mer",
    "a\tb\x0bc\x85d",
    "Tal " * 700,
    "İI ΑΣ ß",
]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_no_character_is_lost(learned: Tokenizer, text: str) -> None:
    found = learned.split(text)
    assert same_text(text, found)
    assert same_text(text, parse_conllu("\n".join(map(str, found))))


def test_an_endless_line_without_spaces(learned: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "PIECE", 2000)
    monkeypatch.setattr(tokenizer, "MARGIN", 500)
    for text in ("x" * 20_001, "Tal.mer," * 3_000):
        found = learned.split(text)
        assert same_text(text, found)
        assert plain_text(found) == f"{text}\n"


def test_state_round_trip(learned: Tokenizer) -> None:
    again = Tokenizer.from_state(*learned.to_state())
    text = plain_text(invented(4, 30))
    assert again.split(text) == learned.split(text)


def test_the_seed_and_the_number_of_threads() -> None:
    treebank = invented(5, 40)
    one, two = learn_tokenizer(treebank, n_jobs=1), learn_tokenizer(treebank, n_jobs=2)
    for name, array in one.to_state()[1].items():
        np.testing.assert_array_equal(array, two.to_state()[1][name])


def test_tokens_with_spaces_inside() -> None:
    rng = np.random.default_rng(0)
    words = ["hà nội", "việt nam", "tôi", "yêu", "và"]
    treebank = [Sentence.from_words([words[k] for k in rng.integers(0, len(words), 6)] + ["."]) for _ in range(100)]
    found = learn_tokenizer(treebank).split("tôi yêu hà\nnội và việt nam .")
    assert [sentence.forms for sentence in found] == [["tôi", "yêu", "hà nội", "và", "việt nam", "."]]


def test_a_treebank_of_one_sentence_and_one_of_single_words() -> None:
    one = learn_tokenizer([Sentence.from_words(["Just", "this"])])
    assert same_text("Just this and that", one.split("Just this and that"))
    single = learn_tokenizer([Sentence.from_words([word]) for word in ["ja", "ne", "res", "to"] * 30])
    assert [sentence.forms for sentence in single.split("ja ne to res ja")] == [["ja"], ["ne"], ["to"], ["res"], ["ja"]]


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("e\u0301a", "10"),  # a mark belongs to the letter before it
        ("👩\u200d👩\u200d👧a", "11110"),
        ("👍🏽a", "10"),
        ("🇩🇪🇫🇷a", "1010"),
        ("🏴\U000e0067\U000e007fa", "110"),  # the flag of a region
        ("a🇩🇪🇫 🇷", "0100"),  # half a flag, and nothing is joined over white space
        ("ab,", "00"),
    ],
)
def test_signs_of_several_characters_stay_whole(text: str, joined: str, learned: Tokenizer) -> None:
    found = joined_characters(read_text([text]))
    assert "".join(map(str, found.astype(int)[:-1])) == joined
    tokens = [row[1] for sentence in learned.split(f"Tal {text}, mer. {text} ka!") for row in sentence.rows]
    assert not any(token[0] in "\u0301\u200d🏽" or token[-1] == "\u200d" for token in tokens)


FORMATTED = ["hyphen\u00adated", "می\u200cروم", "word\u2060joiner", "\ufefftal", "\u200fmer\u200e", "ka\u200b"]
"""Words with a soft hyphen, a zero-width non-joiner or joiner, a mark of bytes or of direction, a zero-width space."""


@pytest.mark.parametrize("word", FORMATTED)
def test_characters_that_nobody_sees_belong_to_words(word: str, learned: Tokenizer) -> None:
    (sentence,) = learned.split(f"Tal {word}, mer.")
    assert sentence.forms == ["Tal", word, ",", "mer", "."]


def test_a_zero_width_space_may_end_a_token_and_is_none() -> None:
    kinds = unit_kinds(read_text(["ka\u200bka"])) > 0
    assert kinds.tolist() == [False, True, False, False, False]


def test_a_treebank_that_splits_at_such_a_character_is_followed() -> None:
    rows = (("1", "ka\u200c", *"_" * 7, "SpaceAfter=No"), ("2", "tal", *"_" * 8))
    (found,) = learn_tokenizer([Sentence((), rows)] * 30).split("ka\u200ctal")
    assert found.forms == ["ka\u200c", "tal"]


@pytest.mark.parametrize("word", ["1234", "x2", "2x"])
def test_what_the_treebank_does_not_have_is_not_split(word: str, learned: Tokenizer) -> None:
    assert not any(character.isdigit() for sentence in invented(0) for form in sentence.forms for character in form)
    (sentence,) = learned.split(f"Tal {word} mer.")
    assert sentence.forms == ["Tal", word, "mer", "."]


UNITS = ["40,000", "1.5", "http://a.org/b?c=1", "www.a-b.org", "x.y_z@a-b.org"]


@pytest.mark.parametrize("unit", UNITS)
def test_numbers_and_addresses_are_units_without_the_punctuation_around_them(unit: str) -> None:
    kinds = unit_kinds(read_text([f"ka ({unit}). tal"]))
    assert np.flatnonzero(kinds).tolist() == list(range(3, 3 + len(unit) - 1))


@pytest.mark.parametrize("text", ["a:b", "1. 5", "ka.tal", "ww.x", "awww.x", "@ka", "ka@", "://ka", "tal ,5"])
def test_what_is_no_unit(text: str) -> None:
    assert not unit_kinds(read_text([text])).any()


@pytest.mark.parametrize("unit", UNITS)
def test_units_stay_whole_unless_the_treebank_splits_them(unit: str, learned: Tokenizer) -> None:
    (sentence,) = learned.split(f"Tal {unit}, mer.")
    assert sentence.forms == ["Tal", unit, ",", "mer", "."]


def test_a_treebank_that_splits_numbers_is_followed() -> None:
    rows = [("1", "tal"), ("2", "5"), ("3", ","), ("4", "2"), ("5", ".")]
    misc = ["_", "SpaceAfter=No", "SpaceAfter=No", "SpaceAfter=No", "_"]
    one = Sentence((), tuple((*row, *"_" * 7, no) for row, no in zip(rows, misc, strict=True)))
    (found,) = learn_tokenizer([one] * 30).split("tal 5,2.")
    assert found.forms == ["tal", "5", ",", "2", "."]
