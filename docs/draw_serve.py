"""Take the pictures of the page in serve.md, in Chromium.

python docs/draw_serve.py      writes docs/images/serve-*.png; a minute or two, most of it training
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from spectragram.constituency import ConstituencyParser
from spectragram.data import write_conllu
from spectragram.pipeline import Pipeline
from spectragram.synthetic import english_treebank, english_trees
from tests.serve.browsing import Browser
from tests.serve.live import Live, serving
from tests.serve.test_training import bare

IMAGES = Path(__file__).parent / "images"
DRAWN = "return document.querySelector('#stage svg') !== null"
DOUBT = 0.6
"""Heads below this probability are marked on the page."""
TEXT = "The children who eat eggs can learn to translate every letter about the crowns."


def main() -> None:
    """Train small models on the embedded corpora and look at the page with them."""
    work = Path(tempfile.mkdtemp())
    trees = english_treebank(120, seed=1)
    Pipeline(preset="fast").fit(trees[:25]).save(work / "english.sgm")
    ConstituencyParser(preset="fast").fit(english_trees(300, seed=1)).save(work / "phrases.sgm")
    write_conllu([*trees[:25], *map(bare, trees[25:])], work / "english.conllu")
    browser = Browser()
    with serving([work / "english.sgm", work / "phrases.sgm"], work / "english.conllu") as live:
        browser.resize(1280, 800)
        number = doubtful(live)
        for word in (1, 2):
            gold = trees[number].words[word - 1]
            live.step(number, op="word", word=word, tag=gold[3], head=int(gold[6]), relation=gold[7])
        browser.open(f"{live.address}#/annotate/{number}")
        browser.until(DRAWN)
        browser.until("return !document.querySelector('.bar-top').textContent.includes('ranking')")
        save(browser, "serve-annotate")
        browser.resize(400, 760)
        time.sleep(1)
        save(browser, "serve-narrow")
        browser.resize(1280, 980)
        browser.open(f"{live.address}#/analyse")
        browser.find("#text").send_keys(TEXT)
        choose = "model.value = 'phrases'; model.dispatchEvent(new Event('change'))"
        browser.run(f"const model = document.getElementById('model'); {choose}")
        browser.until("return document.querySelector('.chart .cell') !== null")
        save(browser, "serve-analyse")
    browser.close()


def doubtful(live: Live) -> int:
    """A sentence of a length that fits, of which the model is not sure."""
    for number in range(25, 120):
        picture = live.get(f"/api/corpus/{number}")["picture"]
        if 11 <= len(picture["words"]) <= 16 and any(p < DOUBT for p in picture["head_p"][3:]):
            return number
    raise LookupError("the model is sure of everything: train it on fewer sentences")


def save(browser: Browser, name: str) -> None:
    """Write a picture of the window."""
    (IMAGES / f"{name}.png").write_bytes(browser.driver.get_screenshot_as_png())


if __name__ == "__main__":
    main()
