# Columns of X, whatever its type and layout, as float32.

from obtree.core.types cimport X_t, idx_t


# out[c * n + i] = X[i, first + c] for c < n_columns, rounded to float32; n rows in all.
cdef int lift_columns(object X, idx_t first, idx_t n_columns, X_t* out,
                      int n_threads) except -1
