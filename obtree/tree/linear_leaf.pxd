# What a linear leaf predicts: one definition, for prediction and for whatever learns leaves.
#
# The order of summation is fixed, so that a row gets the same bits whoever asks: the intercept,
# then the terms in their order, all values side by side; a single value is summed like a split
# (data/hyperplane.pxd) and then added to the intercept.

from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t

from obtree.core.types cimport X_t, idx_t
from obtree.data.hyperplane cimport project_row
from obtree.linear.loss cimport find_probabilities


# The models of one tree, by node; see the arrays of the same names in Tree.
cdef struct LinearModels:
    const int64_t* ptr            # n_nodes + 1
    const int32_t* feature
    const double* weight          # (n_terms, n_values)
    const double* intercept       # (n_nodes, n_values)


cdef inline bint score_leaf(const int32_t* feature, const double* weight, idx_t n_terms,
                            const double* intercept, idx_t n_values, const X_t* row,
                            double* score) noexcept nogil:
    """intercept + sum(weight[k] * row[feature[k]]) for each value.

    Returns False when a score is not finite: the row lacks a feature, or is far too large.

    Parameters
    ----------
    feature, weight : IN (n_terms,), (n_terms, n_values)
    intercept : IN (n_values,)
    row : IN
        All features of the row.
    score : OUT (n_values,)
    """
    cdef idx_t k, v
    cdef double x
    cdef bint is_finite = True
    if n_values == 1:
        score[0] = intercept[0] + project_row(feature, weight, n_terms, row, 1)
        return isfinite(score[0])
    for v in range(n_values):
        score[v] = intercept[v]
    for k in range(n_terms):
        x = <double>row[feature[k]]
        for v in range(n_values):
            score[v] += weight[v] * x
        weight += n_values
    for v in range(n_values):
        is_finite = is_finite and isfinite(score[v])
    return is_finite


cdef inline bint predict_leaf(const LinearModels* models, idx_t node, const int64_t* n_classes,
                              idx_t n_outputs, idx_t max_n_classes, const X_t* row,
                              double* out) noexcept nogil:
    """Prediction of a leaf for one row: numbers, or probabilities of each output.

    Returns False, and leaves garbage, when the row gets the constant value of the leaf: the
    leaf has no terms, or the row lacks one of its features.

    Parameters
    ----------
    n_classes : IN (n_outputs,)
    row : IN
        All features of the row.
    out : OUT (n_outputs * max_n_classes,)
        Zero beyond the classes of an output.
    """
    cdef idx_t n_values = n_outputs * max_n_classes
    cdef int64_t first = models.ptr[node]
    cdef idx_t n_terms = models.ptr[node + 1] - first
    cdef idx_t k
    if n_terms == 0 or not score_leaf(
        models.feature + first, models.weight + first * n_values, n_terms,
        models.intercept + node * n_values, n_values, row, out,
    ):
        return False
    if max_n_classes > 1:
        for k in range(n_outputs):
            find_probabilities(out + k * max_n_classes, n_classes[k], max_n_classes)
    return True
