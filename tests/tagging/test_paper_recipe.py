"""``recipe="paper"`` against plain numpy, written from Stratos et al. 2013 alone (figures 2 and 4, section 7)."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spectragram.learning.recipes import recipe_steps
from spectragram.synthetic.rhmm import RefinementHMM
from spectragram.tagging import Tagger
from spectragram.tagging.settings import RECIPES

M = 2
VIEWS = {
    "future": ["word[0]", "label[1]", "word[1]"],
    "past": ["label[-1]", "word[-1]"],
    "present": ["word[0]"],
    "destiny": ["label[-1]", "label[1]", "word[-1]", "word[1]"],
}
Data = tuple[list[list[str]], list[list[str]]]


@pytest.fixture(scope="module")
def data() -> Data:
    rng = np.random.default_rng(5)
    sample = RefinementHMM.random(2, 2, 5, rng=rng, mean_length=6.0).sample(500, rng)
    return list(sample.observations.decoded()), list(sample.labels.decoded())


def features(x: list[str], a: list[str], i: int, view: str) -> list[str]:
    """The binary features of a position that are on; beyond the ends of a sequence stands a value of its own."""
    found = []
    for template in VIEWS[view]:
        name, distance = template[:-1].split("[")
        j = i + int(distance)
        inside = 0 <= j < len(x)
        found.append(f"{template}={(x if name == 'word' else a)[j] if inside else 'outside'}")
    return found


class Spectral:
    """Figure 4, without and with the smoothing of Cohen et al. 2013, and figure 2."""

    def __init__(self, X: list[list[str]], Y: list[list[str]], smoothing: float) -> None:
        self.labels, self.smoothing = sorted({a for y in Y for a in y}), smoothing
        tokens = [(x, y, i) for x, y in zip(X, Y, strict=True) for i in range(len(x))]
        rows = {view: [features(*token, view) for token in tokens] for view in VIEWS}
        names = {view: sorted({f for row in rows[view] for f in row}) for view in VIEWS}
        on = {view: np.array([[f in row for f in names[view]] for row in rows[view]], float) for view in VIEWS}
        label = np.array([self.labels.index(y[i]) for _, y, i in tokens])
        last = np.array([i == len(x) - 1 for x, _, i in tokens])
        first = np.array([i == 0 for _, _, i in tokens])
        word = np.array([x[i] for x, _, i in tokens])
        l, n = len(self.labels), len(tokens)
        F, P, R, D = (np.zeros((n, M)) for _ in range(4))
        for a in range(l):
            own = label == a
            for (left, L), (right, Q) in ((("future", F), ("past", P)), (("present", R), ("destiny", D))):
                U, _, Vt = np.linalg.svd(on[left][own].T @ on[right][own] / own.sum())
                L[own], Q[own] = on[left][own] @ U[:, :M], on[right][own] @ Vt[:M].T
        self.C, self.end, self.c, self.start = {}, {}, {}, {}
        for a in range(l):
            own = label == a
            Sigma, Lambda = (left[own].T @ right[own] / own.sum() for left, right in ((F, P), (R, D)))
            past, destiny = P @ np.linalg.inv(Sigma), D @ np.linalg.inv(Lambda)
            mean = {"F": [F[label == b].mean(axis=0) for b in range(l)], "P": past[own].mean(axis=0)}
            for b in range(l):
                at = np.flatnonzero(own & ~last & (np.append(label[1:], -1) == b))
                E = self.smoothed([F[at + 1], past[at], R[at]], [mean["F"][b], mean["P"], R[own].mean(axis=0)])
                self.C[a, b] = len(at) / own.sum() * E
            at = np.flatnonzero(own & last)
            self.end[a] = len(at) / own.sum() * self.smoothed([past[at], R[at]], [mean["P"], R[own].mean(axis=0)])
            for x in set(word):
                self.c[x, a] = destiny[own & (word == x)].sum(axis=0) / own.sum()
            self.start[a] = F[own & first].sum(axis=0) / first.sum()

    def smoothed(self, views: list[np.ndarray], background: list[np.ndarray]) -> np.ndarray:
        n, letters = len(views[0]), "ijk"[: len(views)]
        outer = ",".join(letters) + "->" + letters
        weight = 1.0 if n >= 1000 else np.sqrt(n) / (self.smoothing + np.sqrt(n))
        E = np.einsum(outer, *background)
        E = weight * np.einsum(outer, *(v.mean(axis=0) for v in views)) + (1 - weight) * E
        if len(views) == 3:
            z, y, x = views
            pairs = [(z.T @ y / n, x, "ij,k"), (z.T @ x / n, y, "ik,j"), (y.T @ x / n, z, "jk,i")]
            E2 = sum(np.einsum(f"{how}->ijk", pair, single.mean(axis=0)) for pair, single, how in pairs) / 3
            E = weight * E2 + (1 - weight) * E
        return weight * np.einsum(",".join("t" + s for s in letters) + "->" + letters, *views) / n + (1 - weight) * E

    def marginals(self, x: list[str]) -> np.ndarray:
        l, N = range(len(self.labels)), len(x)
        alpha = [[self.start[a] for a in l]]
        for i in range(N - 1):
            step = {(a, b): self.C[a, b] @ self.c[x[i], a] for a in l for b in l}
            alpha.append([sum(step[a, b] @ alpha[i][a] for a in l) for b in l])
        beta = [[self.end[a] @ self.c[x[-1], a] for a in l]]
        for i in range(N - 2, -1, -1):
            beta.insert(0, [sum(beta[0][b] @ (self.C[a, b] @ self.c[x[i], a]) for b in l) for a in l])
        return np.array([[beta[i][a] @ alpha[i][a] for a in l] for i in range(N)])


@pytest.mark.parametrize("smoothing", [0.0, 30.0])
def test_spectral_is_the_paper(data: Data, smoothing: float) -> None:
    X, Y = data
    expected = Spectral(X, Y, smoothing)
    tagger = Tagger(M, recipe="paper", views=VIEWS, smoothing=smoothing).fit(X, Y)
    model = tagger.model_
    order = [model.labels.index(a) for a in expected.labels]
    for x in X[:40]:
        found = model.members[0].marginals(model.lexicon, model.observe([x]))[:, order]
        wanted = expected.marginals(x)
        np.testing.assert_allclose(
            found / np.abs(found).sum(axis=1, keepdims=True),
            wanted / np.abs(wanted).sum(axis=1, keepdims=True),
            atol=1e-8,
        )
        assert tagger.predict([x])[0] == [expected.labels[a] for a in wanted.argmax(axis=1)]


def test_unigram_and_hmm_count(data: Data) -> None:
    X, Y = data
    pairs = Counter(pair for x, y in zip(X, Y, strict=True) for pair in zip(x, y, strict=True))
    labels = sorted({a for _, a in pairs})
    unigram = Tagger(recipe="paper", learner="unigram").fit(X, Y)
    for word in {x for x, _ in pairs}:
        assert unigram.predict([[word]])[0] == [max(labels, key=lambda a, word=word: pairs[word, a])]
    hmm = Tagger(recipe="paper", learner="hmm").fit(X, Y)
    moves = Counter((a, b) for y in Y for a, b in zip(y, [*y[1:], "*"], strict=True))
    seen = Counter(a for y in Y for a in y)
    chain = hmm.members_[0].operators
    order = [hmm.labels_.index(a) for a in labels]
    wanted = [[moves[a, b] / seen[a] for b in labels] for a in labels]
    np.testing.assert_allclose(chain.transition[np.ix_(order, order)], wanted, atol=1e-12)
    first = Counter(y[0] for y in Y)
    np.testing.assert_allclose(chain.initial[order], [first[a] / len(Y) for a in labels], atol=1e-12)


def test_em_never_lowers_the_likelihood_and_keeps_m_states(data: Data) -> None:
    X, Y = data
    tagger = Tagger(3, recipe="paper", learner="em", max_iter=4, random_state=1).fit(X, Y)
    assert np.diff(tagger.members_[0].emissions.starts).tolist() == [3, 3]


def test_segments_never_go_back() -> None:
    X = [[w] * 6 for w in "abab"] * 5
    Y = [["A"] * 6, ["B"] * 6] * 10
    tagger = Tagger(recipe="paper", learner="segments", n_states=3, max_iter=3).fit(X, Y)
    transition = tagger.members_[0].operators.transition
    assert transition.shape == (6, 6)
    within = transition[:3, :3]
    assert (within[np.tril_indices(3, -1)] == 0).all()
    assert (np.diag(within) > 0).all()


def test_a_pair_never_seen_is_nearly_impossible_but_does_not_lose_the_sequence() -> None:
    X = [["u", "v", "w"]] * 9 + [["w", "v", "u"]] * 9
    Y = [["A", "B", "B"]] * 9 + [["B", "B", "A"]] * 9
    given = [["u", "u", "v"]]  # A is never followed by A, and u is never B
    for learner in ("hmm", "spectral"):
        tagger = Tagger(1, recipe="paper", learner=learner).fit(X, Y)
        found = tagger.predict(given)
        assert found.diagnostics["fallbacks"] == 0
        assert sorted(found[0][:2]) == ["A", "B"]


def test_every_step_between_the_recipes_is_a_parameter(data: Data) -> None:
    steps = list(recipe_steps(RECIPES))
    assert {name for name, _, _ in steps} <= set(Tagger().get_params())
    walked = Tagger(**{name: value for name, _, value in steps}, views=VIEWS).set_params(n_states=M).fit(*data)
    papers = Tagger(M, recipe="paper", views=VIEWS).fit(*data)
    assert walked.members_[0].operators.transition.tolist() == papers.members_[0].operators.transition.tolist()
