"""Sentences and trees as arrays."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from spectragram.data import Sentence
from spectragram.dependency.crossing import STAYS, lift_trees, restored
from spectragram.dependency.encoding import LETTERS, MAX_TAGS, Alphabet
from spectragram.dependency.features import gold_pairs, modifier_sequences
from spectragram.errors import InputError
from spectragram.inference.headed import LEFT, RIGHT
from spectragram.synthetic import english_dependencies, shag

DOGS = Sentence.from_words(
    ["The", "old", "dogs", "bark"], upos=["DET", "ADJ", "NOUN", "VERB"], xpos=["DT", "JJ", "NNS", "VBP"],
    head=["3", "3", "4", "0"],
)  # fmt: skip


def test_xpos_is_preferred_and_upos_is_its_coarse_tag() -> None:
    alphabet = Alphabet.of([DOGS])
    assert alphabet.column == "xpos"
    for fine, coarse in zip(DOGS.xpos, DOGS.upos, strict=True):
        assert alphabet.coarse.words[alphabet.coarse_of[alphabet.tags.index[fine]]] == coarse
    assert Alphabet.of([DOGS], "upos").column == "upos"
    assert Alphabet.of([DOGS.with_columns(xpos=["_"] * 4)]).column == "upos"


def test_the_coarse_tag_is_the_most_frequent_one() -> None:
    other = DOGS.with_columns(upos=["DET", "ADJ", "PROPN", "VERB"])
    alphabet = Alphabet.of([other, DOGS, other], "xpos")
    assert alphabet.coarse.words[alphabet.coarse_of[alphabet.tags.index["NNS"]]] == "PROPN"


def test_an_unseen_tag_takes_the_usual_tag_of_its_upos_or_none() -> None:
    alphabet = Alphabet.of([DOGS])
    strange = DOGS.with_columns(xpos=["DT", "JJ", "NNZ", "VBP"])
    assert alphabet.encode([strange]).tags[2] == alphabet.tags.index["NNS"]
    stranger = strange.with_columns(upos=["DET", "ADJ", "NOISE", "VERB"])
    assert alphabet.encode([stranger]).tags[2] == 0


def test_a_missing_upos_is_guessed_from_tag_and_word() -> None:
    forms, xpos = ["it", "is", "barks"], ["PRP", "VBZ", "VBZ"]
    sentence = Sentence.from_words(forms, upos=["PRON", "AUX", "VERB"], xpos=xpos, head=["2", "0", "2"])
    other = Sentence.from_words(["barks"], upos=["VERB"], xpos=["VBZ"], head=["0"])
    alphabet = Alphabet.of([sentence, sentence, other], "xpos")
    bare = Sentence.from_words([*forms, "runs"], xpos=[*xpos, "VBZ"])
    coarse = alphabet.coarse.decode(alphabet.encode([bare]).coarse)
    assert coarse == ["PRON", "AUX", "VERB", "VERB"]


def test_words_seen_once_are_unknown() -> None:
    alphabet = Alphabet.of([DOGS, DOGS.with_columns(form=["the", "new", "cats", "sleep"])])
    words = alphabet.encode([DOGS]).rows[LETTERS.index("w")]
    assert words[0] > 0
    assert not words[1:].any()


def test_sentences_without_tags_are_refused_with_a_remedy() -> None:
    with pytest.raises(InputError, match="--tagger"):
        Alphabet.of([Sentence.from_words(["dogs", "bark"])])


def test_trees_that_cross_are_lifted_counted_and_restored() -> None:
    relations = ["obj", "case", "root", "conj"]
    crossing = Sentence.from_words(["a", "b", "c", "d"], head=["3", "4", "0", "3"], deprel=relations)
    trees = lift_trees([DOGS, crossing])
    assert (trees.n_sentences, trees.n_words) == (1, 1)
    assert trees.heads.tolist() == [3, 3, 4, 0, 3, 3, 0, 3]
    assert trees.marks == [STAYS] * 5 + ["conj", STAYS, STAYS]
    heads, n = restored(trees.heads[4:].astype(np.int32), relations, trees.marks[4:])
    assert heads.tolist() == [3, 4, 0, 3]
    assert n == 1
    assert restored(trees.heads[:4], DOGS.deprels, trees.marks[:4])[1] == 0


def test_xpos_with_holes_or_hundreds_of_values_or_few_is_left_to_the_factors() -> None:
    assert Alphabet.of([DOGS.with_columns(xpos=["N", "N", "N", "V"])]).column == "upos"
    many = [DOGS.with_columns(xpos=[f"{tag}{i}" for tag in DOGS.xpos]) for i in range(MAX_TAGS)]
    assert Alphabet.of(many).column == "upos"
    assert Alphabet.of(many, "xpos").column == "xpos"
    holes = DOGS.with_columns(xpos=["_", "JJ", "NNS", "VBP"])
    assert Alphabet.of([holes]).column == "upos"
    assert Alphabet.of([holes] + [DOGS] * 19).column == "xpos"


def test_words_without_a_tag_are_like_words_with_an_unseen_one() -> None:
    holes = DOGS.with_columns(xpos=["_", "JJ", "NNS", "_"], upos=["DET", "ADJ", "NOUN", "_"])
    alphabet = Alphabet.of([DOGS, holes], "xpos")
    assert "_" not in {*alphabet.tags.words, *alphabet.coarse.words}
    encoded = alphabet.encode([holes])
    assert alphabet.tags.decode(encoded.tags) == ["DT", "JJ", "NNS", "<unk>"]
    assert encoded.coarse[3] == 0


def test_rows_of_the_surface_tell_values_apart() -> None:
    feats = ["_", "Case=Nom|Number=Plur", "Case=Nom|Number=Sing", "VerbForm=Fin"]
    sentence = DOGS.with_columns(feats=feats, lemma=["the", "old", "dog", "_"])
    alphabet = Alphabet.of([sentence] * 2)
    rows = alphabet.encode([sentence]).rows
    assert alphabet.surface.attributes == ("Case", "Number", "VerbForm")
    assert len(rows) == len(LETTERS) + 3
    f, k = rows[LETTERS.index("f")], rows[LETTERS.index("k")]
    assert f[0] == k[0] == 0
    assert f[1] != f[2]
    assert k[1] == k[2] != k[3]
    case, number, form = rows[len(LETTERS) :]
    assert case[1] == case[2] != 0
    assert number[1] != number[2]
    assert (case[0], case[3], form[3] != 0) == (0, 0, True)
    bark = sentence.with_columns(form=["The", "old", "dogs", "barking"])
    other = alphabet.encode([bark]).rows
    assert rows[LETTERS.index("m"), 3] != 0
    assert rows[LETTERS.index("s"), 3] != other[LETTERS.index("s"), 3]


def test_letters_name_the_rows_that_hold_anything() -> None:
    assert Alphabet.of([DOGS]).surface.letters == "owms"
    assert Alphabet.of([DOGS.with_columns(xpos=["_"] * 4)]).surface.letters == "wms"
    full = DOGS.with_columns(feats=["_", "A=b", "_", "_"], lemma=["a", "_", "_", "_"])
    assert Alphabet.of([full]).surface.letters == "owmsfk"


def test_sequences_are_those_of_the_definition() -> None:
    trees = english_dependencies(40, seed=5)
    alphabet = Alphabet.of(trees)
    encoded = alphabet.encode(trees)
    found = modifier_sequences(encoded, lift_trees(trees).heads, len(alphabet.tags))
    expected: dict[tuple[int, int], list[list[int]]] = {}
    for number in range(len(trees)):
        tags, mine = encoded.columns(number)[0].tolist(), trees[number].heads.tolist()
        for head, direction, modifiers in shag.modifier_sequences(tags, mine):
            expected.setdefault((direction, head), []).append(modifiers)
    for direction in (LEFT, RIGHT):
        for head in range(len(alphabet.tags)):
            tokens, offsets = found.of(direction, head)
            listed = [tokens[a:b].tolist() for a, b in pairwise(offsets)]
            assert sorted(listed) == sorted(expected.get((direction, head), []))
    assert found.roots.sum() == len(trees)


def test_gold_pairs_mark_arcs_and_ends_of_halves() -> None:
    arcs, stops = gold_pairs(np.array([3, 3, 4, 0]))
    assert {tuple(index) for index in np.argwhere(arcs).tolist()} == {(LEFT, 2, 2), (LEFT, 2, 1), (LEFT, 3, 1)}
    assert stops[LEFT].argmax(axis=1).tolist() == [0, 0, 2, 3]
    assert stops[RIGHT].argmax(axis=1).tolist() == [0, 0, 0, 0]
    assert stops.sum() == 8
