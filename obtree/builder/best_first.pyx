"""Best-first growth: the split that improves the tree most comes next.

Used when ``max_leaf_nodes`` is given. Every node is split tentatively as soon as it
appears; a heap keeps the splits not made yet, the largest improvement on top (the
oldest of equal ones). A tentative split has re-ordered the node's rows, which harms
nothing when it is never made.
"""

from obtree.builder.base cimport OpenNode, TreeBuilder
from obtree.core.memory cimport free_block, grow_block
from obtree.core.types cimport feature_t, idx_t, node_t, w_t
from obtree.criterion.base cimport NodeStats
from obtree.data.hyperplane cimport Hyperplane


cdef struct Tentative:
    double improvement
    node_t node
    OpenNode left
    OpenNode right
    Hyperplane plane          # its terms are in blocks of its own


cdef class BestFirstBuilder(TreeBuilder):

    cdef Tentative* _heap
    cdef idx_t _n_heap
    cdef idx_t _capacity

    def __cinit__(self):
        self._heap = NULL
        self._n_heap = 0
        self._capacity = 0

    def __dealloc__(self):
        self._forget()
        free_block(self._heap)

    cdef int grow(self) except -1 nogil:
        cdef OpenNode open
        cdef Tentative best
        cdef idx_t n_leaves = 1
        cdef int status = 0
        self._forget()
        self.open_root(&open)
        self._consider(&open)
        while self._n_heap > 0 and n_leaves < self.rule.max_leaf_nodes:
            if self.settings.stop[0]:
                break
            best = self._pop()
            best.left.node = self.store.add_node()
            best.right.node = self.store.add_node()
            status = self.store.set_split(best.node, best.left.node, &best.plane)
            free_block(best.plane.feature)
            free_block(best.plane.weight)
            self._consider(&best.left)
            self._consider(&best.right)
            n_leaves += 1
        self._forget()
        return status

    cdef int _consider(self, OpenNode* open) except -1 nogil:
        """Record the node as a leaf and, if it can be split, the split for later."""
        cdef NodeStats stats
        cdef Tentative item
        cdef idx_t k
        # The prefix of constant features is only valid in depth-first order.
        open.inherited = 0
        if not self.open_node(open, &stats):
            return 0
        if self.split_node(open, &stats, &item.improvement, &item.left, &item.right) < 0:
            return 0
        item.node = open.node
        item.plane = self.result.plane
        item.plane.feature = <feature_t*>grow_block(NULL, item.plane.n_terms, sizeof(feature_t))
        item.plane.weight = <w_t*>grow_block(NULL, item.plane.n_terms, sizeof(w_t))
        for k in range(item.plane.n_terms):
            item.plane.feature[k] = self.result.plane.feature[k]
            item.plane.weight[k] = self.result.plane.weight[k]
        self._push(&item)
        return 0

    # ---- heap: every item is no better than the one at (k - 1) // 2 -----------------

    cdef int _push(self, const Tentative* item) except -1 nogil:
        cdef idx_t k = self._n_heap, up
        if k == self._capacity:
            self._heap = <Tentative*>grow_block(self._heap, 2 * k + 64, sizeof(Tentative))
            self._capacity = 2 * k + 64
        self._n_heap += 1
        while k > 0:
            up = (k - 1) // 2
            if not is_better(item, &self._heap[up]):
                break
            self._heap[k] = self._heap[up]
            k = up
        self._heap[k] = item[0]
        return 0

    cdef Tentative _pop(self) noexcept nogil:
        cdef Tentative top = self._heap[0]
        cdef Tentative last
        cdef idx_t k = 0, down
        self._n_heap -= 1
        last = self._heap[self._n_heap]
        while True:
            down = 2 * k + 1
            if down >= self._n_heap:
                break
            if down + 1 < self._n_heap and is_better(&self._heap[down + 1], &self._heap[down]):
                down += 1
            if not is_better(&self._heap[down], &last):
                break
            self._heap[k] = self._heap[down]
            k = down
        self._heap[k] = last
        return top

    cdef void _forget(self) noexcept nogil:
        """Drop the splits that were never made."""
        cdef idx_t k
        for k in range(self._n_heap):
            free_block(self._heap[k].plane.feature)
            free_block(self._heap[k].plane.weight)
        self._n_heap = 0


cdef inline bint is_better(const Tentative* a, const Tentative* b) noexcept nogil:
    """Larger improvement first, then the older node: one order on every machine."""
    if a.improvement != b.improvement:
        return a.improvement > b.improvement
    return a.node < b.node
