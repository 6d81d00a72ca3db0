# Gaussians by their mean and the lower triangle, by rows, of Cholesky's factor of their covariance.

from libc.math cimport log

from obtree.core.types cimport idx_t

cdef enum:
    MAX_FEATURES = 256        # what scratch on the stack has room for


cdef inline double measure_gaussian(const double* x, const double* mean, const double* factor,
                                    idx_t d, double* y) noexcept nogil:
    """The log density of x (d) but for the constant -d/2 log(2 pi). SCRATCH y (d)."""
    cdef idx_t a, b
    cdef double total, square = 0.0, product = 1.0, logs = 0.0
    cdef const double* line = factor
    for a in range(d):
        total = x[a] - mean[a]
        for b in range(a):
            total -= line[b] * y[b]
        y[a] = total / line[a]
        square += y[a] * y[a]
        product *= line[a]
        if not 1e-100 < product < 1e100:
            logs += log(product)
            product = 1.0
        line += a + 1
    return -0.5 * square - logs - log(product)
