# Rows: X as the caller has it, read block by block as float32.

from libc.stdint cimport int32_t, int64_t

from obtree.core.types cimport X_t, idx_t

# How many rows the narrow layout keeps side by side (OBTREE_LANES in traverse.h).
cdef enum:
    LANES = 16


cdef struct RowView:
    idx_t n_rows
    idx_t n_features
    # dense: any strides, in bytes
    const char* data
    int32_t type                  # OBTREE_UINT8 ... of kernels.h
    idx_t row_stride
    idx_t column_stride
    # compressed rows; data is NULL
    const X_t* values
    const int32_t* columns
    const int64_t* row_ptr


cdef class Rows:
    cdef RowView view
    cdef object _owner


cdef Rows open_rows(X, idx_t n_features)
cdef void prepare_block(const RowView* rows, int32_t layout, idx_t n_values,
                        void* x) noexcept nogil
cdef bint load_block(const RowView* rows, idx_t start, idx_t end, int32_t layout,
                     void* x) noexcept nogil
cdef void clear_block(const RowView* rows, idx_t start, idx_t end, int32_t layout,
                      void* x) noexcept nogil
