"""The E-step with known labels against enumeration of all hidden paths."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

from spectragram.inference.labelled_counts import expected_counts

SIZES = np.array([2, 1, 3])
STARTS = np.array([0, 2, 3, 6])


def test_expected_counts_equal_enumeration(rng: np.random.Generator) -> None:
    n_states = 6
    initial = rng.dirichlet(np.ones(n_states))
    leaving = rng.dirichlet(np.ones(n_states + 1), n_states)
    transition, final = np.ascontiguousarray(leaving[:, :-1]), np.ascontiguousarray(leaving[:, -1])
    labels = np.array([0, 2, 2, 1, 0, 2], np.int32)
    offsets = np.array([0, 5, 5, 6])
    emissions = rng.uniform(0.1, 1, (6, 3))
    posteriors = np.zeros((6, 3))
    counts, log_likelihood = expected_counts(
        offsets, 0, 3, labels, emissions, initial, transition, final, STARTS, posteriors
    )
    exact_counts, exact_posteriors, exact_log = np.zeros((n_states, n_states)), np.zeros((6, 3)), 0.0
    for start, stop in ((0, 5), (5, 6)):
        paths = list(product(*(range(SIZES[a]) for a in labels[start:stop])))
        weights = []
        for path in paths:
            states = [STARTS[a] + h for a, h in zip(labels[start:stop], path, strict=True)]
            weight = initial[states[0]] * final[states[-1]]
            weight *= np.prod([transition[a, b] for a, b in pairwise(states)])
            weights.append(weight * np.prod([emissions[start + i, h] for i, h in enumerate(path)]))
        total = sum(weights)
        exact_log += np.log(total)
        for path, weight in zip(paths, weights, strict=True):
            for i, h in enumerate(path):
                exact_posteriors[start + i, h] += weight / total
                if i + 1 < len(path):
                    a, b = labels[start + i], labels[start + i + 1]
                    exact_counts[STARTS[a] + h, STARTS[b] + path[i + 1]] += weight / total
    np.testing.assert_allclose(counts, exact_counts, atol=1e-12)
    np.testing.assert_allclose(posteriors, exact_posteriors, atol=1e-12)
    assert np.isclose(log_likelihood, exact_log)
