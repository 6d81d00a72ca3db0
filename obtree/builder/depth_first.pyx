"""Depth-first growth: a node's left subtree is finished before its right one begins."""

from obtree.builder.base cimport OpenNode, TreeBuilder
from obtree.core.memory cimport free_block, grow_block
from obtree.core.types cimport idx_t
from obtree.criterion.base cimport NodeStats


cdef class DepthFirstBuilder(TreeBuilder):

    cdef OpenNode* _stack
    cdef idx_t _capacity

    def __cinit__(self):
        self._stack = NULL
        self._capacity = 0
        self.in_order = True

    def __dealloc__(self):
        free_block(self._stack)

    cdef int grow(self) except -1 nogil:
        cdef OpenNode open, left, right
        cdef NodeStats stats
        cdef idx_t n_open = 1
        self._reserve(2)
        self.open_root(&self._stack[0])
        while n_open > 0 and not self.settings.stop[0]:
            n_open -= 1
            open = self._stack[n_open]
            if not self.open_node(&open, &stats):
                continue
            if self.split_node(&open, &stats, NULL, &left, &right) < 0:
                continue
            left.node = self.store.add_node()
            right.node = self.store.add_node()
            self.store.set_split(open.node, left.node, &self.result.plane)
            # The left child goes on top, so that its subtree comes first.
            self._reserve(n_open + 2)
            self._stack[n_open] = right
            self._stack[n_open + 1] = left
            n_open += 2
        return 0

    cdef int _reserve(self, idx_t n) except -1 nogil:
        if n > self._capacity:
            self._stack = <OpenNode*>grow_block(self._stack, 2 * n + 64, sizeof(OpenNode))
            self._capacity = 2 * n + 64
        return 0
