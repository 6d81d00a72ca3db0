# A penalised quadratic model, minimised coordinate by coordinate (Friedman, Hastie and
# Tibshirani, 2010).

from libc.math cimport fabs

from obtree.core.types cimport idx_t
from obtree.data.scatter cimport Scatter


cdef inline void descend_coordinates(Scatter* s, const float* w, double l1, double ridge,
                                     idx_t max_sweeps, double* step,
                                     double* residual) noexcept nogil:
    """Find the step from w that minimises the model of a Newton step.

    The model has the slopes cross and the curvature gram of a centred scatter of one target;
    added to it are l1 * |w + step| and ridge / 2 times its square.

    Parameters
    ----------
    s : IN OUT
        The upper half of gram is filled in.
    w : IN (n_terms)
    step : OUT (n_terms)
    residual : SCRATCH (n_terms)
    """
    cdef idx_t n = s.n_terms
    cdef idx_t _sweep, k, j
    cdef double curve, slope, moved, delta, largest
    for k in range(n):
        step[k] = 0.0
        residual[k] = s.cross[k]
        for j in range(k):
            s.gram[j * n + k] = s.gram[k * n + j]
    for _sweep in range(max_sweeps):
        largest = 0.0
        for k in range(n):
            curve = s.gram[k * n + k] + ridge
            moved = <double>w[k] + step[k]
            # The model's slope without this weight's own part.
            slope = residual[k] + s.gram[k * n + k] * moved
            if slope > l1:
                delta = (slope - l1) / curve - moved
            elif slope < -l1:
                delta = (slope + l1) / curve - moved
            else:
                delta = -moved
            if delta == 0.0:
                continue
            step[k] += delta
            for j in range(n):
                residual[j] -= delta * s.gram[k * n + j]
            largest = max(largest, fabs(delta))
        if largest < 1e-3:
            break
