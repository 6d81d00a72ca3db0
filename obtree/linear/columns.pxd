# Rows of some columns, centred and scaled, as linear models read them.
#
# A cell is ((x - origin) - mean) * scale in single precision; the origin, a value of the column,
# comes off first, so that columns far from zero lose no digits. Rows are `stride` floats
# apart, padded with zeros to whole vectors.

from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, feature_t, idx_t, w_t


cdef struct Columns:
    idx_t n
    idx_t stride
    feature_t* feature        # (n) ascending
    float* origin             # (n)
    float* mean               # (n) after the origin
    float* scale              # (n) 1 / spread


cdef inline idx_t pad_width(idx_t n) noexcept nogil:
    """Floats of a row of n columns: a multiple of eight."""
    return max(<idx_t>8, (n + 7) // 8 * 8)


cdef inline int take_columns(Columns* columns, idx_t max_columns, Workspace memory) except -1:
    """Make room for so many columns; means are zero."""
    columns.feature = <feature_t*>memory.take(max_columns, sizeof(feature_t))
    columns.origin = <float*>memory.take(max_columns, sizeof(float))
    columns.mean = <float*>memory.take(max_columns, sizeof(float))
    columns.scale = <float*>memory.take(max_columns, sizeof(float))
    memset(columns.mean, 0, max_columns * sizeof(float))
    columns.n = 0
    columns.stride = pad_width(0)
    return 0


cdef inline void standardise_columns(const Columns* columns, const X_t* row, bint lies_packed,
                                     float* out) noexcept nogil:
    """Centre and scale a row (OUT stride) that lies as in X, or holds just these columns."""
    kernels().standardise_row(row, NULL if lies_packed else columns.feature, columns.n,
                              columns.origin, columns.mean, columns.scale, out)
    if columns.n < columns.stride:
        memset(out + columns.n, 0, (columns.stride - columns.n) * sizeof(float))


cdef inline idx_t write_terms(const Columns* columns, const float* w, double* threshold,
                              feature_t* feature, w_t* weight) noexcept nogil:
    """Turn weights of scaled columns into terms of a plane (OUT feature, weight); how many.

    Zeros are left out. IN OUT threshold: as it is for scaled rows, then for rows as they are.
    """
    cdef idx_t k, n_terms = 0
    cdef double here
    for k in range(columns.n):
        here = <double>w[k] * <double>columns.scale[k]
        if here == 0.0:
            continue
        feature[n_terms] = columns.feature[k]
        weight[n_terms] = here
        threshold[0] += here * (<double>columns.origin[k] + <double>columns.mean[k])
        n_terms += 1
    return n_terms


cdef inline void add_column_moments(const X_t* x, idx_t n, idx_t n_columns, const w_t* w,
                                    double* origin, double* weight, double* total,
                                    double* squares) noexcept nogil:
    """Sums of w, w d and w d^2 of each column, with d = x - origin; missing cells do not count.

    The origin (OUT) is the first cell of a column: a constant has no variance at all.
    """
    cdef idx_t i, j
    cdef double d
    for i in range(n):
        for j in range(n_columns):
            if x[j] != x[j]:
                continue
            if weight[j] == 0.0:
                origin[j] = x[j]
            d = <double>x[j] - origin[j]
            weight[j] += w[i]
            total[j] += w[i] * d
            squares[j] += w[i] * d * d
        x += n_columns
