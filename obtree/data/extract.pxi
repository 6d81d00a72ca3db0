# Columns of X, whatever its type and layout, as float32.
#
# The types in `NATIVE_TYPES` cost no copy of X as a whole: columns are converted as they are copied
# out.

import numpy as np

from libc.stdint cimport int8_t, int16_t, int32_t, uint16_t

cimport numpy as cnp

from obtree.core.types cimport X_t, idx_t


cdef struct CellTable:
    # The cell of row i and column j stands at cells + i * row_stride + j * col_stride.
    const char* cells
    int32_t kind              # position of their type in NATIVE_TYPES
    idx_t n_rows
    idx_t row_stride          # bytes
    idx_t col_stride


cnp.import_array()

ctypedef fused cell_t:
    int8_t
    uint16_t
    int16_t
    float
    double

cdef enum:
    ROW_BLOCK = 256           # rows that are copied out of X, or laid out, at a time

#: Types that are copied as they are; what others hold fits float64.
NATIVE_TYPES = tuple(np.dtype(name) for name in ("i1", "u2", "i2", "f4", "f8"))


cdef int open_cells(object X, CellTable* table) except -1:
    """Describe X, which has to outlive the table; its type must be one of NATIVE_TYPES."""
    cdef cnp.ndarray cells = X
    table.kind = NATIVE_TYPES.index(X.dtype)
    table.cells = <const char*>cnp.PyArray_DATA(cells)
    table.n_rows = X.shape[0]
    table.row_stride = X.strides[0]
    table.col_stride = X.strides[1]
    return 0


cdef void extract_columns(const CellTable* table, idx_t first, idx_t n_columns,
                          X_t* out) noexcept nogil:
    """Columns [first, first + n_columns) one behind the other. OUT out (n_columns * n_rows)."""
    if table.kind == 0:
        copy_columns[int8_t](table, first, n_columns, out, 0)
    elif table.kind == 1:
        copy_columns[uint16_t](table, first, n_columns, out, 0)
    elif table.kind == 2:
        copy_columns[int16_t](table, first, n_columns, out, 0)
    elif table.kind == 3:
        copy_columns[float](table, first, n_columns, out, 0.0)
    else:
        copy_columns[double](table, first, n_columns, out, 0.0)


cdef void copy_columns(const CellTable* table, idx_t first, idx_t n_columns, X_t* out,
                       cell_t _) noexcept nogil:
    """Row by row inside a block, so that each line of a C-ordered X is read once."""
    cdef idx_t n = table.n_rows
    cdef idx_t start = 0, end, i, c
    cdef const char* row
    while start < n:
        end = min(start + ROW_BLOCK, n)
        for i in range(start, end):
            row = table.cells + i * table.row_stride + first * table.col_stride
            for c in range(n_columns):
                out[c * n + i] = <X_t>(<const cell_t*>(row + c * table.col_stride))[0]
        start = end
