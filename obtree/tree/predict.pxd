# Predictor: routes rows through packed trees and combines what their leaves hold.

from libc.stdint cimport int32_t, int64_t

from obtree.core.dispatch cimport PlaneTerms
from obtree.core.types cimport idx_t
from obtree.tree.pack cimport PackedView
from obtree.tree.reduce cimport Task
from obtree.tree.rows cimport Rows


cdef class PackedForest:
    cdef PackedView view
    cdef readonly idx_t n_outputs
    cdef readonly idx_t max_n_classes
    cdef readonly object vectors  # (n_vectors, n_values) float64: values of leaves not pure
    cdef object _nodes
    cdef int64_t[::1] _start
    cdef int32_t[::1] _n_unchecked
    cdef int32_t[::1] _node_id
    cdef int64_t[::1] _vector_start
    cdef object _terms            # arrays that the pointers of the view refer to
    cdef object _term_ranges      # for each tree: (first, n_more) by node
    cdef double[::1] _lower
    cdef object _models           # owners of the models
    cdef object _join_sets(self, trees, PlaneTerms* terms)
    cdef int _pack_tree(self, tree, idx_t t, int32_t[::1] position, int32_t[::1] depth,
                        int32_t[::1] stack, list vectors) except -1


cdef class Predictor:
    cdef PackedForest _forest
    cdef object _trees
    cdef object _votes
    cdef object _logarithms
    cdef object _spread
    cdef double _row_work             # nanoseconds, roughly, for a row in all trees
    cdef int _run(self, Rows rows, idx_t n_threads, Task* task) except -1
    cdef object _prepare(self, str combine, Task* task)
    cdef int _find_spread(self, Task* task) except -1
