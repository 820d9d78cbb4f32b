"""Hidden Markov models against enumeration of all state sequences and against hmmlearn."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

import spectragram as sg
from spectragram.cli import main
from spectragram.data.number_sequences import as_number_sequences
from spectragram.errors import InputError, SpectragramError
from spectragram.hmm import HMM
from spectragram.hmm.em import EStep, maximize, prepare

RNG = np.random.default_rng(5)
M, K, D = 3, 4, 2
START, MOVES = RNG.dirichlet(np.ones(M)), RNG.dirichlet(np.ones(M), M)
TABLE = RNG.dirichlet(np.ones(K), M)
MEANS = RNG.normal(size=(M, D)) * 2
FACTORS = RNG.normal(size=(M, D, D))
FULL = FACTORS @ FACTORS.transpose(0, 2, 1) + 0.3 * np.eye(D)
DIAGONALS = RNG.gamma(2.0, size=(M, D)) + 0.2
LENGTHS = [5, 1, 4, 6]
SYMBOLS = RNG.integers(0, K, sum(LENGTHS))
VECTORS = RNG.normal(size=(sum(LENGTHS), D)) * 2


def categorical() -> HMM:
    return HMM.from_parameters(START, MOVES, emissionprob=TABLE)


def gaussian(full: bool) -> HMM:
    return HMM.from_parameters(START, MOVES, means=MEANS, covars=FULL if full else DIAGONALS)


def density(model: HMM, x: np.ndarray, state: int) -> float:
    """Written from the formulas, not from the code."""
    if x.ndim == 0:
        return float(TABLE[state, x])
    covariance, centred = model.covars_[state], x - MEANS[state]
    return float(
        np.exp(-0.5 * centred @ np.linalg.inv(covariance) @ centred) / np.sqrt(np.linalg.det(2 * np.pi * covariance))
    )


def joint(model: HMM, sequence: np.ndarray) -> dict[tuple[int, ...], float]:
    """The probability of a sequence with each sequence of states."""
    found = {}
    for states in product(range(M), repeat=len(sequence)):
        value = START[states[0]] * density(model, sequence[0], states[0])
        for t in range(1, len(sequence)):
            value *= MOVES[states[t - 1], states[t]] * density(model, sequence[t], states[t])
        found[states] = value
    return found


CASES = {
    "categorical": (categorical, SYMBOLS),
    "diag": (lambda: gaussian(False), VECTORS),
    "full": (lambda: gaussian(True), VECTORS),
}


@pytest.mark.parametrize("name", list(CASES))
def test_sums_posteriors_and_paths_are_those_of_enumeration(name: str) -> None:
    make, values = CASES[name]
    model = make()
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)])
    posteriors, paths = model.predict_proba(values, LENGTHS), model.predict(values, LENGTHS)
    best_total = 0.0
    for i, log_prob in enumerate(model.log_prob(values, LENGTHS)):
        part = slice(offsets[i], offsets[i + 1])
        every = joint(model, values[part])
        total = sum(every.values())
        assert log_prob == pytest.approx(np.log(total), abs=1e-10)
        expected = np.zeros((LENGTHS[i], M))
        for states, value in every.items():
            expected[np.arange(LENGTHS[i]), list(states)] += value / total
        np.testing.assert_allclose(posteriors[part], expected, atol=1e-10)
        best = max(every, key=lambda states, every=every: every[states])
        assert paths[part].tolist() == list(best)
        best_total += np.log(every[best])
    assert model.decode(values, LENGTHS)[0] == pytest.approx(best_total, abs=1e-10)


@pytest.mark.parametrize("name", list(CASES))
def test_expected_counts_are_those_of_enumeration(name: str) -> None:
    make, values = CASES[name]
    model = make()
    data = as_number_sequences(values, LENGTHS)
    expected = EStep(prepare(data, K), dtype=np.float64)(model.model_)
    starts, moves = np.zeros(M), np.zeros((M, M))
    for sequence in data.split(values):
        every = joint(model, sequence)
        total = sum(every.values())
        for states, value in every.items():
            starts[states[0]] += value / total
            for before, after in pairwise(states):
                moves[before, after] += value / total
    np.testing.assert_allclose(expected.starts, starts, atol=1e-10)
    np.testing.assert_allclose(expected.moves, moves, atol=1e-10)
    assert expected.emitted.sum() == pytest.approx(len(values))
    assert expected.log_likelihood == pytest.approx(model.score(values, LENGTHS), abs=1e-9)
    short = EStep(prepare(data, K))(model.model_)
    np.testing.assert_allclose(short.moves, moves, atol=1e-4)


def hmmlearn_twin(name: str):
    hmm = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn is not installed (pip install spectragram[peers])")
    if name == "categorical":
        twin = hmm.CategoricalHMM(M, n_iter=1, init_params="", n_features=K)
        twin.emissionprob_ = TABLE
    else:
        twin = hmm.GaussianHMM(
            M, name, n_iter=1, init_params="", min_covar=0.0, covars_prior=0.0, covars_weight=1.0, means_weight=0.0
        )
        twin.means_ = MEANS
        twin.covars_ = FULL if name == "full" else DIAGONALS
    twin.startprob_, twin.transmat_ = START, MOVES
    return twin


@pytest.mark.parametrize("name", list(CASES))
def test_hmmlearn_computes_the_same(name: str) -> None:
    make, values = CASES[name]
    ours, theirs = make(), hmmlearn_twin(name)
    X = values.reshape(len(values), -1)
    assert ours.score(X, LENGTHS) == pytest.approx(theirs.score(X, LENGTHS), abs=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X, LENGTHS), theirs.predict_proba(X, LENGTHS), atol=1e-8)
    value, states = ours.decode(X, LENGTHS)
    their_value, their_states = theirs.decode(X, LENGTHS)
    assert value == pytest.approx(their_value, abs=1e-8)
    assert states.tolist() == their_states.tolist()


@pytest.mark.parametrize("name", list(CASES))
def test_an_em_step_is_that_of_hmmlearn(name: str) -> None:
    make, values = CASES[name]
    many = np.concatenate([values] * 3)[::-1].copy()
    lengths = LENGTHS * 3
    theirs = hmmlearn_twin(name)
    theirs.fit(many.reshape(len(many), -1), lengths)
    prepared = prepare(as_number_sequences(many, lengths), K)
    prepared.floor[:] = 0.0
    stepped = maximize(prepared, EStep(prepared, dtype=np.float64)(make().model_), 0.0, name == "full")
    np.testing.assert_allclose(stepped.start, theirs.startprob_, atol=1e-8)
    np.testing.assert_allclose(stepped.moves, theirs.transmat_, atol=1e-8)
    if name == "categorical":
        np.testing.assert_allclose(stepped.emissions.table, theirs.emissionprob_, atol=1e-8)
        return
    np.testing.assert_allclose(stepped.emissions.means, theirs.means_, atol=1e-8)
    ours = HMM.from_parameters(
        stepped.start, stepped.moves, means=stepped.emissions.means, covars=stepped.emissions.covariances
    )
    np.testing.assert_allclose(ours.covars_, theirs.covars_, atol=1e-8)


@pytest.mark.parametrize("learner", ["spectral+em", "em"])
def test_em_only_climbs(learner: str) -> None:
    throws, _ = categorical().sample(600, random_state=3)
    scores = [
        HMM(3, learner, preset="fast", max_iter=n, prior=0.0, tolerance=0.0).fit(throws).score(throws)
        for n in (1, 4, 16)
    ]
    assert scores == sorted(scores)


def test_the_spectral_start_finds_the_hidden_states() -> None:
    true = HMM.from_parameters(
        [0.5, 0.5], [[0.95, 0.05], [0.05, 0.95]], emissionprob=[[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]
    )
    throws, states = true.sample(4000, random_state=1)
    found = HMM(2).fit(throws)
    hits = (found.predict(throws) == states).mean()
    assert max(hits, 1 - hits) > 0.9
    assert found.score(throws) > true.score(throws) - 1.0
    points, states = HMM.from_parameters(
        [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], means=[[0.0, 0.0], [3.0, 1.0]], covars=[np.eye(2)] * 2
    ).sample(2000, random_state=2)
    for covariance in ("diag", "full"):
        hits = (HMM(2, covariance=covariance).fit(points).predict(points) == states).mean()
        assert max(hits, 1 - hits) > 0.95


def test_the_number_of_states_is_found() -> None:
    true = HMM.from_parameters(
        [1.0, 0.0, 0.0],
        [[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]],
        means=[[0.0], [4.0], [8.0]],
        covars=[[1.0]] * 3,
    )
    points, _ = true.sample(1500, random_state=4)
    assert len(HMM(preset="fast").fit(points).startprob_) == 3
    dev, _ = true.sample(500, random_state=5)
    assert len(HMM(preset="fast").fit(points, dev=dev).startprob_) >= 3


def test_one_array_in_one_array_out_and_lists_likewise() -> None:
    model = categorical()
    array = model.predict(SYMBOLS, LENGTHS)
    assert isinstance(array, np.ndarray)
    parts = model.predict([part.tolist() for part in np.split(SYMBOLS, np.cumsum(LENGTHS)[:-1])])
    assert np.concatenate(parts).tolist() == array.tolist()
    assert model.predict_proba(SYMBOLS.reshape(-1, 1), LENGTHS).shape == (len(SYMBOLS), M)
    assert model.score_samples(SYMBOLS)[0] == model.score(SYMBOLS)
    assert model.log_prob([[0, 1], [], [2]])[1] == 0.0


def test_samples_follow_the_model() -> None:
    symbols, states = categorical().sample(40_000, random_state=1)
    counted = np.zeros((M, K))
    np.add.at(counted, (states, symbols), 1.0)
    np.testing.assert_allclose(counted / counted.sum(axis=1, keepdims=True), TABLE, atol=0.02)
    for full in (True, False):
        points, states = gaussian(full).sample(40_000, random_state=1)
        np.testing.assert_allclose(np.cov(points[states == 1].T), gaussian(full).covars_[1], atol=0.15)


def test_vectors_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, model = tmp_path / "points", tmp_path / "model"
    rows = [[0.1, 1.5], [0.2, 1.4], [5.0, -3.0], [5.1, -3.2]]
    path.write_text("".join(f"{a} {b}\n" for a, b in rows) + "\n" + "".join(f"{a} {b}\n" for a, b in rows * 3))
    assert main(["train", "hmm", str(path), "-o", str(model), "--states", "2", "--covariance", "full", "-q"]) == 0
    loaded = sg.load(model)
    assert isinstance(loaded, HMM)
    assert loaded.means_.shape == (2, 2)
    assert main(["predict", str(model), str(path)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.split() == second.split()[:4]
    assert len(set(first.split())) == 2
    assert main(["evaluate", str(model), str(path)]) == 0
    assert "per_observation" in capsys.readouterr().out
    assert main(["inspect", str(model)]) == 0
    assert "next states" in capsys.readouterr().out
    assert main(["inspect", str(model), "--json", "--html", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_text().count("<svg") > 0
    assert "next states" not in capsys.readouterr().out
    assert main(["predict", str(model), str(path), "--prob"]) == 0
    printed = [float(line) for line in capsys.readouterr().out.splitlines()]
    np.testing.assert_allclose(printed, loaded.log_prob(path), rtol=1e-9)


def test_demo_finds_the_loaded_die(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "hmm"]) == 0
    shown = capsys.readouterr().out
    assert float(shown.split("for ")[1].split()[0]) > 75


@pytest.mark.parametrize(
    ("text", "said"),
    [("1 2\n1 x\n", ":2: not a line of numbers"), ("0.5 1\n0.5\n", ":2: 1 numbers where the first line has 2")],
)
def test_broken_files_are_named_with_their_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        HMM(2).fit(path)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: categorical().predict([0, 9]),
        lambda: categorical().score([[0.5, 0.1]]),
        lambda: gaussian(True).score([[1.0, 2.0, 3.0]]),
        lambda: HMM.from_parameters([0.5, 0.6], np.eye(2), emissionprob=np.eye(2)),
        lambda: HMM.from_parameters([0.5, 0.5], np.eye(2)),
        lambda: HMM.from_parameters([0.5, 0.5], np.eye(2), means=[[0.0], [1.0]], covars=[[1.0], [-1.0]]),
        lambda: categorical().fit(SYMBOLS, [len(SYMBOLS) + 1]),
    ],
)
def test_what_does_not_fit_is_refused(ask) -> None:
    with pytest.raises(SpectragramError):
        ask()


def test_a_list_of_plain_numbers_is_one_sequence() -> None:
    found = as_number_sequences([0, 1, 1])
    assert found.values.tolist() == [0, 1, 1] and found.offsets.tolist() == [0, 3] and found.one_array
    model = HMM.from_parameters(START, MOVES, emissionprob=TABLE)
    np.testing.assert_array_equal(model.predict([0, 1, 1]), model.predict(np.array([0, 1, 1])))
    with pytest.raises(InputError, match="no observations"):
        as_number_sequences([])
