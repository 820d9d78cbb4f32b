"""Labels that are known, k-best lists and confidence against the enumeration of all sequences of labels."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from spectragram.data import Sentence
from spectragram.errors import InputError, ParameterError
from spectragram.inference.labelled_chain import k_best_paths
from spectragram.inference.token_factors import label_pair_scores, token_places, token_scores
from spectragram.synthetic import english_tagged
from spectragram.tagging import Tagger
from spectragram.tagging.factors import factored_chain, prediction_tokens
from spectragram.tagging.member import Member

WORDS, TAGS = (list(part) for part in zip(*english_tagged(150, seed=5), strict=True))
FEW = {"DT": "D", "NN": "N", "NNS": "N", "VBD": "V", "VBZ": "V"}
LABELS = [[FEW.get(tag, "O") for tag in tags] for tags in TAGS]
SENTENCE = ["the", "dog", "Zork", "saw"]


@pytest.fixture(scope="module")
def factored() -> Tagger:
    return Tagger(2, n_models=2, max_iter=1, n_epochs=1, n_jobs=1).fit(WORDS, LABELS)


@pytest.fixture(scope="module")
def plain() -> Tagger:
    return Tagger(2, n_models=1, max_iter=1, factors=False, n_jobs=1).fit(WORDS, LABELS)


def weights(tagger: Tagger, member: Member, allowed: np.ndarray) -> dict[tuple[int, ...], float]:
    """The weight of every sequence of labels, summed over hidden states by the definition."""
    model = tagger.model_
    observed = model.observe([SENTENCE])
    starts = member.operators.label_starts
    n_labels = len(model.labels)
    if member.factors is None:
        vectors = member.emissions.of_tokens(model.lexicon, observed, 1.0)(np.arange(4))
        initial, transition, final = member.operators.initial, member.operators.transition, member.operators.final
        scores, pairs = np.where(allowed, 0.0, -np.inf), np.zeros((n_labels, n_labels))
    else:
        chain = factored_chain(member.operators, member.factors.power)
        initial, transition, final = chain.initial, chain.transition, chain.final
        nodes = model.lexicon.nodes(observed)
        tokens = prediction_tokens(model.lexicon, nodes, member.emissions, observed, member.factors, 1.0)
        vectors, table = tokens.vectors[tokens.rows], member.factors.weights
        own = tokens.possible[tokens.rows] & allowed
        own = np.where(own.any(axis=1, keepdims=True), own, allowed)
        scores = token_scores(token_places(tokens.columns, tokens.types, member.factors.atoms, len(table)), own, table)
        pairs = label_pair_scores(n_labels, table)
    found = {}
    for labels in product(range(n_labels), repeat=4):
        blocks = [slice(starts[a], starts[a + 1]) for a in labels]
        state = initial[blocks[0]] * vectors[0, blocks[0]]
        for i, (before, after) in enumerate(pairwise(blocks), 1):
            state = state @ transition[before, after] * vectors[i, after]
        factor = scores[np.arange(4), labels].sum() + sum(pairs[a, b] for a, b in pairwise(labels))
        found[labels] = float(state @ final[blocks[-1]]) * np.exp(factor)
    return found


CASES = [
    None,
    [None, "N", None, None],
    ["O", None, {"N", "V"}, None],
    [None, {"D", "N", "O"}, "D", ("O", "V")],
    ["D", "N", "N", "V"],
]


@pytest.mark.parametrize("kind", ["factored", "plain"])
@pytest.mark.parametrize("fixed", CASES)
def test_everything_equals_enumeration(kind: str, fixed: list | None, request: pytest.FixtureRequest) -> None:
    tagger: Tagger = request.getfixturevalue(kind)
    names = tagger.labels_
    known = [None] * 4 if fixed is None else fixed
    choices = [names if k is None else [k] if isinstance(k, str) else k for k in known]
    allowed = np.array([[name in some for name in names] for some in choices])
    per_member, marginals = [], []
    for member in tagger.members_:
        found = weights(tagger, member, allowed)
        total = sum(found.values())
        per_member.append({labels: weight / total for labels, weight in found.items()})
        rows = np.zeros((4, len(names)))
        for labels, weight in found.items():
            rows[np.arange(4), labels] += weight / total
        marginals.append(rows)
    given = None if fixed is None else [fixed]
    if len(marginals) == 1:
        np.testing.assert_allclose(tagger.marginals([SENTENCE], fixed=given)[0], marginals[0], atol=1e-9)
    for member, rows in zip(tagger.members_, marginals, strict=True):
        observed = tagger.model_.observe([SENTENCE])
        own = member.marginals(tagger.model_.lexicon, observed, allowed=None if fixed is None else allowed)
        np.testing.assert_allclose(own / own.sum(axis=1, keepdims=True), rows, atol=1e-9)
    listed = tagger.kbest([SENTENCE], 300, fixed=given, decoding="marginal")[0]
    assert [value for _, value in listed] == sorted((value for _, value in listed), reverse=True)
    for labels, value in listed:
        numbers = tuple(names.index(label) for label in labels)
        expected = np.mean([shares[numbers] for shares in per_member])
        assert np.exp(value) == pytest.approx(expected, abs=1e-9)
        assert all(label in some for label, some in zip(labels, choices, strict=True))
    assert sum(np.exp(value) for _, value in listed) == pytest.approx(1.0, abs=1e-6)
    sure = tagger.confidence([SENTENCE], fixed=given)[0]
    assert sure.labels == tagger.predict([SENTENCE], fixed=given)[0]
    assert sure.sequence == pytest.approx(np.exp(next(value for labels, value in listed if labels == sure.labels)))
    rows = tagger.marginals([SENTENCE], fixed=given)[0]
    np.testing.assert_allclose(sure.tokens, rows[np.arange(4), [names.index(label) for label in sure.labels]])
    assert not rows[~allowed].any()


def test_labels_may_come_with_the_data() -> None:
    sentences = [Sentence.from_words(words, upos=tags) for words, tags in zip(WORDS, LABELS, strict=True)]
    tagger = Tagger(1, "hmm", n_jobs=1).fit(sentences)
    odd = Sentence.from_words(SENTENCE, upos=["_", "V", "_", "_"])
    assert tagger.predict([odd], constrained=True)[0][1] == "V"
    assert tagger.predict([odd])[0][1] == "N"
    same = tagger.marginals([SENTENCE], fixed=[[None, "V", None, None]])[0]
    np.testing.assert_array_equal(tagger.marginals([odd], constrained=True)[0], same)
    with pytest.raises(InputError, match="known labels twice"):
        tagger.predict([odd], constrained=True, fixed=[[None] * 4])


def test_impossible_labels_name_their_token() -> None:
    tagger = Tagger(1, "hmm", n_jobs=1).fit(WORDS, LABELS)
    for entry, problem in (("Z", "the fixed label 'Z' was not seen"), (set(), "no label is left")):
        with pytest.raises(InputError, match=f"^sequence 2, token 3: {problem}"):
            tagger.predict([["a"], SENTENCE], fixed=[[None], [None, None, entry, None]])


def test_the_lexicon_alone_has_lists_too() -> None:
    tagger = Tagger(learner="unigram").fit(WORDS, LABELS)
    rows = tagger.marginals([SENTENCE])[0]
    (best, value), *_ = tagger.kbest([SENTENCE, []], 3)[0]
    assert value == pytest.approx(np.log(rows.max(axis=1)).sum())
    assert best == tagger.predict([SENTENCE])[0]
    assert tagger.kbest([[], SENTENCE], 3)[0] == [([], 0.0)]


def test_odd_requests_are_refused(plain: Tagger) -> None:
    with pytest.raises(InputError, match="not seen in training"):
        plain.predict([SENTENCE], fixed=[[{"N", "Q"}, None, None, None]])
    with pytest.raises(InputError, match="sequence 1, token 1: no label is left"):
        plain.predict([SENTENCE], fixed=[[(), None, None, None]])
    for k in (0, 2.5, True):
        with pytest.raises(ParameterError):
            plain.kbest([SENTENCE], k)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_k_best_paths_are_those_of_enumeration(n: int) -> None:
    rng = np.random.default_rng(n)
    scores, may_follow, may_start = rng.normal(size=(n, 3)), rng.random((3, 3)) < 0.7, np.array([True, True, False])
    scores[rng.random((n, 3)) < 0.2] = -np.inf
    every = []
    for path in product(range(3), repeat=n):
        legal = may_start[path[0]] and all(may_follow[a, b] for a, b in pairwise(path))
        total = scores[np.arange(n), path].sum()
        if legal and total > -np.inf:
            every.append((total, path))
    every.sort(reverse=True)
    for k in (1, 2, 5, 100):
        paths, sums = k_best_paths(scores, may_follow, may_start, k)
        np.testing.assert_allclose(sums, [total for total, _ in every[:k]])
        assert [tuple(path) for path in paths] == [path for _, path in every[:k]]
