"""Who may import whom (see CONTRIBUTING.md), and what importing may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import spectragram

ROOT = Path(spectragram.__file__).parent
TASKS = {"automata", "tagging", "constituency", "dependency", "clusters", "lm", "hmm"}
LEAVES = {"display", "errors", "schema", "_version"}
SHARED = {
    "word_paths",
    "distillation",
    "engine",
    "metrics",
    "storage",
    "estimator",
    "files",
    "data",
    "spectral",
    "inference",
    "learning",
}
MAY_IMPORT: dict[str, set[str]] = {
    "display": set(),
    "errors": set(),
    "schema": set(),
    "_version": set(),
    "_compiled": set(),
    "files": LEAVES,
    "data": LEAVES | {"files"},
    "spectral": LEAVES | {"engine"},
    "inference": LEAVES | {"engine"},
    "learning": LEAVES | {"engine", "data", "spectral", "inference"},
    "metrics": LEAVES,
    "engine": LEAVES,
    "sparse_arrays": set(),
    "storage": LEAVES | {"files", "sparse_arrays"},
    "estimator": LEAVES | {"_compiled", "engine", "files", "storage"},
    "kinds": LEAVES | {"engine", "files", "storage", "estimator"},
    "word_paths": LEAVES | {"files", "storage", "kinds", "data"},
    "distillation": LEAVES | {"files", "estimator", "data"},
    "synthetic": LEAVES | {"files", "data", "spectral", "inference"},
} | dict.fromkeys(TASKS, LEAVES | SHARED)
MAY_IMPORT["dependency"] = MAY_IMPORT["dependency"] | {"automata"}
MAY_IMPORT["annotation"] = LEAVES | SHARED
MAY_IMPORT["pipeline"] = LEAVES | SHARED | {"tagging", "dependency"}
MAY_IMPORT["surprisal"] = LEAVES | SHARED | {"pipeline", "kinds"}
ON_TOP = {"plots", "cli", "serve", "reproduce", "__init__", "__main__"}


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    parts = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} uses a relative import"
            assert node.module is not None
            names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        parts |= {name.split(".")[1] for name in names if name.startswith("spectragram.")}
    return {part for part in parts if (ROOT / part).exists() or (ROOT / f"{part}.py").exists()}


def test_the_import_rule_holds() -> None:
    broken = []
    for path in sorted(ROOT.rglob("*.py")):
        part = part_of(path)
        if part in ON_TOP:
            continue
        assert part in MAY_IMPORT, f"{path} belongs to no known part: add it to the rule"
        broken += [f"{path.relative_to(ROOT)} imports {b}" for b in imported_parts(path) - MAY_IMPORT[part] - {part}]
    assert not broken, "\n".join(broken)


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, spectragram, spectragram.cli.app; print(' '.join(sorted(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "numpy",
        "scipy",
        "sklearn",
        "numba",
        "torch",
        "dask",
        "distributed",
        "matplotlib",
        "nltk",
        "rich",
    }
    assert not heavy & set(loaded)
