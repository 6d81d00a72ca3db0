"""Wrappers of small linear algebra, losses and steps of linear models."""

import numpy as np

from obtree.core cimport jacobi, rounding
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t
from obtree.data cimport scatter
from obtree.linear cimport adam, coordinates, gradients, loss, ridge


def solve(A, b):
    """The solution of A x = b by Cholesky's factors, None when A is not positive definite."""
    cdef double[:, ::1] matrix = np.array(A, dtype=np.float64)
    cdef double[::1] x = np.array(b, dtype=np.float64)
    if not ridge.solve_ridge(&matrix[0, 0], matrix.shape[0], 0.0, &x[0], 1):
        return None
    return np.asarray(x)


def find_eigenvectors(A):
    """Eigenvalues and eigenvectors (in columns) of a symmetric matrix."""
    cdef double[:, ::1] matrix = np.array(A, dtype=np.float64)
    cdef double[:, ::1] vectors = np.empty_like(matrix)
    jacobi.find_eigenvectors(&matrix[0, 0], matrix.shape[0], &vectors[0, 0])
    return np.diag(matrix), np.asarray(vectors)


def round_to_single(double x):
    """x with 24 significant bits."""
    return rounding.round_to_single(x)


def apply_softmax(scores):
    """Probabilities, and the logarithm of the sum of exp(scores)."""
    cdef double[::1] p = np.array(scores, dtype=np.float64)
    cdef double top
    total = loss.apply_softmax(&p[0], p.shape[0], &top)
    return np.asarray(p), top + np.log(total)


def tabulate_log_loss(scores):
    """The loss of each class, by double and by single precision, and the softmax of the latter."""
    cdef float[::1] theta = np.array(scores, dtype=np.float32)
    cdef float[:, ::1] out = np.empty((3, len(scores)), dtype=np.float32)
    loss.tabulate_log_loss(&theta[0], theta.shape[0], &out[0, 0])
    loss.tabulate_softmax(&theta[0], theta.shape[0], &out[2, 0], &out[1, 0])
    return np.asarray(out)


def apply_logistic(double score, bint positive):
    """The logistic function, and its log loss."""
    cdef double total = 0.0
    loss.add_logistic_loss(score, positive, 1.0, &total)
    return loss.apply_logistic(score), total


def descend_coordinates(X, weight, slope, w, double l1, double l2, idx_t max_sweeps):
    """The step from w that minimises a quadratic model, see linear/coordinates.pxd."""
    cdef const float[:, ::1] rows = np.ascontiguousarray(X, dtype=np.float32)
    cdef const float[::1] start = np.ascontiguousarray(w, dtype=np.float32)
    cdef const double[::1] weights = np.ascontiguousarray(weight, dtype=np.float64)
    cdef const double[::1] slopes = np.ascontiguousarray(slope, dtype=np.float64)
    cdef double[:, ::1] out = np.zeros((2, rows.shape[1]))
    cdef Workspace workspace = Workspace()
    cdef scatter.Scatter s
    cdef idx_t p
    scatter.take_scatter(&s, rows.shape[1], 1, workspace)
    s.n_terms = rows.shape[1]
    for p in range(s.n_terms):
        s.origin[p] = 0.0
    scatter.clear_scatter(&s)
    for p in range(rows.shape[0]):
        scatter.add_row(&s, &rows[p, 0], weights[p], &slopes[p])
    scatter.centre_scatter(&s)
    coordinates.descend_coordinates(&s, &start[0], l1, l2, max_sweeps, &out[0, 0], &out[1, 0])
    return np.asarray(out)[0]


def project_ball(w, float nu):
    """Weights shortened to the ball; their number is a multiple of eight."""
    cdef float[::1] out = np.array(w, dtype=np.float32)
    adam.project_ball(&out[0], out.shape[0], nu)
    return np.asarray(out)


def sum_gradients(X, noted, idx_t n_planes):
    """Gradients of planes from terms (plane, row, factor); None for planes that are at rest."""
    cdef const float[:, ::1] rows = np.ascontiguousarray(X, dtype=np.float32)
    cdef float[:, ::1] out = np.zeros((n_planes, rows.shape[1]), dtype=np.float32)
    cdef Workspace workspace = Workspace()
    cdef gradients.PlaneGradients state
    cdef idx_t k
    gradients.take_gradients(&state, n_planes, len(noted), len(noted), workspace)
    found = [None] * n_planes
    # Twice: nothing is to be left of the first batch.
    for _ in range(2):
        gradients.begin_gradients(&state)
        for plane, row, factor in noted:
            gradients.add_gradient(&state, plane, row, factor)
        for k in range(state.n_touched):
            plane = state.touched[k]
            gradients.read_gradient(&state, plane, &rows[0, 0], rows.shape[1], &out[plane, 0])
            found[plane] = np.array(out[plane])
    return found
