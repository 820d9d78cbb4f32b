"""What every estimator promises, held for all of them by the same tests.

Each task folder joins with a module ``tests/<folder>/contract_case.py`` that defines ``CASE``.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score

from spectragram import errors, kinds, load, storage
from spectragram.cli import main
from spectragram.data.inputs import as_word_lists
from spectragram.estimator import RUN_TIME


@dataclass(frozen=True)
class ContractCase:
    """How to exercise one estimator in well under a second or two.

    ``make`` builds an untrained estimator (small settings) from keyword overrides; ``X`` (and ``y``) give the records
    that it is trained on; ``outputs`` gives arrays that depend on everything learned; ``write`` puts the same records
    into a file of the kind that the command line reads, and ``options`` are the settings of ``make`` there;
    ``changed`` gives every parameter but those of run time another value, legal or not; ``grid`` is a search over
    one parameter; ``bad_fits`` are inputs that ``fit`` must refuse.
    """

    make: Callable[..., Any]
    X: Callable[[], list[Any]]
    outputs: Callable[[Any], list[np.ndarray]]
    write: Callable[[Path], Path]
    options: list[str]
    changed: dict[str, Any]
    grid: dict[str, list[Any]]
    y: Callable[[], list[Any]] | None = None
    bad_fits: dict[str, Callable[[Any], Any]] = field(default_factory=dict)

    def fit(self, model: Any) -> Any:
        """Train on the small corpus."""
        return model.fit(self.X()) if self.y is None else model.fit(self.X(), self.y())

    def targets(self) -> list[Any] | None:
        """What scikit-learn gets as ``y``."""
        return None if self.y is None else self.y()


FOLDERS = {kind.module.rsplit(".", 1)[1]: kind for kind in kinds.KINDS.values()}


def case_of(folder: str) -> ContractCase:
    return importlib.import_module(f"tests.{folder}.contract_case").CASE


def assert_same(left: Iterable[np.ndarray], right: Iterable[np.ndarray]) -> None:
    left, right = list(left), list(right)
    assert len(left) == len(right) > 0
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)


def without_seconds(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if not name.startswith("seconds")}


@pytest.fixture(params=sorted(FOLDERS), scope="module")
def folder(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def case(folder: str) -> ContractCase:
    return case_of(folder)


@pytest.fixture(scope="module")
def fitted(case: ContractCase) -> Any:
    return case.fit(case.make())


# Parameters and training


def test_parameters_are_stored_as_given(case: ContractCase) -> None:
    model = case.make()
    params = model.get_params()
    assert {"random_state", "n_jobs", "verbose", "learner", "preset"} <= set(params)
    assert type(model)(**params).get_params() == params
    assert clone(model).get_params() == params
    assert model.set_params(random_state=7) is model
    assert model.get_params()["random_state"] == 7
    assert "random_state=7" in repr(model)
    assert "verbose" not in repr(model)  # only what differs from the default is shown
    with pytest.raises(errors.InputError, match="has no parameter 'colour'; there are"):
        model.set_params(colour="red")


def test_shared_parameters_have_the_same_defaults(case: ContractCase) -> None:
    parameters = type(case.make())._parameters()
    defaults = {name: parameters[name].default for name in ("random_state", "n_jobs", "verbose", "preset")}
    assert defaults == {"random_state": 0, "n_jobs": -1, "verbose": False, "preset": "default"}
    for name in ("n_states", "n_clusters", "n_models", "max_iter"):
        if name in parameters:
            assert parameters[name].default is None, "None lets the preset, or the data, choose"
    kinds = [parameter.kind for parameter in parameters.values()]
    assert list(parameters)[1] == "learner"
    assert [kind.name for kind in kinds[:2]] == ["POSITIONAL_OR_KEYWORD"] * 2
    assert {kind.name for kind in kinds[2:]} == {"KEYWORD_ONLY"}


def test_methods_that_all_kinds_have(case: ContractCase) -> None:
    for name in ("fit", "predict", "evaluate", "score", "save", "load"):
        assert callable(getattr(case.make(), name))


def test_fit_returns_self_and_leaves_parameters_alone(case: ContractCase) -> None:
    model = case.make()
    before = model.get_params()
    assert case.fit(model) is model
    assert model.get_params() == before
    assert isinstance(model.summary_, dict)
    json.dumps(model.summary_)


def test_refit_forgets_and_seed_decides(case: ContractCase, fitted: Any) -> None:
    again = case.fit(case.fit(case.make()))
    assert_same(case.outputs(again), case.outputs(fitted))


def test_jobs_do_not_show(case: ContractCase, fitted: Any, tmp_path: Path) -> None:
    one = case.fit(case.make(n_jobs=1))
    assert_same(case.outputs(one), case.outputs(fitted))
    one.save(tmp_path / "one")
    case.fit(case.make(n_jobs=2)).save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_bad_input_is_refused_with_a_remedy(case: ContractCase) -> None:
    assert "empty" in case.bad_fits, "every estimator must refuse an empty corpus"
    for name, bad_fit in case.bad_fits.items():
        with pytest.raises(errors.SpectragramError) as caught:
            bad_fit(case.make())
        assert len(str(caught.value)) > 20, name


def test_an_unknown_learner_is_refused(case: ContractCase) -> None:
    with pytest.raises(errors.ParameterError, match="choose one of"):
        case.fit(case.make().set_params(learner="no-such-learner"))


def test_an_unknown_preset_is_refused(case: ContractCase) -> None:
    with pytest.raises(errors.ParameterError, match="choose one of fast, default, best"):
        case.fit(case.make().set_params(preset="no-such-preset"))


def test_a_fit_that_fails_late_changes_nothing(case: ContractCase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a new estimator nor a trained one is left half-trained."""
    model = case.make()
    trained = case.fit(case.make())
    before = dict(vars(trained))

    def refuse(self: Any, name: str, value: object) -> None:
        if name == "summary_":
            raise KeyboardInterrupt
        object.__setattr__(self, name, value)

    with monkeypatch.context() as patched:
        patched.setattr(type(model), "__setattr__", refuse)
        for estimator in (model, trained):
            with pytest.raises(KeyboardInterrupt):
                case.fit(estimator)
    assert list(vars(model)) == list(model.get_params())
    assert vars(trained).keys() == before.keys()
    assert all(vars(trained)[name] is value for name, value in before.items())


def test_summaries_use_the_same_names(fitted: Any) -> None:
    names = list(fitted.summary_)
    assert names[0] == "learner"
    assert names[-1] == "seconds"
    assert "tokens" in names
    assert not {"words", "strings", "trees"} & set(names), "the shared names are tokens, types and sentences"


def test_repr_is_short(fitted: Any) -> None:
    assert type(fitted).__name__ in repr(fitted)
    assert len(repr(fitted)) < 500


# A trained model needs nothing but itself


def test_set_params_after_fit_changes_nothing(case: ContractCase, tmp_path: Path) -> None:
    model = case.fit(case.make())
    outputs = case.outputs(model)
    model.save(tmp_path / "before")
    assert case.changed.keys() == model.get_params().keys() - set(RUN_TIME)
    for name, value in case.changed.items():
        assert model.get_params()[name] != value, f"{name} must change"
    model.set_params(**case.changed, n_jobs=3, verbose=True)
    assert_same(case.outputs(model), outputs)
    model.save(tmp_path / "after")
    assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()


def test_save_and_load_give_the_same_model(case: ContractCase, fitted: Any, tmp_path: Path) -> None:
    path = tmp_path / "model"
    fitted.save(path)
    for restored in (load(path), type(fitted).load(path)):
        assert type(restored) is type(fitted)
        assert restored.summary_ == without_seconds(fitted.summary_)
        assert_same(case.outputs(restored), case.outputs(fitted))
        restored.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == path.read_bytes()
        # The parameters come back too: training again gives the same model.
        assert_same(case.outputs(case.fit(restored)), case.outputs(fitted))
    assert storage.read_header(path).kind == fitted.kind


def test_models_as_the_papers_write_them_are_saved_and_loaded(case: ContractCase, tmp_path: Path) -> None:
    """The values of that recipe are at the edges: nothing is smoothed."""
    if "recipe" not in case.make().get_params():
        pytest.skip("implements none of the papers")
    model = case.fit(case.make(recipe="paper"))
    model.save(tmp_path / "model")
    found, wanted = (repr(list(one.predict(case.X()[:5]))) for one in (type(model).load(tmp_path / "model"), model))
    assert found == wanted


def test_eight_threads_give_what_one_gives(case: ContractCase, fitted: Any) -> None:
    """Prediction leaves the model alone: nothing of one call shows in another."""
    before = dict(vars(fitted))
    alone = case.outputs(fitted)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda _: case.outputs(fitted), range(16)))
    for outputs in together:
        assert_same(outputs, alone)
    assert vars(fitted).keys() == before.keys()
    assert all(vars(fitted)[name] is value for name, value in before.items())


def test_other_meanings_of_the_weights_are_refused(case: ContractCase, fitted: Any, tmp_path: Path) -> None:
    path = tmp_path / "model"
    fitted.save(path)
    stored = storage.read(path)
    for name, version in fitted.meanings.items():
        changed = stored.header["meanings"] | {name: version + 1}
        storage.write(path, stored.kind, stored.header | {"meanings": changed}, stored.arrays)
        with pytest.raises(errors.ModelFileError, match="train the model again"):
            load(path)


def test_a_gutted_model_file_is_refused(case: ContractCase, fitted: Any, tmp_path: Path) -> None:
    path = tmp_path / "model"
    fitted.save(path)
    stored = storage.read(path)
    storage.write(path, stored.kind, stored.header | {"state": {}}, {})
    with pytest.raises(errors.ModelFileError, match="train the model again"):
        load(path)


def test_an_untrained_model_says_so(case: ContractCase, tmp_path: Path) -> None:
    with pytest.raises(errors.NotFittedError, match="fit"):
        case.make().save(tmp_path / "model")
    with pytest.raises(errors.NotFittedError, match="fit"):
        case.outputs(case.make())
    assert not list(tmp_path.iterdir())


# Files


def test_a_path_an_iterable_and_the_command_line_give_the_same_model(case: ContractCase, tmp_path: Path) -> None:
    path = case.write(tmp_path)
    case.make().fit(path).save(tmp_path / "path")
    case.make().fit(str(path)).save(tmp_path / "string")
    case.fit(case.make()).save(tmp_path / "iterable")
    kind = case.make().kind
    assert main(["train", kind, str(path), "-o", str(tmp_path / "command"), "-q", *case.options]) == 0
    expected = (tmp_path / "path").read_bytes()
    for name in ("string", "iterable", "command"):
        assert (tmp_path / name).read_bytes() == expected, name


def test_a_string_that_names_no_file_is_refused(case: ContractCase) -> None:
    with pytest.raises(errors.InputError, match="no such file"):
        case.make().fit("no-such-file.txt")


# scikit-learn and joblib


def test_cross_validation(case: ContractCase) -> None:
    X, y = case.X(), case.targets()
    folds = KFold(2)
    scores = cross_val_score(case.make(), X, y, cv=folds)
    assert scores.shape == (2,)
    assert np.isfinite(scores).all()
    predicted = cross_val_predict(case.make(), X, y, cv=folds)
    assert predicted.shape == (len(X),)
    train, test = next(iter(folds.split(X)))
    part = [X[i] for i in train]
    alone = case.make().fit(part) if y is None else case.make().fit(part, [y[i] for i in train])
    for i, answer in zip(test, alone.predict([X[i] for i in test]), strict=True):
        np.testing.assert_array_equal(np.array(predicted[i], object), np.array(answer, object))


def test_grid_search(case: ContractCase) -> None:
    search = GridSearchCV(case.make(), case.grid, cv=KFold(2)).fit(case.X(), case.targets())
    (name,) = case.grid
    assert search.best_params_[name] in case.grid[name]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert_same(case.outputs(search.best_estimator_), case.outputs(search.best_estimator_))


def test_joblib_carries_models_to_other_processes_and_files(case: ContractCase, fitted: Any, tmp_path: Path) -> None:
    here = case.outputs(fitted)
    joblib.dump(fitted, tmp_path / "model.joblib")
    assert_same(case.outputs(joblib.load(tmp_path / "model.joblib")), here)
    records = case.X()[:4]
    parts = joblib.Parallel(2, prefer="threads")(
        joblib.delayed(fitted.predict)(part) for part in (records[:2], records[2:])
    )
    for answer, expected in zip([*parts[0], *parts[1]], fitted.predict(records), strict=True):
        np.testing.assert_array_equal(np.array(answer, object), np.array(expected, object))


# Distributions over sentences

DISTRIBUTIONS = {"automata", "constituency", "lm", "tagging"}
METHODS = ("log_prob", "prefix_log_prob", "surprisal", "next", "outcomes_", "sample", "measure", "known_words_")

OTHERWISE = {("dependency", "log_prob"), ("hmm", "log_prob"), ("hmm", "sample")}
"""log_prob of a dependency parser is that of tags, and with factors none at all; an HMM has sequences of numbers or
vectors, as hmmlearn has, not sentences."""


def sentences_of(case: ContractCase) -> list[list[str]]:
    words = as_word_lists(case.X()[:4], keep_empty=True)
    return [*words, [*words[0][:1], "Frobnicated"], words[1][:2]]


def test_kinds_are_distributions_over_sentences_or_have_no_such_methods(folder: str, case: ContractCase) -> None:
    for name in METHODS:
        if (folder, name) not in OTHERWISE:
            assert hasattr(type(case.make()), name) == (folder in DISTRIBUTIONS), name


def test_probabilities_of_sentences_mean_the_same_in_every_kind(folder: str, case: ContractCase, fitted: Any) -> None:
    if folder not in DISTRIBUTIONS:
        return
    sentences = sentences_of(case)
    prefixes, bits = fitted.prefix_log_prob(sentences), fitted.surprisal(sentences)
    for words, logs, values, whole in zip(sentences, prefixes, bits, fitted.log_prob(sentences), strict=True):
        assert logs.shape == (len(words) + 1,)
        assert logs[0] == 0.0
        assert len(values) in (len(words), len(words) + 1)  # the end is predicted, except in a stream
        assert (values >= 0.0).all()
        np.testing.assert_allclose(-values[: len(words)] * np.log(2.0), np.diff(logs), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(-values.sum() * np.log(2.0), whole, rtol=1e-6)


def test_next_words_sum_to_one_and_are_what_surprisal_says(folder: str, case: ContractCase, fitted: Any) -> None:
    if folder not in DISTRIBUTIONS:
        return
    outcomes = [str(word) for word in fitted.outcomes_]
    for words in sentences_of(case)[:3]:
        prefix, word = words[:-1], words[-1]
        chances = fitted.next([prefix, words])
        assert chances.shape == (2, len(outcomes))
        np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-5)
        assert 0.0 <= chances.min() <= chances.max() <= 1.0 + 1e-5
        surprisal = fitted.surprisal([words])[0]
        if word in fitted.known_words_ and word in outcomes:
            expected = chances[0, outcomes.index(word)]
            np.testing.assert_allclose(2.0 ** -surprisal[len(prefix)], expected, rtol=1e-4)
        if len(surprisal) > len(words):
            np.testing.assert_allclose(2.0 ** -surprisal[-1], chances[1, outcomes.index("</s>")], rtol=1e-4)


def test_measures_are_those_of_the_other_methods(folder: str, case: ContractCase, fitted: Any) -> None:
    if folder not in DISTRIBUTIONS:
        return
    sentences = sentences_of(case)
    for words, found, bits in zip(sentences, fitted.measure(sentences), fitted.surprisal(sentences), strict=True):
        assert found.words == words
        np.testing.assert_allclose(found.surprisal, bits, rtol=1e-4, atol=1e-4)
        assert found.known.tolist() == [word in fitted.known_words_ for word in words]
        assert found.entropy.shape == (len(words) + 1,)
        assert (found.entropy >= -1e-6).all()
        chances = fitted.next([words])[0]
        by_hand = -(chances * np.log2(np.where(chances > 0, chances, 1.0))).sum()
        if words:
            np.testing.assert_allclose(found.entropy[-1], by_hand, rtol=1e-3, atol=1e-3)


def test_samples_are_possible_and_repeat(folder: str, fitted: Any) -> None:
    if folder not in DISTRIBUTIONS:
        return
    drawn = fitted.sample(4, random_state=3)
    again = fitted.sample(4, random_state=3)
    assert [str(one) for one in drawn] == [str(one) for one in again]
    words = [one.leaves() if hasattr(one, "leaves") else one for one in drawn]
    assert np.isfinite(fitted.log_prob(words)).all()
