# Random directions for splitters of any package.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport feature_t, idx_t, row_t, w_t
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane
from obtree.splitter.candidates cimport Candidates


cdef enum WeightKind:
    SIGN_WEIGHTS
    UNIFORM_WEIGHTS
    GAUSSIAN_WEIGHTS
    POWER_OF_TWO_WEIGHTS


cdef class RandomDirections:
    cdef const DataView* view
    cdef Candidates pool      # known constants stand in front
    cdef WeightKind kind
    cdef bint dense
    cdef const double* scale  # (n_features) of the features
    cdef double* size_up_to   # (n_sizes) chance of at most k + 1 terms
    cdef idx_t n_sizes
    cdef uint64_t* seen       # (n_slots) hashes of the node's directions
    cdef uint32_t* seen_in    # (n_slots) the node in which each was met
    cdef uint64_t slot_mask
    cdef uint64_t n_seen      # directions remembered since `node` began
    cdef uint32_t node        # number of the current node
    cdef uint64_t* words      # (n_samples)

    # Once per worker. `mean_terms` non-zeros on average, up to max_draws directions a node.
    # IN scale (n_features) and relevance (the same, or NULL), kept.
    cdef int bind(self, const DataView* view, const double* scale, const float* relevance,
                  double mean_terms, bint dense, WeightKind kind, idx_t max_draws,
                  Workspace workspace) except -1

    cdef void begin_tree(self) noexcept nogil

    # inherited: what `pack_known` gave in the parent node.
    cdef void begin_node(self, int64_t inherited) noexcept nogil

    # OUT plane: terms of a direction. False when it is one that this node has met, or when
    # all features are known to be constant.
    cdef bint draw(self, RandState* rng, Hyperplane* plane) noexcept nogil

    # The direction drawn last is constant in the node: find the features that are. How many.
    cdef idx_t mark_constants(self, const Hyperplane* plane, const row_t* rows,
                              idx_t n) noexcept nogil

    cdef void forget(self) noexcept nogil
    cdef idx_t draw_size(self, RandState* rng) noexcept nogil
    cdef bint remember(self, const Hyperplane* plane) noexcept nogil
