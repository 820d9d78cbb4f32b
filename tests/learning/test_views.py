"""Projections against dense matrices and numpy's singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest

from spectragram.learning.views import Decomposition, Projection, View, project_labels

KRYLOV = Decomposition(centred=True, solver="krylov")
POWER = Decomposition(centred=False, solver="power")


def correlated(rng: np.random.Generator, n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, and two views whose features lean on the same hidden state."""
    labels = rng.integers(0, 3, n)
    hidden = rng.integers(0, 3, n)
    views = [
        np.stack([5 * labels + (hidden + (rng.random(n) < 0.3) * rng.integers(0, 3, n)) for _ in range(4)], axis=1)
        for _ in range(2)
    ]
    views[0][::50, 0] = 100 + np.arange(len(views[0][::50]))  # features seen once
    return labels, views[0].astype(np.int32), views[1].astype(np.int32)


def dense(features: np.ndarray, centred: bool) -> np.ndarray:
    """Scaled features by a loop over templates and values."""
    n = len(features)
    columns = []
    for template in features.T:
        for value in np.unique(template):
            has = template == value
            if has.sum() >= 2:
                columns.append(has * np.sqrt(n / (has.sum() + 5.0)))
    matrix = np.stack(columns, axis=1)
    return matrix - matrix.mean(axis=0) if centred else matrix


def assert_equal_up_to_signs(found: Projection, A: np.ndarray, B: np.ndarray, k: int) -> None:
    U, sigma, Vt = np.linalg.svd(A.T @ B / len(A))
    np.testing.assert_allclose(found.sigma, sigma[:k], rtol=1e-6)
    left, right = A @ U[:, :k], B @ Vt[:k].T
    signs = np.sign((left * found.left).sum(axis=0))
    np.testing.assert_allclose(found.left * signs, left, atol=1e-6)
    np.testing.assert_allclose(found.right * signs, right, atol=1e-6)


@pytest.mark.parametrize("how", [KRYLOV, POWER], ids=["krylov", "power"])
def test_projection_equals_the_dense_one(how: Decomposition, rng: np.random.Generator) -> None:
    labels, left, right = correlated(rng)
    found = project_labels(left, right, labels, 3, lambda n: 2, how, seed=1)
    for a, projection in enumerate(found):
        rows = np.flatnonzero(labels == a)
        np.testing.assert_array_equal(projection.rows, rows)
        assert_equal_up_to_signs(projection, dense(left[rows], how.centred), dense(right[rows], how.centred), 2)


def test_large_moments_are_solved_without_forming_them(rng: np.random.Generator) -> None:
    n = 3000
    hidden = rng.integers(0, 4, n)
    left = np.stack([hidden * 100 + rng.integers(0, 100, n), hidden], axis=1)
    right = np.stack([hidden * 100 + rng.integers(0, 100, n), hidden], axis=1)
    (found,) = project_labels(left, right, np.zeros(n, np.int64), 1, lambda n: 3, KRYLOV)
    A, B = dense(left, True), dense(right, True)
    assert A.shape[1] > 200
    sigma = np.linalg.svd(A.T @ B / n, compute_uv=False)
    np.testing.assert_allclose(found.sigma, sigma[:3], rtol=1e-2)


def test_vectors_are_scaled_to_variance_one(rng: np.random.Generator) -> None:
    vectors = rng.normal(size=(200, 3)) * [1.0, 10.0, 0.1] + 5.0
    labels = np.zeros(200, np.int64)
    features = (vectors[:, :1] > 5).astype(np.int32)
    (found,) = project_labels(vectors, features, labels, 1, lambda n: 1, KRYLOV)
    A = (vectors - vectors.mean(axis=0)) / vectors.std(axis=0)
    assert_equal_up_to_signs(found, A, dense(features, True), 1)


def test_templates_that_do_not_apply_are_left_out(rng: np.random.Generator) -> None:
    labels, left, right = correlated(rng)
    wider = np.column_stack([np.full(len(left), -1), left])
    one = project_labels(left, right, labels, 3, lambda n: 2, POWER)
    two = project_labels(wider, right, labels, 3, lambda n: 2, POWER)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.left, b.left)


def test_noise_multiplies_every_entry(rng: np.random.Generator) -> None:
    features = rng.integers(0, 4, (500, 3))
    plain = View.of(features, centred=False, noise=0.0, rng=rng)
    noisy = View.of(features, centred=False, noise=0.3, rng=rng)
    np.testing.assert_array_equal(plain.matrix.indices, noisy.matrix.indices)
    factors = noisy.matrix.data / plain.matrix.data
    assert factors.mean() == pytest.approx(1.0, abs=0.05)
    assert factors.std() == pytest.approx(0.3, abs=0.05)


def test_thresholds(rng: np.random.Generator) -> None:
    labels, left, right = correlated(rng)
    rows = np.flatnonzero(labels == 0)
    sigma = np.linalg.svd(dense(left[rows], True).T @ dense(right[rows], True) / len(rows), compute_uv=False)
    between = float(np.sqrt(sigma[1] * sigma[2]))
    absolute = Decomposition(centred=True, solver="krylov", least=between)
    relative = Decomposition(centred=True, solver="krylov", least_share=between / sigma[0])
    for how in (absolute, relative):
        assert len(project_labels(left, right, labels, 3, lambda n: 5, how)[0].sigma) == 2
    everything = Decomposition(centred=True, solver="power", least=100.0)
    assert project_labels(left, right, labels, 3, lambda n: 5, everything)[0].left.shape == (len(rows), 0)


def test_labels_without_anything_in_common_get_no_dimensions() -> None:
    alone = np.arange(10)[:, None]
    labels = np.zeros(10, np.int64)
    for how in (KRYLOV, POWER):
        (found,) = project_labels(alone, alone, labels, 1, lambda n: 3, how)
        assert found.left.shape == (10, 0)
    constant = np.zeros((10, 1), np.int32)  # occurs always, so it does not vary
    (found,) = project_labels(constant, constant, labels, 1, lambda n: 3, KRYLOV)
    assert len(found.sigma) == 0
    (found,) = project_labels(constant, constant, labels, 1, lambda n: 0, POWER)
    assert len(found.sigma) == 0


def test_threads_do_not_show(rng: np.random.Generator) -> None:
    labels, left, right = correlated(rng)
    one, two = (project_labels(left, right, labels, 3, lambda n: 2, POWER, noise=0.2, n_jobs=j) for j in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.left, b.left)
