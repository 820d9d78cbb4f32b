"""Every Python block in the README and the docs runs, and prints what the block after it says; links lead somewhere."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def blocks_of(page: Path) -> list[tuple[str, str, str]]:
    """(language, content, text between this block and the next) of every fenced block."""
    text = page.read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    ends = ([match.start() for match in found] + [len(text)])[1:]
    return [(m.group(1), m.group(2), text[m.end() : end]) for m, end in zip(found, ends, strict=bool(found))]


def runnable(page: Path) -> bool:
    return any(language == "python" for language, _, _ in blocks_of(page))


@pytest.mark.parametrize("page", [p for p in PAGES if runnable(p)], ids=lambda p: p.name)
def test_python_blocks_run_and_print_what_they_say(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "docs"}
    blocks = blocks_of(page)
    for i, (language, content, between) in enumerate(blocks):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(content, f"{page.name} block {i}", "exec"), namespace)
        # An unlabelled block right behind a Python block is its output.
        if not between.strip() and i + 1 < len(blocks) and blocks[i + 1][0] == "":
            assert printed.getvalue().rstrip() == blocks[i + 1][1].rstrip(), f"{page.name}, block {i}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
