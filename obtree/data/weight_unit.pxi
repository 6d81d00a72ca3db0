# What one row weighs, in the numbers that the user gave.
#
# Only the ratios of weights mean anything to an impurity. To a penalty, a pseudo-count or "at
# least ten rows" it also matters how much one row weighs. Whole numbers count rows: a row of
# weight 3 is three rows, and what one row weighs is 1. A factor that all of them share says
# nothing and is left out. Any other weights are taken to be 1 on average, over the rows that
# weigh anything. Either way, weights times a constant remain weights of the same rows.

import numpy as np

from libc.math cimport floor
from libc.stdint cimport int64_t

from obtree.core.types cimport idx_t, w_t

# More rows than a table can have: such whole numbers are no counts.
cdef double MAX_COUNT = 2147483647.0


cdef inline int64_t find_common(int64_t a, int64_t b) noexcept nogil:
    """The greatest common divisor."""
    cdef int64_t rest
    while b > 0:
        rest = a % b
        a = b
        b = rest
    return a


cdef double compute_weight_unit(const w_t* weight, idx_t n) noexcept nogil:
    cdef double first = 0.0, total = 0.0, shift = 0.0
    cdef int64_t common = 0
    cdef idx_t i, n_positive = 0
    cdef bint whole = True
    if weight == NULL:
        return 1.0
    for i in range(n):
        if not weight[i] > 0.0:
            continue
        if n_positive == 0:
            first = weight[i]
        n_positive += 1
        total += weight[i]
        # About the first one, so that the mean of equal weights is exactly that weight.
        shift += weight[i] - first
        whole = whole and weight[i] <= MAX_COUNT and weight[i] == floor(weight[i])
        if whole and common != 1:
            common = find_common(<int64_t>weight[i], common)
    if n_positive == 0:
        return 1.0
    if whole and total / common <= MAX_COUNT:
        return <double>common
    return first + shift / n_positive


def find_weight_unit(weight):
    """What one row weighs.

    Parameters
    ----------
    weight : float64 ndarray of shape (n_samples,) or None
        Not negative.

    Returns
    -------
    unit : float
        The greatest common divisor of whole numbers, the mean of other positive weights; 1
        without weights.

    Examples
    --------
    >>> import numpy as np
    >>> from obtree.data.scale import find_weight_unit
    >>> find_weight_unit(np.array([1.0, 3.0, 2.0])), find_weight_unit(np.array([0.5, 1.5, 0.0]))
    (1.0, 1.0)
    """
    if weight is None:
        return 1.0
    cdef const w_t[::1] view = np.ascontiguousarray(weight, dtype=np.float64)
    if view.shape[0] == 0:
        return 1.0
    return compute_weight_unit(&view[0], view.shape[0])
