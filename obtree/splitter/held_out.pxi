# Which of two splits of a node serves rows better that neither was fitted to.
#
# A plane of many columns separates the rows it was fitted to as well as it likes, and its gain on
# them says little. Some rows of the node are set aside, a plane is fitted to the others, and leaves
# that hold what those rows are predict the rows set aside: the lower log loss wins. The axis split
# is that of all rows, since views know the rows of a node as a whole only; having one column and
# one threshold, it owes little to the rows set aside.

from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, draw_in_order
from obtree.core.types cimport feature_t, idx_t, row_t, w_t
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane, goes_left, init_plane
from obtree.data.project cimport project_rows
from obtree.data.targets cimport TargetView
from obtree.linear.loss cimport find_log_probabilities
from obtree.splitter.base cimport NodeTask


cdef class HeldOut:
    """Scratch for the rows of a node in two parts; one for each worker."""

    cdef int bind(self, const DataView* view, const TargetView* targets, double weight_unit,
                  Workspace workspace) except -1:
        cdef idx_t n_slots = targets.n_outputs * targets.max_n_classes
        self.view = view
        self.targets = targets
        self.weight_unit = weight_unit
        self.fitted = <row_t*>workspace.take(view.n_samples, sizeof(row_t))
        init_plane(&self.plane, <feature_t*>workspace.take(view.n_features, sizeof(feature_t)),
                   <w_t*>workspace.take(view.n_features, sizeof(w_t)))
        self._is_held = <bint*>workspace.take(view.n_samples, sizeof(bint))
        self._projection = <double*>workspace.take(view.n_samples, sizeof(double))
        self._counts = <double*>workspace.take(2 * n_slots, sizeof(double))
        self._logarithm = <float*>workspace.take(2 * n_slots, sizeof(float))
        return 0

    cdef void draw(self, const NodeTask* task, idx_t n_held, RandState* rng) noexcept nogil:
        """Set so many rows of a node aside."""
        cdef idx_t p
        self.n_fitted = 0
        for p in range(task.n):
            self._is_held[p] = draw_in_order(n_held - (p - self.n_fitted), task.n - p, rng)
            if not self._is_held[p]:
                self.fitted[self.n_fitted] = task.rows[p]
                self.n_fitted += 1

    cdef double judge(self, const NodeTask* task, const Hyperplane* plane,
                      double pseudo_count) noexcept nogil:
        """The log loss of the rows set aside, as rows of their side of the others predict them."""
        cdef idx_t n_outputs = self.targets.n_outputs, width = self.targets.max_n_classes
        cdef idx_t n_slots = n_outputs * width
        cdef idx_t p, k, side
        cdef row_t row
        cdef double weight, loss = 0.0
        cdef double total[2]
        total[0] = total[1] = 0.0
        memset(self._counts, 0, 2 * n_slots * sizeof(double))
        project_rows(self.view, plane, task.rows, task.n, self._projection)
        for p in range(task.n):
            if self._is_held[p]:
                continue
            row = task.rows[p]
            side = not goes_left(plane, self._projection[p])
            weight = task.weight[row] / self.weight_unit
            total[side] += weight
            for k in range(n_outputs):
                self._counts[side * n_slots + k * width
                             + self.targets.codes[row * n_outputs + k]] += weight
        for side in range(2):
            for k in range(n_outputs):
                p = side * n_slots + k * width
                find_log_probabilities(self._counts + p, self.targets.n_classes[k], total[side],
                                       pseudo_count, self._logarithm + p)
        for p in range(task.n):
            if not self._is_held[p]:
                continue
            row = task.rows[p]
            side = not goes_left(plane, self._projection[p])
            for k in range(n_outputs):
                loss -= task.weight[row] / self.weight_unit * self._logarithm[
                    side * n_slots + k * width + self.targets.codes[row * n_outputs + k]]
        return loss
