# Multinomial logistic regression by Newton's method, each step solved by conjugate gradients.
#
# The matrix of second derivatives is never formed: one product with it is one pass over the
# rows. Everything is summed in one order, so that the result is the same everywhere.

from libc.math cimport fabs, log, sqrt
from libc.stdint cimport int32_t

from obtree.core.types cimport idx_t, w_t
from obtree.linear.loss cimport apply_softmax

cdef enum:
    MAX_PRODUCTS = 100            # passes for one Newton step
    MAX_HALVINGS = 30


# All matrices by rows; the last of `width` columns of Z is one, and its coefficient is free.
cdef struct Logistic:
    idx_t n
    idx_t width
    idx_t n_classes
    const double* Z               # (n, width)
    const int32_t* label          # (n) in 0..n_classes-1
    const w_t* w                  # (n)
    double l2
    double* theta                 # (n_classes, width)
    double* gradient              # the same size, as the next four
    double* step
    double* residual
    double* direction
    double* product
    double* score                 # (n, n_classes)
    double* change                # (n, n_classes)
    double* p                     # (n, n_classes) probabilities
    double* curvature             # (n_classes)
    double* row                   # (n_classes)


cdef inline idx_t count_logistic(idx_t n, idx_t width, idx_t n_classes) noexcept nogil:
    """Items of scratch that `lay_logistic` hands out."""
    return 6 * n_classes * width + 3 * n * n_classes + 2 * n_classes


cdef inline void lay_logistic(Logistic* f, double* scratch) noexcept nogil:
    """Divide scratch among the arrays of f, whose sizes are set."""
    cdef idx_t size = f.n_classes * f.width
    f.theta = scratch
    f.gradient = scratch + size
    f.step = scratch + 2 * size
    f.residual = scratch + 3 * size
    f.direction = scratch + 4 * size
    f.product = scratch + 5 * size
    f.score = scratch + 6 * size
    f.change = f.score + f.n * f.n_classes
    f.p = f.change + f.n * f.n_classes
    f.curvature = f.p + f.n * f.n_classes
    f.row = f.curvature + f.n_classes


cdef inline double dot(const double* a, const double* b, idx_t n) noexcept nogil:
    """sum(a * b) in eight partial sums, which the compiler keeps in registers."""
    cdef double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0
    cdef double s4 = 0.0, s5 = 0.0, s6 = 0.0, s7 = 0.0
    cdef idx_t k = 0
    while k + 8 <= n:
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
        s4 += a[k + 4] * b[k + 4]
        s5 += a[k + 5] * b[k + 5]
        s6 += a[k + 6] * b[k + 6]
        s7 += a[k + 7] * b[k + 7]
        k += 8
    while k < n:
        s0 += a[k] * b[k]
        k += 1
    return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))


cdef inline void add_scaled(double* a, const double* b, double factor, idx_t n) noexcept nogil:
    """a += factor * b."""
    cdef idx_t k
    for k in range(n):
        a[k] += factor * b[k]


cdef inline void multiply_rows(const Logistic* f, const double* theta,
                               double* score) noexcept nogil:
    """score[i, k] = Z[i] . theta[k]."""
    cdef idx_t i, k
    for i in range(f.n):
        for k in range(f.n_classes):
            score[i * f.n_classes + k] = dot(f.Z + i * f.width, theta + k * f.width, f.width)


cdef inline double penalise(const Logistic* f, double factor) noexcept nogil:
    """Penalty of theta + factor * step."""
    cdef idx_t k, j
    cdef double b
    cdef double total = 0.0
    for k in range(f.n_classes):
        for j in range(f.width - 1):
            b = f.theta[k * f.width + j] + factor * f.step[k * f.width + j]
            total += b * b
    return 0.5 * f.l2 * total


cdef inline double evaluate(const Logistic* f, double factor) noexcept nogil:
    """Loss with scores score + factor * change; leaves their probabilities in p."""
    cdef idx_t i, k
    cdef idx_t n_classes = f.n_classes
    cdef double loss = 0.0
    cdef double top, total, own
    cdef const double* score
    cdef double* p
    for i in range(f.n):
        score = f.score + i * n_classes
        p = f.p + i * n_classes
        for k in range(n_classes):
            p[k] = score[k] + factor * f.change[i * n_classes + k]
        own = p[f.label[i]]
        total = apply_softmax(p, n_classes, &top)
        loss -= f.w[i] * (own - top)
        loss += f.w[i] * log(total)
    return loss + penalise(f, factor)


cdef inline void differentiate(const Logistic* f) noexcept nogil:
    """The gradient at theta, and how much each class curves."""
    cdef idx_t i, k, j
    cdef idx_t width = f.width
    cdef double p
    for k in range(f.n_classes):
        f.curvature[k] = 0.0
        for j in range(width):
            f.gradient[k * width + j] = f.l2 * f.theta[k * width + j] if j < width - 1 else 0.0
    for i in range(f.n):
        for k in range(f.n_classes):
            p = f.p[i * f.n_classes + k]
            f.curvature[k] += f.w[i] * p * (1.0 - p)
            add_scaled(f.gradient + k * width, f.Z + i * width,
                       f.w[i] * (p - (1.0 if k == f.label[i] else 0.0)), width)


cdef inline void multiply_curvature(const Logistic* f, const double* v,
                                    double* out) noexcept nogil:
    """out = second derivatives times v."""
    cdef idx_t i, k, j
    cdef idx_t width = f.width
    cdef double mean
    cdef const double* p
    for k in range(f.n_classes):
        for j in range(width):
            out[k * width + j] = f.l2 * v[k * width + j] if j < width - 1 else 0.0
    for i in range(f.n):
        p = f.p + i * f.n_classes
        mean = 0.0
        for k in range(f.n_classes):
            f.row[k] = dot(f.Z + i * width, v + k * width, width)
            mean += p[k] * f.row[k]
        for k in range(f.n_classes):
            add_scaled(out + k * width, f.Z + i * width, f.w[i] * p[k] * (f.row[k] - mean), width)


cdef inline double precondition(const Logistic* f, double* out) noexcept nogil:
    """out = residual over the curvature of each class. Returns their product."""
    cdef idx_t k, j, at
    cdef double total = 0.0
    for k in range(f.n_classes):
        for j in range(f.width):
            at = k * f.width + j
            out[at] = f.residual[at] / (f.curvature[k] + f.l2)
            total += out[at] * f.residual[at]
    return total


cdef inline void find_step(const Logistic* f, double accuracy,
                           const volatile int* stop) noexcept nogil:
    """Solve for the Newton step until the residual has fallen to a fraction of the gradient."""
    cdef idx_t size = f.n_classes * f.width
    cdef idx_t k, _round
    cdef double known, found, curve, factor, goal
    for k in range(size):
        f.step[k] = 0.0
        f.residual[k] = -f.gradient[k]
    known = precondition(f, f.direction)
    goal = accuracy * accuracy * dot(f.gradient, f.gradient, size)
    for _round in range(MAX_PRODUCTS):
        if stop != NULL and stop[0]:
            return
        multiply_curvature(f, f.direction, f.product)
        curve = dot(f.direction, f.product, size)
        if not curve > 0.0:
            return
        factor = known / curve
        add_scaled(f.step, f.direction, factor, size)
        add_scaled(f.residual, f.product, -factor, size)
        if dot(f.residual, f.residual, size) <= goal:
            return
        # The product has done its work and takes the preconditioned residual.
        found = precondition(f, f.product)
        factor = found / known
        known = found
        for k in range(size):
            f.direction[k] = f.product[k] + factor * f.direction[k]


cdef inline void minimise(const Logistic* f, idx_t max_iter, double tolerance,
                          const volatile int* stop) noexcept nogil:
    """Newton steps from theta until no slope exceeds the tolerance."""
    cdef idx_t size = f.n_classes * f.width
    cdef idx_t i, k, _round, _half
    cdef double loss, trial, slope, length, largest, first = 0.0
    for k in range(size):
        f.step[k] = 0.0
    for i in range(f.n * f.n_classes):
        f.change[i] = 0.0
    multiply_rows(f, f.theta, f.score)
    loss = evaluate(f, 0.0)
    for _round in range(max_iter):
        differentiate(f)
        largest = 0.0
        for k in range(size):
            largest = max(largest, fabs(f.gradient[k]))
        if not largest > tolerance or (stop != NULL and stop[0]):
            return
        if _round == 0:
            first = largest
        # Loosely at first, then ever more exactly: the last steps converge fast.
        find_step(f, min(0.25, sqrt(largest / first) * 0.25), stop)
        slope = dot(f.gradient, f.step, size)
        if not slope < 0.0:
            return
        multiply_rows(f, f.step, f.change)
        length = 1.0
        for _half in range(MAX_HALVINGS):
            trial = evaluate(f, length)
            if trial <= loss + 1e-4 * length * slope + 1e-13 * fabs(loss):
                break
            length *= 0.5
        else:
            return
        loss = trial
        add_scaled(f.theta, f.step, length, size)
        add_scaled(f.score, f.change, length, f.n * f.n_classes)
