# Samples of the rows as whole-number weights on distinct rows: see bootstrap.pxi.

from libc.stdint cimport int32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, w_t
from obtree.data.dataset cimport Dataset
from obtree.splitter.base cimport Splitter


# OUT weight (n_samples): how often each row was drawn by the tree of that seed.
cdef void draw_bootstrap(uint64_t seed, idx_t n_samples, idx_t n_draws, bint replace,
                         w_t* weight) noexcept nogil

# Scale weights so that the classes drawn weigh the same, output after output.
# IN codes (n_samples, n_outputs) with classes below `stride`; SCRATCH counts (stride).
cdef void balance_classes(const int32_t* codes, idx_t n_samples, idx_t n_outputs, idx_t stride,
                          const w_t* drawn, w_t* counts, w_t* weight) noexcept nogil

# Nanoseconds, roughly and at least, that so many trees take: to choose how many threads.
cdef double estimate_work(Dataset dataset, Splitter splitter, rule, idx_t n_trees)


cdef class Bag:
    cdef idx_t _n_samples
    cdef idx_t _n_draws
    cdef bint _replace
    cdef const w_t* sample_weight     # NULL: every row weighs 1
    cdef const int32_t* _codes        # classes to balance, or NULL
    cdef idx_t _n_outputs
    cdef idx_t _stride
    cdef w_t* _counts
    cdef w_t* _drawn
    cdef Workspace _workspace
    cdef object _kept                 # owners of the pointers above

    # OUT weight (n_samples): what each row weighs in the tree of that seed.
    cdef void weigh(self, uint64_t seed, w_t* weight) noexcept nogil
