# The way back of one row through a disjunctive normal form.

from libc.stdint cimport int32_t

from obtree.core.types cimport idx_t
from obtree.tree.normal_predict cimport FormView, Tape


cdef double measure_loss(const FormView* form, const Tape* tape, idx_t label) noexcept nogil
cdef idx_t walk_backwards(const FormView* form, Tape* tape, idx_t label, double weight,
                          int32_t* units, float* slopes) noexcept nogil
