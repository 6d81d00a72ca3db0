# Nodes of several trees, laid out for walking; a part of tree/predict.pyx.
#
# Three layouts. *Narrow*: 8 bytes a node, for trees whose every split is on one feature with
# weight 1. The threshold is rounded *down* to float32, so that x <= threshold keeps its
# truth for every float32 x, and kept as an integer key of the same order (core/simd/kernels.h);
# child and feature share one word. *Wide*: 16 bytes a node, with a float64 threshold; it
# serves whenever one tree exceeds what the narrow layout can hold (bits for children and
# features, leaf vectors) or has leaf models, which read the row as it is. *Oblique*: 32 bytes
# a node with the first of any number of terms; the others are beside it (terms.py).
#
# All keep the two children of a node in neighbouring slots, and a few generations of a
# family close together, so that a walk touches few cache lines. Slot 0 of a tree is
# unused and its root is slot 1: pairs then never straddle a cache line.
#
# A leaf that is pure keeps its class in its own slot; only other leaves have a vector.

import numpy as np

from libc.math cimport INFINITY, nextafterf
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from obtree.core.dispatch cimport (
    OBTREE_SET, NarrowNode, PlaneNode, PlaneTerms, Term, WideNode, obtree_make_key,
)
from obtree.core.team cimport check_signals
from obtree.core.types cimport idx_t
from obtree.tree.leaf_models cimport LeafModel
from obtree.tree.leaf_models import check_leaf_shapes
from obtree.tree.pack cimport NUMBER_BITS
from obtree.tree.category_sets import check_set_ranges
from obtree.tree.terms import PADDING, TERM, is_general, lay_terms

cdef enum:
    FAMILY = 7                    # pairs kept together: three generations, two cache lines
    FLAG_BITS = 3                 # below the feature in NarrowNode.packed, see traverse.h
    MAX_NARROW_FEATURES = 8192    # sixteen rows of that many features fill half a megabyte

# Steps are taken without looking until this fraction of the rows has arrived: looking costs
# more than the steps that arrived rows waste (0.1 was 15 to 25 % slower than 0.6).
UNCHECKED_QUANTILE = 0.6


cdef float round_down(double threshold) noexcept nogil:
    """The largest float32 that does not exceed the threshold."""
    cdef float rounded = <float>threshold
    if <double>rounded > threshold:
        rounded = nextafterf(rounded, <float>-INFINITY)
    return rounded


cdef idx_t place_nodes(const int32_t[::1] left, const int32_t[::1] right, int32_t[::1] position,
                       int32_t[::1] depth, int32_t[::1] stack) noexcept nogil:
    """Give every node a slot. Returns how many were reached, or -1 if two paths meet.

    Families are placed depth first; inside a family, generation by generation.
    """
    cdef int32_t family[2 * FAMILY + 1]
    cdef idx_t n_nodes = left.shape[0]
    cdef idx_t n_stack = 0
    cdef idx_t head, tail, n_pairs
    cdef int32_t node, a, b
    cdef int32_t slot = 2
    position[:] = 0
    position[0] = 1
    depth[0] = 0
    if left[0] != -1:
        stack[0] = 0
        n_stack = 1
    while n_stack > 0:
        n_stack -= 1
        family[0] = stack[n_stack]
        head = 0
        tail = 1
        n_pairs = 0
        while head < tail and n_pairs < FAMILY:
            node = family[head]
            head += 1
            a = left[node]
            b = right[node]
            if (a < 0 or a >= n_nodes or b < 0 or b >= n_nodes or a == b
                    or position[a] != 0 or position[b] != 0):
                return -1
            position[a] = slot
            position[b] = slot + 1
            slot += 2
            n_pairs += 1
            depth[a] = depth[b] = depth[node] + 1
            if left[a] != -1:
                family[tail] = a
                tail += 1
            if left[b] != -1:
                family[tail] = b
                tail += 1
        while tail > head:
            tail -= 1
            stack[n_stack] = family[tail]
            n_stack += 1
    return slot - 1


cdef int32_t find_pure_class(const double* value, idx_t n_classes) noexcept nogil:
    """The class that has the whole leaf, or -1."""
    cdef int32_t found = -1
    cdef idx_t k
    for k in range(n_classes):
        if value[k] == 0.0:
            continue
        if value[k] != 1.0 or found >= 0:
            return -1
        found = <int32_t>k
    return found


def has_unit_terms(tree):
    """Whether every split of the tree is on one feature with weight 1."""
    if is_general([tree]) or tree.set_ptr is not None:
        return False
    n_internal = tree.node_count - tree.n_leaves
    return tree.term_weight.size == n_internal and bool((tree.term_weight == 1.0).all())


def fits_narrow(tree, shift):
    """Whether a tree of unit terms can use the narrow layout."""
    return (
        not tree.leaf_kind.fields
        and tree.n_features <= MAX_NARROW_FEATURES
        and tree.node_count < 1 << (32 - shift)
        and max(tree.n_leaves, tree.value.shape[2]) < 1 << NUMBER_BITS
    )


def count_unchecked_steps(tree, depth):
    """Steps before the walk first looks for rows that have arrived, by training weights."""
    leaf = tree.children_left == -1
    reached = np.cumsum(np.bincount(depth[leaf], weights=tree.weighted_n_node_samples[leaf]))
    total = reached[len(reached) - 1]
    return int(np.searchsorted(reached, UNCHECKED_QUANTILE * total)) if total > 0 else 0


cdef class PackedForest:
    """Packed nodes of trees that share features, outputs and classes."""

    def __init__(self, trees):
        first = trees[0]
        self.n_outputs = first.n_outputs
        self.max_n_classes = first.value.shape[2]
        for tree in trees:
            if (tree.n_features != first.n_features
                    or tree.n_classes.tolist() != first.n_classes.tolist()):
                raise ValueError("trees of one predictor must share n_features and n_classes")
        self.view.n_trees = len(trees)
        self.view.n_features = first.n_features
        self.view.n_values = self.n_outputs * self.max_n_classes
        plain = [has_unit_terms(tree) for tree in trees]
        self.view.has_oblique = not all(plain)
        self.view.shift = FLAG_BITS + max(int(first.n_features - 1).bit_length(), 1)
        self.view.mask = (1 << self.view.shift) - (1 << FLAG_BITS)
        self.view.narrow = all(plain) and all(
            fits_narrow(tree, self.view.shift) for tree in trees
        )
        self._allocate(trees)
        if any(tree.leaf_kind.fields for tree in trees):
            self._bind_models(trees)

        longest = max(tree.node_count for tree in trees)
        scratch = np.empty((3, longest), dtype=np.int32)
        vectors = []
        for t, tree in enumerate(trees):
            check_signals()
            n_nodes = tree.node_count
            self._pack_tree(
                tree, t, scratch[0, :n_nodes], scratch[1, :n_nodes], scratch[2, :n_nodes], vectors
            )
        self.vectors = np.concatenate(vectors)

    def _allocate(self, trees):
        """Storage of the nodes: trees begin at cache lines."""
        start = np.zeros(len(trees) + 1, dtype=np.int64)
        start[1:] = np.cumsum([(tree.node_count + 8) // 8 * 8 for tree in trees])
        item = sizeof(NarrowNode) if self.view.narrow else sizeof(WideNode)
        if self.view.has_oblique:
            item = sizeof(PlaneNode)
        buffer = np.zeros(int(start[len(trees)]) * item + 64, dtype=np.uint8)
        lead = -buffer.ctypes.data % 64
        self._nodes = buffer[lead:]
        self._start = start
        self._n_unchecked = np.zeros(len(trees), dtype=np.int32)
        self._node_id = np.zeros(int(start[len(trees)]), dtype=np.int32)
        self._vector_start = np.zeros(len(trees) + 1, dtype=np.int64)
        self.view.start = &self._start[0]
        self.view.n_unchecked = &self._n_unchecked[0]
        self.view.node_id = &self._node_id[0]
        self.view.vector_start = &self._vector_start[0]
        cdef unsigned char[::1] nodes = self._nodes
        if self.view.has_oblique:
            self.view.plane_nodes = <const PlaneNode*>&nodes[0]
            self._join_terms(trees)
        elif self.view.narrow:
            self.view.narrow_nodes = <const NarrowNode*>&nodes[0]
        else:
            self.view.wide_nodes = <const WideNode*>&nodes[0]

    def _join_terms(self, trees):
        """The terms of all trees one after the other."""
        cdef const unsigned char[::1] table
        cdef const double[::1] long_weight
        cdef const int32_t[::1] long_feature
        cdef unsigned char[::1] starts
        cdef PlaneTerms* terms
        cdef idx_t t
        cdef idx_t n_table = 0, n_long = 0
        self.view.general = is_general(trees)
        parts = [lay_terms(tree, self.view.general) for tree in trees]
        padding = np.zeros(PADDING, dtype=TERM)
        joined = np.concatenate([part[0] for part in parts] + [padding]).view(np.uint8)
        # One entry more, so that there is a first one.
        weights = np.concatenate([part[1] for part in parts] + [np.zeros(1)])
        features = np.concatenate([part[2] for part in parts] + [np.zeros(1, dtype=np.int32)])
        memory = np.zeros(len(trees) * sizeof(PlaneTerms), dtype=np.uint8)
        table, long_weight, long_feature, starts = joined, weights, features, memory
        terms = <PlaneTerms*>&starts[0]
        for t in range(len(trees)):
            terms[t].term = <const Term*>&table[0] + n_table
            terms[t].n_terms = len(parts[t][0])
            terms[t].long_weight = &long_weight[0] + n_long
            terms[t].long_feature = &long_feature[0] + n_long
            n_table += len(parts[t][0])
            n_long += len(parts[t][1])
        self._terms = (joined, weights, features, memory, self._join_sets(trees, terms))
        self._term_ranges = [part[3:] for part in parts]
        self.view.terms = terms
        self.view.lower = NULL
        if any(tree.lower_threshold is not None for tree in trees):
            self._lower = np.full(self._start[len(trees)], -np.inf)
            self.view.lower = &self._lower[0]

    cdef object _join_sets(self, trees, PlaneTerms* terms):
        """The sets of categories of all trees one after the other; returns their owner."""
        cdef const uint16_t[::1] listed
        cdef idx_t t, n_listed = 0
        own = [np.zeros(0, dtype=np.uint16) if tree.set_ptr is None else tree.set_categories
               for tree in trees]
        listed = joined = np.concatenate([*own, np.zeros(1, dtype=np.uint16)])
        for t in range(len(trees)):
            terms[t].categories = &listed[0] + n_listed
            n_listed += len(own[t])
        return joined

    def _bind_models(self, trees):
        """Let leaf models read the arrays of the trees where they are."""
        cdef unsigned char[::1] memory = np.zeros(len(trees) * sizeof(void*), dtype=np.uint8)
        cdef void** models = <void**>&memory[0]
        cdef LeafModel model
        cdef idx_t t
        bound = []
        for t in range(len(trees)):
            tree = trees[t]
            if not tree.leaf_kind.fields:
                continue
            try:
                check_leaf_shapes(tree.leaf_kind, tree.leaf_arrays, tree.node_count,
                                  self.view.n_values, tree.n_features)
            except ValueError as error:
                raise ValueError(f"tree {t}: {error}") from None
            model = tree.leaf_kind(tree)
            bound.append(model)
            models[t] = <void*>model
        self._models = (np.asarray(memory), bound)
        self.view.models = models

    cdef int _pack_tree(self, tree, idx_t t, int32_t[::1] position, int32_t[::1] depth,
                        int32_t[::1] stack, list vectors) except -1:
        cdef const int32_t[::1] left = tree.children_left
        cdef const int32_t[::1] right = tree.children_right
        cdef const double[::1] threshold = tree.threshold
        cdef const unsigned char[::1] missing_left = tree.missing_go_left
        cdef const int64_t[::1] term_ptr = tree.term_ptr
        cdef const int32_t[::1] term_feature = tree.term_feature
        cdef const double[::1] term_weight = tree.term_weight
        cdef const double[:, :, ::1] value = tree.value
        cdef const int32_t[::1] partner = tree.term_partner
        cdef const double[::1] lower = tree.lower_threshold
        cdef const int64_t[::1] set_ptr = tree.set_ptr
        cdef idx_t n_nodes = left.shape[0]
        cdef NarrowNode* narrow = NULL
        cdef WideNode* wide = NULL
        cdef PlaneNode* planes = NULL
        cdef const uint32_t[::1] first
        cdef const int32_t[::1] n_more
        cdef idx_t node
        cdef int32_t slot, pure
        cdef int32_t child
        cdef int32_t n_vectors = 0
        cdef int32_t n_features = <int32_t>self.view.n_features
        cdef uint32_t number
        cdef uint64_t wide_bits
        cdef bint may_be_pure = self.n_outputs == 1 and self.max_n_classes > 1

        if place_nodes(left, right, position, depth, stack) != n_nodes:
            raise ValueError(f"tree {t}: its nodes do not form one tree")
        for node in range(term_feature.shape[0]):
            if term_feature[node] < 0 or term_feature[node] >= n_features:
                raise ValueError(f"tree {t}: term_feature {term_feature[node]} is out of range")
            if partner is not None and partner[node] >= n_features:
                raise ValueError(f"tree {t}: term_partner {partner[node]} is out of range")
        if set_ptr is not None:
            check_set_ranges(tree.set_ptr, tree.set_categories, n_nodes)
        if self.view.narrow:
            narrow = <NarrowNode*>self.view.narrow_nodes + self._start[t]
        elif self.view.has_oblique:
            planes = <PlaneNode*>self.view.plane_nodes + self._start[t]
            first, n_more = self._term_ranges[t]
        else:
            wide = <WideNode*>self.view.wide_nodes + self._start[t]

        # The stack has done its work: it now takes the numbers of the leaves with vectors.
        for node in range(n_nodes):
            slot = position[node]
            self._node_id[self._start[t] + slot] = <int32_t>node
            if left[node] == -1:
                pure = -1
                if may_be_pure:
                    pure = find_pure_class(&value[node, 0, 0], self.max_n_classes)
                number = <uint32_t>pure if pure >= 0 else <uint32_t>n_vectors
                if pure < 0:
                    stack[n_vectors] = <int32_t>node
                    n_vectors += 1
                if self.view.narrow:
                    narrow[slot].packed = <uint32_t>(slot - 1) << self.view.shift
                    narrow[slot].threshold = number | <uint32_t>(pure < 0) << NUMBER_BITS
                    continue
                wide_bits = (<uint64_t>0x7FF8 if pure >= 0 else <uint64_t>0xFFF8) << 48
                wide_bits |= number
                if self.view.has_oblique:
                    # The rest is zero: no further terms, and the first feature times nothing.
                    planes[slot].child = <uint32_t>(slot - 1) << 1
                    memcpy(&planes[slot].threshold, &wide_bits, sizeof(wide_bits))
                else:
                    wide[slot].child = <uint32_t>(slot - 1) << 1
                    wide[slot].feature = 0
                    memcpy(&wide[slot].threshold, &wide_bits, sizeof(wide_bits))
                continue
            child = position[left[node]]
            if self.view.narrow:
                narrow[slot].packed = (
                    <uint32_t>child << self.view.shift
                    | <uint32_t>term_feature[term_ptr[node]] << FLAG_BITS
                    | (missing_left[node] != 0)
                )
                narrow[slot].threshold = obtree_make_key(round_down(threshold[node]))
                continue
            if not self.view.has_oblique:
                wide[slot].threshold = threshold[node]
                wide[slot].child = <uint32_t>child << 1 | (missing_left[node] != 0)
                wide[slot].feature = term_feature[term_ptr[node]]
                continue
            planes[slot].threshold = threshold[node]
            planes[slot].weight = term_weight[term_ptr[node]]
            planes[slot].feature = term_feature[term_ptr[node]]
            planes[slot].child = <uint32_t>child << 1 | (missing_left[node] != 0)
            planes[slot].first = first[node]
            planes[slot].n_more = n_more[node]
            if set_ptr is not None and set_ptr[node + 1] > set_ptr[node]:
                planes[slot].weight = set_ptr[node + 1] - set_ptr[node]
                planes[slot].first = <uint32_t>set_ptr[node]
                planes[slot].n_more = OBTREE_SET
            if lower is not None:
                self._lower[self._start[t] + slot] = lower[node]

        self._vector_start[t + 1] = self._vector_start[t] + n_vectors
        vectors.append(tree.value.reshape(n_nodes, -1)[np.asarray(stack[:n_vectors])])
        self._n_unchecked[t] = count_unchecked_steps(tree, np.asarray(depth))
        return 0
