# Losses of linear scores and of leaves, and what their gradients are made of.
#
# Classes: softmax and its log loss; log loss of a leaf's parameters is read from a table, since
# many rows ask for the same few numbers (entry k is the loss of class k). Two sides: the
# logistic function and its log loss. Numbers: the squared error.

from libc.math cimport exp, fabs, log, log1p

from obtree.core.dispatch cimport kernels
from obtree.core.types cimport idx_t

ctypedef fused score_t:
    float
    double


cdef inline score_t find_top(const score_t* score, idx_t n, idx_t step) noexcept nogil:
    """The largest of n scores, `step` apart."""
    cdef score_t top = score[0]
    cdef idx_t k
    for k in range(1, n):
        top = max(top, score[k * step])
    return top


cdef inline double exponentiate(score_t* score, idx_t n, idx_t step,
                                score_t* top) noexcept nogil:
    """Replace n scores, `step` apart, by exp(score - top); returns their sum.

    OUT top: the largest score. Divided by the sum, the scores are the softmax.
    """
    cdef idx_t k
    cdef double total = 0.0
    top[0] = find_top(score, n, step)
    for k in range(n):
        score[k * step] = <score_t>exp(score[k * step] - top[0])
        total += score[k * step]
    return total


cdef inline double apply_softmax(double* score, idx_t n, double* top) noexcept nogil:
    """Replace n finite scores by probabilities; returns what `exponentiate` does."""
    cdef idx_t k
    cdef double total = exponentiate(score, n, 1, top)
    for k in range(n):
        score[k] /= total
    return total


cdef inline void find_probabilities(double* score, idx_t n_classes,
                                    idx_t max_n_classes) noexcept nogil:
    """Replace finite scores by probabilities, zero beyond the classes of the output."""
    cdef double top
    cdef idx_t c
    apply_softmax(score, n_classes, &top)
    for c in range(n_classes, max_n_classes):
        score[c] = 0.0


cdef inline void find_log_probabilities(const double* counts, idx_t n_classes, double weight,
                                        double pseudo_count, float* theta) noexcept nogil:
    """OUT theta: logarithms of the classes' fractions of `weight`, with so many rows more of
    each."""
    cdef double level = weight + pseudo_count * n_classes
    cdef idx_t k
    for k in range(n_classes):
        theta[k] = <float>log((counts[k] + pseudo_count) / level)


cdef inline void tabulate_log_loss(const float* theta, idx_t n_classes,
                                   float* table) noexcept nogil:
    """OUT table[k] = -theta[k] + log(sum(exp(theta))): the loss of each class, from scores."""
    cdef double total = 0.0, level
    cdef float top = find_top(theta, n_classes, 1)
    cdef idx_t k
    for k in range(n_classes):
        total += exp(<double>theta[k] - top)
    level = top + log(total)
    for k in range(n_classes):
        table[k] = <float>(level - theta[k])


cdef inline void tabulate_softmax(const float* theta, idx_t n_classes, float* probability,
                                  float* table) noexcept nogil:
    """The same in single precision, for tables that each step renews; OUT probability: the
    softmax."""
    cdef float top = find_top(theta, n_classes, 1), total = 0.0, level
    cdef idx_t k
    kernels().exp_differences(theta, n_classes, top, probability)
    for k in range(n_classes):
        total += probability[k]
    level = top + <float>log(total)
    for k in range(n_classes):
        probability[k] /= total
        table[k] = level - theta[k]


cdef inline double clip_score(double score) noexcept nogil:
    """A score of which the logistic function is neither 0 nor 1."""
    return min(max(score, -30.0), 30.0)


cdef inline double apply_logistic(double score) noexcept nogil:
    """1 / (1 + exp(-score))"""
    return 1.0 / (1.0 + exp(-score))


cdef inline void add_logistic_loss(double score, bint positive, double weight,
                                   double* loss) noexcept nogil:
    """Add weight * log(1 + exp(-score)), or of the score's opposite when not positive."""
    loss[0] += weight * log1p(exp(-fabs(score)))
    if positive != (score > 0.0):
        loss[0] += weight * fabs(score)


cdef inline float squared_loss(const float* theta, const float* y, idx_t n) noexcept nogil:
    """|theta - y|^2"""
    cdef float total = 0.0
    cdef idx_t k
    for k in range(n):
        total += (theta[k] - y[k]) * (theta[k] - y[k])
    return total
