"""Where nothing can be written, kernels still compile, and one line says what to set."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spectragram import _compiled

PRETEND = """
import os
from unittest import mock
with mock.patch("os.access", lambda *_, **__: False): import spectragram
"""
"""A process that may write nowhere, as far as the check can see."""
BARE = PRETEND.replace("lambda *_, **__: False)", "lambda *_, **__: False), mock.patch('os.walk', lambda _: [])")
"""Nothing was compiled beside the package either."""
USE = "import spectragram; from spectragram.inference.hashed import find_place; import numpy as np\n"
CALL = "print(find_place(np.uint64(5), np.uint64(60)), os.environ.get('NUMBA_CACHE_DIR', ''))"


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | environment
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=known, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_a_process_that_may_write_nowhere_gets_a_folder_of_its_own() -> None:
    done = run(BARE + USE + CALL)
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


COUNT = "\nimport numba; print(*(sum(getattr(find_place.stats, x).values()) for x in ('cache_hits', 'cache_misses')))"
"""How often a kernel was read and how often it was compiled."""
WRITES_FAIL = """
from numba.core import caching
def refuse(*_): raise PermissionError
caching.IndexDataCacheFile._open_for_write = refuse
"""
"""numba finds out that it may not write."""


def test_a_warm_folder_that_may_not_be_written_to_is_read(tmp_path: Path) -> None:
    warm = tmp_path / "kernels"
    run("import os\n" + USE + CALL, NUMBA_CACHE_DIR=str(warm))
    compiled = sorted(warm.rglob("*"))
    assert any(path.suffix == ".nbc" for path in compiled)
    done = run(PRETEND + WRITES_FAIL + USE + CALL + COUNT, NUMBA_CACHE_DIR=str(warm))
    assert done.stderr == ""
    place_and_folder, counts = done.stdout.splitlines()
    assert place_and_folder.split()[1] == str(warm)
    assert counts == "1 0"
    assert sorted(warm.rglob("*")) == compiled


def test_kernels_beside_a_package_that_may_not_be_written_to_are_read(tmp_path: Path) -> None:
    package = Path(_compiled.PACKAGE)
    shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    run("import os\n" + USE + CALL, PYTHONPATH=str(tmp_path))
    done = run(PRETEND + WRITES_FAIL + USE + CALL + COUNT, PYTHONPATH=str(tmp_path))
    assert done.stderr == ""
    place, counts = done.stdout.splitlines()
    assert place.strip().isdigit()
    assert counts == "1 0"


@pytest.mark.parametrize("given", [True, False])
def test_without_any_folder_kernels_still_compile(given: bool, tmp_path: Path) -> None:
    """A container that is read-only has no folder for temporary files either."""
    (tmp_path / "file").touch()
    no_folder = "import tempfile\ndef refuse(**_): raise FileNotFoundError\ntempfile.mkdtemp = refuse\n"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "file" / "kernels")} if given else {}
    done = run(no_folder + BARE + WRITES_FAIL + USE + CALL, **environment)
    assert done.stdout.split()[0].isdigit()
    assert done.stderr.count("\n") == (0 if given else 1)


def test_collection_of_garbage_waits_while_a_kernel_is_compiled() -> None:
    use = """
import gc
import numba
from spectragram._compiled import watch_compilation
watch_compilation()
watch_compilation()
seen = []
class Inside(numba.core.event.Listener):
    def on_start(self, started): seen.append(gc.isenabled())
    def on_end(self, ended): pass
numba.core.event.register("numba:compile", Inside())
inner = numba.njit(lambda x: x + 1)
outer = numba.njit(lambda x: inner(x) * 2)
assert outer(1) == 4
print(seen, gc.isenabled())
gc.disable()
outer(1.0)
print(gc.isenabled())
"""
    assert run(use).stdout.splitlines() == ["[False, False] True", "False"]
