"""KenLM: modified Kneser-Ney of order 3 and 5 on Brown and WikiText-2, estimated and queried in turn on one core.

The Python package ``kenlm`` queries; ``lmplz``, which estimates, is built from its source distribution (cmake and
Boost) and found on the PATH or through LMPLZ. Both read the same file, in which words seen once in training are the
word UNK, and take the processor seconds of reading it; lmplz also writes its model. Queries: KenLM is asked sentence by
sentence for strings, its only interface in Python, with its model in a hash table in memory; we are given the test text
as word ids in one batch, as our own evaluation does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Row, Seconds, data_folder, ratio_row, row, take_turns
from spectragram.data.inputs import as_word_lists
from spectragram.lm import LanguageModel
from spectragram.lm.arpa import write_arpa

CORPORA = {"Brown": ("brown-text/lm/train.txt.gz", "brown-text/lm/test.txt"),
           "WikiText-2": ("wikitext-2/train.txt.gz", "wikitext-2/test.txt.gz")}  # fmt: skip
LOG_10 = float(np.log(10))


def run(quick: bool) -> list[Row]:
    folder, lmplz = data_folder(), os.environ.get("LMPLZ") or shutil.which("lmplz")
    if folder is None or lmplz is None or find_spec("kenlm") is None:
        return []
    rows = []
    for corpus, files in CORPORA.items():
        train, test = (as_word_lists(folder / file) for file in files)
        counts = Counter(word for words in train for word in words)
        train, test = ([[word if counts[word] > 1 and word != "<unk>" else "UNK" for word in words] for words in text]
                       for text in (train, test))  # fmt: skip
        for order in (5,) if quick else (3, 5):
            with tempfile.TemporaryDirectory() as place:
                pair = Pair(Path(place), lmplz, order, train, test)
                rows += pair.rows(f"{corpus}, order {order}", 1 if quick else 3)
    return rows


class Pair:
    """Both models of one corpus."""

    def __init__(self, place: Path, lmplz: str, order: int, train: list[list[str]], test: list[list[str]]) -> None:
        self.place, self.lmplz, self.order, self.test = place, lmplz, order, test
        (place / "train").write_text("".join(" ".join(words) + "\n" for words in train))
        LanguageModel(learner="kn", order=order, boundaries=True).fit(train[:100])  # compiled before the clock starts

    def ours(self) -> None:
        parameters: dict[str, Any] = {"order": self.order, "boundaries": True, "min_count": 1, "n_jobs": 1}
        self.model = LanguageModel(learner="kn", **parameters).fit(self.place / "train")

    def theirs(self) -> Seconds:
        """lmplz writes its model to an ARPA file, which is the only thing that it makes."""
        before = os.times()
        names = ["--text", str(self.place / "train"), "--arpa", str(self.place / "theirs.arpa")]
        subprocess.run([self.lmplz, "-o", str(self.order), "-S", "2G", *names], check=True, capture_output=True)
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return Seconds(used)

    def rows(self, name: str, turns: int) -> list[Row]:
        import kenlm

        estimating = take_turns({"ours": self.ours, "theirs": self.theirs}, turns)
        with (self.place / "ours.arpa").open("w") as stream:
            write_arpa(self.model.model_, stream)
        lines = [" ".join(words) for words in self.test]
        n_words = sum(map(len, self.test)) + len(self.test)
        with Path(os.devnull).open("w") as null, _quiet(null.fileno()):
            theirs, read_by_them = (kenlm.Model(str(self.place / f"{who}.arpa")) for who in ("theirs", "ours"))
        read_by_us = LanguageModel.from_arpa(self.place / "theirs.arpa")
        events, _, _ = self.model.model_.events(self.test, ignore_unknown=False)
        querying = take_turns(
            {
                "ours": lambda: self.model.model_.log(events),
                "theirs": lambda: [theirs.score(line) for line in lines],
            },
            turns,
        )
        ours = self.model.evaluate(self.test, unknown="score")["perplexity"]
        their_logs = np.array([theirs.score(line) for line in lines])
        anchor = float(10 ** (-their_logs.sum() / n_words))
        logs = self.model.log_prob(self.test) / LOG_10
        apart = np.abs(logs - [read_by_them.score(line) for line in lines]).max()
        apart_there = np.abs(read_by_us.log_prob(self.test) / LOG_10 - their_logs).max()
        speed = n_words / min(querying["ours"])
        return [
            row(name, "perplexity", ours, anchor, "KenLM, same run"),
            row(f"{name}: KenLM reads our ARPA file", "largest difference of a sentence, log10", float(apart), 1e-3),
            row(f"{name}: we read its ARPA file", "largest difference of a sentence, log10", float(apart_there), 1e-3),
            ratio_row(f"{name}: estimating", "KenLM", estimating["theirs"], estimating["ours"]),
            ratio_row(f"{name}: querying", "KenLM", querying["theirs"], querying["ours"]),
            row(f"{name}: querying", "words a CPU second", speed, 1e6, "goal", "higher"),
        ]


@contextlib.contextmanager
def _quiet(null: int) -> Any:
    """KenLM prints a bar to standard error, whatever it is."""
    kept = os.dup(2)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
