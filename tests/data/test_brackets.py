from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spectragram.data.brackets import escape_word, parse_tree, read_trees, unescape_word, write_trees
from spectragram.data.trees import Tree
from spectragram.errors import InputError
from tests.data.tree_examples import trees

MRG = """
( (S
    (NP-SBJ-1 (DT The) (NN ceiling) )
    (VP (VBD was)
      (VP (VBN lifted)
        (NP (-NONE- *-1) )))
    (. .) ))

( (NP (NN Dogs)) )\t(FRAG (NP=2 (NN cats)))
"""


def read(tmp_path: Path, text: str | bytes) -> list[Tree]:
    path = tmp_path / "trees.mrg"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read_trees(path))


def test_penn_treebank_layout(tmp_path: Path) -> None:
    lifted, dogs, cats = read(tmp_path, MRG)
    assert str(lifted) == (
        "(TOP (S (NP-SBJ-1 (DT The) (NN ceiling)) (VP (VBD was) (VP (VBN lifted) (NP (-NONE- *-1)))) (. .)))"
    )
    assert str(dogs) == "(TOP (NP (NN Dogs)))"
    assert str(cats) == "(FRAG (NP=2 (NN cats)))"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("(NP the (NN dog))", "(NP (X the) (NN dog))"),
        ("(NP (NP a\ndog) barks)", "(NP (NP (X a) (X dog)) (X barks))"),
        ("((NP(NN dog)))", "(TOP (NP (NN dog)))"),
        ("( (NP (NN dog)) (. .))", "(TOP (NP (NN dog)) (. .))"),
        ("( NP\r\n(NN\tdog )\r\n)\r\n", "(NP (NN dog))"),
        ("(. .)", "(. .)"),
        ("(NP (NN New\u00a0York))", "(NP (NN New\u00a0York))"),
        ("(NP (-LRB- -LRB-) (NN a\\/b))", "(NP (-LRB- -LRB-) (NN a\\/b))"),
        ("\ufeff(NP (NN dog))", "(NP (NN dog))"),
    ],
)
def test_unusual_but_clear(tmp_path: Path, text: str, meant: str) -> None:
    assert [str(tree) for tree in read(tmp_path, text)] == [meant]


GOOD = "(TOP (NP (NN dog)))\n"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (GOOD + "(TOP (NP (NN dog))\n" + GOOD * 2, 2, "1 '(' of the tree that begins here are never closed"),
        (GOOD + "\n(TOP (NP\n (NN dog))))\n" + GOOD, 4, "a ')' closes nothing"),
        (GOOD + ")(\n", 2, "a ')' closes nothing"),
        (GOOD + "(TOP\n (NP ))\n", 3, "the tree 'NP' has no words"),
        (GOOD + "()\n", 2, "the tree 'TOP' has no words"),
        (GOOD + "( ( ))\n", 2, "a bracket without a label"),
        (GOOD + "(TOP\n (NP ( (NN dog))))\n", 3, "a bracket without a label"),
        (GOOD + "# a comment\n", 2, "the text '#' outside any tree"),
        (GOOD + "(TOP (NN dog)) cat\n", 2, "the text 'cat' outside any tree"),
        (GOOD + "(TOP (NN d\0g))\n", 2, "a NUL byte"),
        ("", None, "contains no trees"),
        ("\n \n", None, "contains no trees"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path: Path, text: str, line: int | None, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert problem in str(caught.value)
    assert caught.value.path == str(tmp_path / "trees.mrg")
    assert caught.value.line == line


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"trees.mrg:2: byte 0xf3 is not UTF-8"):
        read(tmp_path, GOOD.encode() + "(NN Björnsson ó)".encode("latin1")[:-1].replace(b"\xf6", b"o"))


@pytest.mark.parametrize("text", ["", "(NP (NN dog)", "(NP (NN dog)))", GOOD * 2, "dog", "(NN d\0g)"])
def test_one_tree_means_one(text: str) -> None:
    with pytest.raises(InputError):
        parse_tree(text)


def test_good_trees_before_a_bad_one_are_delivered(tmp_path: Path) -> None:
    path = tmp_path / "trees.mrg"
    path.write_text(GOOD * 2 + ")\n")
    stream = read_trees(path)
    assert [str(next(stream)) for _ in range(2)] == [GOOD.strip()] * 2
    with pytest.raises(InputError):
        next(stream)


def test_large_lines_and_hostile_depth(tmp_path: Path) -> None:
    wide = "(NP" + " (NN dog)" * 120_000 + ")"
    deep = "(A" * 300_000 + " b" + ")" * 300_000
    trees = read(tmp_path, f"{wide}\n{deep}\n")
    assert len(trees[0].children) == 120_000
    assert str(trees[1]) == "(A " * 299_999 + "(A b)" + ")" * 299_999
    for unclosed in ("(A" * 500_000, "(" * 1_000_000):
        with pytest.raises(InputError, match="never closed"):
            read(tmp_path, unclosed)


@given(st.lists(trees, min_size=1, max_size=4))
def test_writing_and_reading(tmp_path_factory: pytest.TempPathFactory, many: list[Tree]) -> None:
    path = tmp_path_factory.getbasetemp() / "round.txt"
    assert write_trees(many, path) == len(many)
    assert list(read_trees(path)) == many
    packed = path.with_suffix(".gz")
    packed.write_bytes(gzip.compress("\n\n".join(tree.pretty(8) for tree in many).encode()))
    assert list(read_trees(packed)) == many


@given(st.text("() \nAb\t", max_size=30))
@example("(A (A b) ) )")
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_text(text)
    try:
        found = list(read_trees(path))
    except InputError as refusal:
        assert refusal.path == str(path)
    else:
        assert all(tree.leaves() for tree in found)
        assert [parse_tree(str(tree)) for tree in found] == found


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    path.write_text(GOOD)

    def broken() -> object:
        yield parse_tree(GOOD)
        raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        write_trees(broken(), path)
    assert path.read_text() == GOOD
    assert list(tmp_path.iterdir()) == [path]


words = st.text("()-LRB\\a", max_size=8)


@given(words)
@example(")LRB-")
@example("(RRB-")
def test_escaped_words_can_stand_in_trees_and_come_back(word: str) -> None:
    escaped = escape_word(word)
    assert not {"(", ")"} & set(escaped)
    assert escape_word(unescape_word(escaped)) == escaped
    if unescape_word(word) == word and "RB(" not in word and "RB)" not in word:
        assert unescape_word(escaped) == word


def test_words_with_parentheses() -> None:
    assert [escape_word(word) for word in ("(", "f(x)", "-LRB-", "dog")] == [
        "-LRB-",
        "f-LRB-x-RRB-",
        "-LRB-",
        "dog",
    ]
    assert unescape_word("f-LRB-x-RRB-") == "f(x)"


@pytest.mark.parametrize(
    ("name", "n_trees", "n_words"),
    [
        ("wsj-sample/raw/train.mrg.gz", 2936, 75163),
        ("wsj-sample/raw/dev.mrg", 555, 14625),
        ("wsj-sample/clean/train.txt.gz", 2936, 70217),
        ("wsj-sample/clean/dev.txt", 555, 13676),
        ("cess-esp/train.txt.gz", 4859, 151107),
        ("cess-esp/dev.txt", 576, 18530),
        ("icepahc/dev.txt.gz", 9374, 113024),
        pytest.param("icepahc/train.txt.gz", 54175, 767315, marks=pytest.mark.slow),
    ],
)
def test_every_treebank_reads_and_is_written_again(
    data_dir: Path, tmp_path: Path, name: str, n_trees: int, n_words: int
) -> None:
    """Counts as published with each treebank."""
    copy = tmp_path / "copy.txt"
    found = 0

    def counted() -> object:
        nonlocal found
        for tree in read_trees(data_dir / name):
            found += len(tree.leaves())
            yield tree

    assert write_trees(counted(), copy) == n_trees
    assert found == n_words
    original = (data_dir / name).read_bytes()
    text = gzip.decompress(original) if name.endswith(".gz") else original
    assert copy.read_bytes() == b"".join(map(with_root, text.splitlines()))


def with_root(line: bytes) -> bytes:
    """The raw files leave the root's label out and put a space before its closing bracket."""
    return (b"(TOP" + line[1:-2] + b")" if line.startswith(b"( ") else line) + b"\n"
