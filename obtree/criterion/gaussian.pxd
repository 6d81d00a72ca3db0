# Gaussian information gain, for criteria that add something to it.

from libc.stdint cimport uint64_t

from obtree.core.types cimport idx_t
from obtree.criterion.base cimport Criterion
from obtree.criterion.gaussian_sums cimport GaussianSums


cdef class GaussianGain(Criterion):
    cdef GaussianSums _sums
    cdef double _margin               # less than this between two cuts is rounding
    cdef double min_cuts              # that are rated in small nodes, where there are so many

    # The score of the cut behind the first n_left of a direction's sorted words, where the sums
    # stand. `scan` asks for cuts from left to right, and for none but those it may take.
    cdef double rate_cut(self, const uint64_t* words, idx_t n_left) noexcept nogil
