# What a coalition counts for in Shapley's mean over all orders of the players.

from obtree.core.types cimport idx_t

cdef enum:
    TABLE = 64                    # weights of coalitions smaller than this are looked up


cdef inline double compute_weight(idx_t n_in, idx_t n_out) noexcept nogil:
    """(n_in - 1)! n_out! / (n_in + n_out)!, for n_in >= 1.

    A term that is there if all of n_in players are, and none of n_out others, gives that much
    to each of the n_in.
    """
    cdef double ways = <double>n_in
    cdef idx_t k
    for k in range(1, n_out + 1):
        ways *= <double>(n_in + k) / <double>k
    return 1.0 / ways


cdef inline double find_weight(const double* table, idx_t n_in, idx_t n_out) noexcept nogil:
    """The same; IN table (TABLE * TABLE)."""
    if n_in < TABLE and n_out < TABLE:
        return table[n_in * TABLE + n_out]
    return compute_weight(n_in, n_out)
