"""What nodes have of their rows, from what their children have, and the other way round."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from obtree.core.types cimport idx_t


def list_internal(const int32_t[::1] left, const int32_t[::1] right):
    """Numbers of the nodes that are split, parents before children, as an int64 ndarray."""
    cdef idx_t n_nodes = left.shape[0], n_found = 0, n_pending = 1, node
    cdef int64_t[::1] found = np.empty(n_nodes, dtype=np.int64)
    cdef int64_t[::1] pending = np.zeros(n_nodes + 1, dtype=np.int64)
    with nogil:
        while n_pending > 0:
            n_pending -= 1
            node = pending[n_pending]
            if left[node] < 0:
                continue
            found[n_found] = node
            n_found += 1
            pending[n_pending] = right[node]
            pending[n_pending + 1] = left[node]
            n_pending += 2
    return np.asarray(found)[:n_found]


def add_children(const int32_t[::1] left, const int32_t[::1] right, const int64_t[::1] internal,
                 double[:, ::1] sums):
    """Make the sums of every node those of its two children; IN OUT sums (n_nodes, n)."""
    cdef idx_t i, k, node
    with nogil:
        for i in range(internal.shape[0] - 1, -1, -1):
            node = internal[i]
            for k in range(sums.shape[1]):
                sums[node, k] = sums[left[node], k] + sums[right[node], k]


def merge_children(const int32_t[::1] left, const int32_t[::1] right, const int64_t[::1] internal,
                   double[::1] weight, double[:, ::1] mean, double[::1] spread):
    """The same for means, and for squared distances from them that are averaged over outputs.

    Parameters
    ----------
    left, right, internal : see `list_internal`
    weight : float64 ndarray of shape (n_nodes,)
        IN OUT, as what follows: right at the leaves.
    mean : float64 ndarray of shape (n_nodes, n_outputs)
    spread : float64 ndarray of shape (n_nodes,)
        Sum over rows.
    """
    cdef idx_t i, k, node, a, b, n_outputs = mean.shape[1]
    cdef double part, apart, between
    with nogil:
        for i in range(internal.shape[0] - 1, -1, -1):
            node = internal[i]
            a, b = left[node], right[node]
            weight[node] = weight[a] + weight[b]
            part = weight[b] / weight[node] if weight[node] > 0.0 else 0.0
            between = 0.0
            for k in range(n_outputs):
                apart = mean[b, k] - mean[a, k]
                # Exactly the mean of one side where the other is empty, or has the same.
                mean[node, k] = mean[a, k] + part * apart if part < 1.0 else mean[b, k]
                between += apart * apart
            spread[node] = spread[a] + spread[b] + weight[a] * part * between / n_outputs


def inherit_values(const int32_t[::1] left, const int32_t[::1] right,
                   const int64_t[::1] internal, const double[::1] weight, double[:, ::1] value):
    """Give nodes without weight the value of the nearest node above that has some."""
    cdef idx_t i, k, node, side, child
    with nogil:
        for i in range(internal.shape[0]):
            node = internal[i]
            for side in range(2):
                child = right[node] if side else left[node]
                if weight[child] == 0.0:
                    for k in range(value.shape[1]):
                        value[child, k] = value[node, k]
