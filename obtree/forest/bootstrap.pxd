# Bootstrap samples as whole-number weights on distinct rows.

from libc.stdint cimport int32_t, uint64_t

from obtree.core.types cimport idx_t, w_t


# OUT weight (n_samples): how often each row was drawn by the tree of that seed.
cdef void draw_bootstrap(uint64_t seed, idx_t n_samples, idx_t n_draws, w_t* weight) noexcept nogil

# Scale weights so that the classes drawn weigh the same, output after output.
# IN codes (n_samples, n_outputs) with classes below `stride`; SCRATCH counts (stride).
cdef void balance_classes(const int32_t* codes, idx_t n_samples, idx_t n_outputs, idx_t stride,
                          const w_t* drawn, w_t* counts, w_t* weight) noexcept nogil
