# The error of one row in a disjunctive normal form, and its slope.
#
# Seyedhosseini and Tasdizen (2015), equations 7, 8 and 12. The way forwards is that of prediction
# (tree/normal_predict.pyx). Backwards, the sums over leaves in equation 8 become sums over the
# two children of each unit.

from libc.math cimport fabs
from libc.stdint cimport int32_t

from obtree.core.types cimport idx_t
from obtree.tree.normal_predict cimport FormView, Tape, read_class


cdef inline double measure_loss(const FormView* form, const Tape* tape, idx_t label) noexcept nogil:
    """Squared error of equation 7, summed over the functions."""
    cdef double error, loss = 0.0
    cdef idx_t k
    for k in range(1 if form.complement else 0, form.n_classes):
        error = (1.0 if k == label else 0.0) - read_class(form, tape, k)
        loss += error * error
    return loss


cdef inline idx_t pass_backward(const FormView* form, Tape* tape, idx_t label, double weight,
                                int32_t* units, float* slopes) noexcept nogil:
    """Slopes of weight * loss with respect to the scores of units.

    Parameters
    ----------
    units, slopes : OUT
        Room for n_units + 1 each; those with a slope that matters.

    Returns
    -------
    How many there are.
    """
    cdef idx_t n = 0, k
    cdef int32_t c, parent
    cdef float slope, whole, left, right
    for k in range(2 * tape.n):
        tape.log_slope[k] = 0.0
    for k in range(tape.n_leaves):
        parent = tape.leaf_parent[k]
        if parent < 0:
            continue
        c = tape.leaf_class[k]
        # y - h, from rest = 1 - h; g dh/dg = g * prod over the others of 1 - g.
        slope = <float>(-2.0 * weight) * ((<float>0.0 if c == label else <float>-1.0)
                                          + tape.rest[c])
        tape.log_slope[parent] += (slope * (tape.rest[c] / (<float>1.0 - tape.leaf_prob[k]))
                                   * tape.leaf_prob[k])
    for k in range(tape.n - 1, -1, -1):
        left = tape.log_slope[2 * k]
        right = tape.log_slope[2 * k + 1]
        whole = left + right
        parent = tape.parent[k]
        if parent >= 0:
            tape.log_slope[parent] += whole
        slope = right * tape.below[k] - left * tape.above[k]
        units[n] = tape.unit[k]
        slopes[n] = slope
        # A unit of a smaller slope is left alone: rows on the wrong side have a hundred times
        # as much, and steps of Adam would make as much of the one as of the other.
        n += fabs(slope) > <float>1e-5
    return n
