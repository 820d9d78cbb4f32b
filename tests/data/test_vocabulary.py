from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram import storage
from spectragram.data.corpus import UNKNOWN, Vocabulary
from spectragram.errors import InputError

COUNTS = st.dictionaries(st.text(max_size=3) | st.just(UNKNOWN), st.integers(1, 5), max_size=12)


@given(counts=COUNTS, min_count=st.integers(1, 4), max_size=st.none() | st.integers(1, 6))
def test_the_most_frequent_words_are_kept_and_no_mass_is_lost(
    counts: dict[str, int], min_count: int, max_size: int | None
) -> None:
    vocabulary = Vocabulary.from_counts(counts, min_count=min_count, max_size=max_size)
    ranked = sorted((-n, word) for word, n in counts.items() if word != UNKNOWN and n >= min_count)[:max_size]
    kept = [word for _, word in ranked]
    assert [word for word in vocabulary.words if word != UNKNOWN] == kept
    assert vocabulary.counts.sum() == sum(counts.values())
    assert (UNKNOWN in vocabulary) == (UNKNOWN in counts or len(kept) < len(counts))


def test_the_order_of_counting_never_shows() -> None:
    words = [*"banana", "ä", "z", "<unk>"]
    assert Vocabulary.from_counts(Counter(words)) == Vocabulary.from_counts(Counter(reversed(words)))
    assert Vocabulary.from_counts(Counter(words)).words == ("a", "n", "b", "z", "ä", UNKNOWN)


@given(st.lists(st.text(max_size=4), unique=True))
def test_known_words_are_encoded_and_decoded(words: list[str]) -> None:
    vocabulary = Vocabulary(words)
    assert vocabulary.decode(vocabulary.encode(words)) == words
    assert vocabulary.encode(words).dtype == np.int32


def test_words_outside_get_the_unknown_id_or_minus_one() -> None:
    assert Vocabulary(["a", "?"], unknown="?").encode(["b", "a"]).tolist() == [1, 0]
    assert Vocabulary(["a"]).encode(["b", "a"]).tolist() == [-1, 0]


def test_a_vocabulary_survives_a_model_file(tmp_path: Path) -> None:
    for vocabulary in (Vocabulary.from_counts({"ü": 3, "b": 1, "c": 1}, min_count=2), Vocabulary([])):
        values, arrays = vocabulary.to_state()
        storage.write(tmp_path / "model", "test", values, arrays)
        stored = storage.read(tmp_path / "model")
        assert Vocabulary.from_state(stored.header, stored.arrays) == vocabulary


def test_vocabularies_differ_by_words_counts_and_unknown() -> None:
    plain = Vocabulary(["a", "b"])
    assert plain != Vocabulary(["b", "a"])
    assert plain != Vocabulary(["a", "b"], np.array([1, 2]))
    assert plain != Vocabulary(["a", "b"], unknown="a")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Vocabulary(["a", "b", "a"]), "contains 'a' twice"),
        (lambda: Vocabulary(["a"], np.array([1, 2])), "1 words but"),
        (lambda: Vocabulary(["a"], unknown="?"), "unknown word '\\?' is not in the vocabulary"),
        (lambda: Vocabulary.from_counts({"a": 1}, min_count=0), "min_count=0"),
        (lambda: Vocabulary.from_counts({"a": 1}, max_size=0), "max_size=0"),
    ],
)
def test_contradictions_are_refused(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
