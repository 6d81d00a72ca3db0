# How large each feature's values are, so that features in different units can be added.

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, w_t
from obtree.data.fit cimport FitView


# OUT span (n_features): the distance between the quartiles of the feature's distinct values;
# 1 for a constant feature. Repeated or re-ordered rows change nothing, and scaling a feature
# by a power of two scales it exactly. Rows of weight zero do not count. Columns are shared out
# among the threads of the fit; once its `stop` is set it returns soon, with spans of no use. May
# raise.
cdef int measure_spans(const FitView* fit, double* span, Workspace workspace) except -1

# OUT scale (n_features): the powers of two nearest to the spans, by ratio.
cdef int measure_scales(const FitView* fit, double* scale, Workspace workspace) except -1

# OUT variance (n_features) of the values that are not missing; weights and threads as above.
cdef int measure_variances(const FitView* fit, double* variance, Workspace workspace) except -1

# Whether features are in different units, by their spans and variances (n).
cdef bint units_differ(const double* span, const double* variance, idx_t n) noexcept nogil


# ---- weight_unit.pxi ---------------------------------------------------------------------------
# What one row weighs, in the numbers that the user gave.


# IN weight (n), none negative; 1 when it is NULL.
cdef double compute_weight_unit(const w_t* weight, idx_t n) noexcept nogil
