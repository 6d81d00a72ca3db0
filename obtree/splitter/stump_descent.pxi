# Epochs of gradient steps on a stump's bound.
#
# Steps are made on batches, so that the bound of the node's rows may rise for a while. Its bound
# is evaluated before the first step, after each epoch, or after some of them where they are short,
# and in the end: what lies lower than all before is accepted, and there it ends, so that over
# accepted epochs the bound falls. The way goes on from where it is, accepted or not. The step is
# halved after stretches that brought nothing; when that has happened often enough to matter no
# more, it is time to stop. How often that is, and when to evaluate, ``co2_policy.pxd`` tells.

from libc.math cimport INFINITY
from libc.string cimport memcpy

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t
from obtree.linear.columns cimport Columns
from obtree.splitter.co2_policy cimport (
    CO2Policy, DescentPlan, count_eval_epochs, count_stretch_epochs,
)
from obtree.splitter.stump cimport (
    Batch, Stump, StumpLoss, fit_stump_leaves, judge_batch, move_stump, reset_stump, shorten_stump,
)


cdef class StumpDescent:

    cdef int bind(self, const CO2Policy* policy, Workspace workspace, idx_t max_stride,
                  idx_t max_slots) except -1:
        self._policy = policy
        self.w = <float*>workspace.take(max_stride, sizeof(float))
        self.theta = <float*>workspace.take(2 * max_slots, sizeof(float))
        self._counts = <double*>workspace.take(2 * (max_slots + 1), sizeof(double))
        self.trace = NULL
        self.n_trace = self.max_trace = 0
        return 0

    cdef void start(self, Stump* stump, StumpNode node, const DescentPlan* plan) noexcept nogil:
        cdef const Columns* columns = &node.columns
        cdef idx_t k = plan.column
        cdef Batch batch
        stump.n_outputs = node.n_outputs
        stump.is_class = node.is_class
        stump.shared_moment = node.kind.wide
        stump.first = node.first
        stump.stride = columns.stride
        stump.n_columns = columns.n
        stump.nu = <float>plan.nu
        reset_stump(stump)
        stump.w[k] = <float>plan.length
        stump.bias = <float>(
            plan.length * ((plan.threshold - columns.origin[k]) - columns.mean[k])
            * columns.scale[k]
        )
        node.take_batch(0, min(node.n, self._policy.judged_rows), &batch)
        fit_stump_leaves(stump, &batch, self._policy.pseudo_count, self._counts)
        if plan.shorten:
            shorten_stump(stump, &batch, <float>self._policy.least_length)

    cdef bint _evaluate(self, Stump* stump, StumpNode node) noexcept nogil:
        """Accept the stump if its bound is lower than all before."""
        cdef idx_t n_slots = stump.first[stump.n_outputs]
        cdef StumpLoss sums
        cdef Batch batch
        cdef double bound
        sums.weight = sums.surrogate = sums.loss = 0.0
        node.take_batch(0, min(node.n, self._policy.judged_rows), &batch)
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
        cdef idx_t eval_epochs = count_eval_epochs(self._policy, &node.kind, n_batches)
        cdef idx_t stretch = count_stretch_epochs(self._policy, &node.kind, n_batches)
        cdef idx_t epoch, b, n_bad = 0, n_halved = 0
        cdef double rate = plan.rate, passed, lowest = INFINITY
        cdef bint better = False
        cdef StumpLoss sums
        cdef Batch batch
        sums.weight = sums.surrogate = sums.loss = 0.0
        self.bound = INFINITY
        self.n_trace = 0
        self._evaluate(stump, node)
        for epoch in range(1, n_epochs + 1):
            if stop[0]:
                return
            for b in range(n_batches):
                node.take_batch(b * n // n_batches, (b + 1) * n // n_batches, &batch)
                move_stump(stump, &batch, <float>rate, <float>self._policy.leaf_rate, &sums)
            if epoch % eval_epochs == 0 and epoch < n_epochs:
                better = self._evaluate(stump, node)
            if epoch % stretch != 0:
                continue
            if not node.kind.wide:
                passed = sums.surrogate / sums.weight
                better = passed < lowest
                lowest = min(lowest, passed)
            sums.weight = sums.surrogate = sums.loss = 0.0
            n_bad = 0 if better else n_bad + 1
            if n_bad == self._policy.patience:
                rate *= 0.5
                n_bad = 0
                n_halved += 1
                if n_halved == self._policy.max_halvings:
                    break
        self._evaluate(stump, node)
        if self.bound < INFINITY:
            self._restore(stump)
