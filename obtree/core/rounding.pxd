# Forgetting the last digits of a result.
#
# A sum over rows rounds differently when a row of weight two takes the place of two equal
# rows, or when all values are shifted. Coefficients computed from such sums are rounded to
# the precision of the features, so that the tree is the same, bit for bit, in nearly all
# such cases.

from libc.stdint cimport uint64_t
from libc.string cimport memcpy


cdef inline double round_to_single(double x) noexcept nogil:
    """x with 24 significant bits, whatever its exponent."""
    cdef uint64_t bits
    memcpy(&bits, &x, sizeof(bits))
    bits = (bits + (<uint64_t>1 << 28)) & ~((<uint64_t>1 << 29) - 1)
    memcpy(&x, &bits, sizeof(bits))
    return x
