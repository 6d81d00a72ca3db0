"""How much of a split each of its terms accounts for.

A weight says little by itself: a feature in small units has a large one. What a term
contributes to telling the rows of a node apart is the size of its weight times the spread
of its values there, and feature importances are shared in that proportion.
"""

from libc.float cimport DBL_MAX
from libc.math cimport NAN, fabs, sqrt
from libc.stdint cimport uint32_t

from obtree.core.types cimport idx_t, row_t, w_t
from obtree.data.dataset cimport ColumnView, DataView, read_value, stored_code
from obtree.data.hyperplane cimport Hyperplane

cdef enum:
    # Rows that are looked at: a spread known to 6 % is enough for an importance, which adds
    # up many nodes, and large nodes cost no more than small ones.
    SAMPLE = 128


cdef inline double read_cell(const DataView* view, row_t row, idx_t j) noexcept nogil:
    """A value, in the common case without a call to another module."""
    cdef const ColumnView* column = &view.columns[j]
    cdef uint32_t code
    if view.X != NULL:
        return <double>view.X[row * view.row_stride + j * view.col_stride]
    if column.rows == NULL:
        if view.row_codes != NULL and view.row_places == NULL and column.width == 1:
            # A row's terms stand close together.
            code = view.row_codes[row * view.row_bytes + column.row_offset]
        else:
            code = stored_code(column, row)
        return <double>column.values[code] if code < column.n_values else <double>NAN
    return <double>read_value(view, row, j)


cdef double measure_spread(const DataView* view, const Hyperplane* plane, idx_t k,
                           const row_t* rows, idx_t n, const w_t* weight) noexcept nogil:
    """Weighted standard deviation of term k without its weight; missing values are left out."""
    cdef idx_t n_seen = min(n, <idx_t>SAMPLE)
    cdef idx_t i
    cdef row_t row
    cdef double value, w
    cdef double origin = 0.0, total = 0.0, sum_ = 0.0, squares = 0.0, mean
    for i in range(n_seen):
        row = rows[i if n == n_seen else i * n // n_seen]
        value = read_cell(view, row, plane.feature[k])
        if plane.partner != NULL and plane.partner[k] >= 0:
            value *= read_cell(view, row, plane.partner[k])
        if value != value:
            continue
        w = weight[row]
        if total == 0.0:
            # Sums of differences to a value that occurs do not cancel badly.
            origin = value
        value -= origin
        total += w
        sum_ += w * value
        squares += w * value * value
    if total == 0.0:
        return 0.0
    mean = sum_ / total
    return sqrt(max(squares / total - mean * mean, 0.0))


cdef void share_terms(const DataView* view, const Hyperplane* plane, const row_t* rows, idx_t n,
                      const w_t* weight, double* share) noexcept nogil:
    cdef idx_t n_terms = plane.n_terms, k
    cdef double largest = 0.0, total = 0.0
    for k in range(n_terms):
        share[k] = fabs(plane.weight[k]) * measure_spread(view, plane, k, rows, n, weight)
        if not share[k] <= DBL_MAX:
            share[k] = DBL_MAX
        largest = max(largest, share[k])
    for k in range(n_terms):
        share[k] = share[k] / largest if largest > 0.0 else 1.0
        total += share[k]
    for k in range(n_terms):
        share[k] /= total
