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
    # Rows that are looked at: a spread known to 6 % is enough for an importance, which adds
    # up many nodes, and large nodes cost no more than small ones.
    SAMPLE = 128


cdef void read_cells(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                     double* out) noexcept nogil:
    """Values of column j; NaN when missing. The common cases have loops of their own."""
    cdef const ColumnView* column = &view.columns[j]
    cdef const uint8_t* codes
    cdef uint32_t code
    cdef idx_t i, stride = 1
    if view.X != NULL:
        for i in range(n):
            out[i] = <double>view.X[rows[i] * view.row_stride + j * view.col_stride]
    elif column.rows != NULL:
        for i in range(n):
            out[i] = <double>read_value(view, rows[i], j)
    elif column.width == 1:
        codes = <const uint8_t*>column.codes
        if view.row_codes != NULL and view.row_places == NULL:
            # A row's terms stand close together.
            codes = view.row_codes + column.row_offset
            stride = view.row_bytes
        for i in range(n):
            code = codes[rows[i] * stride]
            out[i] = <double>column.values[code] if code < column.n_values else <double>NAN
    else:
        for i in range(n):
            code = stored_code(column, rows[i])
            out[i] = <double>column.values[code] if code < column.n_values else <double>NAN


cdef double measure_spread(const double* value, const double* weight, idx_t n) noexcept nogil:
    """Weighted standard deviation; missing values are left out."""
    cdef idx_t i = 0
    cdef double gap, w, origin, total = 0.0, sum_ = 0.0, squares = 0.0, mean
    while i < n and value[i] != value[i]:
        i += 1
    if i == n:
        return 0.0
    # Sums of differences to a value that occurs do not cancel badly.
    origin = value[i]
    for i in range(i, n):
        gap = value[i] - origin
        w = weight[i]
        if gap != gap:
            gap = w = 0.0
        total += w
        sum_ += w * gap
        squares += w * gap * gap
    mean = sum_ / total
    return sqrt(max(squares / total - mean * mean, 0.0))


cdef void share_terms(const DataView* view, const Hyperplane* plane, const row_t* rows, idx_t n,
                      const w_t* weight, double* share) noexcept nogil:
    cdef row_t sample[SAMPLE]
    cdef double seen[SAMPLE]
    cdef double value[SAMPLE]
    cdef double partner[SAMPLE]
    cdef idx_t n_terms = plane.n_terms, n_seen = min(n, <idx_t>SAMPLE), i, k
    cdef double largest = 0.0, total = 0.0
    for i in range(n_seen):
        sample[i] = rows[i if n == n_seen else i * n // n_seen]
        seen[i] = weight[sample[i]]
    for k in range(n_terms):
        read_cells(view, plane.feature[k], sample, n_seen, value)
        if plane.partner != NULL and plane.partner[k] >= 0:
            read_cells(view, plane.partner[k], sample, n_seen, partner)
            for i in range(n_seen):
                value[i] *= partner[i]
        share[k] = fabs(plane.weight[k]) * measure_spread(value, seen, n_seen)
        if not share[k] <= DBL_MAX:
            share[k] = DBL_MAX
        largest = max(largest, share[k])
    for k in range(n_terms):
        share[k] = share[k] / largest if largest > 0.0 else 1.0
        total += share[k]
    for k in range(n_terms):
        share[k] /= total
