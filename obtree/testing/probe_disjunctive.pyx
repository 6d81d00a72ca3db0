"""Wrappers of the forward and backward pass of disjunctive normal forms and of their descent."""

import numpy as np

from libc.stdint cimport int32_t
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t
from obtree.optim.backward_pass cimport measure_loss, pass_backward
from obtree.tree.normal_predict cimport (
    FormView,
    Tape,
    pass_forward,
    read_class,
    standardise_row,
    take_tape,
)


def dot_selected(weight, at, x):
    """weight[at] @ x for padded rows."""
    cdef const float[:, ::1] w = weight
    cdef const int32_t[::1] units = np.ascontiguousarray(at, dtype=np.int32)
    cdef const float[::1] row = x
    cdef float[::1] out = np.empty(len(at), dtype=np.float32)
    kernels().dot_selected(&w[0, 0], w.shape[1], &units[0], units.shape[0], &row[0], &out[0])
    return np.asarray(out)


def apply_logistic(score):
    """Probabilities below and above."""
    cdef const float[::1] scores = np.ascontiguousarray(score, dtype=np.float32)
    cdef float[::1] below = np.empty(len(score), dtype=np.float32)
    cdef float[::1] above = np.empty(len(score), dtype=np.float32)
    kernels().apply_logistic(&scores[0], len(score), &below[0], &above[0])
    return np.asarray(below), np.asarray(above)


def walk_row(form, x, idx_t label, double weight=1.0):
    """Class values of a row, its loss, and the slope of weight * loss by every weight."""
    cdef Workspace workspace = Workspace()
    cdef const int32_t[::1] root = form.root
    cdef const int32_t[::1] left = form.child_left
    cdef const int32_t[::1] right = form.child_right
    cdef const double[::1] mean = form.mean
    cdef const double[::1] scale = form.scale
    cdef const float[::1] row = np.ascontiguousarray(x, dtype=np.float32)
    cdef idx_t n_units = left.shape[0], n_columns = form.n_features + 1, n, k
    cdef FormView view
    cdef Tape tape
    memset(&view, 0, sizeof(view))
    view.n_units = n_units
    view.n_roots = root.shape[0]
    view.n_classes = form.n_classes
    view.n_features = form.n_features
    view.stride = (n_columns + 7) // 8 * 8
    view.complement = form.complement
    view.root = &root[0]
    view.left = &left[0] if n_units else NULL
    view.right = &right[0] if n_units else NULL
    view.mean = &mean[0]
    view.scale = &scale[0]
    padded = np.zeros((max(n_units, 1), view.stride), dtype=np.float32)
    padded[:n_units, :n_columns] = form.weight
    cdef const float[:, ::1] rows = padded
    view.weight = &rows[0, 0]
    take_tape(&tape, n_units, view.n_roots, view.n_classes, workspace)
    cdef float[::1] z = np.empty(view.stride, dtype=np.float32)
    cdef int32_t[::1] units = np.empty(n_units + 1, dtype=np.int32)
    cdef float[::1] slopes = np.empty(n_units + 1, dtype=np.float32)
    standardise_row(&row[0], &view, &z[0])
    pass_forward(&view, &z[0], &tape)
    values = np.array([read_class(&view, &tape, k) for k in range(view.n_classes)])
    loss = measure_loss(&view, &tape, label)
    n = pass_backward(&view, &tape, label, weight, &units[0], &slopes[0])
    gradient = np.zeros((n_units, n_columns))
    for k in range(n):
        gradient[units[k]] += slopes[k] * np.asarray(z)[:n_columns].astype(np.float64)
    return values, loss, gradient
