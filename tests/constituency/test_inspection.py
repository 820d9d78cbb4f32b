"""Tables of what a parser learned, against counts in the treebank and sums over states."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from spectragram.constituency import ConstituencyParser
from spectragram.constituency.inspection import label_rows, state_rows
from spectragram.data.brackets import parse_tree
from spectragram.data.trees import Tree

TEXTS = ["(S (NP (N a)) (VP (V b) (NP (N c))))"] * 30 + ["(S (NP (N a) (N c)) (VP (V b)))"] * 20 + ["(VP (V b))"] * 10


@pytest.fixture(scope="module")
def parser() -> ConstituencyParser:
    return ConstituencyParser(3, preset="fast", max_iter=2).fit(TEXTS)


def all_labels(tree: Tree) -> list[str]:
    return [node.label for node in tree.subtrees()]


def test_labels_come_with_their_numbers_of_nodes(parser):
    rows = label_rows(parser.model_)
    counted = Counter(label for text in TEXTS for label in all_labels(parse_tree(text)))
    assert {label: n for label, n, _ in rows} == counted
    assert [n for _, n, _ in rows] == sorted((n for _, n, _ in rows), reverse=True)
    states = parser.model_.grammars[0].members[0].operators.n_states
    assert sum(m for _, _, m in rows) == states.sum() == parser.summary_["states"]


def test_states_share_their_label(parser):
    rows = state_rows(parser.model_, 2)
    shares = defaultdict(list)
    for label, _, share, _ in rows:
        shares[label].append(share)
    assert set(shares) == {"S", "NP", "VP", "N", "V"}
    for listed in shares.values():
        assert sum(listed) == pytest.approx(1.0)
        assert listed == sorted(listed, reverse=True)


def test_states_are_described_by_words_and_rules(parser):
    described = defaultdict(set)
    for label, _, _, shown in state_rows(parser.model_, 3):
        described[label] |= set(shown.split("  "))
    assert described["V"] == {"b"}
    assert described["N"] == {"a", "c"}
    assert described["S"] == {"NP VP"}
    assert described["NP"] == {"N", "N N"}
    assert described["VP"] == {"V", "V NP"}
    assert all(len(shown.split("  ")) <= 1 for _, _, _, shown in state_rows(parser.model_, 1))
    assert len({label for label, *_ in state_rows(parser.model_, 1, n_labels=2)}) == 2


def test_ranking_is_by_probability():
    parser = ConstituencyParser(learner="pcfg", preset="fast").fit(TEXTS)
    rows = {label: shown for label, _, _, shown in state_rows(parser.model_, 2)}
    assert rows["NP"] == "N  N N"  # 60 of 80, 20 of 80
    assert rows["N"] == "a  c"
