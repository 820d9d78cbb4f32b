"""Old model files still load and predict the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectragram import load
from tests.test_estimator_contract import FOLDERS, ContractCase, case_of

FOLDER = Path(__file__).parent


def outputs_of(case: ContractCase, model: Any) -> list[Any]:
    """What the contract looks at, as JSON holds it."""
    return [np.asarray(output).tolist() for output in case.outputs(model)]


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_a_golden_file_loads_and_predicts_the_same(folder: str) -> None:
    kind = FOLDERS[folder].name
    expected = json.loads((FOLDER / f"{kind}.json").read_text())
    found = outputs_of(case_of(folder), load(FOLDER / f"{kind}.sgm"))
    assert len(found) == len(expected) > 0
    for output, golden in zip(found, expected, strict=True):
        if np.asarray(golden).dtype.kind == "f":
            # Other versions of numpy may add in another order.
            np.testing.assert_allclose(output, golden, rtol=1e-6, atol=1e-9)
        else:
            assert output == golden


def test_golden_files_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("*.sgm")) < 3_000_000
