"""What inference around known heads, labels and brackets costs, beside inference without them.

Every third head, label of a token, or bracket of a phrase is known.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import Row, data_folder, row, take_turns
from spectragram.constituency import ConstituencyParser
from spectragram.data import Sentence, clean, read_conllu, read_trees
from spectragram.data.known_spans import SpanConstraints
from spectragram.data.trees import Tree
from spectragram.dependency import DependencyParser
from spectragram.engine import single_threaded_blas
from spectragram.tagging import Tagger

EVERY = 3
TURNS = 7


def run(quick: bool) -> list[Row]:
    folder = data_folder()
    if folder is None:
        return []
    n = 20 if quick else 100
    rows = []
    for name, plain, around in (
        *_of_words(folder / "ud-small", n),
        _of_phrases(folder / "wsj-sample" / "clean", n, quick),
    ):
        plain()  # loads kernels
        around()
        with single_threaded_blas():
            seconds = take_turns({"plain": plain, "around": around}, TURNS)
        ratios = [b / a for a, b in zip(seconds["plain"], seconds["around"], strict=True)]
        rows.append(
            row(f"{name}, every third decision known", "time / plain", statistics.median(ratios), 1.0, "target")
        )
    return rows


Task = tuple[str, Callable[[], object], Callable[[], object]]


def _of_words(folder: Path, n: int) -> list[Task]:
    train, dev = (list(read_conllu(folder / f"Tamil-TTB.{part}.conllu.gz")) for part in ("train", "dev"))
    parser = DependencyParser(preset="fast", n_jobs=1).fit(train)
    tagger = Tagger(preset="fast", n_jobs=1).fit([s.forms for s in train], [s.upos for s in train])
    some = dev[:n]
    given = [_every_third(sentence) for sentence in some]
    words = [sentence.forms for sentence in some]
    fixed = [[tag if i % EVERY == 0 else None for i, tag in enumerate(sentence.upos)] for sentence in some]
    return [
        ("dependency", lambda: parser.predict(some), lambda: parser.predict(given, constrained=True)),
        ("tagger", lambda: tagger.predict(words), lambda: tagger.predict(words, fixed=fixed)),
    ]


def _every_third(sentence: Sentence) -> Sentence:
    heads = [head if i % EVERY == 0 else "_" for i, head in enumerate(sentence.column("head"))]
    return sentence.with_columns(head=heads, deprel=["_"] * len(heads))


def _of_phrases(folder: Path, n: int, quick: bool) -> Task:
    train = [tree for tree in map(clean, read_trees(folder / "train.txt.gz")) if tree is not None]
    dev = [tree for tree in map(clean, read_trees(folder / "dev.txt")) if tree is not None][:n]
    parser = ConstituencyParser(preset="fast", n_jobs=1).fit(train[:300] if quick else train)
    words = [tree.leaves() for tree in dev]
    given = [SpanConstraints(tuple(tree.leaves()), (), tuple(_spans(tree)[::EVERY])) for tree in dev]
    return "constituency", lambda: parser.predict(words), lambda: parser.predict(given, constrained=True)


def _spans(tree: Tree) -> list[tuple[int, int, str | None]]:
    """Start, end and label of the phrases below the root."""
    found: list[tuple[int, int, str | None]] = []

    def add(node: Tree, start: int) -> None:
        for child in node.children:
            if child.word is None:
                found.append((start, start + len(child.leaves()), child.label))
                add(child, start)
            start += len(child.leaves())

    add(tree, 0)
    return found
