"""Wrappers of the kernels for rows of bytes, and of what rests on them."""

import numpy as np

from libc.stdint cimport int16_t, int32_t, uint8_t

from obtree.core.dispatch cimport kernels
from obtree.core.types cimport feature_t, row_t, w_t
from obtree.data.hyperplane cimport Hyperplane, init_plane
from obtree.optim.base cimport Problem
from obtree.optim.tao cimport DensePlane, Scaler, find_sides, is_dense, write_dense


def approximate(X, rows, w):
    """X[rows] @ w, from bytes or float32 as X has them."""
    cdef const int32_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef const float[::1] weight = np.ascontiguousarray(w, dtype=np.float32)
    cdef double[::1] out = np.empty(len(rows))
    cdef const uint8_t[:, ::1] cells
    cdef const float[:, ::1] x
    if X.dtype == np.uint8:
        cells = X
        kernels().approximate_bytes(&cells[0, 0], X.shape[1], &at[0], len(at), &weight[0], &out[0])
    else:
        x = X
        kernels().approximate_rows(&x[0, 0], X.shape[1], &at[0], len(at), &weight[0], &out[0])
    return np.asarray(out)


def sum_bytes(const uint8_t[:, ::1] X, rows, w):
    """X[rows] @ w for whole weights."""
    cdef const int32_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef const int16_t[::1] weight = np.ascontiguousarray(w, dtype=np.int16)
    cdef double[::1] out = np.empty(len(rows))
    kernels().sum_bytes(&X[0, 0], X.shape[1], &at[0], len(at), &weight[0], &out[0])
    return np.asarray(out)


def add_bytes(const uint8_t[:, ::1] X, rows, factor):
    """factor @ X[rows]."""
    cdef const int32_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef const float[::1] factors = np.ascontiguousarray(factor, dtype=np.float32)
    cdef float[::1] out = np.empty(X.shape[1], dtype=np.float32)
    kernels().add_bytes(&X[0, 0], X.shape[1], &at[0], &factors[0], len(at), &out[0])
    return np.asarray(out)


def scale_bytes(const uint8_t[::1] x, origin, scale):
    """(x - origin) * scale."""
    cdef const float[::1] origins = np.ascontiguousarray(origin, dtype=np.float32)
    cdef const float[::1] scales = np.ascontiguousarray(scale, dtype=np.float32)
    cdef float[::1] out = np.empty(len(x), dtype=np.float32)
    kernels().scale_bytes(&x[0], len(x), &origins[0], &scales[0], &out[0])
    return np.asarray(out)


def pack_bytes(x):
    """The bytes and their sum, or -1."""
    cdef const float[::1] values = np.ascontiguousarray(x, dtype=np.float32)
    cdef uint8_t[::1] out = np.empty(len(x), dtype=np.uint8)
    total = kernels().pack_bytes(&values[0], len(x), &out[0])
    return np.asarray(out), total


def copy_codes(const uint8_t[:, ::1] table, rows):
    """(rows of a table of ranks, the bits that are set in any of them)."""
    cdef const int32_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef uint8_t[:, ::1] out = np.empty((len(rows), table.shape[1]), dtype=np.uint8)
    cdef uint8_t[::1] bits = np.empty(table.shape[1], dtype=np.uint8)
    kernels().copy_codes(&table[0, 0], table.shape[1], &at[0], at.shape[0], &out[0, 0],
                         &bits[0])
    return np.asarray(out), np.asarray(bits)


def find_left(Problem problem, weights, double threshold):
    """Rows that go left of a plane of all features, and whether bytes stood for them."""
    cdef Scaler scaler = Scaler(problem, True)
    cdef Hyperplane plane
    cdef DensePlane dense
    cdef feature_t[::1] feature = np.arange(problem.n_features, dtype=np.int32)
    cdef w_t[::1] weight = np.array(weights, dtype=np.float64)
    cdef row_t[::1] rows = np.arange(problem.n_rows, dtype=np.int32)
    cdef float[::1] room = np.empty(problem.n_features, dtype=np.float32)
    cdef double[::1] out = np.empty(problem.n_rows)
    init_plane(&plane, &feature[0], &weight[0])
    plane.n_terms = problem.n_features
    plane.threshold = threshold
    dense.weight = &room[0]
    if not is_dense(scaler, &plane):
        raise ValueError(f"{plane.n_terms} terms are too few")
    write_dense(scaler, &plane, &dense)
    find_sides(scaler, &plane, &dense, &rows[0], problem.n_rows, &out[0])
    return np.asarray(out) <= threshold, scaler.bytes != NULL
