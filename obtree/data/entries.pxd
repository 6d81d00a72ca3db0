# The non-zeros of sparse data, found for the rows of a node at a cost that follows them.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from obtree.core.types cimport feature_t, idx_t, row_t
from obtree.data.dataset cimport Dataset, DataView
from obtree.data.hyperplane cimport Hyperplane


# Lay the non-zeros of all columns out row by row; once, by the Dataset.
cdef int lay_entries(Dataset dataset) except -1

# Whether at most one cell in HOLLOW_SHARE of many columns is not zero: the same for a dense
# array and for its sparse twin. The ranks of all columns are there.
cdef bint is_hollow(const DataView* view) noexcept nogil

# IN rows (n): all rows of the open node, ascending. OUT words (room for n) rank << 32 | place
# among `rows` of those that are not zero in sparse column j, in order, and all bits of their
# ranks. Returns how many.
cdef idx_t gather_entries(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                          uint64_t* words, uint32_t* bits) noexcept nogil

# Whether sparse column j has two different values, or a missing one besides others, in the
# open node. SCRATCH words (n).
cdef bint entries_vary(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                       uint64_t* words) noexcept nogil

# Projections of the open node's rows: OUT out[at[i]] for i < m, those that are not zero, where
# `out` (n_samples) is zero before. Returns m, or -1 when there are too many terms or missing
# values. `at` has room for n + 1. SCRATCH words (n), met (n_samples, zero before and after).
cdef idx_t project_entries(const DataView* view, const Hyperplane* plane, const row_t* rows,
                           idx_t n, double* out, row_t* at, uint8_t* met,
                           uint64_t* words) noexcept nogil

# The same for planes of LANES terms or more, of which the features ascend, and any rows: OUT
# out (n). False when there is no scratch for it.
cdef bint project_by_rows(const DataView* view, const Hyperplane* plane, const row_t* rows,
                          idx_t n, double* out) noexcept nogil


# Number the features of a list in view.term_of, from 1; False when there is no scratch for it or
# no entries by row. To be cleared after use.
cdef bint mark_terms(const DataView* view, const feature_t* feature, idx_t n_terms) noexcept nogil
cdef void clear_terms(const DataView* view, const feature_t* feature,
                      idx_t n_terms) noexcept nogil
