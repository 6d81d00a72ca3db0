"""Fitting the model of one leaf.

Regression: ridge, the minimum of ``sum(w * (y - b - z.beta)^2) + l2 * |beta|^2`` for each output.
Classification: multinomial logistic regression, the minimum of the total log loss plus
``l2 / 2 * |beta|^2``, for each output over the classes that the leaf has seen; the others keep
probability zero. Features are standardised in the leaf (z), so that their units do not matter,
and the penalty weighs as much as `l2` rows. The intercept is free.

Rows are summed in their order by plain loops: threads and the BLAS at hand change nothing.
"""

import numpy as np

from libc.math cimport isfinite, log, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace, free_block, grow_block
from obtree.core.types cimport idx_t, w_t
from obtree.linear.newton cimport Logistic, count_logistic, lay_logistic, minimise
from obtree.linear.ridge cimport solve_ridge

from obtree.core.params import Integer, Number, check_param

# Slopes of the mean log loss that count as zero.
cdef double TOLERANCE = 1e-6

# A feature that varies by less than float32 can tell is constant.
cdef double SMALLEST_SPREAD = 1e-6

# The score of a class that the leaf has not seen. Those of the others sum to zero, so one
# of them is not negative, and exp(-1000) is zero.
cdef double NEVER = -1000.0


cdef class LeafSolver:
    """Fits one leaf after the other; one solver for each thread.

    Parameters
    ----------
    n_outputs : int
    n_classes : sequence of int, optional
        Classes of each output; None in regression.
    l2 : float
        Penalty, positive.
    max_iter : int, default=50
        Newton steps of a logistic regression.
    """

    def __cinit__(self):
        self._scratch = NULL
        self._n_scratch = 0
        self.stop = NULL

    def __init__(self, idx_t n_outputs, n_classes, double l2, idx_t max_iter=50):
        cdef idx_t k
        check_param("l2", l2, Number(0.0, open_low=True))
        check_param("max_iter", max_iter, Integer(1))
        self._workspace = Workspace()
        self.n_outputs = n_outputs
        # One class is still a class: the number of classes does not tell the task.
        self.is_regression = n_classes is None
        if self.is_regression:
            n_classes = [1] * n_outputs
        self.max_n_classes = max(n_classes)
        self.l2 = l2
        self.max_iter = max_iter
        self.n_classes = <int64_t*>self._workspace.take(self.n_outputs, sizeof(int64_t))
        for k in range(self.n_outputs):
            self.n_classes[k] = n_classes[k]
        self._slot = <int32_t*>self._workspace.take(self.max_n_classes, sizeof(int32_t))
        self._class_weight = <w_t*>self._workspace.take(self.max_n_classes, sizeof(w_t))

    def __dealloc__(self):
        free_block(self._scratch)

    cdef double* _reserve(self, idx_t n_items) except NULL nogil:
        """Scratch for so many numbers."""
        if n_items > self._n_scratch:
            self._scratch = <double*>grow_block(self._scratch, n_items, sizeof(double))
            self._n_scratch = n_items
        return self._scratch

    cdef int fit(self, double* block, idx_t n, idx_t q, const double* target,
                 const int32_t* codes, const w_t* w, double* weight,
                 double* intercept) except -1 nogil:
        cdef idx_t n_values = self.n_outputs * self.max_n_classes
        cdef idx_t size, k, j
        cdef double* mean
        cdef double* scratch
        if self.is_regression:
            size = q * q + q * self.n_outputs
        else:
            size = count_logistic(n, q + 1, self.max_n_classes) + n
        # The labels, 32 bits each, stand at the end.
        scratch = self._reserve(2 * q + size)
        mean = scratch
        if not standardise(block, n, q, w, mean, mean + q):
            return 0
        memset(weight, 0, q * n_values * sizeof(double))
        scratch += 2 * q
        if self.is_regression:
            if not self._fit_ridge(block, n, q, target, w, scratch, weight, intercept):
                return 0
        else:
            for k in range(self.n_outputs):
                fit_output(self, block, n, q, codes, w, k, scratch, weight, intercept)
        # Back to the features as they were.
        for j in range(q):
            for k in range(n_values):
                if mean[q + j] == 0.0:
                    weight[j * n_values + k] = 0.0
                weight[j * n_values + k] /= mean[q + j] if mean[q + j] > 0.0 else 1.0
                intercept[k] -= weight[j * n_values + k] * mean[j]
                if not isfinite(weight[j * n_values + k]) or not isfinite(intercept[k]):
                    return 0
        return 1

    cdef bint _fit_ridge(self, const double* block, idx_t n, idx_t q, const double* target,
                         const w_t* w, double* scratch, double* weight,
                         double* intercept) noexcept nogil:
        """Solve the normal equations, once for all outputs."""
        cdef idx_t m = self.n_outputs
        cdef double* gram = scratch
        cdef double* cross = scratch + q * q        # (m, q)
        cdef double total = 0.0
        cdef double factor
        cdef idx_t i, a, b, k
        cdef const double* row
        for i in range(n):
            total += w[i]
        for k in range(m):
            intercept[k] = 0.0
            for i in range(n):
                intercept[k] += w[i] / total * target[i * m + k]
        memset(gram, 0, (q * q + m * q) * sizeof(double))
        for i in range(n):
            row = block + i * (q + 1)
            for a in range(q):
                factor = w[i] * row[a]
                for b in range(a + 1):
                    gram[a * q + b] += factor * row[b]
                for k in range(m):
                    cross[k * q + a] += factor * (target[i * m + k] - intercept[k])
        if not solve_ridge(gram, q, self.l2, cross, m):
            return False
        for k in range(m):
            for a in range(q):
                weight[a * m + k] = cross[k * q + a]
        return True

    cdef idx_t _find_present(self, const int32_t* codes, idx_t n, const w_t* w,
                             idx_t output) noexcept nogil:
        """Number the classes that occur; those that do not get -1."""
        cdef idx_t i, c
        cdef idx_t n_present = 0
        memset(self._class_weight, 0, self.max_n_classes * sizeof(w_t))
        for i in range(n):
            self._class_weight[codes[i * self.n_outputs + output]] += w[i]
        for c in range(self.max_n_classes):
            self._slot[c] = -1
            if self._class_weight[c] > 0.0:
                self._slot[c] = <int32_t>n_present
                n_present += 1
        return n_present


cdef bint standardise(double* block, idx_t n, idx_t q, const w_t* w, double* mean,
                      double* scale) noexcept nogil:
    """Centre and scale the columns, and set the last one to 1.

    A column that does not vary becomes zero and its scale too. False when none varies.
    """
    cdef idx_t i, j
    cdef double total = 0.0
    cdef double z
    cdef double* row
    cdef bint varies = False
    memset(mean, 0, 2 * q * sizeof(double))
    for i in range(n):
        total += w[i]
        for j in range(q):
            mean[j] += w[i] * block[i * (q + 1) + j]
    for j in range(q):
        mean[j] /= total
    for i in range(n):
        row = block + i * (q + 1)
        for j in range(q):
            row[j] -= mean[j]
            scale[j] += w[i] * row[j] * row[j]
    for j in range(q):
        scale[j] = sqrt(scale[j] / total)
        z = SMALLEST_SPREAD * (mean[j] if mean[j] > 0.0 else -mean[j])
        if not (scale[j] > z) or not isfinite(scale[j]):
            scale[j] = 0.0
        else:
            varies = True
    for i in range(n):
        row = block + i * (q + 1)
        for j in range(q):
            row[j] = row[j] / scale[j] if scale[j] > 0.0 else 0.0
        row[q] = 1.0
    return varies


cdef void fit_output(LeafSolver solver, const double* block, idx_t n, idx_t q,
                     const int32_t* codes, const w_t* w, idx_t output, double* scratch,
                     double* weight, double* intercept) noexcept nogil:
    """Logistic regression of one output, written to its columns of weight and intercept."""
    cdef Logistic f
    cdef idx_t n_values = solver.n_outputs * solver.max_n_classes
    cdef idx_t base = output * solver.max_n_classes
    cdef idx_t n_present = solver._find_present(codes, n, w, output)
    cdef idx_t i, j, c, k
    cdef double total = 0.0
    cdef double mean
    cdef int32_t* label
    for c in range(solver.max_n_classes):
        intercept[base + c] = NEVER if c < solver.n_classes[output] else 0.0
    for i in range(n):
        total += w[i]
    f.n = n
    f.width = q + 1
    f.n_classes = n_present
    f.Z = block
    f.w = w
    f.l2 = solver.l2
    lay_logistic(&f, scratch)
    label = <int32_t*>(scratch + count_logistic(n, q + 1, n_present))
    f.label = label
    for i in range(n):
        label[i] = solver._slot[codes[i * solver.n_outputs + output]]
    memset(f.theta, 0, n_present * (q + 1) * sizeof(double))
    if n_present > 1:
        # The best model without features.
        for c in range(solver.max_n_classes):
            if solver._slot[c] >= 0:
                f.theta[solver._slot[c] * (q + 1) + q] = log(solver._class_weight[c] / total)
        minimise(&f, solver.max_iter, TOLERANCE * total, solver.stop)
    # Adding the same to all classes changes nothing: let them sum to zero.
    for j in range(q + 1):
        mean = 0.0
        for k in range(n_present):
            mean += f.theta[k * (q + 1) + j]
        mean /= n_present
        for c in range(solver.n_classes[output]):
            if solver._slot[c] < 0:
                continue
            if j < q:
                weight[j * n_values + base + c] = f.theta[solver._slot[c] * (q + 1) + j] - mean
            else:
                intercept[base + c] = f.theta[solver._slot[c] * (q + 1) + q] - mean


def fit_leaf(X, y, sample_weight=None, *, n_classes=None, l2=1.0, max_iter=50):
    """Fit the linear model of one leaf.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Finite numbers.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        Numbers, or class codes from 0 when `n_classes` is given.
    sample_weight : array-like of shape (n_rows,), optional
        Positive.
    n_classes : sequence of int, optional
        Classes of each output; None for regression.
    l2 : float, default=1.0
        Penalty of the coefficients of the standardised features.
    max_iter : int, default=50
        Newton steps of a logistic regression.

    Returns
    -------
    weight : ndarray of shape (n_features, n_outputs * max_n_classes)
    intercept : ndarray of shape (n_outputs * max_n_classes,)
        None, both of them, when there is nothing to fit: no feature varies.

    Examples
    --------
    >>> from obtree.linear.leaf_solver import fit_leaf
    >>> weight, intercept = fit_leaf([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0], l2=1e-9)
    >>> weight.round(6).tolist(), intercept.round(6).tolist()
    ([[2.0]], [1.0])
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not X.size or not np.isfinite(X).all():
        raise ValueError(f"X has shape {X.shape}; expected a matrix of finite numbers")
    cdef idx_t n = X.shape[0], q = X.shape[1]
    y = np.asarray(y).reshape(n, -1)
    cdef const double[:, ::1] target = np.zeros((1, 1))
    cdef const int32_t[:, ::1] codes = np.zeros((1, 1), dtype=np.int32)
    if n_classes is None:
        target = np.ascontiguousarray(y, dtype=np.float64)
        if not np.isfinite(np.asarray(target)).all():
            raise ValueError("y must be finite")
    else:
        codes = np.ascontiguousarray(y, dtype=np.int32)
        if (len(n_classes) != y.shape[1] or min(n_classes) < 1
                or (np.asarray(codes) < 0).any() or (np.asarray(codes) >= n_classes).any()):
            raise ValueError(f"y holds classes beyond n_classes = {list(n_classes)}")
    if sample_weight is None:
        sample_weight = np.ones(n)
    cdef const double[::1] w = np.ascontiguousarray(sample_weight, dtype=np.float64)
    if len(w) != n or not (np.asarray(w) > 0).all():
        raise ValueError("sample_weight must be positive, one for each row")
    cdef LeafSolver solver = LeafSolver(y.shape[1], n_classes, l2, max_iter)
    n_values = solver.n_outputs * solver.max_n_classes
    cdef double[:, ::1] block = np.ascontiguousarray(np.hstack([X, np.ones((n, 1))]))
    cdef double[:, ::1] weight = np.zeros((q, n_values))
    cdef double[::1] intercept = np.zeros(n_values)
    cdef int found
    with nogil:
        found = solver.fit(&block[0, 0], n, q, &target[0, 0], &codes[0, 0], &w[0],
                           &weight[0, 0], &intercept[0])
    return (np.asarray(weight), np.asarray(intercept)) if found else (None, None)
