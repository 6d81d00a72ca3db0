# Projections of a node's rows on a direction, as prediction computes them.

from libc.stdint cimport uint8_t, uint64_t

from obtree.core.types cimport idx_t, row_t
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane


# OUT out (n): the projection of each of the ascending `rows`, bit for bit that of
# hyperplane.project_plane; NaN when a term is missing.
cdef void project_rows(const DataView* view, const Hyperplane* plane, const row_t* rows, idx_t n,
                       double* out) noexcept nogil

# The same for all rows of the open node of sparse data: OUT out[at[i]] for i < m, those that are
# not zero, where `out` (n_samples) is zero before. Returns m, or -1 when there are too many terms
# or missing values. `at` has room for n + 1. SCRATCH words (n), met (n_samples, zero before and
# after).
cdef idx_t project_entries(const DataView* view, const Hyperplane* plane, const row_t* rows,
                           idx_t n, double* out, row_t* at, uint8_t* met,
                           uint64_t* words) noexcept nogil
