"""Modified Kneser-Ney: sums to one, equals a dictionary implementation, survives tiny corpora."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spectragram.lm.kneser_ney import KneserNey, estimate_discounts


def stream_of(rng: np.random.Generator, n: int = 3000, n_words: int = 12) -> np.ndarray:
    """A first-order chain, so that counts of all sizes occur; the last word never does."""
    table = rng.dirichlet(np.full(n_words - 1, 0.3), size=n_words - 1)
    words = [0]
    for _ in range(n - 1):
        words.append(int(rng.choice(n_words - 1, p=table[words[-1]])))
    return np.array(words, np.int32)


def textbook(stream: list[int], n_words: int, order: int, context: tuple[int, ...], word: int) -> float:
    """The recursion as the paper states it, with dictionaries."""
    counts = Counter(tuple(stream[i : i + order]) for i in range(len(stream) - order + 1))
    levels = {order: counts}
    for k in range(order - 1, 0, -1):
        levels[k] = Counter(gram[1:] for gram in levels[k + 1])

    def p(k: int, context: tuple[int, ...]) -> float:
        if k == 0:
            return 1 / n_words
        level = levels[k]
        lower = p(k - 1, context[1:])
        here = {gram[-1]: n for gram, n in level.items() if gram[:-1] == context}
        if not here:
            return lower
        of = Counter(level.values())
        y = of[1] / max(of[1] + 2 * of[2], 1)
        estimate = {c: c - (c + 1) * y * of[c + 1] / of[c] if of[c] and of[c + 1] else 0 for c in (1, 2, 3)}
        discount = {c: d if 0 < d < c else c / 2 for c, d in estimate.items()}
        total = sum(here.values())
        gamma = sum(discount[min(n, 3)] for n in here.values()) / total
        own = here.get(word, 0)
        return (own - discount[min(own, 3)] if own else 0) / total + gamma * lower

    return p(order, context)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_sums_to_one_for_every_context(order: int, rng: np.random.Generator) -> None:
    model = KneserNey.fit(stream_of(rng), 12, order)
    for context in [(a, b) for a in range(-1, 12) for b in range(-1, 12)]:
        contexts = np.repeat([context], 12, axis=0)
        assert model.prob(contexts, np.arange(12)).sum() == pytest.approx(1.0, abs=1e-12)
        assert (model.prob(contexts, np.arange(12)) > 0).all()
        np.testing.assert_allclose(model.next(np.array(context)), model.prob(contexts, np.arange(12)), rtol=1e-14)


@pytest.mark.parametrize("order", [2, 3])
def test_equals_the_textbook_recursion(order: int, rng: np.random.Generator) -> None:
    stream = stream_of(rng, 400)
    model = KneserNey.fit(stream, 12, order)
    assert (model.levels[-1].discounts != [0.5, 1.0, 1.5]).any()  # the estimate is at work, not the fallback alone
    seen = [(int(a), int(b), int(c)) for a, b, c in zip(stream[:40], stream[1:41], stream[2:42], strict=True)]
    for a, b, word in [*seen, (0, 1, 2), (3, 3, 3), (5, 2, 11), (11, 11, 0), (4, 11, 1), (7, 8, 9)]:
        got = model.prob(np.array([[a, b]]), np.array([word]))[0]
        assert got == pytest.approx(textbook(stream.tolist(), 12, order, (a, b)[3 - order :], word), rel=1e-12)


def test_tiny_and_regular_corpora_still_sum_to_one() -> None:
    for stream in ([0, 1], [0, 0, 0, 0], [0, 1] * 50, [0, 1, 2, 0, 1, 2]):
        model = KneserNey.fit(np.array(stream, np.int32), 4, 3)
        for context in ([0, 1], [3, 3], [-1, -1], [-1, 0]):
            assert model.prob(np.array([context] * 4), np.arange(4)).sum() == pytest.approx(1.0)


def test_discounts_stay_inside_their_class() -> None:
    assert estimate_discounts(np.array([1] * 10 + [2] * 5 + [3] * 3 + [4] * 2)) == pytest.approx(
        [1 - 2 * 0.5 * 5 / 10, 2 - 3 * 0.5 * 3 / 5, 3 - 4 * 0.5 * 2 / 3]
    )
    assert estimate_discounts(np.array([7, 8])).tolist() == [0.5, 1.0, 1.5]


def test_state_round_trip_and_refusals(rng: np.random.Generator) -> None:
    model = KneserNey.fit(stream_of(rng), 12, 3)
    values, arrays = model.to_state()
    contexts, words = rng.integers(-1, 12, (50, 2)), rng.integers(0, 12, 50)
    again = KneserNey.from_state(values, arrays)
    np.testing.assert_array_equal(again.prob(contexts, words), model.prob(contexts, words))
    with pytest.raises(ValueError, match="sorted"):
        KneserNey.from_state(values, arrays | {"keys2": arrays["keys2"][::-1]})
    with pytest.raises(ValueError, match="leave the vocabulary"):
        KneserNey.from_state(values, arrays | {"keys1": arrays["keys1"] + 100})
