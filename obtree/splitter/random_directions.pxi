# Drawing random directions.
#
# A direction has 1 + B terms, B binomial, so that the number of terms has the mean that was
# asked for and every set of features of the same size is equally likely. Its features are the
# first of a partial shuffle of all features that are not known to be constant; the
# permutation is kept between draws, so that a draw costs as much as it has terms.
#
# Weights are divided by the scale of their feature. The weight of the smallest feature is
# positive: a direction and its opposite ask the same questions. A single term has weight 1.

from libc.math cimport exp, ldexp, log1p
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, bounded, next_word, normal, uniform
from obtree.core.types cimport feature_t, idx_t, row_t
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.read cimport column_varies
from obtree.splitter.candidates cimport (
    begin_draws, bind_candidates, draw_candidate, meets_constants, narrow_candidates,
    reset_candidates,
)
from obtree.splitter.relevance cimport keep_relevant


cdef uint64_t GOLDEN = 0x9E3779B97F4A7C15     # odd, with bits of all kinds

cdef enum:
    LARGEST_EXPONENT = 3      # of power-of-two weights, as in YDF
    SHORT = 32                # terms that are put in the order of their features


cdef class RandomDirections:

    cdef int bind(self, const DataView* view, const double* scale, const float* relevance,
                  double mean_terms, bint dense, WeightKind kind, idx_t max_draws,
                  Workspace workspace) except -1:
        cdef idx_t p = view.n_features
        cdef uint64_t n_slots = 16
        self.view = view
        self.kind = kind
        self.dense = dense
        bind_candidates(&self.pool, view, relevance, workspace)
        self.scale = scale
        self.size_up_to = <double*>workspace.take(p, sizeof(double))
        self.n_sizes = fill_sizes(p, min(mean_terms, <double>p), self.size_up_to)
        while n_slots < 4 * <uint64_t>max_draws:
            n_slots *= 2
        self.slot_mask = n_slots - 1
        self.seen = <uint64_t*>workspace.take(n_slots, sizeof(uint64_t))
        self.seen_in = <uint32_t*>workspace.take(n_slots, sizeof(uint32_t))
        memset(self.seen_in, 0, n_slots * sizeof(uint32_t))
        self.node = 0
        self.words = <uint64_t*>workspace.take(view.n_samples, sizeof(uint64_t))
        return 0

    cdef void begin_tree(self) noexcept nogil:
        reset_candidates(&self.pool)

    cdef void begin_node(self, int64_t inherited) noexcept nogil:
        begin_draws(&self.pool, inherited)
        self.forget()

    cdef void forget(self) noexcept nogil:
        """Begin a list of directions met, without clearing the old one."""
        self.n_seen = 0
        self.node += 1
        if self.node == 0:
            memset(self.seen_in, 0, (self.slot_mask + 1) * sizeof(uint32_t))
            self.node = 1

    cdef idx_t draw_size(self, RandState* rng) noexcept nogil:
        cdef double u
        cdef idx_t k, size = 1
        if self.n_sizes == 1:
            return 1
        u = uniform(rng)
        # All are looked at: where to stop would be mispredicted.
        for k in range(self.n_sizes - 1):
            size += u >= self.size_up_to[k]
        return size

    cdef bint draw(self, RandState* rng, Hyperplane* plane) noexcept nogil:
        cdef idx_t n_varying = self.pool.n_features - self.pool.n_constant
        cdef idx_t k, j, first = 0
        cdef uint64_t signs = 0
        if n_varying == 0:
            return False
        if self.dense:
            plane.n_terms = self.view.n_features
            for k in range(plane.n_terms):
                plane.feature[k] = <feature_t>k
            plane.n_terms = keep_relevant(plane.feature, plane.n_terms,
                                          <feature_t>bounded(rng, plane.n_terms)
                                          if self.pool.relevance != NULL else 0,
                                          self.pool.relevance, rng)
        else:
            plane.n_terms = min(self.draw_size(rng), n_varying)
            self.pool.n_drawn = self.pool.n_constant
            for k in range(plane.n_terms):
                plane.feature[k] = <feature_t>draw_candidate(&self.pool, rng)
            if plane.n_terms <= SHORT:
                sort_features(plane.feature, plane.n_terms)
        if plane.n_terms == 1:
            plane.weight[0] = 1.0
            return self.remember(plane)
        if self.kind == SIGN_WEIGHTS and plane.n_terms <= SHORT:
            # In the order of the features, the first one positive.
            signs = next_word(rng) & ~<uint64_t>1
            for k in range(plane.n_terms):
                plane.weight[k] = ((1.0 - 2.0 * <double><int32_t>(signs & 1))
                                   / self.scale[plane.feature[k]])
                signs >>= 1
            return self.remember(plane)
        for k in range(plane.n_terms):
            j = plane.feature[k]
            plane.weight[k] = draw_weight(self.kind, rng) / self.scale[j]
            if j < plane.feature[first]:
                first = k
        make_canonical(plane, self.kind, self.scale, first)
        return self.remember(plane)

    cdef bint remember(self, const Hyperplane* plane) noexcept nogil:
        """Whether the direction is new in this node; the order of terms does not matter."""
        cdef uint64_t hashed = 0, slot, word
        cdef idx_t k
        if 2 * self.n_seen > self.slot_mask:
            # Only very many constant directions get here: they are not drawn again anyway.
            self.forget()
        for k in range(plane.n_terms):
            memcpy(&word, &plane.weight[k], sizeof(word))
            hashed += mix_bits(word + (<uint64_t>plane.feature[k] + 1) * GOLDEN)
        slot = hashed & self.slot_mask
        while self.seen_in[slot] == self.node:
            if self.seen[slot] == hashed:
                return False
            slot = (slot + 1) & self.slot_mask
        self.seen[slot] = hashed
        self.seen_in[slot] = self.node
        self.n_seen += 1
        return True

    cdef idx_t mark_constants(self, const Hyperplane* plane, const row_t* rows,
                              idx_t n) noexcept nogil:
        cdef idx_t k, n_found = 0
        cdef feature_t j
        if self.dense:
            return 0
        # The terms stand at the front of the shuffle, behind the constants:
        #   [ constants | found here | this direction's features | others ]
        for k in range(self.pool.n_constant, self.pool.n_constant + plane.n_terms):
            j = self.pool.feature[k]
            if not column_varies(self.view, j, rows, n, self.words):
                self.pool.feature[k] = self.pool.feature[self.pool.n_constant + n_found]
                self.pool.feature[self.pool.n_constant + n_found] = j
                n_found += 1
        self.pool.n_constant += n_found
        if meets_constants(&self.pool):
            # Nothing counts as drawn between two directions.
            self.pool.n_drawn = self.pool.n_constant
            narrow_candidates(&self.pool, rows, n)
        return n_found


cdef idx_t fill_sizes(idx_t p, double mean, double* up_to) noexcept nogil:
    """Chances of at most 1, 2, ... terms; how many sizes are worth telling apart."""
    cdef double probability, chance, total
    cdef idx_t k
    if p == 1 or mean <= 1.0:
        return 1
    if mean >= <double>p:
        for k in range(p):
            up_to[k] = 0.0
        return p
    probability = (mean - 1.0) / (p - 1)
    chance = exp((p - 1) * log1p(-probability))
    total = 0.0
    for k in range(p):
        total += chance
        up_to[k] = total
        if total > 1.0 - 1e-12 and k + 1.0 > mean:
            return k + 1
        chance *= (p - 1.0 - k) / (k + 1.0) * probability / (1.0 - probability)
    return p


cdef inline double draw_weight(WeightKind kind, RandState* rng) noexcept nogil:
    """A weight that is not zero."""
    cdef double weight
    if kind == SIGN_WEIGHTS:
        return 1.0 if next_word(rng) >> 63 else -1.0
    if kind == UNIFORM_WEIGHTS:
        weight = uniform(rng) - 0.5
        return 2.0 * weight if weight != 0.0 else 1.0
    if kind == GAUSSIAN_WEIGHTS:
        weight = normal(rng)
        return weight if weight != 0.0 else 1.0
    weight = ldexp(1.0, <int>bounded(rng, 2 * LARGEST_EXPONENT + 1) - LARGEST_EXPONENT)
    return weight if next_word(rng) >> 63 else -weight


cdef inline void make_canonical(Hyperplane* plane, WeightKind kind, const double* scale,
                                idx_t first) noexcept nogil:
    """Give all multiples of a direction the same weights, where that rounds nothing."""
    cdef double factor = 1.0 if plane.weight[first] > 0.0 else -1.0
    cdef idx_t k
    if kind == POWER_OF_TWO_WEIGHTS:
        factor = 1.0 / (plane.weight[first] * scale[plane.feature[first]])
    for k in range(plane.n_terms):
        plane.weight[k] *= factor


cdef inline void sort_features(feature_t* feature, idx_t n) noexcept nogil:
    cdef idx_t i, k
    cdef feature_t j
    if n == 2:                # without a branch, which would be mispredicted
        j = max(feature[0], feature[1])
        feature[0] = min(feature[0], feature[1])
        feature[1] = j
        return
    for i in range(1, n):
        j = feature[i]
        k = i
        while k > 0 and feature[k - 1] > j:
            feature[k] = feature[k - 1]
            k -= 1
        feature[k] = j


cdef inline uint64_t mix_bits(uint64_t x) noexcept nogil:
    """The finaliser of splitmix64."""
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)
