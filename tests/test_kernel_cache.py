"""Where nothing can be written, kernels still compile, and one line says what to set."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spectragram import _compiled

PRETEND = (
    "import os; from unittest import mock\nwith mock.patch('os.access', lambda *_, **__: False): import spectragram\n"
)
"""A process that may write nowhere, as far as the check can see."""
USE = "import spectragram; from spectragram.inference.hashed import find_place; import numpy as np\n"
CALL = "print(find_place(np.uint64(5), np.uint64(60)), os.environ.get('NUMBA_CACHE_DIR', ''))"


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | environment
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=known, check=True)


def test_a_process_that_may_write_nowhere_gets_a_folder_of_its_own() -> None:
    done = run(PRETEND + USE + CALL)
    place, folder = done.stdout.split()
    assert place.isdigit()
    assert "spectragram-kernels-" in folder
    assert not os.path.exists(folder)  # noqa: PTH110 - removed at the end
    assert done.stderr.count("\n") == 1
    assert "set NUMBA_CACHE_DIR" in done.stderr


def test_elsewhere_nothing_is_said_or_changed() -> None:
    done = run("import os\n" + USE + CALL)
    assert len(done.stdout.split()) == 1
    assert done.stderr == ""


def test_a_folder_that_the_user_names_is_kept(tmp_path: os.PathLike[str]) -> None:
    done = run("import os\n" + USE + CALL, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout.split()[1] == str(tmp_path)
    assert done.stderr == ""


def test_the_nearest_folder_that_exists_decides(tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> None:
    missing = os.path.join(tmp_path, "a", "b")  # noqa: PTH118
    assert _compiled._is_writable(missing)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert not _compiled._is_writable(missing)


def test_a_warm_folder_that_may_not_be_written_to_is_copied(tmp_path: Path) -> None:
    warm = tmp_path / "kernels"
    run("import os\n" + USE + CALL, NUMBA_CACHE_DIR=str(warm))
    compiled = {path.name for path in warm.rglob("*.nbc")}
    assert compiled
    count = (
        "\nimport pathlib; print(sorted(p.name for p in pathlib.Path(os.environ['NUMBA_CACHE_DIR']).rglob('*.nbc')))"
    )
    done = run(PRETEND + USE + CALL + count, NUMBA_CACHE_DIR=str(warm))
    assert done.stderr == ""
    place_and_folder, files = done.stdout.splitlines()
    assert str(warm) not in place_and_folder
    assert set(ast.literal_eval(files)) == compiled  # nothing was compiled again
