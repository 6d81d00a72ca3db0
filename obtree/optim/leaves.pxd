# What the leaves of a moving tree predict, and what that costs.

from libc.stdint cimport int32_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, node_t, row_t
from obtree.data.scatter cimport Scatter
from obtree.linear.adagrad cimport BATCH, AdaGrad
from obtree.optim.base cimport Problem
from obtree.optim.units cimport Units

cdef enum:
    LEAF_BATCH = BATCH        # rows lifted at a time


cdef class LeafScratch:
    # Of one worker.
    cdef Workspace memory
    cdef double* sums                 # (n_values)
    cdef float* z                     # (BATCH * stride) rows in units
    cdef float* score                 # (n_values * BATCH)
    cdef double* lost                 # (BATCH)
    # A linear model under way.
    cdef float* model                 # (n_values * stride) weights, then n_values biases
    cdef AdaGrad steps
    cdef float* gradient              # (stride)
    cdef float* factor                # (n_values * BATCH)
    cdef int32_t* present             # (n_values) classes that the leaf holds
    # Normal equations.
    cdef Scatter scatter
    cdef double* target               # (n_outputs) of one row


cdef class Leaves:
    cdef Problem problem
    cdef Units units
    cdef Workspace memory
    cdef readonly bint linear
    cdef readonly bint by_ridge       # regression with few features: solved exactly
    cdef double l1
    cdef double ridge
    cdef double rate
    cdef idx_t n_epochs
    cdef idx_t n_values               # classes, or outputs
    cdef idx_t n_nodes
    cdef double* centre               # (n_outputs) means of the targets
    cdef double size                  # root of their mean variance
    cdef int32_t* label               # (n_nodes)
    cdef double* value                # (n_nodes * n_outputs)
    cdef float** model                # (n_nodes) NULL, or as in LeafScratch
    cdef double* penalty              # (n_nodes) in the objective

    cdef double loss(self, row_t row, node_t leaf, LeafScratch scratch) noexcept nogil
    cdef void lose(self, const row_t* rows, idx_t n, node_t leaf, const float* model,
                   LeafScratch scratch, double* out) noexcept nogil
    cdef double _cost(self, row_t row, node_t leaf, const float* score,
                      idx_t step) noexcept nogil
    cdef void inherit(self, node_t child, node_t parent) noexcept nogil
    cdef void fit_constant(self, node_t leaf, const row_t* rows, idx_t n,
                           LeafScratch scratch) noexcept nogil
