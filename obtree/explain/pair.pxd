# A row and a background row, and what is known of a row made of both.
#
# A coalition is a set of features. The row that belongs to it has the values of the row that is
# explained there and those of the background row elsewhere. Walking down a tree, features that
# matter are put into the coalition or kept out of it one by one; the rest stays open.

from libc.math cimport INFINITY, fabs, isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from obtree.core.types cimport X_t, feature_t, idx_t, w_t
from obtree.data.hyperplane cimport Hyperplane, goes_left, init_plane, project_plane, read_term
from obtree.data.missing cimport goes_to_left

cdef enum Side:
    RIGHT = 0
    LEFT = 1
    OPEN = 2                      # it depends on features that are open


# Nodes of a tree, in its own arrays.
cdef struct Nodes:
    const int32_t* left
    const int32_t* right
    const double* threshold
    const double* lower           # NULL: no node asks for an interval
    const uint8_t* missing_left
    const int64_t* term_ptr
    const feature_t* feature
    const feature_t* partner      # NULL: all terms are linear
    const w_t* weight
    const int64_t* set_ptr        # NULL: no node tests a set of categories
    const uint16_t* set_categories


# A node that tests one feature, all of it in one place.
cdef struct AxisNode:
    double threshold
    double weight
    int32_t left                  # -1 at a leaf
    int32_t right
    feature_t feature
    bint missing_left


cdef struct Pair:
    const X_t* x                  # the row
    const X_t* b                  # the background row
    # The row of the coalition, as far as it is decided; the background's values where it is open.
    X_t* z
    uint8_t* is_open              # by feature


cdef inline void open_plane(const Nodes* nodes, idx_t node, Hyperplane* plane) noexcept nogil:
    """The test of a node, pointing into the arrays of the tree."""
    cdef int64_t first = nodes.term_ptr[node]
    init_plane(plane, <feature_t*>nodes.feature + first, <w_t*>nodes.weight + first)
    plane.n_terms = nodes.term_ptr[node + 1] - first
    if nodes.partner != NULL:
        plane.partner = <feature_t*>nodes.partner + first
    plane.threshold = nodes.threshold[node]
    if nodes.lower != NULL:
        plane.lower = nodes.lower[node]
    plane.missing_left = nodes.missing_left[node] != 0
    if nodes.set_ptr != NULL and nodes.set_ptr[node + 1] > nodes.set_ptr[node]:
        plane.listed = nodes.set_categories + nodes.set_ptr[node]
        plane.n_listed = nodes.set_ptr[node + 1] - nodes.set_ptr[node]


cdef inline bint test_row(const Hyperplane* plane, const X_t* row) noexcept nogil:
    """Whether a whole row goes to the left child."""
    return goes_left(plane, project_plane(plane, row, 1))


cdef inline int place_range(const Hyperplane* plane, double low, double high,
                            double size) noexcept nogil:
    """Where rows go whose sums are from low to high, of numbers of that size altogether."""
    # Twice what rounding can be, for this sum and the one that rows are compared by.
    cdef double slack = 2.5e-16 * (plane.n_terms + 2) * size
    if not isfinite(slack):
        return OPEN
    low -= slack
    high += slack
    if high <= plane.threshold and low > plane.lower:
        return LEFT
    if low > plane.threshold or high <= plane.lower:
        return RIGHT
    return OPEN


cdef inline bint span_product(const Pair* pair, idx_t j, idx_t p, double weight, double* low,
                              double* high) noexcept nogil:
    """The least and the largest that a product can be; False if it may be missing."""
    cdef double first[2]
    cdef double second[2]
    cdef double value
    cdef int a, c
    first[0] = pair.x[j] if pair.is_open[j] else pair.z[j]
    first[1] = pair.z[j]
    second[0] = pair.x[p] if pair.is_open[p] else pair.z[p]
    second[1] = pair.z[p]
    low[0] = INFINITY
    high[0] = -INFINITY
    for a in range(2):
        for c in range(2):
            if j == p and a != c:
                continue
            value = weight * (first[a] * second[c])
            if value != value:
                return False
            low[0] = min(low[0], value)
            high[0] = max(high[0], value)
    return True


cdef inline bint span_term(const Hyperplane* plane, const Pair* pair, idx_t k, double* low,
                           double* high) noexcept nogil:
    """The same for any term with an open feature."""
    cdef double u, v
    if plane.partner != NULL and plane.partner[k] >= 0:
        return span_product(pair, plane.feature[k], plane.partner[k], plane.weight[k], low, high)
    u = plane.weight[k] * read_term(plane.feature, plane.partner, k, pair.x, 1)
    v = plane.weight[k] * read_term(plane.feature, plane.partner, k, pair.b, 1)
    low[0] = min(u, v)
    high[0] = max(u, v)
    return u == u and v == v


cdef inline int decide_axis(const AxisNode* node, const Pair* pair) noexcept nogil:
    """Which way rows go at a node that compares one feature with a threshold."""
    cdef bint is_left = goes_to_left(node.weight * <double>pair.z[node.feature], node.threshold,
                                     node.missing_left)
    if not pair.is_open[node.feature]:
        return is_left
    # Where it is open, z has the value of the background.
    if is_left != goes_to_left(node.weight * <double>pair.x[node.feature], node.threshold,
                               node.missing_left):
        return OPEN
    return is_left


cdef inline int decide_single(const Hyperplane* plane, const Pair* pair,
                              feature_t* chosen) noexcept nogil:
    """Which way rows go at a node with one feature."""
    cdef bint is_left
    if not pair.is_open[plane.feature[0]]:
        return test_row(plane, pair.z)
    is_left = test_row(plane, pair.x)
    if is_left == test_row(plane, pair.b):
        return is_left
    chosen[0] = plane.feature[0]
    return OPEN


cdef inline int decide_plane(const Hyperplane* plane, const Pair* pair,
                             feature_t* chosen) noexcept nogil:
    """`decide_node` where all terms are linear."""
    cdef double low = 0.0, high = 0.0, size = 0.0, u, v, width, widest = -1.0
    cdef feature_t j
    cdef idx_t k
    for k in range(plane.n_terms):
        j = plane.feature[k]
        v = plane.weight[k] * <double>pair.z[j]
        if not pair.is_open[j]:
            if v != v:
                return plane.missing_left
            low += v
            high += v
            size += fabs(v)
            continue
        # Where it is open, z has the value of the background.
        u = plane.weight[k] * <double>pair.x[j]
        width = fabs(u - v)
        if width != width:
            width = INFINITY
        low += min(u, v)
        high += max(u, v)
        size += max(fabs(u), fabs(v))
        if width > widest:
            widest = width
            chosen[0] = j
    if widest < 0.0:
        return test_row(plane, pair.z)
    if widest == INFINITY:
        return OPEN
    return place_range(plane, low, high, size)


cdef inline int decide_node(const Hyperplane* plane, const Pair* pair,
                            feature_t* chosen) noexcept nogil:
    """Which way the row of every coalition goes that agrees with what is decided.

    When that depends on open features, the answer is OPEN and `chosen` the feature with the most
    to say. What is told from the range of sums is what the sum itself would tell, to the last bit.
    """
    cdef double low = 0.0, high = 0.0, size = 0.0, u, v, width, widest = -1.0
    cdef feature_t j, p
    cdef idx_t k
    cdef bint some_open = False
    if plane.n_terms == 1 and (plane.partner == NULL or plane.partner[0] < 0):
        return decide_single(plane, pair, chosen)
    if plane.partner == NULL:
        return decide_plane(plane, pair, chosen)
    for k in range(plane.n_terms):
        j = plane.feature[k]
        p = -1 if plane.partner == NULL else plane.partner[k]
        if pair.is_open[j] or (p >= 0 and pair.is_open[p]):
            some_open = True
            width = INFINITY
            if span_term(plane, pair, k, &u, &v):
                width = v - u
                low += u
                high += v
                size += max(fabs(u), fabs(v))
            if width > widest:
                widest = width
                chosen[0] = j if pair.is_open[j] else p
            continue
        u = plane.weight[k] * read_term(plane.feature, plane.partner, k, pair.z, 1)
        if u != u:
            return plane.missing_left
        low += u
        high += u
        size += fabs(u)
    if not some_open:
        return test_row(plane, pair.z)
    if widest == INFINITY:
        return OPEN
    return place_range(plane, low, high, size)
