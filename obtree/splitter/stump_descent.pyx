"""Epochs of gradient steps on a stump's bound.

Steps are made on batches, so that the bound of the node's rows may rise for a while. The stump
is looked at before the first step, after each epoch, or after some of them where they are short,
and in the end: what lies lower than all before is accepted, and there it ends, so that over
accepted epochs the bound falls. The way goes on from where it is, accepted or not. Among few
columns looks are rare: the lowest of many points is fitted so closely to the rows of the node
that trees become alike, and forests of them worse.

The step is halved after two stretches that brought nothing; when that has happened often enough
to matter no more, it is time to stop. In wide nodes a stretch is judged by the look at its end,
in others by the bound that its batches had on the way.
"""

from libc.math cimport INFINITY
from libc.string cimport memcpy

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t
from obtree.linear.columns cimport Columns
from obtree.splitter.stump cimport (
    Batch,
    Stump,
    StumpLoss,
    fit_leaves,
    judge_batch,
    move_stump,
    reset_stump,
    shorten_stump,
)
from obtree.splitter.stump_node cimport StumpNode

cdef enum:
    LOOK_STEPS = 80           # least steps between two looks at the bound
    WIDE_LOOK_STEPS = 8       # ... in wide nodes
    STRETCH_STEPS = 8         # after which a step's length is judged, in nodes of one batch
    MAX_HALVINGS = 4          # of the step

cdef double LEAF_RATE = 0.1
cdef double LEAST_LENGTH = 0.1   # share of its weights that a start is shortened to


cdef class StumpDescent:

    cdef int bind(self, Workspace workspace, idx_t max_stride, idx_t max_slots) except -1:
        self.w = <float*>workspace.take(max_stride, sizeof(float))
        self.theta = <float*>workspace.take(2 * max_slots, sizeof(float))
        self._counts = <double*>workspace.take(2 * (max_slots + 1), sizeof(double))
        self.trace = NULL
        self.n_trace = self.max_trace = 0
        return 0

    cdef void start(self, Stump* stump, StumpNode node, const StumpStart* at) noexcept nogil:
        cdef const Columns* columns = &node.columns
        cdef idx_t k = at.column
        cdef Batch batch
        stump.n_outputs = node.n_outputs
        stump.is_class = node.is_class
        stump.together = node.is_wide
        stump.first = node.first
        stump.stride = columns.stride
        stump.n_columns = columns.n
        stump.nu = <float>at.nu
        reset_stump(stump)
        stump.w[k] = <float>at.length
        stump.bias = <float>(
            at.length * ((at.threshold - columns.origin[k]) - columns.mean[k]) * columns.scale[k]
        )
        node.take_batch(0, min(node.n, <idx_t>JUDGED_ROWS), &batch)
        fit_leaves(stump, &batch, self._counts)
        if at.shorten:
            shorten_stump(stump, &batch, <float>LEAST_LENGTH)

    cdef bint _look(self, Stump* stump, StumpNode node) noexcept nogil:
        """Accept the stump if its bound is lower than all before."""
        cdef idx_t n_slots = stump.first[stump.n_outputs]
        cdef StumpLoss sums
        cdef Batch batch
        cdef double bound
        sums.weight = sums.surrogate = sums.loss = 0.0
        node.take_batch(0, min(node.n, <idx_t>JUDGED_ROWS), &batch)
        judge_batch(stump, &batch, &sums)
        bound = sums.surrogate / sums.weight
        if not bound < self.bound:
            return False
        self.bound = bound
        self.bias = stump.bias
        memcpy(self.w, stump.w, stump.stride * sizeof(float))
        memcpy(self.theta, stump.theta, 2 * n_slots * sizeof(float))
        if self.n_trace < self.max_trace:
            self.trace[self.n_trace] = bound
            self.n_trace += 1
        return True

    cdef void _restore(self, Stump* stump) noexcept nogil:
        """Return to what was accepted last."""
        stump.bias = self.bias
        memcpy(stump.w, self.w, stump.stride * sizeof(float))
        memcpy(stump.theta, self.theta, 2 * stump.first[stump.n_outputs] * sizeof(float))

    cdef void run(self, Stump* stump, StumpNode node, const DescentPlan* plan,
                  const volatile int* stop) noexcept nogil:
        cdef idx_t n = node.n
        cdef idx_t n_batches = (n + plan.batch_size - 1) // plan.batch_size
        cdef idx_t n_epochs = max(plan.n_epochs, (plan.min_steps + n_batches - 1) // n_batches)
        cdef idx_t look_steps = WIDE_LOOK_STEPS if node.is_wide else LOOK_STEPS
        cdef idx_t look_epochs = (look_steps + n_batches - 1) // n_batches
        cdef idx_t stretch = STRETCH_STEPS if n_batches == 1 else 1
        cdef idx_t epoch, b, n_bad = 0, n_halved = 0
        cdef double rate = plan.rate, passed, lowest = INFINITY
        cdef bint better = False
        cdef StumpLoss sums
        cdef Batch batch
        if node.is_wide:
            stretch = look_epochs
        sums.weight = sums.surrogate = sums.loss = 0.0
        self.bound = INFINITY
        self.n_trace = 0
        self._look(stump, node)
        for epoch in range(1, n_epochs + 1):
            if stop[0]:
                return
            for b in range(n_batches):
                node.take_batch(b * n // n_batches, (b + 1) * n // n_batches, &batch)
                move_stump(stump, &batch, <float>rate, <float>LEAF_RATE, &sums)
            if epoch % look_epochs == 0 and epoch < n_epochs:
                better = self._look(stump, node)
            if epoch % stretch != 0:
                continue
            if not node.is_wide:
                passed = sums.surrogate / sums.weight
                better = passed < lowest
                lowest = min(lowest, passed)
            sums.weight = sums.surrogate = sums.loss = 0.0
            n_bad = 0 if better else n_bad + 1
            if n_bad == 2:
                rate *= 0.5
                n_bad = 0
                n_halved += 1
                if n_halved == MAX_HALVINGS:
                    break
        self._look(stump, node)
        if self.bound < INFINITY:
            self._restore(stump)
