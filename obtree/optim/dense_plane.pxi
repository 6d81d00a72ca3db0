# Which side of a plane rows are on, mostly without the exact sum.
#
# A plane of many terms is laid out over all columns, where rows are read as they lie: in single
# precision, or in whole numbers for rows of bytes. Only rows that come closer to the threshold
# than rounding can explain are summed in the order of data/hyperplane.pxd. Sides are therefore
# exact; sums are not.

from libc.math cimport INFINITY, fabs, floor
from libc.stdint cimport int16_t

from obtree.core.dispatch cimport kernels
from obtree.core.types cimport idx_t, row_t
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.project cimport project_rows

cdef enum:
    NEAR = 12                 # rows near a plane that are summed exactly at a time


cdef bint is_dense(Scaler scaler, const Hyperplane* plane) noexcept nogil:
    """Whether laying the plane out pays."""
    return (not scaler.has_missing and plane.n_terms >= 32
            and (4 * plane.n_terms > scaler.n_features or scaler.bytes != NULL))


cdef void write_dense(Scaler scaler, const Hyperplane* plane, DensePlane* out) noexcept nogil:
    """Write the plane over all columns; out.weight has room for them."""
    cdef idx_t k
    cdef int16_t* whole = <int16_t*>out.weight
    cdef double total = fabs(plane.threshold), largest = 0.0
    if scaler.bytes == NULL:
        for k in range(scaler.n_features):
            out.weight[k] = 0.0
        for k in range(plane.n_terms):
            out.weight[plane.feature[k]] = <float>plane.weight[k]
            total += fabs(plane.weight[k]) * scaler.max_abs[plane.feature[k]]
        # Twice what the kernel's roundings and that of the weights come to, and some more for
        # products too small for single precision.
        out.error = total * (scaler.n_features / 16.0 + 100.0) * 5.96e-8 + 1e-30 * scaler.n_features
        return
    for k in range(plane.n_terms):
        largest = max(largest, fabs(plane.weight[k]))
    # No row's sum leaves int32.
    out.step = largest / min(32767.0, floor(2147483647.0 / scaler.largest_sum))
    # Every weight is at most half a step wrong; the rest is for double precision.
    out.error = 0.501 * out.step * scaler.largest_sum
    if not out.step > 1e-200:
        out.step = 1.0
        out.error = INFINITY
    for k in range(scaler.n_features):
        whole[k] = 0
    for k in range(plane.n_terms):
        whole[plane.feature[k]] = <int16_t>floor(plane.weight[k] / out.step + 0.5)


cdef void find_sides(Scaler scaler, const Hyperplane* plane, const DensePlane* dense,
                     const row_t* rows, idx_t n, double* out) noexcept nogil:
    """Numbers that are on the same side of the threshold as the rows' projections (OUT n)."""
    cdef row_t near_rows[NEAR]
    cdef idx_t near[NEAR]
    cdef double exact[NEAR]
    cdef idx_t p, k, n_near = 0
    if scaler.bytes != NULL:
        kernels().sum_bytes(scaler.bytes, scaler.n_features, rows, n, <int16_t*>dense.weight, out)
        for p in range(n):
            out[p] *= dense.step
    else:
        kernels().approximate_rows(scaler.x, scaler.n_features, rows, n, dense.weight, out)
    for p in range(n):
        if not fabs(out[p] - plane.threshold) > dense.error:
            near[n_near] = p
            near_rows[n_near] = rows[p]
            n_near += 1
        if n_near == NEAR or (p == n - 1 and n_near > 0):
            project_rows(scaler.view, plane, near_rows, n_near, exact)
            for k in range(n_near):
                out[near[k]] = exact[k]
            n_near = 0
