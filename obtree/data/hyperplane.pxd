# The one definition of what a node tests, for training and for prediction.
#
# A hyperplane is a short list of (feature, weight) terms and a threshold; an axis
# split is a hyperplane with one term of weight 1. Three things go beyond planes: a term may
# be a product of two features, a node may ask for an interval, lower < sum <= threshold, and
# the only term of a node may say whether a category is in a set.
#
# Training and prediction must send a row the same way to the last bit, so the sum below has
# one order: up to 15 terms are added one after the other, longer lists go into 16 partial
# sums (term k into sum k mod 16) that are then folded in halves. The build forbids fused
# operations.

from libc.math cimport INFINITY, NAN
from libc.stdint cimport uint16_t, uint32_t
from libc.string cimport memcpy

from obtree.core.types cimport X_t, feature_t, idx_t, w_t
from obtree.data.missing cimport goes_to_left

cdef enum:
    LANES = 16                # partial sums of lists that have as many terms
    EXTRA_TERMS = 64          # a proposal has room for n_features terms and these


cdef struct Hyperplane:
    idx_t n_terms
    feature_t* feature        # n_terms columns of X, owned by the caller
    w_t* weight               # n_terms weights, owned by the caller
    # NULL when every term is linear. Otherwise term k is weight * x[feature] * x[partner],
    # or linear where partner[k] is -1.
    feature_t* partner
    double threshold
    double lower              # minus infinity unless the node asks for an interval
    bint missing_left         # where a row goes that lacks one of the features, see missing.pxd
    # Set by the builder: whether a training row of the node did; missing_left is of no use if not.
    # True already where the splitter has learned from other rows where a set sends missing values.
    bint missing_seen
    # Set by the builder: what part of the split each term accounts for (data/term_share.pxd).
    double* term_share        # n_terms, owned by the caller; NULL when not known
    # NULL unless the node tests a set of categories. Then there is one term, of weight 1, and its
    # value is 0 for the categories in the set and 1 for others; the threshold is one half.
    const uint32_t* members   # (n_words) a bit for each category, of the caller
    # Those that rows of the node have. What others are is made out when the node is stored: they
    # go where a missing value goes.
    const uint32_t* present   # (n_words)
    idx_t n_words
    # The same as a tree that is grown has it, or NULL: the categories, ascending, that go to
    # the other side than missing ones.
    const uint16_t* listed    # (n_listed)
    idx_t n_listed


cdef inline void init_plane(Hyperplane* plane, feature_t* feature, w_t* weight) noexcept nogil:
    """A plane without terms, for which there is room in `feature` and `weight`."""
    plane.n_terms = 0
    plane.feature = feature
    plane.weight = weight
    plane.partner = NULL
    plane.threshold = 0.0
    plane.lower = -INFINITY
    plane.missing_left = False
    plane.missing_seen = False
    plane.term_share = NULL
    plane.members = NULL
    plane.present = NULL
    plane.n_words = 0
    plane.listed = NULL
    plane.n_listed = 0


cdef inline double read_set(const uint32_t* members, idx_t n_words, double category) noexcept nogil:
    """0 for a category in the set, 1 for another one, NaN when missing or beyond all words."""
    cdef uint32_t c
    if not 0.0 <= category < 32.0 * n_words:
        return NAN
    c = <uint32_t>category
    return 0.0 if members[c >> 5] >> (c & 31) & 1 else 1.0


cdef inline double find_category(const uint16_t* listed, idx_t n, double category,
                                 bint missing_left) noexcept nogil:
    """What sends a category that is listed to the other side than missing ones; NaN for others."""
    cdef idx_t start = 0, middle
    while start < n:
        middle = (start + n) // 2
        if <double>listed[middle] < category:
            start = middle + 1
        elif <double>listed[middle] > category:
            n = middle
        elif <double>listed[middle] == category:
            return 1.0 if missing_left else 0.0
        else:
            break
    return NAN


cdef inline void copy_terms(const Hyperplane* plane, Hyperplane* out) noexcept nogil:
    """The features and weights of a plane, into the buffers of another."""
    out.n_terms = plane.n_terms
    if plane.n_terms > 0:
        memcpy(out.feature, plane.feature, plane.n_terms * sizeof(feature_t))
        memcpy(out.weight, plane.weight, plane.n_terms * sizeof(w_t))


cdef inline void fold_lanes(double* lanes, idx_t n) noexcept nogil:
    """The partial sums of n rows, IN lanes (LANES * n), one behind the other; OUT the first n."""
    cdef idx_t i, half = LANES // 2 * n
    while half >= n:
        for i in range(half):
            lanes[i] += lanes[i + half]
        half >>= 1


cdef inline double read_term(const feature_t* feature, const feature_t* partner, idx_t k,
                             const X_t* row, idx_t stride) noexcept nogil:
    """The value that weight[k] multiplies; a product of two float32 numbers is exact."""
    cdef double value = <double>row[feature[k] * stride]
    if partner != NULL and partner[k] >= 0:
        value *= <double>row[partner[k] * stride]
    return value


cdef inline double sum_terms(const feature_t* feature, const feature_t* partner,
                             const w_t* weight, idx_t n_terms, const X_t* row,
                             idx_t stride) noexcept nogil:
    """sum(weight[k] * term k); NaN when a value is missing."""
    cdef double lanes[LANES]
    cdef double total = 0.0
    cdef idx_t k
    if n_terms < LANES:
        for k in range(n_terms):
            total += weight[k] * read_term(feature, partner, k, row, stride)
        return total
    for k in range(LANES):
        lanes[k] = weight[k] * read_term(feature, partner, k, row, stride)
    for k in range(<idx_t>LANES, n_terms):
        lanes[k & (LANES - 1)] += weight[k] * read_term(feature, partner, k, row, stride)
    fold_lanes(lanes, 1)
    return lanes[0]


cdef inline double project_row(const feature_t* feature, const w_t* weight, idx_t n_terms,
                               const X_t* row, idx_t stride) noexcept nogil:
    """sum(weight[k] * row[feature[k] * stride]); NaN when a value is missing."""
    return sum_terms(feature, NULL, weight, n_terms, row, stride)


cdef inline double project_plane(const Hyperplane* plane, const X_t* row,
                                 idx_t stride) noexcept nogil:
    """The sum that the node compares, products and sets included."""
    if plane.listed != NULL:
        return find_category(plane.listed, plane.n_listed,
                             <double>row[plane.feature[0] * stride], plane.missing_left)
    if plane.members != NULL:
        return read_set(plane.members, plane.n_words, <double>row[plane.feature[0] * stride])
    if plane.partner == NULL:
        return project_row(plane.feature, plane.weight, plane.n_terms, row, stride)
    return sum_terms(plane.feature, plane.partner, plane.weight, plane.n_terms, row, stride)


cdef inline bint goes_left(const Hyperplane* plane, double projection) noexcept nogil:
    """Whether a row with this projection goes to the left child."""
    # Bitwise, as in missing.pxd; a missing projection is not below the lower bound.
    return (goes_to_left(projection, plane.threshold, plane.missing_left)
            & (not projection <= plane.lower))
