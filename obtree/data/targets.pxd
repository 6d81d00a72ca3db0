# What is to be predicted, apart from X: lent beside the DataView to whoever reads it.
#
# Criteria, splitters and optimisers read this view and ask nobody else what the targets are.

from libc.stdint cimport int32_t, int64_t

from obtree.core.types cimport idx_t, y_t


cdef enum TargetKind:
    NO_TARGETS                # y is absent
    CLASS_TARGETS
    REAL_TARGETS
    PARTIAL_TARGETS           # classes, of which some rows have none


cdef struct TargetView:
    TargetKind kind
    idx_t n_samples           # 0 where there are none
    idx_t n_outputs           # 0 where there are none
    # Classes only, all or some rows having one, else NULL and 0.
    const int32_t* codes      # (n_samples * n_outputs) up to n_classes[output] - 1; -1: none
    const int64_t* n_classes  # (n_outputs)
    idx_t max_n_classes       # the largest of them
    # Real numbers only, else NULL.
    const y_t* values         # (n_samples * n_outputs)


cdef class Targets:
    cdef TargetView view      # lent to workers; valid while the Targets live
    cdef readonly object y            # the arrays behind the pointers, or None
    cdef readonly object n_classes
