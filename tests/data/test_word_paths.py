"""Bit strings of words: files of any Brown tool, words that are looked up in another spelling, what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from spectragram.data.word_paths import WordPaths, read_paths
from spectragram.errors import InputError

TEXT = "0\tthe\t120\n10\tdog\t7\n10\tcat\t5\n110\t0000\t2\n111\tParis\n"


def test_a_file_of_paths(tmp_path: Path) -> None:
    path = tmp_path / "paths"
    path.write_text(TEXT)
    found = read_paths(path)
    assert found.words == ["the", "dog", "cat", "0000", "Paris"]
    assert [found.find(word) for word in found.words] == ["0", "10", "10", "110", "111"]
    assert found.paths == ["0", "10", "110", "111"]


def test_gzipped_files_are_equal(tmp_path: Path) -> None:
    path = tmp_path / "paths.gz"
    path.write_bytes(gzip.compress(TEXT.replace("\n", "\r\n").encode()))
    assert read_paths(path).words == ["the", "dog", "cat", "0000", "Paris"]


def test_words_in_another_spelling() -> None:
    paths = WordPaths.of({"the": "0", "The": "01", "0000": "11"})
    assert [paths.find(word) for word in ("The", "THE", "1984", "paris")] == ["01", "0", "11", ""]


def test_prefixes_are_cut_and_empty_for_unknown_words() -> None:
    paths = WordPaths.of({"dog": "0110", "a": "1"})
    assert paths.prefixes(["dog", "a", "fox"], (2, 4)) == [["01", "1", ""], ["0110", "1", ""]]


def test_state_comes_back() -> None:
    paths = WordPaths.of({"dog": "0110", "a": "1", "cat": "0110"})
    again = WordPaths.from_state(*paths.to_state())
    assert [again.find(word) for word in ("dog", "a", "cat")] == ["0110", "1", "0110"]


def test_numbers_outside_the_paths_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        WordPaths(["a"], ["0"], np.array([1]))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("0\tthe\n012\tdog\n", 2),
        ("0 the 3\n", 1),
        ("0\t\t3\n", 1),
        ("\tthe\n", 1),
        ("0\ta\n" + "1" * 5000 + "\tb\n", 2),
    ],
)
def test_what_is_not_a_path_is_named_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "paths"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"paths:{line}: .*export --format paths"):
        read_paths(path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "paths"
    path.write_text("\n")
    with pytest.raises(InputError, match="no words"):
        read_paths(path)
