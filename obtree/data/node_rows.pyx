"""Feature values of a node's rows, copied to where a splitter can work on them.

Splitters that move a dense hyperplane read every row of a node many times. Dense rows are
lifted out of X; sparse columns are spread out, zeros included, a block of rows at a time.
"""

from libc.math cimport NAN
from libc.stdint cimport uint32_t

from obtree.core.types cimport X_t, feature_t, idx_t, row_t
from obtree.data.dataset cimport ColumnView, DataView, gather_codes

cdef enum:
    BLOCK = 256               # rows of a sparse column spread out at a time


cdef idx_t find_complete(const DataView* view, const row_t* rows, idx_t n, uint32_t* codes,
                         feature_t* out) noexcept nogil:
    cdef idx_t j, n_complete = 0
    cdef uint32_t low, high
    for j in range(view.n_features):
        if view.columns[j].has_missing:
            gather_codes(view, j, rows, n, codes, &low, &high)
            if high == view.columns[j].n_values:
                continue
        out[n_complete] = <feature_t>j
        n_complete += 1
    return n_complete


cdef void copy_rows(const DataView* view, const row_t* rows, idx_t n, const feature_t* features,
                    idx_t n_features, X_t* out) noexcept nogil:
    cdef const X_t* row
    cdef idx_t p, k
    if view.X == NULL:
        spread_columns(view, rows, n, features, n_features, n_features, 1, out)
        return
    for p in range(n):
        row = view.X + rows[p] * view.row_stride
        if view.col_stride == 1:
            for k in range(n_features):
                out[p * n_features + k] = row[features[k]]
        else:
            for k in range(n_features):
                out[p * n_features + k] = row[features[k] * view.col_stride]


cdef void copy_columns(const DataView* view, const row_t* rows, idx_t n,
                       const feature_t* features, idx_t n_features, X_t* out) noexcept nogil:
    cdef const X_t* column
    cdef idx_t p, k, first = 0
    if view.X == NULL:
        spread_columns(view, rows, n, features, n_features, 1, n, out)
        return
    # A block of rows stays in the cache while all features are taken out of it.
    while first < n:
        for k in range(n_features):
            column = view.X + features[k] * view.col_stride
            for p in range(first, min(first + BLOCK, n)):
                out[k * n + p] = column[rows[p] * view.row_stride]
        first += BLOCK


cdef void spread_columns(const DataView* view, const row_t* rows, idx_t n,
                         const feature_t* features, idx_t n_features, idx_t row_stride,
                         idx_t col_stride, X_t* out) noexcept nogil:
    """out[p * row_stride + k * col_stride] from ranks."""
    cdef uint32_t codes[BLOCK]
    cdef const ColumnView* column
    cdef uint32_t low, high
    cdef idx_t k, p, n_here, first = 0
    cdef X_t* at
    while first < n:
        n_here = min(<idx_t>BLOCK, n - first)
        for k in range(n_features):
            column = &view.columns[features[k]]
            gather_codes(view, features[k], rows + first, n_here, codes, &low, &high)
            at = out + first * row_stride + k * col_stride
            for p in range(n_here):
                at[p * row_stride] = (column.values[codes[p]] if codes[p] < column.n_values
                                      else <X_t>NAN)
        first += BLOCK
