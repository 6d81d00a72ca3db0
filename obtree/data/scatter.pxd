# Weighted sums of squares and products of a few features, over the rows of a node.
#
# Everything is counted from an origin, the node's first row, so that features far from zero
# lose no digits. Each sum has one order, that of the rows; only sums of different entries
# run side by side.

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, idx_t


cdef struct Scatter:
    idx_t n_terms             # features
    idx_t n_targets
    double weight             # sum of the weights
    double* total             # (n_targets) sums of w t
    double* origin            # (n_terms)
    double* mean              # (n_terms) sums of w z, with z = x - origin
    double* gram              # (n_terms * n_terms) sums of w z z^T, by rows
    double* cross             # (n_targets * n_terms) sums of (w t) z
    double* z                 # (n_terms) scratch


cdef inline int take_scatter(Scatter* s, idx_t max_terms, idx_t n_targets,
                             Workspace workspace) except -1:
    """Make room for so many features and targets, if any."""
    s.n_targets = n_targets
    s.total = <double*>workspace.take(n_targets, sizeof(double))
    s.origin = <double*>workspace.take(max_terms, sizeof(double))
    s.mean = <double*>workspace.take(max_terms, sizeof(double))
    s.gram = <double*>workspace.take(max_terms * max_terms, sizeof(double))
    s.cross = <double*>workspace.take(n_targets * max_terms, sizeof(double))
    s.z = <double*>workspace.take(max_terms, sizeof(double))
    return 0


cdef inline void clear_scatter(Scatter* s) noexcept nogil:
    """Forget all rows, keep features and origin."""
    cdef idx_t a
    s.weight = 0.0
    for a in range(s.n_targets):
        s.total[a] = 0.0
    for a in range(s.n_targets * s.n_terms):
        s.cross[a] = 0.0
    for a in range(s.n_terms):
        s.mean[a] = 0.0
    for a in range(s.n_terms * s.n_terms):
        s.gram[a] = 0.0


cdef inline void add_row(Scatter* s, const X_t* x, double w, const double* wt) noexcept nogil:
    """Add a row (IN x, n_terms values) of weight w and weighted targets (IN wt, n_targets)."""
    cdef idx_t n_terms = s.n_terms
    cdef idx_t a, b
    cdef double wz, next_wz
    cdef double* z = s.z
    cdef double* line
    cdef double* next_line
    s.weight += w
    for a in range(n_terms):
        z[a] = <double>x[a] - s.origin[a]
        s.mean[a] += w * z[a]
    # Two lines at a time: z is read once for both, and a loop that does more suffers less from
    # where in memory the compiler has put it (a third of the time of TAO on 64 features).
    for a in range(0, n_terms - 1, 2):
        wz = w * z[a]
        next_wz = w * z[a + 1]
        line = s.gram + a * n_terms
        next_line = line + n_terms
        for b in range(a + 1):
            line[b] += wz * z[b]
            next_line[b] += next_wz * z[b]
        next_line[a + 1] += next_wz * z[a + 1]
    if n_terms % 2 == 1:
        wz = w * z[n_terms - 1]
        line = s.gram + (n_terms - 1) * n_terms
        for b in range(n_terms):
            line[b] += wz * z[b]
    for b in range(s.n_targets):
        s.total[b] += wt[b]
        line = s.cross + b * n_terms
        for a in range(n_terms):
            line[a] += wt[b] * z[a]


cdef inline void centre_gram(Scatter* s) noexcept nogil:
    """Take sums of features about the mean: mean becomes the mean of z, the lower half of gram
    the scatter."""
    cdef idx_t a, b
    for a in range(s.n_terms):
        s.mean[a] /= s.weight
    for a in range(s.n_terms):
        for b in range(a + 1):
            s.gram[a * s.n_terms + b] -= s.weight * s.mean[a] * s.mean[b]


cdef inline void centre_scatter(Scatter* s) noexcept nogil:
    """Take all sums about the mean: also cross, which becomes sums of (w t - mean (w t)) z."""
    cdef idx_t a, k
    centre_gram(s)
    for k in range(s.n_targets):
        for a in range(s.n_terms):
            s.cross[k * s.n_terms + a] -= s.total[k] * s.mean[a]
