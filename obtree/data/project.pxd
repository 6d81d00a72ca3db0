# Projections of a node's rows on a direction, as prediction computes them.

from obtree.core.types cimport idx_t, row_t
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane


# OUT out (n): the projection of each of the ascending `rows`, bit for bit that of
# hyperplane.project_plane; NaN when a term is missing.
cdef void project_rows(const DataView* view, const Hyperplane* plane, const row_t* rows, idx_t n,
                       double* out) noexcept nogil
