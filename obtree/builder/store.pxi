# Growing arrays of nodes.
#
# A store belongs to a worker and is emptied, not freed, between trees. What a tree keeps as
# it was written grows in NumPy arrays that are handed over; only the terms are copied, into
# the order of the nodes. A large tree is therefore in memory once, also while it is finished.
# Arrays that few trees need are written from the first node on that needs them: memory that
# was never written to costs nothing.

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from obtree.core.memory cimport free_block, grow_block
from obtree.core.types cimport feature_t, idx_t, node_t, w_t
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.missing cimport heavier_is_left

cdef enum:
    NODE_BYTES = 64           # of a node, more or less, without its value
    RESERVED_BYTES = 33554432

# What is handed over, one item for each node and value_size for "value".
KEPT = {
    "children_left": np.int32,
    "threshold": np.float64,
    "impurity": np.float64,
    "n_node_samples": np.int64,
    "weighted_n_node_samples": np.float64,
    "value": np.float64,
}


cdef class NodeStore:

    def __init__(self, idx_t value_size):
        self.value_size = value_size
        self._kept = {}

    def __dealloc__(self):
        free_block(self.first_term)
        free_block(self.term_count)
        free_block(self.missing_left)
        free_block(self.term_feature)
        free_block(self.term_weight)
        free_block(self.lower)
        free_block(self.term_partner)
        free_block(self.term_share)
        free_block(self.first_category)
        free_block(self.category_count)
        free_block(self.category)

    cdef void clear(self) noexcept nogil:
        self.n_nodes = 0
        self.n_terms = 0
        self.uses_lower = False
        self.uses_partner = False
        self.uses_term_share = False
        self.uses_sets = False
        self.n_categories = 0

    cdef int reserve(self, idx_t n_rows) except -1:
        """Make room for any tree on n_rows rows, or for a large one.

        Arrays that need not be moved leave no holes behind.
        """
        cdef idx_t n_bytes = NODE_BYTES + self.value_size * <idx_t>sizeof(double)
        cdef idx_t n = max(min(2 * n_rows, RESERVED_BYTES // n_bytes), <idx_t>256)
        self._n_expected = n
        self._lengthen_nodes(n)
        self._lengthen_terms(max(min(n_rows, RESERVED_BYTES // n_bytes), <idx_t>256))
        return 0

    cdef int _lengthen_nodes(self, idx_t n) except -1 nogil:
        """Make room for n nodes in the arrays that stay with the store."""
        self.lower = <double*>grow_block(self.lower, n, sizeof(double))
        self.first_category = <int64_t*>grow_block(self.first_category, n, sizeof(int64_t))
        self.category_count = <int32_t*>grow_block(self.category_count, n, sizeof(int32_t))
        self.first_term = <int64_t*>grow_block(self.first_term, n, sizeof(int64_t))
        self.term_count = <int32_t*>grow_block(self.term_count, n, sizeof(int32_t))
        self.missing_left = <uint8_t*>grow_block(self.missing_left, n, sizeof(uint8_t))
        self._node_capacity = n
        return 0

    cdef int _lengthen_kept(self, idx_t n) except -1:
        """Make room for n nodes in the arrays to be handed over; what is there remains."""
        for name, dtype in KEPT.items():
            size = n * self.value_size if name == "value" else n
            if name in self._kept:
                # Nobody else has the array.
                self._kept[name].resize(size, refcheck=False)
            else:
                self._kept[name] = np.empty(size, dtype=dtype)
        self.left = <node_t*>find_data(self._kept["children_left"])
        self.threshold = <double*>find_data(self._kept["threshold"])
        self.impurity = <double*>find_data(self._kept["impurity"])
        self.n_rows = <int64_t*>find_data(self._kept["n_node_samples"])
        self.weight = <w_t*>find_data(self._kept["weighted_n_node_samples"])
        self.value = <double*>find_data(self._kept["value"])
        self._kept_capacity = n
        return 0

    cdef node_t add_node(self) except -1 nogil:
        """Append an empty leaf and return its number."""
        cdef idx_t node = self.n_nodes
        if node == self._node_capacity:
            # By half: a large tree is a good part of what a fit takes.
            self._lengthen_nodes(node + node // 2 + 256)
        if node >= self._kept_capacity:
            # The tree before tells how many there will be.
            with gil:
                self._lengthen_kept(max(node + node // 2 + 256, self._n_expected))
        if node >= 2147483647:
            with gil:
                raise MemoryError("a tree cannot have 2**31 - 1 nodes or more")
        self.left[node] = -1
        self.threshold[node] = 0.0
        if self.uses_lower:
            self.lower[node] = -INFINITY
        if self.uses_sets:
            self.category_count[node] = 0
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
        self._set_optional_fields(node, plane)
        if plane.members != NULL:
            self._keep_set(node, plane)
        self.left[node] = left
        self.threshold[node] = plane.threshold
        self.missing_left[node] = 2 if not plane.missing_seen else plane.missing_left != 0
        self.first_term[node] = self.n_terms
        self.term_count[node] = <int32_t>plane.n_terms
        self.n_terms += plane.n_terms
        return 0

    cdef void _set_optional_fields(self, node_t node, const Hyperplane* plane) noexcept nogil:
        """Write what few trees need, and once for all nodes and terms before."""
        cdef idx_t k, at = self.n_terms
        if plane.lower > -INFINITY and not self.uses_lower:
            self.uses_lower = True
            for k in range(self.n_nodes):
                self.lower[k] = -INFINITY
        if plane.partner != NULL and not self.uses_partner:
            self.uses_partner = True
            for k in range(at):
                self.term_partner[k] = -1
        if plane.term_share != NULL and not self.uses_term_share:
            self.uses_term_share = True
            for k in range(at):
                self.term_share[k] = 1.0
        if self.uses_lower:
            self.lower[node] = plane.lower
        if self.uses_partner:
            for k in range(plane.n_terms):
                self.term_partner[at + k] = -1 if plane.partner == NULL else plane.partner[k]
        if self.uses_term_share:
            for k in range(plane.n_terms):
                self.term_share[at + k] = 1.0 if plane.term_share == NULL else plane.term_share[k]

    cdef int _keep_set(self, node_t node, const Hyperplane* plane) except -1 nogil:
        """Append the categories that rows of a node have, and where they go."""
        cdef idx_t k, n = 0
        cdef uint32_t bits, c
        if not self.uses_sets:
            self.uses_sets = True
            for k in range(self.n_nodes):
                self.category_count[k] = 0
        if self.n_categories + 32 * plane.n_words > self._category_capacity:
            n = 2 * (self.n_categories + 32 * plane.n_words) + 256
            self.category = <uint32_t*>grow_block(self.category, n, sizeof(uint32_t))
            self._category_capacity = n
        self.first_category[node] = self.n_categories
        for k in range(plane.n_words):
            bits = plane.present[k]
            c = <uint32_t>(32 * k)
            while bits:
                if bits & 1:
                    self.category[self.n_categories] = (
                        2 * c + (plane.members[k] >> (c & 31) & 1)
                    )
                    self.n_categories += 1
                bits >>= 1
                c += 1
        self.category_count[node] = <int32_t>(self.n_categories - self.first_category[node])
        return 0

    cdef dict to_arrays(self, idx_t n_outputs):
        """The arrays of `obtree.tree.tree.Tree.from_arrays`, terms in node order.

        The store is without nodes then: `clear` it before it is used again.
        """
        cdef idx_t n = self.n_nodes, node, k, at = 0
        right = np.empty(n, dtype=np.int32)
        missing_left = np.empty(n, dtype=np.uint8)
        term_ptr = np.empty(n + 1, dtype=np.int64)
        term_feature = np.empty(self.n_terms, dtype=np.int32)
        term_weight = np.empty(self.n_terms, dtype=np.float64)
        order = np.empty(self.n_terms if self.uses_partner or self.uses_term_share else 0,
                         dtype=np.int64)
        cdef int32_t[::1] rights = right
        cdef uint8_t[::1] sides = missing_left
        cdef int64_t[::1] pointers = term_ptr
        cdef int32_t[::1] features = term_feature
        cdef double[::1] weights = term_weight
        cdef int64_t[::1] place = order
        pointers[0] = 0
        for node in range(n):
            rights[node] = self.left[node] + 1 if self.left[node] >= 0 else -1
            sides[node] = self.missing_left[node]
            if sides[node] == 2:
                sides[node] = heavier_is_left(self.weight[self.left[node]],
                                              self.weight[rights[node]])
            for k in range(self.first_term[node],
                           self.first_term[node] + self.term_count[node]):
                features[at] = self.term_feature[k]
                if self.source != NULL:
                    features[at] = self.source[features[at]]
                weights[at] = self.term_weight[k]
                if place.shape[0]:
                    place[at] = k
                at += 1
            pointers[node + 1] = at
        arrays = self._take_kept()
        arrays["value"].resize((n, n_outputs, self.value_size // n_outputs), refcheck=False)
        arrays |= {
            "children_right": right,
            "term_ptr": term_ptr,
            "term_feature": term_feature,
            "term_weight": term_weight,
            "missing_go_left": missing_left,
        }
        if self.uses_lower:
            arrays["lower_threshold"] = np.array(<double[:n]>self.lower)
        if self.uses_partner:
            partner = np.asarray(<int32_t[:self.n_terms]>self.term_partner)[order]
            if self.source != NULL:
                source = np.asarray(<feature_t[:max(partner.max() + 1, 1)]>self.source)
                partner = np.where(partner < 0, -1, source[partner])
            arrays["term_partner"] = partner
        if self.uses_term_share:
            shares = np.asarray(<double[:self.n_terms]>self.term_share)[order]
            arrays["term_share"] = shares.astype(np.float32)
        if self.uses_sets:
            arrays |= self._list_sets(missing_left)
        return arrays

    cdef dict _list_sets(self, const uint8_t[::1] missing_left):
        """The categories of each node that go to the other side than missing ones.

        Those that no row of a node had go where missing ones go.
        """
        cdef idx_t n = self.n_nodes, node, k, at = 0
        cdef uint32_t item
        ptr = np.zeros(n + 1, dtype=np.int64)
        codes = np.empty(self.n_categories, dtype=np.uint16)
        cdef int64_t[::1] pointers = ptr
        cdef uint16_t[::1] out = codes
        for node in range(n):
            for k in range(self.category_count[node]):
                item = self.category[self.first_category[node] + k]
                if (item & 1) != missing_left[node]:
                    out[at] = <uint16_t>(item >> 1)
                    at += 1
            pointers[node + 1] = at
        return {"set_ptr": ptr, "set_categories": codes[:at].copy()}

    cdef dict _take_kept(self):
        """The arrays that are the tree's from now on, cut to its size."""
        kept = self._kept
        for name, array in kept.items():
            if name != "value":
                array.resize(self.n_nodes, refcheck=False)
        self._kept = {}
        self._kept_capacity = 0
        self._n_expected = self.n_nodes + self.n_nodes // 16
        return kept


cdef void* find_data(array) except NULL:
    """Where the items of an array lie."""
    cdef uint8_t[::1] data = array.view(np.uint8)
    return &data[0]
