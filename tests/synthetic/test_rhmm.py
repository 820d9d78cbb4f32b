"""Refinement HMMs against enumeration, and the identities behind the spectral method."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np
import pytest

from spectragram.errors import InputError
from spectragram.synthetic.rhmm import RefinementHMM, RefinementMoments, window_features


@pytest.fixture
def finite(rng: np.random.Generator) -> RefinementHMM:
    """Two labels, two states, three observations; states only move forward, so sequences have length 1 to 4."""
    weights = np.triu(rng.random((4, 5)) + 0.1, 1)
    weights /= weights.sum(axis=1, keepdims=True)
    return RefinementHMM(
        rng.dirichlet(np.ones(4)).reshape(2, 2),
        weights[:, :4].reshape(2, 2, 2, 2),
        rng.dirichlet(np.ones(3), (2, 2)),
        weights[:, 4].reshape(2, 2),
    )


def all_sequences(model: RefinementHMM, max_length: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for n in range(1, max_length + 1):
        yield from product(product(range(model.n_labels), repeat=n), product(range(model.n_observations), repeat=n))


def test_probability_is_the_sum_over_hidden_states(finite: RefinementHMM) -> None:
    for labels, observations in [((0,), (2,)), ((0, 1), (1, 1)), ((0, 0, 1), (2, 0, 1))]:
        total = 0.0
        for states in product(range(2), repeat=len(labels)):
            places = list(zip(labels, states, strict=True))
            p = finite.initial[places[0]] * finite.stop[places[-1]]
            for place, x in zip(places, observations, strict=True):
                p *= finite.emission[place][x]
            for here, there in pairwise(places):
                p *= finite.transition[here][there]
            total += p
        assert finite.probability(labels, observations) == pytest.approx(total, rel=1e-12)


def test_probabilities_add_up_to_one(finite: RefinementHMM) -> None:
    total = sum(finite.probability(*sequence) for sequence in all_sequences(finite, 4))
    assert total == pytest.approx(1, abs=1e-12)


def test_the_automaton_gives_the_same_probabilities(finite: RefinementHMM) -> None:
    automaton = finite.to_pnfa()
    assert automaton.probability(()) == 0
    for labels, observations in all_sequences(finite, 3):
        pairs = [a * 3 + x for a, x in zip(labels, observations, strict=True)]
        assert automaton.probability(pairs) == pytest.approx(finite.probability(labels, observations), abs=1e-15)


def test_marginals_add_up_to_the_probability_of_the_observations(finite: RefinementHMM) -> None:
    observations = (1, 0, 2)
    marginals = finite.brute_force_marginals(observations)
    total = sum(finite.probability(labels, observations) for labels in product(range(2), repeat=3))
    np.testing.assert_allclose(marginals.sum(axis=1), total)
    only_first = sum(finite.probability((1, *rest), observations) for rest in product(range(2), repeat=2))
    assert marginals[0, 1] == pytest.approx(only_first)


def weighted_moments(
    model: RefinementHMM, weighted: Iterator[tuple[float, tuple[int, ...], tuple[int, ...]]]
) -> tuple[RefinementMoments, np.ndarray]:
    """Moments by enumeration of weighted sequences, and the total weight of the positions of each label."""
    l, n = model.n_labels, model.n_observations
    d1, d2, d3, d4 = 2 * n + l + 2, n + l + 2, n, 2 * (n + l + 2)
    sums = RefinementMoments(
        np.zeros((l, d1, d2)),
        np.zeros((l, d3, d4)),
        np.zeros((l, l, d1, d2, d3)),
        np.zeros((l, d2, d3)),
        np.zeros((l, n, d4)),
        np.zeros((l, d1)),
    )
    positions = np.zeros(l)
    for p, labels, observations in weighted:
        phi, psi, xi, upsilon = window_features(labels, observations, l, n)
        sums.initial[labels[0]] += p * phi[0]
        for i, (a, x) in enumerate(zip(labels, observations, strict=True)):
            positions[a] += p
            sums.future_past[a] += p * np.outer(phi[i], psi[i])
            sums.present_destiny[a] += p * np.outer(xi[i], upsilon[i])
            sums.emission[a, x] += p * upsilon[i]
            past_present = p * np.outer(psi[i], xi[i])
            if i + 1 < len(labels):
                sums.next[a, labels[i + 1]] += np.multiply.outer(phi[i + 1], past_present)
            else:
                sums.end[a] += past_present
    per_label = {
        name: array / positions.reshape(-1, *[1] * (array.ndim - 1))
        for name, array in vars(sums).items()
        if name != "initial"
    }
    return RefinementMoments(**per_label, initial=sums.initial), positions


def test_moments_equal_enumeration(finite: RefinementHMM) -> None:
    enumerated, positions = weighted_moments(
        finite, ((finite.probability(a, x), a, x) for a, x in all_sequences(finite, 4))
    )
    np.testing.assert_allclose(finite.visits().sum(axis=1), positions, rtol=1e-12)
    exact = finite.moments()
    for name, array in vars(enumerated).items():
        np.testing.assert_allclose(getattr(exact, name), array, atol=1e-12, err_msg=name)


def test_samples_have_the_moments_of_the_model(rng: np.random.Generator) -> None:
    model = RefinementHMM.random(2, 2, 3, rng=rng, mean_length=3.0)
    n = 4000
    sample = model.sample(n, rng)
    np.testing.assert_array_equal(sample.labels.offsets, sample.observations.offsets)
    counted, positions = weighted_moments(
        model, ((1.0, tuple(a), tuple(x)) for a, x in zip(sample.labels, sample.observations, strict=True))
    )
    exact = model.moments()
    # Entries are averages of indicators over about `positions` draws.
    np.testing.assert_allclose(counted.future_past, exact.future_past, atol=5 * 0.5 / np.sqrt(positions.min()))
    np.testing.assert_allclose(counted.next, exact.next, atol=5 * 0.5 / np.sqrt(positions.min()))
    np.testing.assert_allclose(counted.initial / n, exact.initial, atol=5 * 0.5 / np.sqrt(n))
    assert abs(positions.sum() / n - model.visits().sum()) < 5 * np.diff(sample.labels.offsets).std() / np.sqrt(n)


def test_a_hundred_thousand_sequences_have_the_right_frequencies(
    finite: RefinementHMM, rng: np.random.Generator
) -> None:
    n = 100_000
    sample = finite.sample(n, rng)
    pairs = sample.labels.tokens * 3 + sample.observations.tokens
    found: dict[tuple[int, ...], int] = {}
    for start, stop in zip(sample.labels.offsets, sample.labels.offsets[1:], strict=False):
        key = tuple(pairs[start:stop])
        found[key] = found.get(key, 0) + 1
    for labels, observations in all_sequences(finite, 2):
        p = finite.probability(labels, observations)
        key = tuple(a * 3 + x for a, x in zip(labels, observations, strict=True))
        assert abs(found.get(key, 0) / n - p) <= 5 * np.sqrt(p * (1 - p) / n)


def recover(moments: RefinementMoments, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The spectral algorithm of figure 4: c_a^1 (l, m), C^{b|a}(c_x^a) (l, l, n, m, m), C^{*|a}(c_x^a) (l, n, m)."""
    l, n = moments.initial.shape[0], moments.emission.shape[1]
    Phi, Psi, Xi, Upsilon = ([] for _ in range(4))
    for a in range(l):
        u, _, v = np.linalg.svd(moments.future_past[a])
        Phi.append(u[:, :m].T)
        Psi.append(v[:m])
        u, _, v = np.linalg.svd(moments.present_destiny[a])
        Xi.append(u[:, :m].T)
        Upsilon.append(v[:m])
    start = np.stack([Phi[a] @ moments.initial[a] for a in range(l)])
    step, end = np.zeros((l, l, n, m, m)), np.zeros((l, n, m))
    for a in range(l):
        Sigma = np.linalg.inv(Phi[a] @ moments.future_past[a] @ Psi[a].T)
        Lambda = np.linalg.inv(Xi[a] @ moments.present_destiny[a] @ Upsilon[a].T)
        emitted = moments.emission[a] @ Upsilon[a].T @ Lambda  # (n, m)
        end[a] = np.einsum("pj,jk,rk,xr->xp", Psi[a], moments.end[a], Xi[a], emitted) @ Sigma
        for b in range(l):
            D = np.einsum("fi,pj,rk,ijk->fpr", Phi[b], Psi[a], Xi[a], moments.next[a, b])
            step[a, b] = np.einsum("fpr,xr->xfp", D, emitted) @ Sigma
    return start, step, end


@pytest.mark.parametrize("mixed", [False, True])
def test_the_model_is_recovered_from_its_moments(rng: np.random.Generator, mixed: bool) -> None:
    model = RefinementHMM.random(2, 3, 5, rng=rng, conditioning=0.1)
    views = model.views()
    if mixed:
        # Any invertible linear map of the features keeps the same information.
        maps = [rng.normal(size=(d, d)) for d in (14, 9, 5, 18)]
        views = views.transformed(*maps)
    start, step, end = recover(model.moments(views), 3)
    for labels, observations in [((0,), (1,)), ((1, 0), (2, 2)), ((0, 1, 1), (4, 0, 3)), ((1,) * 6, (0,) * 6)]:
        alpha = start[labels[0]]
        for a, b, x in zip(labels, labels[1:], observations, strict=False):
            alpha = step[a, b, x] @ alpha
        recovered = end[labels[-1], observations[-1]] @ alpha
        assert recovered == pytest.approx(model.probability(labels, observations), rel=1e-8)


@pytest.mark.parametrize(("sizes", "conditioning"), [((2, 2, 4), 0.3), ((3, 4, 12), 0.1), ((1, 1, 1), 0.9)])
def test_random_models_are_as_well_conditioned_as_asked(
    sizes: tuple[int, int, int], conditioning: float, rng: np.random.Generator
) -> None:
    model = RefinementHMM.random(*sizes, rng=rng, conditioning=conditioning)
    assert model.conditioning() >= conditioning
    moments = model.moments()
    for a in range(sizes[0]):
        for table in (moments.future_past[a], moments.present_destiny[a]):
            scale = np.sqrt(np.outer(table.sum(axis=1), table.sum(axis=0)))
            scaled = np.divide(table, scale, out=np.zeros_like(table), where=scale > 0)
            assert np.linalg.svd(scaled, compute_uv=False)[sizes[1] - 1] >= conditioning * (1 - 1e-9)


def test_wrong_parameters_are_refused(finite: RefinementHMM) -> None:
    with pytest.raises(InputError, match="add up to 1"):
        RefinementHMM(finite.initial, finite.transition, finite.emission, finite.stop + 0.1)
    with pytest.raises(InputError, match="shapes"):
        RefinementHMM(finite.initial, finite.transition[0], finite.emission, finite.stop)
