"""Vectors of words against the back-off formula, written out in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.constituency.lexicon import CERTAIN, TRUST_CLASS, TRUST_WORD, Lexicon, WordTable, word_types
from spectragram.data.brackets import parse_tree
from spectragram.data.signatures import signatures
from spectragram.learning.words import RARE
from tests.constituency.brute import training_trees

ROWS = [
    ("walks", False, 0, 2.0),
    ("walks", False, 1, 1.0),
    ("talks", False, 1, 3.0),
    ("Walks", True, 0, 1.0),
    ("Berlin", False, 2, 4.0),
    ("Berlin", True, 2, 1.0),
    ("the", False, 3, 40.0),
    ("the", False, 1, 80.0),
    ("The", True, 3, 9.0),
    ("often", False, 1, 6.0),
]
N_TAGS, WIDTH = 4, 3


@pytest.fixture(scope="module")
def table() -> WordTable:
    words, initial, tags, counts = zip(*ROWS, strict=True)
    return WordTable(words, np.array(initial), np.array(tags, np.int32), np.array(counts))


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    """What is summed on the rows: shares of states here, any vectors for the spectral learner."""
    counts = np.array([row[3] for row in ROWS])
    return np.random.default_rng(0).dirichlet(np.ones(WIDTH), len(ROWS)) * counts[:, None]


def expected(word: str, initial: bool, values: np.ndarray, divisor: np.ndarray, mean: np.ndarray, smooth: float):
    """(n_tags, width): interpolate from any word up to the word itself, once for states and once for plain counts."""
    counts = np.array([row[3] for row in ROWS])
    seen = {row[0]: sum(r[3] for r in ROWS if r[0] == row[0]) for row in ROWS}
    extended = np.column_stack([values, counts])

    def sums(rows: list[int]) -> np.ndarray:
        total = np.zeros((N_TAGS, WIDTH + 1))
        for r in rows:
            total[ROWS[r][2]] += extended[r]
        return total

    any_word = sums(list(range(len(ROWS)))) / counts.sum()
    joint = any_word
    own_classes = signatures([word], initial=[initial], known=seen)[0]
    for level in range(len(own_classes) - 1, -1, -1):
        rows = [
            r
            for r, (other, first, _, _) in enumerate(ROWS)
            if seen[other] <= RARE and signatures([other], initial=[first], known=seen)[0][level] == own_classes[level]
        ]
        if rows:
            joint = (sums(rows) + TRUST_CLASS * joint) / (counts[rows].sum() + TRUST_CLASS)
    rows = [r for r, row in enumerate(ROWS) if row[0] == word]
    if rows:
        joint = (sums(rows) + TRUST_WORD * joint) / (counts[rows].sum() + TRUST_WORD)
    own = joint[:, :-1] / divisor
    plain = (joint[:, -1] / any_word[:, -1])[:, None] * mean
    return (1.0 - smooth) * own + smooth * plain


WORDS = [
    ("walks", False),
    ("walks", True),
    ("Walks", True),
    ("talks", False),
    ("Berlin", True),
    ("Berlin", False),
    ("balks", False),
    ("Paris", False),
    ("Often", True),
    ("1990", False),
    ("often", False),
]


@pytest.mark.parametrize(("word", "initial"), WORDS)
@pytest.mark.parametrize("smooth", [0.0, 0.1])
def test_vectors_back_off_through_classes(table, values, word, initial, smooth):
    rng = np.random.default_rng(1)
    divisor, mean = rng.random((N_TAGS, WIDTH)) + 0.1, rng.random((N_TAGS, WIDTH))
    lexicon = Lexicon(table, values, divisor, mean, smooth)
    tags, vectors = lexicon.vectors(word, initial)
    np.testing.assert_array_equal(tags, np.arange(N_TAGS))
    np.testing.assert_allclose(vectors, expected(word, initial, values, divisor, mean, smooth), rtol=1e-10)
    again = lexicon.vectors(word, initial)  # from the cache
    np.testing.assert_array_equal(again[1], vectors)


def test_rows_of_the_treebank_have_the_vectors_of_their_words(table, values):
    divisor, mean = np.full((N_TAGS, WIDTH), 0.5), np.ones((N_TAGS, WIDTH))
    lexicon = Lexicon(table, values, divisor, mean)
    found = lexicon.row_vectors()
    for r, (word, initial, tag, _) in enumerate(ROWS):
        np.testing.assert_allclose(found[r], expected(word, initial, values, divisor, mean, lexicon.smooth)[tag])


def test_frequent_words_have_only_the_tags_that_were_seen(table, values):
    lexicon = Lexicon(table, values, np.ones((N_TAGS, WIDTH)), np.ones((N_TAGS, WIDTH)))
    assert table.word_counts["the"] >= CERTAIN
    tags, vectors = lexicon.vectors("the", False)
    assert tags.tolist() == [1, 3]
    assert vectors.shape == (2, WIDTH)
    assert lexicon.vectors("often", False)[0].tolist() == [0, 1, 2, 3]


def test_a_state_without_a_divisor_gets_nothing_but_its_mean(table, values):
    divisor = np.full((N_TAGS, WIDTH), 0.5)
    divisor[:, 2] = np.inf
    mean = np.ones((N_TAGS, WIDTH))
    mean[:, 2] = 0.0
    assert not Lexicon(table, values, divisor, mean).vectors("walks", False)[1][:, 2].any()


def test_the_table_of_a_treebank():
    texts = ["(S (A a) (B b) (A a))", "(S (A b) (B b))"]
    treebank = training_trees([parse_tree(text) for text in texts]).treebank
    table, row = WordTable.of_treebank(treebank)
    listed = {
        (word, bool(first), treebank.productions.labels[tag]): count
        for word, first, tag, count in zip(table.words, table.initial, table.tags, table.counts, strict=True)
    }
    assert listed == {("a", True, "A"): 1, ("b", False, "B"): 2, ("a", False, "A"): 1, ("b", True, "A"): 1}
    tokens = [word for i in range(len(treebank)) for word in treebank.sentences.decode(i)]
    assert [table.words[r] for r in row] == tokens
    assert (table.tags[row] == treebank.symbol[treebank.leaves]).all()
    assert table.word_counts == {"a": 2, "b": 3}


def test_types_tell_the_first_word_of_a_sentence(rng):
    treebank = training_trees([parse_tree("(S (A a) (A a))"), parse_tree("(S (A a))")]).treebank
    type_of, types = word_types(treebank)
    assert [types[t] for t in type_of] == [(0, True), (0, False), (0, True)]


@pytest.mark.parametrize("direction", ["left", "head"])
def test_all_binarisations_have_the_same_table(direction):
    """So that the grammars of a parser can share one."""
    from spectragram.synthetic.english import english_trees

    trees = english_trees(60)
    (one, rows), (other, other_rows) = (
        WordTable.of_treebank(training_trees(trees, d).treebank) for d in ("right", direction)
    )
    assert one.words == other.words
    for name in ("initial", "tags", "counts"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(rows, other_rows)


def test_a_treebank_without_rare_words_has_no_classes():
    words = WordTable(["a", "b"], np.zeros(2, bool), np.array([0, 1], np.int32), np.full(2, 50.0))
    lexicon = Lexicon(words, np.full((2, 1), 50.0), np.full((2, 1), 0.5), np.ones((2, 1)))
    found = lexicon.row_vectors()
    np.testing.assert_allclose(found, [lexicon.vectors(w, False)[1][t] for w, t in (("a", 0), ("b", 1))])
    np.testing.assert_allclose(lexicon.vectors("c", False)[1], 1.0)


def test_a_table_survives_a_model_file(table):
    restored = WordTable.from_state(*table.to_state())
    assert isinstance(restored, WordTable)
    assert restored.words == table.words
    np.testing.assert_array_equal(restored.tags, table.tags)
