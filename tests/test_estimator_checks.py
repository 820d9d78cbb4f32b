"""Those of scikit-learn's own checks that apply: all that need no table of numbers, which no estimator here takes."""

from __future__ import annotations

import pytest
from sklearn.utils import estimator_checks

from spectragram.kinds import KINDS

CHECKS = (
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_mixin_order",
)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_check_of_scikit_learn_passes(kind: str, check: str) -> None:
    run = getattr(estimator_checks, check, None)
    if run is None:
        pytest.skip(f"this version of scikit-learn has no {check}")
    run(KINDS[kind].estimator, KINDS[kind].estimator_class()())
