"""The order in which the nodes of a tree are split: depth first, or the best split first.

Best first is used when ``max_leaf_nodes`` is given. Complete trees, where every node down to some
depth is split, are grown by a builder of their own.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from obtree.builder.base cimport FrontierRecord, TreeBuilder
from obtree.core.memory cimport free_block, grow_block
from obtree.core.types cimport feature_t, idx_t, node_t, w_t
from obtree.criterion.base cimport NodeStats
from obtree.data.hyperplane cimport Hyperplane


cdef class DepthFirstBuilder(TreeBuilder):
    """A node's left subtree is finished before its right one begins."""

    cdef FrontierRecord* _stack
    cdef idx_t _capacity

    def __cinit__(self):
        self._stack = NULL
        self._capacity = 0
        self.in_order = True

    def __dealloc__(self):
        free_block(self._stack)

    cdef int grow(self) except -1 nogil:
        cdef FrontierRecord record, left, right
        cdef NodeStats stats
        cdef idx_t n_pending = 1
        self._reserve(2)
        self.open_root(&self._stack[0])
        while n_pending > 0 and not self.settings.stop[0]:
            n_pending -= 1
            record = self._stack[n_pending]
            if not self.open_node(&record, &stats):
                continue
            if self.split_node(&record, &stats, NULL, &left, &right) < 0:
                continue
            left.node = self.store.add_node()
            right.node = self.store.add_node()
            self.store.set_split(record.node, left.node, &self.result.plane)
            # The left child goes on top, so that its subtree comes first.
            self._reserve(n_pending + 2)
            self._stack[n_pending] = right
            self._stack[n_pending + 1] = left
            n_pending += 2
        return 0

    cdef int _reserve(self, idx_t n) except -1 nogil:
        if n > self._capacity:
            self._stack = <FrontierRecord*>grow_block(self._stack, 2 * n + 64,
                                                      sizeof(FrontierRecord))
            self._capacity = 2 * n + 64
        return 0


cdef struct Tentative:
    double improvement
    node_t node
    FrontierRecord left
    FrontierRecord right
    Hyperplane plane          # its terms are in blocks of its own


cdef class BestFirstBuilder(TreeBuilder):
    """The split that improves the tree most comes next.

    Every node is split tentatively as soon as it appears; a heap keeps the splits not made
    yet, the largest improvement on top (the oldest of equal ones). A tentative split has
    re-ordered the node's rows, which harms nothing when it is never made.
    """

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
        cdef FrontierRecord record
        cdef Tentative best
        cdef idx_t n_leaves = 1
        cdef int status = 0
        self._forget()
        self.open_root(&record)
        self._consider(&record)
        while self._n_heap > 0 and n_leaves < self.rule.max_leaf_nodes:
            if self.settings.stop[0]:
                break
            best = self._pop()
            best.left.node = self.store.add_node()
            best.right.node = self.store.add_node()
            status = self.store.set_split(best.node, best.left.node, &best.plane)
            free_terms(&best.plane)
            self._consider(&best.left)
            self._consider(&best.right)
            n_leaves += 1
        self._forget()
        return status

    cdef int _consider(self, FrontierRecord* record) except -1 nogil:
        """Record the node as a leaf and, if it can be split, the split for later."""
        cdef NodeStats stats
        cdef Tentative item
        # The prefix of constant features is only valid in depth-first order.
        record.inherited = 0
        if not self.open_node(record, &stats):
            return 0
        if self.split_node(record, &stats, &item.improvement, &item.left, &item.right) < 0:
            return 0
        item.node = record.node
        copy_terms(&self.result.plane, &item.plane)
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
            free_terms(&self._heap[k].plane)
        self._n_heap = 0


cdef void* copy_block(const void* block, size_t n_bytes) except? NULL nogil:
    """A copy of its own; NULL stays NULL."""
    cdef void* copy = NULL
    if block != NULL:
        copy = grow_block(NULL, n_bytes, 1)
        memcpy(copy, block, n_bytes)
    return copy


cdef int copy_terms(const Hyperplane* plane, Hyperplane* out) except -1 nogil:
    """Copy a plane, its terms into blocks of their own."""
    cdef size_t n = plane.n_terms
    out[0] = plane[0]
    out.feature = <feature_t*>copy_block(plane.feature, n * sizeof(feature_t))
    out.weight = <w_t*>copy_block(plane.weight, n * sizeof(w_t))
    out.partner = <feature_t*>copy_block(plane.partner, n * sizeof(feature_t))
    out.term_share = <double*>copy_block(plane.term_share, n * sizeof(double))
    n = plane.n_words
    out.members = <uint32_t*>copy_block(plane.members, n * sizeof(uint32_t))
    out.present = <uint32_t*>copy_block(plane.present, n * sizeof(uint32_t))
    return 0


cdef void free_terms(Hyperplane* plane) noexcept nogil:
    free_block(plane.feature)
    free_block(plane.weight)
    free_block(plane.partner)
    free_block(plane.term_share)
    free_block(<void*>plane.members)
    free_block(<void*>plane.present)


cdef inline bint is_better(const Tentative* a, const Tentative* b) noexcept nogil:
    """Larger improvement first, then the older node: one order on every machine."""
    if a.improvement != b.improvement:
        return a.improvement > b.improvement
    return a.node < b.node


include "levels.pxi"
