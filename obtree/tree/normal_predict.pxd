# One row through a disjunctive normal form.
#
# A form is a set of binary trees of units. A unit sends the fraction `above` of a row, the
# logistic function of its score, to its right child and the rest to its left one. A child is
# the number of another unit, NOWHERE, or a leaf of class c as LEAF_CODE - c. What arrives at a
# leaf is the conjunction g of equation 5; the leaves of a class are joined by
# h = 1 - prod(1 - g).

from libc.stdint cimport int32_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, idx_t

cdef enum:
    NOWHERE = -1
    LEAF_CODE = -2                # ... of class 0


cdef struct FormView:
    idx_t n_units
    idx_t n_roots
    idx_t n_classes
    idx_t n_features
    idx_t stride                  # floats of a row of weights: a multiple of 8
    bint complement               # class 0 is what class 1 is not
    const int32_t* root           # (n_roots) units or leaves
    const int32_t* left           # (n_units)
    const int32_t* right          # (n_units)
    const float* weight           # (n_units * stride), the constant after the features
    const double* mean            # (n_features)
    const double* scale           # (n_features)


# What one row left behind. Units stand in the order of their distance from the roots.
cdef struct Tape:
    idx_t n                       # units that the row reached
    int32_t* unit
    int32_t* parent               # 2 * place of the parent + 1 on the right; -1 at a root
    float* path_prob              # fraction of the row that arrived
    float* score
    float* below
    float* above
    float* log_slope              # (2 n): slope with respect to the logarithm of each side
    idx_t n_leaves                # leaves that the row reached
    int32_t* leaf_class
    int32_t* leaf_parent
    float* leaf_prob
    float* rest                   # (n_classes): product of 1 - g


cdef int take_tape(Tape* tape, idx_t n_units, idx_t n_roots, idx_t n_classes,
                   Workspace workspace) except -1
cdef void standardise_row(const X_t* x, const FormView* form, float* out) noexcept nogil
cdef void pass_forward(const FormView* form, const float* x, Tape* tape) noexcept nogil
cdef double read_class(const FormView* form, const Tape* tape, idx_t k) noexcept nogil
