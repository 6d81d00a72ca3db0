"""Growing arrays of nodes.

A store belongs to a worker and is emptied, not freed, between trees. `to_arrays`
copies a finished tree into NumPy arrays of exactly its size, with the terms in the
order of the nodes. Only the values, by far the largest array where there are many
classes, are not copied: they grow in an array that the tree then keeps.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from obtree.core.memory cimport free_block, grow_block
from obtree.core.types cimport feature_t, idx_t, node_t, w_t
from obtree.data.hyperplane cimport Hyperplane

cdef enum:
    NODE_BYTES = 64           # of a node, more or less, without its value
    RESERVED_BYTES = 33554432


cdef class NodeStore:

    def __init__(self, idx_t value_size):
        self.value_size = value_size

    def __dealloc__(self):
        free_block(self.left)
        free_block(self.threshold)
        free_block(self.first_term)
        free_block(self.term_count)
        free_block(self.missing_left)
        free_block(self.impurity)
        free_block(self.n_rows)
        free_block(self.weight)
        free_block(self.term_feature)
        free_block(self.term_weight)
        free_block(self.lower)
        free_block(self.term_partner)
        free_block(self.term_share)

    cdef void clear(self) noexcept nogil:
        self.n_nodes = 0
        self.n_terms = 0
        self.uses_lower = False
        self.uses_partner = False
        self.uses_share = False

    cdef int reserve(self, idx_t n_rows) except -1:
        """Make room for any tree on n_rows rows, or for a large one.

        Memory that is never written to costs nothing, and arrays that need not be moved
        leave no holes behind.
        """
        cdef idx_t n_bytes = NODE_BYTES + self.value_size * <idx_t>sizeof(double)
        self._lengthen_nodes(max(min(2 * n_rows, RESERVED_BYTES // n_bytes), <idx_t>256))
        self._lengthen_terms(max(min(n_rows, RESERVED_BYTES // n_bytes), <idx_t>256))
        return 0

    cdef int _lengthen_nodes(self, idx_t n) except -1 nogil:
        self.left = <node_t*>grow_block(self.left, n, sizeof(node_t))
        self.threshold = <double*>grow_block(self.threshold, n, sizeof(double))
        self.lower = <double*>grow_block(self.lower, n, sizeof(double))
        self.first_term = <int64_t*>grow_block(self.first_term, n, sizeof(int64_t))
        self.term_count = <int32_t*>grow_block(self.term_count, n, sizeof(int32_t))
        self.missing_left = <uint8_t*>grow_block(self.missing_left, n, sizeof(uint8_t))
        self.impurity = <double*>grow_block(self.impurity, n, sizeof(double))
        self.n_rows = <int64_t*>grow_block(self.n_rows, n, sizeof(int64_t))
        self.weight = <w_t*>grow_block(self.weight, n, sizeof(w_t))
        self._node_capacity = n
        return 0

    cdef int _lengthen_values(self, idx_t n) except -1 nogil:
        """Make room for the values of n nodes, those there are being kept."""
        cdef double[::1] values
        with gil:
            if self._values is None:
                self._values = np.empty(n * self.value_size)
            else:
                # Nobody else has the array.
                self._values.resize(n * self.value_size, refcheck=False)
            values = self._values
            self.value = &values[0]
        self._value_capacity = n
        return 0

    cdef node_t add_node(self) except -1 nogil:
        """Append an empty leaf and return its number."""
        cdef idx_t node = self.n_nodes
        if node == self._node_capacity:
            # By half: a large tree is a good part of what a fit takes.
            self._lengthen_nodes(node + node // 2 + 256)
        if node >= self._value_capacity:
            # The tree before tells how many there will be.
            self._lengthen_values(max(node + node // 2 + 256, self._n_expected))
        if node >= 2147483647:
            with gil:
                raise MemoryError("a tree cannot have 2**31 - 1 nodes or more")
        self.left[node] = -1
        self.threshold[node] = 0.0
        self.lower[node] = -INFINITY
        self.first_term[node] = 0
        self.term_count[node] = 0
        self.missing_left[node] = 0
        self.n_nodes += 1
        return <node_t>node

    cdef int _lengthen_terms(self, idx_t n_more) except -1 nogil:
        """Make room for more terms."""
        cdef idx_t n
        if self.n_terms + n_more <= self._term_capacity:
            return 0
        n = 2 * (self._term_capacity + n_more) + 256
        self.term_feature = <feature_t*>grow_block(self.term_feature, n, sizeof(feature_t))
        self.term_weight = <w_t*>grow_block(self.term_weight, n, sizeof(w_t))
        self.term_partner = <feature_t*>grow_block(self.term_partner, n, sizeof(feature_t))
        self.term_share = <double*>grow_block(self.term_share, n, sizeof(double))
        self._term_capacity = n
        return 0

    cdef int set_split(self, node_t node, node_t left, const Hyperplane* plane) except -1 nogil:
        """Turn a leaf into a split with children `left` and `left + 1`."""
        cdef idx_t k, at = self.n_terms
        self._lengthen_terms(plane.n_terms)
        for k in range(plane.n_terms):
            self.term_feature[at + k] = plane.feature[k]
            self.term_weight[at + k] = plane.weight[k]
            self.term_partner[at + k] = -1 if plane.partner == NULL else plane.partner[k]
            self.term_share[at + k] = 1.0 if plane.share == NULL else plane.share[k]
        self.uses_lower |= plane.lower > -INFINITY
        self.uses_partner |= plane.partner != NULL
        self.uses_share |= plane.share != NULL
        self.lower[node] = plane.lower
        self.left[node] = left
        self.threshold[node] = plane.threshold
        self.missing_left[node] = 2 if not plane.missing_seen else plane.missing_left != 0
        self.first_term[node] = self.n_terms
        self.term_count[node] = <int32_t>plane.n_terms
        self.n_terms += plane.n_terms
        return 0

    cdef dict to_arrays(self):
        """Copies for `obtree.tree.tree.Tree.from_arrays`, terms in node order."""
        cdef idx_t n = self.n_nodes, node, k, at = 0
        right = np.empty(n, dtype=np.int32)
        missing_left = np.empty(n, dtype=np.uint8)
        term_ptr = np.empty(n + 1, dtype=np.int64)
        term_feature = np.empty(self.n_terms, dtype=np.int32)
        term_weight = np.empty(self.n_terms, dtype=np.float64)
        order = np.empty(self.n_terms if self.uses_partner or self.uses_share else 0,
                         dtype=np.int64)
        cdef int32_t[::1] rights = right
        cdef uint8_t[::1] sides = missing_left
        cdef int64_t[::1] pointers = term_ptr
        cdef int32_t[::1] features = term_feature
        cdef double[::1] weights = term_weight
        cdef int64_t[::1] source = order
        pointers[0] = 0
        for node in range(n):
            rights[node] = self.left[node] + 1 if self.left[node] >= 0 else -1
            sides[node] = self.missing_left[node]
            if sides[node] == 2:
                sides[node] = (self.weight[self.left[node]] > self.weight[rights[node]])
            for k in range(self.first_term[node],
                           self.first_term[node] + self.term_count[node]):
                features[at] = self.term_feature[k]
                weights[at] = self.term_weight[k]
                if source.shape[0]:
                    source[at] = k
                at += 1
            pointers[node + 1] = at
        arrays = {
            "children_left": copy_array(self.left, n, np.int32),
            "children_right": right,
            "threshold": copy_array(self.threshold, n, np.float64),
            "term_ptr": term_ptr,
            "term_feature": term_feature,
            "term_weight": term_weight,
            "missing_go_left": missing_left,
            "impurity": copy_array(self.impurity, n, np.float64),
            "n_node_samples": copy_array(self.n_rows, n, np.int64),
            "weighted_n_node_samples": copy_array(self.weight, n, np.float64),
            "value": self._take_values(),
        }
        if self.uses_lower:
            arrays["lower_threshold"] = copy_array(self.lower, n, np.float64)
        if self.uses_partner:
            arrays["term_partner"] = copy_array(self.term_partner, self.n_terms, np.int32)[order]
        if self.uses_share:
            shares = copy_array(self.term_share, self.n_terms, np.float64)
            arrays["term_share"] = shares[order].astype(np.float32)
        return arrays

    cdef object _take_values(self):
        """The values, which are the tree's from now on."""
        values = self._values
        values.resize(self.n_nodes * self.value_size, refcheck=False)
        self._n_expected = self.n_nodes + self.n_nodes // 16
        self._values = None
        self.value = NULL
        self._value_capacity = 0
        return values


cdef object copy_array(const void* source, idx_t n, dtype):
    """A NumPy array with a copy of n items."""
    array = np.empty(n, dtype=dtype)
    cdef uint8_t[::1] target = array.view(np.uint8)
    if n:
        memcpy(&target[0], source, target.shape[0])
    return array
