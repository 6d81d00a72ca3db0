# What becomes of the leaves that rows reach: their values are added up, or their numbers noted.

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from obtree.core.types cimport X_t, idx_t
from obtree.tree.leaf_models cimport LeafModel
from obtree.tree.pack cimport PackedView, read_leaf

# What a block does with the leaves its rows reach.
cdef enum Reduction:
    ADD_VALUES                    # add the leaf's values
    ADD_VOTES                     # add 1 to the class with the largest value
    NAME_LEAVES                   # write the leaf's node number
    LIST_MOMENTS                  # write what the leaf's model says of each output


cdef enum:
    MODEL_ROWS = 32               # rows that a leaf model predicts in one call


cdef struct Task:
    Reduction reduction
    double pure_own               # what a pure leaf adds to its class
    double pure_other             # ... and to the others
    double divisor
    const double* vectors         # (n_vectors, n_values): values of the other leaves
    const int32_t* votes          # (n_vectors, n_outputs): their classes, when voting
    idx_t n_outputs
    idx_t n_classes
    double floor                  # smallest probability, when logarithms are added; else 0
    bint entropies                # whether entropies are added, each in its output's first place
    double* out                   # (n_rows, n_values) from first_row on, zeroed
    idx_t first_row
    # (n_rows, n_outputs) the class with the largest value, the first of equals; or NULL. Then
    # `out` is scratch for one block.
    int64_t* classes
    int64_t* leaves               # (n_rows, n_trees)
    double* means                 # (n_rows, n_trees, n_values)
    double* variances             # the same
    # How far one tree can move two classes apart, and what sums may be wrong by: see
    # early_exit.pxd.
    # Infinite when every row has to go through every tree.
    double spread
    double slack


cdef inline void reduce_tree(const PackedView* view, const Task* task, idx_t t, idx_t start,
                             idx_t n, const uint32_t* found) noexcept nogil:
    """Add what the leaves of one tree hold to rows start:start + n of the result."""
    cdef idx_t first = view.start[t]
    cdef idx_t n_values = view.n_values
    cdef idx_t r, k, number
    cdef const double* vectors
    cdef const int32_t* votes
    cdef double* out
    if task.reduction == NAME_LEAVES:
        for r in range(n):
            task.leaves[(start + r) * view.n_trees + t] = view.node_id[first + found[r]]
        return
    out = task.out + (start - task.first_row) * n_values
    vectors = task.vectors + view.vector_start[t] * n_values
    if task.reduction == ADD_VOTES:
        votes = task.votes + view.vector_start[t] * task.n_outputs
        for r in range(n):
            if read_leaf(view, first + found[r], &number):
                for k in range(task.n_outputs):
                    out[k * task.n_classes + votes[number * task.n_outputs + k]] += 1.0
            else:
                out[number] += 1.0
            out += n_values
        return
    for r in range(n):
        if read_leaf(view, first + found[r], &number):
            for k in range(n_values):
                out[k] += vectors[number * n_values + k]
        else:
            if task.pure_other != 0.0:
                for k in range(n_values):
                    if k != number:
                        out[k] += task.pure_other
            out[number] += task.pure_own
        out += n_values


cdef inline idx_t find_largest(const double* values, idx_t n) noexcept nogil:
    """The first of the largest."""
    cdef idx_t c, best = 0
    for c in range(1, n):
        if values[c] > values[best]:
            best = c
    return best


cdef inline void reduce_models(const PackedView* view, const Task* task, idx_t t, const X_t* x,
                               idx_t start, idx_t n, const uint32_t* found,
                               double* scratch) noexcept nogil:
    """The same for a tree whose leaves have models.

    Parameters
    ----------
    x : IN (n, n_features)
        The rows.
    scratch : (MODEL_ROWS, n_values)
    """
    cdef idx_t n_values = view.n_values
    cdef idx_t first = 0, here, r, k, best
    cdef int32_t node[MODEL_ROWS]
    cdef uint8_t is_known[MODEL_ROWS]
    cdef const double* values
    cdef double* out = task.out + (start - task.first_row) * n_values
    while first < n:
        here = min(<idx_t>MODEL_ROWS, n - first)
        for r in range(here):
            node[r] = view.node_id[view.start[t] + found[first + r]]
        (<LeafModel>view.models[t]).predict(node, x + first * view.n_features, here, scratch,
                                            is_known)
        for r in range(here):
            values = scratch + r * n_values
            if not is_known[r]:
                reduce_tree(view, task, t, start + first + r, 1, found + first + r)
            elif task.reduction == ADD_VOTES:
                for k in range(task.n_outputs):
                    best = find_largest(values + k * task.n_classes, task.n_classes)
                    out[k * task.n_classes + best] += 1.0
            elif task.floor > 0.0:
                for k in range(n_values):
                    out[k] += log(max(values[k], task.floor))
            elif task.entropies:
                for k in range(n_values):
                    if values[k] > 0.0:
                        out[k - k % task.n_classes] -= values[k] * log(values[k])
            else:
                for k in range(n_values):
                    out[k] += values[k]
            out += n_values
        first += here


cdef inline void list_moments(const PackedView* view, const Task* task, idx_t t, const X_t* x,
                              idx_t start, idx_t n, const uint32_t* found,
                              double* scratch) noexcept nogil:
    """Write the means and variances of one tree, whose leaves predict both.

    Parameters
    ----------
    x : IN (n, n_features)
        The rows.
    scratch : (2, MODEL_ROWS, n_values)
    """
    cdef idx_t n_values = view.n_values
    cdef idx_t size = n_values * sizeof(double), first = 0, here, r, at
    cdef int32_t node[MODEL_ROWS]
    cdef double* variances = scratch + MODEL_ROWS * n_values
    while first < n:
        here = min(<idx_t>MODEL_ROWS, n - first)
        for r in range(here):
            node[r] = view.node_id[view.start[t] + found[first + r]]
        (<LeafModel>view.models[t]).predict_variance(node, x + first * view.n_features, here,
                                                     scratch, variances)
        for r in range(here):
            at = ((start + first + r) * view.n_trees + t) * n_values
            memcpy(task.means + at, scratch + r * n_values, size)
            memcpy(task.variances + at, variances + r * n_values, size)
        first += here


cdef inline void finish_rows(const PackedView* view, const Task* task, idx_t start, idx_t n,
                             const uint32_t* number) noexcept nogil:
    """Turn sums into means, and means into classes where these are wanted.

    Parameters
    ----------
    start, n : the rows whose sums are complete
    number : IN (n,) or NULL
        Where the class of each is to be written, counted from `start`; NULL: in order.
    """
    cdef idx_t r, k, row
    cdef double* sums
    if task.reduction == NAME_LEAVES or task.reduction == LIST_MOMENTS:
        return
    if task.divisor != 1.0:
        sums = task.out + (start - task.first_row) * view.n_values
        for k in range(n * view.n_values):
            sums[k] /= task.divisor
    if task.classes == NULL:
        return
    for r in range(n):
        row = start + (r if number == NULL else <idx_t>number[r])
        sums = task.out + (start + r - task.first_row) * view.n_values
        for k in range(task.n_outputs):
            task.classes[row * task.n_outputs + k] = find_largest(
                sums + k * task.n_classes, task.n_classes
            )
