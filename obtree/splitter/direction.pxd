# DirectionSplitter: the best of several random directions.
#
# A subclass draws directions; the rest is here: projecting the node's rows, finding the
# best threshold or interval, remembering the best direction.

from obtree.core.types cimport feature_t, idx_t
from obtree.data.hyperplane cimport Hyperplane
from obtree.splitter.base cimport NodeTask, SplitResult, Splitter
from obtree.splitter.sweep cimport ScoreCut, ScoreSweep
from obtree.splitter.varying cimport VaryingFeatures


cdef enum:
    MAX_CONSTANT = 10         # useless directions, for each that counts, before giving up


cdef class DirectionSplitter(Splitter):
    cdef readonly bint two_sided
    cdef VaryingFeatures features
    cdef ScoreSweep sweeper
    cdef Hyperplane candidate         # in buffers of its own
    cdef feature_t* partner           # room for candidate.partner
    cdef double* score                # (n_samples) of the candidate

    # Begin a node; `features` is open.
    cdef int begin_node(self, const NodeTask* task) except -1 nogil

    # Fill `candidate` (it is linear before). False when there are no more directions.
    cdef bint draw_direction(self, const NodeTask* task) except -1 nogil

    cdef bint draw_axis(self) noexcept nogil
    cdef int rate_candidate(self, const NodeTask* task, ScoreCut* best,
                            SplitResult* out) except -1 nogil
