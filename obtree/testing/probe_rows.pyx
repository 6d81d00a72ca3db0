"""Doors to the functions that copy a node's rows."""

import numpy as np

from libc.stdint cimport uint32_t

from obtree.core.types cimport X_t, feature_t, idx_t, row_t
from obtree.data cimport node_rows
from obtree.data.dataset cimport Dataset


def find_complete(Dataset dataset, rows):
    """Features that no row of the node lacks."""
    cdef const row_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef uint32_t[::1] codes = np.empty(len(rows), dtype=np.uint32)
    cdef feature_t[::1] out = np.empty(dataset.n_features, dtype=np.int32)
    n_complete = node_rows.find_complete(&dataset.view, &at[0], at.shape[0], &codes[0], &out[0])
    return np.asarray(out)[:n_complete]


def copy_rows(Dataset dataset, rows, features, *, bint by_columns=False):
    """X[rows][:, features], or its transpose."""
    cdef const row_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef const feature_t[::1] wanted = np.ascontiguousarray(features, dtype=np.int32)
    cdef idx_t n = at.shape[0], k = wanted.shape[0]
    cdef X_t[:, ::1] out = np.empty((k, n) if by_columns else (n, k), dtype=np.float32)
    if by_columns:
        node_rows.copy_columns(&dataset.view, &at[0], n, &wanted[0], k, &out[0, 0])
    else:
        node_rows.copy_rows(&dataset.view, &at[0], n, &wanted[0], k, &out[0, 0])
    return np.asarray(out)
