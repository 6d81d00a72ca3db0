# The descent of non-greedy trees, as its tests see it.

from libc.stdint cimport int32_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, idx_t, node_t
from obtree.linear.pulls cimport Pulls
from obtree.linear.unit_rows cimport UnitRows
from obtree.optim.dense_tree cimport Case, DenseTree
from obtree.optim.inference cimport Answer


# What is learnt: one entry a row.
cdef struct Targets:
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
    cdef Targets targets
    cdef UnitRows rows
    cdef float* _x            # (batch * stride)
    cdef float* _speed        # (n_splits * stride) momentum of the planes
    cdef float* _leaf_speed   # (n_leaves * n_slots)
    cdef float* _gradient     # (stride)
    cdef float* _hits         # (n_leaves * n_slots) leaf gradients of a batch, zero between
    cdef float* _served       # (n_leaves) weight of the rows behind them
    cdef Pulls _pulls
    cdef node_t* _touched_leaf
    cdef idx_t _n_touched_leaves
    cdef Answer _answer
    cdef node_t* assigned     # (n_rows) leaf that each row is held to, or NULL
    cdef double* counts       # (n_leaves * (n_slots + 1)) classes or sums, and weight
    cdef idx_t batch_size

    cdef int bind(self, DenseTree* tree, UnitRows rows, const Targets* targets, idx_t batch_size,
                  Workspace workspace) except -1

    # One step down the gradient of rows[0..n); returns the sum of their bounds.
    cdef double step(self, const int32_t* rows, idx_t n, const StepRule* rule) noexcept nogil

    # Route rows start..end; OUT counts (added to), and leaf (end - start) unless NULL.
    cdef void count(self, idx_t start, idx_t end, node_t* leaf) noexcept nogil

    # Sum of the weighted losses of rows start..end.
    cdef double judge(self, idx_t start, idx_t end) noexcept nogil

    # The same for the rows in counts, without another walk; classes only.
    cdef double judge_counted(self) noexcept nogil

    # Leaves as their rows have it, from counts; those without a row keep what they are.
    cdef void fit_leaves(self, double pseudo_count) noexcept nogil

    cdef void _load_case(self, Case* case, idx_t row, const float* x) noexcept nogil
    cdef node_t _find_home(self, Case* case, idx_t row, const float* x) noexcept nogil
    cdef void _pull(self, idx_t p, float factor) noexcept nogil
    cdef void _hit_leaf(self, node_t leaf, const Case* case, float weight) noexcept nogil
    cdef void _move_planes(self, const StepRule* rule) noexcept nogil
    cdef void _move_leaves(self, const StepRule* rule) noexcept nogil
