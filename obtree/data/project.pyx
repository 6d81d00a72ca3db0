"""Projections of many rows at once.

Dense data are read where they lie, row by row. Otherwise (sparse columns, ranks) the
terms are added column by column, a block of rows at a time, so that the partial sums of
the block stay in the cache. Every row's sum has the order that hyperplane.pxd defines.
"""

from libc.math cimport NAN
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from obtree.core.dispatch cimport kernels
from obtree.core.types cimport X_t, idx_t, row_t
from obtree.data.dataset cimport ColumnView, DataView, gather_codes
from obtree.data.entries cimport project_by_rows
from obtree.data.hyperplane cimport LANES, Hyperplane, fold_lanes, project_plane

cdef enum:
    BLOCK = 128               # rows whose partial sums are kept together
    FEW_TERMS = 3             # of the projections with a loop of their own
    FEW_ROWS = 16             # below, a block of rows is not worth its trouble


cdef void project_rows(const DataView* view, const Hyperplane* plane, const row_t* rows, idx_t n,
                       double* out) noexcept nogil:
    cdef idx_t start = 0, n_block, p
    if view.X != NULL and plane.partner != NULL:
        for p in range(n):
            out[p] = project_plane(plane, view.X + rows[p] * view.row_stride, view.col_stride)
        return
    if view.X != NULL:
        kernels().project_rows(view.X, view.row_stride, view.col_stride, plane.feature,
                               plane.weight, plane.n_terms, rows, n, out)
        return
    if project_bytes(view, plane, rows, n, out):
        return
    if plane.n_terms >= LANES and project_by_rows(view, plane, rows, n, out):
        return
    if plane.n_terms >= LANES and n < FEW_ROWS and has_byte_rows(view, plane):
        for p in range(n):
            out[p] = add_bytes(view, plane, view.row_codes + rows[p] * view.row_bytes)
        return
    while start < n:
        n_block = min(<idx_t>BLOCK, n - start)
        if plane.n_terms < LANES:
            add_terms(view, plane, rows + start, n_block, out + start)
        else:
            add_lanes(view, plane, rows + start, n_block, out + start)
        start += n_block


cdef bint project_bytes(const DataView* view, const Hyperplane* plane, const row_t* rows,
                        idx_t n, double* out) noexcept nogil:
    """Few terms of columns with one byte a rank and nothing missing; False for others."""
    cdef const uint8_t* codes[FEW_TERMS]
    cdef const X_t* values[FEW_TERMS]
    cdef double weight[FEW_TERMS]
    cdef const ColumnView* column
    # Ranks copied together belong to a node as a whole, of which these may be a part.
    cdef bint by_rows = n <= view.row_limit and view.row_places == NULL
    cdef idx_t stride = view.row_bytes if by_rows else 1
    cdef idx_t k, p, at
    if plane.n_terms > FEW_TERMS or plane.partner != NULL:
        return False
    for k in range(plane.n_terms):
        column = &view.columns[plane.feature[k]]
        if column.rows != NULL or column.width != 1 or column.has_missing:
            return False
        codes[k] = <const uint8_t*>column.codes
        if by_rows:
            codes[k] = view.row_codes + column.row_offset
        values[k] = column.values
        weight[k] = plane.weight[k]
    if plane.n_terms == 1:
        for p in range(n):
            at = rows[p] * stride
            out[p] = 0.0 + weight[0] * <double>values[0][codes[0][at]]
    elif plane.n_terms == 2:
        for p in range(n):
            at = rows[p] * stride
            out[p] = (0.0 + weight[0] * <double>values[0][codes[0][at]]
                      + weight[1] * <double>values[1][codes[1][at]])
    else:
        for p in range(n):
            at = rows[p] * stride
            out[p] = (0.0 + weight[0] * <double>values[0][codes[0][at]]
                      + weight[1] * <double>values[1][codes[1][at]]
                      + weight[2] * <double>values[2][codes[2][at]])
    return True


cdef bint has_byte_rows(const DataView* view, const Hyperplane* plane) noexcept nogil:
    """Whether the plane's columns stand in rows, with one byte a rank and nothing missing."""
    cdef const ColumnView* column
    cdef idx_t k
    if view.row_codes == NULL or view.row_places != NULL or plane.partner != NULL:
        return False
    for k in range(plane.n_terms):
        column = &view.columns[plane.feature[k]]
        if column.width != 1 or column.has_missing:
            return False
    return True


cdef double add_bytes(const DataView* view, const Hyperplane* plane,
                      const uint8_t* row) noexcept nogil:
    """One row of `LANES` terms or more."""
    cdef double lanes[LANES]
    cdef const ColumnView* column
    cdef double term
    cdef idx_t k
    for k in range(plane.n_terms):
        column = &view.columns[plane.feature[k]]
        term = plane.weight[k] * <double>column.values[row[column.row_offset]]
        lanes[k % LANES] = term if k < LANES else lanes[k % LANES] + term
    fold_lanes(lanes, 1)
    return lanes[0]


cdef void read_block(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                     X_t* out) noexcept nogil:
    """Values of column j from its ranks; NaN when missing."""
    cdef const ColumnView* column = &view.columns[j]
    cdef uint32_t codes[BLOCK]
    cdef uint32_t low, high
    cdef idx_t p
    gather_codes(view, j, rows, n, codes, &low, &high)
    for p in range(n):
        out[p] = column.values[codes[p]] if codes[p] < column.n_values else <X_t>NAN


cdef void read_terms(const DataView* view, const Hyperplane* plane, idx_t k, const row_t* rows,
                     idx_t n, double* out) noexcept nogil:
    """What weight[k] multiplies: values of a column, or products with a second one."""
    cdef X_t values[BLOCK]
    cdef idx_t p
    read_block(view, plane.feature[k], rows, n, values)
    for p in range(n):
        out[p] = <double>values[p]
    if plane.partner != NULL and plane.partner[k] >= 0:
        read_block(view, plane.partner[k], rows, n, values)
        for p in range(n):
            out[p] *= <double>values[p]


cdef void add_terms(const DataView* view, const Hyperplane* plane, const row_t* rows, idx_t n,
                    double* out) noexcept nogil:
    """One term after the other."""
    cdef double values[BLOCK]
    cdef idx_t p, k
    for p in range(n):
        out[p] = 0.0
    for k in range(plane.n_terms):
        read_terms(view, plane, k, rows, n, values)
        for p in range(n):
            out[p] += plane.weight[k] * values[p]


cdef void add_lanes(const DataView* view, const Hyperplane* plane, const row_t* rows, idx_t n,
                    double* out) noexcept nogil:
    """Term k into partial sum k mod 16, then fold the sums in halves."""
    cdef double lanes[LANES * BLOCK]
    cdef double values[BLOCK]
    cdef double* lane
    cdef idx_t p, k
    for k in range(plane.n_terms):
        read_terms(view, plane, k, rows, n, values)
        lane = lanes + k % LANES * n
        if k < LANES:
            for p in range(n):
                lane[p] = plane.weight[k] * values[p]
        else:
            for p in range(n):
                lane[p] += plane.weight[k] * values[p]
    fold_lanes(lanes, n)
    memcpy(out, lanes, n * sizeof(double))
