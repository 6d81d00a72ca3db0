# What one row weighs, in the numbers that the user gave.

from obtree.core.types cimport idx_t, w_t


# IN weight (n), none negative; 1 when it is NULL.
cdef double find_unit(const w_t* weight, idx_t n) noexcept nogil
