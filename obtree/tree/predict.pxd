# Predictor: routes rows through packed trees and combines what their leaves hold.

from libc.stdint cimport int32_t, int64_t

from obtree.core.types cimport idx_t
from obtree.tree.pack cimport PackedForest
from obtree.tree.rows cimport Rows

# What a block does with the leaves its rows reach.
cdef enum Reduction:
    ADD_VALUES                    # add the leaf's values
    ADD_VOTES                     # add 1 to the class with the largest value
    NAME_LEAVES                   # write the leaf's node number


cdef struct Task:
    Reduction reduction
    double pure_hit               # what a pure leaf adds to its class
    double pure_miss              # ... and to the others
    double divisor
    const double* vectors         # (n_vectors, n_values): values of the other leaves
    const int32_t* votes          # (n_vectors, n_outputs): their classes, when voting
    idx_t n_outputs
    idx_t n_classes
    double* out                   # (n_rows, n_values), zeroed
    int64_t* leaves               # (n_rows, n_trees)


cdef class Predictor:
    cdef PackedForest _forest
    cdef object _trees
    cdef object _votes
    cdef object _logarithms
    cdef int _run(self, Rows rows, idx_t n_threads, Task* task) except -1
    cdef object _prepare(self, str combine, Task* task)
