# Solving small symmetric systems, in one order of operations on every machine.
#
# A library's solver may round differently from build to build, and a tree must not depend on
# that. The matrices here have at most a few dozen rows, so plain loops are fast enough.

from libc.math cimport sqrt

from obtree.core.types cimport idx_t


cdef inline bint factor_cholesky(double* A, idx_t n) noexcept nogil:
    """Replace the lower triangle of A (n x n, by rows) by L with L L^T = A.

    False when A is not positive definite; A is then spoilt.
    """
    cdef idx_t i, j, k
    cdef double total
    for i in range(n):
        for j in range(i + 1):
            total = A[i * n + j]
            for k in range(j):
                total -= A[i * n + k] * A[j * n + k]
            if i > j:
                A[i * n + j] = total / A[j * n + j]
            elif total > 0.0:
                A[i * n + i] = sqrt(total)
            else:
                return False
    return True


cdef inline void solve_cholesky(const double* L, idx_t n, double* x) noexcept nogil:
    """Replace x (n) by the solution of L L^T z = x."""
    cdef idx_t i, k
    for i in range(n):
        for k in range(i):
            x[i] -= L[i * n + k] * x[k]
        x[i] /= L[i * n + i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= L[k * n + i] * x[k]
        x[i] /= L[i * n + i]
