"""Wrappers of the kernels of a moving stump, of the stump itself and of its descent."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, seed_state
from obtree.core.types cimport idx_t, row_t, w_t
from obtree.data.dataset cimport Dataset
from obtree.data.fit cimport FitView, lend_fit
from obtree.data.targets cimport Targets
from obtree.splitter cimport stump as stumps
from obtree.splitter.base cimport NodeTask
from obtree.splitter.co2 cimport ColumnScales, StumpDescent, StumpNode, measure_column_scales
from obtree.splitter.co2_policy cimport CO2Policy, DescentPlan, find_nu as find_radius, init_policy
from obtree.splitter.stump cimport Batch, Stump, StumpLoss


def pad_rows(X):
    """Float32 rows with zeros up to a multiple of eight columns."""
    X = np.asarray(X, dtype=np.float32)
    out = np.zeros((len(X), (X.shape[1] + 7) // 8 * 8), dtype=np.float32)
    out[:, :X.shape[1]] = X
    return out


def dot_rows(X, w):
    """X @ w for padded rows."""
    cdef const float[:, ::1] x = X
    cdef const float[::1] weights = w
    cdef float[::1] out = np.empty(len(X), dtype=np.float32)
    kernels().dot_rows(&x[0, 0], x.shape[1], x.shape[0], &weights[0], &out[0])
    return np.asarray(out)


def dot_entries(const int64_t[::1] start, const int32_t[::1] column, const float[::1] value,
                const float[::1] w, float level):
    """Level plus w.x of rows of stored entries."""
    cdef float[::1] out = np.empty(start.shape[0] - 1, dtype=np.float32)
    kernels().dot_entries(&start[0], &column[0], &value[0], out.shape[0], &w[0], level, &out[0])
    return np.asarray(out)


def add_rows(X, at, factor):
    """factor @ X[at] for padded rows."""
    cdef const float[:, ::1] x = X
    cdef const int32_t[::1] rows = np.ascontiguousarray(at, dtype=np.int32)
    cdef const float[::1] factors = np.ascontiguousarray(factor, dtype=np.float32)
    cdef float[::1] out = np.empty(X.shape[1], dtype=np.float32)
    kernels().add_rows(&x[0, 0], x.shape[1], &rows[0], &factors[0], len(at), &out[0])
    return np.asarray(out)


def exp_differences(x, float top):
    """exp(x - top)."""
    cdef const float[::1] values = np.ascontiguousarray(x, dtype=np.float32)
    cdef float[::1] out = np.empty(len(x), dtype=np.float32)
    kernels().exp_differences(&values[0], len(x), top, &out[0])
    return np.asarray(out)


def add_moments(X, origin, weight):
    """Weighted sums of X - origin and of its square."""
    cdef const float[:, ::1] x = X
    cdef const float[::1] first = origin
    cdef const double[::1] w = weight
    cdef double[::1] total = np.zeros(X.shape[1])
    cdef double[::1] squares = np.zeros(X.shape[1])
    kernels().add_moments(&x[0, 0], x.shape[0], x.shape[1], &first[0], &w[0], &total[0],
                          &squares[0])
    return np.asarray(total), np.asarray(squares)


def standardise_row(x, column, origin, mean, scale):
    """(x[column] - origin - mean) * scale; column may be None."""
    cdef const float[::1] row = x
    cdef const float[::1] first = origin
    cdef const float[::1] middle = mean
    cdef const float[::1] factor = scale
    cdef const int32_t[::1] columns
    cdef const int32_t* at = NULL
    cdef float[::1] out = np.empty(len(origin), dtype=np.float32)
    if column is not None:
        columns = np.ascontiguousarray(column, dtype=np.int32)
        at = &columns[0]
    kernels().standardise_row(&row[0], at, len(origin), &first[0], &middle[0], &factor[0],
                              &out[0])
    return np.asarray(out)


def adam_step(w, m, v, gradient, float rate, float v_correction):
    """One step; returns the new w, m and v."""
    moved = [np.array(part, dtype=np.float32) for part in (w, m, v)]
    cdef float[::1] weights = moved[0]
    cdef float[::1] first = moved[1]
    cdef float[::1] second = moved[2]
    cdef const float[::1] slope = np.ascontiguousarray(gradient, dtype=np.float32)
    kernels().adam_step(&weights[0], &first[0], &second[0], &slope[0], len(w), rate, v_correction)
    return moved


cdef class StumpProbe:
    """A stump on given rows.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
    y : ndarray of shape (n, n_outputs)
        Integers: classes 0, 1, ... of each output. Floats: numbers.
    weight : ndarray of shape (n,)
    nu : float
    shared_moment : bool, default=False
        Whether the weights have one second moment.
    """

    cdef Stump _stump
    cdef Batch _batch
    cdef Workspace _workspace
    cdef double* _counts
    cdef object _kept
    cdef idx_t _n_columns

    def __init__(self, X, y, weight, nu, *, bint shared_moment=False):
        x = pad_rows(X)
        self._n_columns = np.shape(X)[1]
        cdef const float[:, ::1] rows = x
        w = np.ascontiguousarray(weight, dtype=np.float32)
        cdef const float[::1] weights = w
        self._workspace = Workspace()
        self._stump.is_class = np.asarray(y).dtype.kind == "i"
        self._stump.shared_moment = shared_moment
        self._stump.n_outputs = y.shape[1]
        sizes = y.max(axis=0) + 1 if self._stump.is_class else np.ones(y.shape[1])
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        cdef const idx_t[::1] first = starts
        targets = np.ascontiguousarray(y + starts[:-1] if self._stump.is_class else y,
                                       dtype=np.int32 if self._stump.is_class else np.float32)
        cdef const int32_t[:, ::1] slot
        cdef const float[:, ::1] numbers
        if self._stump.is_class:
            slot = targets
            self._batch.slot = &slot[0, 0]
        else:
            numbers = targets
            self._batch.y = &numbers[0, 0]
        self._kept = x, w, starts, targets
        self._stump.first = &first[0]
        self._stump.stride = x.shape[1]
        self._stump.n_columns = self._n_columns
        self._stump.nu = nu
        stumps.take_stump(&self._stump, self._workspace, x.shape[1], starts[-1], len(x))
        self._counts = <double*>self._workspace.take(2 * (starts[-1] + 1), sizeof(double))
        self._batch.x = &rows[0, 0]
        self._batch.weight = &weights[0]
        self._batch.n = len(x)

    def start(self, w, double bias):
        """Set the plane, and the leaves to what they then hold."""
        cdef idx_t k
        stumps.reset_stump(&self._stump)
        for k in range(self._n_columns):
            self._stump.w[k] = w[k]
        self._stump.bias = bias
        stumps.fit_stump_leaves(&self._stump, &self._batch, 0.5, self._counts)

    def stretch(self, float factor):
        """Multiply the plane, not the leaves."""
        cdef idx_t k
        for k in range(self._stump.stride):
            self._stump.w[k] *= factor
        self._stump.bias *= factor

    def shorten(self, float least):
        """Shorten the plane until rows are active."""
        stumps.shorten_stump(&self._stump, &self._batch, least)

    @property
    def plane(self):
        return np.array([self._stump.w[k] for k in range(self._n_columns)]), self._stump.bias

    @property
    def leaves(self):
        n_slots = self._stump.first[self._stump.n_outputs]
        return np.array([self._stump.theta[k] for k in range(2 * n_slots)]).reshape(2, -1)

    def judge(self):
        """(surrogate, loss) as means, and the gradient of the surrogate by the scores."""
        cdef StumpLoss sums
        sums.weight = sums.surrogate = sums.loss = 0.0
        n_active = stumps.judge_batch(&self._stump, &self._batch, &sums)
        factor = np.zeros(self._batch.n)
        for k in range(n_active):
            factor[self._stump.at[k]] = self._stump.factor[k]
        return sums.surrogate / sums.weight, sums.loss / sums.weight, factor

    def move(self, float rate, float leaf_rate):
        """One step."""
        cdef StumpLoss sums
        sums.weight = sums.surrogate = sums.loss = 0.0
        stumps.move_stump(&self._stump, &self._batch, rate, leaf_rate, &sums)


def descend(Dataset dataset, bound, weight, *, idx_t column, double threshold,
            double nu, double rate, idx_t n_epochs, idx_t min_steps, idx_t batch_size, int seed):
    """Descend from an axis split of all rows, as CO2 does.

    Returns
    -------
    dict
        "accepted": the bounds that were accepted, the start's first; "before" and "after": the
        bound where it began, and where it ended, judged anew; "rows", "targets", "weight",
        "plane" and "leaves" in the end: rows as the stump sees them, those that are judged.
    """
    cdef const w_t[::1] weights = np.ascontiguousarray(weight, dtype=np.float64)
    cdef row_t[::1] rows = np.arange(dataset.n_samples, dtype=np.int32)
    cdef CO2Policy policy = _find_policy(dataset)
    cdef idx_t max_batch = min(dataset.n_samples, max(policy.judged_rows, batch_size))
    cdef double[::1] trace = np.empty(10_000)
    cdef Workspace workspace = Workspace()
    cdef StumpNode node = StumpNode()
    cdef Targets targets = bound.targets
    cdef StumpDescent descent = StumpDescent()
    cdef Stump stump
    cdef NodeTask task
    cdef DescentPlan plan
    cdef RandState rng
    cdef Batch batch
    cdef volatile int stop = 0
    cdef FitView fit = lend_fit(&dataset.view, &targets.view, NULL, &stop, 1)
    cdef ColumnScales scales = measure_column_scales(&fit)
    cdef idx_t p, k
    seed_state(&rng, seed, 0)
    policy.units_differ = scales.differ
    node.bind(&dataset.view, &targets.view, scales, workspace, max_batch, &policy, NULL)
    stumps.take_stump(&stump, workspace, node.max_stride, node.max_slots, max_batch)
    descent.bind(&policy, workspace, node.max_stride, node.max_slots)
    descent.trace = &trace[0]
    descent.max_trace = trace.shape[0]
    task.rows = &rows[0]
    task.n = rows.shape[0]
    task.weight = &weights[0]
    if not node.measure(&task, task.rows, task.n, <int32_t>column, &rng):
        return None
    if column >= node.columns.n:
        return None
    node.load(&rng, batch_size)
    plan.column = column
    plan.threshold = threshold
    plan.nu = nu
    plan.length = policy.start_length * nu ** 0.5
    plan.shorten = True
    plan.rate = rate
    plan.n_epochs = n_epochs
    plan.min_steps = min_steps
    plan.batch_size = batch_size
    descent.start(&stump, node, &plan)
    before = _judge(&stump, node, &policy)
    descent.run(&stump, node, &plan, <const volatile int*>&stop)
    node.take_batch(0, min(node.n, policy.judged_rows), &batch)
    n_slots = stump.first[stump.n_outputs]
    return {
        "accepted": np.array(trace[:descent.n_trace]),
        "before": before,
        "after": _judge(&stump, node, &policy),
        "rows": np.array([[batch.x[p * node.columns.stride + k] for k in range(node.columns.n)]
                          for p in range(batch.n)]),
        "targets": np.array([batch.slot[p] if node.is_class else batch.y[p]
                             for p in range(batch.n)]),
        "weight": np.array([batch.weight[p] for p in range(batch.n)]),
        "plane": (np.array([stump.w[k] for k in range(node.columns.n)]), stump.bias),
        "leaves": np.array([stump.theta[k] for k in range(2 * n_slots)]).reshape(2, -1),
    }


def find_nu(Dataset dataset, bound):
    """The radius that "auto" gives to a node of all rows and columns."""
    cdef w_t[::1] weights = np.ones(dataset.n_samples)
    cdef row_t[::1] rows = np.arange(dataset.n_samples, dtype=np.int32)
    cdef CO2Policy policy = _find_policy(dataset)
    cdef StumpNode node = StumpNode()
    cdef Targets targets = bound.targets
    cdef Workspace workspace = Workspace()
    cdef NodeTask task
    cdef RandState rng
    cdef volatile int stop = 0
    cdef FitView fit = lend_fit(&dataset.view, &targets.view, NULL, &stop, 1)
    seed_state(&rng, 0, 0)
    node.bind(&dataset.view, &targets.view, measure_column_scales(&fit), workspace,
              dataset.n_samples, &policy, NULL)
    task.rows = &rows[0]
    task.n = rows.shape[0]
    task.weight = &weights[0]
    if not node.measure(&task, task.rows, task.n, 0, &rng):
        return None
    return find_radius(&policy, &node.kind)


cdef CO2Policy _find_policy(Dataset dataset) noexcept:
    """Look at all rows and columns."""
    cdef CO2Policy policy
    init_policy(&policy)
    policy.max_rows = dataset.n_samples
    policy.max_columns = dataset.n_features
    return policy


cdef double _judge(Stump* stump, StumpNode node, const CO2Policy* policy) noexcept:
    """The mean bound of the node's rows, as far as they are judged."""
    cdef StumpLoss sums
    cdef Batch batch
    sums.weight = sums.surrogate = sums.loss = 0.0
    node.take_batch(0, min(node.n, policy.judged_rows), &batch)
    stumps.judge_batch(stump, &batch, &sums)
    return sums.surrogate / sums.weight
