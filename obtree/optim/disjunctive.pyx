"""Disjunctive normal trees: all soft decisions of a tree move together.

Seyedhosseini and Tasdizen (2015), "Disjunctive normal random forests". A grown tree becomes
one differentiable function per class (equations 5 and 12), and gradient descent on the
squared error (equations 7 and 8) moves its planes, which become oblique on the way. The
paper descends by plain gradients; here steps are those of Adam on small batches, at a
rate that falls to a tenth, and the moments of a unit rest while no row of a batch moves it.
"""

import numpy as np

from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcpy, memset

from obtree.core.memory cimport Workspace
from obtree.core.params import FLAG, Integer, Number, check_params
from obtree.core.random cimport RandState, seed_state, shuffle
from obtree.core.types cimport idx_t, row_t
from obtree.linear.adam cimport advance_adam, step_adam
from obtree.linear.columns cimport pad_width
from obtree.linear.gradients cimport (
    PlaneGradients,
    add_gradient,
    begin_gradients,
    read_gradient,
    take_gradients,
)
from obtree.optim.backward_pass cimport measure_loss, pass_backward
from obtree.optim.base cimport Optimiser, Problem
from obtree.tree.normal_form import NormalForm
from obtree.tree.normal_predict cimport FormView, Tape, pass_forward, standardise_row, take_tape

include "normal_start.pxi"

cdef enum:
    DESCENT_STREAM = 3
    STOP_ROWS = 256               # rows of the validation set between looks at the stop flag


RULES = {
    "n_epochs": (Integer(1, 10**6),),
    "learning_rate": (Number(0, 100, open_low=True),),
    "batch_size": (Integer(1, 2**20),),
    "steepness": (Number(0, 1e6, open_low=True),),
    "max_steepness": (Number(0, 1e6, open_low=True),),
    "shared_weights": (FLAG,),
    "n_iter_no_change": (Integer(1),),
    "tol": (Number(0, 1e6),),
}


cdef class DisjunctiveOptimiser(Optimiser):
    """Turns a grown tree into a disjunctive normal tree.

    Parameters
    ----------
    n_epochs : int, default=20
        Passes over the rows.
    learning_rate : float, default=0.02
        Step of Adam at the start; it falls to a tenth of this.
    batch_size : int, default=16
        Rows of a step.
    steepness : float, default=2.0
        Steepness of a unit at the start, in standard deviations of its node's rows.
    max_steepness : float, default=3.0
        Most that may be, in standard deviations of all rows.
    shared_weights : bool, default=False
        Whether all classes use the same units.
    n_iter_no_change : int, default=5
        Epochs without progress on the validation rows, if any, before the descent ends.
    tol : float, default=1e-4
        Least progress that counts, in the mean squared error.
    """

    parameter_names = ("n_epochs", "learning_rate", "batch_size", "steepness", "max_steepness",
                       "shared_weights", "n_iter_no_change", "tol")

    cdef readonly idx_t n_epochs
    cdef readonly double learning_rate
    cdef readonly idx_t batch_size
    cdef readonly double steepness
    cdef readonly double max_steepness
    cdef readonly bint shared_weights
    cdef readonly idx_t n_iter_no_change
    cdef readonly double tol
    cdef object _mean
    cdef object _scale

    def __init__(self, *, n_epochs=20, learning_rate=0.02, batch_size=16, steepness=2.0,
                 max_steepness=3.0, shared_weights=False, n_iter_no_change=5, tol=1e-4):
        check_params(RULES, n_epochs=n_epochs, learning_rate=learning_rate,
                     batch_size=batch_size, steepness=steepness, max_steepness=max_steepness,
                     shared_weights=shared_weights, n_iter_no_change=n_iter_no_change, tol=tol)
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.steepness = steepness
        self.max_steepness = max_steepness
        self.shared_weights = shared_weights
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol

    cdef object prepare(self, Problem problem):
        if problem.n_classes < 1:
            raise ValueError("a disjunctive normal form is for classes; y holds numbers")
        return measure_columns(problem)

    cdef int bind(self, Problem problem, const volatile int* stop) except -1:
        Optimiser.bind(self, problem, stop)
        self._mean, self._scale = self.prepared
        return 0

    cdef object optimise(self, object tree, uint32_t seed, int n_threads):
        """Descend from a tree to a `NormalForm`; the objective is the error of each epoch."""
        cdef Problem problem = self.problem
        arrays = convert_tree(
            problem, tree, steepness=self.steepness, max_steepness=self.max_steepness,
            shared_weights=self.shared_weights, mean=self._mean, scale=self._scale,
        )
        form = NormalForm.from_arrays(
            n_features=problem.n_features, n_classes=problem.n_classes, **arrays
        )
        cdef FormDescent descent = FormDescent(self, problem, form)
        descent.run(seed)
        arrays["weight"] = descent.read_weights()
        form = NormalForm.from_arrays(
            n_features=problem.n_features, n_classes=problem.n_classes, **arrays
        )
        return form, {"objective": descent.read_losses()}


cdef class FormDescent:
    """Scratch and state of one tree's descent."""

    cdef DisjunctiveOptimiser _rule
    cdef Problem _problem
    cdef Workspace _workspace
    cdef FormView view
    cdef Tape tape
    cdef object _form
    cdef idx_t _batch_size
    cdef idx_t _n_steps               # in all epochs together
    cdef idx_t _step
    cdef double _mean_weight
    cdef double _first_power          # 0.9 and 0.99 to the power of the step
    cdef double _second_power
    cdef float* _weight               # (n_units, stride), and the moments of Adam
    cdef float* _first
    cdef float* _second
    cdef float* _best                 # weights of the best epoch on the validation rows
    cdef float* _x                    # (batch_size, stride) standardised rows
    cdef float* _gradient             # (stride)
    cdef row_t* _order                # (n_train)
    cdef int32_t* _unit               # (n_units + 1) units that a row moves, and their slopes
    cdef float* _slope
    cdef PlaneGradients _gradients
    cdef double* _losses              # (n_epochs)
    cdef idx_t _n_losses

    def __init__(self, DisjunctiveOptimiser rule, Problem problem, form):
        cdef Workspace workspace = Workspace()
        cdef const int32_t[::1] root = form.root
        cdef const int32_t[::1] left = form.child_left
        cdef const int32_t[::1] right = form.child_right
        cdef const float[:, ::1] weight = form.weight
        cdef const double[::1] mean = form.mean
        cdef const double[::1] scale = form.scale
        cdef idx_t n_units = left.shape[0], n = problem.n_train, n_cells, k
        self._rule = rule
        self._problem = problem
        self._workspace = workspace
        self._form = form
        self.view.n_units = n_units
        self.view.n_roots = root.shape[0]
        self.view.n_classes = problem.n_classes
        self.view.n_features = problem.n_features
        self.view.stride = pad_width(problem.n_features + 1)
        self.view.complement = form.complement
        self.view.root = &root[0]
        self.view.left = &left[0] if n_units else NULL
        self.view.right = &right[0] if n_units else NULL
        self.view.mean = &mean[0]
        self.view.scale = &scale[0]
        n_cells = n_units * self.view.stride
        self._weight = <float*>workspace.take(n_cells, sizeof(float))
        memset(self._weight, 0, n_cells * sizeof(float))
        for k in range(n_units):
            memcpy(self._weight + k * self.view.stride, &weight[k, 0],
                   (problem.n_features + 1) * sizeof(float))
        self.view.weight = self._weight
        self._best = NULL
        if problem.n_train < problem.n_rows:
            self._best = <float*>workspace.take(n_cells, sizeof(float))
            memcpy(self._best, self._weight, n_cells * sizeof(float))
        self._first = <float*>workspace.take(n_cells, sizeof(float))
        self._second = <float*>workspace.take(n_cells, sizeof(float))
        memset(self._first, 0, n_cells * sizeof(float))
        memset(self._second, 0, n_cells * sizeof(float))
        take_tape(&self.tape, n_units, self.view.n_roots, problem.n_classes, workspace)
        self._batch_size = min(rule.batch_size, n)
        self._n_steps = rule.n_epochs * ((n + self._batch_size - 1) // self._batch_size)
        self._x = <float*>workspace.take(self._batch_size * self.view.stride, sizeof(float))
        self._gradient = <float*>workspace.take(self.view.stride, sizeof(float))
        self._order = <row_t*>workspace.take(n, sizeof(row_t))
        self._unit = <int32_t*>workspace.take(n_units + 1, sizeof(int32_t))
        self._slope = <float*>workspace.take(n_units + 1, sizeof(float))
        take_gradients(&self._gradients, n_units, self._batch_size * n_units, self._batch_size,
                       workspace)
        self._losses = <double*>workspace.take(rule.n_epochs, sizeof(double))

    def run(self, uint32_t seed):
        """Descend, or stop early."""
        with nogil:
            self._descend(seed)

    def read_weights(self):
        """The weights found, without padding."""
        cdef float[:, ::1] out = np.empty(
            (self.view.n_units, self.view.n_features + 1), dtype=np.float32
        )
        cdef const float* found = self._weight if self._best == NULL else self._best
        cdef idx_t k
        for k in range(self.view.n_units):
            memcpy(&out[k, 0], found + k * self.view.stride,
                   (self.view.n_features + 1) * sizeof(float))
        return np.asarray(out)

    def read_losses(self):
        """Mean squared error of each epoch, taken row by row as the epoch went on."""
        return np.array([self._losses[k] for k in range(self._n_losses)])

    cdef void _descend(self, uint32_t seed) noexcept nogil:
        cdef RandState rng
        cdef idx_t n = self._problem.n_train
        cdef idx_t epoch, start, i, n_stale = 0
        cdef double loss, total = 0.0, best = 0.0
        seed_state(&rng, seed, DESCENT_STREAM)
        for i in range(n):
            self._order[i] = <row_t>i
            total += self._problem.weight[i]
        self._mean_weight = total / n
        self._first_power = 1.0
        self._second_power = 1.0
        if self._best != NULL:
            best = self._validate()
        for epoch in range(self._rule.n_epochs):
            shuffle(self._order, n, &rng)
            loss = 0.0
            start = 0
            while start < n:
                if self._rule.stop != NULL and self._rule.stop[0]:
                    return
                loss += self._take_step(start, min(start + self._batch_size, n))
                start += self._batch_size
            self._losses[epoch] = loss / total
            self._n_losses = epoch + 1
            if self._best == NULL:
                continue
            loss = self._validate()
            n_stale = 0 if loss < best - self._rule.tol else n_stale + 1
            if loss < best:
                best = loss
                memcpy(self._best, self._weight,
                       self.view.n_units * self.view.stride * sizeof(float))
            if n_stale >= self._rule.n_iter_no_change:
                return

    cdef double _take_step(self, idx_t start, idx_t end) noexcept nogil:
        """Move the units by the gradient of rows start:end of the order; returns their error."""
        cdef const FormView* view = &self.view
        cdef idx_t i, k, n
        cdef double loss = 0.0, inverse = 1.0 / (end - start)
        cdef float* x
        cdef row_t row
        begin_gradients(&self._gradients)
        for i in range(end - start):
            row = self._order[start + i]
            x = self._x + i * view.stride
            standardise_row(self._problem.x + row * self._problem.n_features, view, x)
            pass_forward(view, x, &self.tape)
            loss += (self._problem.weight[row]
                     * measure_loss(view, &self.tape, self._problem.codes[row]))
            n = pass_backward(view, &self.tape, self._problem.codes[row],
                              self._problem.weight[row] / self._mean_weight,
                              self._unit, self._slope)
            for k in range(n):
                add_gradient(&self._gradients, self._unit[k], i, <float>(self._slope[k] * inverse))
        self._move_units()
        return loss

    cdef void _move_units(self) noexcept nogil:
        """One step of Adam for each unit that a row moves."""
        cdef idx_t stride = self.view.stride
        cdef idx_t k
        cdef int32_t unit
        cdef double v_correction, correction
        cdef float rate
        correction = advance_adam(&self._first_power, &self._second_power, &v_correction)
        rate = <float>(self._rule.learning_rate * (1.0 - 0.9 * self._step / self._n_steps)
                       / correction)
        self._step += 1
        for k in range(self._gradients.n_touched):
            unit = self._gradients.touched[k]
            read_gradient(&self._gradients, unit, self._x, stride, self._gradient)
            step_adam(self._weight + unit * stride, self._first + unit * stride,
                      self._second + unit * stride, self._gradient, stride, rate,
                      <float>v_correction)

    cdef double _validate(self) noexcept nogil:
        """Mean squared error on the rows that are not learnt from."""
        cdef double loss = 0.0, total = 0.0
        cdef idx_t i
        for i in range(self._problem.n_train, self._problem.n_rows):
            if i % STOP_ROWS == 0 and self._rule.stop != NULL and self._rule.stop[0]:
                break
            standardise_row(self._problem.x + i * self._problem.n_features, &self.view, self._x)
            pass_forward(&self.view, self._x, &self.tape)
            loss += (self._problem.weight[i]
                     * measure_loss(&self.view, &self.tape, self._problem.codes[i]))
            total += self._problem.weight[i]
        return loss / total if total > 0.0 else 0.0
