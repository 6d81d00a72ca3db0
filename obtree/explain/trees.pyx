"""Shapley values of sums of trees, row by row and tree by tree.

The values of a model that adds up trees are the sums of those of its trees, and those against a
background the means of those against each of its rows: what is left is one tree and two rows
(``exact.pxi``, ``orders.pxi``). Only features that a tree uses, and that differ in both rows, have
a say. Rows are shared out over threads; sums run in index order.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, seed_state, shuffle
from obtree.core.team cimport choose_threads, run_items, should_stop
from obtree.core.types cimport X_t, feature_t, idx_t
from obtree.explain.games cimport LOGS, VALUES, VOTES, Game
from obtree.explain.pair cimport AxisNode, Pair
from obtree.explain.weights cimport TABLE, compute_weight
from obtree.tree.leaf_models cimport LeafModel

from obtree.explain.facts import count_values, find_leaf_terms, list_used
from obtree.tree.predict import PROBABILITY_FLOOR

include "exact.pxi"
include "orders.pxi"

cdef enum:
    LOOK_PAIRS = 8                # pairs between two looks for an interruption
    PAIR_WORK = 1000              # nanoseconds for a tree and two rows
    # Rows that a call is cut into, at least: few rows are cut along the background.
    FEW_ROWS = 64
    # Terms that an exact walk may read, for each step of orders drawn instead: of sums of few
    # terms nearly all are exact then, and those of many lose little time.
    FAIR_SHARE = 8

_COUNTING = {"average": VALUES, "vote": VOTES, "product": LOGS}


cdef struct Scratch:
    Pair pair
    Walk walk
    Path path
    double* trial                 # (n_features, n_values) of a walk that may be given up


cdef struct Job:
    const Game* games             # (n_games)
    idx_t n_games
    idx_t n_features
    idx_t n_values
    const X_t* x                  # (n_rows, n_features)
    const X_t* background         # (n_background, n_features)
    const double* weight          # (n_background), with sum 1
    idx_t n_background
    idx_t n_chunks                # of the background
    idx_t max_exact
    idx_t n_orders                # drawn for each pair of rows
    uint64_t seed
    double* phi                   # (n_rows * n_chunks, n_features, n_values), zeroed
    Scratch* scratch              # by member


cdef inline idx_t open_pair(const Game* game, Pair* pair, int32_t* differing,
                            idx_t* n_missing) noexcept nogil:
    """Begin with the background row; OUT differing: features that are open. Returns how many.

    OUT n_missing: how many of them are missing in one of the rows.
    """
    cdef idx_t k, n = 0
    cdef int32_t j
    cdef X_t x, b
    for k in range(game.n_used):
        j = game.used[k]
        x = pair.x[j]
        b = pair.b[j]
        pair.z[j] = b
        # Two missing values are the same.
        pair.is_open[j] = x != b and (x == x or b == b)
        differing[n] = j
        if pair.is_open[j]:
            n += 1
            n_missing[0] += x != x or b != b
    return n


cdef inline void add_trial(const Game* game, const Scratch* scratch, idx_t n,
                           double* phi) noexcept nogil:
    """Add what a walk has found for features that differ."""
    cdef idx_t k, v, first
    for k in range(n):
        first = scratch.path.order[k] * game.n_values
        for v in range(first, first + game.n_values):
            phi[v] += scratch.trial[v]


cdef bint explain_pair(const Job* job, idx_t t, idx_t b, Scratch* scratch, double* phi,
                       idx_t member, void* team) noexcept nogil:
    """Add the values of one tree for the row and background row b. False: interrupted."""
    cdef const Game* game = &job.games[t]
    cdef double factor = game.factor * job.weight[b]
    cdef idx_t k, n_missing = 0
    cdef idx_t n = open_pair(game, &scratch.pair, scratch.path.order, &n_missing)
    # Where nodes test one feature, an exact walk comes to no leaf twice; but to tell what a line
    # predicts it decides all features that may be missing.
    cdef bint is_cheap = game.is_axis and (game.line == NULL or n_missing <= job.max_exact)
    cdef int64_t budget
    cdef RandState rng
    if n == 0:
        return True
    if is_cheap or n <= job.max_exact:
        walk_exactly(game, &scratch.pair, &scratch.walk, factor, -1, phi)
        return True
    # It may be exact at no greater cost than by chance.
    budget = <int64_t>FAIR_SHARE * 2 * job.n_orders * (n + 1) * (game.depth + 1)
    for k in range(n):
        memset(scratch.trial + scratch.path.order[k] * game.n_values, 0,
               game.n_values * sizeof(double))
    if walk_exactly(game, &scratch.pair, &scratch.walk, factor, budget, scratch.trial):
        add_trial(game, scratch, n, phi)
        return True
    # The same orders for every row: what a row gets does not depend on the others.
    seed_state(&rng, job.seed, <uint64_t>(b * job.n_games + t))
    for _ in range(job.n_orders):
        if should_stop(team, member):
            return False
        shuffle(scratch.path.order, n, &rng)
        take_order(game, &scratch.pair, n, False, 0.5 * factor / job.n_orders, &scratch.path, phi)
        take_order(game, &scratch.pair, n, True, 0.5 * factor / job.n_orders, &scratch.path, phi)
    return True


cdef void explain_part(void* context, idx_t item, idx_t member, void* team) noexcept nogil:
    """One row, and a part of the background."""
    cdef const Job* job = <const Job*>context
    cdef Scratch* scratch = &job.scratch[member]
    cdef idx_t chunk = item % job.n_chunks, t, b
    cdef idx_t start = chunk * job.n_background // job.n_chunks
    cdef idx_t end = (chunk + 1) * job.n_background // job.n_chunks
    cdef double* phi = job.phi + item * job.n_features * job.n_values
    scratch.pair.x = job.x + item // job.n_chunks * job.n_features
    for t in range(job.n_games):
        for b in range(start, end):
            if b % LOOK_PAIRS == 0 and should_stop(team, member):
                return
            scratch.pair.b = job.background + b * job.n_features
            if not explain_pair(job, t, b, scratch, phi, member, team):
                return


cdef class TreeGames:
    """Shapley values of a weighted sum of trees.

    Parameters
    ----------
    trees : sequence of Tree
        Such as a `Predictor` has accepted; for features from which offsets have been subtracted.
    factors : sequence of float
        What each tree counts for.
    combine : {"average", "vote", "product"}
        What of a leaf is added up: its values, its vote, or the logarithms of its values.
    """

    cdef Game* _games
    cdef Workspace _workspace
    cdef list _kept
    cdef idx_t _n_games, _n_features, _n_values, _n_used, _depth

    def __init__(self, trees, factors, str combine):
        cdef idx_t t
        first = trees[0]
        self._kept = []
        self._workspace = Workspace()
        self._n_games = len(trees)
        self._n_features = first.n_features
        self._n_values = first.n_outputs * first.max_n_classes
        self._games = <Game*>self._workspace.take(self._n_games, sizeof(Game))
        memset(self._games, 0, self._n_games * sizeof(Game))
        for t in range(self._n_games):
            self._games[t].counting = _COUNTING[combine]
            self._games[t].factor = factors[t]
            self._bind(&self._games[t], trees[t], combine)
            self._n_used = max(self._n_used, self._games[t].n_used)
            self._depth = max(self._depth, <idx_t>self._games[t].depth)

    cdef int _bind(self, Game* game, tree, str combine) except -1:
        """Let a game read a tree."""
        cdef const int32_t[::1] left = tree.children_left, right = tree.children_right
        cdef const double[::1] threshold = tree.threshold, lower = tree.lower_threshold
        cdef const uint8_t[::1] missing_left = tree.missing_go_left
        cdef const int64_t[::1] term_ptr = tree.term_ptr
        cdef const int32_t[::1] feature = tree.term_feature, partner = tree.term_partner
        cdef const double[::1] weight = tree.term_weight
        cdef const double[:, ::1] value
        cdef const int32_t[::1] used
        cdef const int64_t[::1] set_ptr = tree.set_ptr
        cdef const uint16_t[::1] set_categories = tree.set_categories
        game.nodes.left = &left[0]
        game.nodes.right = &right[0]
        game.nodes.threshold = &threshold[0]
        game.nodes.lower = NULL
        if lower is not None:
            game.nodes.lower = &lower[0]
        game.nodes.missing_left = &missing_left[0]
        game.nodes.set_ptr = NULL
        if set_ptr is not None:
            game.nodes.set_ptr = &set_ptr[0]
            game.nodes.set_categories = &set_categories[0]
        game.nodes.term_ptr = &term_ptr[0]
        if feature.shape[0] > 0:
            game.nodes.feature = <const feature_t*>&feature[0]
            game.nodes.weight = &weight[0]
            game.nodes.partner = NULL
            if partner is not None:
                game.nodes.partner = <const feature_t*>&partner[0]
        game.n_outputs = tree.n_outputs
        game.n_classes = tree.max_n_classes
        game.n_values = self._n_values
        game.floor = PROBABILITY_FLOOR
        game.depth = tree.max_depth
        values = count_values(tree, combine)
        value = values
        game.value = &value[0, 0]
        self._bind_leaves(game, tree)
        n_terms = np.diff(tree.term_ptr)
        game.is_axis = partner is None and n_terms.max() <= 1
        game.is_axis = game.is_axis and (game.model == NULL or game.line != NULL)
        if tree.has_planes_only and n_terms.max() <= 1:
            self._gather_nodes(game, tree.node_count)
        features = list_used(tree)
        used = features
        game.n_used = len(features)
        game.used = NULL
        if len(features):
            game.used = &used[0]
        self._kept += [tree, values, features]
        if partner is None and set_ptr is None and feature.shape[0] > 0:
            self._sort_terms(game, tree, n_terms)
        return 0

    cdef int _gather_nodes(self, Game* game, idx_t n_nodes) except -1:
        """Put what a node with one feature tests in one place."""
        cdef AxisNode* axis = <AxisNode*>self._workspace.take_part(n_nodes, sizeof(AxisNode))
        cdef idx_t node
        cdef int64_t term
        for node in range(n_nodes):
            axis[node].left = game.nodes.left[node]
            axis[node].right = game.nodes.right[node]
            if axis[node].left == -1:
                continue
            term = game.nodes.term_ptr[node]
            axis[node].feature = game.nodes.feature[term]
            axis[node].weight = game.nodes.weight[term]
            axis[node].threshold = game.nodes.threshold[node]
            axis[node].missing_left = game.nodes.missing_left[node] != 0
        game.axis = axis
        return 0

    cdef int _sort_terms(self, Game* game, tree, n_terms) except -1:
        """Terms of each node by feature; features that are in a node twice are added up."""
        cdef const int32_t[::1] feature
        cdef const double[::1] weight
        owner = np.repeat(np.arange(len(n_terms)), n_terms)
        order = np.lexsort((tree.term_feature, owner))
        features, weights = tree.term_feature[order], tree.term_weight[order]
        if ((np.diff(features) == 0) & (np.diff(owner) == 0)).any():
            return 0
        feature, weight = features, weights
        game.sorted_feature = &feature[0]
        game.sorted_weight = &weight[0]
        self._kept += [features, weights]
        return 0

    cdef int _bind_leaves(self, Game* game, tree) except -1:
        """Let a game ask the models of leaves, and find out which features they read."""
        cdef const int64_t[::1] ptr
        cdef const int32_t[::1] feature
        cdef const double[:, ::1] line
        cdef LeafModel model
        if not tree.leaf_kind.fields:
            return 0
        model = tree.leaf_kind(tree)
        self._kept.append(model)
        game.model = <void*>model
        pointers, features = find_leaf_terms(tree)
        if pointers is None:
            return 0
        ptr, feature = pointers, features
        game.model_ptr = &ptr[0]
        game.model_feature = NULL
        if len(features):
            game.model_feature = &feature[0]
        # Numbers that are sums, and count as they are.
        if tree.has_linear_leaves and tree.max_n_classes == 1 and len(features):
            line = tree.leaf_weight
            game.line = &line[0, 0]
        return 0

    def explain(self, const X_t[:, ::1] X, const X_t[:, ::1] background, const double[::1] weight,
                idx_t max_exact, idx_t n_orders, seed, idx_t n_threads):
        """Return the Shapley values of rows.

        Parameters
        ----------
        X, background : float32 ndarrays of shape (n_rows, n_features)
        weight : float64 ndarray of shape (n_background,)
            Of the rows of the background; their sum is 1.
        max_exact : int
            Features up to which trees with several in a node are explained exactly.
        n_orders : int
            Orders, each with its reverse, that are drawn for a pair of rows in other trees.
        seed : int
            What they are drawn by.
        n_threads : int
            Number of threads; it changes nothing.

        Returns
        -------
        phi : ndarray of shape (n_rows, n_features, n_outputs * max_n_classes)
        """
        cdef Job job
        cdef idx_t n_rows = X.shape[0], n_items
        cdef Workspace space = Workspace()
        job.games = self._games
        job.n_games = self._n_games
        job.n_features = self._n_features
        job.n_values = self._n_values
        job.n_background = background.shape[0]
        job.n_chunks = min(job.n_background, max(1, FEW_ROWS // n_rows))
        job.x = &X[0, 0]
        job.background = &background[0, 0]
        job.weight = &weight[0]
        job.max_exact = max_exact
        job.n_orders = n_orders
        job.seed = seed
        n_items = n_rows * job.n_chunks
        out = np.zeros((n_rows, job.n_chunks, self._n_features, self._n_values))
        cdef double[:, :, :, ::1] phi = out
        job.phi = &phi[0, 0, 0, 0]
        n_threads = choose_threads(
            <double>PAIR_WORK * n_rows * job.n_background * self._n_games, n_threads
        )
        self._take_scratch(&job, space, min(n_threads, n_items))
        with nogil:
            run_items(explain_part, &job, n_items, n_threads, NULL)
        # Without BLAS, in one order.
        return out[:, 0] if job.n_chunks == 1 else np.add.reduce(out, axis=1)

    cdef int _take_scratch(self, Job* job, Workspace space, idx_t n_members) except -1:
        """Scratch for each thread."""
        cdef Scratch* own
        cdef idx_t k, a, b, n_used = self._n_used, n_values = self._n_values
        cdef double* table = <double*>space.take(TABLE * TABLE, sizeof(double))
        for a in range(TABLE):
            for b in range(TABLE):
                table[a * TABLE + b] = compute_weight(a, b) if a > 0 else 0.0
        job.scratch = <Scratch*>space.take(n_members, sizeof(Scratch))
        for k in range(n_members):
            own = &job.scratch[k]
            own.pair.z = <X_t*>space.take(self._n_features, sizeof(X_t))
            own.pair.is_open = <uint8_t*>space.take(self._n_features, sizeof(uint8_t))
            memset(own.pair.z, 0, self._n_features * sizeof(X_t))
            memset(own.pair.is_open, 0, self._n_features)
            own.walk.table = table
            own.walk.decision = <Decision*>space.take(n_used + 1, sizeof(Decision))
            own.walk.sums = <double*>space.take(2 * (n_used + 1) * n_values, sizeof(double))
            own.walk.leaf = <double*>space.take(n_values, sizeof(double))
            own.path.passed = <Passed*>space.take(self._depth + 1, sizeof(Passed))
            own.path.order = <int32_t*>space.take(n_used + 1, sizeof(int32_t))
            own.path.before = <double*>space.take(n_values, sizeof(double))
            own.path.after = <double*>space.take(n_values, sizeof(double))
            own.trial = <double*>space.take(self._n_features * n_values, sizeof(double))
        return 0
