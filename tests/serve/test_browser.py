"""The page in a real browser: every view, dragging, keys alone, retraining, hostile text, and no request elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from spectragram.data.conllu import read_conllu, write_conllu
from spectragram.synthetic import english_treebank
from tests.serve.browsing import Browser, chromium
from tests.serve.live import GOLDEN, serving
from tests.serve.test_training import bare

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="no Chromium: apt-get install chromium chromium-driver"),
]

MODELS = [GOLDEN / f"{name}.sgm" for name in ("pipeline", "constituency", "tagger", "clusters", "lm", "automaton")]
DRAWN = "return document.querySelector('#stage svg, #stage .tags') !== null"
TEXT = "The old dog chased a cat near the house that Ada saw."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    one = Browser()
    yield one
    one.close()


@pytest.fixture
def todo(tmp_path: Path) -> Path:
    path = tmp_path / "todo.conllu"
    write_conllu([bare(sentence) for sentence in english_treebank(6, seed=9)], path)
    return path


@pytest.mark.parametrize("width", [1280, 400])
def test_every_view_opens(browser: Browser, todo: Path, width: int) -> None:
    browser.requests()
    with serving(MODELS, todo) as live:
        browser.resize(width, 900)
        views = {
            "annotate": DRAWN,
            "analyse": "return document.querySelector('#text') !== null",
            "clusters": "return document.querySelectorAll('.branch li').length > 2",
            "walk": "return document.querySelectorAll('#steps .options li').length > 2",
            "api": "return document.querySelectorAll('.operation').length > 10",
        }
        for view, shown in views.items():
            browser.open(f"{live.address}#/{view}")
            browser.until(shown)
            assert browser.overflow() <= 0, view
            assert browser.driver.get_screenshot_as_png()
        browser.open(f"{live.address}#/analyse")
        browser.find("#text").send_keys(TEXT)
        for model, picture in (
            ("pipeline", ".arcs .arc"),
            ("constituency", ".tree .node"),
            ("tagger", ".tags li"),
            ("clusters", ".paths li"),
            ("lm", ".surprisal .bar"),
        ):
            choose = "model.value = arguments[0]; model.dispatchEvent(new Event('change'))"
            browser.run(f"const model = document.getElementById('model'); {choose}", model)
            browser.until("return document.querySelectorAll(arguments[0]).length > 5", f"#results {picture}")
            assert browser.overflow() <= 0, model
        browser.open(f"{live.address}#/clusters")
        browser.find("#word").send_keys("dog", Keys.ENTER)
        browser.until("return document.querySelectorAll('#found .options li').length > 2")
        assert browser.overflow() <= 0
        assert browser.errors() == []
        own = (live.address, "about:", "data:", "chrome:", "chrome-extension:", "devtools:")
        assert [url for url in browser.requests() if not url.startswith(own)] == []


def test_a_dragged_head_is_in_the_file(browser: Browser, todo: Path) -> None:
    with serving([GOLDEN / "pipeline.sgm"], todo) as live:
        browser.resize(1280, 900)
        browser.open(f"{live.address}#/annotate/0")
        browser.until(DRAWN)
        browser.drag('.word[data-word="2"]', '.word[data-word="4"]')
        browser.until("return document.querySelector('.arc.known[data-word=\"2\"]') !== null")
        assert next(read_conllu(todo)).heads.tolist()[:3] == [-1, 4, -1]
        browser.find("#undo").click()
        browser.until("return document.querySelector('.arc.known') === null")
        assert (next(read_conllu(todo)).heads == -1).all()
        browser.find("#redo").click()
        browser.until("return document.querySelector('.arc.known[data-word=\"2\"]') !== null")
        # A chip fixes a tag; a relation fixes its arc.
        browser.find('.word[data-word="1"]').click()
        browser.until("return document.querySelector('.word.selected').dataset.word === '1'")
        browser.find("#choose-tag ~ .chips .chip").click()
        browser.until("return document.querySelector('.word[data-word=\"1\"] .tag.known') !== null")
        assert next(read_conllu(todo)).upos[0] != "_"
        assert browser.errors() == []


def test_everything_can_be_done_with_keys(browser: Browser, tmp_path: Path) -> None:
    """A language with nothing: two words get tags, heads and relations without a pointer, and the next one comes."""
    text = tmp_path / "text.txt"
    text.write_text("dogs bark\ncats sleep\n", encoding="utf-8")
    with serving(corpus=text) as live:
        browser.open(live.address)
        browser.until(DRAWN)
        browser.until("return document.activeElement.id === 'stage'")
        browser.keys("?")
        browser.until("return document.getElementById('help').open")
        browser.keys(Keys.ESCAPE)
        browser.until("return !document.getElementById('help').open")
        browser.run("document.getElementById('stage').focus()")
        for typed, known in (
            (["t", "noun", Keys.ENTER], ".tag.known"),
            (["h", "2", Keys.ENTER], '.arc.known[data-word="1"]'),
        ):
            browser.keys(*typed)
            browser.until("return document.querySelector(arguments[0]) !== null", known)
        browser.keys("r", "nsubj", Keys.ENTER)
        browser.until("return document.querySelector('.arc[data-word=\"1\"] .relation')?.textContent === 'nsubj'")
        browser.keys(Keys.ARROW_RIGHT)
        browser.until("return document.querySelector('.word.selected').dataset.word === '2'")
        browser.keys("0")
        browser.until("return document.querySelector('.arc.known[data-word=\"2\"]') !== null")
        browser.keys("t", "MYTAG", Keys.ENTER)
        browser.until("return document.querySelector('.word[data-word=\"2\"] .tag').textContent === 'MYTAG'")
        browser.keys("r", "root", Keys.ENTER)
        browser.until("return document.querySelector('#queue li.done') !== null")
        sentence = next(read_conllu(tmp_path / "text.conllu"))
        assert sentence.upos == ["NOUN", "MYTAG"] and sentence.heads.tolist() == [2, 0]
        assert sentence.deprels == ["nsubj", "root"]
        browser.keys("u")
        browser.until("return document.querySelector('#queue li.done') === null")
        browser.keys("U")
        browser.until("return document.querySelector('#queue li.done') !== null")
        browser.keys(Keys.ENTER)
        browser.until("return document.querySelector('.word .form').textContent === 'cats'")
        browser.keys("p")
        browser.until("return document.querySelector('.word .form').textContent === 'dogs'")
        assert browser.errors() == []


def test_choosers_take_exact_values_and_new_labels_that_begin_like_others(browser: Browser, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(" ".join("abcdefghijklmn") + "\n", encoding="utf-8")
    with serving(corpus=text) as live:
        browser.open(live.address)
        browser.until(DRAWN)
        browser.until("return document.activeElement.id === 'stage'")
        browser.keys(Keys.END)  # word 14, to which 10 to 13 are nearer than 1
        browser.find("#choose-head").send_keys("1", Keys.ENTER)
        browser.until("return document.querySelector('.arc.known[data-word=\"14\"]') !== null")
        assert next(read_conllu(tmp_path / "text.conllu")).heads.tolist()[13] == 1
        browser.find("#choose-head").send_keys("99")
        assert browser.run("return document.querySelectorAll('#choose-head ~ .chips .chip').length") == 0
        browser.find("#choose-tag").send_keys("N", Keys.SHIFT, Keys.ENTER, Keys.NULL)
        browser.until("return document.querySelector('.word[data-word=\"14\"] .tag').textContent === 'N'")
        browser.keys("n")
        browser.until("return document.querySelector('.note').textContent.includes('last sentence')")
        assert browser.errors() == []


def test_text_from_right_to_left_and_long_words(browser: Browser, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(f"الكلب القديم طارد قطة\nA {'verylong' * 20} word\n", encoding="utf-8")
    x = "return document.querySelector(`.tags li[data-word='${arguments[0]}']`).getBoundingClientRect().x"
    for width in (1280, 400):
        browser.resize(width, 900)
        for kind, suffix in (("tags", 1), ("dependency", 0)):
            with serving(corpus=text, kind=kind) as live:
                browser.open(f"{live.address}#/annotate/0")
                browser.until(DRAWN)
                if suffix:
                    assert browser.run(x, 1) > browser.run(x, 2), "words stand as they are read"
                browser.open(f"{live.address}#/annotate/1")
                browser.until(DRAWN)
                assert browser.overflow() <= 0, kind
                wide = (
                    "return [...document.querySelectorAll('#stage .form')].map((e) => e.getBoundingClientRect().width)"
                )
                assert max(browser.run(wide)) <= width
    browser.resize(1280, 900)


def test_a_phrase_is_dragged_over_its_words(browser: Browser, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The dog saw a cat .\n", encoding="utf-8")
    with serving([GOLDEN / "constituency.sgm"], text, kind="constituency") as live:
        browser.open(live.address)
        browser.until(DRAWN)
        browser.drag('.word[data-word="3"]', '.word[data-word="5"]')
        browser.keys("l", "xp", Keys.ENTER)
        browser.until('return document.querySelector(\'.node.known[data-start="2"][data-end="5"]\') !== null')
        assert "(xp (? saw) (? a) (? cat))" in (tmp_path / "text.trees").read_text()
        browser.keys(Keys.ENTER)
        browser.until("return document.querySelector('#queue li.done') !== null")
        assert (tmp_path / "text.trees").read_text().count("?") == 0
        assert browser.errors() == []


def test_hostile_markup_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=document.title='taken'> <script>document.title='taken'</script>"
    path = tmp_path / "todo.tags"
    path.write_text("".join(f"{word}\t_\n" for word in hostile.split()), encoding="utf-8")
    with serving([GOLDEN / "tagger.sgm"], path) as live:
        browser.open(live.address)
        browser.until(DRAWN)
        words = browser.run("return [...document.querySelectorAll('#stage .form')].map((node) => node.textContent)")
        assert words == hostile.split()
        assert browser.run("return document.querySelectorAll('main img, main script').length") == 0
        browser.open(f"{live.address}#/analyse")
        browser.find("#text").send_keys(hostile)
        browser.find("button.main").click()
        browser.until("return document.querySelectorAll('#results .tags li').length > 3")
        assert browser.run("return document.querySelectorAll('main img, main script').length") == 0
        assert "taken" not in browser.driver.title


def test_a_retraining_is_watched(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "todo.conllu"
    sentences = english_treebank(40, seed=4)
    write_conllu([*sentences[:36], *map(bare, sentences[36:])], path)
    with serving(corpus=path) as live:
        browser.open(live.address)
        browser.until(DRAWN)
        assert browser.run("return document.querySelectorAll('.arc').length") == 0, "nothing is inferred yet"
        browser.keys("g")
        browser.until("return document.querySelector('#training progress') !== null")
        browser.until("return document.getElementById('training').dataset.state === 'done'")
        browser.until("return document.querySelectorAll('.arc.inferred').length > 2")
        assert "todo.sgm" in browser.text("#training") and (tmp_path / "todo.sgm").exists()
        assert browser.errors() == []
