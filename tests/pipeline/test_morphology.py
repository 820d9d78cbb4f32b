"""UPOS, XPOS, FEATS and lemmas of sentences."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.data.conllu import Sentence
from spectragram.errors import InputError, ParameterError
from spectragram.learning.folds import fold_numbers
from spectragram.pipeline.jackknife import jackknife
from spectragram.pipeline.morphology import Morphology, MorphologySettings, learn_morphology
from spectragram.tagging.sequences import read_observations

ENDINGS = {"Nom": "a", "Acc": "u", "Gen": "es"}
STEMS = ["dom", "rek", "lip", "kot", "mis", "ptak", "wod", "plot", "las", "gor"]
QUICK = MorphologySettings(n_taggers=0, analyser_epochs=4, lemma_epochs=4)


def treebank(n: int, seed: int = 0, **empty: bool) -> list[Sentence]:
    """Adjective and noun agree in case, and the ending of adjectives is the same in all cases but one."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(n):
        case = str(rng.choice(list(ENDINGS)))
        adjective, noun = rng.choice(STEMS, 2)
        columns = {
            "upos": ["ADJ", "NOUN", "VERB", "PUNCT"],
            "xpos": ["A", "N", "V", "Z"],
            "feats": [f"Case={case}", f"Case={case}|Gender=Fem", "Tense=Pres", "_"],
            "lemma": [adjective + "y", noun + "a", "widzieć", "."],
        }
        columns |= {name: ["_"] * 4 for name, is_empty in empty.items() if is_empty}
        forms = [adjective + ("ej" if case == "Gen" else "i"), noun + ENDINGS[case], "widzi", "."]
        sentences.append(Sentence.from_words(forms, **columns))
    return sentences


def bare(sentences: list[Sentence], *names: str) -> list[Sentence]:
    every = names or ("upos", "xpos", "feats", "lemma")
    return [sentence.with_columns(**{name: ["_"] * len(sentence) for name in every}) for sentence in sentences]


@pytest.fixture(scope="module")
def morphology() -> Morphology:
    return learn_morphology(treebank(150), MorphologySettings(1, 2, 4, 4))


def test_all_columns_are_filled_in(morphology: Morphology) -> None:
    gold = treebank(30, seed=1)
    found = morphology.annotate(bare(gold))
    right = [a == b for g, f in zip(gold, found, strict=True) for a, b in zip(g.words, f.words, strict=True)]
    assert np.mean(right) > 0.97
    assert morphology.columns == ("upos", "xpos", "feats", "lemma")


def test_adjectives_agree_with_the_noun_behind(morphology: Morphology) -> None:
    for form, case in (("kota", "Nom"), ("kotu", "Acc")):
        sentence = Sentence.from_words(["zupni", form, "widzi", "."])
        assert morphology.annotate([sentence])[0].column("feats")[0] == f"Case={case}"


def test_only_columns_asked_for_are_filled_in(morphology: Morphology) -> None:
    gold = treebank(5, seed=2)
    found = morphology.annotate(bare(gold), columns=["feats"])
    assert [s.column("feats") for s in found] == [s.column("feats") for s in gold]
    assert {value for s in found for name in ("upos", "xpos", "lemma") for value in s.column(name)} == {"_"}


def test_columns_that_are_given_are_kept_and_are_evidence(morphology: Morphology) -> None:
    sentence = Sentence.from_words(["kota", "kota", "widzi", "."], upos=["VERB", "_", "VERB", "NEW"])
    found = morphology.annotate([sentence], columns=["xpos", "feats", "lemma"])[0]
    assert found.upos == ["VERB", "_", "VERB", "NEW"]
    assert found.column("feats")[0] == "Tense=Pres"
    assert found.xpos[:3] == ["V", "N", "V"]
    # Lemmas are chosen for the values that are given, even for those that training has not seen.
    assert morphology._analyses(read_observations([["kota"]]), {"upos": ["NEW"]}, 1)[0][0] == "NEW"
    free = morphology.annotate([sentence])[0]
    assert free.upos[0] != "VERB"


def test_values_that_never_occur_together_do_not_stop_it(morphology: Morphology) -> None:
    sentence = Sentence.from_words(["kota"], upos=["VERB"], feats=["Case=Nom|Gender=Fem"])
    assert morphology.annotate([sentence], columns=["xpos"])[0].xpos == ["V"]


@pytest.mark.parametrize("name", ["upos", "xpos", "feats", "lemma"])
def test_columns_that_training_does_not_have_are_left_alone(name: str) -> None:
    learned = learn_morphology(treebank(40, **{name: True}), QUICK)
    assert name not in learned.columns
    assert len(learned.columns) == 3
    found = learned.annotate(bare(treebank(3, seed=3)))
    assert {value for sentence in found for value in sentence.column(name)} == {"_"}


def test_words_alone_teach_nothing() -> None:
    sentences = bare(treebank(3))
    learned = learn_morphology(sentences, "fast")
    assert learned.columns == ()
    assert learned.annotate(sentences) == sentences
    with pytest.raises(InputError, match="no words"):
        learn_morphology([], "fast")
    with pytest.raises(ParameterError, match="quick"):
        learn_morphology(sentences, "quick")


def test_holes_are_no_obstacle() -> None:
    sentences = treebank(60)
    holes = [s.with_columns(xpos=["A", "N", "_", "Z"], lemma=[s.lemmas[0], "_", "_", "."]) for s in sentences]
    holes[0] = holes[0].with_columns(upos=["ADJ", "_", "VERB", "RARE"], feats=["Only=Once", "_", "_", "_"])
    learned = learn_morphology(holes, MorphologySettings(1, 1, 3, 3))
    found = learned.annotate(bare(sentences))
    assert np.mean([s.xpos == ["A", "N", "_", "Z"] for s in found]) > 0.9
    # Words without a lemma were no examples: all words get one.
    assert "_" not in {lemma for s in found for lemma in s.lemmas}


def test_words_without_a_part_of_speech_get_one_from_the_others() -> None:
    sentences = treebank(60)
    whole = learn_morphology(sentences, "fast")
    holes = []
    for number, sentence in enumerate(sentences):
        upos = sentence.upos
        upos[number % len(upos)] = "_"
        holes.append(sentence.with_columns(upos=upos))
    learned = learn_morphology([*holes, *bare(treebank(20, seed=3))], "fast")
    assert learned.analyser is not None
    assert "_" not in learned.analyser.analyses.names[0]
    new = bare(treebank(20, seed=5))
    same = [a.upos == b.upos for a, b in zip(learned.annotate(new), whole.annotate(new), strict=True)]
    assert np.mean(same) > 0.9


def test_one_word_is_enough() -> None:
    one = Sentence.from_words(["go"], upos=["VERB"], lemma=["go"])
    learned = learn_morphology([one], "default")
    assert learned.annotate([Sentence.from_words(["Go", "ب"])])[0].upos == ["VERB", "VERB"]


def test_the_state_holds_everything(morphology: Morphology) -> None:
    sentences = bare(treebank(10, seed=4))
    again = Morphology.from_state(*morphology.to_state())
    assert again.annotate(sentences) == morphology.annotate(sentences)
    values, arrays = morphology.to_state()
    with pytest.raises(ValueError, match="lemmatizer"):
        Morphology.from_state({**values, "columns": ["upos", "xpos", "feats"]}, arrays)
    with pytest.raises(ValueError, match="analyser"):
        Morphology.from_state({**values, "columns": ["lemma"]}, arrays)


def test_threads_do_not_show() -> None:
    sentences = treebank(40)
    one, two = (learn_morphology(sentences, MorphologySettings(1, 1, 2, 2), n_jobs=jobs) for jobs in (1, 2))
    (_, first), (_, second) = one.to_state(), two.to_state()
    assert all(np.array_equal(first[name], second[name]) for name in first)
    others = bare(treebank(20, seed=5))
    assert one.annotate(others, n_jobs=1) == two.annotate(others, n_jobs=2)


def test_jackknifing_predicts_what_other_sentences_teach() -> None:
    sentences = treebank(40)
    odd = Sentence.from_words(["zzz"], upos=["ODD"], xpos=["ODD"], lemma=["zzz"])
    steps: list[int] = []
    found = jackknife([*sentences, odd], 2, QUICK, report=lambda n=1, **_: steps.append(n))
    assert sum(steps) == 2  # a step of the progress bar for each fold
    assert [s.forms for s in found[:-1]] == [s.forms for s in sentences]
    assert found[-1].upos != ["ODD"]
    assert np.mean([a.upos == b.upos for a, b in zip(found, sentences, strict=False)]) > 0.9
    kept = jackknife([*sentences, odd], 2, QUICK, columns=["feats"])
    assert kept[-1].upos == ["ODD"]


def test_folds_are_runs_from_all_over() -> None:
    folds = fold_numbers(1000, 4)
    assert np.bincount(folds).tolist() == [250] * 4
    assert (np.diff(folds) != 0).sum() == 39
    assert jackknife(treebank(1), 4) == treebank(1)
    assert jackknife([], 4) == []
