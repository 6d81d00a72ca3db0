# Sweeping the cuts of one direction for the classification criteria.
#
# Gini and entropy differ in three small steps: what they keep while rows move from
# right to left, how a move changes it, and what a cut is worth. The sweep around these
# steps is written once and specialised by the compiler for each.

from libc.math cimport log
from libc.stdint cimport int32_t, uint32_t, uint64_t

from obtree.core.sort cimport word_key, word_position
from obtree.core.types cimport idx_t, w_t
from obtree.criterion.base cimport Cut, ScanLimits, is_allowed, keeps_order


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


ctypedef fused sums_t:
    GiniSums
    EntropySums


cdef inline double xlogx(const EntropySums* sums, w_t x) noexcept nogil:
    if x < sums.n_table:
        return sums.xlogx[<idx_t>x]
    return x * log(x) if x > 0.0 else 0.0


cdef inline void reset_sums(sums_t* sums, const ClassNode* node) noexcept nogil:
    """All rows are right of the cut."""
    cdef idx_t s
    for s in range(node.n_slots):
        node.left[s] = 0.0
    sums.left = 0.0
    if sums_t is GiniSums:
        sums.cross = 0.0
        sums.squares = 0.0
        for s in range(node.n_slots):
            sums.squares += node.total[s] * node.total[s]
    else:
        sums.n_outputs = <double>node.n_outputs
        sums.right = 0.0
        for s in range(node.n_slots):
            sums.right += xlogx(sums, node.total[s])


cdef inline void move_left(sums_t* sums, const ClassNode* node, idx_t s, w_t w) noexcept nogil:
    """Weight w of slot s crosses the cut."""
    cdef w_t left = node.left[s]
    if sums_t is GiniSums:
        sums.left += w * (2.0 * left + w)
        sums.cross += w * node.total[s]
    else:
        sums.left += xlogx(sums, left + w) - xlogx(sums, left)
        sums.right += (
            xlogx(sums, node.total[s] - left - w) - xlogx(sums, node.total[s] - left)
        )
    node.left[s] = left + w


cdef inline bint beats(const sums_t* sums, w_t weight_left, w_t weight_right, double margin,
                       double* score) noexcept nogil:
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
    else:
        candidate = sums.left + sums.right - sums.n_outputs * (
            xlogx(sums, weight_left) + xlogx(sums, weight_right)
        )
    if not candidate > score[0] + margin:
        return False
    score[0] = candidate
    return True


cdef inline void judge_cut(sums_t* sums, const ClassNode* node, idx_t n_left, idx_t n_right,
                           w_t weight_left, uint32_t key, uint32_t next_key,
                           const ScanLimits* limits, Cut* best) noexcept nogil:
    """Make the current cut the best if it is allowed and better."""
    cdef w_t weight_right = node.weight - weight_left
    cdef double score = best.score
    if not is_allowed(limits, n_left, n_right, weight_left, weight_right):
        return
    if not beats(sums, weight_left, weight_right, node.margin, &score):
        return
    if limits.monotone != 0 and not keeps_order(
        limits, node.left[1] / weight_left, (node.total[1] - node.left[1]) / weight_right
    ):
        return
    best.score = score
    best.low_key = key
    best.high_key = next_key


cdef inline void sweep_words(sums_t* sums, const ClassNode* node, const uint64_t* words, idx_t n,
                             const ScanLimits* limits, Cut* best) noexcept nogil:
    """Every cut between two different keys of the sorted words, left to right."""
    cdef w_t w, weight_left = 0.0
    cdef idx_t i, k, p, n_outputs = node.n_outputs
    cdef uint32_t key, next_key = word_key(words[0])
    reset_sums(sums, node)
    for i in range(n - 1):
        p = word_position(words[i])
        w = node.w[p]
        weight_left += w
        if n_outputs == 1:
            move_left(sums, node, node.slot[p], w)
        else:
            for k in range(n_outputs):
                move_left(sums, node, node.slot[p * n_outputs + k], w)
        key = next_key
        next_key = word_key(words[i + 1])
        if key != next_key:
            judge_cut(sums, node, i + 1, n - i - 1, weight_left, key, next_key, limits, best)


cdef inline idx_t sweep_bins(sums_t* sums, const ClassNode* node, const w_t* bins,
                             const uint32_t* bin_rows, idx_t n, idx_t n_bins,
                             const ScanLimits* limits, Cut* best) noexcept nogil:
    """The same cuts from the weight of each slot in each bin; how many bins are not empty.

    `bin_rows` counts the rows in each bin; NULL when leaves of one row are allowed,
    for then no count matters.
    """
    cdef const w_t* here
    cdef w_t weight_here, weight_left = 0.0
    cdef idx_t b, s, n_left = 0, n_found = 0
    cdef uint32_t key = 0
    reset_sums(sums, node)
    for b in range(n_bins):
        here = bins + b * node.n_padded
        weight_here = 0.0
        for s in range(node.stride):
            weight_here += here[s]
        if weight_here == 0.0:
            continue
        if n_found > 0:
            if bin_rows == NULL:
                judge_cut(sums, node, limits.min_samples_leaf, limits.min_samples_leaf,
                          weight_left, key, <uint32_t>b, limits, best)
            else:
                judge_cut(sums, node, n_left, n - n_left, weight_left, key, <uint32_t>b,
                          limits, best)
        for s in range(node.n_slots):
            if here[s] > 0.0:
                move_left(sums, node, s, here[s])
        weight_left += weight_here
        if bin_rows != NULL:
            n_left += bin_rows[b]
        key = <uint32_t>b
        n_found += 1
    return n_found
