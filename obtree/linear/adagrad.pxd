# Proximal AdaGrad on batches of rows (Duchi, Hazan and Singer, 2011).
#
# One or several rows of weights and a bias for each move together, a step for every batch. The
# result is the mean of the second half of the steps; a weight that ended at zero stays zero.

from libc.math cimport sqrt
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t

cdef enum:
    BATCH = 64                # most rows of a step


cdef struct AdaGrad:
    double rate
    float shrink              # l1 penalty, over the weight of all rows
    float decay               # twice the l2 penalty, over the weight of all rows
    idx_t stride              # of a row of weights
    idx_t n_batches           # of an epoch
    idx_t n_steps             # so far
    idx_t average_from        # step that the mean begins with
    float* squares            # (n_rows * stride)
    float* total              # (n_rows * stride)
    double* bias_squares      # (n_rows)
    double* bias_total        # (n_rows)


cdef inline int take_adagrad(AdaGrad* a, idx_t n_rows, idx_t stride,
                             Workspace memory) except -1:
    """Make room for so many rows of weights."""
    a.squares = <float*>memory.take(n_rows * stride, sizeof(float))
    a.total = <float*>memory.take(n_rows * stride, sizeof(float))
    a.bias_squares = <double*>memory.take(n_rows, sizeof(double))
    a.bias_total = <double*>memory.take(n_rows, sizeof(double))
    return 0


cdef inline void reset_adagrad(AdaGrad* a, idx_t n_rows, idx_t stride, idx_t n_samples,
                               idx_t n_epochs) noexcept nogil:
    """Forget all steps, and plan the batches: at least eight of them, or of eight samples."""
    cdef idx_t size = min(<idx_t>BATCH, max(<idx_t>8, n_samples // 8))
    a.stride = stride
    a.n_batches = (n_samples + size - 1) // size
    a.average_from = n_epochs * a.n_batches // 2
    a.n_steps = 0
    memset(a.squares, 0, n_rows * stride * sizeof(float))
    memset(a.total, 0, n_rows * stride * sizeof(float))
    memset(a.bias_squares, 0, n_rows * sizeof(double))
    memset(a.bias_total, 0, n_rows * sizeof(double))


cdef inline double step_weights(AdaGrad* a, idx_t row, float* w, const float* gradient,
                                double bias_gradient) noexcept nogil:
    """Move a row of weights; returns the step down that is due to its bias."""
    cdef float* total = a.total + row * a.stride
    if a.n_steps == a.average_from:
        memset(total, 0, a.stride * sizeof(float))
    kernels().proximal_step(w, a.squares + row * a.stride, total, gradient, a.stride,
                            <float>a.rate, a.shrink, a.decay)
    a.bias_squares[row] += bias_gradient * bias_gradient
    if a.bias_squares[row] > 0.0:
        return a.rate * bias_gradient / sqrt(a.bias_squares[row])
    return 0.0


cdef inline void note_bias(AdaGrad* a, idx_t row, double bias) noexcept nogil:
    """Let the bias, as it has become, count in the mean."""
    if a.n_steps >= a.average_from:
        a.bias_total[row] += bias


cdef inline double average_steps(const AdaGrad* a, idx_t row, float* w) noexcept nogil:
    """Set a row of weights to its mean; returns that of the bias."""
    cdef idx_t n_averaged = a.n_steps - a.average_from
    cdef const float* total = a.total + row * a.stride
    cdef idx_t k
    for k in range(a.stride):
        if w[k] != 0.0:
            w[k] = total[k] / <float>n_averaged
    return a.bias_total[row] / n_averaged
