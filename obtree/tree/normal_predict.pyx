"""Prediction with disjunctive normal forms.

Seyedhosseini and Tasdizen (2015), equations 4 and 5. The units at the same distance from the
roots of all classes are taken together. A branch that less than PROB_FLOOR of the row reaches
is not followed, so that time goes with the leaves that matter and not with the size of the
tree. Products stay in the range of float32 without logarithms: what reaches the leaves of a
tree adds up to at most 1, and g is kept at most 1 - 1e-6.

Rows are read in blocks and go through every form in turn; a row adds up what the forms say in
their order, so the number of threads changes nothing.
"""

import numpy as np

from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from obtree.core.dispatch cimport OBTREE_FLOAT_ROWS, kernels
from obtree.core.memory cimport Workspace
from obtree.core.team cimport choose_threads, run_items, should_stop
from obtree.core.types cimport X_t, idx_t
from obtree.tree.rows cimport RowView, Rows, clear_block, load_block, open_rows, prepare_block

from obtree.core.params import check_param
from obtree.data.offset import have_same_offset

cdef enum:
    LANES = 8
    BLOCK_BYTES = 1 << 16

COMBINE = ("average", "vote")

# Nanoseconds, roughly, that a row takes in a form besides one for each weight.
cdef double UNIT_WORK = 100.0

cdef float PROB_FLOOR = 1e-3
cdef float PROB_CEILING = 0.999999
cdef double CELL_LIMIT = 1e30


cdef int take_tape(Tape* tape, idx_t n_units, idx_t n_roots, idx_t n_classes,
                   Workspace workspace) except -1:
    """Take memory for the walks of rows through forms of up to this size."""
    # `arrive` writes one place beyond what counts.
    cdef idx_t n_leaves = 2 * n_units + n_roots + 1
    tape.unit = <int32_t*>workspace.take(n_units + 1, sizeof(int32_t))
    tape.parent = <int32_t*>workspace.take(n_units + 1, sizeof(int32_t))
    tape.path_prob = <float*>workspace.take(n_units + 1, sizeof(float))
    tape.score = <float*>workspace.take(n_units, sizeof(float))
    tape.below = <float*>workspace.take(n_units, sizeof(float))
    tape.above = <float*>workspace.take(n_units, sizeof(float))
    tape.log_slope = <float*>workspace.take(2 * n_units, sizeof(float))
    tape.leaf_class = <int32_t*>workspace.take(n_leaves, sizeof(int32_t))
    tape.leaf_parent = <int32_t*>workspace.take(n_leaves, sizeof(int32_t))
    tape.leaf_prob = <float*>workspace.take(n_leaves, sizeof(float))
    tape.rest = <float*>workspace.take(n_classes, sizeof(float))
    return 0


cdef void standardise_row(const X_t* x, const FormView* form, float* out) noexcept nogil:
    """out[j] = (x[j] - mean[j]) * scale[j], 0 where x is missing; then 1 and zeros."""
    cdef idx_t j
    cdef double z
    for j in range(form.n_features):
        z = (<double>x[j] - form.mean[j]) * form.scale[j]
        z = min(max(z, -CELL_LIMIT), CELL_LIMIT)
        out[j] = <float>z if x[j] == x[j] else <float>0.0
    out[form.n_features] = 1.0
    for j in range(form.n_features + 1, form.stride):
        out[j] = 0.0


cdef inline void arrive(int32_t code, float path_prob, int32_t parent, Tape* tape, idx_t* n_units,
                        idx_t* n_leaves) noexcept nogil:
    """Let a fraction of the row arrive at a unit or a leaf.

    Which of them, or neither, nobody can foresee: everything is written down, and what does
    not count is overwritten by the next.
    """
    cdef idx_t k = n_units[0], m = n_leaves[0]
    cdef bint counts = path_prob >= PROB_FLOOR
    tape.unit[k] = code
    tape.parent[k] = parent
    tape.path_prob[k] = path_prob
    tape.leaf_class[m] = LEAF_CODE - code
    tape.leaf_parent[m] = parent
    tape.leaf_prob[m] = path_prob
    n_units[0] = k + (counts & (code >= 0))
    n_leaves[0] = m + (counts & (code <= LEAF_CODE))


cdef void pass_forward(const FormView* form, const float* x, Tape* tape) noexcept nogil:
    """Send a standardised row down all trees of a form."""
    cdef idx_t start = 0, end, k, n = 0, n_leaves = 0
    cdef int32_t unit
    for k in range(form.n_roots):
        arrive(form.root[k], 1.0, -1, tape, &n, &n_leaves)
    while start < n:
        end = n
        kernels().dot_selected(form.weight, form.stride, tape.unit + start, end - start, x,
                               tape.score + start)
        kernels().apply_logistic(tape.score + start, end - start, tape.below + start,
                                 tape.above + start)
        for k in range(start, end):
            unit = tape.unit[k]
            arrive(form.left[unit], tape.path_prob[k] * tape.below[k], <int32_t>(2 * k), tape, &n,
                   &n_leaves)
            arrive(form.right[unit], tape.path_prob[k] * tape.above[k], <int32_t>(2 * k + 1), tape,
                   &n, &n_leaves)
        start = end
    tape.n = n
    tape.n_leaves = n_leaves
    for k in range(form.n_classes):
        tape.rest[k] = 1.0
    for k in range(n_leaves):
        tape.leaf_prob[k] = min(tape.leaf_prob[k], PROB_CEILING)
        tape.rest[tape.leaf_class[k]] *= <float>1.0 - tape.leaf_prob[k]


cdef double read_class(const FormView* form, const Tape* tape, idx_t k) noexcept nogil:
    """The value h of class k."""
    if form.complement and k == 0:
        return tape.rest[1]
    return 1.0 - <double>tape.rest[k]


cdef class NormalPredictor:
    """Prediction with a list of forms.

    Parameters
    ----------
    forms : sequence of NormalForm
        At least one; all with the same features and classes. If they have a `feature_offset`,
        it has to be the same for all, and X is what remains after it has been subtracted.
    """

    cdef Workspace _workspace
    cdef FormView* _views
    cdef idx_t _n_forms
    cdef idx_t _max_units
    cdef idx_t _max_roots
    cdef object _forms

    def __init__(self, forms):
        cdef const int32_t[::1] root, left, right
        cdef const float[:, ::1] weight
        cdef const double[::1] mean, scale
        cdef FormView* view
        cdef float* rows
        cdef idx_t t, k
        forms = tuple(forms)
        if not forms:
            raise ValueError("a predictor needs at least one form, got none")
        if len({(form.n_features, form.n_classes) for form in forms}) != 1:
            raise ValueError("the forms disagree about the number of features or classes")
        if not all(have_same_offset(form.feature_offset, forms[0].feature_offset)
                   for form in forms):
            raise ValueError("the forms have different feature_offset; expected forms of one fit")
        forms = tuple(form.shifted for form in forms)
        self._forms = forms
        self._workspace = Workspace()
        self._n_forms = len(forms)
        self._views = <FormView*>self._workspace.take(self._n_forms, sizeof(FormView))
        self._max_units = 0
        self._max_roots = 0
        for t, form in enumerate(forms):
            root, left, right = form.root, form.child_left, form.child_right
            weight, mean, scale = form.weight, form.mean, form.scale
            view = &self._views[t]
            view.n_units = left.shape[0]
            view.n_roots = root.shape[0]
            view.n_classes = form.n_classes
            view.n_features = form.n_features
            view.stride = (view.n_features + 1 + LANES - 1) // LANES * LANES
            view.complement = form.complement
            view.root = &root[0]
            view.left = &left[0] if view.n_units else NULL
            view.right = &right[0] if view.n_units else NULL
            view.mean = &mean[0]
            view.scale = &scale[0]
            rows = <float*>self._workspace.take(view.n_units * view.stride, sizeof(float))
            memset(rows, 0, view.n_units * view.stride * sizeof(float))
            for k in range(view.n_units):
                memcpy(rows + k * view.stride, &weight[k, 0],
                       (view.n_features + 1) * sizeof(float))
            view.weight = rows
            self._max_units = max(self._max_units, view.n_units)
            self._max_roots = max(self._max_roots, view.n_roots)

    def classify(self, X, n_threads=1, combine="average"):
        """The class that `predict` rates highest, the first of equals, (n_rows, 1)."""
        return self.predict(X, n_threads, combine).argmax(axis=2)

    def predict(self, X, n_threads=1, combine="average"):
        """Combine what the forms say.

        Parameters
        ----------
        X : ndarray or scipy sparse matrix of shape (n_rows, n_features)
            Read as float32, block by block.
        n_threads : int, default=1
            Threads to share the rows. The result does not depend on it.
        combine : {"average", "vote"}, default="average"
            ``"average"``: mean of the class values. ``"vote"``: fraction of the forms in which
            the class has the largest value (the first of equals).

        Returns
        -------
        ndarray of shape (n_rows, 1, n_classes)
            Each row divided by its sum; equal parts where no form has any value.
        """
        check_param("combine", combine, *COMBINE)
        cdef FormView* view = self._views
        cdef Rows rows = open_rows(X, view.n_features)
        cdef idx_t n_rows = rows.view.n_rows
        cdef double[:, ::1] out = np.zeros((n_rows, view.n_classes))
        if n_rows == 0:
            return np.asarray(out)[:, None]
        cdef Workspace workspace = Workspace()
        cdef FormContext shared
        cdef idx_t k, block_rows, n_blocks, n_workers
        cdef double row_work = 0.0
        for k in range(self._n_forms):
            row_work += UNIT_WORK + <double>self._views[k].n_units * self._views[k].stride
        n_workers = choose_threads(row_work * n_rows, n_threads)
        block_rows = max(min(BLOCK_BYTES // (4 * view.n_features), n_rows), 1)
        block_rows = min(block_rows, (n_rows + n_workers - 1) // n_workers)
        n_blocks = (n_rows + block_rows - 1) // block_rows
        shared.rows = &rows.view
        shared.views = view
        shared.n_forms = self._n_forms
        shared.vote = combine == "vote"
        shared.block_rows = block_rows
        shared.out = &out[0, 0]
        shared.scratch = <Scratch*>workspace.take(n_workers, sizeof(Scratch))
        for k in range(n_workers):
            take_tape(&shared.scratch[k].tape, self._max_units, self._max_roots, view.n_classes,
                      workspace)
            shared.scratch[k].x = <X_t*>workspace.take(block_rows * view.n_features, sizeof(X_t))
            shared.scratch[k].z = <float*>workspace.take(view.stride, sizeof(float))
            prepare_block(shared.rows, OBTREE_FLOAT_ROWS, block_rows * view.n_features,
                          shared.scratch[k].x)
        with nogil:
            run_items(run_block, &shared, n_blocks, n_workers, NULL)
        return np.asarray(out)[:, None]


cdef struct Scratch:
    Tape tape
    X_t* x                        # (block_rows, n_features)
    float* z                      # (stride) one standardised row


cdef struct FormContext:
    const RowView* rows
    const FormView* views
    idx_t n_forms
    bint vote
    idx_t block_rows
    Scratch* scratch              # one a thread
    double* out                   # (n_rows, n_classes), zeroed


cdef void run_block(void* context, idx_t block, idx_t worker, void* team) noexcept nogil:
    """Send one block of rows through every form."""
    cdef const FormContext* shared = <const FormContext*>context
    cdef Scratch* scratch = shared.scratch + worker
    cdef const FormView* view
    cdef idx_t n_features = shared.views.n_features, n_classes = shared.views.n_classes
    cdef idx_t start = block * shared.block_rows
    cdef idx_t end = min(start + shared.block_rows, shared.rows.n_rows)
    cdef idx_t r, t
    cdef double* out = shared.out + start * n_classes
    load_block(shared.rows, start, end, OBTREE_FLOAT_ROWS, scratch.x)
    for t in range(shared.n_forms):
        if should_stop(team, worker):
            return
        view = shared.views + t
        for r in range(end - start):
            standardise_row(scratch.x + r * n_features, view, scratch.z)
            pass_forward(view, scratch.z, &scratch.tape)
            add_values(view, &scratch.tape, shared.vote, out + r * n_classes)
    for r in range(end - start):
        normalise(out + r * n_classes, n_classes)
    clear_block(shared.rows, start, end, OBTREE_FLOAT_ROWS, scratch.x)


cdef void add_values(const FormView* view, const Tape* tape, bint vote,
                     double* out) noexcept nogil:
    """Add the values of one form, or its vote, to those of a row."""
    cdef idx_t k, best = 0
    if not vote:
        for k in range(view.n_classes):
            out[k] += read_class(view, tape, k)
        return
    for k in range(1, view.n_classes):
        if read_class(view, tape, k) > read_class(view, tape, best):
            best = k
    out[best] += 1.0


cdef void normalise(double* values, idx_t n) noexcept nogil:
    """Divide by the sum."""
    cdef double total = 0.0
    cdef idx_t k
    for k in range(n):
        total += values[k]
    for k in range(n):
        values[k] = values[k] / total if total > 0.0 else 1.0 / n
