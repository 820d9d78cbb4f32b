"""Edit scripts and the lemmatizer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spectragram.learning.words import class_key
from spectragram.pipeline.analyses import Analysis
from spectragram.pipeline.edit_scripts import Script, apply_script, parse_script, script_of
from spectragram.pipeline.lemmatizer import Lemmatizer, learn_lemmatizer

NOUN: Analysis = ("NOUN", "_", "Number=Plur")
VERB: Analysis = ("VERB", "_", "_")


@pytest.mark.parametrize(
    ("word", "lemma"),
    [
        ("dogs", "dog"),
        ("Dogs", "dog"),
        ("Paris", "Paris"),
        ("NATO", "NATO"),
        ("NATO", "Nato"),
        ("iPhones", "iPhone"),
        ("gegangen", "gehen"),
        ("went", "go"),
        ("is", "be"),
        ("قالت", "قال"),
        ("a", "an"),
        ("İstanbul", "istanbul"),
        ("İstanbul", "İstanbul"),
        ("ǅ", "ǆ"),
        ("straße", "STRASSE"),
        ("x", "_"),
    ],
)
def test_a_script_makes_its_lemma(word: str, lemma: str) -> None:
    script = script_of(word, lemma)
    assert apply_script(script, word) == lemma
    assert parse_script(str(script)) == script


def test_a_script_serves_other_words() -> None:
    script = script_of("Tries", "try")
    assert script == Script("lower", 0, "", 3, "y")
    assert apply_script(script, "flies") == "fly"
    assert apply_script(script_of("gemacht", "machen"), "gesagt") == "sagen"
    assert apply_script(script, "ies") is None


def lemmatizer() -> Lemmatizer:
    stems = [a + b + c for a in "bdgk" for b in "aeou" for c in "nmrl"]
    words = [stem + "s" for stem in stems] + [stem + "ing" for stem in stems] + ["mice", "Went", "saw", "saw", "saw"]
    analyses = [NOUN] * len(stems) + [VERB] * len(stems) + [NOUN, VERB, VERB, VERB, VERB]
    lemmas = [*stems, *stems, "mouse", "go", "see", "see", "saw"]
    return learn_lemmatizer(words, analyses, lemmas, n_epochs=5, rng=np.random.default_rng(0))


def test_unknown_words_follow_the_rules_of_their_part_of_speech() -> None:
    found = lemmatizer().predict(["zans", "zaning", "Zaning"], [NOUN, VERB, VERB])
    assert found == ["zan", "zan", "zan"]


def test_exceptions_are_remembered() -> None:
    # The most frequent lemma wins; an analysis that the word never had does not matter if its part of speech is known.
    other: Analysis = ("VERB", "_", "Tense=Past")
    found = lemmatizer().predict(["mice", "Went", "saw", "Went"], [NOUN, VERB, VERB, other])
    assert found == ["mouse", "go", "see", "go"]


def test_words_too_short_for_any_script_are_their_own_lemmas() -> None:
    found = lemmatizer().predict(["s", "ب"], [NOUN, ("X", "_", "_")])
    assert all(found)


def test_one_word_is_enough() -> None:
    learned = learn_lemmatizer(["dogs"], [NOUN], ["dog"], n_epochs=2, rng=np.random.default_rng(0))
    assert learned.predict(["dogs", "cats"], [NOUN, NOUN]) == ["dog", "cat"]


def test_the_state_holds_everything() -> None:
    learned = lemmatizer()
    again = Lemmatizer.from_state(*learned.to_state())
    words, analyses = ["zans", "mice", "Zorings"], [NOUN, NOUN, VERB]
    assert again.predict(words, analyses) == learned.predict(words, analyses)
    values, arrays = learned.to_state()
    with pytest.raises(ValueError, match="scripts"):
        Lemmatizer.from_state(values, arrays | {"scripts": arrays["scripts"][:-1]})


def test_a_word_with_other_features_has_the_lemma_remembered_for_its_part_of_speech() -> None:
    remembering = replace(lemmatizer(), lemmas={class_key(1, "Went", "VERB"): "remembered"})
    assert remembering.predict(["Went", "Went"], [("VERB", "_", "Tense=Past"), NOUN])[0] == "remembered"
    assert remembering.predict(["Went"], [NOUN]) != ["remembered"]
