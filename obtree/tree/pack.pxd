# The nodes of several trees, laid out for walking: see pack.pxi.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from obtree.core.dispatch cimport NarrowNode, PlaneNode, PlaneTerms, WideNode
from obtree.core.types cimport idx_t

# Leaves of the narrow layout: bits for a class or the number of a vector.
cdef enum:
    NUMBER_BITS = 22


cdef struct PackedView:
    idx_t n_trees
    idx_t n_features
    idx_t n_values                # n_outputs * max_n_classes
    bint narrow                   # which of the two node types is in use
    bint has_oblique              # some node has several terms or a weight other than 1
    int32_t shift
    uint32_t mask
    const NarrowNode* narrow_nodes
    const WideNode* wide_nodes    # one feature a node
    const int64_t* start          # n_trees + 1: first slot of each tree; its root is slot 1
    const int32_t* n_unchecked    # n_trees: steps to take before looking for leaves
    const int32_t* node_id        # by slot: the node's number in the Tree
    const int64_t* vector_start   # n_trees + 1: first leaf vector of each tree
    # Forests with oblique nodes, see terms.py; NULL in others.
    const PlaneNode* plane_nodes
    const PlaneTerms* terms       # n_trees: where the terms of each begin
    bint general                  # some tree has products or intervals
    const double* lower           # by slot; NULL when no node has an interval
    # (n_trees) the bound LeafModel of each tree, borrowed, NULL where leaves are constant; NULL
    # when they are in all trees.
    void** models


cdef inline bint read_leaf(const PackedView* view, idx_t slot, idx_t* number) noexcept nogil:
    """What the leaf in this slot holds: False and a class, or True and a leaf vector.

    Both are in the slot's threshold. Narrow: below every key, the number in the low bits
    and one bit above them for vectors. Others: a quiet NaN, its sign set for vectors.
    """
    cdef uint32_t bits
    cdef uint64_t wide_bits
    if view.narrow:
        bits = view.narrow_nodes[slot].threshold
        number[0] = bits & <uint32_t>((1 << NUMBER_BITS) - 1)
        return bits >> NUMBER_BITS
    if view.has_oblique:
        memcpy(&wide_bits, &view.plane_nodes[slot].threshold, sizeof(wide_bits))
    else:
        memcpy(&wide_bits, &view.wide_nodes[slot].threshold, sizeof(wide_bits))
    number[0] = <uint32_t>wide_bits
    return wide_bits >> 63
