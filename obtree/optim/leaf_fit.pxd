# Fitting the leaves of a moving tree to their rows.

from obtree.core.random cimport RandState
from obtree.core.types cimport idx_t, node_t, row_t
from obtree.optim.leaves cimport Leaves, LeafScratch


cdef int fit_leaf(Leaves leaves, node_t leaf, row_t* rows, idx_t n, double* lost,
                  RandState* rng, LeafScratch scratch) except -1 nogil
