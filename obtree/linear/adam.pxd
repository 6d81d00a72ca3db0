# Steps of Adam (Kingma and Ba, 2015), whose moments forget at 0.9 and 0.99, and the ball that
# weights return to after a step.

from libc.math cimport sqrt

from obtree.core.dispatch cimport kernels
from obtree.core.types cimport idx_t

ctypedef fused power_t:
    float
    double


cdef inline double advance_adam(power_t* first, power_t* second,
                                power_t* v_correction) noexcept nogil:
    """Count a step; returns 1 - 0.9 ** steps, which the rate is to be divided by.

    IN OUT first, second: powers of 0.9 and 0.99, ones at the start. OUT v_correction: what second
    moments are to be multiplied by, since they began with zero.
    """
    first[0] *= <power_t>0.9
    second[0] *= <power_t>0.99
    v_correction[0] = <power_t>(1.0 / (1.0 - <double>second[0]))
    return 1.0 - <double>first[0]


cdef inline void step_adam(float* w, float* m, float* v, const float* gradient, idx_t n,
                           float rate, float v_correction) noexcept nogil:
    """Move n weights; each has moments of its own (IN OUT m, v)."""
    kernels().adam_step(w, m, v, gradient, n, rate, v_correction)


cdef inline void step_adam_shared(float* w, float* m, float* v, const float* gradient, idx_t stride,
                                  idx_t n, float rate, float v_correction) noexcept nogil:
    """Move weights along their smoothed gradient, as far as Adam would if all n were alike.

    They have one second moment (IN OUT v) together.
    """
    cdef float square
    cdef idx_t k
    kernels().dot_rows(gradient, stride, 1, gradient, &square)
    v[0] = <float>0.99 * v[0] + <float>0.01 * (square / n)
    rate /= <float>sqrt(v[0] * v_correction) + <float>1e-6
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
