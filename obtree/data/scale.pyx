"""Scales of the features, from their distinct values.

Being powers of two, scales add no rounding: whole numbers divided by them can be added
exactly. Distinct values, and not all of them, because a pixel that is mostly zero is no
smaller than another one.
"""

from libc.math cimport frexp, ldexp
from libc.stdint cimport uint32_t

from obtree.core.types cimport idx_t
from obtree.data.dataset cimport ColumnView, DataView, stored_code


cdef void measure_scales(const DataView* view, double* scale) noexcept nogil:
    cdef idx_t j
    cdef uint32_t skipped
    cdef int exponent
    cdef double mantissa
    for j in range(view.n_features):
        scale[j] = 1.0
        if view.columns[j].n_values < 2:
            continue
        skipped = view.columns[j].n_values // 4
        mantissa = frexp(
            value_of_rank(view, j, view.columns[j].n_values - 1 - skipped)
            - value_of_rank(view, j, skipped), &exponent
        )
        # The nearest power of two, by ratio: mantissas begin at a half.
        scale[j] = ldexp(1.0, exponent if mantissa > 0.7071067811865476 else exponent - 1)


cdef double value_of_rank(const DataView* view, idx_t j, uint32_t rank) noexcept nogil:
    """The distinct value of this rank; some row of the data has it."""
    cdef const ColumnView* column = &view.columns[j]
    cdef idx_t i = 0
    if column.values != NULL:
        return column.values[rank]
    while stored_code(column, i) != rank:
        i += 1
    return view.X[i * view.row_stride + j * view.col_stride]
