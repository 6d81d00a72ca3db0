# The continuous bound of CO2 on the loss of a split, and gradient steps on it.
#
# Norouzi, Collins, Fleet and Kohli, "CO2 forest" (2015). For a row x with score s = w.x - b
# and losses l0, l1 in the left and the right leaf, equation 5 bounds the loss of the split:
#
#     [s < 0] l0 + [s >= 0] l1  <=  max(-s + l0, s + l1) - |s|
#
# It is not flat in s only for rows on the side that is worse for them by more than 2 |s|.
# Losses are equation 3 (classes) or equation 4 (numbers), summed over outputs.
#
# Departures from the paper: steps have Adam's two moments instead of one, for w, b and the
# leaves alike. In wide nodes the second one is that of w as a whole: steps then keep to the
# gradient's direction, where Adam gives the many columns that hardly matter steps as long as
# others, which costs accuracy. The tangent of the concave part, which the paper renews after
# some epochs, is that of the current plane. After each step w returns to the ball
# |w|^2 <= nu (equation 9), and the bias shrinks with it, so that the plane itself stays.
#
# Rows are float32, centred and scaled by whoever fills them in, `stride` floats apart and
# padded with zeros. The score of a row is w.x - bias; it goes left when that is negative.

from libc.math cimport fabs, fabsf
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t
from obtree.linear.adam cimport advance_adam, project_ball, step_adam, step_adam_shared
from obtree.linear.loss cimport find_log_probabilities, squared_loss, tabulate_softmax


cdef struct Batch:
    # Rows to judge, and what is to be predicted for them.
    const float* x            # (n * stride)
    # Rows of few non-zeros, see sparse_node.pxi: row p differs from `base` by value[e] in
    # column[e], for e from start[p] to start[p + 1]. NULL: they are in x.
    const int64_t* start      # (n + 1)
    const int32_t* column
    const float* value
    const float* base         # (stride)
    const float* weight       # (n)
    const int32_t* slot       # (n * n_outputs) classes as slots of the stump
    const float* y            # (n * n_outputs) numbers
    idx_t n


cdef struct StumpLoss:
    # Weighted sums over rows.
    double weight
    double surrogate          # equation 5
    double loss               # equation 2: of the split as it is


cdef struct Stump:
    idx_t n_outputs
    bint is_class             # log loss of classes, or squared error of numbers
    bint shared_moment        # whether w has one second moment instead of many
    # (n_outputs + 1) where the slots of an output begin; a slot for each class, or one for
    # the number. The leaves' arrays hold the slots of the left leaf, then of the right one.
    const idx_t* first
    idx_t stride
    idx_t n_columns           # before the zeros
    float nu                  # bound of |w|^2
    float* w                  # (stride)
    float bias
    float* theta              # leaves: log-probabilities or means
    float* probability        # leaves: probabilities
    float* table              # leaves: loss of each class
    float* theta_grad         # leaves: gradient
    float* theta_m            # leaves: moments
    float* theta_v
    float* grad               # (stride)
    float* m                  # (stride) moments
    float* v                  # v[0] for all weights together, where `shared_moment` says so
    float bias_m
    float bias_v
    float decay_m             # 0.9 ** steps and 0.99 ** steps
    float decay_v
    float* score              # (batch)
    int32_t* at               # (batch) active rows: those that move the plane
    float* factor             # (batch) and how much


# Take scratch for so many columns, slots and rows a batch.
cdef inline int take_stump(Stump* stump, Workspace workspace, idx_t max_stride, idx_t max_slots,
                           idx_t max_batch) except -1:
    stump.w = <float*>workspace.take(max_stride, sizeof(float))
    stump.grad = <float*>workspace.take(max_stride, sizeof(float))
    stump.m = <float*>workspace.take(max_stride, sizeof(float))
    stump.v = <float*>workspace.take(max_stride, sizeof(float))
    stump.theta = <float*>workspace.take(2 * max_slots, sizeof(float))
    stump.probability = <float*>workspace.take(2 * max_slots, sizeof(float))
    stump.table = <float*>workspace.take(2 * max_slots, sizeof(float))
    stump.theta_grad = <float*>workspace.take(2 * max_slots, sizeof(float))
    stump.theta_m = <float*>workspace.take(2 * max_slots, sizeof(float))
    stump.theta_v = <float*>workspace.take(2 * max_slots, sizeof(float))
    stump.score = <float*>workspace.take(max_batch, sizeof(float))
    stump.at = <int32_t*>workspace.take(max_batch, sizeof(int32_t))
    stump.factor = <float*>workspace.take(max_batch, sizeof(float))
    return 0


# Start with w = 0 and without moments; first, stride, nu, n_outputs and is_class are set.
cdef inline void reset_stump(Stump* stump) noexcept nogil:
    cdef idx_t n_slots = stump.first[stump.n_outputs]
    memset(stump.w, 0, stump.stride * sizeof(float))
    memset(stump.m, 0, stump.stride * sizeof(float))
    memset(stump.v, 0, stump.stride * sizeof(float))
    memset(stump.theta_m, 0, 2 * n_slots * sizeof(float))
    memset(stump.theta_v, 0, 2 * n_slots * sizeof(float))
    stump.bias = 0.0
    stump.bias_m = 0.0
    stump.bias_v = 0.0
    stump.decay_m = 1.0
    stump.decay_v = 1.0


cdef inline void score_rows(Stump* stump, const Batch* batch) noexcept nogil:
    """w.x of every row."""
    cdef float level
    if batch.start == NULL:
        kernels().dot_rows(batch.x, stump.stride, batch.n, stump.w, stump.score)
        return
    kernels().dot_rows(batch.base, stump.stride, 1, stump.w, &level)
    kernels().dot_entries(batch.start, batch.column, batch.value, batch.n, stump.w, level,
                          stump.score)


cdef inline void sum_rows(Stump* stump, const Batch* batch, idx_t n_active) noexcept nogil:
    """OUT grad: the active rows, times their factors."""
    cdef float total = 0.0, factor
    cdef idx_t i, k
    cdef int64_t e
    if batch.start == NULL:
        kernels().add_rows(batch.x, stump.stride, stump.at, stump.factor, n_active, stump.grad)
        return
    for i in range(n_active):
        total += stump.factor[i]
    for k in range(stump.stride):
        stump.grad[k] = total * batch.base[k]
    for i in range(n_active):
        factor = stump.factor[i]
        for e in range(batch.start[stump.at[i]], batch.start[stump.at[i] + 1]):
            stump.grad[batch.column[e]] += factor * batch.value[e]


# Set the leaves to what is best for the plane as it is: log-probabilities, with so many rows
# more of each class, or means. SCRATCH counts (2 * (n_slots + 1)).
cdef inline void fit_stump_leaves(Stump* stump, const Batch* batch, double pseudo_count,
                                  double* counts) noexcept nogil:
    cdef idx_t n_slots = stump.first[stump.n_outputs]
    cdef idx_t p, k, b, s
    cdef double weight
    cdef double* leaf
    memset(counts, 0, 2 * (n_slots + 1) * sizeof(double))
    score_rows(stump, batch)
    for p in range(batch.n):
        leaf = counts + (n_slots + 1 if stump.score[p] >= stump.bias else 0)
        weight = batch.weight[p]
        leaf[n_slots] += weight
        for k in range(stump.n_outputs):
            if stump.is_class:
                leaf[batch.slot[p * stump.n_outputs + k]] += weight
            else:
                leaf[k] += weight * batch.y[p * stump.n_outputs + k]
    for b in range(2):
        leaf = counts + b * (n_slots + 1)
        for k in range(stump.n_outputs):
            s = stump.first[k]
            if stump.is_class:
                find_log_probabilities(leaf + s, stump.first[k + 1] - s, leaf[n_slots],
                                       pseudo_count, stump.theta + b * n_slots + s)
            else:
                weight = max(leaf[n_slots], 1e-300)
                stump.theta[b * n_slots + k] = <float>(leaf[k] / weight)


cdef inline void tabulate_losses(Stump* stump) noexcept nogil:
    """Probabilities of the classes in either leaf, and their losses (equation 3)."""
    cdef idx_t n_slots = stump.first[stump.n_outputs]
    cdef idx_t b, k, base
    for b in range(2):
        for k in range(stump.n_outputs):
            base = b * n_slots + stump.first[k]
            tabulate_softmax(stump.theta + base, stump.first[k + 1] - stump.first[k],
                             stump.probability + base, stump.table + base)


cdef inline void find_losses(const Stump* stump, const Batch* batch, idx_t p, float* low,
                             float* high) noexcept nogil:
    """Losses of row p in the left and in the right leaf."""
    cdef idx_t n_slots = stump.first[stump.n_outputs]
    cdef idx_t n_outputs = stump.n_outputs
    cdef idx_t k
    if not stump.is_class:
        low[0] = squared_loss(stump.theta, batch.y + p * n_outputs, n_outputs)
        high[0] = squared_loss(stump.theta + n_slots, batch.y + p * n_outputs, n_outputs)
        return
    low[0] = high[0] = 0.0
    for k in range(n_outputs):
        low[0] += stump.table[batch.slot[p * n_outputs + k]]
        high[0] += stump.table[n_slots + batch.slot[p * n_outputs + k]]


# Shorten w and bias together, to no less than a fraction of what they are, until the rows on the
# side that is worse for them are, on average, near enough to move the plane.
cdef inline void shorten_stump(Stump* stump, const Batch* batch, float least) noexcept nogil:
    cdef idx_t p, k
    cdef float s, low, high, shrink
    cdef double gap = 0.0, reach = 0.0
    if stump.is_class:
        tabulate_losses(stump)
    score_rows(stump, batch)
    for p in range(batch.n):
        s = stump.score[p] - stump.bias
        find_losses(stump, batch, p, &low, &high)
        if (s >= 0) == (high > low):
            gap += batch.weight[p] * fabs(high - low)
            reach += batch.weight[p] * 2 * fabs(s)
    if not gap < reach:
        return
    shrink = <float>max(gap / reach, <double>least)
    for k in range(stump.stride):
        stump.w[k] *= shrink
    stump.bias *= shrink


# Add the losses of a batch to `sums`. OUT at, factor, theta_grad: its gradient. Returns how many
# rows are active.
cdef inline idx_t judge_batch(Stump* stump, const Batch* batch, StumpLoss* sums) noexcept nogil:
    cdef idx_t n_slots = stump.first[stump.n_outputs]
    cdef idx_t n_outputs = stump.n_outputs
    cdef idx_t p, k, branch, n_active = 0
    cdef float s, low, high, own, other, weight
    cdef double surrogate = 0.0, loss = 0.0, total = 0.0
    cdef float batch_weight[2]
    cdef float* leaf_grad
    if stump.is_class:
        tabulate_losses(stump)
    score_rows(stump, batch)
    memset(stump.theta_grad, 0, 2 * n_slots * sizeof(float))
    batch_weight[0] = batch_weight[1] = 0.0
    for p in range(batch.n):
        s = stump.score[p] - stump.bias
        weight = batch.weight[p]
        find_losses(stump, batch, p, &low, &high)
        # The leaf that the maximum takes, and the row's factor when it is not in that leaf.
        branch = 0 if low - s >= high + s else 1
        stump.at[n_active] = <int32_t>p
        stump.factor[n_active] = -2 * weight if branch == 0 else 2 * weight
        n_active += (s >= 0) == (branch == 0)
        total += weight
        # With the sign of s known, rounding cannot bring the bound below the loss. Nobody can
        # foresee the side, so that there is no branch.
        own = high if s >= 0 else low
        other = (low if s >= 0 else high) - 2 * fabsf(s)
        loss += weight * own
        surrogate += weight * (own if own > other else other)
        batch_weight[branch] += weight
        leaf_grad = stump.theta_grad + branch * n_slots
        if stump.is_class:
            for k in range(n_outputs):
                leaf_grad[batch.slot[p * n_outputs + k]] -= weight
        else:
            for k in range(n_outputs):
                leaf_grad[k] -= 2 * weight * batch.y[p * n_outputs + k]
    for branch in range(2):
        for k in range(branch * n_slots, (branch + 1) * n_slots):
            if stump.is_class:
                stump.theta_grad[k] += batch_weight[branch] * stump.probability[k]
            else:
                stump.theta_grad[k] += 2 * batch_weight[branch] * stump.theta[k]
    sums.weight += total
    sums.surrogate += surrogate
    sums.loss += loss
    return n_active


# One step down the gradient of a batch, whose losses before the step are added to `sums`.
cdef inline void move_stump(Stump* stump, const Batch* batch, float rate, float leaf_rate,
                            StumpLoss* sums) noexcept nogil:
    cdef idx_t n_slots = stump.first[stump.n_outputs]
    cdef idx_t k, n_active
    cdef double before = sums.weight
    cdef float inverse, shrink, v_correction, bias_grad = 0.0
    cdef double correction
    n_active = judge_batch(stump, batch, sums)
    inverse = <float>(1.0 / (sums.weight - before))
    for k in range(n_active):
        stump.factor[k] *= inverse
        bias_grad -= stump.factor[k]
    for k in range(2 * n_slots):
        stump.theta_grad[k] *= inverse
    correction = advance_adam(&stump.decay_m, &stump.decay_v, &v_correction)
    rate /= correction
    leaf_rate /= correction
    sum_rows(stump, batch, n_active)
    if stump.shared_moment:
        step_adam_shared(stump.w, stump.m, stump.v, stump.grad, stump.stride, stump.n_columns, rate,
                         v_correction)
    else:
        step_adam(stump.w, stump.m, stump.v, stump.grad, stump.stride, rate, v_correction)
    step_adam(&stump.bias, &stump.bias_m, &stump.bias_v, &bias_grad, 1, rate, v_correction)
    step_adam(stump.theta, stump.theta_m, stump.theta_v, stump.theta_grad, 2 * n_slots, leaf_rate,
              v_correction)
    shrink = project_ball(stump.w, stump.stride, stump.nu)
    stump.bias *= shrink
