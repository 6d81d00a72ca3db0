# Eigenvectors of small symmetric matrices, in one order of operations on every machine.

from libc.math cimport fabs, sqrt

from obtree.core.types cimport idx_t

cdef enum:
    MAX_SWEEPS = 30           # six or seven are usual


cdef inline void rotate_pair(double* A, double* V, idx_t n, idx_t p, idx_t q) noexcept nogil:
    """Make A[p, q] zero by a rotation of the axes p and q, which V follows."""
    cdef double theta, t, c, s, x, y
    cdef idx_t k
    theta = (A[q * n + q] - A[p * n + p]) / (2.0 * A[p * n + q])
    t = 1.0 / (fabs(theta) + sqrt(theta * theta + 1.0))
    if theta < 0.0:
        t = -t
    c = 1.0 / sqrt(t * t + 1.0)
    s = t * c
    for k in range(n):
        x = A[k * n + p]
        y = A[k * n + q]
        A[k * n + p] = c * x - s * y
        A[k * n + q] = s * x + c * y
    for k in range(n):
        x = A[p * n + k]
        y = A[q * n + k]
        A[p * n + k] = c * x - s * y
        A[q * n + k] = s * x + c * y
        x = V[k * n + p]
        y = V[k * n + q]
        V[k * n + p] = c * x - s * y
        V[k * n + q] = s * x + c * y


cdef inline void find_eigenvectors(double* A, idx_t n, double* V) noexcept nogil:
    """Cyclic Jacobi rotations (n x n, by rows): A becomes diagonal, the columns of V its
    eigenvectors. They come in no order, each near the axis it belongs to."""
    cdef idx_t p, q, _sweep
    cdef double beside, size
    for p in range(n):
        for q in range(n):
            V[p * n + q] = 1.0 if p == q else 0.0
    for _sweep in range(MAX_SWEEPS):
        beside = size = 0.0
        for p in range(n):
            size += A[p * n + p] * A[p * n + p]
            for q in range(p + 1, n):
                beside += A[p * n + q] * A[p * n + q]
        if beside <= 1e-30 * size:
            return
        for p in range(n - 1):
            for q in range(p + 1, n):
                if A[p * n + q] * A[p * n + q] > 1e-32 * size:
                    rotate_pair(A, V, n, p, q)
