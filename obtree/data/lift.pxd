# Columns of X, whatever its type and layout, as float32.

from libc.stdint cimport int32_t

from obtree.core.types cimport X_t, idx_t


cdef struct CellTable:
    # The cell of row i and column j stands at cells + i * row_stride + j * col_stride.
    const char* cells
    int32_t kind              # which type they have, see lift.pyx
    idx_t n_rows
    idx_t row_stride          # bytes
    idx_t col_stride


# Describe X, which has to outlive the table; its type must be one of LIFTED.
cdef int open_cells(object X, CellTable* table) except -1

# Columns [first, first + n_columns) one behind the other. OUT out (n_columns * n_rows).
cdef void lift_columns(const CellTable* table, idx_t first, idx_t n_columns,
                       X_t* out) noexcept nogil
