"""What every estimator promises, held for all of them by the same tests.

Each task folder joins with a module ``tests/<folder>/contract_case.py`` that defines ``CASE``.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from spectragram import errors, kinds, load, storage


@dataclass(frozen=True)
class ContractCase:
    """How to exercise one estimator in well under a second or two.

    ``make`` builds an untrained estimator (small settings) from keyword overrides, ``fit`` trains it on a small
    fixed corpus, ``outputs`` gives arrays that depend on everything learned, ``bad_fits`` are inputs that ``fit``
    must refuse.
    """

    make: Callable[..., Any]
    fit: Callable[[Any], Any]
    outputs: Callable[[Any], list[np.ndarray]]
    bad_fits: dict[str, Callable[[Any], Any]] = field(default_factory=dict)


FOLDERS = {kind.module.rsplit(".", 1)[1]: kind for kind in kinds.KINDS.values()}


def case_of(folder: str) -> ContractCase:
    return importlib.import_module(f"tests.{folder}.contract_case").CASE


def assert_same(left: list[np.ndarray], right: list[np.ndarray]) -> None:
    assert len(left) == len(right) > 0
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(params=sorted(FOLDERS), scope="module")
def folder(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def case(folder: str) -> ContractCase:
    return case_of(folder)


@pytest.fixture(scope="module")
def fitted(case: ContractCase) -> Any:
    return case.fit(case.make())


def test_parameters_are_stored_as_given(case: ContractCase) -> None:
    model = case.make()
    params = model.get_params()
    assert {"random_state", "n_jobs", "verbose"} <= set(params)
    assert type(model)(**params).get_params() == params
    assert clone(model).get_params() == params
    assert model.set_params(random_state=7) is model
    assert model.get_params()["random_state"] == 7
    assert "random_state=7" in repr(model)
    assert "verbose" not in repr(model)  # only what differs from the default is shown
    with pytest.raises(errors.InputError, match="has no parameter 'colour'; there are"):
        model.set_params(colour="red")


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


def test_jobs_do_not_show(case: ContractCase, fitted: Any) -> None:
    assert_same(case.outputs(case.fit(case.make(n_jobs=2))), case.outputs(fitted))


def test_save_and_load_give_the_same_model(case: ContractCase, fitted: Any, tmp_path: Any) -> None:
    path = tmp_path / "model"
    fitted.save(path)
    for restored in (load(path), type(fitted).load(path)):
        assert type(restored) is type(fitted)
        assert restored.get_params() == fitted.get_params()
        assert restored.summary_ == fitted.summary_
        assert_same(case.outputs(restored), case.outputs(fitted))
    assert storage.read_header(path).kind == fitted.kind


def test_a_gutted_model_file_is_refused(case: ContractCase, fitted: Any, tmp_path: Any) -> None:
    path = tmp_path / "model"
    fitted.save(path)
    stored = storage.read(path)
    storage.write(path, stored.kind, stored.header | {"state": {}}, {})
    with pytest.raises(errors.ModelFileError, match="train the model again"):
        load(path)


def test_an_untrained_model_says_so(case: ContractCase, tmp_path: Any) -> None:
    with pytest.raises(errors.NotFittedError, match="fit"):
        case.make().save(tmp_path / "model")
    with pytest.raises(errors.NotFittedError, match="fit"):
        case.outputs(case.make())
    assert not list(tmp_path.iterdir())


def test_bad_input_is_refused_with_a_remedy(case: ContractCase) -> None:
    assert "empty" in case.bad_fits, "every estimator must refuse an empty corpus"
    for name, bad_fit in case.bad_fits.items():
        with pytest.raises(errors.SpectragramError) as caught:
            bad_fit(case.make())
        assert len(str(caught.value)) > 20, name


def test_an_unknown_learner_is_refused(case: ContractCase) -> None:
    model = case.make()
    if "learner" not in model.get_params():
        pytest.skip("this estimator has one learner")
    with pytest.raises(errors.InputError, match="choose one of"):
        case.fit(model.set_params(learner="no-such-learner"))


def test_repr_is_short(case: ContractCase, fitted: Any) -> None:
    assert type(fitted).__name__ in repr(fitted)
    assert len(repr(fitted)) < 500


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
