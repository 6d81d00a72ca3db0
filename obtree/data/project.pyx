"""Projections of many rows at once.

Dense data are read where they lie, row by row. Otherwise (sparse columns, ranks) the
terms are added column by column, a block of rows at a time, so that the partial sums of
the block stay in the cache; or, where most cells are zero and terms are many, row by row, each
at a cost that follows its non-zeros. Every row's sum has the order that hyperplane.pxd defines.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from obtree.core.dispatch cimport kernels
from obtree.core.sort cimport word_key, word_position
from obtree.core.types cimport X_t, idx_t, row_t
from obtree.data.dataset cimport ColumnView, DataView
from obtree.data.hyperplane cimport LANES, Hyperplane, fold_lanes, project_plane, read_set
from obtree.data.read cimport (
    RankColumn, RowEntries, clear_terms, gather_entries, has_byte_ranks, mark_terms, read_column,
    view_entries, view_ranks, view_row_ranks,
)

cdef enum:
    BLOCK = 128               # rows whose partial sums are kept together
    FEW_TERMS = 3             # of the projections with a loop of their own
    FEW_ROWS = 16             # below, a block of rows is not worth its trouble


cdef void project_rows(const DataView* view, const Hyperplane* plane, const row_t* rows, idx_t n,
                       double* out) noexcept nogil:
    cdef idx_t start = 0, n_block, p
    if plane.members != NULL:
        project_set(view, plane, rows, n, out)
        return
    if view.X != NULL and plane.partner != NULL:
        for p in range(n):
            out[p] = project_plane(plane, view.X + rows[p] * view.row_stride, view.col_stride)
        return
    if view.X != NULL:
        kernels().project_rows(view.X, view.row_stride, view.col_stride, plane.feature,
                               plane.weight, plane.n_terms, rows, n, out)
        return
    if 0 < plane.n_terms <= FEW_TERMS and has_bytes(view, plane):
        project_bytes(view, plane, rows, n, out)
        return
    if plane.n_terms >= LANES and project_by_rows(view, plane, rows, n, out):
        return
    if (LANES <= plane.n_terms and 0 < n < FEW_ROWS and view_row_ranks(view, rows[0]) != NULL
            and has_bytes(view, plane)):
        for p in range(n):
            out[p] = add_bytes(view, plane, view_row_ranks(view, rows[p]))
        return
    while start < n:
        n_block = min(<idx_t>BLOCK, n - start)
        if plane.n_terms < LANES:
            add_terms(view, plane, rows + start, n_block, out + start)
        else:
            add_lanes(view, plane, rows + start, n_block, out + start)
        start += n_block


cdef void project_set(const DataView* view, const Hyperplane* plane, const row_t* rows, idx_t n,
                      double* out) noexcept nogil:
    """Whether the category of each row is in the set."""
    cdef X_t categories[BLOCK]
    cdef idx_t start = 0, n_block, p
    while start < n:
        n_block = min(<idx_t>BLOCK, n - start)
        read_column(view, plane.feature[0], rows + start, n_block, categories)
        for p in range(n_block):
            out[start + p] = read_set(plane.members, plane.n_words, <double>categories[p])
        start += n_block


# ---- ranks of one byte ------------------------------------------------------------------


cdef bint has_bytes(const DataView* view, const Hyperplane* plane) noexcept nogil:
    """Whether the plane's columns are dense, with one byte a rank and nothing missing."""
    cdef idx_t k
    if plane.partner != NULL:
        return False
    for k in range(plane.n_terms):
        if not has_byte_ranks(&view.columns[plane.feature[k]]):
            return False
    return True


cdef void project_bytes(const DataView* view, const Hyperplane* plane, const row_t* rows,
                        idx_t n, double* out) noexcept nogil:
    """One term, or `FEW_TERMS` at most."""
    cdef const uint8_t* codes[FEW_TERMS]
    cdef const X_t* values[FEW_TERMS]
    cdef double weight[FEW_TERMS]
    cdef RankColumn column
    cdef idx_t k, p, at, stride = 1
    for k in range(plane.n_terms):
        # Of the node's rows these may be a part.
        view_ranks(view, plane.feature[k], rows, n, False, &column)
        codes[k] = <const uint8_t*>column.codes
        values[k] = view.columns[plane.feature[k]].values
        weight[k] = plane.weight[k]
        stride = column.stride
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


# ---- columns ----------------------------------------------------------------------------


cdef void read_terms(const DataView* view, const Hyperplane* plane, idx_t k, const row_t* rows,
                     idx_t n, double* out) noexcept nogil:
    """What weight[k] multiplies: values of a column, or products with a second one."""
    cdef X_t values[BLOCK]
    cdef idx_t p
    read_column(view, plane.feature[k], rows, n, values)
    for p in range(n):
        out[p] = <double>values[p]
    if plane.partner != NULL and plane.partner[k] >= 0:
        read_column(view, plane.partner[k], rows, n, values)
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


# ---- non-zeros --------------------------------------------------------------------------


cdef bint project_by_rows(const DataView* view, const Hyperplane* plane, const row_t* rows,
                          idx_t n, double* out) noexcept nogil:
    """`LANES` terms or more, of which the features ascend; False when that is not so."""
    cdef double lanes[2 * LANES]
    cdef RowEntries entries
    cdef idx_t p, k, e, lane
    if plane.partner != NULL:
        return False
    for k in range(1, plane.n_terms):
        if plane.feature[k] <= plane.feature[k - 1]:
            return False
    if not mark_terms(view, plane.feature, plane.n_terms):
        return False
    for p in range(n):
        for lane in range(2 * LANES):
            lanes[lane] = 0.0
        entries = view_entries(view, rows[p])
        # Terms of zeros add nothing to their sums; the others come in the order of the terms.
        for e in range(entries.n):
            # Which features have a term cannot be foreseen, so there is no branch on it: other
            # entries go to sums that nobody reads, in turn, so that none waits for the last.
            k = view.term_of[entries.feature[e]]
            lane = ((k - 1) & (LANES - 1)) + (LANES + (e & (LANES - 1)) - (LANES - 1)) * (k == 0)
            lanes[lane] += plane.weight[max(k - 1, <idx_t>0)] * <double>entries.x[e]
        fold_lanes(lanes, 1)
        out[p] = lanes[0]
    clear_terms(view, plane.feature, plane.n_terms)
    return True


cdef idx_t project_entries(const DataView* view, const Hyperplane* plane, const row_t* rows,
                           idx_t n, double* out, row_t* at, uint8_t* met,
                           uint64_t* words) noexcept nogil:
    cdef const ColumnView* column
    cdef uint32_t bits
    cdef idx_t i, k, p, n_words, n_met = 0, n_kept = 0
    if plane.n_terms >= LANES or plane.partner != NULL:
        return -1
    for k in range(plane.n_terms):
        if view.columns[plane.feature[k]].has_missing:
            return -1
    for k in range(plane.n_terms):
        column = &view.columns[plane.feature[k]]
        n_words = gather_entries(view, plane.feature[k], rows, n, words, &bits)
        for i in range(n_words):
            p = word_position(words[i])
            out[p] += plane.weight[k] * <double>column.values[word_key(words[i])]
            at[n_met] = <row_t>p
            n_met += not met[p]
            met[p] = 1
    # What adds up to nothing is as good as not met.
    for i in range(n_met):
        p = at[i]
        met[p] = 0
        at[n_kept] = <row_t>p
        n_kept += out[p] != 0.0
    return n_kept


include "fixed_point.pxi"
