# Which side of a plane rows are on, mostly without the exact sum.
#
# A plane of many terms is laid out over all columns in single precision, where rows are read as
# they lie. Only rows that come closer to the threshold than rounding can explain are summed in
# the order of data/hyperplane.pxd. Sides are therefore exact; sums are not.

from libc.math cimport fabs

from obtree.core.types cimport idx_t, row_t
from obtree.data.hyperplane cimport Hyperplane, project_row
from obtree.optim.units cimport Units


cdef inline bint is_dense(Units units, const Hyperplane* plane) noexcept nogil:
    """Whether laying the plane out pays."""
    return (not units.has_missing and plane.n_terms >= 32
            and (4 * plane.n_terms > units.n_features or units.bytes != NULL))


cdef inline double lay_out(Units units, const Hyperplane* plane, float* dense) noexcept nogil:
    """Write the plane over all columns (OUT dense, n_features); how far sums may be wrong."""
    cdef idx_t k
    cdef double total = fabs(plane.threshold)
    for k in range(units.n_features):
        dense[k] = 0.0
    for k in range(plane.n_terms):
        dense[plane.feature[k]] = <float>plane.weight[k]
        total += fabs(plane.weight[k]) * units.reach[plane.feature[k]]
    # Twice what the kernel's roundings and that of the weights come to, and some more for
    # products too small for single precision.
    return total * (units.n_features / 16.0 + 100.0) * 5.96e-8 + 1e-30 * units.n_features


cdef inline void find_sides(Units units, const Hyperplane* plane, const float* dense,
                            double error, const row_t* rows, idx_t n,
                            double* out) noexcept nogil:
    """Numbers that are on the same side of the threshold as the rows' projections (OUT n)."""
    cdef idx_t p
    units.guess(rows, n, dense, out)
    for p in range(n):
        if not fabs(out[p] - plane.threshold) > error:
            out[p] = project_row(plane.feature, plane.weight, plane.n_terms,
                                 units.x + rows[p] * units.n_features, 1)
