"""Modified Kneser-Ney: sums to one, equals a dictionary implementation, survives tiny corpora."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spectragram.learning.kneser_ney import KneserNey, estimate_discounts


def stream_of(rng: np.random.Generator, n: int = 3000, n_words: int = 12) -> np.ndarray:
    """A first-order chain, so that counts of all sizes occur; the last word never does."""
    table = rng.dirichlet(np.full(n_words - 1, 0.3), size=n_words - 1)
    words = [0]
    for _ in range(n - 1):
        words.append(int(rng.choice(n_words - 1, p=table[words[-1]])))
    return np.array(words, np.int32)


def textbook(sentences: list[list[int]], n_words: int, order: int, context: tuple[int, ...], word: int) -> float:
    """The recursion as the paper states it, with dictionaries; each sentence holds its separators, if there are any."""
    counts = Counter(tuple(s[i : i + order]) for s in sentences for i in range(len(s) - order + 1))
    levels = {order: counts}
    for k in range(order - 1, 0, -1):
        levels[k] = Counter(gram[1:] for gram in levels[k + 1])
        if k > 1 and len(sentences) > 1:  # nothing precedes the first word of a sentence
            levels[k] += Counter(tuple(s[:k]) for s in sentences if len(s) >= k)

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


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_sums_to_one_for_every_context(order: int, rng: np.random.Generator) -> None:
    model = KneserNey.fit(stream_of(rng), 12, order)
    width = max(2, order - 1)
    for context in [(a, b) for a in range(-1, 12) for b in range(-1, 12)]:
        whole = np.concatenate([rng.integers(-1, 12, width - 2), context])
        contexts = np.repeat([whole], 12, axis=0)
        assert model.prob(contexts, np.arange(12)).sum() == pytest.approx(1.0, abs=1e-6)  # single precision
        assert (model.prob(contexts, np.arange(12)) > 0).all()
        np.testing.assert_allclose(model.next(whole), model.prob(contexts, np.arange(12)), rtol=1e-14)


@pytest.mark.parametrize("order", [2, 3, 4, 6])
def test_equals_the_textbook_recursion(order: int, rng: np.random.Generator) -> None:
    stream = stream_of(rng, 400)
    model = KneserNey.fit(stream, 12, order)
    assert (model.discounts[-1] != [0.5, 1.0, 1.5]).any()  # the estimate is at work, not the fallback alone
    windows = [*np.lib.stride_tricks.sliding_window_view(stream, order)[:40], *rng.integers(0, 12, (10, order))]
    for *context, word in (tuple(map(int, window)) for window in windows):
        got = model.prob(np.array([context]), np.array([word]))[0]
        assert got == pytest.approx(textbook([stream.tolist()], 12, order, tuple(context), word), rel=1e-6)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_sentences_are_separate_as_in_other_toolkits(order: int, rng: np.random.Generator) -> None:
    """N-grams do not go on after the end of a sentence, and those that begin one keep their counts."""
    end = 11
    sentences = [
        [end, *s.tolist(), end] for s in np.split(stream_of(rng, 400), np.sort(rng.integers(1, 400, 80))) if len(s)
    ]
    stream = np.array([end] + [w for s in sentences for w in s[1:]], np.int32)
    model = KneserNey.fit(stream, 12, order, start=end)
    for sentence in sentences[:20]:
        for i in range(1, len(sentence)):
            context = tuple(sentence[max(0, i - order + 1) : i])
            padded = np.array([(*[int(x) for x in rng.integers(0, 12, order)], *context)[-(order - 1) :]])
            # What stands before the beginning of the sentence makes no difference.
            assert model.prob(padded, np.array([sentence[i]]))[0] == pytest.approx(
                textbook(sentences, 12, order, context, sentence[i])
                if len(context) == order - 1
                else textbook(sentences, 12, order, (-1,) * (order - 1 - len(context)) + context, sentence[i]),
                rel=1e-6,
            )


def test_a_stream_and_single_queries_give_the_same(rng: np.random.Generator) -> None:
    """Within a stream the n-gram that was found is the next context; alone it is searched."""
    model = KneserNey.fit(stream_of(rng), 12, 5)
    text = rng.integers(0, 12, 200)
    contexts = np.lib.stride_tricks.sliding_window_view(np.concatenate([[-1] * 4, text]), 4)[:200]
    together = model.prob(contexts, text)
    alone = [model.prob(contexts[i : i + 1], text[i : i + 1])[0] for i in range(200)]
    np.testing.assert_array_equal(together, alone)
    longer = np.concatenate([rng.integers(0, 12, (200, 3)), contexts], axis=1)
    np.testing.assert_array_equal(model.prob(longer, text), together)


def test_contexts_know_how_often_they_were_seen(rng: np.random.Generator) -> None:
    model = KneserNey.fit(stream_of(rng), 12, 3)
    for context in [(1, 2), (3, 0), (11, 11), (-1, 2)]:
        children = [
            n
            for gram, n in zip(model.tree.level(3).tolist(), model.counts[model.tree.bounds[2] :], strict=True)
            if tuple(gram[:2]) == context
        ]
        assert model.times_seen(np.array([context]))[0] == sum(children)


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


@pytest.mark.parametrize("order", [1, 3, 5])
def test_state_round_trip_and_refusals(order: int, rng: np.random.Generator) -> None:
    model = KneserNey.fit(stream_of(rng), 12, order)
    values, arrays = model.to_state()
    KneserNey.SCHEMA.check(values, arrays, {})
    contexts, words = rng.integers(-1, 12, (50, 4)), rng.integers(0, 12, 50)
    again = KneserNey.from_state(values, arrays)
    np.testing.assert_array_equal(again.prob(contexts, words), model.prob(contexts, words))
    for name, wrong, message in (
        ("bounds", arrays["bounds"][::-1].copy(), "bounds"),
        ("words", arrays["words"][::-1].copy(), "every word|ascending"),
        ("starts", arrays["starts"] + 1, "rise"),
    ):
        with pytest.raises(ValueError, match=message):
            KneserNey.from_state(values, arrays | {name: wrong})


def test_files_of_earlier_versions_load() -> None:
    """They packed n-grams as digits, and left out the one at the beginning of the text, which nothing precedes."""
    arrays = {
        "keys1": np.array([0, 1, 2]), "counts1": np.array([1, 2, 1], np.int32),
        "keys2": np.array([4 * 1 + 0, 4 * 1 + 2]), "counts2": np.array([1, 1], np.int32),
        "keys3": np.array([16 * 0 + 4 * 1 + 2, 16 * 3 + 4 * 1 + 0]), "counts3": np.array([2, 1], np.int32),
    }  # fmt: skip
    values = {"order": 3, "n_words": 4}
    KneserNey.SCHEMA.check(values, arrays, {})
    model = KneserNey.from_state(values, arrays)
    assert model.tree.level(2).tolist() == [[0, 1], [1, 0], [1, 2], [3, 1]]
    assert model.counts.tolist() == [1, 2, 1, 0, 0, 1, 1, 0, 2, 1]
    np.testing.assert_allclose(model.next(np.array([0, 1])).sum(), 1.0, atol=1e-6)
    with pytest.raises(ValueError, match="n_words"):
        KneserNey.SCHEMA.check(values, arrays | {"keys1": np.array([0, 1, 200])}, {})


@pytest.mark.parametrize("start", [-1, 0])
def test_ngrams_on_disk_are_those_in_memory(
    start: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spectragram.learning.ngram_counting.WINDOWS", 300)  # several stretches of the vocabulary
    stream = stream_of(rng)
    here = KneserNey.fit(stream, 12, 4, start=start)
    on_disk = KneserNey.fit(stream, 12, 4, start=start, memory=10 * len(stream))
    for name in ("words", "starts", "bounds"):
        np.testing.assert_array_equal(getattr(on_disk.tree, name), getattr(here.tree, name))
    for name in ("counts", "discounts", "unigrams", "own", "gammas"):
        np.testing.assert_array_equal(getattr(on_disk, name), getattr(here, name))
        assert getattr(on_disk, name).dtype == getattr(here, name).dtype
    in_files = (on_disk.tree.words, on_disk.tree.starts, on_disk.counts, on_disk.own, on_disk.gammas)
    assert all(isinstance(array, np.memmap) for array in in_files)
    assert not isinstance(here.tree.words, np.memmap)
