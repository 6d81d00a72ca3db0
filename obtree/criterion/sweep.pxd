# Sweeping the cuts of one direction for the classification criteria, in one of three
# ways: over sorted rows, over bins, or over rows that change sides while one coefficient
# of a plane is varied. What a cut is worth is in class_sums.pxd.

from libc.stdint cimport uint32_t, uint64_t

from obtree.core.sort cimport word_key, word_position
from obtree.core.types cimport idx_t, w_t
from obtree.criterion.base cimport Cut, FlipBase, ScanLimits, is_allowed, keeps_order, skip_words
from obtree.criterion.class_sums cimport (
    ClassNode,
    beats,
    move_left,
    reset_sums,
    restore_sums,
    row_slot,
    row_weight,
    sums_t,
)


cdef enum:
    PACKED_CLASS_BITS = 15    # of a row's token, below its weight


cdef inline void judge_cut(sums_t* sums, const ClassNode* node, idx_t n_left, idx_t n_right,
                           w_t weight_left, uint32_t key, uint32_t next_key,
                           const ScanLimits* limits, Cut* best) noexcept nogil:
    """Make the current cut the best if it is allowed and better."""
    cdef w_t weight_right = node.weight - weight_left
    cdef double score = best.score
    if not is_allowed(limits, n_left, n_right, weight_left, weight_right):
        return
    if not beats(sums, node, weight_left, weight_right, &score):
        return
    if limits.monotone != 0 and not keeps_order(
        limits, node.left[1] / weight_left, (node.total[1] - node.left[1]) / weight_right
    ):
        return
    best.score = score
    best.low_key = key
    best.high_key = next_key


cdef inline w_t move_rest_left(sums_t* sums, const ClassNode* node, const uint64_t* words,
                               idx_t n_words) noexcept nogil:
    """All rows but those of the words cross the cut; what they weigh."""
    cdef w_t rest = node.weight
    cdef idx_t i, k, p, s
    for s in range(node.n_slots):
        node.left[s] = node.total[s]
    for i in range(n_words):
        p = word_position(words[i])
        rest -= row_weight(node, p)
        for k in range(node.n_outputs):
            node.left[row_slot(node, p, k)] -= row_weight(node, p)
    restore_sums(sums, node)
    return rest


cdef inline void sweep_below(sums_t* sums, const ClassNode* node, const uint64_t* words,
                             idx_t n_words, idx_t n, uint32_t next_key,
                             const ScanLimits* limits, Cut* best) noexcept nogil:
    """The cuts behind each of the words, others of the node's n rows following with next_key."""
    cdef w_t w, weight_left = 0.0
    cdef idx_t i, k, p
    cdef uint32_t key
    reset_sums(sums, node)
    for i in range(n_words):
        p = word_position(words[i])
        w = row_weight(node, p)
        weight_left += w
        for k in range(node.n_outputs):
            move_left(sums, node, row_slot(node, p, k), w)
        key = word_key(words[i + 1]) if i + 1 < n_words else next_key
        if word_key(words[i]) != key:
            judge_cut(sums, node, i + 1, n - i - 1, weight_left, word_key(words[i]), key, limits,
                      best)


cdef inline void sweep_words(sums_t* sums, const ClassNode* node, const uint64_t* words,
                             idx_t n_words, idx_t n, idx_t n_below, uint32_t rest_key,
                             const ScanLimits* limits, Cut* best) noexcept nogil:
    """Every cut between two different keys of the sorted words, left to right.

    Rows of the node's n that have no word stand behind the first n_below with key rest_key.
    """
    cdef w_t w, weight_left = 0.0
    cdef idx_t i, k, p, n_left = n - n_words, n_outputs = node.n_outputs
    cdef uint32_t key, next_key = word_key(words[0])
    if n_left > 0:
        if n_below > 0:
            sweep_below(sums, node, words, n_below, n, rest_key, limits, best)
            skip_words(&words, &n_words, &n_left, n_below)
        weight_left = move_rest_left(sums, node, words, n_words)
        if n_words == 0:
            return
        next_key = word_key(words[0])
        judge_cut(sums, node, n_left, n_words, weight_left, rest_key, next_key, limits, best)
    else:
        reset_sums(sums, node)
    for i in range(n_words - 1):
        p = word_position(words[i])
        w = row_weight(node, p)
        weight_left += w
        for k in range(n_outputs):
            move_left(sums, node, row_slot(node, p, k), w)
        key = next_key
        next_key = word_key(words[i + 1])
        if key != next_key:
            judge_cut(sums, node, n_left + i + 1, n_words - i - 1, weight_left, key, next_key,
                      limits, best)


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


cdef inline void flip_row(sums_t* sums, const ClassNode* node, const FlipBase* base,
                          uint64_t word, idx_t* n_left, w_t* weight_left) noexcept nogil:
    """The row of a word changes sides."""
    cdef idx_t token = word_position(word) >> 1
    cdef bint leaves = word & 1
    cdef idx_t k
    cdef w_t w
    n_left[0] += 1 - 2 * leaves
    if base.packed:
        w = <w_t>(token >> PACKED_CLASS_BITS)
        w = -w if leaves else w
        move_left(sums, node, token & ((1 << PACKED_CLASS_BITS) - 1), w)
    else:
        w = -node.w[token] if leaves else node.w[token]
        for k in range(node.n_outputs):
            move_left(sums, node, node.slot[token * node.n_outputs + k], w)
    weight_left[0] += w


cdef inline void sweep_flips(sums_t* sums, const ClassNode* node, const FlipBase* base,
                             const uint64_t* words, idx_t n, idx_t n_down,
                             const ScanLimits* limits, Cut* best) noexcept nogil:
    """Every plane between two different steps, outwards from the present one.

        words   0 1 ... n_down-1  |  n_down ... n-1
                <- steps below 0     steps above 0 ->
    """
    cdef idx_t i, n_left = base.n_left
    cdef w_t weight_left = base.weight_left
    restore_base(sums, node, base)
    if 0 < n_down < n:
        judge_cut(sums, node, n_left, base.n - n_left, weight_left, word_key(words[n_down - 1]),
                  word_key(words[n_down]), limits, best)
    for i in range(n_down, n - 1):
        flip_row(sums, node, base, words[i], &n_left, &weight_left)
        if word_key(words[i]) != word_key(words[i + 1]):
            judge_cut(sums, node, n_left, base.n - n_left, weight_left, word_key(words[i]),
                      word_key(words[i + 1]), limits, best)
    n_left = base.n_left
    weight_left = base.weight_left
    restore_base(sums, node, base)
    for i in range(n_down - 1, 0, -1):
        flip_row(sums, node, base, words[i], &n_left, &weight_left)
        if word_key(words[i - 1]) != word_key(words[i]):
            judge_cut(sums, node, n_left, base.n - n_left, weight_left, word_key(words[i - 1]),
                      word_key(words[i]), limits, best)


cdef inline void restore_base(sums_t* sums, const ClassNode* node,
                              const FlipBase* base) noexcept nogil:
    """Back to the present plane."""
    cdef idx_t s
    for s in range(node.n_slots):
        node.left[s] = base.left[s]
    restore_sums(sums, node)
