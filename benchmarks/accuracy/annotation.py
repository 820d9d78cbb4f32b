"""How many decisions an annotator must make: whole sentences in corpus order, or doubtful heads alone.

A decision gives the head and the relation of one word. The simulated annotator answers from the treebank. In corpus
order every word of a sentence is a decision. Ours begins with a few whole sentences; then a parser trained on what
there is ranks every open head of the pool, the annotator answers the most doubtful ones, and the next parser learns
from sentences with holes. The figure is the share of the decisions of corpus order with which ours reaches the same
score.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.measure import Row, data_folder, row
from spectragram.annotation import rank
from spectragram.data import Sentence, read_conllu
from spectragram.dependency import DependencyParser

TREEBANKS = {
    "Tamil-TTB": ("ud-small/Tamil-TTB.train.conllu.gz", "ud-small/Tamil-TTB.dev.conllu.gz"),
    "Afrikaans-AfriBooms": (
        "ud-small/Afrikaans-AfriBooms.train.conllu.gz",
        "ud-small/Afrikaans-AfriBooms.dev.conllu.gz",
    ),
    "WSJ sample": ("wsj-dependencies/train.conllu.gz", "wsj-dependencies/dev.conllu"),
}
HALVED = {
    name: (f"ud-small/{name}.train.conllu.gz", f"ud-small/{name}.dev.conllu.gz")
    for name in ("Belarusian-HSE", "Maltese-MUDT")
}
"""Treebanks without half of their heads, beside those above."""
REMOVALS = (0, 1)
"""Seeds of removals at random; small dev parts make single ones differ."""
POOL_WORDS = 8000
"""Words of each treebank that can be annotated: a small project, and minutes of computing."""
BUDGETS = (0.15, 0.3, 0.45, 0.6, 0.8, 1.0)
"""Shares of the pool after which corpus order is measured."""
SEED_SHARE, STEP = 0.08, 0.08
"""Whole sentences at the beginning, and decisions between two trainings, as shares of the pool."""
MOST = 0.6
"""Share of the pool that ours may ask for: what must be enough for the score of the whole pool."""


class Point(NamedTuple):
    """Decisions made, and the scores of a parser trained on them."""

    decisions: int
    uas: float
    las: float


def corpus_order(pool: list[Sentence], dev: list[Sentence], shares: tuple[float, ...] = BUDGETS) -> list[Point]:
    """Whole sentences, one after the other."""
    ends = np.cumsum([len(sentence) for sentence in pool])
    points = []
    for share in shares:
        n = int(np.searchsorted(ends, share * ends[-1] - 0.5)) + 1
        points.append(_measured(pool[:n], int(ends[n - 1]), dev))
    return points


def doubtful_heads(pool: list[Sentence], dev: list[Sentence], by: str = "uncertainty") -> list[Point]:
    """A few whole sentences, then the most doubtful heads of all others."""
    ends = np.cumsum([len(sentence) for sentence in pool])
    total = int(ends[-1])
    first = int(np.searchsorted(ends, SEED_SHARE * total)) + 1
    known = [np.full(len(sentence), i < first) for i, sentence in enumerate(pool)]
    points = []
    while True:
        decisions = int(sum(mine.sum() for mine in known))
        given = [_with_holes(sentence, mine) for sentence, mine in zip(pool, known, strict=True)]
        parser = DependencyParser(n_jobs=1).fit(given)
        scores = parser.evaluate(dev)
        points.append(Point(decisions, scores["uas"], scores["las"]))
        if decisions >= MOST * total:
            return points
        for one in rank(parser, given, by=by, unit="token")[: int(STEP * total)]:
            assert isinstance(one.place, int)
            known[one.sentence][one.place - 1] = True


def _with_holes(sentence: Sentence, known: np.ndarray) -> Sentence:
    columns = {"head": sentence.column("head"), "deprel": sentence.deprels}
    holes = {name: [v if k else "_" for v, k in zip(values, known, strict=True)] for name, values in columns.items()}
    return sentence.with_columns(**holes)


def _measured(sentences: list[Sentence], decisions: int, dev: list[Sentence]) -> Point:
    scores = DependencyParser(n_jobs=1).fit(sentences).evaluate(dev)
    return Point(decisions, scores["uas"], scores["las"])


def decisions_for(points: list[Point], las: float) -> float:
    """Decisions after which a curve reaches this score for good, between its points in proportion; inf if never."""
    best = np.maximum.accumulate([point.las for point in points])
    if best[-1] < las:
        return float("inf")
    at = int(np.searchsorted(best, las))
    if at == 0:
        return float(points[0].decisions)
    low, high = best[at - 1], best[at]
    before, after = points[at - 1].decisions, points[at].decisions
    return before + (after - before) * (las - low) / (high - low)


def half_of_the_heads(pool: list[Sentence], dev: list[Sentence]) -> tuple[float, list[float]]:
    """LAS of a parser of whole trees, and of parsers of these without half of their heads and relations."""
    total = sum(map(len, pool))
    halves = []
    for seed in REMOVALS:
        rng = np.random.default_rng(seed)
        holes = [_with_holes(sentence, rng.random(len(sentence)) < 0.5) for sentence in pool]
        halves.append(_measured(holes, total // 2, dev).las)
    return _measured(pool, total, dev).las, halves


def load(name: str) -> tuple[list[Sentence], list[Sentence]]:
    """The pool and the dev part of a treebank."""
    folder = data_folder()
    assert folder is not None
    train, dev = ([*read_conllu(Path(folder) / part, check_tree=True)] for part in (TREEBANKS | HALVED)[name])
    ends = np.cumsum([len(sentence) for sentence in train])
    return train[: int(np.searchsorted(ends, POOL_WORDS)) + 1], dev


def run(quick: bool) -> list[Row]:
    if data_folder() is None:
        return []
    rows = []
    for name in list(TREEBANKS)[: 1 if quick else None]:
        pool, dev = load(name)
        plain, ours = corpus_order(pool, dev), doubtful_heads(pool, dev)
        # The score that corpus order has at its end, or the last one that both curves reach.
        goal = min(plain[-1].las, max(point.las for point in ours))
        share = 100.0 * decisions_for(ours, goal) / decisions_for(plain, goal)
        rows.append(
            row(f"annotation, {name}, decisions for {goal:.1f} LAS", "% of corpus order", share, better="lower")
        )
    for name in list(TREEBANKS | HALVED)[: 1 if quick else None]:
        whole, halves = half_of_the_heads(*load(name))
        rows.append(
            row(f"annotation, {name}, half of the heads", "LAS lost", whole - float(np.mean(halves)), better="lower")
        )
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("treebanks", nargs="*", default=list(TREEBANKS))
    parser.add_argument("--by", default="uncertainty")
    for name in (arguments := parser.parse_args()).treebanks:
        pool, dev = load(name)
        whole, halves = half_of_the_heads(pool, dev)
        print(f"{name}\thalf of the heads\t{whole:.2f} LAS with all\twith half {halves}", flush=True)
        if name in HALVED:
            continue
        for title, points in (
            ("corpus order", corpus_order(pool, dev)),
            (f"doubtful heads, {arguments.by}", doubtful_heads(pool, dev, arguments.by)),
        ):
            for point in points:
                print(f"{name}\t{title}\t{point.decisions}\t{point.uas:.2f}\t{point.las:.2f}", flush=True)
