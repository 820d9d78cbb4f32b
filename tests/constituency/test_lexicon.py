"""Vectors of words against the formula of back-off, level by level in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.constituency.lexicon import (
    CERTAIN,
    SMOOTH_STATES,
    TRUST_CLASS,
    TRUST_WORD,
    Lexicon,
    WordTable,
    word_types,
)
from spectragram.data.brackets import parse_tree
from spectragram.data.signatures import signatures
from spectragram.synthetic.english import english_trees
from tests.constituency.brute import training_trees

N_TAGS, M = 4, 3


class Corpus:
    """Rows (word, initial, tag) with counts; some words frequent, some capitalised at the beginning only."""

    def __init__(self, rng: np.random.Generator) -> None:
        rows = [
            *[("The", True, 0, 150.0), ("the", False, 0, 400.0), ("The", False, 1, 2.0)],
            *[("Dogs", True, 1, 2.0), ("Cats", True, 1, 1.0), ("cats", False, 1, 3.0), ("Cats", False, 3, 1.0)],
            *[("run", False, 2, 40.0), ("run", False, 1, 9.0), ("running", False, 2, 3.0), ("Running", True, 2, 1.0)],
            *[("IBM", False, 3, 4.0), ("IBM", True, 3, 1.0), ("1990", False, 3, 2.0), ("a", False, 0, 5.0)],
        ]
        words, initial, tags, counts = zip(*rows, strict=True)
        self.table = WordTable(words, np.array(initial), np.array(tags, np.int32), np.array(counts))
        self.values = rng.random((len(rows), M)) * np.array(counts)[:, None]
        self.divisor, self.mean = rng.random((N_TAGS, M)) + 0.1, rng.random((N_TAGS, M))
        self.lexicon = Lexicon(self.table, self.values, self.divisor, self.mean)

    def classes(self, word: str, initial: bool) -> tuple[str, ...]:
        return signatures([word], initial=[initial], known=self.table.word_counts)[0]

    def expected(self, word: str, initial: bool) -> np.ndarray:
        """Vectors of all tags, (N_TAGS, M)."""
        table = self.table
        extended = np.column_stack([self.values, table.counts])
        rows = range(len(table.words))
        any_word = np.array([extended[table.tags == t].sum(axis=0) for t in range(N_TAGS)]) / table.n_tokens
        found = any_word
        mine = self.classes(word, initial)
        of_row = [self.classes(table.words[r], bool(table.initial[r])) for r in rows]
        rare = [r for r in rows if table.word_counts[table.words[r]] <= 5]
        levels = [([r for r in rare if of_row[r][k] == mine[k]], TRUST_CLASS) for k in range(len(mine))]
        levels.insert(0, ([r for r in rows if table.words[r] == word], TRUST_WORD))
        for members, trust in reversed(levels):
            if members:
                sums = np.zeros_like(found)
                np.add.at(sums, table.tags[members], extended[members])
                found = (sums + trust * found) / (table.counts[members].sum() + trust)
        plain = (found[:, -1] / any_word[:, -1])[:, None] * self.mean
        return (1 - SMOOTH_STATES) * found[:, :-1] / self.divisor + SMOOTH_STATES * plain


@pytest.fixture
def corpus(rng: np.random.Generator) -> Corpus:
    return Corpus(rng)


UNKNOWN = ["Zebras", "zebras", "walking", "Walking", "2001", "XYZ", "UNK", "x"]


def test_vectors_of_words_known_and_unknown_in_both_positions(corpus: Corpus) -> None:
    for word in [*corpus.table.word_counts, *UNKNOWN]:
        for initial in (False, True):
            tags, vectors = corpus.lexicon.vectors(word, initial)
            np.testing.assert_allclose(vectors, corpus.expected(word, initial)[tags], rtol=1e-12, err_msg=word)


@pytest.mark.parametrize("initial", [False, True])
def test_many_words_at_once_have_the_vectors_of_each(corpus: Corpus, initial: bool) -> None:
    words = ["the", "Dogs", "run", "IBM", "unheard", "1990"]
    alone = [corpus.lexicon.vectors(word, initial) for word in words]
    together = Lexicon(corpus.table, corpus.values, corpus.divisor, corpus.mean)
    tags = [corpus.table.certain_tags(word) for word in words]
    together.prepare(words, initial, corpus.table.nodes(words, initial), tags)
    assert all(together.knows(word, initial) and not together.knows(word, not initial) for word in words)
    for word, (own, vectors) in zip(words, alone, strict=True):
        np.testing.assert_array_equal(together.vectors(word, initial)[0], own)
        np.testing.assert_array_equal(together.vectors(word, initial)[1], vectors)


def test_vectors_of_rows(corpus: Corpus) -> None:
    found = corpus.lexicon.row_vectors()
    for r, word in enumerate(corpus.table.words):
        expected = corpus.expected(word, bool(corpus.table.initial[r]))[corpus.table.tags[r]]
        np.testing.assert_allclose(found[r], expected, rtol=1e-12, err_msg=word)


def test_frequent_words_have_no_other_tags_than_those_seen(corpus: Corpus) -> None:
    assert corpus.table.word_counts["The"] >= CERTAIN
    for initial in (False, True):
        assert corpus.lexicon.vectors("The", initial)[0].tolist() == [0, 1]
        assert corpus.lexicon.vectors("run", initial)[0].tolist() == [0, 1, 2, 3]


def test_classes_are_those_of_rare_words_where_they_were_seen(corpus: Corpus) -> None:
    tree = corpus.table.cells.tree
    classes = tree.levels[1:] >= 1
    assert (tree.totals[1:][classes] > 0).all()


def test_the_table_comes_back_from_its_state(corpus: Corpus) -> None:
    values, arrays = corpus.table.to_state()
    assert values == {}
    assert isinstance(arrays["words"], list)
    again = Lexicon(WordTable.from_state(values, arrays), corpus.values, corpus.divisor, corpus.mean)
    np.testing.assert_array_equal(again.row_vectors(), corpus.lexicon.row_vectors())


def test_a_corpus_without_rare_words() -> None:
    table = WordTable(["go", "stop"], np.array([False, True]), np.array([0, 1], np.int32), np.array([20.0, 30.0]))
    lexicon = Lexicon(table, np.array([[20.0], [30.0]]), np.full((2, 1), 0.5), np.ones((2, 1)))
    assert np.isfinite(lexicon.row_vectors()).all()
    assert lexicon.vectors("wait", False)[1].shape == (2, 1)


def test_a_state_without_a_divisor_gets_nothing_but_its_mean(corpus: Corpus) -> None:
    divisor, mean = corpus.divisor.copy(), corpus.mean.copy()
    divisor[:, 2], mean[:, 2] = np.inf, 0.0
    found = Lexicon(corpus.table, corpus.values, divisor, mean).vectors("run", False)[1]
    assert not found[:, 2].any()
    assert found[:, :2].all()


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
    trees = english_trees(60)
    (one, rows), (other, other_rows) = (
        WordTable.of_treebank(training_trees(trees, d).treebank) for d in ("right", direction)
    )
    assert one.words == other.words
    for name in ("initial", "tags", "counts"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(rows, other_rows)
