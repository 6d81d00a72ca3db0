"""The steps of growing a tree, in whatever order nodes are taken.

`open_node` loads a node into the criterion, records what a leaf made of it would
predict and says whether it may be split; `split_node` asks the splitter, lets the
sample index re-order the rows and checks the outcome against the stop rule.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int8_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport FOUND, feature_t, idx_t, impurity_epsilon, w_t
from obtree.criterion.base cimport Criterion, NodeStats
from obtree.data.dataset cimport DataView, view_numbers
from obtree.data.fit cimport FitView
from obtree.data.hyperplane cimport EXTRA_TERMS, init_plane
from obtree.data.partition cimport RankBlock, SampleIndex
from obtree.data.term_share cimport measure_term_shares
from obtree.splitter.base cimport NodeTask, Splitter, TreeTask

from obtree.splitter.categories import CategoryRival

include "store.pxi"


cdef class TreeBuilder:
    """Grows one tree after the other, in the memory of one worker."""

    cdef int bind(self, const FitView* fit, Criterion criterion, Splitter splitter, rule,
                  Workspace workspace) except -1:
        """Take scratch and hand the collaborators what they need; once per worker."""
        cdef const int8_t[::1] signs
        cdef const float[::1] relevance
        cdef const DataView* view = fit.data
        cdef idx_t max_terms = view.n_features + EXTRA_TERMS
        self.rule.max_depth = rule.max_depth
        self.rule.min_samples_split = rule.min_samples_split
        self.rule.min_samples_leaf = rule.min_samples_leaf
        self.rule.min_weight_fraction_leaf = rule.min_weight_fraction_leaf
        self.rule.min_impurity_decrease = rule.min_impurity_decrease
        self.rule.max_leaf_nodes = rule.max_leaf_nodes
        self.settings.max_features = rule.max_features
        self.settings.monotonic = NULL
        self.settings.relevance = NULL
        self.settings.stop = fit.stop
        self.constrained = rule.monotonic_cst is not None
        order = slice(None)
        if view.source != NULL:
            order = np.asarray(<feature_t[:view.n_features]>view.source)
        if self.constrained:
            self._monotonic = np.ascontiguousarray(np.asarray(rule.monotonic_cst)[order],
                                                   dtype=np.int8)
            signs = self._monotonic
            self.settings.monotonic = &signs[0]
        if rule.relevance is not None:
            self._relevance = np.ascontiguousarray(np.asarray(rule.relevance)[order],
                                                   dtype=np.float32)
            relevance = self._relevance
            self.settings.relevance = &relevance[0]
        if view.n_categorical and not type(splitter).splits_categories:
            splitter = CategoryRival(splitter)
        self.criterion = criterion
        self.splitter = splitter
        self.index = SampleIndex()
        # Of a node's rows the criterion reads X itself, not the block.
        criterion.bind(view_numbers(view), fit.targets, workspace, view.n_samples)
        self.store = NodeStore(criterion.value_size)
        self.store.source = view.source
        self.store.reserve(view.n_samples)
        self.block = RankBlock()
        self.block.bind(view, self.in_order and splitter.reads_whole_nodes, workspace)
        # The splitter first: of what the workspace shares it wants most.
        splitter.bind(&self.block.view, fit.targets, criterion, &self.settings, workspace)
        self.index.bind(&self.block.view, workspace)
        self.result.plane.feature = <feature_t*>workspace.take(max_terms, sizeof(feature_t))
        self.result.plane.weight = <w_t*>workspace.take(max_terms, sizeof(w_t))
        self.result.partner = <feature_t*>workspace.take(max_terms, sizeof(feature_t))
        self.term_share = <double*>workspace.take(max_terms, sizeof(double))
        return 0

    cdef int begin_tree(self, RandState* rng) except -1 nogil:
        """Empty the store; index.weight says which rows the tree grows on."""
        cdef TreeTask task
        self.store.clear()
        self.index.fill()
        self.block.begin_tree()
        self.min_weight_leaf = self.rule.min_weight_fraction_leaf * self.index.total_weight
        self.criterion.begin_tree(self.index.rows, self.index.n_rows, self.index.weight)
        task.rows = self.index.rows
        task.n = self.index.n_rows
        task.weight = self.index.weight
        task.rng = rng
        self.splitter.begin_tree(&task)
        return 0

    cdef int open_root(self, FrontierRecord* record) except -1 nogil:
        """Store the root; all rows of the tree are in it."""
        record.node = self.store.add_node()
        record.start = 0
        record.end = self.index.n_rows
        record.depth = 0
        record.inherited = 0
        record.lower = -INFINITY
        record.upper = INFINITY
        return 0

    cdef bint open_node(self, const FrontierRecord* record, NodeStats* stats) except -1 nogil:
        """Load a node and record it as a leaf; whether it may be split further."""
        cdef idx_t n = record.end - record.start
        cdef double* value = self.store.value + record.node * self.store.value_size
        self.criterion.load_node(self.index.rows + record.start, n, self.index.weight, stats)
        self.criterion.node_value(value)
        if self.constrained:
            self.criterion.clip_value(value, record.lower, record.upper)
        self.store.impurity[record.node] = stats.impurity
        self.store.n_rows[record.node] = n
        self.store.weight[record.node] = stats.weight
        return (
            record.depth < self.rule.max_depth
            and n >= self.rule.min_samples_split
            and n >= 2 * self.rule.min_samples_leaf
            and stats.weight >= 2.0 * self.min_weight_leaf
            and stats.impurity > self.criterion.negligible
        )

    cdef idx_t split_node(self, const FrontierRecord* record, const NodeStats* stats,
                          double* improvement, FrontierRecord* left,
                          FrontierRecord* right) except -2 nogil:
        """Split the node that was opened last; -1 when it stays a leaf.

        OUT left, right: the children, not yet stored. OUT improvement (NULL: not
        wanted): decrease of the impurity, weighted by the node's fraction of the tree.
        Returns where the right child's rows begin.
        """
        cdef NodeTask task
        cdef NodeStats stats_left, stats_right
        cdef idx_t pos
        cdef double gain, slack, middle
        cdef int sign
        task.rows = self.index.rows + record.start
        task.n = record.end - record.start
        task.depth = record.depth
        task.weight = self.index.weight
        task.inherited = record.inherited
        task.limits.min_samples_leaf = self.rule.min_samples_leaf
        task.limits.min_weight_leaf = self.min_weight_leaf
        task.limits.monotone = 0
        task.limits.lower = record.lower
        task.limits.upper = record.upper
        self.result.rank_cut = -1
        self.result.projection = NULL
        self.result.inherited = 0
        init_plane(&self.result.plane, self.result.plane.feature, self.result.plane.weight)
        self.block.load_node(self.index.rows, record.start, record.end)
        if self.splitter.node_split(&task, &self.result) != FOUND:
            return -1
        if self.result.plane.n_terms > 1:
            self.result.plane.term_share = self.term_share
            measure_term_shares(self.index.view, &self.result.plane, task.rows, task.n, task.weight,
                                self.term_share)
        # Of a set, also the splitter knows.
        if self.result.plane.members == NULL or not self.result.plane.missing_seen:
            self.result.plane.missing_seen = self.index.lacks_value(&self.result.plane,
                                                                    record.start, record.end)
        self.index.projection = self.result.projection
        pos = self.index.split(&self.result.plane, self.result.rank_cut, record.start, record.end)
        # The partition is the truth: a side that came out too small is no split.
        if (pos - record.start < self.rule.min_samples_leaf
                or record.end - pos < self.rule.min_samples_leaf
                or pos == record.start or pos == record.end):
            return -1
        left.start = record.start
        left.end = pos
        right.start = pos
        right.end = record.end
        left.depth = right.depth = record.depth + 1
        left.inherited = right.inherited = self.result.inherited
        left.lower = right.lower = record.lower
        left.upper = right.upper = record.upper
        if (improvement == NULL and not self.constrained
                and self.min_weight_leaf == 0.0 and self.rule.min_impurity_decrease == 0.0):
            return pos
        self.criterion.load_node(self.index.rows + left.start, left.end - left.start,
                                 self.index.weight, &stats_left)
        self.criterion.load_node(self.index.rows + right.start, right.end - right.start,
                                 self.index.weight, &stats_right)
        if min(stats_left.weight, stats_right.weight) < self.min_weight_leaf:
            return -1
        gain = (stats.weight / self.index.total_weight) * (
            stats.impurity
            - stats_left.weight / stats.weight * stats_left.impurity
            - stats_right.weight / stats.weight * stats_right.impurity
        )
        # A gain that was asked for exactly may fall short of it by rounding.
        slack = 4.0 * impurity_epsilon() * stats.weight / self.index.total_weight * stats.impurity
        if (self.rule.min_impurity_decrease > 0.0
                and gain + slack < self.rule.min_impurity_decrease):
            return -1
        if improvement != NULL:
            improvement[0] = gain
        if self.constrained:
            sign = self.settings.monotonic[self.result.plane.feature[0]]
            middle = 0.5 * (stats_left.level + stats_right.level)
            if sign > 0:
                left.upper = middle
                right.lower = middle
            elif sign < 0:
                left.lower = middle
                right.upper = middle
        return pos

    cdef int grow(self) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__} must implement grow")
