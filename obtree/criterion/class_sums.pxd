# What a cut between classes is worth.
#
# The classification criteria differ in three small steps: what they keep while rows move
# from right to left, how a move changes it, and what a cut is worth. The sweeps of
# sweep.pxd are written once around these steps and specialised by the compiler for each.

from libc.math cimport fabs, log
from libc.stdint cimport int32_t, uint32_t

from obtree.core.types cimport idx_t, w_t


cdef struct ClassNode:
    # The classes of all outputs stand in one array of slots: class c of output k is
    # slot k * stride + c.
    idx_t n_outputs
    idx_t stride              # the largest number of classes
    idx_t n_slots             # n_outputs * stride
    idx_t n_padded            # n_slots, rounded up to a multiple of four; the rest is zero
    w_t weight                # of the node
    double margin             # a cut must beat another by more; less is rounding
    w_t* total                # (n_padded) weight of each slot in the node
    w_t* left                 # (n_padded) the same left of the current cut
    int32_t* slot             # (n * n_outputs) slots of the node's rows
    w_t* w                    # (n) weights of the node's rows
    # (n) slot and weight << 16 of the node's rows, which then stand nowhere else; or NULL.
    const uint32_t* packed


# Gini: with L, R, T the weights left, right and in total, the children's impurity is
# smallest where sum L^2 / W_L + sum R^2 / W_R is largest, and
# sum R^2 = sum T^2 - 2 sum T L + sum L^2. Exact for whole-number weights.
cdef struct GiniSums:
    double squares            # sum T^2
    double left               # sum L^2
    double cross              # sum T L


# Entropy: the children's impurity is smallest where sum L log L - W_L log W_L +
# sum R log R - W_R log W_R is largest.
cdef struct EntropySums:
    double left               # sum L log L
    double right              # sum R log R
    double n_outputs
    const double* xlogx       # x log x for x = 0, 1, ..., n_table - 1; whole-number weights
    idx_t n_table
    # Other weights are multiplied by this power of two before the logarithm is taken, which
    # changes no score: whatever they count in, about 1 is usual, and rounding the same.
    double scale


# Measures that are read off the slots at every cut, and keep no sums.
cdef enum SlotMeasure:
    TWOING
    MAX_MINORITY
    SUM_MINORITY
    SUM_OF_VARIANCES


cdef struct SlotSums:
    SlotMeasure measure


ctypedef fused sums_t:
    GiniSums
    EntropySums
    SlotSums


cdef inline w_t row_weight(const ClassNode* node, idx_t p) noexcept nogil:
    return node.w[p] if node.packed == NULL else <w_t>(node.packed[p] >> 16)


cdef inline idx_t row_slot(const ClassNode* node, idx_t p, idx_t k) noexcept nogil:
    """The slot of the node's row p in output k."""
    if node.packed == NULL:
        return node.slot[p * node.n_outputs + k]
    return node.packed[p] & 0xFFFF


cdef inline double xlogx(const EntropySums* sums, w_t x) noexcept nogil:
    # What is left of a difference of two sums may be rounding, below zero.
    if not x > 0.0:
        return 0.0
    if x < sums.n_table:
        return sums.xlogx[<idx_t>x]
    return x * log(x * sums.scale)


cdef inline void restore_sums(sums_t* sums, const ClassNode* node) noexcept nogil:
    """The sums of the cut that node.left describes."""
    cdef idx_t s
    if sums_t is GiniSums:
        sums.left = 0.0
        sums.cross = 0.0
        sums.squares = 0.0
        for s in range(node.n_slots):
            sums.squares += node.total[s] * node.total[s]
            sums.left += node.left[s] * node.left[s]
            sums.cross += node.total[s] * node.left[s]
    elif sums_t is EntropySums:
        sums.n_outputs = <double>node.n_outputs
        sums.left = 0.0
        sums.right = 0.0
        for s in range(node.n_slots):
            sums.left += xlogx(sums, node.left[s])
            sums.right += xlogx(sums, node.total[s] - node.left[s])


cdef inline void reset_sums(sums_t* sums, const ClassNode* node) noexcept nogil:
    """All rows are right of the cut."""
    cdef idx_t s
    for s in range(node.n_slots):
        node.left[s] = 0.0
    restore_sums(sums, node)


cdef inline void move_left(sums_t* sums, const ClassNode* node, idx_t s, w_t w) noexcept nogil:
    """Weight w of slot s crosses the cut; a negative one goes back."""
    cdef w_t left = node.left[s]
    if sums_t is GiniSums:
        sums.left += w * (2.0 * left + w)
        sums.cross += w * node.total[s]
    elif sums_t is EntropySums:
        sums.left += xlogx(sums, left + w) - xlogx(sums, left)
        sums.right += (
            xlogx(sums, node.total[s] - left - w) - xlogx(sums, node.total[s] - left)
        )
    node.left[s] = left + w


cdef inline bint beats(const sums_t* sums, const ClassNode* node, w_t weight_left,
                       w_t weight_right, double* score) noexcept nogil:
    """Whether the current cut is worth more than *score, which it then replaces.

    Cuts of equal worth stay in the order in which they were met, also when rounding,
    which differs between a row of weight two and two rows, tells them apart.
    """
    cdef double numerator, denominator, candidate
    if sums_t is GiniSums:
        # a / b > score, decided by a product: a division only for a cut that wins.
        numerator = (
            sums.left * weight_right
            + (sums.squares - 2.0 * sums.cross + sums.left) * weight_left
        )
        denominator = weight_left * weight_right
        if not numerator > score[0] * denominator:
            return False
        candidate = numerator / denominator
    elif sums_t is EntropySums:
        candidate = sums.left + sums.right - sums.n_outputs * (
            xlogx(sums, weight_left) + xlogx(sums, weight_right)
        )
    else:
        candidate = rate_slots(sums.measure, node, weight_left, weight_right)
    if not candidate > score[0] + node.margin:
        return False
    score[0] = candidate
    return True


cdef inline double rate_slots(SlotMeasure measure, const ClassNode* node, w_t weight_left,
                              w_t weight_right) noexcept nogil:
    """What the current cut is worth by a measure that keeps no sums, over all outputs."""
    cdef double worth = 0.0
    cdef const w_t* left = node.left
    cdef const w_t* total = node.total
    cdef idx_t _k
    for _k in range(node.n_outputs):
        if measure == TWOING:
            worth += rate_twoing(left, total, node.stride, weight_left, weight_right)
        elif measure == SUM_OF_VARIANCES:
            worth += rate_variances(left, total, node.stride, weight_left, weight_right)
        else:
            worth -= sum_minorities(left, total, node.stride, weight_left, weight_right,
                                    measure == MAX_MINORITY)
        left += node.stride
        total += node.stride
    return worth


cdef inline double rate_twoing(const w_t* left, const w_t* total, idx_t n_classes,
                               w_t weight_left, w_t weight_right) noexcept nogil:
    """W_L W_R / W (sum |L / W_L - R / W_R|)^2, Breiman et al. (1984), section 4.3.

    Written as (sum |L W_R - R W_L|)^2 / (W W_L W_R): for whole-number weights the sum is
    exact.
    """
    cdef double apart = 0.0
    cdef idx_t c
    for c in range(n_classes):
        apart += fabs(left[c] * weight_right - (total[c] - left[c]) * weight_left)
    return apart * apart / ((weight_left + weight_right) * weight_left * weight_right)


cdef inline double sum_minorities(const w_t* left, const w_t* total, idx_t n_classes,
                                  w_t weight_left, w_t weight_right,
                                  bint larger_only) noexcept nogil:
    """Weight outside the largest class of each side: the sum, or the larger of the two."""
    cdef w_t most_left = 0.0, most_right = 0.0
    cdef idx_t c
    for c in range(n_classes):
        most_left = max(most_left, left[c])
        most_right = max(most_right, total[c] - left[c])
    if larger_only:
        return max(weight_left - most_left, weight_right - most_right)
    return (weight_left - most_left) + (weight_right - most_right)


cdef inline double rate_variances(const w_t* left, const w_t* total, idx_t n_classes,
                                  w_t weight_left, w_t weight_right) noexcept nogil:
    """S_L^2 / W_L + S_R^2 / W_R with S the sum of the class numbers.

    What is left out of the two sums of squares about the mean is the same for all cuts.
    """
    cdef double sum_left = 0.0, sum_right = 0.0
    cdef idx_t c
    for c in range(1, n_classes):
        sum_left += c * left[c]
        sum_right += c * (total[c] - left[c])
    return sum_left * sum_left / weight_left + sum_right * sum_right / weight_right
