"""Doors to the small linear algebra of the node models and rotations."""

import numpy as np

from obtree.core cimport jacobi, rounding
from obtree.linear cimport ridge


def solve(A, b):
    """The solution of A x = b by Cholesky's factors, None when A is not positive definite."""
    cdef double[:, ::1] matrix = np.array(A, dtype=np.float64)
    cdef double[::1] x = np.array(b, dtype=np.float64)
    if not ridge.solve_ridge(&matrix[0, 0], matrix.shape[0], 0.0, &x[0], 1):
        return None
    return np.asarray(x)


def find_eigenvectors(A):
    """Eigenvalues and eigenvectors (in columns) of a symmetric matrix."""
    cdef double[:, ::1] matrix = np.array(A, dtype=np.float64)
    cdef double[:, ::1] vectors = np.empty_like(matrix)
    jacobi.find_eigenvectors(&matrix[0, 0], matrix.shape[0], &vectors[0, 0])
    return np.diag(matrix), np.asarray(vectors)


def round_to_single(double x):
    """x with 24 significant bits."""
    return rounding.round_to_single(x)
