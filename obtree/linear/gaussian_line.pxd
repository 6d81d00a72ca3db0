# Probabilistic linear regression from sums: the line, its noise, and how sure both are.
#
# Criminisi, Shotton and Konukoglu (2011), section 4.2, fit a line to the rows of a node by least
# squares; what it predicts at v is Gaussian, with a variance of noise * (1 + h(v)), h(v) being
# what v' G^-1 v says of the fit, G the Gram matrix of (1, x). Here G gets a ridge: `l2` rows' worth
# of each regressor's variance, so that it has no unit. The ridge takes from the degrees of
# freedom what it takes from the fit, and rows fewer than regressors do no harm.
#
# Rows are added one by one to a vector of sums, and may be taken out again:
#
#     w   w x0   w x0 x0   w x1   w x0 x1   w x1 x1   ...     of (1, x), a packed triangle
#     w y   w y x0   w y x1 ...   w y y                       for each output
#
# Everything is summed in one order by plain loops: threads and libraries change nothing.

from libc.string cimport memset

from obtree.core.types cimport idx_t, w_t
from obtree.linear.ridge cimport factor_cholesky

cdef enum:
    # A ridge of 2^-30 rows on top, of regressors with a variance of 1: one that does not vary
    # among these rows gets a coefficient of zero.
    FLOOR_BITS = 30


cdef inline double count_free(w_t weight, double used) noexcept nogil:
    """Degrees of freedom that are left for the noise; a quarter of the rows at least."""
    return max(weight - 1.0 - used, 0.25 * weight)


cdef inline idx_t count_sums(idx_t q, idx_t n_outputs) noexcept nogil:
    """Length of the sums for q regressors."""
    return (q + 1) * (q + 2) // 2 + n_outputs * (q + 2)


cdef inline void add_line_row(double* sums, const double* row, idx_t q, idx_t n_outputs,
                              w_t weight) noexcept nogil:
    """Add a row, 1, q regressors and the outputs, to the sums; a negative weight takes it out."""
    cdef idx_t a, b
    cdef double factor
    for a in range(q + 1):
        factor = weight * row[a]
        for b in range(a + 1):
            sums[b] += factor * row[b]
        sums += a + 1
    for a in range(q + 1, q + 1 + n_outputs):
        factor = weight * row[a]
        for b in range(q + 1):
            sums[b] += factor * row[b]
        sums[q + 1] += factor * row[a]
        sums += q + 2


cdef inline const double* find_output_sums(const double* sums, idx_t q,
                                           idx_t output) noexcept nogil:
    """Where the sums of an output begin."""
    return sums + (q + 1) * (q + 2) // 2 + output * (q + 2)


cdef inline double measure_output(const double* sums, idx_t q, idx_t output) noexcept nogil:
    """Sum of w (y - mean)^2."""
    cdef const double* own = find_output_sums(sums, q, output)
    return max(0.0, own[q + 1] - own[0] * own[0] / sums[0])


cdef inline void invert_factor(double* L, idx_t n) noexcept nogil:
    """Replace the lower triangle of L (n x n, by rows) by that of its inverse."""
    cdef idx_t i, j, k
    cdef double total
    for i in range(n):
        L[i * n + i] = 1.0 / L[i * n + i]
        for j in range(i):
            total = 0.0
            for k in range(j, i):
                total += L[i * n + k] * L[k * n + j]
            L[i * n + j] = -total * L[i * n + i]


cdef inline double invert_gram(const double* sums, idx_t q, double l2,
                               double* inverse) noexcept nogil:
    """Factor the Gram matrix of the regressors about their means, with its ridge.

    OUT inverse (q x q + q): the lower triangle of M with M' M = (G + ridge)^-1; the ridge behind
    it. Returns the degrees of freedom that the coefficients use, -1 when numbers overflow.
    """
    cdef const double* row = sums
    cdef double weight = sums[0], used = 0.0, diagonal
    cdef double floor = weight / <double>(1 << FLOOR_BITS)
    cdef double* ridge = inverse + q * q
    cdef const double* mean
    cdef idx_t a, b
    for a in range(q):
        row += a + 1
        mean = sums
        for b in range(a + 1):
            mean += b + 1
            inverse[a * q + b] = row[b + 1] - row[0] * mean[0] / weight
        diagonal = max(inverse[a * q + a], 0.0)
        ridge[a] = l2 * diagonal / weight + floor
        inverse[a * q + a] = diagonal + ridge[a]
    if not factor_cholesky(inverse, q):
        return -1.0
    invert_factor(inverse, q)
    for a in range(q):
        diagonal = 0.0
        for b in range(a, q):
            diagonal += inverse[b * q + a] * inverse[b * q + a]
        used += 1.0 - ridge[a] * diagonal
    return used


cdef inline double fit_output(const double* sums, idx_t q, idx_t output, const double* inverse,
                              double* turned) noexcept nogil:
    """Sum of squares that the line of an output leaves, its penalty included.

    OUT turned (2 * q): M c first, of which the coefficients are M' times; c behind it.
    """
    cdef const double* own = find_output_sums(sums, q, output)
    cdef const double* mean = sums
    cdef double* cross = turned + q
    cdef double left = measure_output(sums, q, output), total = left
    cdef idx_t a, b
    for a in range(q):
        mean += a + 1
        cross[a] = own[a + 1] - own[0] * mean[0] / sums[0]
    for a in range(q):
        turned[a] = 0.0
        for b in range(a + 1):
            turned[a] += inverse[a * q + b] * cross[b]
        left -= turned[a] * turned[a]
    # What is below the rounding of sums is nothing.
    return left if left > 1e-14 * total else 0.0


cdef inline void find_coefficients(const double* inverse, const double* turned, idx_t q,
                                   double* weight, idx_t stride) noexcept nogil:
    """OUT weight (q, a stride apart): M' turned."""
    cdef idx_t a, b
    for a in range(q):
        weight[a * stride] = 0.0
        for b in range(a, q):
            weight[a * stride] += inverse[b * q + a] * turned[b]


cdef inline void clear_sums(double* sums, idx_t q, idx_t n_outputs) noexcept nogil:
    memset(sums, 0, count_sums(q, n_outputs) * sizeof(double))
