"""Every block of code in the README and the docs runs, and prints what the page says; links lead somewhere.

* ``python`` blocks run in one namespace a page; an unlabelled block right behind one is what it prints.
* ``console`` blocks are a shell's: ``$ command`` and then its output, where ``...`` stands for anything and numbers
  may differ by five per cent, numbers of seconds by any amount.
* A Python block whose first line is ``# needs: torch`` runs where that package is installed.
* A page that needs corpora says so in a comment, ``<!-- files: train.txt=brown-text/lm/train.txt.gz -->``; without
  SPECTRAGRAM_DATA its blocks are skipped.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
FENCE = re.compile(r"^```([^`\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = re.compile(r"<!-- files: (.*?) -->", re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
NEEDS = re.compile(r"# needs: (.*)")
PROGRESS = re.compile(r"^[\w -]+: (?:[\d,]+(?: of [\d,]+| done)?, )?\d+ s(?:, .*)?\n", re.MULTILINE)
"""A line of progress, which a slow machine shows and a fast one does not."""
NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Block:
    language: str
    content: str
    output: str | None
    """Of a Python block: the unlabelled block right behind it."""


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    blocks = []
    for match, following in zip(found, [*found[1:], None], strict=True) if found else ():
        follows = following is not None and not following[1] and not text[match.end() : following.start()].strip()
        blocks.append(Block(match[1], match[2], following[2] if following is not None and follows else None))
    return blocks


def is_runnable(page: Path) -> bool:
    return any(block.language in ("python", "console") for block in blocks_of(page))


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if is_runnable(p)], ids=lambda p: p.name)
def test_blocks_run_and_print_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provide_files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "docs"}
    for block in blocks_of(page):
        if block.language == "python" and not missing_packages(block):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block.content, page.name, "exec"), namespace)
            if block.output is not None:
                assert agrees(block.output, printed.getvalue()), f"{block.content}\nprinted\n{printed.getvalue()}"
        elif block.language == "console":
            for command, expected in commands_of(block.content):
                printed_text = run(command)
                assert agrees(expected, printed_text), f"$ {command}\n{printed_text}\nbut {page.name} says\n{expected}"


def missing_packages(block: Block) -> list[str]:
    needed = NEEDS.match(block.content)
    return [name for name in (needed[1].split() if needed else []) if importlib.util.find_spec(name) is None]


def provide_files(page: Path, folder: Path) -> None:
    wanted = FILES.search(page.read_text(encoding="utf-8"))
    if wanted is None:
        return
    data = os.environ.get("SPECTRAGRAM_DATA")
    if not data:
        pytest.skip("SPECTRAGRAM_DATA names no folder with corpora")
    for pair in wanted[1].split():
        name, source = pair.split("=")
        (folder / name).symlink_to(Path(data).resolve() / source)


def commands_of(content: str) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ ", content, flags=re.MULTILINE)
    assert not parts[0].strip(), "a console block begins with a command"
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts[1:]]


def run(command: str) -> str:
    """What a command prints, errors included; it finds this environment's programs first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "120"}
    done = subprocess.run(
        ["bash", "-c", command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return PROGRESS.sub("", done.stdout)


def agrees(expected: str, printed: str) -> bool:
    """The same text but for blank lines at the end, ``...`` and small differences of numbers."""
    expected, printed = (re.sub(r"[ \t]+$", "", text.strip(), flags=re.MULTILINE) for text in (expected, printed))
    skeleton = "".join(
        r"[\s\S]*?" if part == "..." else "(" + NUMBER.pattern + ")" if NUMBER.fullmatch(part) else re.escape(part)
        for part in re.split(rf"(\.\.\.|{NUMBER.pattern})", expected)
    )
    found = re.fullmatch(skeleton, printed)
    if found is None:
        return False
    wanted = list(NUMBER.finditer(expected))
    assert len(wanted) == len(found.groups())
    return all(
        is_close(number[0], value)
        for number, value in zip(wanted, found.groups(), strict=True)
        if "second" not in expected[expected.rfind("\n", 0, number.start()) + 1 : number.start()]
    )


def is_close(wanted: str, found: str) -> bool:
    """Equal up to one unit of the last digit that the page shows: pages may round, and so may other machines."""
    a, b = (float(number.replace(",", "")) for number in (wanted, found))
    mantissa, _, exponent = wanted.lower().partition("e")
    digits = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return abs(a - b) <= 1.000001 * 10.0**-digits if digits > 0 or exponent else a == b


def test_agreement_can_fail() -> None:
    assert agrees("f1  84.1\n...\ntrees 3", "f1  84.2 \nmore\ntrees 3\n")
    assert agrees("3 trees in 5.1 seconds, 3", "3 trees in 5.2 seconds, 99")
    assert not agrees("3 trees in 5.1 seconds", "3 trees in 9.1 seconds")
    assert not agrees("f1  84.1", "f1  84.3")
    assert agrees("f1  84.1", "f1  84.13")
    assert agrees("7.85e-05", "7.849e-05")
    assert not agrees("7.85e-05", "7.83e-05")
    assert not agrees("tokens 4000", "tokens 4001")
    assert not agrees("f1  84.1", "f2  84.1")
    assert not agrees("f1  84.1\n...\ntrees 3", "f1  84.1\ntrees three")
    assert commands_of("$ a b\nc\n\n$ d\n") == [("a b", "c\n\n"), ("d", "")]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_no_block_escapes_the_test(page: Path) -> None:
    """Commands stand in console blocks; unlabelled blocks are output, layouts and formulas."""
    for block in blocks_of(page):
        assert block.language in ("python", "console", "text", "") or block.language.startswith("{"), block.language
        if block.language in ("text", ""):
            assert not re.search(r"^\$ |^>>> ", block.content, re.MULTILINE), f"{page.name}: {block.content[:60]}"


def test_the_code_that_the_notation_names_is_there() -> None:
    names = re.findall(r"`(spectragram\.[\w.]+)`", (ROOT / "docs" / "notation.md").read_text(encoding="utf-8"))
    assert len(names) > 40
    for name in names:
        found: Any = importlib.import_module("spectragram")
        for depth, part in enumerate(name.split(".")[1:], start=2):
            if not hasattr(found, part):
                importlib.import_module(".".join(name.split(".")[:depth]))
            found = getattr(found, part)


WALKS = {"From a treebank to a parse": 49, "From text to clusters": 32, "From strings to an automaton": 39}


@pytest.mark.parametrize("walk", WALKS)
def test_walks_through_the_code_name_files_that_are_there(walk: str) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page[page.index(f"### {walk}") :].partition("\n### ")[0]
    named = re.findall(r"`([\w/]+\.py)`", section)
    missing = [
        name for name in named if not (ROOT / "src" / "spectragram" / name.removeprefix("spectragram/")).exists()
    ]
    assert not missing
    # One more: spectragram/__init__.py is the first file of every walk.
    assert len(set(named) - {"spectragram/__init__.py"}) + 1 == WALKS[walk]
    assert f", {WALKS[walk]} files:" in section


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    for name in re.findall(r"`(\w+/[\w/]+\.py)`", page.read_text(encoding="utf-8")):
        places = (ROOT, ROOT / "src", ROOT / "src" / "spectragram")
        assert any((place / name).exists() for place in places), f"{page.name} names {name}"
