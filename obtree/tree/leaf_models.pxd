# The contract of leaf models: what the leaves of a tree predict instead of their value. Those
# that keep no arrays are constant: predictors read the values from their nodes and ask no model.
#
#     bind       once per tree     GIL held, may raise; take pointers to the tree's arrays here
#     predict    many times        no GIL, several threads at once, on one bound model;
#                                  predict_variance as well, where the kind `has_variance`

from libc.stdint cimport int32_t, int64_t, uint8_t

from obtree.core.types cimport X_t, idx_t


cdef class LeafModel:
    cdef readonly object tree         # the tree whose leaves these are; keeps its arrays alive
    cdef idx_t n_features
    cdef idx_t n_outputs
    cdef idx_t max_n_classes          # 1 in regression
    cdef idx_t n_values               # n_outputs * max_n_classes
    cdef const int64_t* n_classes     # (n_outputs)

    cdef int bind(self, object tree) except -1

    # IN node (n), the leaf that each row has reached; x (n * n_features), NaN: missing.
    # OUT values (n * n_values): numbers, or probabilities that are zero beyond the classes of
    # an output; is_known (n): 0 where the row gets the value of its leaf after all.
    cdef void predict(self, const int32_t* node, const X_t* x, idx_t n, double* values,
                      uint8_t* is_known) noexcept nogil

    # The same for kinds that predict a distribution. OUT values, variance (n * n_values): finite
    # numbers, variances positive.
    cdef void predict_variance(self, const int32_t* node, const X_t* x, idx_t n, double* values,
                               double* variance) noexcept nogil
