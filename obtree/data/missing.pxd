# Where a row goes that lacks a value: the whole rule, for training and for prediction.
#
# A missing value is NaN among numbers, and among the ranks of a column the one behind all
# others. A sum of terms is missing when one of its terms is. Splits learn a side for such rows
# when a training row of the node is one of them. Where none is there is nothing to learn, and
# rows that come later follow the heavier child, the right one of two that are as heavy.
#
# What is stored with a node is the side alone (`missing_go_left`), so that prediction needs no
# more than `goes_to_left`.

from libc.stdint cimport uint32_t

from obtree.core.types cimport w_t


cdef inline bint goes_to_left(double projection, double threshold,
                              bint missing_left) noexcept nogil:
    """Whether a row with this projection, NaN when missing, is on the left of a threshold."""
    # Bitwise, so that the compiler makes no branches: they would be mispredicted.
    return (projection <= threshold) | (missing_left & (projection != projection))


cdef inline bint rank_goes_to_left(uint32_t rank, uint32_t cut, uint32_t missing,
                                   bint missing_left) noexcept nogil:
    """The same by ranks, of which those up to `cut` are on the left; `missing` is NaN's."""
    return (rank <= cut) | (missing_left & (rank == missing))


cdef inline bint heavier_is_left(w_t left, w_t right) noexcept nogil:
    """The side of missing values that no training row has told, by what both sides weigh."""
    return left > right
