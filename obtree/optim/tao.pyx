"""Tree alternating optimisation (Carreira-Perpinan and Zharmagambetov, 2020).

The shape of the tree is given; its planes and leaves are fitted in turn, level after level,
each node with all others held fixed. A row that reaches a decision node is
led down both sides, and if they cost it differently it *cares*: it becomes a row of a
logistic regression that says which side is the better one, weighted by the difference. All
other rows are left out. Nodes of one level have no rows in common and do not depend on
each other, so threads share them out.

A node's new plane is taken only if the objective does not rise: the sum of the rows' costs
(see tao_leaves.pxi) and l1 times the sum of the sizes of all weights, in the units of scaler.pxi.

Departures from the paper. The logistic regression makes a few steps from the present plane and
is not solved. The start may be a tree grown greedily, and forests do best with one.
"""


import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.params import Integer, Number, check_params
from obtree.core.random cimport RandState, seed_state
from obtree.core.team cimport SYNCHRONISED_WORK, choose_threads, run_items
from obtree.core.types cimport idx_t, node_t
from obtree.optim.base cimport Optimiser, Problem
from obtree.optim.editable_tree import finish_nodes
from obtree.tree.tree import Tree

include "scaler.pxi"
include "dense_plane.pxi"
include "tao_tree.pxi"
include "tao_leaves.pxi"
include "leaf_fit.pxi"
include "node_fit.pxi"
include "tao_state.pxi"
include "random_start.pxi"

LEAF_KINDS = ("constant", "linear")

# Nanoseconds for each row that moves and each of its features, or pairs of them; roughly, to
# choose the number of threads.
cdef double ROW_WORK = 2.0

RULES = {
    "leaf": LEAF_KINDS,
    **dict.fromkeys(("l1", "ridge", "tol"), (Number(0),)),
    "leaf_rate": (Number(0, open_low=True),),
    **dict.fromkeys(
        ("n_iter", "n_iter_no_change", "max_depth", "min_samples_leaf"), (Integer(1),)
    ),
}


cdef int process(TAOState state, ThreadScratch thread, node_t node, uint64_t stream,
                 bint fits_planes, bint partitions) except -1 nogil:
    """Fit a node, the others held fixed, and hand its rows to its children.

    Planes are fitted if it `fits_planes`; rows are handed down, and leaves fitted, if it
    `partitions`.
    """
    cdef RandState rng
    cdef idx_t start = state.start[node]
    cdef idx_t n = state.end[node] - start
    cdef idx_t n_care, p
    if state.stop[0]:
        return 0
    seed_state(&rng, state.seed, stream)
    if state.tree.left[node] < 0:
        if partitions:
            fit_leaf(state.leaves, node, state.rows + start, n, state.other_cost + start,
                     &rng, thread.scratch)
            for p in range(start, start + n):
                state.cost[state.rows[p]] = state.other_cost[p]
        return 0
    if fits_planes:
        n_care = state.reduce_node(node, thread.scratch)
        if n_care > 0 and thread.node_fit.fit(
            &state.tree.plane[node], state.rows + start, n, state.care + start,
            state.gain + start, n_care, &rng
        ):
            state.try_plane(node, thread.node_fit)
    if partitions:
        state.partition_rows(node)
    return 0


cdef struct Level:
    # The nodes of one level, and what is to be done with them.
    void* state               # the TAOState, borrowed
    idx_t first               # position of the first in the order of nodes
    uint64_t stream
    bint fits_planes
    bint partitions
    volatile int failed


cdef void process_node(void* context, idx_t item, idx_t member, void* team) noexcept nogil:
    process_item(<Level*>context, item, member)


cdef void process_item(Level* level, idx_t item, idx_t member) noexcept with gil:
    """Process a node, or record that there was no memory: it is raised once, after the level."""
    cdef TAOState state = <TAOState>level.state
    cdef ThreadScratch thread = <ThreadScratch>state.thread[member]
    cdef node_t node = state.tree.order[level.first + item]
    try:
        with nogil:
            process(state, thread, node, level.stream + <uint64_t>node, level.fits_planes,
                    level.partitions)
    except MemoryError:
        level.failed = 1


cdef int run_level(TAOState state, idx_t level, uint64_t stream, bint fits_planes,
                   bint partitions) except -1:
    """Process the nodes of a level."""
    cdef Level here
    cdef idx_t n_features = state.problem.n_features
    cdef double work = ROW_WORK * state.problem.n_train
    here.state = <void*>state
    here.first = state.tree.level_start[level]
    here.stream = stream
    here.fits_planes = fits_planes
    here.partitions = partitions
    here.failed = 0
    if fits_planes or state.leaves.linear:
        # Steps, or Newton's equations where features are few.
        work *= n_features
        if n_features <= MAX_NEWTON_FEATURES:
            work *= 1.0 + 0.25 * n_features
    with nogil:
        run_items(process_node, &here, state.tree.level_start[level + 1] - here.first,
                  choose_threads(work, state.n_threads, SYNCHRONISED_WORK), state.stop)
    if here.failed:
        raise MemoryError("no room for the scratch of a node")
    return 0


cdef int run_sweep(TAOState state, uint64_t iteration) except -1:
    """Fit every node once, level after level; the nodes of a level in parallel.

    Upwards a plane is fitted to branches that already make the best of their rows, which
    matters while planes are random. Downwards rows are sent to other branches before these
    are fitted to them.
    """
    cdef idx_t level, k, n_levels = state.tree.n_levels
    cdef uint64_t stream = (iteration + 1) * <uint64_t>state.tree.n_nodes
    state.collect_labels()
    if state.upwards:
        for k in range(n_levels):
            run_level(state, n_levels - 1 - k, stream, True, False)
    for level in range(n_levels):
        run_level(state, level, stream, not state.upwards, True)
    return 0


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
    leaf_rate : float, default=0.01
        Step of the weights of linear leaves, where these are moved in small steps. Larger ones fit
        a leaf more closely to its rows.
    n_iter : int, default=5
        Greatest number of sweeps over the tree.
    tol : float, default=1e-4
        Stop when a sweep lowers the objective by less than this fraction of it.
    n_iter_no_change : int, default=5
        Stop after so many sweeps without a lower cost on the rows set aside, if any.
    max_depth : int, default=8
        Depth of a random start; not used when a tree is given.
    min_samples_leaf : int, default=1
        Rows that each side of a plane of a random start needs.
    """

    parameter_names = (
        "leaf", "l1", "ridge", "leaf_rate", "n_iter", "tol", "n_iter_no_change", "max_depth",
        "min_samples_leaf",
    )

    cdef readonly str leaf
    cdef readonly double l1
    cdef readonly double ridge
    cdef readonly double leaf_rate
    cdef readonly idx_t n_iter
    cdef readonly double tol
    cdef readonly idx_t n_iter_no_change
    cdef readonly idx_t max_depth
    cdef readonly idx_t min_samples_leaf
    cdef Scaler scaler

    def __init__(self, *, leaf="constant", l1=0.01, ridge=1.0, leaf_rate=0.01, n_iter=5,
                 tol=1e-4, n_iter_no_change=5, max_depth=8, min_samples_leaf=1):
        check_params(RULES, leaf=leaf, l1=l1, ridge=ridge, leaf_rate=leaf_rate, tol=tol,
                     n_iter=n_iter, n_iter_no_change=n_iter_no_change, max_depth=max_depth,
                     min_samples_leaf=min_samples_leaf)
        self.leaf = leaf
        self.l1 = l1
        self.ridge = ridge
        self.leaf_rate = leaf_rate
        self.n_iter = n_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf

    cdef object prepare(self, Problem problem):
        return Scaler(problem, problem.n_features > MAX_NEWTON_FEATURES)

    cdef int bind(self, Problem problem, const volatile int* stop) except -1:
        Optimiser.bind(self, problem, stop)
        self.scaler = <Scaler?>self.prepared
        return 0

    cdef object optimise(self, object tree, uint32_t seed, int n_threads):
        """Sweep over the tree (None: a random one)."""
        cdef Problem problem = self.problem
        cdef TAOState state
        cdef idx_t iteration, n_bad = 0
        cdef int log2_scale = 0
        cdef bint upwards = False
        cdef bint has_validation = problem.n_rows > problem.n_train
        cdef double error, before, after, lowest = INFINITY
        if tree is None:
            # Random planes know nothing, so the first fit is to forget them.
            log2_scale = -6
            # Linear leaves serve most rows best where they are already.
            upwards = self.leaf == "constant"
            tree = draw_tree(problem, self.scaler, self.max_depth, self.min_samples_leaf, seed)
        state = TAOState(problem, self.scaler, tree, self.leaf == "linear", self.l1,
                         self.ridge, self.leaf_rate, seed, n_threads, log2_scale, upwards)
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
            run_sweep(state, <uint64_t>iteration)
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
        best = self._collect(state) if best is None else best
        return best, {"objective": np.array(objective)}

    cdef object _collect(self, TAOState state):
        """The tree as it is now, unreached branches dropped."""
        leaf = None if self.problem.has_missing else state.list_leaves()
        nodes, _ = finish_nodes(state.tree, leaf=leaf, models=state.leaves.to_arrays())
        return Tree.from_arrays(n_features=self.problem.n_features, **nodes)
