"""How much of a split each of its terms accounts for.

A weight says little by itself: a feature in small units has a large one. What a term
contributes to telling the rows of a node apart is the size of its weight times the spread
of its values there, and feature importances are shared in that proportion.
"""

from libc.float cimport DBL_MAX
from libc.math cimport NAN, fabs, sqrt
from libc.stdint cimport uint8_t, uint32_t

from obtree.core.types cimport idx_t, row_t, w_t
from obtree.data.dataset cimport ColumnView, DataView, read_value, stored_code
from obtree.data.hyperplane cimport Hyperplane

cdef enum:
    # Rows that are looked at: a spread known to 9 % is enough for an importance, which adds
    # up many nodes, and large nodes cost no more than small ones.
    SAMPLE = 64
    LANES = 4                 # partial sums, so that an addition need not wait for the last


cdef inline double read_cell(const DataView* view, row_t row, idx_t j) noexcept nogil:
    """A value, in the common case without a call to another module."""
    cdef const ColumnView* column = &view.columns[j]
    cdef uint32_t code
    if view.X != NULL:
        return <double>view.X[row * view.row_stride + j * view.col_stride]
    if column.rows == NULL:
        code = stored_code(column, row)
        return <double>column.values[code] if code < column.n_values else <double>NAN
    return <double>read_value(view, row, j)


cdef inline void read_column(const DataView* view, const row_t* rows, idx_t n, bint by_rows,
                             idx_t j, double* out) noexcept nogil:
    """Values of column j, NaN when missing; by_rows: ranks are read where they stand by rows."""
    # Rows that an optimiser reads have no columns.
    cdef const ColumnView* column = &view.columns[j]
    cdef const uint8_t* codes
    cdef idx_t i, stride = 1
    if view.X == NULL and column.rows == NULL and column.width == 1 and not column.has_missing:
        codes = <const uint8_t*>column.codes
        if by_rows:
            codes = view.row_codes + column.row_offset
            stride = view.row_bytes
        for i in range(n):
            out[i] = <double>column.values[codes[rows[i] * stride]]
        return
    for i in range(n):
        out[i] = read_cell(view, rows[i], j)


cdef double measure_spread(const double* value, const double* weight, idx_t n) noexcept nogil:
    """Weighted standard deviation; missing values are left out.

    SCRATCH beyond the n values and weights: room up to a multiple of LANES.
    """
    cdef double total[LANES]
    cdef double sum_[LANES]
    cdef double squares[LANES]
    cdef idx_t i = 0, lane
    cdef double d, w, mean, origin = 0.0
    # Sums of differences to a value that occurs do not cancel badly.
    while i < n and value[i] != value[i]:
        i += 1
    if i == n:
        return 0.0
    origin = value[i]
    for lane in range(LANES):
        total[lane] = sum_[lane] = squares[lane] = 0.0
    for i in range(0, n, 4):
        for lane in range(LANES):
            d = value[i + lane] - origin
            w = weight[i + lane] if d == d else 0.0
            d = d if d == d else 0.0
            total[lane] += w
            sum_[lane] += w * d
            squares[lane] += w * d * d
    d = (total[0] + total[2]) + (total[1] + total[3])
    if d == 0.0:
        return 0.0
    mean = ((sum_[0] + sum_[2]) + (sum_[1] + sum_[3])) / d
    return sqrt(max(((squares[0] + squares[2]) + (squares[1] + squares[3])) / d - mean * mean,
                    0.0))


cdef void share_terms(const DataView* view, const Hyperplane* plane, const row_t* rows, idx_t n,
                      const w_t* weight, double* share) noexcept nogil:
    cdef row_t seen[SAMPLE]
    cdef double w[SAMPLE + LANES]
    cdef double value[SAMPLE + LANES]
    cdef double other[SAMPLE]
    cdef idx_t n_seen = min(n, <idx_t>SAMPLE)
    cdef idx_t n_terms = plane.n_terms, i, k
    cdef double largest = 0.0, total = 0.0
    # The splitter has just read the rows there. Ranks copied together are not by row of X.
    cdef bint by_rows = n <= view.row_limit and view.row_places == NULL
    for i in range(n_seen):
        seen[i] = rows[i if n == n_seen else i * n // SAMPLE]
        w[i] = weight[seen[i]]
    for i in range(n_seen, n_seen + LANES):
        w[i] = 0.0
        value[i] = NAN
    for k in range(n_terms):
        read_column(view, seen, n_seen, by_rows, plane.feature[k], value)
        if plane.partner != NULL and plane.partner[k] >= 0:
            read_column(view, seen, n_seen, by_rows, plane.partner[k], other)
            for i in range(n_seen):
                value[i] *= other[i]
        share[k] = fabs(plane.weight[k]) * measure_spread(value, w, n_seen)
        if not share[k] <= DBL_MAX:
            share[k] = DBL_MAX
        largest = max(largest, share[k])
    for k in range(n_terms):
        share[k] = share[k] / largest if largest > 0.0 else 1.0
        total += share[k]
    for k in range(n_terms):
        share[k] /= total
