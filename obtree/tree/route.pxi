# One block of rows on its way through all trees; a part of tree/predict.pyx.

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memset

from obtree.core.dispatch cimport OBTREE_KEY_ROWS, kernels
from obtree.core.team cimport should_stop
from obtree.core.types cimport X_t, idx_t
from obtree.tree.early_exit cimport checks_now, drop_decided
from obtree.tree.pack cimport PackedView
from obtree.tree.reduce cimport (
    LIST_MOMENTS, NAME_LEAVES, Task, finish_rows, list_moments, reduce_models, reduce_tree,
)
from obtree.tree.rows cimport RowView, clear_block, load_block
from obtree.tree.walk cimport get_layout, walk_narrow, walk_planes

cdef enum:
    FEW_ROWS = 3                  # up to here trees are interleaved, not rows
    STACK_TREES = 128             # trees walked per call then
    STOP_TREES = 8                # trees between two looks for an interruption


cdef struct PredictContext:
    const PackedView* view
    const RowView* rows
    const Task* task
    uint32_t* base                # SCRATCH: n_workers * worker_size items
    idx_t x_size
    idx_t lists_size
    idx_t scores_size
    idx_t worker_size
    idx_t block_rows


cdef void run_block(void* context, idx_t block, idx_t worker, void* team) noexcept nogil:
    """Route one block of rows through every tree."""
    cdef const PredictContext* shared = <const PredictContext*>context
    cdef const PackedView* view = shared.view
    cdef const RowView* rows = shared.rows
    cdef Task task = shared.task[0]
    cdef idx_t start = block * shared.block_rows
    cdef idx_t end = min(start + shared.block_rows, rows.n_rows)
    cdef idx_t n = end - start
    cdef idx_t t
    cdef bint missing
    cdef int32_t layout = get_layout(view)
    cdef uint32_t* x = shared.base + worker * shared.worker_size
    cdef uint32_t* found = x + shared.x_size
    cdef uint32_t* number = found + shared.block_rows
    cdef uint32_t* lists = number + shared.block_rows
    # Rows of a sparse matrix are wiped out from where they were written.
    cdef bint exits_early = task.classes != NULL and task.spread < INFINITY and rows.data != NULL
    if task.classes != NULL:
        task.out = <double*>(x + shared.x_size + shared.lists_size + shared.scores_size)
        task.first_row = start
        memset(task.out, 0, n * view.n_values * sizeof(double))
    if view.narrow and n <= FEW_ROWS and rows.data != NULL:
        route_few_rows(shared, &task, start, end, x)
        return
    missing = load_block(rows, start, end, layout, x)
    for t in range(n):
        number[t] = <uint32_t>t
    for t in range(view.n_trees):
        if t % STOP_TREES == STOP_TREES - 1 and should_stop(team, worker):
            return
        if view.narrow:
            walk_narrow(view, t, x, n, missing, found, lists)
        elif view.has_oblique:
            walk_planes(view, t, <const X_t*>x, n, found)
        else:
            kernels().traverse_wide(
                view.wide_nodes + view.start[t], <const X_t*>x, n, view.n_features,
                view.n_unchecked[t], found, lists,
            )
        if task.reduction == LIST_MOMENTS:
            list_moments(view, &task, t, <const X_t*>x, start, n, found,
                         <double*>(x + shared.x_size + shared.lists_size))
        elif view.models != NULL and view.models[t] != NULL and task.reduction != NAME_LEAVES:
            reduce_models(view, &task, t, <const X_t*>x, start, n, found,
                          <double*>(x + shared.x_size + shared.lists_size))
        else:
            reduce_tree(view, &task, t, start, n, found)
        if exits_early and checks_now(view, t + 1):
            n = drop_decided(view, &task, n, t + 1, layout, x, number)
    clear_block(rows, start, end, layout, x)
    finish_rows(view, &task, start, n, number)


cdef void route_few_rows(const PredictContext* shared, const Task* task, idx_t start, idx_t end,
                         uint32_t* x) noexcept nogil:
    """Route rows one by one, several trees in flight."""
    cdef const PackedView* view = shared.view
    cdef uint32_t found[STACK_TREES]
    cdef idx_t row, t, k, n
    for row in range(start, end):
        load_block(shared.rows, row, row + 1, OBTREE_KEY_ROWS, x)
        t = 0
        while t < view.n_trees:
            n = min(view.n_trees - t, <idx_t>STACK_TREES)
            kernels().traverse_trees(
                view.narrow_nodes, view.start + t, n, x, view.shift, view.mask, found
            )
            for k in range(n):
                reduce_tree(view, task, t + k, row, 1, found + k)
            t += n
    finish_rows(view, task, start, end - start, NULL)
