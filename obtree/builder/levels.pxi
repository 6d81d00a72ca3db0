# Growth level by level to the full depth: every node is split, whatever its rows are.
#
# What reads cells of 2 ** max_depth, as ferns do, needs all of them, those that no row reaches
# among them. A node without rows predicts what its parent does.

from libc.string cimport memcpy

from obtree.builder.base cimport FrontierRecord, TreeBuilder
from obtree.core.memory cimport free_block, grow_block
from obtree.core.types cimport FOUND, idx_t, node_t
from obtree.criterion.base cimport NodeStats
from obtree.data.hyperplane cimport init_plane
from obtree.data.term_share cimport measure_term_shares
from obtree.splitter.base cimport NodeTask


cdef class LevelBuilder(TreeBuilder):
    """Complete trees; of the stop rules only ``max_depth`` counts."""

    cdef FrontierRecord* _stack       # (max_depth + 1)

    def __cinit__(self):
        self._stack = NULL

    def __dealloc__(self):
        free_block(self._stack)

    cdef int grow(self) except -1 nogil:
        cdef FrontierRecord record, left, right
        cdef NodeStats stats
        cdef idx_t n_pending = 1
        self._stack = <FrontierRecord*>grow_block(self._stack, self.rule.max_depth + 2,
                                                  sizeof(FrontierRecord))
        self.open_root(&self._stack[0])
        while n_pending > 0 and not self.settings.stop[0]:
            n_pending -= 1
            record = self._stack[n_pending]
            if record.end > record.start:
                self.open_node(&record, &stats)
            if record.depth == self.rule.max_depth or not self._split_any(&record, &left, &right):
                continue
            left.node = self._add_child(record.node)
            right.node = self._add_child(record.node)
            self.store.set_split(record.node, left.node, &self.result.plane)
            self._stack[n_pending] = right
            self._stack[n_pending + 1] = left
            n_pending += 2
        return 0

    cdef node_t _add_child(self, node_t parent) except -1 nogil:
        """Store a node that has no rows, so far."""
        cdef node_t node = self.store.add_node()
        cdef idx_t size = self.store.value_size
        memcpy(self.store.value + node * size, self.store.value + parent * size,
               size * sizeof(double))
        self.store.impurity[node] = 0.0
        self.store.n_rows[node] = 0
        self.store.weight[node] = 0.0
        return node

    cdef bint _split_any(self, const FrontierRecord* record, FrontierRecord* left,
                         FrontierRecord* right) except -1 nogil:
        """Split a node into two, of which one may be empty, or both."""
        cdef NodeTask task
        cdef idx_t k
        task.rows = self.index.rows + record.start
        task.n = record.end - record.start
        task.depth = record.depth
        task.weight = self.index.weight
        task.inherited = 0
        task.limits.min_samples_leaf = 0
        task.limits.min_weight_leaf = 0.0
        task.limits.monotone = 0
        task.limits.lower = record.lower
        task.limits.upper = record.upper
        self.result.rank_cut = -1
        self.result.projection = NULL
        init_plane(&self.result.plane, self.result.plane.feature, self.result.plane.weight)
        if task.n > 0:
            self.block.load_node(self.index.rows, record.start, record.end)
        if self.splitter.node_split(&task, &self.result) != FOUND:
            return False
        # Told by the splitter for the whole level, not by the rows of the node.
        self.result.plane.missing_seen = True
        if self.result.plane.n_terms > 1:
            self.result.plane.term_share = self.term_share
            if task.n > 0:
                measure_term_shares(self.index.view, &self.result.plane, task.rows, task.n,
                                    task.weight, self.term_share)
            else:
                for k in range(self.result.plane.n_terms):
                    self.term_share[k] = 1.0 / self.result.plane.n_terms
        self.index.projection = self.result.projection
        left[0] = record[0]
        right[0] = record[0]
        left.depth = right.depth = record.depth + 1
        left.end = right.start = self.index.split(&self.result.plane, self.result.rank_cut,
                                                  record.start, record.end)
        return True
