"""Word clusters in other models: from a model or a file of paths, for words that training has not seen."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import spectragram as sg
from spectragram.cli import main
from spectragram.data import parse_conllu
from spectragram.errors import InputError, ParameterError
from spectragram.synthetic.english import write_english
from spectragram.word_paths import load_word_paths

COLOURS = ["red", "green", "blue", "pink", "grey", "white", "black", "brown"]
ANIMALS = ["dog", "cat", "fox", "owl", "bee", "ant", "cow", "pig"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clusters model, and the file of paths that it exports."""
    folder = tmp_path_factory.mktemp("clusters")
    rng = np.random.default_rng(0)
    lines = [f"the {rng.choice(COLOURS)} {rng.choice(ANIMALS)} ran away" for _ in range(400)]
    (folder / "text").write_text("\n".join(lines) + "\n")
    sg.WordClusters(4, n_dimensions=0).fit(folder / "text").save(folder / "clusters.sgm")
    assert main(["export", str(folder / "clusters.sgm"), "--out", str(folder / "paths")]) == 0
    return folder


def test_a_model_and_its_file_of_paths_are_equal(folder: Path) -> None:
    model, file = load_word_paths(folder / "clusters.sgm"), load_word_paths(folder / "paths")
    words = [*COLOURS, *ANIMALS, "the", "ran"]
    assert [model.find(word) for word in words] == [file.find(word) for word in words]
    assert len({model.find(word) for word in COLOURS}) == 1
    assert model.find("red") != model.find("dog")


def test_models_of_other_kinds_and_missing_files_are_refused(folder: Path, tmp_path: Path) -> None:
    sg.LanguageModel(learner="kn", order=2).fit([["a", "b"]] * 5).save(tmp_path / "lm.sgm")
    with pytest.raises(InputError, match="kind 'lm'"):
        load_word_paths(tmp_path / "lm.sgm")
    with pytest.raises(InputError, match="no such file"):
        load_word_paths(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("estimator", "suffix"),
    [
        (sg.Tagger, "tags"),
        (sg.DependencyParser, "conllu"),
        (sg.ConstituencyParser, "trees"),
        (sg.Pipeline, "treebank.conllu"),
    ],
)
def test_what_is_no_path_is_refused(estimator: type, suffix: str, tmp_path: Path) -> None:
    """Parameters also come from model files, where a number may stand, which Python would take for an open file."""
    data = write_english(tmp_path, 5)[suffix]
    with pytest.raises(ParameterError, match="clusters=0 is not a path"):
        estimator(clusters=0).fit(data)


def test_a_tagger_knows_words_by_their_clusters(folder: Path, tmp_path: Path) -> None:
    """In training every other word of a class is seen; nothing but the cluster tells the labels of the rest."""
    rng = np.random.default_rng(1)
    words = [[str(rng.choice(COLOURS[::2] + ANIMALS[::2])) for _ in range(3)] for _ in range(120)]
    labels = [["C" if word in COLOURS else "A" for word in sentence] for sentence in words]
    unseen = [[word] for word in COLOURS[1::2] + ANIMALS[1::2]]
    expected = [["C"]] * 4 + [["A"]] * 4
    tagger = sg.Tagger(2, clusters=folder / "clusters.sgm").fit(words, labels)
    assert tagger.predict(unseen) == expected
    assert sg.Tagger(2).fit(words, labels).predict(unseen) != expected
    tagger.save(tmp_path / "tagger.sgm")
    again = sg.load(tmp_path / "tagger.sgm")
    np.testing.assert_array_equal(np.concatenate(again.marginals(unseen)), np.concatenate(tagger.marginals(unseen)))


def test_a_parser_attaches_words_by_their_clusters(folder: Path, tmp_path: Path) -> None:
    """x y z: the animal is the head of the other two words, wherever it stands; all tags are equal."""

    def tree(words: list[str]) -> str:
        head = next(i for i, word in enumerate(words) if word in ANIMALS) + 1
        rows = (
            f"{i}\t{word}\t_\tX\t_\t_\t{0 if i == head else head}\tdep\t_\t_" for i, word in enumerate(words, start=1)
        )
        return "\n".join(rows) + "\n\n"

    rng = np.random.default_rng(2)

    def draw(part: slice) -> str:
        words = [*rng.choice(COLOURS[part], 2), rng.choice(ANIMALS[part])]
        return tree([str(words[i]) for i in rng.permutation(3)])

    train = parse_conllu("".join(draw(slice(0, None, 2)) for _ in range(150)))
    test = parse_conllu("".join(draw(slice(1, None, 2)) for _ in range(40)))
    parser = sg.DependencyParser(1, clusters=str(folder / "paths"), max_iter=2).fit(train)
    assert parser.evaluate(test)["uas"] > 95
    assert sg.DependencyParser(1, max_iter=2).fit(train).evaluate(test)["uas"] < 80
    parser.save(tmp_path / "parser.sgm")
    assert [s.heads.tolist() for s in sg.load(tmp_path / "parser.sgm").predict(test)] == [
        s.heads.tolist() for s in parser.predict(test)
    ]


@pytest.mark.parametrize(
    "estimator",
    [
        lambda clusters: sg.Tagger(factors=False, clusters=clusters).fit([["a", "b"]] * 5, [["X", "Y"]] * 5),
        lambda clusters: sg.Tagger(learner="spectral", clusters=clusters).fit([["a", "b"]] * 5, [["X", "Y"]] * 5),
        lambda clusters: sg.DependencyParser(words=False, clusters=clusters).fit(
            parse_conllu("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
        ),
    ],
    ids=["tagger without factors", "spectral tagger", "parser of tags"],
)
def test_models_that_do_not_look_at_words_refuse_clusters(folder: Path, estimator) -> None:
    with pytest.raises(ParameterError, match="no factors that look at words"):
        estimator(folder / "paths")


def test_the_command_line_gives_the_same_model(folder: Path, tmp_path: Path) -> None:
    rows = "".join(f"{word}\t{'C' if word in COLOURS else 'A'}\n" for word in COLOURS + ANIMALS)
    (tmp_path / "train").write_text("\n".join([rows] * 12))
    command = ["train", "tagger", str(tmp_path / "train"), "--states", "1", "--clusters", str(folder / "paths"), "-q"]
    assert main([*command, "--out", str(tmp_path / "a.sgm")]) == 0
    sg.Tagger(1, clusters=str(folder / "paths")).fit(tmp_path / "train").save(tmp_path / "b.sgm")
    assert (tmp_path / "a.sgm").read_bytes() == (tmp_path / "b.sgm").read_bytes()


def test_a_parser_of_phrases_tags_words_by_their_clusters(tmp_path: Path) -> None:
    """All words look alike; nothing but the cluster tells the tags of those that were not seen."""
    first, second = (["".join((c, v, "no")) for v in "aeiou" for c in part] for part in ("bc", "df"))
    lines = [f"{path}\t{word}\t9\n" for path, words in (("0010", first), ("01", second)) for word in words]
    (tmp_path / "paths").write_text("".join(lines))
    rng = np.random.default_rng(3)

    def tree(part: slice) -> str:
        one, two = f"(X (C {rng.choice(first[part])}))", f"(Y (A {rng.choice(second[part])}))"
        return f"(S {one} {two})" if rng.random() < 0.5 else f"(S {two} {one})"

    train, test = [tree(slice(0, None, 2)) for _ in range(8)], [tree(slice(1, None, 2)) for _ in range(40)]
    parser = sg.ConstituencyParser(1, preset="fast", clusters=tmp_path / "paths").fit(train)
    assert parser.evaluate(test)["tag_accuracy"] == 100
    assert sg.ConstituencyParser(1, preset="fast").fit(train).evaluate(test)["tag_accuracy"] < 90
    parser.save(tmp_path / "parser.sgm")
    again = sg.load(tmp_path / "parser.sgm")
    assert list(map(str, again.predict(test))) == list(map(str, parser.predict(test)))
    np.testing.assert_array_equal(again.log_prob(test), parser.log_prob(test))


def test_a_pipeline_hands_clusters_to_its_parts(tmp_path: Path) -> None:
    """Words that training has seen once or not at all; the cluster of a word tells its tag, and that the head."""
    alike = ["".join(letters) + "mono" for letters in product("bcdfghklmn", "aeiou", "prst")]
    rng = np.random.default_rng(4)
    rng.shuffle(alike)
    adjectives, nouns = alike[:100], alike[100:]
    lines = [f"{path}\t{word}\n" for path, words in (("0010", adjectives), ("01", nouns)) for word in words]
    (tmp_path / "paths").write_text("".join(lines))

    def sentence(one: str, two: str) -> str:
        words = [one, two] if rng.random() < 0.5 else [two, one]
        head = words.index(two) + 1
        rows = []
        for i, word in enumerate(words, start=1):
            tag, above = ("NOUN", 0) if i == head else ("ADJ", head)
            rows.append(f"{i}\t{word}\t{word}\t{tag}\t_\t_\t{above}\tdep\t_\t_\n")
        return "".join(rows) + "\n"

    trees = parse_conllu("".join(map(sentence, adjectives, nouns)))
    pipeline = sg.Pipeline(1, preset="fast", n_folds=0, clusters=str(tmp_path / "paths")).fit(trees[:80])
    scores = pipeline.evaluate(trees[80:], start="words")
    assert scores["upos"] > 90
    assert scores["uas"] > 90
    assert sg.Pipeline(1, preset="fast", n_folds=0).fit(trees[:80]).evaluate(trees[80:], start="words")["upos"] < 75
    pipeline.save(tmp_path / "pipeline.sgm")
    words = [tree.forms for tree in trees[80:]]
    assert list(map(str, sg.load(tmp_path / "pipeline.sgm").predict(words))) == list(map(str, pipeline.predict(words)))


@pytest.mark.parametrize("kind", [sg.ConstituencyParser, sg.Pipeline])
def test_files_that_are_not_paths_are_refused(kind, tmp_path: Path) -> None:
    (tmp_path / "paths").write_text("0110\tdog\t3\ncat 0111\n")
    data = ["(S (X a))"] if kind is sg.ConstituencyParser else parse_conllu("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    with pytest.raises(InputError, match=r"paths:2: 'cat 0111' is not a bit string, a tab and a word"):
        kind(clusters=tmp_path / "paths").fit(data)
