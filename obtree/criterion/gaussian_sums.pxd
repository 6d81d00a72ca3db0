# Covariance matrices of a node's rows, while rows move from the right of a cut to its left.
#
# Rows are kept as differences from the node's mean, so that features far from zero lose no
# digits; a missing value counts as the mean. Second moments of the node are summed once; those of
# the left side grow by one row at a time, in O(d^2), and those of the right are the difference.
#
# A log determinant is that of the covariance plus `floor`, relative to that of `floor` alone:
#     log |S + F| - log |F|,   F = diag(floor)
# with floors proportional to the features' variances in all rows of the tree. So it has no unit,
# does not change when a feature is shifted or scaled, is zero for equal rows, and duplicated or
# constant features do no harm. It takes O(d^3) by elimination. Beyond MAX_FULL features
# covariances are taken to be diagonal, and both are O(d).
#
# Of matrices the upper half is kept, by rows, so that inner loops run along memory.

from libc.math cimport log
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, feature_t, idx_t, row_t, w_t
from obtree.data.dataset cimport DataView
from obtree.data.read cimport read_rows

cdef enum:
    MAX_FULL = 32             # a determinant costs 10 us there, and as many sums as 500 of a row


cdef inline double relative_floor() noexcept nogil:
    """The floor of a feature as a fraction of its variance: a thousandth of its deviation."""
    return 1e-6


cdef struct GaussianSums:
    idx_t n_features
    bint is_full
    idx_t n_moments           # numbers in a matrix: n_features^2, or n_features when diagonal
    feature_t* feature        # (n_features)
    double* floor             # (n_features)
    X_t* z                    # (max_rows * n_features) x - mean, 0 where missing
    w_t* w                    # (max_rows)
    double weight             # of the node
    double* mean              # (n_features)
    double* first             # (n_features) sums of w z: zero but for rounding
    double* second            # (n_moments) sums of w z z^T, upper half
    double weight_left
    double* first_left        # the same of the rows on the left
    double* second_left
    double* first_right       # SCRATCH, the same of those on the right
    double* second_right
    double* matrix            # (n_moments) SCRATCH


cdef inline int take_gaussian_sums(GaussianSums* s, idx_t n_features, idx_t max_rows,
                                   Workspace workspace) except -1:
    """Make room for so many features."""
    cdef idx_t a
    s.n_features = n_features
    s.is_full = n_features <= MAX_FULL
    s.n_moments = n_features * n_features if s.is_full else n_features
    s.feature = <feature_t*>workspace.take(n_features, sizeof(feature_t))
    for a in range(n_features):
        s.feature[a] = <feature_t>a
    s.floor = <double*>workspace.take(n_features, sizeof(double))
    s.z = <X_t*>workspace.take(max_rows * n_features, sizeof(X_t))
    s.w = <w_t*>workspace.take(max_rows, sizeof(w_t))
    s.mean = <double*>workspace.take(n_features, sizeof(double))
    s.first = <double*>workspace.take(n_features, sizeof(double))
    s.second = <double*>workspace.take(s.n_moments, sizeof(double))
    s.first_left = <double*>workspace.take(n_features, sizeof(double))
    s.second_left = <double*>workspace.take(s.n_moments, sizeof(double))
    s.first_right = <double*>workspace.take(n_features, sizeof(double))
    s.second_right = <double*>workspace.take(s.n_moments, sizeof(double))
    s.matrix = <double*>workspace.take(s.n_moments, sizeof(double))
    return 0


cdef inline void add_moments(const GaussianSums* s, const X_t* z, double w, double* first,
                             double* second) noexcept nogil:
    """Add a row (IN z, n_features) of weight w."""
    cdef idx_t d = s.n_features
    cdef idx_t a, b
    cdef double wz
    for a in range(d):
        first[a] += w * <double>z[a]
    if not s.is_full:
        for a in range(d):
            second[a] += w * <double>z[a] * <double>z[a]
        return
    for a in range(d):
        wz = w * <double>z[a]
        for b in range(a, d):
            second[a * d + b] += wz * <double>z[b]


cdef inline void empty_left(GaussianSums* s) noexcept nogil:
    """All rows are on the right."""
    s.weight_left = 0.0
    memset(s.first_left, 0, s.n_features * sizeof(double))
    memset(s.second_left, 0, s.n_moments * sizeof(double))


cdef inline void move_left(GaussianSums* s, idx_t p) noexcept nogil:
    """Row p of the node goes from the right to the left."""
    s.weight_left += s.w[p]
    add_moments(s, s.z + p * s.n_features, s.w[p], s.first_left, s.second_left)


cdef inline void load_sums(GaussianSums* s, const DataView* data, const row_t* rows, idx_t n,
                           const w_t* weight) noexcept nogil:
    """Centre the rows of a node, which are ascending, and add up their moments."""
    cdef idx_t d = s.n_features
    cdef idx_t p, a
    cdef double known, origin
    cdef X_t* z
    read_rows(data, rows, n, s.feature, d, s.z)
    s.weight = 0.0
    for p in range(n):
        s.w[p] = weight[rows[p]]
        s.weight += s.w[p]
    for a in range(d):
        # From the first value there is: equal ones have it for their mean, exactly.
        origin = known = s.mean[a] = 0.0
        for p in range(n):
            z = s.z + p * d + a
            if z[0] != z[0]:
                continue
            if known == 0.0:
                origin = z[0]
            known += s.w[p]
            s.mean[a] += s.w[p] * (<double>z[0] - origin)
        s.mean[a] = origin + (s.mean[a] / known if known > 0.0 else 0.0)
        for p in range(n):
            z = s.z + p * d + a
            z[0] = <X_t>(<double>z[0] - s.mean[a]) if z[0] == z[0] else <X_t>0.0
    memset(s.first, 0, d * sizeof(double))
    memset(s.second, 0, s.n_moments * sizeof(double))
    for p in range(n):
        add_moments(s, s.z + p * d, s.w[p], s.first, s.second)
    empty_left(s)


cdef inline void set_floors(GaussianSums* s) noexcept nogil:
    """Floors by the variances of the rows that are loaded, those of a whole tree."""
    cdef idx_t a, step = s.n_features + 1 if s.is_full else 1
    for a in range(s.n_features):
        s.floor[a] = relative_floor() * s.second[a * step] / s.weight
        if not s.floor[a] > 0.0:
            s.floor[a] = 1.0      # constant in all nodes: any floor will do


cdef inline double measure_matrix(const GaussianSums* s) noexcept nogil:
    """Log |matrix + F| - log |F|; the matrix is spoilt."""
    cdef idx_t d = s.n_features
    cdef idx_t a, b, k, step = d + 1 if s.is_full else 1
    cdef double total = 0.0, product = 1.0, pivot, part
    cdef double* line
    cdef double* below
    for a in range(d):
        s.matrix[a * step] += s.floor[a]
    for a in range(d):
        pivot = s.matrix[a * step]
        if not pivot > 0.0:
            return 0.0        # rounding alone: no more than the floor is left
        product *= pivot / s.floor[a]
        if not 1e-100 < product < 1e100:
            total += log(product)
            product = 1.0
        if not s.is_full:
            continue
        line = s.matrix + a * d
        pivot = 1.0 / pivot
        for b in range(a + 1, d):
            part = line[b] * pivot
            below = s.matrix + b * d
            for k in range(b, d):
                below[k] -= part * line[k]
    return total + log(product)


cdef inline void fill_covariance(const GaussianSums* s, const double* first, const double* second,
                                 double weight, double n_prior) noexcept nogil:
    """OUT matrix: the covariance of the rows of a side, and n_prior rows that vary as the node."""
    cdef idx_t d = s.n_features
    cdef idx_t a, b, k
    cdef double scale = 1.0 / (weight + n_prior), prior = scale * n_prior / s.weight
    cdef double m_a
    if not s.is_full:
        for a in range(d):
            s.matrix[a] = (
                scale * (second[a] - first[a] * first[a] / weight) + prior * s.second[a]
            )
        return
    for a in range(d):
        m_a = first[a] / weight
        for b in range(a, d):
            k = a * d + b
            s.matrix[k] = scale * (second[k] - m_a * first[b]) + prior * s.second[k]


cdef inline double measure_node(const GaussianSums* s) noexcept nogil:
    """The log determinant of the node's covariance."""
    fill_covariance(s, s.first, s.second, s.weight, 0.0)
    return measure_matrix(s)


cdef inline double expect_shortfall(const GaussianSums* s, double weight,
                                    double n_prior) noexcept nogil:
    """By how much the log determinant of so many rows is too small in the mean.

    To second order in the sampling error of the covariance, for rows that vary as the node
    (of a Wishart matrix E tr E^2 = d (d + 1) / n; 2 d when it is diagonal).
    """
    cdef double d = s.n_features, total = weight + n_prior
    cdef double spread = d * (d + 1.0) if s.is_full else 2.0 * d
    return d / total + 0.5 * max(weight - 1.0, 0.0) * spread / (total * total)


cdef inline double measure_cut(const GaussianSums* s) noexcept nogil:
    """The mean of both sides' log determinants, by weight, as large samples would have them.

    Few rows have too small a determinant, none at all when there are fewer than features: left
    alone, cuts near the ends would win. So each side gets as many rows more as there are
    features, which vary as the node, and what is still missing in the mean is added.
    """
    cdef double n_prior = s.n_features if s.is_full else 1.0
    cdef double weight_right = s.weight - s.weight_left
    cdef double left, right
    cdef idx_t a
    for a in range(s.n_features):
        s.first_right[a] = s.first[a] - s.first_left[a]
    for a in range(s.n_moments):
        s.second_right[a] = s.second[a] - s.second_left[a]
    fill_covariance(s, s.first_left, s.second_left, s.weight_left, n_prior)
    left = measure_matrix(s) + expect_shortfall(s, s.weight_left, n_prior)
    fill_covariance(s, s.first_right, s.second_right, weight_right, n_prior)
    right = measure_matrix(s) + expect_shortfall(s, weight_right, n_prior)
    return (s.weight_left * left + weight_right * right) / s.weight
