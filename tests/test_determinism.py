"""The same data and seed give the same bytes, whatever the hash seed, the BLAS threads and the number of jobs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_estimator_contract import FOLDERS, case_of


@pytest.mark.parametrize("folder", ["tagging", "dependency"])
def test_the_environment_does_not_show(folder: str, tmp_path: Path) -> None:
    case = case_of(folder)
    data = case.write(tmp_path)
    written = []
    for number, (hash_seed, threads, jobs) in enumerate((("1", "1", "1"), ("2", "2", "2"))):
        out = tmp_path / f"{number}.sgm"
        command = [sys.executable, "-m", "spectragram", "train", FOLDERS[folder].name, str(data), "-o", str(out), "-q"]
        environment = {"PYTHONHASHSEED": hash_seed, "OPENBLAS_NUM_THREADS": threads}
        subprocess.run([*command, "-j", jobs, *case.options], check=True, env=os.environ | environment)
        written.append(out.read_bytes())
    assert written[0] == written[1]
