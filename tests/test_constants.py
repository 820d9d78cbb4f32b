"""Every number that somebody chose says where it comes from: in a docstring below it, or in a comment."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import spectragram

ROOT = Path(spectragram.__file__).parent
NAMES_OF_CODES = {"LEXICAL", "UNARY", "BINARY", "LEFT", "RIGHT", "ROOT", "VERB_CLASSES"}
"""Numbers that only tell things apart: any others would do."""


def chosen_numbers(tree: ast.Module) -> list[tuple[int, ast.Assign | ast.AnnAssign]]:
    """Constants in capitals that hold a number, with their places in the module."""
    found = []
    for place, node in enumerate(tree.body):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        names = [getattr(part, "id", "") for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
        parts = (part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant))
        numeric = any(isinstance(value, int | float) and not isinstance(value, bool) for value in parts)
        capitals = all(re.fullmatch("_?[A-Z][A-Z0-9_]*", name) for name in names) and not set(names) & NAMES_OF_CODES
        if capitals and numeric and not isinstance(node.value, ast.Dict | ast.Call):
            found.append((place, node))
    return found


def is_explained(tree: ast.Module, place: int, lines: list[str]) -> bool:
    """By a comment, or by the docstring below; that may stand below several constants in a row."""
    node = tree.body[place]
    if "#" in lines[node.lineno - 1] or lines[node.lineno - 2].strip().startswith("#"):
        return True
    for after in tree.body[place + 1 :]:
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            return True
        if not isinstance(after, ast.Assign | ast.AnnAssign) or after.lineno != (node.end_lineno or 0) + 1:
            return False
        node = after
    return False


def test_every_chosen_number_has_a_reason() -> None:
    unexplained, n = [], 0
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        for place, node in chosen_numbers(tree):
            n += 1
            if not is_explained(tree, place, text.splitlines()):
                unexplained.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert n > 200
    assert not unexplained
