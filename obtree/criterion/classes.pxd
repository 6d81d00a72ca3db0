# What the classification criteria share: class counts of the node and of its left part.

from libc.stdint cimport int32_t, uint32_t

from obtree.core.types cimport idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, FlipBase, RankColumn
from obtree.criterion.class_sums cimport ClassNode


cdef class ClassCriterion(Criterion):
    cdef const int32_t* _y            # codes of the targets
    cdef ClassNode node
    cdef FlipBase flips
    cdef bint whole_weights           # every weight of the tree is a whole number
    cdef bint packs                   # ... and small enough to share a word with the class
    cdef uint32_t* packed             # (n) class and weight << 16 of the node's rows
    cdef uint32_t* packed_of          # (n_samples) the same by row of X
    cdef uint32_t* counts             # (2 * n_padded) packed rows by slot, then scratch
    cdef idx_t n_loaded               # rows of the node
    # A node low in the tree has few of many classes. Where `compacts` says so the others
    # are left out of node.total and node.left, and the packed rows hold compact slots.
    cdef bint compacts
    cdef w_t* class_total             # (n_class_padded) weights of all slots in the node
    cdef w_t* present_total           # (n_class_padded) of those present
    cdef uint32_t* slot_of            # (n_class_padded) compact slot of a present one
    cdef uint32_t* class_of           # (n_class_padded + 1) and back, ascending
    cdef idx_t n_present              # classes of the node in class_of; -1: not known
    cdef idx_t n_class_slots          # node.n_slots and node.n_padded of all classes
    cdef idx_t n_class_padded
    cdef w_t* bins                    # (n_bins * n_padded) weights, zero between calls
    cdef uint32_t* bin_rows           # (n_bins) rows, zero between calls
    cdef idx_t max_bins
    cdef double relative_margin       # rounding of a cut's score as a fraction of the weight
    cdef double slots_per_row         # slots whose sweep costs what bins save for a row

    cdef w_t load_packed(self, const row_t* rows, idx_t n) noexcept nogil
    cdef w_t load_rows(self, const row_t* rows, idx_t n, const w_t* weight) noexcept nogil
    cdef uint32_t count_many(self, const row_t* rows, idx_t n) noexcept nogil
    cdef uint32_t count_few(self, const row_t* rows, idx_t n) noexcept nogil
    cdef void forget_classes(self) noexcept nogil
    cdef void compact_slots(self) noexcept nogil
    cdef void use_all_slots(self) noexcept nogil
    cdef void unpack_rows(self) noexcept nogil
    cdef double impurity_of(self, const w_t* counts, w_t weight) noexcept nogil
    cdef double perfect_score(self) noexcept nogil
    cdef void fill_bins(self, const RankColumn* column, idx_t n) noexcept nogil
    cdef void clear_bins(self, idx_t n_bins) noexcept nogil
