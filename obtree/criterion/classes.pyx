"""Class counts: the part that every classification criterion shares.

Several outputs cost a longer inner loop and no second implementation. Counts are sums
of weights in float64: with whole-number weights they are exact, and a row of weight 2
gives bit for bit what two equal rows give.
"""

from libc.math cimport INFINITY, floor
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, FlipBase, NodeStats, RankColumn
from obtree.criterion.class_sums cimport ClassNode, row_slot, row_weight
from obtree.criterion.sweep cimport PACKED_CLASS_BITS
from obtree.data.dataset cimport DataView
from obtree.data.read cimport rank_key
from obtree.data.targets cimport TargetView

cdef enum:
    MAX_BINS_BYTES = 1048576          # bins beyond the caches are slower than sorting
    FEW_ROWS = 64                     # that are counted one by one


cdef class ClassCriterion(Criterion):
    """Base of the classification criteria."""

    target_kind = "classes"

    def __cinit__(self, *args):
        self.scans_above = True

    cdef int bind(self, const DataView* data, const TargetView* targets, Workspace workspace,
                  idx_t max_rows) except -1:
        cdef idx_t n_padded
        Criterion.bind(self, data, targets, workspace, max_rows)
        self._y = targets.codes
        self.node.n_outputs = self.n_outputs
        self.node.stride = targets.max_n_classes
        self.node.n_slots = self.n_outputs * self.node.stride
        self.node.n_padded = n_padded = (self.node.n_slots + 3) // 4 * 4
        self.n_class_slots = self.node.n_slots
        self.n_class_padded = n_padded
        self.class_total = <w_t*>workspace.take(n_padded, sizeof(w_t))
        self.present_total = <w_t*>workspace.take(n_padded, sizeof(w_t))
        self.slot_of = <uint32_t*>workspace.take(n_padded, sizeof(uint32_t))
        # One more, so that a class may be written before it is known to be there.
        self.class_of = <uint32_t*>workspace.take(n_padded + 1, sizeof(uint32_t))
        self.n_present = -1
        self.node.total = self.class_total
        self.node.left = <w_t*>workspace.take(n_padded, sizeof(w_t))
        self.flips.left = <double*>workspace.take(n_padded, sizeof(double))
        self.node.slot = <int32_t*>workspace.take(max_rows * self.n_outputs, sizeof(int32_t))
        self.node.w = <w_t*>workspace.take(max_rows, sizeof(w_t))
        self.packed = <uint32_t*>workspace.take(max_rows, sizeof(uint32_t))
        self.packed_of = <uint32_t*>workspace.take(targets.n_samples, sizeof(uint32_t))
        self.counts = <uint32_t*>workspace.take(2 * n_padded, sizeof(uint32_t))
        self.max_bins = max(256, MAX_BINS_BYTES // (n_padded * <idx_t>sizeof(w_t)))
        self.max_bins = min(self.max_bins, max_rows + 1)
        self.bins = <w_t*>workspace.take(self.max_bins * n_padded, sizeof(w_t))
        self.bin_rows = <uint32_t*>workspace.take(self.max_bins, sizeof(uint32_t))
        self.clear_bins(self.max_bins)
        return 0

    cdef int begin_tree(self, const row_t* rows, idx_t n, const w_t* weight) except -1 nogil:
        """Find out whether the weights are whole numbers, as those of a bootstrap are."""
        cdef idx_t p
        cdef w_t total = 0.0, w
        self.use_all_slots()
        self.whole_weights = True
        self.packs = self.n_outputs == 1 and self.node.stride <= 65536
        for p in range(n):
            w = weight[rows[p]]
            total += w
            if w != floor(w):
                self.whole_weights = False
            if w > 65535.0:
                self.packs = False
        # Beyond, every number is whole, and sums are not exact.
        self.whole_weights = self.whole_weights and total < 9007199254740992.0
        self.packs = self.packs and self.whole_weights and total < 2147483647.0
        if self.packs:
            for p in range(n):
                self.packed_of[rows[p]] = (<uint32_t>self._y[rows[p]]
                                           | (<uint32_t>weight[rows[p]] << 16))
        return 0

    cdef int load_node(self, const row_t* rows, idx_t n, const w_t* weight,
                       NodeStats* stats) except -1 nogil:
        cdef ClassNode* node = &self.node
        cdef w_t weight_sum = (self.load_packed(rows, n) if self.packs
                               else self.load_rows(rows, n, weight))
        node.weight = weight_sum
        node.margin = self.relative_margin * weight_sum
        stats.weight = weight_sum
        stats.impurity = self.impurity_of(node.total, weight_sum)
        self.goal = self.perfect_score() - node.margin
        stats.level = self.class_total[1] / weight_sum if node.stride > 1 else 0.0
        return 0

    cdef w_t load_packed(self, const row_t* rows, idx_t n) noexcept nogil:
        """Read and count the node's rows as words; what they weigh."""
        cdef uint32_t weight_sum
        if self.compacts and n <= FEW_ROWS:
            weight_sum = self.count_few(rows, n)
        else:
            weight_sum = self.count_many(rows, n)
        self.node.packed = self.packed
        self.n_loaded = n
        if self.compacts and self.n_present + 4 <= self.n_class_padded:
            self.compact_slots()
        else:
            self.use_all_slots()
        return <w_t>weight_sum

    cdef uint32_t count_many(self, const row_t* rows, idx_t n) noexcept nogil:
        """Pack and count rows class by class; what they weigh."""
        cdef idx_t n_padded = self.n_class_padded
        cdef idx_t s, n_present = 0
        cdef uint32_t weight_sum = 0, here
        memset(self.counts, 0, 2 * n_padded * sizeof(uint32_t))
        kernels().load_counts(self.packed_of, rows, n, self.packed, n_padded, self.counts)
        # Whole numbers whose sum fits 31 bits: added as such, in any order.
        for s in range(n_padded):
            here = self.counts[s] + self.counts[n_padded + s]
            self.counts[s] = here
            self.class_total[s] = <w_t><int32_t>here
            weight_sum += here
            self.class_of[n_present] = <uint32_t>s
            n_present += here != 0
        self.n_present = n_present
        return weight_sum

    cdef uint32_t count_few(self, const row_t* rows, idx_t n) noexcept nogil:
        """The same at a cost that follows the rows and not the classes; without `counts`."""
        cdef uint32_t first = self.packed_of[rows[0]], mixed = 0, weight_sum = 0, word, c
        cdef idx_t p, k, n_present = 0
        self.forget_classes()
        for p in range(n):
            word = self.packed_of[rows[p]]
            self.packed[p] = word
            mixed |= word ^ first
            weight_sum += word >> 16
        if mixed & 0xFFFF == 0:
            self.class_total[first & 0xFFFF] = <w_t><int32_t>weight_sum
            self.class_of[0] = first & 0xFFFF
            self.n_present = 1
            return weight_sum
        for p in range(n):
            c = self.packed[p] & 0xFFFF
            if self.class_total[c] == 0.0:
                k = n_present
                while k > 0 and self.class_of[k - 1] > c:
                    self.class_of[k] = self.class_of[k - 1]
                    k -= 1
                self.class_of[k] = c
                n_present += 1
            self.class_total[c] += <w_t><int32_t>(self.packed[p] >> 16)
        self.n_present = n_present
        return weight_sum

    cdef void forget_classes(self) noexcept nogil:
        """Make every `class_total` zero again."""
        cdef idx_t k
        if self.n_present < 0:
            memset(self.class_total, 0, self.n_class_padded * sizeof(w_t))
            return
        for k in range(self.n_present):
            self.class_total[self.class_of[k]] = 0.0

    cdef void compact_slots(self) noexcept nogil:
        """Renumber the packed rows' classes without those that the node does not have."""
        cdef ClassNode* node = &self.node
        cdef idx_t s, p
        cdef uint32_t word
        node.n_slots = self.n_present
        node.n_padded = (self.n_present + 3) // 4 * 4
        for s in range(self.n_present):
            self.present_total[s] = self.class_total[self.class_of[s]]
            self.slot_of[self.class_of[s]] = <uint32_t>s
        for s in range(self.n_present, node.n_padded):
            self.present_total[s] = 0.0
        node.total = self.present_total
        for p in range(self.n_loaded):
            word = self.packed[p]
            self.packed[p] = self.slot_of[word & 0xFFFF] | (word & <uint32_t>0xFFFF0000)

    cdef void use_all_slots(self) noexcept nogil:
        self.node.n_slots = self.n_class_slots
        self.node.n_padded = self.n_class_padded
        self.node.total = self.class_total

    cdef w_t load_rows(self, const row_t* rows, idx_t n, const w_t* weight) noexcept nogil:
        """The same, slots and weights apart."""
        cdef ClassNode* node = &self.node
        cdef w_t weight_sum = 0.0, w
        cdef int32_t slot
        cdef idx_t p, k
        self.use_all_slots()
        self.n_present = -1
        self.forget_classes()
        for p in range(n):
            w = weight[rows[p]]
            node.w[p] = w
            weight_sum += w
            for k in range(node.n_outputs):
                slot = <int32_t>(k * node.stride) + self._y[rows[p] * node.n_outputs + k]
                node.slot[p * node.n_outputs + k] = slot
                node.total[slot] += w
        node.packed = NULL
        return weight_sum

    cdef void unpack_rows(self) noexcept nogil:
        """Have the slots, of all classes, and weights of the node's rows stand apart."""
        cdef ClassNode* node = &self.node
        cdef uint32_t word
        cdef idx_t p
        if node.packed == NULL:
            return
        if node.total == self.present_total:
            for p in range(self.n_loaded):
                word = self.packed[p]
                self.packed[p] = self.class_of[word & 0xFFFF] | (word & <uint32_t>0xFFFF0000)
            self.use_all_slots()
        for p in range(self.n_loaded):
            node.slot[p] = <int32_t>row_slot(node, p, 0)
            node.w[p] = row_weight(node, p)
        node.packed = NULL

    cdef int begin_flips(self, const double* score, idx_t n, uint32_t* token) except -1 nogil:
        cdef ClassNode* node = &self.node
        cdef FlipBase* base = &self.flips
        cdef idx_t p, k
        self.unpack_rows()
        base.n = n
        base.n_left = 0
        base.weight_left = 0.0
        base.packed = self.packs and node.stride <= (1 << PACKED_CLASS_BITS)
        memset(base.left, 0, node.n_padded * sizeof(double))
        for p in range(n):
            token[p] = <uint32_t>p
            if base.packed:
                token[p] = <uint32_t>node.slot[p] | (<uint32_t>node.w[p] << PACKED_CLASS_BITS)
            if score[p] < 0.0:
                base.n_left += 1
                base.weight_left += node.w[p]
                for k in range(node.n_outputs):
                    base.left[node.slot[p * node.n_outputs + k]] += node.w[p]
        return 0

    cdef double impurity_of(self, const w_t* counts, w_t weight) noexcept nogil:
        return 0.0

    cdef double perfect_score(self) noexcept nogil:
        """The score of a cut of the current node with two pure sides."""
        return INFINITY

    cdef void node_value(self, double* value) noexcept nogil:
        cdef idx_t s
        if self.n_present < 0:
            for s in range(self.n_class_slots):
                value[s] = self.class_total[s] / self.node.weight
            return
        memset(value, 0, self.n_class_slots * sizeof(double))
        for s in range(self.n_present):
            value[self.class_of[s]] = self.class_total[self.class_of[s]] / self.node.weight

    cdef void clip_value(self, double* value, double lower, double upper) noexcept nogil:
        # Monotonic constraints are for two classes; the level is the fraction of class 1.
        if self.node.stride < 2 or lower <= value[1] <= upper:
            return
        value[1] = min(max(value[1], lower), upper)
        value[0] = 1.0 - value[1]

    cdef bint prefers_bins(self, idx_t n, idx_t n_bins) noexcept nogil:
        # Filling bins costs less for a row than sorting and sweeping it; sweeping the
        # bins costs something for each slot, more where the criterion takes logarithms.
        return n_bins <= self.max_bins and n_bins * self.node.n_slots <= self.slots_per_row * n

    cdef void fill_bins(self, const RankColumn* column, idx_t n) noexcept nogil:
        """Add the node's rows to `bins`, which are zero before."""
        cdef const ClassNode* node = &self.node
        cdef idx_t p, k
        self.unpack_rows()
        if node.n_outputs == 1:
            kernels().fill_classes(column.codes, column.width, column.stride, column.rows, n,
                                   column.low, node.slot, node.w, node.n_padded, self.bins)
            return
        for p in range(n):
            for k in range(node.n_outputs):
                self.bins[rank_key(column, p) * node.n_padded
                          + node.slot[p * node.n_outputs + k]] += node.w[p]

    cdef void clear_bins(self, idx_t n_bins) noexcept nogil:
        memset(self.bins, 0, n_bins * self.node.n_padded * sizeof(w_t))
        memset(self.bin_rows, 0, n_bins * sizeof(uint32_t))


include "gini.pxi"
include "entropy.pxi"
include "slots.pxi"
