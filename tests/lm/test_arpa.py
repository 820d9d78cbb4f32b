"""ARPA files: models go out and come back, KenLM agrees where it is installed, bad files are named."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from spectragram import load
from spectragram.errors import InputError
from spectragram.lm import LanguageModel
from spectragram.lm.arpa import write_arpa
from spectragram.lm.arpa_reading import is_arpa
from spectragram.synthetic import english_text

TINY = """
\\data\\
ngram 1=5
ngram 2=3

\\1-grams:
-99\t<s>\t-0.5
-0.6\t</s>
-0.7\ta\t-0.2
-0.8\tb
-1.0\t<unk>

\\2-grams:
-0.1\t<s> a
-0.3\ta b
-0.9\ta </s>

\\end\\
"""


@pytest.fixture(scope="module")
def text() -> list[list[str]]:
    return english_text(700, seed=9)


def write(model: LanguageModel, path: Path) -> Path:
    with path.open("w") as stream:
        write_arpa(model.model_, stream)
    return path


@pytest.mark.parametrize("order", [1, 2, 5])
@pytest.mark.parametrize("boundaries", [False, True])
def test_kneser_ney_goes_out_and_comes_back(
    order: int, boundaries: bool, text: list[list[str]], tmp_path: Path
) -> None:
    model = LanguageModel(learner="kn", order=order, boundaries=boundaries).fit(text[:500])
    path = write(model, tmp_path / "model.arpa")
    assert is_arpa(path)
    again = LanguageModel.from_arpa(path)
    assert (again.order, again.boundaries) == (order, boundaries)
    assert set(again.vocabulary_.words) == set(model.vocabulary_.words)
    known = [[word if word in model.vocabulary_ else "<unk>" for word in words] for words in text[500:]]
    np.testing.assert_allclose(again.log_prob(known), model.log_prob(known), atol=1e-3)
    assert again.perplexity(known, unknown="score") == pytest.approx(model.perplexity(known, unknown="score"), rel=1e-5)
    again.save(tmp_path / "model.sgm")
    loaded = load(tmp_path / "model.sgm")
    np.testing.assert_array_equal(loaded.log_prob(known), again.log_prob(known))
    once_more = LanguageModel.from_arpa(write(loaded, tmp_path / "again.arpa"))
    np.testing.assert_allclose(once_more.log_prob(known), again.log_prob(known), atol=1e-3)
    assert np.isfinite(again.log_prob([["xyzzy"]])).all()


@pytest.mark.parametrize("learner", ["kn", "mixed"])
def test_kenlm_reads_our_files_and_agrees(learner: str, text: list[list[str]], tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm")
    model = LanguageModel(4, learner, order=4, boundaries=True, max_iter=1).fit(text[:500])
    theirs = kenlm.Model(str(write(model, tmp_path / "model.arpa")))
    ours = LanguageModel.from_arpa(tmp_path / "model.arpa")
    known = [[word if word in model.vocabulary_ else "<unk>" for word in words] for words in text[500:]]
    logs = [theirs.score(" ".join(words)) * np.log(10) for words in known]
    np.testing.assert_allclose(ours.log_prob(known), logs, atol=1e-3)
    if learner == "kn":
        np.testing.assert_allclose(model.log_prob(known), logs, atol=1e-3)


def test_a_file_worked_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "tiny.arpa.gz"
    path.write_bytes(gzip.compress(TINY.encode()))
    model = LanguageModel.from_arpa(path)
    # "a b": <s> a is listed, a b too, and nothing is listed after b.
    assert model.log_prob([["a", "b"]])[0] / np.log(10) == pytest.approx(-0.1 - 0.3 - 0.6, abs=1e-6)
    # "b a": <s> b and b a go through the weights of <s> (-0.5) and b (none), then a </s> is listed.
    assert model.log_prob([["b", "a"]])[0] / np.log(10) == pytest.approx(-0.5 - 0.8 - 0.7 - 0.9, abs=1e-6)
    without = tmp_path / "without.arpa"
    without.write_text(TINY.replace("-1.0\t<unk>\n", "").replace("ngram 1=5", "ngram 1=4"))
    model = LanguageModel.from_arpa(without)
    assert model.vocabulary_.unknown == "<unk>"
    assert model.log_prob([["xyzzy"]])[0] == -np.inf


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("\\data\\", "data", "in place of"),
        ("ngram 2=3", "ngram 3=3", "lengths"),
        ("ngram 2=3", "ngram two", "number of n-grams"),
        ("-0.3\ta b", "-0.3\ta c", "not among the words"),
        ("-0.3\ta b", "low\ta b", "in place of an n-gram of length 2"),
        ("-0.3\ta b", "-0.3\ta", "in place of an n-gram of length 2"),
        ("-0.3\ta b", "-0.1\t<s> a", "twice"),
        ("-0.8\tb", "-0.8\ta", "a word twice"),
        ("\n\\end\\\n", "", "the end of the file"),
        ("\\2-grams:", "\\3-grams:", "2-grams"),
    ],
)
def test_bad_files_are_named(old: str, new: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.arpa"
    path.write_text(TINY.replace(old, new, 1))
    with pytest.raises(InputError, match=problem) as trouble:
        LanguageModel.from_arpa(path)
    assert "bad.arpa" in str(trouble.value)
