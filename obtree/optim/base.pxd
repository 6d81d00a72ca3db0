# The contract between a whole-tree optimiser and the rest of obtree.
#
#     prepare     once per fit              GIL held, before any worker, may raise
#     bind        once per worker thread    GIL held, may raise; take scratch here
#     optimise    once per tree             GIL held on entry, released inside
#
# Everything random comes from the seed given to optimise, so that a model depends on its
# seed alone and never on the number of threads.

from libc.stdint cimport int32_t, uint8_t, uint32_t

from obtree.core.parametrised cimport Parametrised
from obtree.core.types cimport X_t, idx_t, w_t, y_t
from obtree.data.dataset cimport DataView, Dataset
from obtree.data.targets cimport Targets


cdef class Problem:
    # What is to be learnt, shared by all workers and never written to. The first n_train
    # rows are learnt from; the others, if any, tell when to stop.
    cdef readonly idx_t n_rows
    cdef readonly idx_t n_train
    cdef readonly idx_t n_features
    cdef readonly idx_t n_outputs
    cdef readonly idx_t n_classes     # 0 in regression
    cdef readonly bint has_missing
    cdef DataView view                # X alone: for project_rows and measure_term_shares
    # X row after row (n_rows * n_features), NaN: missing. One of the two, the other is NULL.
    cdef const X_t* x
    cdef const uint8_t* bytes         # for optimisers that ask for it, when X is of bytes
    # What the view of the targets has: classes of one output, or real numbers.
    cdef const int32_t* codes         # (n_rows); NULL in regression
    cdef const y_t* targets           # (n_rows * n_outputs); NULL in classification
    cdef const w_t* weight            # (n_rows), all positive; a row weighs 1
    cdef readonly double weight_unit  # what it weighed before
    cdef readonly object X, y, sample_weight    # the arrays behind the pointers
    cdef Dataset _rows                # X, as `view` shows it
    cdef Targets _targets


cdef class Optimiser(Parametrised):
    cdef Problem problem
    cdef const volatile int* stop     # non-zero when the user interrupts: return soon
    cdef object prepared              # what `prepare` returned, shared by all workers

    # What all workers are to read and nobody to write; the optimiser itself is not changed.
    cdef object prepare(self, Problem problem)
    cdef int bind(self, Problem problem, const volatile int* stop) except -1
    # Returns the model and a report: what there is to say about it, by name, its "objective"
    # after each iteration among it. None once `stop` is set.
    cdef object optimise(self, object tree, uint32_t seed, int n_threads)
