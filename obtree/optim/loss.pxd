# Losses of a leaf's parameters (Norouzi et al., 2015, equations 2 and 3).
#
# Log loss is read from a table, since many rows ask for the same few numbers: entry k is the
# loss of class k. Squared loss is a sum over the outputs.

from libc.math cimport exp, log

from obtree.core.types cimport idx_t


cdef inline void tabulate_log_loss(const float* theta, idx_t n_classes,
                                   float* table) noexcept nogil:
    """OUT table[k] = -theta[k] + log(sum(exp(theta))): the loss of each class, from scores."""
    cdef double total = 0.0, level
    cdef float top = theta[0]
    cdef idx_t k
    for k in range(1, n_classes):
        top = max(top, theta[k])
    for k in range(n_classes):
        total += exp(<double>theta[k] - top)
    level = top + log(total)
    for k in range(n_classes):
        table[k] = <float>(level - theta[k])


cdef inline float squared_loss(const float* theta, const float* y, idx_t n) noexcept nogil:
    """|theta - y|^2"""
    cdef float total = 0.0
    cdef idx_t k
    for k in range(n):
        total += (theta[k] - y[k]) * (theta[k] - y[k])
    return total
