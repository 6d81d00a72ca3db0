# Samples of the rows, with or without replacement; a part of forest/grow.pyx.
#
# A bootstrap is kept as how often each row was drawn. About 63 % of the rows are drawn
# at all, so a tree works on that many rows with whole-number weights instead of on
# copies. A sample without replacement has weights of one. The draws come from a stream of
# their own, derived from the tree's seed: the out-of-bag rows of a tree can be found again
# from its seed.

import numpy as np

from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memcpy, memset

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, bounded, draw_in_order, seed_state
from obtree.core.types cimport idx_t, w_t

cdef enum:
    BOOTSTRAP_STREAM = 1              # the tree itself draws from stream 0


cdef void draw_bootstrap(uint64_t seed, idx_t n_samples, idx_t n_draws, bint replace,
                         w_t* weight) noexcept nogil:
    cdef RandState rng
    cdef idx_t k
    seed_state(&rng, seed, BOOTSTRAP_STREAM)
    memset(weight, 0, n_samples * sizeof(w_t))
    if replace:
        for k in range(n_draws):
            weight[bounded(&rng, n_samples)] += 1.0
        return
    for k in range(n_samples):
        if draw_in_order(n_draws, n_samples - k, &rng):
            weight[k] = 1.0
            n_draws -= 1


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


cdef class Bag:
    """The rows of a tree: bootstrap, sample and class weights; one for each thread.

    Parameters
    ----------
    n_samples : int
    n_draws : int
        Rows drawn; 0 to use every row once.
    replace : bool
        Whether a row may be drawn more than once.
    sample_weight : float64 ndarray of shape (n_samples,) or None
    balance : tuple or None
        Class codes (n_samples, n_outputs) to balance in each bootstrap, and a number above them.
    """

    def __init__(self, idx_t n_samples, idx_t n_draws, bint replace, sample_weight, balance):
        cdef const w_t[::1] weights
        cdef const int32_t[:, ::1] codes
        self._workspace = Workspace()
        self._n_samples = n_samples
        self._n_draws = n_draws
        self._replace = replace
        self.sample_weight = NULL
        self._codes = NULL
        if sample_weight is not None:
            weights = sample_weight
            self.sample_weight = &weights[0]
        if balance is not None:
            codes, self._stride = balance
            self._codes = &codes[0, 0]
            self._n_outputs = codes.shape[1]
            self._counts = <w_t*>self._workspace.take(self._stride, sizeof(w_t))
            self._drawn = <w_t*>self._workspace.take(n_samples, sizeof(w_t))
        self._kept = (sample_weight, balance)

    cdef void weigh(self, uint64_t seed, w_t* weight) noexcept nogil:
        cdef idx_t n = self._n_samples
        cdef w_t total = 0.0
        cdef idx_t i
        if self._n_draws > 0:
            draw_bootstrap(seed, n, self._n_draws, self._replace, weight)
        else:
            for i in range(n):
                weight[i] = 1.0
        if self._codes != NULL:
            memcpy(self._drawn, weight, n * sizeof(w_t))
            balance_classes(self._codes, n, self._n_outputs, self._stride, self._drawn,
                            self._counts, weight)
        if self.sample_weight != NULL:
            for i in range(n):
                weight[i] *= self.sample_weight[i]
                total += weight[i]
            if total == 0.0:
                # A bag without a single row that weighs anything: take all rows instead.
                memcpy(weight, self.sample_weight, n * sizeof(w_t))


def bootstrap_counts(seed, idx_t n_samples, idx_t n_draws, bint replace=True):
    """How often the tree of this seed drew each row.

    Parameters
    ----------
    seed : int
        The tree's seed, 0 <= seed < 2**32.
    n_samples : int
        Rows to draw from.
    n_draws : int
        Draws.
    replace : bool, default=True
        Whether a row may be drawn more than once.

    Returns
    -------
    int32 ndarray of shape (n_samples,)
    """
    if n_samples < 1 or n_draws < 0 or (n_draws > n_samples and not replace):
        raise ValueError(f"cannot draw {n_draws} of {n_samples} rows")
    counts = np.empty(n_samples, dtype=np.float64)
    cdef w_t[::1] view = counts
    draw_bootstrap(<uint64_t>seed, n_samples, n_draws, replace, &view[0])
    return counts.astype(np.int32)
