# Sweeping the cuts of one direction for the criteria made of weighted sums of y.
#
# Squared error, Friedman's improvement and Poisson deviance keep the same sums and
# differ in what a cut is worth. The sweep is written once, specialised for each.

from libc.math cimport log
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.sort cimport word_key, word_position
from obtree.core.types cimport idx_t, w_t
from obtree.criterion.base cimport Cut, FlipBase, ScanLimits, is_allowed, keeps_order, skip_words


cdef struct MomentNode:
    idx_t n_outputs
    w_t weight                # of the node
    double margin             # a cut must beat another by more; less is rounding
    double* centre            # (n_outputs) subtracted from y before summing
    double* mean              # (n_outputs) of y
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


cdef inline bint beats_moments(const score_t* kind, const MomentNode* node, const double* left,
                               w_t weight_left, w_t weight_right, double* score) noexcept nogil:
    """Whether a cut is worth more than *score, which it then replaces.

    Squared error and Friedman's score are sums about the node's mean, so what is
    missing on the left is what is present on the right: sum L^2 / W_L + sum R^2 / W_R =
    W sum L^2 / (W_L W_R), and the constant W is left out.
    """
    cdef double numerator = 0.0, denominator = weight_left * weight_right, candidate = 0.0
    cdef double right
    cdef idx_t k
    if score_t is SquaredScore:
        for k in range(node.n_outputs):
            numerator += left[k] * left[k]
    elif score_t is FriedmanScore:
        # The squared difference of the children's means (summed over the outputs),
        # weighted by both children: Friedman (2001), equation 35.
        for k in range(node.n_outputs):
            numerator += left[k]
        numerator *= numerator
    else:
        for k in range(node.n_outputs):
            right = node.total[k] - left[k]
            # A child whose targets are all zero has no logarithm: not a cut. What is left
            # of a difference of two sums may be rounding.
            if min(left[k], right) <= 1e-12 * node.total[k]:
                return False
            # About the node's mean, lest the unit of y decides how much rounding there is.
            candidate += (left[k] * log(left[k] / (weight_left * node.mean[k]))
                          + right * log(right / (weight_right * node.mean[k])))
    if score_t is not PoissonScore:
        # a / b > score, decided by a product: a division only for a cut that wins.
        if not numerator > score[0] * denominator:
            return False
        candidate = numerator / denominator
    if not candidate > score[0] + node.margin:
        return False
    score[0] = candidate
    return True


cdef inline void judge_moments(const score_t* kind, const MomentNode* node, const double* left,
                               idx_t n_left, idx_t n_right, w_t weight_left, uint32_t key,
                               uint32_t next_key, const ScanLimits* limits,
                               Cut* best) noexcept nogil:
    """Make the current cut the best if it is allowed and better."""
    cdef w_t weight_right = node.weight - weight_left
    cdef double score = best.score
    if not is_allowed(limits, n_left, n_right, weight_left, weight_right):
        return
    if not beats_moments(kind, node, left, weight_left, weight_right, &score):
        return
    if limits.monotone != 0 and not keeps_order(
        limits,
        node.centre[0] + left[0] / weight_left,
        node.centre[0] + (node.total[0] - left[0]) / weight_right,
    ):
        return
    best.score = score
    best.low_key = key
    best.high_key = next_key


cdef inline w_t move_rest_moments(const MomentNode* node, double* left, const uint64_t* words,
                                  idx_t n_words) noexcept nogil:
    """Sums of all rows but those of the words; what they weigh."""
    cdef const double* record
    cdef w_t rest = node.weight
    cdef idx_t i, k, n_outputs = node.n_outputs
    for k in range(n_outputs):
        left[k] = node.total[k]
    for i in range(n_words):
        record = node.records + word_position(words[i]) * (1 + n_outputs)
        rest -= record[0]
        for k in range(n_outputs):
            left[k] -= record[1 + k]
    return rest


cdef inline void sweep_moments_below(const score_t* kind, const MomentNode* node, double* left,
                                     const uint64_t* words, idx_t n_words, idx_t n,
                                     uint32_t next_key, const ScanLimits* limits,
                                     Cut* best) noexcept nogil:
    """The cuts behind each of the words, others of the node's n rows following with next_key.

    IN/OUT left (n_outputs): zeros, then sums left of the last cut.
    """
    cdef const double* record
    cdef w_t weight_left = 0.0
    cdef idx_t i, k, n_outputs = node.n_outputs
    cdef uint32_t key
    for i in range(n_words):
        record = node.records + word_position(words[i]) * (1 + n_outputs)
        weight_left += record[0]
        for k in range(n_outputs):
            left[k] += record[1 + k]
        key = word_key(words[i + 1]) if i + 1 < n_words else next_key
        if word_key(words[i]) != key:
            judge_moments(kind, node, left, i + 1, n - i - 1, weight_left, word_key(words[i]),
                          key, limits, best)


cdef inline void sweep_moments(const score_t* kind, const MomentNode* node, double* left,
                               const uint64_t* words, idx_t n_words, idx_t n, idx_t n_below,
                               uint32_t rest_key, const ScanLimits* limits,
                               Cut* best) noexcept nogil:
    """Every cut between two different keys of the sorted words, left to right.

    Rows of the node's n that have no word stand behind the first n_below with key rest_key.
    SCRATCH left (n_outputs): sums left of the cut.
    """
    cdef const double* record
    cdef w_t weight_left = 0.0
    cdef idx_t i, k, n_left = n - n_words, n_outputs = node.n_outputs
    cdef uint32_t key, next_key = word_key(words[0])
    for k in range(n_outputs):
        left[k] = 0.0
    if n_left > 0:
        if n_below > 0:
            sweep_moments_below(kind, node, left, words, n_below, n, rest_key, limits, best)
            skip_words(&words, &n_words, &n_left, n_below)
        weight_left = move_rest_moments(node, left, words, n_words)
        if n_words == 0:
            return
        next_key = word_key(words[0])
        judge_moments(kind, node, left, n_left, n_words, weight_left, rest_key, next_key, limits,
                      best)
    for i in range(n_words - 1):
        record = node.records + word_position(words[i]) * (1 + n_outputs)
        weight_left += record[0]
        for k in range(n_outputs):
            left[k] += record[1 + k]
        key = next_key
        next_key = word_key(words[i + 1])
        if key != next_key:
            judge_moments(kind, node, left, n_left + i + 1, n_words - i - 1, weight_left, key,
                          next_key, limits, best)


cdef inline idx_t sweep_moment_bins(const score_t* kind, const MomentNode* node, double* left,
                                    const double* bins, const uint32_t* bin_rows, idx_t n,
                                    idx_t n_bins, const ScanLimits* limits,
                                    Cut* best) noexcept nogil:
    """The same cuts from the summed records of each bin; how many bins are not empty.

    `bin_rows` counts the rows in each bin; NULL when leaves of one row are allowed,
    for then no count matters. SCRATCH left (n_outputs).
    """
    cdef const double* record
    cdef w_t weight_left = 0.0
    cdef idx_t b, k, n_left = 0, n_found = 0, n_outputs = node.n_outputs
    cdef uint32_t key = 0
    for k in range(n_outputs):
        left[k] = 0.0
    for b in range(n_bins):
        record = bins + b * (1 + n_outputs)
        if record[0] == 0.0:
            continue
        if n_found > 0:
            if bin_rows == NULL:
                judge_moments(kind, node, left, limits.min_samples_leaf,
                              limits.min_samples_leaf, weight_left, key, <uint32_t>b,
                              limits, best)
            else:
                judge_moments(kind, node, left, n_left, n - n_left, weight_left, key,
                              <uint32_t>b, limits, best)
        weight_left += record[0]
        for k in range(n_outputs):
            left[k] += record[1 + k]
        if bin_rows != NULL:
            n_left += bin_rows[b]
        key = <uint32_t>b
        n_found += 1
    return n_found


cdef inline MomentNode copy_single(const MomentNode* node, double* total) noexcept nogil:
    """The node, with one output as the compiler can see and its total in a register."""
    cdef MomentNode one = node[0]
    total[0] = node.total[0]
    one.n_outputs = 1
    one.total = total
    return one


cdef inline void scan_moment_words(const score_t* kind, const MomentNode* node,
                                   const uint64_t* words, idx_t n_words, idx_t n,
                                   idx_t n_below, uint32_t rest_key, const ScanLimits* limits,
                                   Cut* best) noexcept nogil:
    """`sweep_moments`; a copy of the node with one output keeps its sums in registers."""
    cdef MomentNode one
    cdef double left, total
    if node.n_outputs == 1:
        one = copy_single(node, &total)
        sweep_moments(kind, &one, &left, words, n_words, n, n_below, rest_key, limits, best)
    else:
        sweep_moments(kind, node, node.left, words, n_words, n, n_below, rest_key, limits, best)


cdef inline idx_t scan_moment_bins(const score_t* kind, const MomentNode* node,
                                   const double* bins, const uint32_t* bin_rows, idx_t n,
                                   idx_t n_bins, const ScanLimits* limits,
                                   Cut* best) noexcept nogil:
    """`sweep_moment_bins`, likewise."""
    cdef MomentNode one
    cdef double left, total
    if node.n_outputs == 1:
        one = copy_single(node, &total)
        return sweep_moment_bins(kind, &one, &left, bins, bin_rows, n, n_bins, limits, best)
    return sweep_moment_bins(kind, node, node.left, bins, bin_rows, n, n_bins, limits, best)


cdef inline void flip_record(const MomentNode* node, double* left, uint64_t word, idx_t* n_left,
                             w_t* weight_left) noexcept nogil:
    """The row of a word changes sides."""
    cdef const double* record = node.records + (word_position(word) >> 1) * (1 + node.n_outputs)
    cdef double sign = 1.0 - 2.0 * <double>(word & 1)
    cdef idx_t k
    n_left[0] += 1 - 2 * <idx_t>(word & 1)
    weight_left[0] += sign * record[0]
    for k in range(node.n_outputs):
        left[k] += sign * record[1 + k]


cdef inline void sweep_moment_flips(const score_t* kind, const MomentNode* node, double* left,
                                    const FlipBase* base, const uint64_t* words, idx_t n,
                                    idx_t n_down, const ScanLimits* limits,
                                    Cut* best) noexcept nogil:
    """Every plane between two different steps, outwards from the present one.

    The first n_down words, taken backwards, belong to steps below zero. SCRATCH left
    (n_outputs).
    """
    cdef idx_t i, k, n_left = base.n_left
    cdef w_t weight_left = base.weight_left
    for k in range(node.n_outputs):
        left[k] = base.left[k]
    if 0 < n_down < n:
        judge_moments(kind, node, left, n_left, base.n - n_left, weight_left,
                      word_key(words[n_down - 1]), word_key(words[n_down]), limits, best)
    for i in range(n_down, n - 1):
        flip_record(node, left, words[i], &n_left, &weight_left)
        if word_key(words[i]) != word_key(words[i + 1]):
            judge_moments(kind, node, left, n_left, base.n - n_left, weight_left,
                          word_key(words[i]), word_key(words[i + 1]), limits, best)
    n_left = base.n_left
    weight_left = base.weight_left
    for k in range(node.n_outputs):
        left[k] = base.left[k]
    for i in range(n_down - 1, 0, -1):
        flip_record(node, left, words[i], &n_left, &weight_left)
        if word_key(words[i - 1]) != word_key(words[i]):
            judge_moments(kind, node, left, n_left, base.n - n_left, weight_left,
                          word_key(words[i - 1]), word_key(words[i]), limits, best)


cdef inline void scan_moment_flips(const score_t* kind, const MomentNode* node,
                                   const FlipBase* base, const uint64_t* words, idx_t n,
                                   idx_t n_down, const ScanLimits* limits,
                                   Cut* best) noexcept nogil:
    """`sweep_moment_flips`, likewise."""
    cdef MomentNode one
    cdef double left, total
    if node.n_outputs == 1:
        one = copy_single(node, &total)
        sweep_moment_flips(kind, &one, &left, base, words, n, n_down, limits, best)
    else:
        sweep_moment_flips(kind, node, node.left, base, words, n, n_down, limits, best)
