# Criterion: what a node's targets look like and which cut separates them best.
#
# It owns neither X nor y: `bind` lends both. One without targets measures the rows themselves.
#
#     prepare      once per fit              GIL held, before any worker, may raise
#     bind         once per worker thread    GIL held, may raise; take scratch here
#     begin_tree   once per tree             no GIL
#     load_node    once per node             no GIL; then any number of scans
#
# A criterion is loaded with a node once, then asked about many candidate directions.
# A candidate arrives either as sorted (key, position) words or as small integers
# (bins), and the loop over samples is inside `scan`: one virtual call per direction,
# none per sample.

from libc.math cimport fabs
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, row_t, w_t, y_t
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.read cimport RankColumn, rank_key
from obtree.data.targets cimport TargetView


cdef struct NodeStats:
    double impurity
    w_t weight                # sum of the rows' weights
    double level              # what monotonic constraints compare: mean, or fraction of class 1


cdef struct ScanLimits:
    idx_t min_samples_leaf
    w_t min_weight_leaf
    int monotone              # -1, 0, 1: sign the change from left to right must have
    double lower              # both children's levels must lie in [lower, upper]
    double upper


cdef struct Cut:
    double score              # larger is better; comparable within one node only
    uint32_t low_key          # the two neighbouring keys between which the cut lies
    uint32_t high_key


cdef struct FlipBase:
    # The sides of the node's rows before any of them changes, see scan_flips.
    idx_t n                   # rows of the node
    idx_t n_left
    w_t weight_left
    double* left              # sums of the left side, as the criterion keeps them
    bint packed               # what tokens are: class and weight, or a position


cdef class Criterion:
    cdef const DataView* data         # NULL only where a criterion of targets is probed alone
    cdef const TargetView* targets
    cdef object prepared              # what `prepare` returned, shared by all workers
    # Set by bind; those of the targets unless a subclass says otherwise afterwards.
    cdef readonly idx_t n_outputs
    cdef readonly idx_t value_size    # doubles per node: n_outputs * largest number of classes
    # Set by load_node: a cut with this score leaves nothing to gain, both sides being pure.
    # Infinite when scores do not tell.
    cdef double goal
    # Nodes of at most this impurity are pure, what is left being rounding. For targets that
    # have a unit begin_tree sets it, in that unit.
    cdef double negligible

    # What all workers are to read and nobody to write; the criterion itself is not changed.
    cdef object prepare(self, const FitView* fit)

    # Remember X and the targets, and take scratch for nodes of up to max_rows rows. Once per
    # worker, GIL held, may raise. Subclasses call this first: it refuses targets of another
    # kind than `target_kind`.
    cdef int bind(self, const DataView* data, const TargetView* targets, Workspace workspace,
                  idx_t max_rows) except -1

    # Weights of the tree about to grow (IN weight, by row of X). Once per tree.
    cdef int begin_tree(self, const row_t* rows, idx_t n, const w_t* weight) except -1 nogil

    # Make rows[0:n] the current node. IN weight is indexed by row of X.
    cdef int load_node(self, const row_t* rows, idx_t n, const w_t* weight,
                       NodeStats* stats) except -1 nogil

    # Improve `best` by the best cut between two different keys of the sorted words.
    # The lower half of a word is a position in the current node.
    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil

    # Whether scan_above is there.
    cdef bint scans_above

    # As `scan`, from the words of some of the node's n rows: the others, one or more, share
    # `rest_key`, which no word has, and stand behind the first n_below words.
    cdef int scan_above(self, const uint64_t* words, idx_t n_words, idx_t n, idx_t n_below,
                        uint32_t rest_key, const ScanLimits* limits,
                        Cut* best) except -1 nogil

    # Whether scan_bins is expected to beat sorting for n rows in n_bins bins.
    cdef bint prefers_bins(self, idx_t n, idx_t n_bins) noexcept nogil

    # The same cut as `scan`, from ranks in [low, low + n_bins); a key is rank - low.
    # Returns how many different ranks there were; with one the column is constant.
    cdef idx_t scan_bins(self, const RankColumn* column, idx_t n, idx_t n_bins,
                         const ScanLimits* limits, Cut* best) except -1 nogil

    # Searching along a line of planes: as a step grows away from zero, rows change sides
    # one after the other. `begin_flips` says where the rows are at step zero (IN score
    # (n): left where negative) and gives each row a token below 2^31 (OUT token (n)).
    cdef int begin_flips(self, const double* score, idx_t n, uint32_t* token) except -1 nogil

    # Improve `best` by the best plane between two different steps, the present one among
    # them when rows change sides in both directions. The words of the rows
    # that change sides are sorted; the lower half of a word is the row's token << 1, plus 1
    # when the row is left at step zero, and the first n_down keys belong to negative steps.
    cdef int scan_flips(self, const uint64_t* words, idx_t n, idx_t n_down,
                        const ScanLimits* limits, Cut* best) except -1 nogil

    # Count two dense columns at once, before scan_bins is called for the one and then the
    # other; False when there is nothing to gain.
    cdef bint count_pair(self, RankColumn* first, idx_t n_first, RankColumn* second,
                         idx_t n_second, idx_t n) noexcept nogil

    # What a leaf made of the current node predicts. OUT value (value_size).
    cdef void node_value(self, double* value) noexcept nogil

    # Force a node's value into [lower, upper] (monotonic constraints).
    cdef void clip_value(self, double* value, double lower, double upper) noexcept nogil

    cpdef Criterion clone(self)


cdef inline double find_largest(const y_t* y, idx_t n_outputs, idx_t output, const row_t* rows,
                                idx_t n) noexcept nogil:
    """The largest size that an output's targets have in n rows."""
    cdef double largest = 0.0
    cdef idx_t p
    for p in range(n):
        largest = max(largest, fabs(y[rows[p] * n_outputs + output]))
    return largest


cdef inline const uint32_t* count_rows(const RankColumn* column, idx_t n, const ScanLimits* limits,
                                       uint32_t* bin_rows) noexcept nogil:
    """Rows in each bin, counted in `bin_rows`, which is zero; NULL when nobody asks for them."""
    cdef idx_t p
    if limits.min_samples_leaf <= 1:
        return NULL
    for p in range(n):
        bin_rows[rank_key(column, p)] += 1
    return bin_rows


cdef inline void skip_words(const uint64_t** words, idx_t* n_words, idx_t* n_left,
                            idx_t n_below) noexcept nogil:
    """Go on behind the first n_below words, whose rows are now on the left."""
    words[0] += n_below
    n_words[0] -= n_below
    n_left[0] += n_below


cdef inline bint is_allowed(const ScanLimits* limits, idx_t n_left, idx_t n_right,
                            w_t weight_left, w_t weight_right) noexcept nogil:
    """Whether both children of a cut are large and heavy enough."""
    return (
        n_left >= limits.min_samples_leaf
        and n_right >= limits.min_samples_leaf
        and weight_left >= limits.min_weight_leaf
        and weight_right >= limits.min_weight_leaf
    )


cdef inline bint keeps_order(const ScanLimits* limits, double left, double right) noexcept nogil:
    """Whether two child levels respect the monotonic constraint and the bounds."""
    if left < limits.lower or left > limits.upper:
        return False
    if right < limits.lower or right > limits.upper:
        return False
    return limits.monotone * (right - left) >= 0.0
