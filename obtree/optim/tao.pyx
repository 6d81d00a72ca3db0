"""Tree alternating optimisation (Carreira-Perpinan and Zharmagambetov, 2020).

The shape of the tree is given; its planes and leaves are fitted in turn, level after level,
each node with all others held fixed. A row that reaches a decision node is
led down both sides, and if they cost it differently it *cares*: it becomes a row of a
logistic regression that says which side is the better one, weighted by the difference. All
other rows are left out. Nodes of one level have no rows in common and do not depend on
each other, so threads share them out.

A node's new plane is taken only if the objective does not rise: the sum of the rows' costs
(see leaves.pyx) and l1 times the sum of the sizes of all weights, in the units of units.pyx.

Departures from the paper. The logistic regression makes a few steps from the present plane and
is not solved. The start may be a tree grown greedily, and forests do best with one.
"""

import numbers

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.types cimport idx_t
from obtree.optim.alternation cimport Alternation
from obtree.optim.base cimport Optimiser, Problem
from obtree.optim.units cimport Units

from obtree.core.names import show, unknown_name
from obtree.optim.finish import finish_nodes
from obtree.optim.node_fit import MAX_NEWTON_FEATURES
from obtree.optim.random_start import draw_tree
from obtree.tree.tree import Tree

LEAVES = ("constant", "linear")


def _check_number(name, value):
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {show(value)}")
    if not 0.0 <= value < float("inf"):
        raise ValueError(f"{name} must be finite and not negative, got {show(value)}")


cdef class TAO(Optimiser):
    """Tree alternating optimisation.

    Parameters
    ----------
    leaf : {"constant", "linear"}, default="constant"
        What leaves predict.
    l1 : float, default=0.01
        Penalty on the sizes of all weights of planes and, in classification, linear leaves.
    ridge : float, default=1.0
        Penalty on the squared weights of linear leaves in regression.
    n_iter : int, default=5
        Greatest number of sweeps over the tree.
    tol : float, default=1e-4
        Stop when a sweep lowers the objective by less than this share of it.
    n_iter_no_change : int, default=5
        Stop after so many sweeps without a lower cost on the rows set aside, if any.
    max_depth : int, default=8
        Depth of a random start; not used when a tree is given.
    min_samples_leaf : int, default=1
        Rows that each side of a plane of a random start needs.
    """

    parameter_names = (
        "leaf", "l1", "ridge", "n_iter", "tol", "n_iter_no_change", "max_depth",
        "min_samples_leaf",
    )

    cdef readonly str leaf
    cdef readonly double l1
    cdef readonly double ridge
    cdef readonly idx_t n_iter
    cdef readonly double tol
    cdef readonly idx_t n_iter_no_change
    cdef readonly idx_t max_depth
    cdef readonly idx_t min_samples_leaf
    cdef Units units
    cdef list _shared

    def __init__(self, *, leaf="constant", l1=0.01, ridge=1.0, n_iter=5, tol=1e-4,
                 n_iter_no_change=5, max_depth=8, min_samples_leaf=1):
        if not isinstance(leaf, str) or leaf not in LEAVES:
            raise ValueError(unknown_name("leaf", leaf, LEAVES))
        for name, value in (("l1", l1), ("ridge", ridge), ("tol", tol)):
            _check_number(name, value)
        for name, value in (
            ("n_iter", n_iter), ("n_iter_no_change", n_iter_no_change), ("max_depth", max_depth),
            ("min_samples_leaf", min_samples_leaf),
        ):
            if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {show(value)}")
        self.leaf = leaf
        self.l1 = l1
        self.ridge = ridge
        self.n_iter = n_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self._shared = []

    def clone(self):
        """A new optimiser with the same parameters; clones share the units of a problem."""
        cdef TAO other = Optimiser.clone(self)
        other._shared = self._shared
        return other

    cdef int bind(self, Problem problem, const volatile int* stop) except -1:
        Optimiser.bind(self, problem, stop)
        if not self._shared or self._shared[0] is not problem:
            self._shared[:] = [problem, Units(problem, problem.n_features > MAX_NEWTON_FEATURES)]
        self.units = self._shared[1]
        return 0

    cdef object optimise(self, object tree, uint32_t seed, int n_threads):
        """Sweep over the tree (None: a random one); return it and the objectives."""
        cdef Problem problem = self.problem
        cdef Alternation state
        cdef idx_t iteration, n_bad = 0
        cdef int sureness = 0
        cdef bint upwards = False
        cdef bint has_validation = problem.n_rows > problem.n_train
        cdef double error, before, after, lowest = INFINITY
        if tree is None:
            # Random planes know nothing, so the first fit is to forget them.
            sureness = -6
            # Linear leaves serve most rows best where they are already.
            upwards = self.leaf == "constant"
            tree = draw_tree(problem, self.units, self.max_depth, self.min_samples_leaf, seed)
        state = Alternation(problem, self.units, tree, self.leaf == "linear", self.l1,
                            self.ridge, seed, n_threads, sureness, upwards)
        state.enter(self.stop)
        if self.stop[0]:
            return None
        after = state.measure()
        objective = [after]
        best = None
        if has_validation:
            lowest = state.validate()
            best = self._collect(state)
        for iteration in range(self.n_iter):
            state.run_sweep(<uint64_t>iteration)
            if self.stop[0]:
                return None
            before = after
            after = state.measure()
            objective.append(after)
            if has_validation:
                error = state.validate()
                n_bad += 1
                if error < lowest:
                    lowest = error
                    n_bad = 0
                    best = self._collect(state)
                if n_bad >= self.n_iter_no_change:
                    break
            if before - after <= self.tol * before:
                break
        return self._collect(state) if best is None else best, np.array(objective)

    cdef object _collect(self, Alternation state):
        """The tree as it is now, dead branches dropped."""
        leaf = None if self.problem.has_missing else state.list_leaves()
        nodes, origin = finish_nodes(self.problem, state.tree.to_arrays(), leaf=leaf)
        models = state.leaves.to_arrays()
        if models and len(models["leaf_feature"]):
            nodes |= choose_leaf_models(models, origin)
        return Tree.from_arrays(n_features=self.problem.n_features, **nodes)


def choose_leaf_models(models, nodes):
    """Linear models of some nodes, in the order of these nodes.

    Parameters
    ----------
    models : dict of str to ndarray
        ``leaf_ptr``, ``leaf_feature``, ``leaf_weight``, ``leaf_intercept``.
    nodes : ndarray of int
        Positions in ``models``.

    Returns
    -------
    models : dict of str to ndarray
    """
    lengths = np.diff(models["leaf_ptr"])[nodes]
    pointer = np.concatenate([[0], np.cumsum(lengths)])
    shift = models["leaf_ptr"][nodes] - pointer[:len(nodes)]
    terms = np.repeat(shift, lengths) + np.arange(lengths.sum())
    return {
        "leaf_ptr": pointer,
        "leaf_feature": models["leaf_feature"][terms],
        "leaf_weight": models["leaf_weight"][terms],
        "leaf_intercept": models["leaf_intercept"][nodes],
    }
