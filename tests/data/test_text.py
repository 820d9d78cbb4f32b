from __future__ import annotations

import gzip
import io
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spectragram import files
from spectragram.data.corpus import Vocabulary
from spectragram.data.encoding import WordTable, _find
from spectragram.data.text import FileShard, count_words, encode_blocks, read_text, shard_file
from spectragram.errors import InputError

# Few letters, so that words repeat; all ASCII white space; spaces that are none; several bytes a letter.
TEXT = st.text(st.sampled_from("abAB12 \t\n\r\v\f\x1c\xa0\u2028\u3000äİΣσ٣語😀"), max_size=80)


def sentences_of(text: str) -> list[list[str]]:
    """What the text holds, by the documented rule: bytes.split knows exactly the ASCII white space."""
    lines = text.encode().split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [[word.decode() for word in line.split()] for line in lines]


def decoded(corpus) -> list[list[str]]:
    return [corpus.decode(i) for i in range(len(corpus))]


@pytest.fixture
def write(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("text")

    def write(text: str | bytes, name: str = "text") -> Path:
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return folder / name

    return write


@given(text=TEXT)
@example("a \xa0 b\u2028c\n\n\r\nİΣ Σ\n")
def test_words_and_lines_are_those_of_plain_python(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("text") / "text"
    path.write_bytes(text.encode())
    expected = sentences_of(text)
    assert decoded(read_text(path, keep_empty=True)) == expected
    assert decoded(read_text(path)) == [sentence for sentence in expected if sentence]
    assert count_words(path) == Counter(word for sentence in expected for word in sentence)


@given(text=TEXT, lower=st.booleans(), fold_digits=st.booleans())
def test_lower_casing_and_digits_follow_unicode(
    tmp_path_factory: pytest.TempPathFactory, text: str, lower: bool, fold_digits: bool
) -> None:
    def normalised(word: str) -> str:
        word = word.lower() if lower else word
        return "".join("0" if letter.isdecimal() else letter for letter in word) if fold_digits else word

    path = tmp_path_factory.mktemp("text") / "text"
    path.write_bytes(text.encode())
    expected = [list(map(normalised, sentence)) for sentence in sentences_of(text)]
    corpus = read_text(path, lower=lower, fold_digits=fold_digits, keep_empty=True)
    assert decoded(corpus) == expected
    again = read_text(path, corpus.vocabulary, lower=lower, fold_digits=fold_digits, keep_empty=True)
    assert np.array_equal(again.tokens, corpus.tokens)
    assert np.array_equal(again.offsets, corpus.offsets)


def test_a_table_grows_past_its_first_size_and_keeps_its_words(rng: np.random.Generator) -> None:
    words = [f"w{number}" for number in rng.integers(0, 200_000, 400_000)]
    table = WordTable()
    encoded = [table.encode(" ".join(words[i : i + 50_000]).encode())[0] for i in range(0, 400_000, 50_000)]
    names = table.words()
    assert len(names) == len(set(words)) > 1 << 15
    assert [names[i] for i in np.concatenate(encoded)] == words
    assert dict(zip(names, table.counts.tolist(), strict=True)) == Counter(words)


def test_words_with_the_same_hash_are_told_apart() -> None:
    spellings = np.frombuffer(bytearray(b"abcabd"), np.uint8)
    starts = np.array([0, 3, 6])
    slots = np.zeros(8, np.uint64)
    hashed = np.uint64(5 << 32 | 7)  # the last slot, so that the next ones are looked for from the beginning
    slots[7] = 5 << 32 | 1
    slots[0] = 5 << 32 | 2
    for word, slot in [(b"abc", 7), (b"abd", 0), (b"abe", 1), (b"ab", 1), (b"abcd", 1)]:
        array = np.frombuffer(word, np.uint8)
        assert _find(array, 0, len(word), hashed, slots, spellings, starts) == slot


def test_a_word_that_is_not_valid_text_stays_in_its_place(write) -> None:
    vocabulary = Vocabulary(["a", "\ud800", "b"])  # as a model file may hold it
    assert read_text(write("b a\n"), vocabulary=vocabulary).tokens.tolist() == [2, 0]
    assert WordTable(vocabulary.words).words() == list(vocabulary.words)


def test_a_given_table_finds_its_words_whatever_they_hold() -> None:
    words = ["", "two words", "line\nend", "ü", *(str(i) for i in range(100_000))]
    table = WordTable(words)
    ids, line_ends = table.encode("ü 99999 nothing 0\n5".encode(), unknown=-1)
    assert ids.tolist() == [3, 100_003, -1, 4, 9]
    assert line_ends.tolist() == [4, 5]
    assert table.n_words == len(words)


def test_the_vocabulary_is_ordered_by_count_then_code_point_and_cut(write) -> None:
    path = write("b a b a c ü z z z\n")
    assert read_text(path).vocabulary.words == ("z", "a", "b", "c", "ü")
    cut = read_text(path, min_count=2, max_size=2)
    assert cut.vocabulary.words == ("z", "a", "<unk>")
    assert cut.vocabulary.counts.tolist() == [3, 2, 4]
    assert cut.decode(0) == ["<unk>", "a", "<unk>", "a", "<unk>", "<unk>", "z", "z", "z"]
    refused = read_text(path, min_count=2, unknown=None)
    assert refused.tokens.tolist() == [2, 1, 2, 1, -1, -1, 0, 0, 0]


def test_words_outside_a_given_vocabulary_are_unknown_or_minus_one(write) -> None:
    path = write("a b c\n")
    assert read_text(path, Vocabulary(["c", "?", "a"], unknown="?")).tokens.tolist() == [2, 1, 0]
    assert read_text(path, Vocabulary(["c", "a"])).tokens.tolist() == [1, -1, 0]


def test_several_sources_follow_one_another_even_without_a_last_line_end(write) -> None:
    first, second = write("a b", "first"), write("b c\n", "second")
    assert decoded(read_text([first, second])) == [["a", "b"], ["b", "c"]]
    assert count_words(iter([first, second])) == {"a": 1, "b": 2, "c": 1}


def test_blocks_stream_what_reading_gives_at_once(write, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"{i} {i % 7} x\n\n" for i in range(500))
    whole = read_text(write(text), keep_empty=True)
    monkeypatch.setattr(files.read_blocks, "__defaults__", (64, 0, None))
    parts = list(encode_blocks(write(text), whole.vocabulary, keep_empty=True))
    assert len(parts) > 50
    assert [sentence for part in parts for sentence in decoded(part)] == decoded(whole)


@given(text=TEXT.filter(bool), n=st.integers(1, 7))
def test_shards_of_a_file_make_up_the_file(tmp_path_factory: pytest.TempPathFactory, text: str, n: int) -> None:
    path = tmp_path_factory.mktemp("text") / "text"
    path.write_bytes(text.encode())
    shards = shard_file(path, n)
    assert len(shards) <= n
    assert decoded(read_text(shards, keep_empty=True)) == sentences_of(text)
    assert sum(map(count_words, shards), Counter()) == count_words(path)


def test_shards_have_about_the_same_size(write) -> None:
    sizes = [shard.stop - shard.start for shard in shard_file(write("some words here\n" * 1000), 4)]
    assert sizes == [4000] * 4


def test_what_cannot_be_entered_in_the_middle_is_one_shard(write) -> None:
    packed = write(gzip.compress(b"a b\n" * 100), "packed.gz")
    assert shard_file(packed, 4) == [FileShard(str(packed))]
    assert shard_file("-", 4) == [FileShard("-")]
    assert shard_file(write("", "empty"), 4) == []


def test_an_error_in_a_shard_names_the_line_of_the_file(write) -> None:
    path = write(b"fine\n" * 99 + b"b\xe4d\n" + b"fine\n" * 20)
    with pytest.raises(InputError, match=r"text:100: byte 0xe4 is not UTF-8"):
        read_text(shard_file(path, 3))


def test_standard_input_and_gzip_read_like_a_file(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a b\n")))
    assert decoded(read_text("-")) == [["a", "b"]]
    assert decoded(read_text(write(gzip.compress(b"a b\n"), "text.gz"))) == [["a", "b"]]


def test_an_empty_file_is_an_empty_corpus(write) -> None:
    corpus = read_text(write(""))
    assert (len(corpus), corpus.n_tokens, len(corpus.vocabulary)) == (0, 0, 0)
    assert corpus.offsets.tolist() == [0]


@pytest.mark.parametrize("content", [b"a\nb\0c\n", b"a\n\xff\n"])
def test_bytes_that_are_no_text_are_refused_with_their_line(write, content: bytes) -> None:
    with pytest.raises(InputError, match=r"text:2: "):
        count_words(write(content))


def test_a_line_and_a_word_of_a_megabyte_are_read(write) -> None:
    long_word = "ab" * 600_000
    corpus = read_text(write(f"{'w ' * 600_000}\n{long_word} {long_word}x\n"))
    assert np.diff(corpus.offsets).tolist() == [600_000, 2]
    assert corpus.decode(1) == [long_word, long_word + "x"]


# Tokens, lines with words and types are those of the corpora's own documentation.
@pytest.mark.parametrize(
    ("name", "tokens", "lines", "types"),
    [
        ("brown-text/brown.words.txt.gz", 1161192, 57340, 56057),
        ("wikitext-2/train.txt.gz", 2051910, 23767, 33277),
        ("wikitext-2/valid.txt.gz", 213886, 2461, 13776),
    ],
)
def test_real_text_has_the_published_counts(data_dir: Path, name: str, tokens: int, lines: int, types: int) -> None:
    corpus = read_text(data_dir / name)
    assert (corpus.n_tokens, len(corpus), len(corpus.vocabulary)) == (tokens, lines, types)
    assert corpus.vocabulary.counts.tolist() == np.bincount(corpus.tokens).tolist()
