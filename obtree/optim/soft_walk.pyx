"""One row through a disjunctive normal form, and the slope of its error.

Seyedhosseini and Tasdizen (2015), equations 4, 5, 7, 8 and 12. Forwards, the units at the
same distance from the roots of all classes are taken together. A branch that less than
REACH_FLOOR of the row reaches is not followed, so that time goes with the leaves that matter
and not with the size of the tree. Backwards, the sums over leaves in equation 8 become sums
over the two children of each unit.

Products stay in the range of float32 without logarithms: what reaches the leaves of a tree
adds up to at most 1, and g is kept at most 1 - 1e-6.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, idx_t

cdef float REACH_FLOOR = 1e-3
cdef float REACH_CEILING = 0.999999
# A unit that a row pulls less than this is left alone: rows on the wrong side pull a hundred
# times as much, and steps of Adam would make as much of the one as of the other.
cdef float SLOPE_FLOOR = 1e-5
cdef double CELL_LIMIT = 1e30


cdef int take_tape(Tape* tape, idx_t n_units, idx_t n_roots, idx_t n_classes,
                   Workspace workspace) except -1:
    """Take memory for the walks of rows through forms of up to this size."""
    # `arrive` writes one place beyond what counts.
    cdef idx_t n_leaves = 2 * n_units + n_roots + 1
    tape.unit = <int32_t*>workspace.take(n_units + 1, sizeof(int32_t))
    tape.parent = <int32_t*>workspace.take(n_units + 1, sizeof(int32_t))
    tape.reach = <float*>workspace.take(n_units + 1, sizeof(float))
    tape.score = <float*>workspace.take(n_units, sizeof(float))
    tape.below = <float*>workspace.take(n_units, sizeof(float))
    tape.above = <float*>workspace.take(n_units, sizeof(float))
    tape.pull = <float*>workspace.take(2 * n_units, sizeof(float))
    tape.leaf_class = <int32_t*>workspace.take(n_leaves, sizeof(int32_t))
    tape.leaf_parent = <int32_t*>workspace.take(n_leaves, sizeof(int32_t))
    tape.leaf_reach = <float*>workspace.take(n_leaves, sizeof(float))
    tape.rest = <float*>workspace.take(n_classes, sizeof(float))
    return 0


cdef void standardise_row(const X_t* x, const FormView* form, float* out) noexcept nogil:
    """out[j] = (x[j] - mean[j]) * scale[j], 0 where x is missing; then 1 and zeros."""
    cdef idx_t j
    cdef double z
    for j in range(form.n_features):
        z = (<double>x[j] - form.mean[j]) * form.scale[j]
        z = min(max(z, -CELL_LIMIT), CELL_LIMIT)
        out[j] = <float>z if x[j] == x[j] else <float>0.0
    out[form.n_features] = 1.0
    for j in range(form.n_features + 1, form.stride):
        out[j] = 0.0


cdef inline void arrive(int32_t code, float reach, int32_t parent, Tape* tape, idx_t* n_units,
                        idx_t* n_leaves) noexcept nogil:
    """Let a share of the row arrive at a unit or a leaf.

    Which of them, or neither, nobody can foresee: everything is written down, and what does
    not count is overwritten by the next.
    """
    cdef idx_t k = n_units[0], m = n_leaves[0]
    cdef bint counts = reach >= REACH_FLOOR
    tape.unit[k] = code
    tape.parent[k] = parent
    tape.reach[k] = reach
    tape.leaf_class[m] = LEAF_CODE - code
    tape.leaf_parent[m] = parent
    tape.leaf_reach[m] = reach
    n_units[0] = k + (counts & (code >= 0))
    n_leaves[0] = m + (counts & (code <= LEAF_CODE))


cdef void walk_forwards(const FormView* form, const float* x, Tape* tape) noexcept nogil:
    """Send a standardised row down all trees of a form."""
    cdef idx_t start = 0, end, k, n = 0, n_leaves = 0
    cdef int32_t unit
    for k in range(form.n_roots):
        arrive(form.root[k], 1.0, -1, tape, &n, &n_leaves)
    while start < n:
        end = n
        kernels().dot_units(form.weight, form.stride, tape.unit + start, end - start, x,
                            tape.score + start)
        kernels().soften_scores(tape.score + start, end - start, tape.below + start,
                                tape.above + start)
        for k in range(start, end):
            unit = tape.unit[k]
            arrive(form.left[unit], tape.reach[k] * tape.below[k], <int32_t>(2 * k), tape, &n,
                   &n_leaves)
            arrive(form.right[unit], tape.reach[k] * tape.above[k], <int32_t>(2 * k + 1), tape,
                   &n, &n_leaves)
        start = end
    tape.n = n
    tape.n_leaves = n_leaves
    for k in range(form.n_classes):
        tape.rest[k] = 1.0
    for k in range(n_leaves):
        tape.leaf_reach[k] = min(tape.leaf_reach[k], REACH_CEILING)
        tape.rest[tape.leaf_class[k]] *= <float>1.0 - tape.leaf_reach[k]


cdef double read_class(const FormView* form, const Tape* tape, idx_t k) noexcept nogil:
    """The value h of class k."""
    if form.complement and k == 0:
        return tape.rest[1]
    return 1.0 - <double>tape.rest[k]


cdef double measure_loss(const FormView* form, const Tape* tape, idx_t label) noexcept nogil:
    """Squared error of equation 7, summed over the functions."""
    cdef double error, loss = 0.0
    cdef idx_t k
    for k in range(1 if form.complement else 0, form.n_classes):
        error = (1.0 if k == label else 0.0) - read_class(form, tape, k)
        loss += error * error
    return loss


cdef idx_t walk_backwards(const FormView* form, Tape* tape, idx_t label, double weight,
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
        tape.pull[k] = 0.0
    for k in range(tape.n_leaves):
        parent = tape.leaf_parent[k]
        if parent < 0:
            continue
        c = tape.leaf_class[k]
        # y - h, from rest = 1 - h; g dh/dg = g * prod over the others of 1 - g.
        slope = <float>(-2.0 * weight) * ((<float>0.0 if c == label else <float>-1.0)
                                          + tape.rest[c])
        tape.pull[parent] += (slope * (tape.rest[c] / (<float>1.0 - tape.leaf_reach[k]))
                              * tape.leaf_reach[k])
    for k in range(tape.n - 1, -1, -1):
        left = tape.pull[2 * k]
        right = tape.pull[2 * k + 1]
        whole = left + right
        parent = tape.parent[k]
        if parent >= 0:
            tape.pull[parent] += whole
        slope = right * tape.below[k] - left * tape.above[k]
        units[n] = tape.unit[k]
        slopes[n] = slope
        n += fabs(slope) > SLOPE_FLOOR
    return n
