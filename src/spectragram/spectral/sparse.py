"""Sparse matrices in the only form that this package computes with: float64 CSR, sorted indices, no duplicates."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

__all__ = ["is_sparse", "to_csr"]


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
