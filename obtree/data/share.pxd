# How much of a split each of its terms accounts for.

from obtree.core.types cimport idx_t, row_t, w_t
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane


# IN rows (n) of the node, weight by row of X; OUT share (n_terms), summing to 1.
cdef void share_terms(const DataView* view, const Hyperplane* plane, const row_t* rows, idx_t n,
                      const w_t* weight, double* share) noexcept nogil
