# The contract of leaf fitters: they fit one leaf after the other to its rows.
#
#     bind       once per worker thread   GIL held, may raise; take scratch here
#     begin      once per tree            GIL held, may raise
#     fit        once per leaf that rows of the tree reach, in the order of nodes; no GIL
#     collect    once per tree            GIL held; what the leaves keep

from libc.stdint cimport int32_t, int64_t

from obtree.core.parametrised cimport Parametrised
from obtree.core.types cimport idx_t, w_t


cdef class LeafProblem:
    # What leaves are fitted to, shared by all workers and never written to.
    cdef readonly idx_t n_rows
    cdef readonly idx_t n_features
    cdef readonly idx_t n_outputs
    cdef readonly object n_classes    # int64 (n_outputs); None in regression
    # Both are NULL where there are no targets; n_outputs is 1 then.
    cdef const double* target         # (n_rows * n_outputs) numbers; NULL in classification
    cdef const int32_t* codes         # (n_rows * n_outputs) classes, -1: none; NULL in regression
    cdef const w_t* sample_weight     # (n_rows) given by the user; NULL: every row weighs 1
    cdef readonly double weight_unit  # what one row weighs in the trees; here it weighs 1
    cdef readonly object X            # float32 in C order, or CSR
    cdef readonly object rows         # the obtree.tree.rows.Rows of X
    cdef object _kept                 # owners of the pointers


cdef class LeafFitter(Parametrised):
    cdef LeafProblem problem
    # (n_rows) what each row weighs in the tree at hand: 0 for one that is not in its bag.
    cdef const w_t* weight
    cdef const volatile int* stop     # non-zero: return soon

    cdef int bind(self, LeafProblem problem) except -1
    cdef int begin(self, object tree) except -1
    # IN rows (n): the rows of the tree that reach the leaf `node`, ascending.
    cdef int fit(self, idx_t node, const int64_t* rows, idx_t n) except -1 nogil
    cdef object collect(self)
