"""Four ways to compute the leading singular triplets of a matrix, behind one signature.

    name      algorithm                                            reads the matrix through
    dense     LAPACK divide and conquer, all triplets              its entries
    propack   Lanczos bidiagonalisation (PROPACK)                  A x, A^T y, one vector at a time
    krylov    random start, block Krylov space of A^T A,           A X, A^T Y, a block of vectors at a time
              full reorthogonalisation (Musco & Musco 2015)
    gram      LAPACK on the smaller Gram matrix                    A^T A, formed

Every solver takes ``(A, k, tolerance, rng)`` and returns ``U (d, k), sigma (k,), V (e, k)``, largest value first,
with residuals ``|A^T u - sigma v|`` of about ``tolerance * sigma_1``. Those of ``gram`` are about
``1e-15 sigma_1^2 / sigma_k`` for any tolerance: it is fast if one side is short, and accurate enough if the noise of
the matrix is larger than that. :mod:`spectragram.spectral.subspace` decides which solver is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, svds

__all__ = ["SOLVERS", "Solver", "Triplets", "is_sparse", "to_csr"]

Triplets = tuple[np.ndarray, np.ndarray, np.ndarray]
Solver = Callable[[Any, int, float, np.random.Generator], Triplets]

BLOCK_SIZE = 8
"""Vectors multiplied at a time: enough for the speed of matrix products, few enough not to waste Krylov dimensions.

Chosen by hand, not tuned; results do not depend on it beyond the tolerance.
"""


def dense_svd(A: Any, k: int, tolerance: float, rng: np.random.Generator) -> Triplets:
    """All triplets by LAPACK, the first ``k`` kept."""
    if isinstance(A, LinearOperator):
        A = A @ np.eye(A.shape[1])
    U, sigma, Vt = scipy.linalg.svd(A.toarray() if is_sparse(A) else A, full_matrices=False)
    return U[:, :k], sigma[:k], Vt[:k].T


def propack_svd(A: Any, k: int, tolerance: float, rng: np.random.Generator) -> Triplets:
    """PROPACK as wrapped by scipy. It gives up after 10 k steps, and then the block method takes over."""
    start = rng.standard_normal(A.shape[0])
    try:
        return _by_size(*svds(A, k=k, solver="propack", tol=tolerance, v0=start, rng=rng))
    except np.linalg.LinAlgError:
        return krylov_svd(A, k, tolerance, rng)


def _by_size(U: np.ndarray, sigma: np.ndarray, Vt: np.ndarray) -> Triplets:
    order = np.argsort(-sigma, kind="stable")
    return U[:, order], sigma[order], Vt[order].T


def krylov_svd(A: Any, k: int, tolerance: float, rng: np.random.Generator) -> Triplets:
    """Block Krylov: leading eigenvectors of the smaller Gram matrix, then Rayleigh-Ritz on A itself."""
    At = A.T.tocsr() if is_sparse(A) else A.T
    if A.shape[1] > A.shape[0]:
        A, At = At, A
        V, sigma, U = _krylov_tall(A, At, k, tolerance, rng)
    else:
        U, sigma, V = _krylov_tall(A, At, k, tolerance, rng)
    return U, sigma, V


def _krylov_tall(A: Any, At: Any, k: int, tolerance: float, rng: np.random.Generator) -> Triplets:
    return _from_right_vectors(A, _leading_eigenvectors(lambda X: At @ (A @ X), A.shape[1], k, tolerance, rng))


def gram_svd(A: Any, k: int, tolerance: float, rng: np.random.Generator) -> Triplets:
    """Leading eigenvectors of the smaller Gram matrix by LAPACK."""
    if isinstance(A, LinearOperator):
        A = A @ np.eye(A.shape[1])
    if A.shape[1] > A.shape[0]:
        V, sigma, U = gram_svd(A.T.tocsr() if is_sparse(A) else A.T, k, tolerance, rng)
        return U, sigma, V
    gram = A.T @ A
    n = A.shape[1]
    _, V = scipy.linalg.eigh(gram.toarray() if is_sparse(gram) else gram, subset_by_index=[n - k, n - 1])
    return _from_right_vectors(A, V)


def _from_right_vectors(A: Any, V: np.ndarray) -> Triplets:
    """Triplets from orthonormal vectors (e, k) that span the leading right singular space."""
    AV = A @ V
    sigma = np.linalg.norm(AV, axis=0)
    # Columns of A V are orthogonal up to rounding times (sigma_1 / sigma_k)^2. At a ratio of 1e3 that is 1e-10, below
    # every tolerance in use; beyond it, the more expensive decomposition of A V is needed.
    if sigma.min() > 1e-3 * sigma.max():
        order = np.argsort(-sigma, kind="stable")
        return (AV / sigma)[:, order], sigma[order], V[:, order]
    U, sigma, Wt = scipy.linalg.svd(AV, full_matrices=False)
    return U, sigma, V @ Wt.T


def _leading_eigenvectors(
    gram: Callable[[np.ndarray], np.ndarray], size: int, k: int, tolerance: float, rng: np.random.Generator
) -> np.ndarray:
    """The ``k`` leading eigenvectors (size, k) of a symmetric positive semi-definite operator, by block Lanczos.

    The basis V of the Krylov space gives ``V^T gram(V) = T``, block tridiagonal, and
    ``gram(V s) - lambda V s = Q R s_last`` for an eigenpair (lambda, s) of T, where Q R is the next block, so residuals
    need no further product. Vectors are rows here because thin products are fastest that way.
    """
    Q, _ = _orthonormal_rows(rng.standard_normal((min(BLOCK_SIZE, size), size)))
    basis = np.empty((0, size))
    diagonal: list[np.ndarray] = []
    coupling: list[np.ndarray] = []
    n, next_check = 0, 2 * k + 2 * BLOCK_SIZE
    while True:
        basis = _with_room(basis, n, len(Q))
        basis[n : n + len(Q)] = Q
        n += len(Q)
        W = gram(Q.T).T
        diagonal.append(Q @ W.T)
        next_Q, R = _next_block(W, basis[:n], rng)
        if n >= min(next_check, size):
            values, vectors = _leading_pairs(diagonal, coupling, k)
            # |A^T u - sigma v| = |gram(v) - lambda v| / sigma, and sigma^2 = lambda
            residuals = np.linalg.norm(R @ vectors[-len(Q) :], axis=0)
            scale = np.sqrt(values.max() * np.maximum(values, 1e-12 * values.max()))
            if n >= size or (residuals <= tolerance * scale).all():
                return basis[:n].T @ vectors
            next_check = int(1.15 * n) + 1  # checks cost n^3: a 15 % larger basis before the next keeps them few
        Q = next_Q[: size - n]
        coupling.append(R[: len(Q)])


def _with_room(basis: np.ndarray, n: int, extra: int) -> np.ndarray:
    """The basis with room for ``extra`` rows after its first ``n``; it grows by half if it was full."""
    if n + extra <= len(basis):
        return basis
    grown = np.empty((max(n + extra, int(1.5 * len(basis)), 16 * extra), basis.shape[1]))
    grown[:n] = basis[:n]
    return grown


def _next_block(W: np.ndarray, basis: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Q, R with R^T Q the part of W outside the basis; Q is orthogonal to the basis even if W has lost rank."""
    size = np.linalg.norm(W)
    # In exact arithmetic W overlaps only with the last two blocks; the second pass removes rounding errors.
    for part in (basis[-2 * len(W) :], basis):
        W = W - (W @ part.T) @ part
    Q, R = _orthonormal_rows(W)
    if np.abs(R.diagonal()).min() < 1e-12 * size and len(basis) < basis.shape[1]:
        # The Krylov space is exhausted (1e-12 and 1e-14: near float64's precision): continue in random directions.
        Q, R = _orthonormal_rows(W + 1e-14 * size * rng.standard_normal(W.shape))
        for _ in range(2):
            Q, correction = _orthonormal_rows(Q - (Q @ basis.T) @ basis)
            R = correction @ R
    return Q, R


def _orthonormal_rows(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q, R with W = R^T Q, orthonormal rows in Q."""
    Q, R = np.linalg.qr(W.T)
    return np.ascontiguousarray(Q.T), R


def _leading_pairs(diagonal: list[np.ndarray], coupling: list[np.ndarray], k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` largest eigenvalues of the block tridiagonal matrix, and their vectors, largest first."""
    T = scipy.linalg.block_diag(*diagonal)
    starts = np.cumsum([0, *(len(block) for block in diagonal)])
    for i, R in enumerate(coupling):
        T[starts[i + 1] : starts[i + 2], starts[i] : starts[i + 1]] = R
    n = len(T)  # eigh reads the lower triangle only
    values, vectors = scipy.linalg.eigh(T, subset_by_index=[max(n - k, 0), n - 1])
    return values[::-1], vectors[:, ::-1]


SOLVERS: dict[str, Solver] = {
    "dense": dense_svd,
    "propack": propack_svd,
    "krylov": krylov_svd,
    "gram": gram_svd,
}


def is_sparse(matrix: Any) -> bool:
    """Whether this is one of scipy's sparse arrays or matrices, of any format."""
    return bool(scipy.sparse.issparse(matrix))


def to_csr(matrix: Any) -> scipy.sparse.csr_array:
    """Any matrix as a canonical float64 CSR array; the matrix itself if it is canonical already."""
    rows: Any = scipy.sparse.csr_array(matrix)
    if rows.dtype != np.float64:
        rows = rows.astype(np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows
