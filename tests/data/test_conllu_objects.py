from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import pytest

from spectragram.data.conllu import Sentence, read_conllu
from spectragram.data.interchange import from_token_list, to_token_list
from spectragram.errors import InputError, MissingExtraError

SENTENCE = Sentence.from_words(["dogs", "bark"], ["# sent_id = 1"], head=["2", "0"], feats=["Number=Plur", "_"])


def test_sentences_become_token_lists_and_come_back() -> None:
    pytest.importorskip("conllu")
    tokens = to_token_list(SENTENCE)
    assert [(token["form"], token["head"]) for token in tokens] == [("dogs", 2), ("bark", 0)]
    assert tokens[0]["feats"] == {"Number": "Plur"}
    assert tokens.metadata == {"sent_id": "1"}
    tokens[0]["upos"] = "NOUN"
    assert from_token_list(tokens).rows == SENTENCE.with_columns(upos=["NOUN", "_"]).rows


def test_what_is_no_token_list_is_refused() -> None:
    with pytest.raises(InputError, match=r"a list; give a conllu\.TokenList"):
        from_token_list([])


def test_the_package_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "conllu", None)
    with pytest.raises(MissingExtraError, match=r"needs conllu.*spectragram\[interchange\]"):
        to_token_list(SENTENCE)


def test_real_sentences_come_back(data_dir: Path) -> None:
    pytest.importorskip("conllu")
    for sentence in islice(read_conllu(data_dir / "ud-ewt/en_ewt-ud-dev.conllu.gz"), 500):
        again = from_token_list(to_token_list(sentence))
        assert (again.rows, again.comments) == (sentence.rows, sentence.comments)
