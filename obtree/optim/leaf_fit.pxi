# Fitting the leaves of a tree under TAO to their rows.
#
# Constants are exact. Of linear models, regression with few features solves the normal equations of
# ridge regression. Otherwise the weights make a few proximal AdaGrad steps from where they are:
# on the cross-entropy of the softmax of the scores under an l1 penalty, or on the squared error
# under a ridge penalty.

from libc.math cimport fabs, log
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport free_block, grow_block
from obtree.core.random cimport RandState, shuffle
from obtree.core.types cimport idx_t, node_t, row_t
from obtree.data.scatter cimport Scatter, add_row, centre_gram, clear_scatter
from obtree.linear.adagrad cimport AdaGrad, average_steps, note_bias, reset_adagrad, step_weights
from obtree.linear.loss cimport exponentiate
from obtree.linear.ridge cimport solve_ridge


cdef float ABSENT = -1e4      # score of a class that the leaf does not hold


cdef bint fit_by_ridge(TAOLeaves leaves, const row_t* rows, idx_t n, LeafScratch scratch,
                       double* penalty) noexcept nogil:
    """The ridge regression of the leaf's rows, into scratch.model; its penalty."""
    cdef Scatter* s = &scratch.scatter
    cdef idx_t n_terms = leaves.scaler.complete.n, stride = leaves.scaler.complete.stride
    cdef idx_t n_outputs = leaves.n_values
    cdef idx_t start = 0, here, p, a, k
    cdef double* line
    cdef double w, bias
    if n_terms == 0:
        return False
    clear_scatter(s)
    while start < n:
        here = min(<idx_t>LEAF_BATCH, n - start)
        leaves.scaler.transform(&leaves.scaler.complete, rows + start, here, scratch.z)
        for p in range(here):
            w = leaves.problem.weight[rows[start + p]]
            for k in range(n_outputs):
                scratch.target[k] = w * (leaves.problem.targets[rows[start + p] * n_outputs + k]
                                         - leaves.centre[k]) / leaves.size
            add_row(s, scratch.z + p * stride, w, scratch.target)
        start += here
    centre_gram(s)
    for k in range(n_outputs):
        s.total[k] /= s.weight
        for a in range(n_terms):
            s.cross[k * n_terms + a] -= s.weight * s.mean[a] * s.total[k]
    # A ridge of zero may meet rows that span less than the space.
    if not solve_ridge(s.gram, n_terms, leaves.ridge + 1e-9 * s.weight, s.cross, n_outputs):
        return False
    penalty[0] = 0.0
    memset(scratch.model, 0, n_outputs * (stride + 1) * sizeof(float))
    for k in range(n_outputs):
        line = s.cross + k * n_terms
        bias = s.total[k]
        for a in range(n_terms):
            scratch.model[k * stride + a] = <float>line[a]
            bias -= line[a] * s.mean[a]
            penalty[0] += leaves.ridge * line[a] * line[a]
        scratch.model[n_outputs * stride + k] = <float>bias
    return True


cdef idx_t _start_model(TAOLeaves leaves, node_t leaf, LeafScratch scratch) noexcept nogil:
    """The leaf's model, or one that knows the classes' fractions only; how many scores move."""
    cdef idx_t n_values = leaves.n_values, stride = leaves.scaler.complete.stride
    cdef idx_t k, n_present = 0
    cdef float* bias = scratch.model + n_values * stride
    cdef double total = 0.0
    memset(scratch.model, 0, n_values * (stride + 1) * sizeof(float))
    if leaves.model[leaf] != NULL:
        memcpy(scratch.model, leaves.model[leaf], n_values * (stride + 1) * sizeof(float))
    if leaves.problem.n_classes == 0:
        for k in range(n_values):
            scratch.present[k] = <int32_t>k
            if leaves.model[leaf] == NULL:
                bias[k] = <float>((leaves.value[leaf * n_values + k] - leaves.centre[k])
                                  / leaves.size)
        return n_values
    # scratch.sums are the weights of the classes, from the fit of the constant.
    for k in range(n_values):
        total += scratch.sums[k]
    for k in range(n_values):
        if scratch.sums[k] > 0.0:
            scratch.present[n_present] = <int32_t>k
            n_present += 1
            if leaves.model[leaf] == NULL or bias[k] <= 0.5 * ABSENT:
                bias[k] = <float>log(scratch.sums[k] / total)
        elif leaves.model[leaf] == NULL:
            bias[k] = ABSENT
    return n_present


cdef void find_factors(TAOLeaves leaves, const row_t* rows, idx_t here, idx_t n_present,
                       double mean_weight, LeafScratch scratch) noexcept nogil:
    """What each row's gradient with respect to each score is, from scratch.score.

    `mean_weight` is that of the leaf's rows. OUT scratch.factor.
    """
    cdef idx_t n_values = leaves.n_values
    cdef idx_t p, i
    cdef float* score = scratch.score
    cdef float top
    cdef double slope, total = 1.0
    cdef row_t row
    for p in range(here):
        row = rows[p]
        if leaves.problem.n_classes > 0:
            total = exponentiate(score + p, n_present, LEAF_BATCH, &top)
        for i in range(n_present):
            if leaves.problem.n_classes > 0:
                slope = score[i * LEAF_BATCH + p] / total
                if scratch.present[i] == leaves.problem.codes[row]:
                    slope -= 1.0
            else:
                slope = 2.0 * (score[i * LEAF_BATCH + p] - (
                    leaves.problem.targets[row * n_values + i] - leaves.centre[i]
                ) / leaves.size)
            scratch.factor[i * LEAF_BATCH + p] = <float>(
                slope * leaves.problem.weight[row] / (mean_weight * here))


cdef bint fit_by_steps(TAOLeaves leaves, node_t leaf, row_t* rows, idx_t n, RandState* rng,
                       LeafScratch scratch, double* penalty) noexcept nogil:
    """A few epochs of small steps, into scratch.model; the penalty of the result.

    IN OUT rows (n), put in another order.
    """
    cdef AdaGrad* steps = &scratch.steps
    cdef idx_t n_values = leaves.n_values, stride = leaves.scaler.complete.stride
    cdef bint is_class = leaves.problem.n_classes > 0
    cdef idx_t n_present = _start_model(leaves, leaf, scratch)
    cdef idx_t _epoch, b, p, i, k, start, here
    cdef float* bias = scratch.model + n_values * stride
    cdef int32_t at[LEAF_BATCH]
    cdef double weight = 0.0, slope
    if n_present < 2 and is_class:
        return False
    for p in range(n):
        weight += leaves.problem.weight[rows[p]]
    reset_adagrad(steps, n_values, stride, n, leaves.n_epochs)
    steps.rate = leaves.rate
    steps.shrink = <float>(leaves.l1 / weight) if is_class else <float>0.0
    steps.decay = <float>0.0 if is_class else <float>(2.0 * leaves.ridge / weight)
    weight /= n
    for p in range(LEAF_BATCH):
        at[p] = <int32_t>p
    for _epoch in range(leaves.n_epochs):
        shuffle(rows, n, rng)
        for b in range(steps.n_batches):
            start = b * n // steps.n_batches
            here = (b + 1) * n // steps.n_batches - start
            leaves.scaler.transform(&leaves.scaler.complete, rows + start, here, scratch.z)
            for i in range(n_present):
                k = scratch.present[i]
                kernels().dot_rows(scratch.z, stride, here, scratch.model + k * stride,
                                   scratch.score + i * LEAF_BATCH)
                for p in range(here):
                    scratch.score[i * LEAF_BATCH + p] += bias[k]
            find_factors(leaves, rows + start, here, n_present, weight, scratch)
            for i in range(n_present):
                k = scratch.present[i]
                kernels().add_rows(scratch.z, stride, at, scratch.factor + i * LEAF_BATCH, here,
                                   scratch.gradient)
                slope = 0.0
                for p in range(here):
                    slope += scratch.factor[i * LEAF_BATCH + p]
                bias[k] -= <float>step_weights(steps, k, scratch.model + k * stride,
                                               scratch.gradient, slope)
                note_bias(steps, k, bias[k])
            steps.n_steps += 1
    for i in range(n_present):
        k = scratch.present[i]
        bias[k] = <float>average_steps(steps, k, scratch.model + k * stride)
    penalty[0] = 0.0
    for p in range(n_values * stride):
        if is_class:
            penalty[0] += leaves.l1 * fabs(<double>scratch.model[p])
        else:
            penalty[0] += leaves.ridge * scratch.model[p] * scratch.model[p]
    return True


cdef int _fit_linear(TAOLeaves leaves, node_t leaf, row_t* rows, idx_t n, double* costs,
                     RandState* rng, LeafScratch scratch) except -1 nogil:
    """Refit a linear model; keep the best of the old one, the new one and the constant."""
    cdef idx_t n_floats = leaves.n_values * (leaves.scaler.complete.stride + 1)
    cdef double before, constant = 0.0, after = 0.0, penalty = 0.0
    cdef idx_t p
    cdef bint found
    leaves.measure_costs(rows, n, leaf, NULL, scratch, costs)
    for p in range(n):
        constant += costs[p]
    before = constant
    if leaves.model[leaf] != NULL:
        leaves.measure_costs(rows, n, leaf, leaves.model[leaf], scratch, costs)
        before = leaves.penalty[leaf]
        for p in range(n):
            before += costs[p]
    if leaves.by_ridge:
        found = fit_by_ridge(leaves, rows, n, scratch, &penalty)
    else:
        found = fit_by_steps(leaves, leaf, rows, n, rng, scratch, &penalty)
    if found:
        leaves.measure_costs(rows, n, leaf, scratch.model, scratch, costs)
        after = penalty
        for p in range(n):
            after += costs[p]
    if found and after <= before and after <= constant:
        leaves.model[leaf] = <float*>grow_block(leaves.model[leaf], n_floats, sizeof(float))
        memcpy(leaves.model[leaf], scratch.model, n_floats * sizeof(float))
        leaves.penalty[leaf] = penalty
    elif constant < before:
        free_block(leaves.model[leaf])
        leaves.model[leaf] = NULL
        leaves.penalty[leaf] = 0.0
    # The rows may have changed places since.
    leaves.measure_costs(rows, n, leaf, leaves.model[leaf], scratch, costs)
    return 0


cdef int fit_leaf(TAOLeaves leaves, node_t leaf, row_t* rows, idx_t n, double* costs,
                  RandState* rng, LeafScratch scratch) except -1 nogil:
    """Fit the leaf to its rows unless the objective would rise.

    IN OUT rows (n), which may be put in another order; OUT costs (n), theirs. A leaf
    without rows stays as it is.
    """
    if n == 0:
        return 0
    leaves.fit_constant(leaf, rows, n, scratch)
    if leaves.linear:
        return _fit_linear(leaves, leaf, rows, n, costs, rng, scratch)
    leaves.measure_costs(rows, n, leaf, NULL, scratch, costs)
    return 0
