from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.errors import InputError

SEQUENCES = st.lists(st.lists(st.sampled_from("abcd"), max_size=5), max_size=8)


def decoded(corpus: Corpus) -> list[list[str]]:
    return [corpus.decode(i) for i in range(len(corpus))]


@given(SEQUENCES)
def test_sequences_come_back(sequences: list[list[str]]) -> None:
    corpus = Corpus.from_sequences(sequences)
    assert decoded(corpus) == sequences
    assert [corpus.vocabulary.decode(sequence) for sequence in corpus] == sequences
    assert corpus.n_tokens == sum(map(len, sequences)) == corpus.vocabulary.counts.sum()
    assert list(corpus.vocabulary.words) == sorted({symbol for sequence in sequences for symbol in sequence})


@given(SEQUENCES, st.integers(1, 10))
def test_shards_are_consecutive_and_complete(sequences: list[list[str]], n: int) -> None:
    shards = Corpus.from_sequences(sequences).shards(n)
    assert len(shards) <= n
    assert [sequence for shard in shards for sequence in decoded(shard)] == sequences


def test_shards_have_about_the_same_number_of_tokens() -> None:
    corpus = Corpus.from_sequences([["a"] * length for length in (90, 1, 1, 8, 50, 50, 100)])
    assert [shard.n_tokens for shard in corpus.shards(3)] == [100, 100, 100]


def test_indexing_is_that_of_a_list() -> None:
    corpus = Corpus.from_sequences([["a"], [], ["b", "a"]])
    assert corpus[-1].tolist() == [1, 0]
    assert corpus[1].tolist() == []
    for i in (3, -4):
        with pytest.raises(IndexError):
            corpus[i]


def test_a_given_vocabulary_is_used_as_it_is() -> None:
    vocabulary = Vocabulary(["b", "?"], unknown="?")
    corpus = Corpus.from_sequences([["a", "b"]], vocabulary)
    assert corpus.tokens.tolist() == [1, 0]
    assert corpus.vocabulary is vocabulary


def test_symbols_are_strings() -> None:
    with pytest.raises(InputError, match="a symbol of type int \\(3\\); give sequences of strings"):
        Corpus.from_sequences([["a", 3]])
