# l1-penalised logistic regression at a decision node.
#
# The rows that care go right (gain > 0) or left, each with the size of its gain for weight. The
# fit begins at the node's plane and is not taken to its end: a few steps are quicker, and
# generalise better, than an exact solution. With up to 128 features these are Newton steps, the
# penalised quadratic model being minimised coordinate by coordinate (Friedman, Hastie and
# Tibshirani, 2010); with more, proximal AdaGrad steps on small batches, whose weights are
# averaged over the second half. Most rows are far on their side of a plane that has been fitted
# before and would hardly move it; these are visited once.

from libc.math cimport fabs
from libc.stdint cimport int32_t

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, shuffle_pairs
from obtree.core.types cimport feature_t, idx_t, row_t, w_t
from obtree.data.hyperplane cimport Hyperplane, init_plane
from obtree.data.scatter cimport add_row, centre_scatter, clear_scatter, take_scatter
from obtree.linear.adagrad cimport (
    BATCH, AdaGrad, average_steps, note_bias, reset_adagrad, step_weights, take_adagrad,
)
from obtree.linear.columns cimport Columns, pad_width, take_columns, write_terms
from obtree.linear.coordinates cimport descend_coordinates
from obtree.linear.loss cimport add_logistic_loss, apply_logistic, clip_score

cdef enum:
    NEWTON_FEATURES = 128     # up to so many features are fitted by Newton steps
    NEWTON_STEPS = 3
    SWEEPS = 30               # of coordinates, for one Newton step

cdef double RIDGE = 1e-3      # keeps Newton steps finite where rows are separable
# A row whose side is less uncertain than this in the first pass is left out of the others.
cdef double MIN_RESIDUAL = 0.01

MAX_NEWTON_FEATURES = NEWTON_FEATURES


cdef inline void swap_rows(row_t* care, double* gain, idx_t a, idx_t b) noexcept nogil:
    cdef row_t row = care[a]
    cdef double size = gain[a]
    care[a] = care[b]
    care[b] = row
    gain[a] = gain[b]
    gain[b] = size


cdef class NodeFit:

    def __init__(self, Scaler scaler, double l1, double rate, idx_t n_epochs):
        cdef idx_t p = scaler.n_features
        cdef idx_t stride = pad_width(p)
        cdef Workspace memory = Workspace()
        cdef idx_t k
        self.memory = memory
        self.scaler = scaler
        self.l1 = l1
        self.rate = rate
        self.n_epochs = n_epochs
        self.by_newton = p <= NEWTON_FEATURES
        self.stop = NULL
        take_columns(&self.own, p, memory)
        self.columns = &scaler.complete
        self.lacking = <char*>memory.take(p, 1)
        self.w = <float*>memory.take(stride, sizeof(float))
        take_adagrad(&self.steps, 1, stride, memory)
        self.gradient = <float*>memory.take(stride, sizeof(float))
        self.block = <float*>memory.take(BATCH * stride, sizeof(float))
        self.score = <float*>memory.take(BATCH, sizeof(float))
        self.factor = <float*>memory.take(BATCH, sizeof(float))
        self.sums = <double*>memory.take(BATCH, sizeof(double))
        self.at = <int32_t*>memory.take(BATCH, sizeof(int32_t))
        for k in range(BATCH):
            self.at[k] = <int32_t>k
        if self.by_newton:
            take_scatter(&self.scatter, p, 1, memory)
            self.step = <double*>memory.take(p, sizeof(double))
            self.residual = <double*>memory.take(p, sizeof(double))
        init_plane(&self.plane, <feature_t*>memory.take(p, sizeof(feature_t)),
                   <w_t*>memory.take(p, sizeof(w_t)))
        self.dense.weight = <float*>memory.take(p, sizeof(float))
        for k in range(stride):
            self.w[k] = 0.0

    cdef bint fit(self, const Hyperplane* start, const row_t* rows, idx_t n_rows,
                  row_t* care, double* gain, idx_t n, RandState* rng) noexcept nogil:
        """Move the plane `start` of a node with these rows; False when there is nothing to move.

        IN rows (n_rows) of the node; IN OUT care, gain (n): rows and what they gain on the
        right, put in another order. The result is self.plane.
        """
        if self.scaler.has_missing:
            self.scaler.choose_columns(&self.own, rows, n_rows, self.lacking)
            self.columns = &self.own
        if self.columns.n == 0 or n == 0:
            return False
        self._load(start)
        if self.by_newton:
            self._iterate(care, gain, n)
        else:
            self._descend(care, gain, n, rng)
        self._write_plane()
        return True

    cdef void _load(self, const Hyperplane* start) noexcept nogil:
        """The start in units; zero when it has a feature that some row lacks."""
        cdef Columns* c = self.columns
        cdef idx_t k, t = 0
        self.bias = -start.threshold
        for k in range(c.stride):
            self.w[k] = 0.0
        for k in range(c.n):
            # Terms and columns are both in ascending order.
            while t < start.n_terms and start.feature[t] < c.feature[k]:
                t += 1
            if (t < start.n_terms and start.feature[t] == c.feature[k]
                    and c.scale[k] > 0.0):
                self.w[k] = <float>(start.weight[t] / <double>c.scale[k])
                self.bias += start.weight[t] * <double>c.origin[k]

    cdef void _write_plane(self) noexcept nogil:
        """The weights in the features' own units; those that are zero are left out."""
        cdef Columns* c = self.columns
        cdef idx_t k
        self.plane.threshold = -self.bias
        self.plane.n_terms = write_terms(c, self.w, &self.plane.threshold, self.plane.feature,
                                         self.plane.weight)
        self.penalty = 0.0
        for k in range(c.n):
            self.penalty += fabs(<double>self.w[k])

    # ---- small steps -----------------------------------------------------------------

    cdef void _score(self, const row_t* rows, idx_t n) noexcept nogil:
        """Sums of the rows, without the bias; they are at hand for _sum_gradient then."""
        cdef Columns* c = self.columns
        cdef float* weight = self.dense.weight
        cdef idx_t k
        cdef double offset = 0.0
        if self.scaler.bytes == NULL:
            self.scaler.transform(c, rows, n, self.block)
            kernels().dot_rows(self.block, c.stride, n, self.w, self.score)
            return
        # Bytes stay as they are: it is the weights that are brought to their units.
        for k in range(c.n):
            weight[k] = self.w[k] * c.scale[k]
            offset += weight[k] * c.origin[k]
        self.scaler.approximate(rows, n, weight, self.sums)
        for k in range(n):
            self.score[k] = <float>(self.sums[k] - offset)

    cdef void _sum_gradient(self, const row_t* rows, idx_t n, double slope) noexcept nogil:
        """The rows' factors, whose sum is `slope`, times the rows: self.gradient."""
        cdef Columns* c = self.columns
        cdef idx_t k
        cdef float total = <float>slope
        if self.scaler.bytes == NULL:
            kernels().add_rows(self.block, c.stride, self.at, self.factor, n, self.gradient)
            return
        kernels().add_bytes(self.scaler.bytes, c.n, rows, self.factor, n, self.gradient)
        for k in range(c.n):
            self.gradient[k] = (self.gradient[k] - total * c.origin[k]) * c.scale[k]
        for k in range(c.n, c.stride):
            self.gradient[k] = 0.0

    cdef void _descend(self, row_t* care, double* gain, idx_t n, RandState* rng) noexcept nogil:
        """Proximal AdaGrad on batches of rows in random order."""
        cdef Columns* c = self.columns
        cdef AdaGrad* steps = &self.steps
        cdef idx_t epoch, b, p, start, here, n_batches, n_visited, n_active = n
        cdef double weight = 0.0, probability, slope
        for p in range(n):
            weight += fabs(gain[p])
        reset_adagrad(steps, 1, c.stride, n, self.n_epochs)
        steps.rate = self.rate
        steps.shrink = <float>(self.l1 / weight)
        steps.decay = 0.0
        n_batches = steps.n_batches
        # Rows and gains go together; those in front of n_active are visited.
        for epoch in range(self.n_epochs):
            shuffle_pairs(care, gain, n_active, rng)
            n_visited = n_active
            for b in range(n_batches):
                start = b * n_visited // n_batches
                here = (b + 1) * n_visited // n_batches - start
                self._score(care + start, here)
                slope = 0.0
                for p in range(here):
                    probability = apply_logistic(clip_score(<double>self.score[p] + self.bias))
                    probability -= 1.0 if gain[start + p] > 0.0 else 0.0
                    self.factor[p] = <float>(probability * fabs(gain[start + p]) * n_batches
                                             / weight)
                    slope += self.factor[p]
                self._sum_gradient(care + start, here, slope)
                if epoch == 0:
                    # A row that is on its side by far would hardly move anything.
                    if start == 0:
                        n_active = 0
                    for p in range(here):
                        if (fabs(self.factor[p]) * weight
                                > MIN_RESIDUAL * n_batches * fabs(gain[start + p])):
                            swap_rows(care, gain, start + p, n_active)
                            n_active += 1
                self.bias -= step_weights(steps, 0, self.w, self.gradient, slope)
                note_bias(steps, 0, self.bias)
                steps.n_steps += 1
        self.bias = average_steps(steps, 0, self.w)

    # ---- Newton steps ----------------------------------------------------------------

    cdef void _iterate(self, const row_t* care, const double* gain, idx_t n) noexcept nogil:
        """Newton steps, halved while the penalised loss would rise."""
        cdef Columns* c = self.columns
        cdef Scatter* s = &self.scatter
        cdef double loss, lowest = 0.0, shift = 0.0
        cdef idx_t k, i
        s.n_terms = c.n
        for k in range(c.n):
            s.origin[k] = 0.0
        for i in range(2 * NEWTON_STEPS):
            loss = self._measure(care, gain, n)
            if self.stop != NULL and self.stop[0]:
                return
            if i > 0 and not loss <= lowest:
                shift *= 0.5
                self.bias -= shift
                for k in range(c.n):
                    self.step[k] *= 0.5
                    self.w[k] -= <float>self.step[k]
                continue
            if i >= NEWTON_STEPS or (i > 0 and lowest - loss < 1e-3 * lowest):
                break
            lowest = loss
            centre_scatter(s)
            descend_coordinates(s, self.w, self.l1, RIDGE, SWEEPS, self.step, self.residual)
            shift = s.total[0] / s.weight
            for k in range(c.n):
                shift -= self.step[k] * s.mean[k]
                self.w[k] += <float>self.step[k]
            self.bias += shift

    cdef double _measure(self, const row_t* care, const double* gain, idx_t n) noexcept nogil:
        """The penalised loss; the scatter then holds its first and second derivatives."""
        cdef Columns* c = self.columns
        cdef idx_t start = 0, here, p, k
        cdef double score, probability, size, slope, loss = 0.0
        cdef bint right
        clear_scatter(&self.scatter)
        while start < n and (self.stop == NULL or not self.stop[0]):
            here = min(<idx_t>BATCH, n - start)
            self.scaler.transform(c, care + start, here, self.block)
            kernels().dot_rows(self.block, c.stride, here, self.w, self.score)
            for p in range(here):
                size = fabs(gain[start + p])
                right = gain[start + p] > 0.0
                score = clip_score(<double>self.score[p] + self.bias)
                probability = apply_logistic(score)
                add_logistic_loss(score, right, size, &loss)
                slope = size * (<double>right - probability)
                add_row(&self.scatter, self.block + p * c.stride,
                        size * max(probability * (1.0 - probability), 1e-5), &slope)
            start += here
        for k in range(c.n):
            loss += self.l1 * fabs(<double>self.w[k])
            loss += 0.5 * RIDGE * self.w[k] * self.w[k]
        return loss
