# Data laid out once more, row after row, for those who need many columns of a few rows.

from libc.stdint cimport uint8_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, idx_t
from obtree.data.byte_columns cimport ByteTable
from obtree.data.dataset cimport DataView


# Lay the ranks of dense columns out by row (view.row_codes), when that is worth its memory. IN
# bytes: X, when it consists of bytes, and the ranks of its bytes (n_features * N_BYTE_VALUES);
# else NULL, both.
cdef int lay_ranks(DataView* view, Workspace memory, const ByteTable* bytes,
                   const uint8_t* rank_of, int n_threads, const volatile int* stop) except -1

# Lay the non-zeros of all columns out by row (view.entry_start and those behind it).
cdef int lay_entries(DataView* view, Workspace memory) except -1

# Whether nearly all cells are zero and there are many columns of that kind; the same for a dense
# array and for its sparse twin. The ranks of all columns are there.
cdef bint is_hollow(const DataView* view) noexcept nogil

# The rank of zero among a column's values, -1 when it is none of them or they are not known.
cdef idx_t find_zero(const X_t* values, idx_t n) noexcept nogil
