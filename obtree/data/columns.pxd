# All columns of X turned to ranks, by threads: dense X, X of bytes, and sparse X.

from obtree.core.memory cimport Workspace
from obtree.data.dataset cimport DataView

# In each of them: IN/OUT view, of which sizes and columns (all zeros) are there, and X when the
# values of columns may be left there; memory: of what lives as long as the view. Once `stop`
# becomes non-zero (NULL: there is none) they return soon, with ranks of no use. May raise.

# X : ndarray of a type in LIFTED (lift.pyx). Ranks are laid out by row as well, where that pays.
cdef int encode_dense(object X, DataView* view, Workspace memory, int n_threads,
                      const volatile int* stop) except -1

# X : ndarray of uint8, without any floats.
cdef int encode_bytes(object X, DataView* view, Workspace memory, int n_threads,
                      const volatile int* stop) except -1

# X : CSC matrix of float32, entries sorted by row.
cdef int encode_sparse(object X, DataView* view, Workspace memory) except -1
