# Steps of Adam (Kingma and Ba, 2015), whose moments forget at 0.9 and 0.99, and the ball that
# weights return to after a step.

from libc.math cimport sqrt

from obtree.core.dispatch cimport kernels
from obtree.core.types cimport idx_t

ctypedef fused power_t:
    float
    double


cdef inline double count_step(power_t* first, power_t* second, power_t* lift) noexcept nogil:
    """Count a step; returns 1 - 0.9 ** steps, which the rate is to be divided by.

    IN OUT first, second: powers of 0.9 and 0.99, ones at the start. OUT lift: what second
    moments are to be multiplied by, since they began with zero.
    """
    first[0] *= <power_t>0.9
    second[0] *= <power_t>0.99
    lift[0] = <power_t>(1.0 / (1.0 - <double>second[0]))
    return 1.0 - <double>first[0]


cdef inline void step_adam(float* w, float* m, float* v, const float* gradient, idx_t n,
                           float rate, float lift) noexcept nogil:
    """Move n weights; each has moments of its own (IN OUT m, v)."""
    kernels().move_weights(w, m, v, gradient, n, rate, lift)


cdef inline void step_together(float* w, float* m, float* v, const float* gradient, idx_t stride,
                               idx_t n, float rate, float lift) noexcept nogil:
    """Move weights along their smoothed gradient, as far as Adam would if all n were alike.

    They have one second moment (IN OUT v) together.
    """
    cdef float square
    cdef idx_t k
    kernels().dot_rows(gradient, stride, 1, gradient, &square)
    v[0] = <float>0.99 * v[0] + <float>0.01 * (square / n)
    rate /= <float>sqrt(v[0] * lift) + <float>1e-6
    for k in range(stride):
        m[k] = <float>0.9 * m[k] + <float>0.1 * gradient[k]
        w[k] -= rate * m[k]


cdef inline float project_ball(float* w, idx_t stride, float nu) noexcept nogil:
    """Shorten weights to |w|^2 <= nu; returns what they were multiplied by."""
    cdef float norm, shrink
    cdef idx_t k
    kernels().dot_rows(w, stride, 1, w, &norm)
    if not norm > nu:
        return 1.0
    shrink = <float>sqrt(nu / norm)
    for k in range(stride):
        w[k] *= shrink
    return shrink
