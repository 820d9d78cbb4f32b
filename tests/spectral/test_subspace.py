"""Truncated SVD: every solver against LAPACK, the sign, the seed, and what happens when the rank is not there."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from spectragram.errors import InputError, RankError
from spectragram.spectral import Scaling, choose_method, find_subspace, svd
from spectragram.spectral.svd import SOLVERS

ITERATIVE = ["propack", "krylov"]


def power_law_counts(rng, d: int, e: int, n: int, n_classes: int = 12) -> scipy.sparse.csr_array:
    """CCA-scaled counts of n pairs whose two words share a hidden class, word frequencies a power law."""
    words = [
        rng.choice(size, n, p=(1 / np.arange(1, size + 1)) / (1 / np.arange(1, size + 1)).sum()) for size in (d, e)
    ]
    together = words[0] % n_classes == words[1] % n_classes
    keep = together | (rng.random(n) < 0.2)
    counts = scipy.sparse.coo_array((np.ones(keep.sum()), (words[0][keep], words[1][keep])), shape=(d, e)).tocsr()
    return Scaling.from_counts(counts.sum(axis=1), counts.sum(axis=0)).apply(counts)


@pytest.fixture(scope="module")
def scaled():
    return power_law_counts(np.random.default_rng(7), 400, 300, 60_000)


def projection(vectors):
    return vectors @ vectors.T


@pytest.mark.parametrize("k", [1, 10, 60])
@pytest.mark.parametrize("form", [scipy.sparse.csc_array, scipy.sparse.csr_matrix, np.asarray, aslinearoperator, "T"])
@pytest.mark.parametrize("method", ["auto", "dense", "gram", *ITERATIVE])
def test_every_solver_agrees_with_lapack(scaled, method, form, k):
    dense = scaled.toarray().T if form == "T" else scaled.toarray()
    U, sigma, Vt = scipy.linalg.svd(dense)
    assert sigma[k - 1] - sigma[k] > 1e-4, "the test needs a gap"
    given = scaled.T if form == "T" else dense if form is np.asarray else form(scaled)
    found = find_subspace(given, k, method=method)
    np.testing.assert_allclose(found.singular_values, sigma[:k], rtol=1e-9)
    np.testing.assert_allclose(projection(found.left), projection(U[:, :k]), atol=1e-5)
    np.testing.assert_allclose(projection(found.right), projection(Vt[:k].T), atol=1e-5)
    np.testing.assert_allclose(found.left.T @ found.left, np.eye(k), atol=1e-7)
    np.testing.assert_allclose(dense.T @ found.left, found.right * found.singular_values, atol=1e-7)


@pytest.mark.parametrize("method", ["dense", *ITERATIVE])
def test_sign_and_seed(scaled, method):
    first = find_subspace(scaled, 8, method=method, rng=3)
    again = find_subspace(scaled, 8, method=method, rng=np.random.default_rng(3))
    other = find_subspace(scaled, 8, method=method, rng=4)
    np.testing.assert_array_equal(first.left, again.left)
    np.testing.assert_array_equal(first.right, again.right)
    assert (first.left[np.abs(first.left).argmax(axis=0), np.arange(8)] > 0).all()
    np.testing.assert_allclose(first.left, other.left, atol=1e-5)


@pytest.mark.parametrize("method", ["auto", "dense", *ITERATIVE])
def test_rank_is_checked(rng, method):
    low = rng.random((150, 4)) @ rng.random((4, 120))
    with pytest.raises(RankError, match=r"n_states=6, but this \(150, 120\) cross moment has rank 4: use n_states<=4"):
        find_subspace(low, 6, method=method)
    truncated = find_subspace(low, 6, method=method, truncate=True)
    assert (truncated.n_states, truncated.n_requested) == (4, 6)
    np.testing.assert_allclose((truncated.left * truncated.singular_values) @ truncated.right.T, low, atol=1e-6)
    assert find_subspace(low, 4, method=method).n_states == 4


def test_threshold_keeps_what_is_above_it():
    moment = np.diag([1.0, 0.5, 0.005, 0.001])
    assert find_subspace(moment, 4).n_states == 4
    assert find_subspace(moment, 4, threshold=0.01, truncate=True).singular_values.tolist() == [1.0, 0.5]
    assert find_subspace(moment, 2, threshold=0.01).n_states == 2
    assert find_subspace(moment, 4, threshold=2.0, truncate=True).singular_values.tolist() == [1.0]
    with pytest.raises(RankError, match=r"rank 2 with singular values above 0\.01"):
        find_subspace(moment, 3, threshold=0.01)


def test_more_states_than_rows():
    with pytest.raises(RankError, match="has rank 2"):
        find_subspace(np.eye(2, 5), 3)
    assert find_subspace(np.eye(2, 5), 3, truncate=True).n_states == 2


@pytest.mark.parametrize("method", ["auto", "propack", "krylov"])
def test_empty_rows_and_columns_of_a_sparse_matrix_stay_zero(scaled, method):
    padded = scipy.sparse.block_diag([scipy.sparse.csr_array((5, 2)), scaled, scipy.sparse.csr_array((1, 9))])
    found = find_subspace(padded, 6, method=method)
    np.testing.assert_allclose(found.singular_values, find_subspace(scaled, 6).singular_values)
    assert not found.left[:5].any() and not found.right[-9:].any()
    np.testing.assert_allclose(padded.T @ found.left, found.right * found.singular_values, atol=1e-7)


@pytest.mark.parametrize("moment", [np.zeros((3, 4)), scipy.sparse.csr_array((300, 200))])
@pytest.mark.parametrize("truncate", [False, True])
def test_nothing_but_zeros(moment, truncate):
    with pytest.raises(RankError, match="all zero"):
        find_subspace(moment, 1, truncate=truncate)


@pytest.mark.parametrize(
    ("moment", "n_states", "message"),
    [
        (np.ones((3, 3)), 0, "at least one hidden state"),
        (np.array([[1.0, np.nan]]), 1, "infinite or undefined"),
        (scipy.sparse.csr_array(np.array([[np.inf]])), 1, "infinite or undefined"),
        (np.ones(3), 1, "non-empty matrix"),
        (np.ones((0, 3)), 1, "non-empty matrix"),
    ],
)
def test_what_cannot_be_decomposed_is_refused(moment, n_states, message):
    with pytest.raises(InputError, match=message):
        find_subspace(moment, n_states)


def test_an_operator_is_never_made_dense(scaled):
    """A solver that asks for all columns of a large operator would fill the memory."""
    widest = 0

    def forward(X):
        nonlocal widest
        widest = max(widest, X.shape[1] if X.ndim == 2 else 1)
        return scaled @ X

    operator = LinearOperator(
        scaled.shape, matvec=forward, matmat=forward, rmatvec=lambda y: scaled.T @ y, rmatmat=lambda Y: scaled.T @ Y
    )
    for method in ITERATIVE:
        find_subspace(operator, 12, method=method)
    assert 1 <= widest <= 12


def test_propack_hands_over_where_it_gives_up(rng, monkeypatch):
    """On a flat spectrum scipy's PROPACK stops after 10 k steps with an error."""

    def gives_up(*_args, **_settings):
        raise np.linalg.LinAlgError("did not converge")

    monkeypatch.setattr(svd, "svds", gives_up)
    noise = rng.standard_normal((200, 150))
    _, sigma, _ = SOLVERS["propack"](noise, 3, 1e-8, np.random.default_rng(0))
    np.testing.assert_allclose(sigma, np.linalg.svd(noise)[1][:3])


def test_choice_by_size_and_rank():
    assert choose_method((100, 10**6), 8) == "dense"
    assert choose_method((3000, 3000), 1500) == "dense"
    assert choose_method((3000, 3000), 512) == "propack"
    assert choose_method((300_000, 300_000), 100_000) == "krylov"
    assert choose_method((5000, 80_000), 16) == "propack"
    assert choose_method((50_000, 50_000), 1000) == "krylov"
