"""Our scorers agree with the usual ones: seqeval for spans, and the CoNLL shared task's for heads."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence

import numpy as np
import pytest
import seqeval.metrics
from hypothesis import given
from hypothesis import strategies as st
from udtools.udeval import evaluate, load_conllu

from spectragram.metrics import attachment_scores, span_scores, span_table, universal_scores

LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
ROWS = st.lists(st.lists(st.tuples(*[st.sampled_from(LABELS)] * 2), min_size=1, max_size=8), min_size=1, max_size=4)


@given(ROWS)
def test_spans_are_scored_as_seqeval_scores_them(rows: list[list[tuple[str, str]]]) -> None:
    gold, guess = ([[pair[side] for pair in row] for row in rows] for side in (0, 1))
    ours, table = span_scores(gold, guess), span_table(gold, guess)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seqeval warns about scores without spans
        for name, score in (("precision", "precision_score"), ("recall", "recall_score"), ("f1", "f1_score")):
            theirs = getattr(seqeval.metrics, score)(gold, guess, zero_division=0)
            assert ours[name] == pytest.approx(100 * theirs), name
        report = seqeval.metrics.classification_report(gold, guess, output_dict=True, zero_division=0) if table else {}
    for kind, line in table.items():
        assert line["f1"] == pytest.approx(100 * report[kind]["f1-score"])
        assert line["support"] == report[kind]["support"]


KINDS = dict.fromkeys(
    ("no_gapping", "no_shared_parents_in_coordination", "no_shared_dependents_in_coordination", "no_control",
     "no_external_arguments_of_relative_clauses", "no_case_info", "no_empty_nodes", "multiple_roots_okay"), False
)  # fmt: skip
"""Settings of the shared task's scorer that only matter for enhanced dependencies."""


def conllu(heads: Sequence[Sequence[int]], relations: Sequence[Sequence[str]]) -> io.StringIO:
    lines = []
    for sentence, names in zip(heads, relations, strict=True):
        for i, (head, name) in enumerate(zip(sentence, names, strict=True), start=1):
            lines.append(f"{i}\tw{i}\t_\tX\t_\t_\t{head}\t{name}\t_\t_")
        lines.append("")
    return io.StringIO("\n".join(lines) + "\n")


def random_tree(n: int, rng: np.random.Generator) -> tuple[list[int], list[str]]:
    """Heads of a tree with one root, attached in random order, and relations without subtypes."""
    order = rng.permutation(n) + 1
    heads = [0] * n
    for place in range(1, n):
        heads[order[place] - 1] = int(rng.choice(order[:place]))
    names = ["root" if head == 0 else str(rng.choice(["nsubj", "obj", "punct"])) for head in heads]
    return heads, names


@pytest.mark.parametrize("seed", range(20))
def test_heads_are_scored_as_the_shared_task_scores_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, 6)
    (gold, gold_names), (guess, guess_names) = (
        zip(*(random_tree(n, rng) for n in lengths), strict=True) for _ in range(2)
    )
    ours = attachment_scores(gold, guess, gold_labels=gold_names, predicted_labels=guess_names)
    theirs = evaluate(*(load_conllu(conllu(*side), "", KINDS) for side in ((gold, gold_names), (guess, guess_names))))
    assert ours["uas"] == pytest.approx(100 * theirs["UAS"].f1)
    assert ours["las"] == pytest.approx(100 * theirs["LAS"].f1)


TEXT = "abcabcaabbccabca"
"""Few letters, so that forms repeat inside multiword tokens."""


def random_annotation(rng: np.random.Generator) -> list[list[tuple[str, ...]]]:
    """The same characters, split at random into sentences, tokens and multiword tokens, with random columns."""
    sentences, at = [], 0
    while at < len(TEXT):
        end = min(len(TEXT), at + int(rng.integers(1, 9)))
        sentences.append(random_sentence(TEXT[at:end], rng))
        at = end
    return sentences


def random_sentence(text: str, rng: np.random.Generator) -> list[tuple[str, ...]]:
    spans, at = [], 0
    while at < len(text):
        end = min(len(text), at + int(rng.integers(1, 4)))
        spans.append((text[at:end], int(rng.integers(2, 4)) if rng.random() < 0.3 else 1))
        at = end
    heads, _ = random_tree(sum(n for _, n in spans), rng)
    rows: list[tuple[str, ...]] = []
    number = 0
    for form, n in spans:
        if n > 1:
            rows.append((f"{number + 1}-{number + n}", form, *"_" * 8))
        for _ in range(n):
            number += 1
            head = heads[number - 1]
            rows.append(random_row(number, form if n == 1 else str(rng.choice(list("abAB"))), head, rng))
    return rows


def random_row(number: int, form: str, head: int, rng: np.random.Generator) -> tuple[str, ...]:
    relations = ["root"] if head == 0 else ["nsubj", "nsubj:pass", "det", "case", "punct"]
    columns = (["_", "a"], ["X", "Y"], ["x"], ["_", "Case=Nom", "Case=Nom|Own=Yes"], [str(head)], relations)
    return (str(number), form, *(str(rng.choice(values)) for values in columns), "_", "_")


def as_file(sentences: list[list[tuple[str, ...]]]) -> io.StringIO:
    return io.StringIO("".join("\n".join(map("\t".join, rows)) + "\n\n" for rows in sentences))


@pytest.mark.parametrize("seed", range(60))
def test_texts_that_are_split_differently_are_scored_as_the_shared_task_scores_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gold, guess = random_annotation(rng), random_annotation(rng)
    if seed % 3 == 0:  # mostly right, as real annotations are
        guess = [[row if rng.random() < 0.9 else (*row[:3], "Z", *row[4:]) for row in rows] for rows in gold]
    theirs = evaluate(*(load_conllu(as_file(side), "", KINDS) for side in (gold, guess)))
    ours = universal_scores(gold, guess)
    expected = {name.lower(): 100 * score.f1 for name, score in theirs.items() if name not in ("ELAS", "EULAS")}
    assert ours == pytest.approx(expected)
