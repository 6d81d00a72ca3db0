# Linear models of a target, fitted to a few features of a node.
#
# Features are standardised in the node, so that their scales do not matter, and the penalty is
# a fraction of their variance. Sums are taken row after row and systems solved by plain loops: the
# BLAS at hand changes nothing.

from libc.math cimport INFINITY, log, sqrt

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, feature_t, idx_t, w_t
from obtree.data.dataset cimport DataView
from obtree.data.read cimport read_rows
from obtree.data.scatter cimport Scatter, add_row, centre_scatter, clear_scatter, take_scatter
from obtree.linear.loss cimport add_logistic_loss, apply_logistic, clip_score
from obtree.linear.ridge cimport solve_ridge
from obtree.splitter.base cimport NodeTask

METHODS = ("ridge", "lda", "logistic")

cdef enum:
    LDA = 1                   # positions in METHODS
    LOGISTIC = 2
    BLOCK = 128               # rows copied out of X at a time
    MAX_PASSES = 8            # over the node's rows, for a logistic regression


cdef class LinearModel:
    cdef const DataView* view
    cdef NodeTarget target
    cdef int model                    # position in METHODS
    cdef double alpha
    cdef const feature_t* feature     # of the current fit
    cdef Scatter scatter
    cdef double* scale                # (max_terms) standard deviations in the node
    cdef double* coefficient          # (max_terms) of the standardised features
    cdef double* step                 # (max_terms) change of the coefficients
    cdef double* slope                # (max_terms) coefficients of the features as they are
    cdef double* group_mean           # (n_groups * max_terms) sums of w z in each group
    cdef double* group_weight         # (n_groups)
    cdef X_t* block                   # (BLOCK * max_terms) rows being added up

    cdef int bind(self, const DataView* view, NodeTarget target, str method, double alpha,
                  idx_t max_terms, Workspace workspace) except -1:
        """Once per worker, GIL held, may raise."""
        self.view = view
        self.target = target
        self.model = METHODS.index(method)
        self.alpha = alpha
        take_scatter(&self.scatter, max_terms, 1, workspace)
        self.scale = <double*>workspace.take(max_terms, sizeof(double))
        self.coefficient = <double*>workspace.take(max_terms, sizeof(double))
        self.step = <double*>workspace.take(max_terms, sizeof(double))
        self.slope = <double*>workspace.take(max_terms, sizeof(double))
        self.group_mean = <double*>workspace.take(target.n_groups * max_terms, sizeof(double))
        self.group_weight = <double*>workspace.take(target.n_groups, sizeof(double))
        self.block = <X_t*>workspace.take(BLOCK * max_terms, sizeof(X_t))
        return 0

    cdef bint fit(self, const NodeTask* task, const feature_t* feature,
                  idx_t n_terms) noexcept nogil:
        """Fit the target's values or groups to features (IN, n_terms) that vary in the node and
        are complete. Leaves coefficient and scale; False when there is no solution.
        """
        cdef Scatter* s = &self.scatter
        cdef idx_t a
        self.feature = feature
        s.n_terms = n_terms
        self._measure_scatter(task)
        for a in range(s.n_terms):
            self.scale[a] = sqrt(s.gram[a * s.n_terms + a] / s.weight)
            if not self.scale[a] > 0.0:
                return False
        if self.model == LOGISTIC:
            return self._fit_logistic(task)
        if self.model == LDA:
            self._subtract_groups(task)
        for a in range(s.n_terms):
            self.coefficient[a] = 0.0
        if not self._solve(self.alpha, s.weight):
            return False
        for a in range(s.n_terms):
            self.coefficient[a] = self.step[a]
        return True

    cdef idx_t _read_rows(self, const NodeTask* task, idx_t start) noexcept nogil:
        """Copy rows of the node, from `start` on, into the block; how many."""
        cdef idx_t n_here = min(<idx_t>BLOCK, task.n - start)
        read_rows(self.view, task.rows + start, n_here, self.feature, self.scatter.n_terms,
                  self.block)
        return n_here

    cdef void _measure_scatter(self, const NodeTask* task) noexcept nogil:
        """Sums over the node's rows, about their mean."""
        cdef Scatter* s = &self.scatter
        cdef idx_t start, p, n_here
        cdef w_t w
        cdef double wt
        read_rows(self.view, task.rows, 1, self.feature, s.n_terms, self.block)
        for p in range(s.n_terms):
            s.origin[p] = self.block[p]
        clear_scatter(s)
        start = 0
        while start < task.n:
            n_here = self._read_rows(task, start)
            for p in range(n_here):
                w = task.weight[task.rows[start + p]]
                wt = w * self.target.value[start + p]
                add_row(s, self.block + p * s.n_terms, w, &wt)
            start += BLOCK
        centre_scatter(s)

    cdef void _subtract_groups(self, const NodeTask* task) noexcept nogil:
        """Take the scatter of the groups' means out of the total scatter."""
        cdef Scatter* s = &self.scatter
        cdef idx_t n_terms = s.n_terms
        cdef idx_t start, p, n_here, g, a, b
        cdef double* mean
        cdef const X_t* x
        cdef w_t w
        self.target.find_groups(task)
        for g in range(self.target.n_groups):
            self.group_weight[g] = 0.0
        for g in range(self.target.n_groups * n_terms):
            self.group_mean[g] = 0.0
        start = 0
        while start < task.n:
            n_here = self._read_rows(task, start)
            for p in range(n_here):
                w = task.weight[task.rows[start + p]]
                g = self.target.group[start + p]
                x = self.block + p * n_terms
                mean = self.group_mean + g * n_terms
                self.group_weight[g] += w
                for a in range(n_terms):
                    mean[a] += w * (<double>x[a] - s.origin[a] - s.mean[a])
            start += BLOCK
        for g in range(self.target.n_groups):
            if self.group_weight[g] == 0.0:
                continue
            mean = self.group_mean + g * n_terms
            for a in range(n_terms):
                for b in range(a + 1):
                    s.gram[a * n_terms + b] -= mean[a] * mean[b] / self.group_weight[g]

    cdef bint _solve(self, double ridge, double weight) noexcept nogil:
        """Find the step (gram / weight + ridge) step = cross / weight - ridge coefficient.

        In units of the features' standard deviations; gram is replaced by its factor.
        """
        cdef Scatter* s = &self.scatter
        cdef idx_t n_terms = s.n_terms
        cdef idx_t a, b
        for a in range(n_terms):
            for b in range(a + 1):
                s.gram[a * n_terms + b] /= weight * self.scale[a] * self.scale[b]
            self.step[a] = (s.cross[a] / (weight * self.scale[a])
                            - ridge * self.coefficient[a])
        return solve_ridge(s.gram, n_terms, ridge, self.step, 1)

    cdef bint _fit_logistic(self, const NodeTask* task) noexcept nogil:
        """Newton steps on the penalised logistic loss, halved while the loss would rise."""
        cdef Scatter* s = &self.scatter
        cdef double weight = s.weight
        cdef double loss, lowest = INFINITY, bias = 0.0, shift = 0.0
        # A row weighs at most a quarter in the second derivative: at the start the penalty
        # is the same fraction of the variance as in ridge regression.
        cdef double ridge = 0.25 * self.alpha
        cdef double high = 0.0
        cdef idx_t p, a, i
        self.target.find_halves(task)
        for p in range(task.n):
            if self.target.group[p] == 1:
                high += task.weight[task.rows[p]]
        bias = log(high / (weight - high))
        for a in range(s.n_terms):
            self.coefficient[a] = 0.0
            self.step[a] = 0.0
        for i in range(MAX_PASSES):
            loss = self._measure_logistic(task, bias) / weight
            for a in range(s.n_terms):
                loss += 0.5 * ridge * self.coefficient[a] * self.coefficient[a]
            if i > 0 and not loss <= lowest:
                shift *= 0.5
                bias -= shift
                for a in range(s.n_terms):
                    self.step[a] *= 0.5
                    self.coefficient[a] -= self.step[a]
                continue
            if lowest - loss < 1e-3 * loss:
                break
            lowest = loss
            centre_scatter(s)
            if not self._solve(ridge, weight):
                return False
            shift = s.total[0] / s.weight
            for a in range(s.n_terms):
                self.coefficient[a] += self.step[a]
                shift -= self.step[a] / self.scale[a] * s.mean[a]
            bias += shift
        return True

    cdef double _measure_logistic(self, const NodeTask* task, double bias) noexcept nogil:
        """Sum of the losses; the scatter then holds their first and second derivatives."""
        cdef Scatter* s = &self.scatter
        cdef idx_t start, p, n_here, a
        cdef const X_t* x
        cdef double eta, probability, gradient, loss = 0.0
        cdef w_t w
        cdef bint high
        clear_scatter(s)
        for a in range(s.n_terms):
            self.slope[a] = self.coefficient[a] / self.scale[a]
        start = 0
        while start < task.n:
            n_here = self._read_rows(task, start)
            for p in range(n_here):
                w = task.weight[task.rows[start + p]]
                high = self.target.group[start + p] == 1
                x = self.block + p * s.n_terms
                eta = bias
                for a in range(s.n_terms):
                    eta += self.slope[a] * (<double>x[a] - s.origin[a])
                eta = clip_score(eta)
                probability = apply_logistic(eta)
                add_logistic_loss(eta, high, w, &loss)
                gradient = w * (<double>high - probability)
                add_row(s, x, w * probability * (1.0 - probability), &gradient)
            start += BLOCK
        return loss
