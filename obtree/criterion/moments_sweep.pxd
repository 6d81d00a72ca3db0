# Sweeping the cuts of one direction for the criteria made of weighted sums of y.
#
# Squared error, Friedman's improvement and Poisson deviance keep the same sums and
# differ in what a cut is worth. The sweep is written once, specialised for each.

from libc.math cimport INFINITY, log
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.sort cimport word_key, word_position
from obtree.core.types cimport idx_t, w_t
from obtree.criterion.base cimport Cut, ScanLimits, is_allowed, keeps_order


cdef struct MomentNode:
    idx_t n_outputs
    w_t weight                # of the node
    double* centre            # (n_outputs) subtracted from y before summing
    double* total             # (n_outputs) sum of w (y - centre) over the node
    double* left              # (n_outputs) the same left of the current cut
    double* records           # (n * (1 + n_outputs)) w, then w (y - centre), of each row


# Empty but for a byte: they select a score at compile time.
cdef struct SquaredScore:
    char tag


cdef struct FriedmanScore:
    char tag


cdef struct PoissonScore:
    char tag


ctypedef fused score_t:
    SquaredScore
    FriedmanScore
    PoissonScore


cdef inline double score_moments(const score_t* kind, const MomentNode* node, w_t weight_left,
                                 w_t weight_right) noexcept nogil:
    cdef double score = 0.0, left, right
    cdef idx_t k
    if score_t is SquaredScore:
        for k in range(node.n_outputs):
            left = node.left[k]
            right = node.total[k] - left
            score += left * left / weight_left + right * right / weight_right
        return score
    elif score_t is FriedmanScore:
        # The squared difference of the children's means (summed over the outputs),
        # weighted by both children: Friedman (2001), equation 35.
        for k in range(node.n_outputs):
            left = node.left[k]
            score += left / weight_left - (node.total[k] - left) / weight_right
        return score * score * weight_left * weight_right
    else:
        for k in range(node.n_outputs):
            left = node.left[k]
            right = node.total[k] - left
            # A child whose targets are all zero has no logarithm: not a cut.
            if left <= 0.0 or right <= 0.0:
                return -INFINITY
            score += left * log(left / weight_left) + right * log(right / weight_right)
        return score


cdef inline void judge_moments(const score_t* kind, const MomentNode* node, idx_t n_left,
                               idx_t n_right, w_t weight_left, uint32_t key, uint32_t next_key,
                               const ScanLimits* limits, Cut* best) noexcept nogil:
    """Make the current cut the best if it is allowed and better."""
    cdef w_t weight_right = node.weight - weight_left
    cdef double score
    if not is_allowed(limits, n_left, n_right, weight_left, weight_right):
        return
    score = score_moments(kind, node, weight_left, weight_right)
    if score > best.score:
        if limits.monotone != 0 and not keeps_order(
            limits,
            node.centre[0] + node.left[0] / weight_left,
            node.centre[0] + (node.total[0] - node.left[0]) / weight_right,
        ):
            return
        best.score = score
        best.low_key = key
        best.high_key = next_key


cdef inline void sweep_moments(const score_t* kind, const MomentNode* node,
                               const uint64_t* words, idx_t n, const ScanLimits* limits,
                               Cut* best) noexcept nogil:
    """Every cut between two different keys of the sorted words, left to right."""
    cdef const double* record
    cdef w_t weight_left = 0.0
    cdef idx_t i, k, n_outputs = node.n_outputs
    cdef uint32_t key, next_key = word_key(words[0])
    for k in range(n_outputs):
        node.left[k] = 0.0
    for i in range(n - 1):
        record = node.records + word_position(words[i]) * (1 + n_outputs)
        weight_left += record[0]
        for k in range(n_outputs):
            node.left[k] += record[1 + k]
        key = next_key
        next_key = word_key(words[i + 1])
        if key != next_key:
            judge_moments(kind, node, i + 1, n - i - 1, weight_left, key, next_key,
                          limits, best)


cdef inline void sweep_moment_bins(const score_t* kind, const MomentNode* node,
                                   const double* bins, const uint32_t* bin_rows, idx_t n,
                                   idx_t n_bins, const ScanLimits* limits,
                                   Cut* best) noexcept nogil:
    """The same cuts from the summed records of each bin and the rows in it."""
    cdef const double* record
    cdef w_t weight_left = 0.0
    cdef idx_t b, k, n_left = 0, n_outputs = node.n_outputs
    cdef uint32_t key = 0
    for k in range(n_outputs):
        node.left[k] = 0.0
    for b in range(n_bins):
        if bin_rows[b] == 0:
            continue
        if n_left > 0:
            judge_moments(kind, node, n_left, n - n_left, weight_left, key, <uint32_t>b,
                          limits, best)
        record = bins + b * (1 + n_outputs)
        weight_left += record[0]
        for k in range(n_outputs):
            node.left[k] += record[1 + k]
        n_left += bin_rows[b]
        key = <uint32_t>b
