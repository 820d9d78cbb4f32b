from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectragram.data.corpus import Corpus, Vocabulary
from spectragram.data.pautomac import (
    PautomacModel,
    looks_like_pautomac,
    read_pautomac,
    read_pautomac_model,
    read_pautomac_solution,
    write_pautomac,
    write_pautomac_model,
    write_pautomac_solution,
)
from spectragram.errors import InputError
from spectragram.files import open_input

PROBLEMS = range(1, 49, 2)
MODEL = """\
I: (state)
\t(0) 1.0
F: (state)
\t(1) 0.25
S: (state,symbol)\x20
\t(0,1) 1.0
\t(1,0) 0.5
\t(1,1) 0.5
T: (state,symbol,state)\x20
\t(0,1,1) 1.0
\t(1,0,0) 0.125
\t(1,0,1) 0.875
\t(1,1,1) 1.0
"""


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "file"
        path.write_text(text)
        return path

    return write


def test_strings_are_a_corpus_over_the_whole_alphabet(write) -> None:
    corpus = read_pautomac(write("4 3\n2 0 2\n0\n\n1 2\n0 \n"))
    assert [string.tolist() for string in corpus] == [[0, 2], [], [2], []]
    assert corpus.vocabulary.words == ("0", "1", "2")
    assert corpus.vocabulary.counts.tolist() == [1, 0, 2]
    assert corpus.tokens.dtype == np.int32


@given(strings=st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=8))
def test_strings_that_are_written_read_back(tmp_path_factory: pytest.TempPathFactory, strings: list[list[int]]) -> None:
    path = tmp_path_factory.mktemp("pautomac") / "train"
    alphabet = Vocabulary([str(k) for k in range(5)])
    corpus = Corpus.from_sequences([map(str, string) for string in strings], alphabet)
    write_pautomac(corpus, path)
    assert [string.tolist() for string in read_pautomac(path)] == strings


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "a first line of 0 numbers; expected the number of strings and the size"),
        ("\n1 2\n", 1, "a first line of 0 numbers"),
        ("2\n", 1, "a first line of 1 numbers"),
        ("2 2\n1 0\n", 1, "1 strings, but line 1 promises 2"),
        ("1 2\n1 0\n1 1\n", 1, "2 strings, but line 1 promises 1"),
        ("999999999 2\n1 0\n", 1, "promises 999999999"),
        ("1 999999999\n1 0\n", 1, "an alphabet of 999999999 symbols"),
        ("1 0\n0\n", 1, "an alphabet of 0 symbols"),
        ("3 2\n1 0\n\n0\n3 1 0 2\n", 5, "symbol 2 in an alphabet of 2"),
        ("2 2\n1 0\n3 1 0\n", 3, "a string of 2 symbols whose stated length is 3"),
        ("2 2\n1 0\n1 x\n", 3, "'x' where a number was expected"),
        ("2 2\n1 -1\n", 2, "'-1' where a number was expected"),
        ("1 99999999999999999999\n1 0\n", 1, "where a number was expected"),
    ],
)
def test_strings_that_lie_are_refused_with_their_line(write, text: str, line: int, message: str) -> None:
    path = write(text)
    with pytest.raises(InputError) as caught:
        read_pautomac(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 3\n2 0 1\n0\n", True),
        ("2 3\n2 0 1\n\n1 2\n", True),
        ("2 3\n2 0 1\n1 0 1\n", False),
        ("2 3 4\n2 0 1\n1 0\n", False),
        ("a b\n2 0 1\n1 0\n", False),
        ("2 3\n2 0 1\n", False),
        ("", False),
    ],
)
def test_files_of_strings_are_known_by_their_first_lines(write, text: str, expected: bool) -> None:
    assert looks_like_pautomac(write(text)) is expected


def test_solutions_read_back_exactly(tmp_path: Path, rng: np.random.Generator) -> None:
    probabilities = np.append(rng.random(50) ** 20, [0.0, 1.0])
    write_pautomac_solution(probabilities, tmp_path / "solution")
    assert np.array_equal(read_pautomac_solution(tmp_path / "solution"), probabilities)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("2\n0.5\n", 1, "1 probabilities, but line 1 promises 2"),
        ("1 1\n0.5\n", 1, "a first line of 2 numbers"),
        ("2\n0.5\n1.5\n", 3, "'1.5' where a probability was expected"),
        ("1\nnan\n", 2, "'nan' where a probability"),
        ("1\nhalf\n", 2, "'half' where a probability"),
    ],
)
def test_solutions_that_lie_are_refused_with_their_line(write, text: str, line: int, message: str) -> None:
    path = write(text)
    with pytest.raises(InputError) as caught:
        read_pautomac_solution(path)
    assert str(caught.value).startswith(f"{path}:{line}: {message}")


def test_models_become_operators_and_come_back(write, tmp_path: Path) -> None:
    model = read_pautomac_model(write(MODEL))
    assert model.initial.tolist() == [1, 0]
    assert model.final.tolist() == [0, 0.25]
    assert model.symbol.tolist() == [[0, 1], [0.5, 0.5]]
    assert model.transition.tolist() == [[[0, 0], [0.125, 0.875]], [[0, 1], [0, 1]]]
    # "1 0": emit 1 and move to state 1; go on (3/4), emit 0 (1/2), stay (7/8); end (1/4).
    first, second = model.operators[1], model.operators[0]
    assert model.initial @ first @ second @ model.final == 0.75 * 0.5 * 0.875 * 0.25
    write_pautomac_model(model, tmp_path / "out")
    assert (tmp_path / "out").read_text() == MODEL


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("\t(0) 1.0\n", 1, "'(0) 1.0'; expected a section (I:, F:, S:, T:) first"),
        ("I: (state)\n\t(0,1) 1.0\n", 2, "'(0,1) 1.0'; expected 1 indices"),
        ("I: (state)\n\tnonsense\n", 2, "'nonsense'; expected 1 indices and a probability"),
        ("I: (state)\n\t(0) 0.5\n\t(0) 0.5\n", 3, "a second entry (0) 0.5"),
        ("I: (state)\n\t(0) 2\n", 2, "'2' where a probability was expected"),
        ("I: (state)\n\t(99999999999) 0.5\n", 2, "'99999999999' where a number was expected"),
        ("I: (state)\n\t(0) 1.0\nS: \n", None, "no entries in section S:"),
        (MODEL.replace("(0,1,1)", "(0,1,99999999)"), None, "100000000 states and 2 symbols need"),
        (MODEL.replace("(1,0) 0.5", "(1,999999999) 0.5"), None, "2 states and 1000000000 symbols"),
        ("", None, "no entries in section I:"),
    ],
)
def test_malformed_models_are_refused(write, text: str, line: int | None, message: str) -> None:
    path = write(text)
    with pytest.raises(InputError) as caught:
        read_pautomac_model(path)
    place = "" if line is None else f":{line}"
    assert str(caught.value).startswith(f"{path}{place}: {message}")


@given(st.text(st.sampled_from("IFST:(),.0123e-\n \t"), max_size=60))
def test_any_text_is_a_file_or_an_input_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("pautomac") / "file"
    path.write_text(text)
    for read in (read_pautomac, read_pautomac_model, read_pautomac_solution):
        try:
            read(path)
        except InputError as error:
            assert str(path) in str(error)


def log2_probability(model: PautomacModel, operators: np.ndarray, string: np.ndarray) -> float:
    state, log_scale = model.initial, 0.0
    for symbol in string:
        state = state @ operators[symbol]
        log_scale += np.log2(state.sum())
        state = state / state.sum()
    return log_scale + np.log2(state @ model.final)


def same_bytes(path: Path, write, tmp_path: Path) -> bool:
    """Whether what ``write(target, line_end=...)`` writes is the file at ``path``."""
    with open_input(path) as stream:
        original = stream.read()
    write(tmp_path / "out", line_end="\r\n" if b"\r\n" in original else "\n")
    return (tmp_path / "out").read_bytes() == original


@pytest.mark.parametrize("problem", PROBLEMS)
def test_real_problems_come_back_byte_for_byte_and_models_give_their_solution(
    data_dir: Path, tmp_path: Path, problem: int
) -> None:
    folder = data_dir / "pautomac"
    (train,) = folder.glob(f"{problem}.pautomac.train*")
    strings = folder / f"{problem}.pautomac.test"
    solution = folder / f"{problem}.pautomac_solution.txt"
    automaton = folder / f"{problem}.pautomac_model.txt"

    test, target, model = read_pautomac(strings), read_pautomac_solution(solution), read_pautomac_model(automaton)
    assert same_bytes(train, lambda *a, **o: write_pautomac(read_pautomac(train), *a, **o), tmp_path)
    assert same_bytes(strings, lambda *a, **o: write_pautomac(test, *a, **o), tmp_path)
    assert same_bytes(solution, lambda *a, **o: write_pautomac_solution(target, *a, **o), tmp_path)
    assert same_bytes(automaton, lambda *a, **o: write_pautomac_model(model, *a, **o), tmp_path)

    # The solution is the model's probabilities, renormalised over the test set: ratios agree.
    chosen = np.argsort(target)[-40:]
    logs = np.array([log2_probability(model, model.operators, test[i]) for i in chosen])
    ratios = logs - np.log2(target[chosen])
    assert np.allclose(ratios, ratios[0], atol=1e-9)
