"""Words of a text and their tokens."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from spectragram.data.inputs import as_dependencies
from spectragram.errors import InputError
from spectragram.surprisal.words import Sentence, read_sentences, split_word

KNOWN = {"has", "n't", "debt", "U.S.", "Mr.", "he", "'ll", "dogs", "2.80", "``", "''"}


@pytest.mark.parametrize(
    ("word", "tokens"),
    [
        ("hasn't", ["has", "n't"]),
        ("hasn’t", ["has", "n't"]),
        ("debt.", ["debt", "."]),
        ("U.S.", ["U.S."]),
        ("U.S..", ["U.S.", "."]),
        ("he'll,", ["he", "'ll", ","]),
        ("dogs'", ["dogs", "'"]),
        ("$2.80", ["$", "2.80"]),
        ('"debt"', ["``", "debt", "''"]),
        ("“debt.”", ["``", "debt", ".", "''"]),
        ("(Mr.)", ["(", "Mr.", ")"]),
        ("wait...", ["wait", "..."]),
        ("dog-eared", ["dog-eared"]),
        ("-", ["-"]),
        ("...", ["..."]),
        ("'s", ["'s"]),
        (".”", [".", "''"]),
    ],
)
def test_unknown_words_are_split_as_in_the_penn_treebank(word, tokens):
    assert split_word(word, KNOWN.__contains__) == tokens


def test_a_model_that_knows_a_word_gets_it_whole():
    sentence = Sentence(["hasn't", "debt."])
    assert sentence.tokens_for({"hasn't"}.__contains__) == [["hasn't"], ["debt", "."]]
    assert sentence.tokens_for(KNOWN.__contains__) == [["has", "n't"], ["debt", "."]]


def test_tokenised_text_stays_as_it_is():
    (sentence,) = read_sentences(["has n't debt."], input="words")
    assert sentence.tokens_for(KNOWN.__contains__) == [["has"], ["n't"], ["debt."]]


def test_other_inputs_are_refused():
    with pytest.raises(InputError, match="choose text or words"):
        read_sentences(["a"], input="letters")


def test_a_pipeline_finds_sentences_and_words():
    """Words that stand together in the text are one word; multiword tokens are split."""
    rows = ["1\tAda\t", "2-3\tdidn't\t", "2\tdid\t", "3\tn't\t", "4\tbark\tSpaceAfter=No", "5\t.\t"]
    parts = [row.split("\t") for row in rows]
    text = "\n".join("\t".join([i, form, *["_"] * 7, misc or "_"]) for i, form, misc in parts) + "\n\n"
    (sentence,) = as_dependencies([text])
    seen: list[str] = []

    def split(raw: str) -> list[object]:
        seen.append(raw)
        return [sentence]

    pipeline = SimpleNamespace(model_=SimpleNamespace(tokenizer=SimpleNamespace(split=split)))
    (found,) = read_sentences(["Ada didn't", ["bark."]], tokenizer=pipeline)
    assert seen == ["Ada didn't\n\nbark."]
    assert found.words == ["Ada", "didn't", "bark."]
    assert found.tokens_for(str.isalpha) == [["Ada"], ["did", "n't"], ["bark", "."]]
