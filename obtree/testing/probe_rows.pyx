"""Wrappers of the functions that read a node's rows."""

import numpy as np

from libc.stdint cimport uint32_t, uint64_t

from obtree.core.types cimport X_t, feature_t, idx_t, row_t, w_t
from obtree.data cimport read, term_share
from obtree.data.dataset cimport Dataset
from obtree.data.hyperplane cimport Hyperplane, init_plane


def find_complete(Dataset dataset, rows):
    """Features that no row of the node lacks."""
    cdef const row_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef uint32_t[::1] codes = np.empty(len(rows), dtype=np.uint32)
    cdef feature_t[::1] out = np.empty(dataset.n_features, dtype=np.int32)
    n_complete = read.find_complete(&dataset.view, &at[0], at.shape[0], &codes[0], &out[0])
    return np.asarray(out)[:n_complete]


def column_varies(Dataset dataset, idx_t j, rows):
    """Whether a column has two different values in some rows."""
    cdef const row_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef uint64_t[::1] words = np.empty(len(rows), dtype=np.uint64)
    return bool(read.column_varies(&dataset.view, j, &at[0], at.shape[0], &words[0]))


def read_rows(Dataset dataset, rows, features, *, bint by_columns=False):
    """X[rows][:, features], or its transpose."""
    cdef const row_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef const feature_t[::1] wanted = np.ascontiguousarray(features, dtype=np.int32)
    cdef idx_t n = at.shape[0], k = wanted.shape[0]
    cdef X_t[:, ::1] out = np.empty((k, n) if by_columns else (n, k), dtype=np.float32)
    if by_columns:
        read.read_columns(&dataset.view, &at[0], n, &wanted[0], k, &out[0, 0])
    else:
        read.read_rows(&dataset.view, &at[0], n, &wanted[0], k, &out[0, 0])
    return np.asarray(out)


def measure_term_shares(Dataset dataset, feature, weight, rows, sample_weight, partner=None):
    """What part of a split each term accounts for."""
    cdef feature_t[::1] features = np.array(feature, dtype=np.int32)
    cdef feature_t[::1] partners = np.array(feature if partner is None else partner,
                                            dtype=np.int32)
    cdef w_t[::1] terms = np.array(weight, dtype=np.float64)
    cdef const row_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef const w_t[::1] weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    cdef Hyperplane plane
    out = np.empty(len(feature))
    cdef double[::1] result = out
    init_plane(&plane, &features[0], &terms[0])
    plane.n_terms = features.shape[0]
    plane.partner = NULL if partner is None else &partners[0]
    term_share.measure_term_shares(&dataset.view, &plane, &at[0], at.shape[0], &weights[0],
                                   &result[0])
    return out
