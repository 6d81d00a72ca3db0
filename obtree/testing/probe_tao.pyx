"""Wrappers of the parts of alternating optimisation."""

import numpy as np

from obtree.core.types cimport idx_t, node_t
from obtree.optim.base cimport Problem
from obtree.optim.tao cimport Scaler, TAOState, ThreadScratch

cdef int NEVER = 0


def reduce_problem(Problem problem, tree, node_t node, bint linear=False):
    """The reduced problem of a node, when the rows are where the start put them.

    Parameters
    ----------
    problem : Problem
    tree : Tree
        Nodes in depth-first order.
    node : int
        Not a leaf.
    linear : bool, default=False

    Returns
    -------
    rows : ndarray of int
        Rows that care.
    gain : ndarray of float
        What each saves on the right.
    objective : float
        Of the start.
    """
    cdef TAOState state = TAOState(problem, Scaler(problem, False), tree, linear, 0.0, 1.0,
                                   0.01, 0, 1)
    cdef ThreadScratch thread = state._threads[0]
    cdef idx_t start, n, k
    state.enter(&NEVER)
    start = state.start[node]
    state.collect_labels()
    n = state.reduce_node(node, thread.scratch)
    rows = np.array([state.care[start + k] for k in range(n)], dtype=np.int64)
    gain = np.array([state.gain[start + k] for k in range(n)])
    return rows, gain, state.measure()
