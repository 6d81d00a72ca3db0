# The descent of non-greedy trees, as its tests see it.

from libc.stdint cimport int32_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, idx_t, node_t
from obtree.linear.gradients cimport PlaneGradients
from obtree.linear.scaled_rows cimport ScaledRows
from obtree.optim.dense_tree cimport Case, DenseTree
from obtree.optim.inference cimport Answer


# What is learnt: one entry a row.
cdef struct StepTargets:
    const int32_t* code       # classes; NULL in regression
    const float* y            # (n_rows * n_slots) standardised numbers; NULL for classes
    const float* weight       # 1 on average


cdef struct StepRule:
    float rate                # of the planes
    float leaf_rate
    float momentum
    float nu                  # bound of a plane's squared length
    bint full                 # which inference


cdef class JointDescent:
    cdef DenseTree* tree
    cdef StepTargets targets
    cdef ScaledRows rows
    cdef float* _x            # (batch * stride)
    cdef float* _velocity     # (n_splits * stride) momentum of the planes
    cdef float* _leaf_velocity  # (n_leaves * n_slots)
    cdef float* _gradient     # (stride)
    cdef float* _leaf_gradient  # (n_leaves * n_slots) leaf gradients of a batch, zero between
    cdef float* _batch_weight  # (n_leaves) weight of the rows behind them; -1: there are none
    cdef PlaneGradients _gradients
    cdef node_t* _touched_leaf
    cdef idx_t _n_touched_leaves
    cdef Answer _answer
    cdef node_t* assigned     # (n_rows) leaf that each row is held to, or NULL
    cdef double* counts       # (n_leaves * (n_slots + 1)) classes or sums, and weight
    cdef idx_t batch_size

    cdef int bind(self, DenseTree* tree, ScaledRows rows, const StepTargets* targets,
                  idx_t batch_size, Workspace workspace) except -1

    # One step down the gradient of rows[0..n); returns the sum of their bounds.
    cdef double step(self, const int32_t* rows, idx_t n, const StepRule* rule) noexcept nogil

    # Route rows start..end; OUT counts (added to), and leaf (end - start) unless NULL.
    cdef void count(self, idx_t start, idx_t end, node_t* leaf) noexcept nogil

    # Sum of the weighted losses of rows start..end.
    cdef double judge(self, idx_t start, idx_t end) noexcept nogil

    # The same for the rows in counts, without another walk; classes only.
    cdef double judge_counted(self) noexcept nogil

    # Leaves as their rows have it, from counts; those without a row keep what they are.
    cdef void fit_from_counts(self, double pseudo_count) noexcept nogil

    cdef void _load_case(self, Case* case, idx_t row, const float* x) noexcept nogil
    cdef node_t _find_leaf(self, Case* case, idx_t row, const float* x) noexcept nogil
    cdef void _add_gradients(self, idx_t p, float factor) noexcept nogil
    cdef void _add_leaf_gradient(self, node_t leaf, const Case* case, float weight) noexcept nogil
    cdef void _move_planes(self, const StepRule* rule) noexcept nogil
    cdef void _move_leaves(self, const StepRule* rule) noexcept nogil
