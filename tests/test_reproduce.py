"""Reports keep their results, every paper runs on small corpora, and the synthetic experiments show what they claim."""

from __future__ import annotations

import gzip
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from spectragram.errors import InputError, MissingExtraError
from spectragram.plots.charts import line_chart
from spectragram.reproduce import (
    PAPERS,
    Report,
    cohen_collins_2014_parsing,
    entities,
    reproduce,
    stratos_2014,
    treebanks,
)
from spectragram.synthetic import write_english
from spectragram.synthetic.lpcfg import LatentPCFG

N_TRAIN, N_DEV = 120, 30
N_FRAMES, N_PHONES, N_DIMENSIONS = 40, 4, 6


def write_speech(path: Path, n_utterances: int, rng: np.random.Generator) -> None:
    """Frames around one mean per phone; the last utterance is one that every speaker reads, which is left out."""
    phones = np.repeat(rng.integers(0, N_PHONES, n_utterances * N_FRAMES // 5), 5)
    means = 3 * np.eye(N_PHONES, N_DIMENSIONS)
    np.savez(
        path,
        features=(means[phones] + rng.normal(size=(len(phones), N_DIMENSIONS))).astype(np.float32),
        offsets=np.arange(n_utterances + 1) * N_FRAMES,
        frame_phone=phones.astype(np.int8),
        phone_names=np.array([f"p{i}" for i in range(N_PHONES)]),
        utterances=np.array([f"speaker_si{i}" for i in range(n_utterances - 1)] + ["speaker_sa1"]),
    )


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the real corpora that quick runs need, filled with the demo corpus."""
    folder = tmp_path_factory.mktemp("data")
    train, dev = write_english(folder, N_TRAIN, 1, "train"), write_english(folder, N_DEV, 2, "dev")
    for name, source in {
        "wsj-sample/clean/train.txt.gz": train["trees"],
        "wsj-sample/clean/dev.txt": dev["trees"],
        "cess-esp/train.txt.gz": train["trees"],
        "cess-esp/dev.txt": dev["trees"],
        "icepahc/train.txt.gz": train["trees"],
        "icepahc/dev.txt.gz": dev["trees"],
        "wsj-dependencies/train.conllu.gz": train["conllu"],
        "wsj-dependencies/dev.conllu": dev["conllu"],
        "ud-ewt/en_ewt-ud-train.conllu.gz": train["conllu"],
        "ud-ewt/en_ewt-ud-dev.conllu.gz": dev["conllu"],
        "brown-text/lm/train.txt.gz": train["txt"],
        "brown-text/lm/dev.txt.gz": dev["txt"],
        "brown-text/lm/test.txt": dev["txt"],
        "brown-text/brown.words.txt.gz": train["txt"],
        "wikitext-2/train.txt.gz": train["txt"],
        "wnut17/train.conll": train["chunks"],
        "wnut17/dev.conll": dev["chunks"],
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = source.read_bytes()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    (folder / "timit-sample").mkdir()
    for part, n_utterances in (("train", 12), ("dev", 5)):
        write_speech(folder / "timit-sample" / f"{part}.npz", n_utterances, np.random.default_rng(n_utterances))
    return folder


def tables(markdown: str) -> list[dict[str, list[str]]]:
    """The rows of each table of a report, by their first cell."""
    found: list[dict[str, list[str]]] = []
    for block in re.findall(r"(?:^\|.*\n?)+", markdown, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        found.append({row[0]: row[1:] for row in rows if row[0] != "---"})
    return found


def test_cells_are_computed_once_and_survive_an_interruption(tmp_path: Path) -> None:
    calls = []

    def compute() -> int:
        calls.append(1)
        return 7

    assert Report("paper", "Title", tmp_path, quick=False).cell("a", compute) == 7
    again = Report("paper", "Title", tmp_path, quick=False)
    assert again.cell("a", compute) == 7
    assert len(calls) == 1
    assert Report("paper", "Title", tmp_path, quick=True).cell("a", compute) == 7
    assert len(calls) == 2  # a quick run has its own results
    stored = json.loads((tmp_path / "paper.json").read_text())
    assert stored["cells"] == {"a": 7}


def test_numbers_of_another_version_are_forgotten(tmp_path: Path) -> None:
    (tmp_path / "paper.json").write_text(json.dumps({"library": "0.0.0", "cells": {"a": 1}}))
    assert Report("paper", "Title", tmp_path, quick=False).cell("a", lambda: 2) == 2


def test_a_report_is_markdown_with_pictures(tmp_path: Path) -> None:
    report = Report("paper", "Title", tmp_path, quick=True)
    report.section("Table 1", "A smaller corpus.")
    report.table(["", "ours", "paper"], [["EM", 81.5, None]])
    report.figure("curve", line_chart({"a": [(1, 2), (3, 4)]}), "A curve")
    text = report.write().read_text()
    assert text.startswith("# paper: Title\n")
    assert "| EM | 81.50 |  |" in text
    assert "![A curve](paper.quick-curve.svg)" in text
    assert (tmp_path / "paper.quick-curve.svg").read_text().startswith("<svg")


@pytest.fixture
def no_theorems(monkeypatch: pytest.MonkeyPatch) -> None:
    """The synthetic experiments take long and have a test of their own."""
    known: dict[str, Any] = {"exact": 1e-12, "counted": [0.3, 0.1, 0.03]}
    monkeypatch.setattr("spectragram.reproduce.cohen_2012._errors", lambda m, sizes: known)
    monkeypatch.setattr("spectragram.reproduce.stratos_2014._recovered", lambda n: n / 1_000_000)
    monkeypatch.setattr(
        "spectragram.reproduce.consistency.mean_errors", lambda name, sizes, n: [n**-0.5 for n in sizes]
    )


CONSISTENCY = "Consistency of the estimators as written"
SECTIONS = {
    "balle-2014": [
        CONSISTENCY,
        "Next-symbol error, 12 tags (figures 3 to 5)",
        "Next-symbol error, 45 tags (figures 3 to 5)",
        "Section 7: split head-automata grammars",
        "Figure 12: (NN, LEFT) as a deterministic automaton",
    ],
    "cohen-2012": ["Theorems 1 to 3", CONSISTENCY, "Parsing"],
    "cohen-collins-2014": [
        CONSISTENCY,
        "Parsing (table 1)",
        "Presets on three treebanks",
        "Language model, Brown (table 2)",
    ],
    "stratos-2013": [
        CONSISTENCY,
        "Frame accuracy over the number of states (figure 5)",
        "Features (figure 7) and baselines (figure 8)",
        "Text",
    ],
    "stratos-2014": [
        "Recovery of the true clusters (theorems 5.1 and 5.2)",
        CONSISTENCY,
        "Mutual information and time (tables 2 and 3)",
        "Smoothing and context (figure 6)",
        "Named entities (tables 1 and 3)",
        "Appendix C: sample complexity",
    ],
}
# A few cells whose values are known: the paper's, the experiments replaced above, and scores of the demo corpus that
# no model can miss.
KNOWN_CELLS = {
    "balle-2014": {("DET", 0): "68.52", ("unigram", 0): "69.40", ("EM", 0): ""},
    "cohen-2012": {("2 states", 0): "1.0e-12", ("2 states", 3): "0.030"},
    "cohen-collins-2014": {("*EM, paper*", 0): "86.69 (40)", ("bigram KN", 3): "415"},
    "stratos-2013": {("unigram", 0): "48.04", ("three segments of a phone (the paper: HTK)", 0): "55.70"},
    "stratos-2014": {("1%", 0): "100%", ("200", 11): "43.48"},
}


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.usefixtures("no_theorems")
def test_a_quick_run_writes_all_sections_tables_and_pictures(paper: str, small_data: Path, tmp_path: Path) -> None:
    report = reproduce(paper, small_data, tmp_path, quick=True)
    text = (tmp_path / f"{paper}.quick.md").read_text()
    assert re.findall("^## (.*)$", text, re.MULTILINE) == SECTIONS[paper]
    found = tables(text)
    for (row, column), value in KNOWN_CELLS[paper].items():
        assert value in [table[row][column] for table in found if row in table], (row, column)
    assert re.search(r"^- \*\*(reproduced|not reproduced|reversed)\*\*: ", text, re.MULTILINE)
    pictures = re.findall(r"^!\[.*\]\((.*)\)$", text, re.MULTILINE)
    assert pictures
    assert {path.name for path in tmp_path.glob("*.svg")} == set(pictures)
    for name in pictures:
        ElementTree.fromstring((tmp_path / name).read_text())
    # A second run takes every number from the first one.
    stored = json.loads((tmp_path / f"{paper}.quick.json").read_text())["cells"]
    assert stored == report.cells
    assert reproduce(paper, small_data, tmp_path, quick=True).cells == stored


def test_every_nth_development_tree_is_parsed(small_data: Path) -> None:
    train, dev = treebanks.read_treebank(small_data, "cess-esp")
    assert (len(train), len(dev)) == (N_TRAIN, N_DEV)
    assert treebanks.read_treebank(small_data, "icepahc")[1] == dev[::10]


def test_benchmarks_parse_the_trees_of_reproductions(small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constituency = import_module("benchmarks.accuracy.constituency")
    monkeypatch.setenv("SPECTRAGRAM_DATA", str(small_data))
    monkeypatch.setattr(constituency, "SETTINGS", {"fast": {"learner": "pcfg", "preset": "fast"}, "default": {}})
    seen: list[tuple[str, int, float | None]] = []

    def measure(name: str, settings: Any, trees: Any, gold: Any, anchor: float | None, source: str | None) -> list:
        seen.append((name, len(gold), anchor))
        return []

    monkeypatch.setattr(constituency, "_measure", measure)
    constituency.run(quick=False)
    assert seen == [
        ("wsj-sample fast", N_DEV, 82.6),
        ("wsj-sample default", N_DEV, 82.6),
        ("cess-esp fast", N_DEV, 79.9),
        ("cess-esp default", N_DEV, 79.9),
        ("icepahc fast", N_DEV // 10, None),
    ]


def test_a_missing_tagger_is_told_before_any_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (stratos_2014, entities):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    report = Report("stratos-2014", "", tmp_path, quick=True)
    with pytest.raises(MissingExtraError, match="python-crfsuite"):
        stratos_2014.run(report, tmp_path)
    assert not report.cells
    with pytest.raises(MissingExtraError, match="python-crfsuite"):
        entities.entity_scores(tmp_path, "WNUT-17")


def test_clusters_are_features_of_a_word_and_its_neighbours() -> None:
    features = entities.sentence_features(["Ada", "saw", "Oslo"], {"saw": "0110"})
    assert {"w=ada", "cap=True", "p2=Ad", "1:w=saw", "1:c4=0110", "-1:edge"} <= set(features[0])
    assert {"c4=0110", "c20=0110", "2:edge"} <= set(features[1])
    assert not [feature for feature in features[0] if feature.startswith("c4")]


def test_unknown_papers_and_missing_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose one of balle-2014"):
        reproduce("nobody-1900", tmp_path, tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        reproduce("stratos-2014", tmp_path / "missing", tmp_path)


def test_counted_moments_approach_the_exact_ones(rng: np.random.Generator) -> None:
    grammar = LatentPCFG.random(2, 3, 5, 2, rng=rng)
    exact = grammar.moments()
    sample = grammar.sample(40_000, rng)
    errors = []
    for n in (400, 40_000):
        counted = grammar.counted_moments(sample.slice(0, n))
        parts = ("inside_outside", "binary", "lexical", "root")
        errors.append([float(np.abs(getattr(counted, p) - getattr(exact, p)).max()) for p in parts])
    assert max(errors[1]) < 0.02
    assert all(large > 3 * small for large, small in zip(*errors, strict=True))


def test_theorems_hold_numerically() -> None:
    from spectragram.reproduce.cohen_2012 import _errors
    from spectragram.reproduce.stratos_2014 import _recovered

    found = _errors(2, (300, 30_000))
    assert found["exact"] < 1e-9
    assert found["counted"][1] < 0.3 * found["counted"][0]
    assert _recovered(2_000, n_models=3) < _recovered(100_000, n_models=3) == 1.0


@pytest.mark.parametrize(
    ("pivot", "verdict"), [(77.0, "reproduced"), (71.0, "not reproduced"), (79.4, "not reproduced"), (80.0, "reversed")]
)
def test_a_lag_of_two_to_three_points_is_neither_none_nor_nine(pivot: float, verdict: str) -> None:
    scores = {"EM": 76.0, "spectral": 62.0, "pivot": pivot, "pivot+EM": 79.5}
    cells = {label: [{"f1": f1, "iterations": 3}] for label, f1 in scores.items()}
    claims = cohen_collins_2014_parsing._claims(cells | {f"{label}, ours": cells[label] for label in scores})
    assert claims[1].says.startswith("Pivot lags") and claims[1].verdict == verdict


def test_the_audit_counts_its_own_rows() -> None:
    text = (Path(__file__).parent.parent / "docs" / "reproductions" / "audit.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:2] == "| "]
    verdicts = ["as in the paper", "adapted; the paper's version by option", "adapted"]
    items = [row for row in rows if row[2] in verdicts and not row[1].startswith("as in")]
    for paper, *counts in [row for row in rows if row[1].isdigit()]:
        found = [sum(row[2] == verdict and paper in (row[0], "all") for row in items) for verdict in verdicts]
        assert counts == [str(count) for count in found], paper
