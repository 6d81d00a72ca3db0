# Comparing two features: x[i] - x[j] <= threshold.
#
# The test of decision forests for images (Lepetit et al., 2005; Shotton et al., 2011), where
# the two features are pixels near a point, and a baseline of the CO2 forest (Norouzi et al.,
# 2015). It needs features in one unit: a difference of metres and years is mostly one of them.

from libc.stdint cimport uint64_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.params import FLAG, check_params
from obtree.core.random cimport bounded
from obtree.core.types cimport feature_t, idx_t
from obtree.criterion.base cimport Criterion
from obtree.data.dataset cimport DataView
from obtree.data.targets cimport TargetView
from obtree.splitter.base cimport NodeTask, SplitSettings
from obtree.splitter.varying cimport draw_features

PROBE_RULES = {"signs": ("difference", "any"), "two_sided": (FLAG,)}

cdef enum:
    MAX_REPEATS = 64          # draws of known pairs before all are taken to be known


cdef class TwoProbeSplitter(DirectionSplitter):
    """Best threshold on the difference of two features.

    Of ``max_features`` pairs of features drawn at random, without repetition, the one whose
    best threshold improves the criterion most. Features that are constant in the node are not
    drawn. A row that lacks one of the two features goes to the side that is better for the
    criterion.

    Parameters
    ----------
    signs : {"difference", "any"}, default="difference"
        Whether pairs are differences, or differences and sums alike.
    two_sided : bool, default=False
        Whether a node may ask for an interval, ``lower < x[i] - x[j] <= threshold``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from obtree import ObliqueForestClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> forest = ObliqueForestClassifier(20, splitter="two_probe", random_state=0)
    >>> forest.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9
    True
    """

    parameter_names = ("signs", "two_sided")

    cdef readonly object signs
    cdef bint _any_sign
    # Hash table of the node's pairs, 0 for empty; its size is a power of two. The slots in
    # use are listed, so that a node costs what it draws.
    cdef uint64_t* _table
    cdef uint64_t _n_slots
    cdef uint64_t* _used
    cdef uint64_t _n_used

    def __init__(self, signs="difference", *, two_sided=False):
        check_params(PROBE_RULES, signs=signs, two_sided=two_sided)
        self.signs = signs
        self._any_sign = signs == "any"
        self.two_sided = two_sided

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        DirectionSplitter.bind(self, view, targets, criterion, settings, workspace)
        # Twice what direction.pyx can ask for, useless directions included.
        self._n_slots = 64
        while self._n_slots < <uint64_t>(2 * (MAX_CONSTANT + 1) * settings.max_features):
            self._n_slots *= 2
        self._table = <uint64_t*>workspace.take(self._n_slots, sizeof(uint64_t))
        self._used = <uint64_t*>workspace.take(self._n_slots, sizeof(uint64_t))
        memset(self._table, 0, self._n_slots * sizeof(uint64_t))
        self._n_used = 0
        return 0

    cdef int begin_node(self, const NodeTask* task) except -1 nogil:
        cdef uint64_t k
        for k in range(self._n_used):
            self._table[self._used[k]] = 0
        self._n_used = 0
        return 0

    cdef bint draw_direction(self, const NodeTask* task) except -1 nogil:
        cdef feature_t pair[2]
        cdef idx_t n_found, low, high, _
        cdef bint add
        for _ in range(MAX_REPEATS):
            n_found = draw_features(&self.features, self.rng, 2, pair)
            if n_found == 0:
                return False
            if n_found == 1:
                pair[1] = pair[0]
            add = self._any_sign and n_found == 2 and bounded(self.rng, 2) == 1
            low = min(pair[0], pair[1])
            high = max(pair[0], pair[1])
            if self._remember((<uint64_t>low * self.view.n_features + high) * 2 + add + 1):
                break
        else:
            return False
        # A pair and its mirror image ask the same: the smaller feature comes first.
        self.candidate.n_terms = n_found
        self.candidate.feature[0] = <feature_t>low
        self.candidate.weight[0] = 1.0
        self.candidate.feature[1] = <feature_t>high
        self.candidate.weight[1] = 1.0 if add else -1.0
        return True

    cdef bint _remember(self, uint64_t pair) noexcept nogil:
        """Note a pair; False when the node knows it already."""
        cdef uint64_t mask = self._n_slots - 1
        cdef uint64_t slot = (pair * <uint64_t>0x9E3779B97F4A7C15) >> 20 & mask
        while self._table[slot] != 0:
            if self._table[slot] == pair:
                return False
            slot = (slot + 1) & mask
        self._table[slot] = pair
        self._used[self._n_used] = slot
        self._n_used += 1
        return True
