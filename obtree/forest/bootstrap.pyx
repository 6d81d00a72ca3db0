"""Bootstrap samples.

A bootstrap is kept as how often each row was drawn. About 63 % of the rows are drawn
at all, so a tree works on that many rows with whole-number weights instead of on
copies. The draws come from a stream of their own, derived from the tree's seed: the
out-of-bag rows of a tree can be found again from its seed.
"""

import numpy as np

from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset

from obtree.core.random cimport RandState, bounded, seed_state
from obtree.core.types cimport idx_t, w_t

cdef enum:
    BOOTSTRAP_STREAM = 1              # the tree itself draws from stream 0


cdef void draw_bootstrap(uint64_t seed, idx_t n_samples, idx_t n_draws,
                         w_t* weight) noexcept nogil:
    cdef RandState rng
    cdef idx_t _k
    seed_state(&rng, seed, BOOTSTRAP_STREAM)
    memset(weight, 0, n_samples * sizeof(w_t))
    for _k in range(n_draws):
        weight[bounded(&rng, n_samples)] += 1.0


cdef void balance_classes(const int32_t* codes, idx_t n_samples, idx_t n_outputs, idx_t stride,
                          const w_t* drawn, w_t* counts, w_t* weight) noexcept nogil:
    cdef idx_t i, k, c
    cdef w_t total, n_present
    for k in range(n_outputs):
        memset(counts, 0, stride * sizeof(w_t))
        for i in range(n_samples):
            counts[codes[i * n_outputs + k]] += drawn[i]
        total = 0.0
        n_present = 0.0
        for c in range(stride):
            total += counts[c]
            n_present += 1.0 if counts[c] > 0.0 else 0.0
        for i in range(n_samples):
            if drawn[i] > 0.0:
                weight[i] *= total / (n_present * counts[codes[i * n_outputs + k]])


def bootstrap_counts(seed, idx_t n_samples, idx_t n_draws):
    """How often the tree of this seed drew each row.

    Parameters
    ----------
    seed : int
        The tree's seed, 0 <= seed < 2**32.
    n_samples : int
        Rows to draw from.
    n_draws : int
        Draws, with replacement.

    Returns
    -------
    int32 ndarray of shape (n_samples,)
    """
    if n_samples < 1 or n_draws < 0:
        raise ValueError(f"cannot draw {n_draws} of {n_samples} rows")
    counts = np.empty(n_samples, dtype=np.float64)
    cdef w_t[::1] view = counts
    draw_bootstrap(<uint64_t>seed, n_samples, n_draws, &view[0])
    return counts.astype(np.int32)
