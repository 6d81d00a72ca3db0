# Feature values of a node's rows, copied to where a splitter can work on them.

from libc.stdint cimport uint32_t

from obtree.core.types cimport X_t, feature_t, idx_t, row_t
from obtree.data.dataset cimport DataView


# OUT out (n_features): the features, ascending, that no row of the node lacks. Returns how
# many. SCRATCH codes (n).
cdef idx_t find_complete(const DataView* view, const row_t* rows, idx_t n, uint32_t* codes,
                         feature_t* out) noexcept nogil

# OUT out[p * n_features + k]: feature k of the list in row p of the node, NaN when missing.
# IN rows (n), ascending; the Dataset keeps X or is sparse.
cdef void copy_rows(const DataView* view, const row_t* rows, idx_t n, const feature_t* features,
                    idx_t n_features, X_t* out) noexcept nogil

# The same by columns: out[k * n + p].
cdef void copy_columns(const DataView* view, const row_t* rows, idx_t n,
                       const feature_t* features, idx_t n_features, X_t* out) noexcept nogil
