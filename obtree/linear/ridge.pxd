# Ridge regression by its normal equations, in one order of operations on every machine.
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


cdef inline bint solve_ridge(double* gram, idx_t n, double ridge, double* cross,
                             idx_t n_targets) noexcept nogil:
    """Replace each row of cross (n_targets, n) by the x with (gram + ridge) x = row.

    gram (n x n, lower triangle) becomes its factor. False when it is not positive definite.
    """
    cdef idx_t a
    for a in range(n):
        gram[a * n + a] += ridge
    if not factor_cholesky(gram, n):
        return False
    for a in range(n_targets):
        solve_cholesky(gram, n, cross + a * n)
    return True
