# Whole-number data, projected with whole-number arithmetic.
#
# Counts, pixels, codes and one-hot columns hold small multiples of some power of two. So do
# their sums with weights that are powers of two: the projection of a row is then found by
# adding small integers looked up by rank, one byte read for each term, and the node's
# projections are counted or sorted as integers. The keys stand for exactly the numbers that
# hyperplane.pxd computes, which in this case rounds nothing.

from libc.math cimport fabs, frexp, ldexp
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, row_t
from obtree.data.dataset cimport ColumnView, DataView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.read cimport RankColumn, has_byte_ranks, view_ranks

cdef enum:
    MAX_TERMS = 15            # more are summed in another order
    MAX_STEPS = 4095          # units that a column may span
    MAX_KEY = 1 << 22
    MAX_SHIFT = 16            # between the units of two terms


cdef class FixedPoint:

    cdef int bind(self, const DataView* view, Workspace workspace) except -1:
        cdef const ColumnView* column
        cdef idx_t j, k
        self.table = <int32_t**>workspace.take(view.n_features, sizeof(int32_t*))
        self.exponent = <int*>workspace.take(view.n_features, sizeof(int))
        for j in range(view.n_features):
            column = &view.columns[j]
            self.table[j] = NULL
            if not find_exponent(column, &self.exponent[j]):
                continue
            self.table[j] = <int32_t*>workspace.take(column.n_values, sizeof(int32_t))
            for k in range(column.n_values):
                self.table[j][k] = <int32_t>ldexp(
                    <double>column.values[k] - <double>column.values[0], -self.exponent[j]
                )
        return 0

    cdef bint project(self, const DataView* view, const Hyperplane* plane, const row_t* rows,
                      idx_t n, uint32_t* keys, KeyRange* found) noexcept nogil:
        cdef const ColumnView* column
        cdef const uint8_t* codes[MAX_TERMS]
        cdef const int32_t* table[MAX_TERMS]
        cdef int32_t factor[MAX_TERMS]
        cdef int exponent[MAX_TERMS]
        cdef int smallest = 0
        cdef RankColumn at
        cdef bint ranks = True
        cdef idx_t k, j, span, total = 0, offset = 0
        cdef double base = 0.0
        if not 0 < plane.n_terms <= MAX_TERMS:
            return False
        for k in range(plane.n_terms):
            j = plane.feature[k]
            if self.table[j] == NULL or not find_power(plane.weight[k], &exponent[k]):
                return False
            exponent[k] += self.exponent[j]
            smallest = exponent[k] if k == 0 else min(smallest, exponent[k])
        for k in range(plane.n_terms):
            if exponent[k] - smallest > MAX_SHIFT:
                return False
            column = &view.columns[plane.feature[k]]
            table[k] = self.table[plane.feature[k]]
            view_ranks(view, plane.feature[k], rows, n, True, &at)
            codes[k] = <const uint8_t*>at.codes
            span = table[k][column.n_values - 1]
            # Ascending whole numbers from 0 without a gap: each rank stands for itself.
            ranks &= span == <idx_t>column.n_values - 1
            span <<= exponent[k] - smallest
            total += span
            factor[k] = <int32_t>1 << (exponent[k] - smallest)
            # Key 0 is the smallest sum that could be: a negative term is then at its largest.
            if plane.weight[k] > 0.0:
                base += plane.weight[k] * <double>column.values[0]
            else:
                base += plane.weight[k] * <double>column.values[column.n_values - 1]
                factor[k] = -factor[k]
                offset += span
        if total > MAX_KEY:
            return False
        # All ranks are bytes: they lie in one and the same way.
        kernels().add_tables(codes, at.stride, NULL if ranks else table, factor, plane.n_terms,
                             <int32_t>offset, at.rows, n, keys, &found.low, &found.high)
        found.base = base
        found.step = ldexp(1.0, smallest)
        return True


cdef inline bint find_power(double x, int* exponent) noexcept nogil:
    """The exponent of a power of two of either sign; False for other numbers."""
    cdef uint64_t bits
    cdef int field
    memcpy(&bits, &x, sizeof(bits))
    field = <int>((bits >> 52) & 0x7FF)
    exponent[0] = field - 1023
    # Neither zero, nor subnormal, nor infinite, nor NaN.
    return (bits << 12) == 0 and 0 < field < 0x7FF


cdef bint find_exponent(const ColumnView* column, int* exponent) noexcept nogil:
    """The largest power of two that divides all values; False when they are too many."""
    cdef int unit = 1024, here
    cdef int32_t digits
    cdef double value
    cdef idx_t k
    if not has_byte_ranks(column):
        return False
    for k in range(column.n_values):
        value = column.values[k]
        if value != 0.0:
            digits = <int32_t>ldexp(frexp(value, &here), 24)
            here -= 24
            while digits % 2 == 0:
                digits //= 2
                here += 1
            unit = min(unit, here)
    exponent[0] = unit if unit < 1024 else 0
    # Sums of a few such numbers fit the 53 bits of a double.
    value = max(fabs(column.values[0]), fabs(column.values[column.n_values - 1]))
    return (ldexp(value, -exponent[0]) < 1073741824.0
            and ldexp(<double>column.values[column.n_values - 1] - <double>column.values[0],
                      -exponent[0]) <= MAX_STEPS)
