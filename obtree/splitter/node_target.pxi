# One number for each row of a node that a linear model can be fitted to.
#
# Two classes are -1 and 1. More classes are divided at random into two groups, anew for each
# direction, so that a node of many classes is looked at from many sides. Real targets are
# themselves; of several outputs a random combination is taken, each in units of its standard
# deviation in the node.

from libc.math cimport sqrt
from libc.stdint cimport int32_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, next_word, normal, uniform
from obtree.core.types cimport idx_t, y_t
from obtree.data.targets cimport CLASS_TARGETS, REAL_TARGETS, TargetView
from obtree.splitter.base cimport NodeTask


cdef class NodeTarget:
    cdef const TargetView* targets
    cdef idx_t n_outputs
    cdef idx_t n_groups               # group numbers are smaller
    cdef bint is_fixed                # the next draw would be the same again
    cdef double* score                # (n_outputs * max_n_classes) random number of each class
    cdef bint* present                # (max_n_classes) whether the node has the class
    cdef double* value                # (n) target of the node's rows
    cdef int32_t* group               # (n) group of the node's rows, see find_groups

    cdef int bind(self, const TargetView* targets, Workspace workspace, idx_t max_rows) except -1:
        """Once per worker, GIL held, may raise."""
        if targets.kind not in (CLASS_TARGETS, REAL_TARGETS):
            raise ValueError(
                "directions are fitted to y by this splitter; expected targets of every row"
            )
        self.targets = targets
        self.n_outputs = targets.n_outputs
        self.n_groups = max(<idx_t>2, targets.max_n_classes)
        self.score = <double*>workspace.take(targets.n_outputs * targets.max_n_classes,
                                             sizeof(double))
        self.present = <bint*>workspace.take(targets.max_n_classes, sizeof(bint))
        self.value = <double*>workspace.take(max_rows, sizeof(double))
        self.group = <int32_t*>workspace.take(max_rows, sizeof(int32_t))
        return 0

    cdef bint draw(self, const NodeTask* task, RandState* rng) noexcept nogil:
        """Fill `value`; False when all rows have the same."""
        cdef idx_t p
        if self.targets.kind == CLASS_TARGETS:
            self._score_classes(task, rng)
        else:
            self._mix_outputs(task, rng)
        for p in range(1, task.n):
            if self.value[p] != self.value[0]:
                return True
        return False

    cdef void _score_classes(self, const NodeTask* task, RandState* rng) noexcept nogil:
        """-1 or 1 for each class of an output, neither for all that the node holds."""
        cdef idx_t stride = self.targets.max_n_classes
        cdef idx_t n_outputs = self.n_outputs
        cdef const int32_t* codes = self.targets.codes
        cdef bint* present = self.present
        cdef double* score
        cdef double size = 1.0
        cdef idx_t k, c, p, n_present, n_high
        self.is_fixed = n_outputs == 1
        for k in range(n_outputs):
            score = self.score + k * stride
            memset(present, 0, stride * sizeof(bint))
            for p in range(task.n):
                present[codes[task.rows[p] * n_outputs + k]] = True
            n_present = 0
            for c in range(stride):
                n_present += present[c]
            if n_outputs > 1:
                size = 0.5 + uniform(rng)     # lest opposite outputs cancel
            self.is_fixed = self.is_fixed and n_present <= 2
            n_high = 0
            while True:
                n_high = 0
                for c in range(stride):
                    if present[c]:
                        if n_present == 2:
                            score[c] = size if n_high == 0 else -size
                            n_high += 1
                        else:
                            score[c] = size if next_word(rng) >> 63 else -size
                            n_high += score[c] > 0.0
                if n_present <= 2 or 0 < n_high < n_present:
                    break
        for p in range(task.n):
            self.value[p] = 0.0
            for k in range(n_outputs):
                self.value[p] += self.score[k * stride + codes[task.rows[p] * n_outputs + k]]

    cdef void _mix_outputs(self, const NodeTask* task, RandState* rng) noexcept nogil:
        cdef idx_t n_outputs = self.n_outputs
        cdef const y_t* y = self.targets.values
        cdef idx_t p, k
        cdef double mean, square, weight, w, d, first, factor
        self.is_fixed = n_outputs == 1
        for p in range(task.n):
            self.value[p] = 0.0
        for k in range(n_outputs):
            first = y[task.rows[0] * n_outputs + k]
            mean = square = weight = 0.0
            for p in range(task.n):
                w = task.weight[task.rows[p]]
                d = y[task.rows[p] * n_outputs + k] - first
                weight += w
                mean += w * d
                square += w * d * d
            mean /= weight
            square = square / weight - mean * mean
            factor = 1.0 if n_outputs == 1 else normal(rng)
            if not square > 0.0:
                continue
            factor /= sqrt(square)
            for p in range(task.n):
                d = y[task.rows[p] * n_outputs + k] - first
                self.value[p] += factor * (d - mean)

    cdef void find_groups(self, const NodeTask* task) noexcept nogil:
        """Make `group` the classes, if y is one class, else what `find_halves` says."""
        cdef idx_t p
        if self.targets.kind != CLASS_TARGETS or self.n_outputs > 1:
            self.find_halves(task)
            return
        for p in range(task.n):
            self.group[p] = self.targets.codes[task.rows[p]]

    cdef void find_halves(self, const NodeTask* task) noexcept nogil:
        """Make `group` 1 for rows whose value is above the mean, else 0."""
        cdef double mean = 0.0, weight = 0.0, w
        cdef idx_t p
        for p in range(task.n):
            w = task.weight[task.rows[p]]
            weight += w
            mean += w * (self.value[p] - self.value[0])
        mean = self.value[0] + mean / weight
        for p in range(task.n):
            self.group[p] = self.value[p] > mean
