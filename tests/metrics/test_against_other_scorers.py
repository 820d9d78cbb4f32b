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

from spectragram.metrics import attachment_scores, span_scores, span_table

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
    kinds = dict.fromkeys(
        ("no_gapping", "no_shared_parents_in_coordination", "no_shared_dependents_in_coordination", "no_control",
         "no_external_arguments_of_relative_clauses", "no_case_info", "no_empty_nodes", "multiple_roots_okay"), False
    )  # fmt: skip
    theirs = evaluate(*(load_conllu(conllu(*side), "", kinds) for side in ((gold, gold_names), (guess, guess_names))))
    assert ours["uas"] == pytest.approx(100 * theirs["UAS"].f1)
    assert ours["las"] == pytest.approx(100 * theirs["LAS"].f1)
