# Predictor: routes rows through packed trees and combines what their leaves hold.

from obtree.core.types cimport idx_t
from obtree.tree.pack cimport PackedForest
from obtree.tree.reduce cimport Task
from obtree.tree.rows cimport Rows


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
