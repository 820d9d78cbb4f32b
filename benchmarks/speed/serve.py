"""The page in the browser: from a click to the new picture in Chromium, and fifty kills of the server.

A click fixes a head, or a bracket, of a sentence of about 40 words; the clock in the browser stops when the sentence
has been saved, inferred again and painted. Beside it stands the processor time of the server and of the page, which is
much the same on a busy machine. Then the server is killed fifty times while somebody annotates as fast as possible, and
every step that it had confirmed is looked for in the file.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Row, data_folder, row
from spectragram.constituency import ConstituencyParser
from spectragram.data import Sentence, clean, read_conllu, read_trees, write_conllu
from spectragram.pipeline import Pipeline

CLICKS = 20
LENGTHS = range(38, 43)
"""Words of the sentences that are clicked on."""
GOALS = {"dependency": 0.1, "constituency": 0.5}
"""Seconds from a click to the picture."""
KILLS = 50

CLICK = """
const done = arguments[arguments.length - 1];
const began = performance.now();
document.addEventListener("drawn", () => {
  const node = document.getElementById("stage").firstChild;
  node.getBoundingClientRect(); // laid out
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
}, { once: true });
"""
HEAD = CLICK + "document.querySelectorAll('#choose-head ~ .chips .chip:not(.current)')[0].click();"
LABEL = CLICK + "document.querySelectorAll('#choose-label ~ .chips .chip:not(.current)')[arguments[0]].click();"


def run(quick: bool) -> list[Row]:
    try:
        from tests.serve.browsing import chromium
    except ImportError:
        return []
    folder = data_folder()
    rows = [] if folder is None or chromium() is None else _clicks(folder, quick)
    return rows + _kills(5 if quick else KILLS)


def _clicks(data: Path, quick: bool) -> list[Row]:
    work = Path(tempfile.mkdtemp())
    preset = "fast" if quick else "default"
    rows: list[Row] = []
    try:
        source = data / "ud-small"
        treebank = source / "Afrikaans-AfriBooms.train.conllu.gz"
        Pipeline(preset=preset).fit(treebank).save(work / "arcs.sgm")
        long = [s for s in read_conllu(source / "Afrikaans-AfriBooms.dev.conllu.gz") if len(s) in LENGTHS]
        write_conllu([_bare(sentence) for sentence in long[:5]], work / "arcs.conllu")
        rows += _clicked("dependency", work / "arcs.sgm", work / "arcs.conllu", preset)
        trees = data / "wsj-sample" / "clean"
        ConstituencyParser(preset=preset).fit(trees / "train.txt.gz").save(work / "trees.sgm")
        kept = [tree.leaves() for tree in map(clean, read_trees(trees / "dev.txt")) if tree is not None]
        text = [" ".join(leaves) for leaves in kept if len(leaves) in LENGTHS]
        (work / "text.trees").write_text("".join(f"(? {_open(line)})\n" for line in text[:5]), encoding="utf-8")
        rows += _clicked("constituency", work / "trees.sgm", work / "text.trees", preset)
    finally:
        shutil.rmtree(work)
    return rows


def _bare(sentence: Sentence) -> Sentence:
    columns = ("lemma", "upos", "xpos", "feats", "head", "deprel")
    return sentence.with_columns(**{name: ["_"] * len(sentence) for name in columns})


def _open(line: str) -> str:
    return " ".join(f"(? {word})" for word in line.split())


def _clicked(kind: str, model: Path, corpus: Path, preset: str) -> list[Row]:
    from selenium.webdriver.common.keys import Keys

    from tests.serve.browsing import Browser
    from tests.serve.live import serving_process

    browser = Browser()
    browser.driver.set_script_timeout(60)
    try:
        with serving_process(model, "--corpus", corpus) as (live, process):
            browser.open(f"{live.address}#/annotate/0")
            browser.until("return document.querySelector('#stage svg') !== null")
            browser.until("return !document.querySelector('.bar-top').textContent.includes('ranking')")
            browser.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
            times, busy = [], []
            for n in range(CLICKS + 1):
                word = 2 + n if kind == "dependency" else 1 + n
                _select(browser, word)
                browser.run("document.getElementById('stage').focus()")
                if kind == "constituency":
                    browser.keys(Keys.SHIFT, Keys.ARROW_RIGHT, Keys.NULL)
                script, argument = (HEAD, 0) if kind == "dependency" else (LABEL, n % 5)
                before = _processor_seconds(process.pid, browser)
                times.append(browser.driver.execute_async_script(script, argument) / 1000)
                busy.append(_processor_seconds(process.pid, browser) - before)
            assert "wrong" not in browser.run("return document.querySelector('.note').className")
    finally:
        browser.close()
    seconds = times[1:]  # the first one loads what is compiled
    server, page = np.mean(busy[1:], axis=0).tolist()
    name = f"{kind}, {preset} model, click to picture"
    goal = GOALS[kind]
    return [
        row(name, "seconds, median of 20", statistics.median(seconds), goal, "the specification"),
        row(name, "seconds, largest of 20", max(seconds), goal, "the specification"),
        row(name, "processor seconds of the server", server),
        row(name, "processor seconds of the page", page),
    ]


def _processor_seconds(pid: int, browser: Any) -> np.ndarray:
    """What the server, and the main thread of the page, have used until now, (2,); 0 where the system does not say."""
    found = Path(f"/proc/{pid}/stat")
    fields = found.read_text().rpartition(")")[2].split() if found.exists() else []
    ticks = sum(map(int, fields[11:13]))  # in the mode of users and of the system
    metrics = browser.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    of_page = next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
    return np.array([ticks / os.sysconf("SC_CLK_TCK"), of_page])


def _select(browser: Any, word: int) -> None:
    """Click on a word; the picture may be drawn anew at that moment, when sentences have been ranked."""
    from selenium.common.exceptions import StaleElementReferenceException

    for _ in range(CLICKS):
        try:
            browser.find(f'.word[data-word="{word}"]').click()
        except StaleElementReferenceException:
            continue
        return


def _kills(n_kills: int) -> list[Row]:
    """Steps that were confirmed and are not in the file, over all kills."""
    from tests.serve.live import serving_process

    rng = random.Random(1)
    work = Path(tempfile.mkdtemp())
    try:
        text = work / "text.txt"
        text.write_text("\n".join(" ".join(f"w{i}x{j}" for j in range(9)) for i in range(200)) + "\n", encoding="utf-8")
        last: dict[tuple[int, int], str] = {}
        lost = confirmed = 0
        for kill in range(n_kills):
            with serving_process("--corpus", text) as (live, process):
                # The clock runs from the first answer, so that there is something to lose however slow the machine is.
                timer = threading.Timer(rng.uniform(0.01, 0.5), process.kill)
                under_way = ((0, 0), "")
                try:
                    while True:
                        place, tag = (rng.randrange(200), rng.randrange(1, 10)), f"K{kill}x{confirmed}"
                        under_way = (place, tag)
                        live.step(place[0], op="tag", word=place[1], tag=tag)
                        last[place] = tag
                        confirmed += 1
                        if timer.ident is None:
                            timer.start()
                except OSError:
                    process.wait()
            if last:
                lost += _missing(work / "text.conllu", last, under_way)
    finally:
        shutil.rmtree(work)
    return [
        row(f"{n_kills} kills", "confirmed steps that were lost", lost, 0, "the specification"),
        row(f"{n_kills} kills", "steps confirmed", confirmed, better="higher"),
    ]


def _missing(path: Path, last: dict[tuple[int, int], str], under_way: tuple[tuple[int, int], str]) -> int:
    """Confirmed steps that the file does not have; the one under way may have taken the place of one of them."""
    sentences = list(read_conllu(path))
    found = {place: sentences[place[0]].upos[place[1] - 1] for place in {*last, under_way[0]} if place[1]}
    if under_way[1] and found[under_way[0]] == under_way[1]:
        last[under_way[0]] = under_way[1]
    return sum(found[place] != tag for place, tag in last.items())
