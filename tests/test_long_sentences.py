"""Very long sentences are cut, parsed in pieces and put together again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectragram import constituency, dependency, load
from spectragram.data import Sentence
from spectragram.data.pieces import pieces
from spectragram.dependency.long_sentences import join_pieces
from spectragram.errors import InputError

GOLDEN = Path(__file__).parent / "golden"
WORDS = [
    "the",
    "dog",
    "saw",
    "a",
    "cat",
    ",",
    "the",
    "fox",
    "slept",
    ".",
    "she",
    "saw",
    "it",
    ",",
    "and",
    "it",
    "was",
    "small",
]
TAGS = [
    "DET",
    "NOUN",
    "VERB",
    "DET",
    "NOUN",
    "PUNCT",
    "DET",
    "NOUN",
    "VERB",
    "PUNCT",
    "PRON",
    "VERB",
    "PRON",
    "PUNCT",
    "CCONJ",
    "PRON",
    "AUX",
    "ADJ",
]


def test_pieces_cover_the_sentence_and_end_with_punctuation() -> None:
    for longest in range(1, 20):
        found = pieces(WORDS, longest)
        assert [i for start, end in found for i in range(start, end)] == list(range(len(WORDS)))
        assert all(0 < end - start <= longest for start, end in found)
    assert [WORDS[end - 1] for _, end in pieces(WORDS, 10)][:1] == ["."]  # a full stop before a comma


def test_roots_of_pieces_depend_on_the_first() -> None:
    assert join_pieces([np.array([2, 0, 2]), np.array([0, 1])]).tolist() == [2, 0, 2, 2, 4]


def test_a_long_sentence_has_one_tree_over_all_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    parser: Any = load(GOLDEN / "constituency.sgm")
    for module in (constituency.answers, constituency.long_sentences):
        monkeypatch.setattr(module, "LONGEST", 7)
    for decoder in ("mbr", "max-rule"):
        found = parser.predict([WORDS, WORDS[:7]], decoder=decoder)
        assert found[0].leaves() == WORDS
        assert found.diagnostics["parsed_split"] == 1
        assert found.diagnostics["fallbacks"] >= 1
    assert "parsed_split" not in parser.predict([WORDS[:7]]).diagnostics


def test_a_long_sentence_has_heads_that_are_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    parser: Any = load(GOLDEN / "dependency.sgm")
    whole = parser.predict([Sentence.from_words(WORDS, upos=TAGS)])
    assert "split" not in whole.diagnostics
    monkeypatch.setattr(dependency.model, "LONGEST", 7)
    found = parser.predict([Sentence.from_words(WORDS, upos=TAGS)])
    assert found.diagnostics["split"] == 1
    heads = [int(head) for head in found[0].column("head")]
    assert heads.count(0) == 1
    for word in range(1, len(WORDS) + 1):
        seen = set()
        while word:
            assert word not in seen
            seen.add(word)
            word = heads[word - 1]


def test_a_pipeline_cuts_long_sentences_too(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline: Any = load(GOLDEN / "pipeline.sgm")
    monkeypatch.setattr(dependency.model, "LONGEST", 7)
    monkeypatch.setattr(dependency.long_sentences, "LONGEST_CHART", 12)
    found = pipeline.predict([WORDS], input="words")
    assert list(found[0].forms) == WORDS
    assert [int(head) for head in found[0].column("head")].count(0) == 1


def test_posteriors_of_very_long_sentences_are_refused() -> None:
    parser: Any = load(GOLDEN / "constituency.sgm")
    for method in (parser.marginals, lambda X: parser.kbest(X, 2), parser.confidence):
        with pytest.raises(InputError, match=r"sentence 2 has 601 words, too many.*cut it into parts"):
            method([["a"], ["a"] * 601])
    with pytest.raises(InputError, match=r"1001 words, too many for the marginals.*cut it"):
        load(GOLDEN / "dependency.sgm").marginals([Sentence.from_words(["a"] * 1001, upos=["X"] * 1001)])  # type: ignore[attr-defined]
