# How much of a split each of its terms accounts for.
#
# A weight says little by itself: a feature in small units has a large one. What a term
# contributes to telling the rows of a node apart is the size of its weight times the spread
# of its values there, and feature importances are shared in that proportion.

from libc.float cimport DBL_MAX
from libc.math cimport fabs, sqrt

from obtree.core.sort cimport lower_bound
from obtree.core.types cimport X_t, feature_t, idx_t, row_t, w_t
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.read cimport RowEntries, clear_terms, mark_terms, read_column, view_entries


cdef enum:
    # Rows that are looked at: a spread known to 6 % is enough for an importance, which adds
    # up many nodes, and large nodes cost no more than small ones.
    SAMPLE = 128
    MANY_TERMS = 16           # from which sparse rows are read once for all terms
    CHUNK = 512               # terms whose sums are kept together
    SLOTS = 32                # columns that are spread out together


cdef inline void read_cells(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                            double* out) noexcept nogil:
    """Values of column j; NaN when missing."""
    cdef X_t cells[SAMPLE]
    cdef idx_t i
    read_column(view, j, rows, n, cells)
    for i in range(n):
        out[i] = <double>cells[i]


cdef inline double measure_spread(const double* value, const double* weight,
                                  idx_t n) noexcept nogil:
    """Weighted standard deviation; missing values are left out."""
    cdef idx_t i = 0
    cdef double gap, w, origin, total = 0.0, sum_ = 0.0, squares = 0.0, mean
    while i < n and value[i] != value[i]:
        i += 1
    if i == n:
        return 0.0
    # Sums of differences to a value that occurs do not cancel badly.
    origin = value[i]
    for i in range(i, n):
        gap = value[i] - origin
        w = weight[i]
        if gap != gap:
            gap = w = 0.0
        total += w
        sum_ += w * gap
        squares += w * gap * gap
    mean = sum_ / total
    return sqrt(max(squares / total - mean * mean, 0.0))


cdef struct SpreadChunk:
    # Sums of the terms [start, end) over the sample, as `measure_spread` makes them, of those
    # that are zero in the first row: zeros then add nothing.
    idx_t start
    idx_t end
    double sums[CHUNK]
    double squares[CHUNK]


cdef inline bint measure_entries(const DataView* view, const Hyperplane* plane, const row_t* sample,
                                 const double* weight, idx_t n, double* spread) noexcept nogil:
    """The spread of every term of a plane over sparse rows; False when they do not suit.

    A row is read as often as there are chunks of terms, and only where they are.
    """
    cdef SpreadChunk chunk
    cdef idx_t at[SAMPLE]
    cdef double total = 0.0, mean
    cdef idx_t i, k
    if view.X != NULL or plane.partner != NULL:
        return False
    for k in range(plane.n_terms):
        if view.columns[plane.feature[k]].has_missing or (
            k > 0 and plane.feature[k] <= plane.feature[k - 1]
        ):
            return False
    if not mark_terms(view, plane.feature, plane.n_terms):
        return False
    for i in range(n):
        total += weight[i]
        at[i] = 0
    chunk.start = 0
    while chunk.start < plane.n_terms:
        chunk.end = min(chunk.start + CHUNK, plane.n_terms)
        for k in range(chunk.end - chunk.start):
            chunk.sums[k] = chunk.squares[k] = 0.0
        for i in range(n):
            add_entries(view, plane, &chunk, sample[i], weight[i], &at[i])
        for k in range(chunk.start, chunk.end):
            mean = chunk.sums[k - chunk.start] / total
            spread[k] = sqrt(max(chunk.squares[k - chunk.start] / total - mean * mean, 0.0))
        chunk.start = chunk.end
    spread_first_row(view, plane, sample, weight, n, spread)
    clear_terms(view, plane.feature, plane.n_terms)
    return True


cdef inline void add_entries(const DataView* view, const Hyperplane* plane, SpreadChunk* chunk,
                             row_t row, double weight, idx_t* at) noexcept nogil:
    """Add a row's entries to the sums of a chunk; IN/OUT at: the first that is not added yet."""
    cdef feature_t last = plane.feature[chunk.end - 1]
    cdef RowEntries entries = view_entries(view, row)
    cdef double value
    cdef idx_t k, e = at[0]
    while e < entries.n and entries.feature[e] <= last:
        k = view.term_of[entries.feature[e]] - 1
        if k >= 0:
            value = <double>entries.x[e]
            chunk.sums[k - chunk.start] += weight * value
            chunk.squares[k - chunk.start] += weight * value * value
        e += 1
    at[0] = e


cdef inline void spread_first_row(const DataView* view, const Hyperplane* plane,
                                  const row_t* sample, const double* weight, idx_t n,
                                  double* spread) noexcept nogil:
    """The spread of the terms that are not zero in the first row, some of them at a time."""
    cdef double value[SLOTS][SAMPLE]
    cdef feature_t feature[SLOTS]
    cdef RowEntries first = view_entries(view, sample[0]), entries
    cdef idx_t i, k, e, n_slots, at = 0
    while at < first.n:
        n_slots = 0
        while at < first.n and n_slots < SLOTS:
            if view.term_of[first.feature[at]] > 0:
                feature[n_slots] = first.feature[at]
                n_slots += 1
            at += 1
        if n_slots == 0:
            return
        for i in range(n):
            for k in range(n_slots):
                value[k][i] = 0.0
            k = 0
            entries = view_entries(view, sample[i])
            e = lower_bound(entries.feature, entries.n, feature[0])
            while k < n_slots and e < entries.n:
                if entries.feature[e] < feature[k]:
                    e += 1
                elif entries.feature[e] > feature[k]:
                    k += 1
                else:
                    value[k][i] = <double>entries.x[e]
                    e += 1
                    k += 1
        for k in range(n_slots):
            i = view.term_of[feature[k]] - 1
            spread[i] = measure_spread(value[k], weight, n)


# IN rows (n) of the node, weight by row of X; OUT share (n_terms), summing to 1.
cdef inline void measure_term_shares(const DataView* view, const Hyperplane* plane,
                                     const row_t* rows,
                                     idx_t n, const w_t* weight, double* share) noexcept nogil:
    cdef row_t sample[SAMPLE]
    cdef double seen[SAMPLE]
    cdef double value[SAMPLE]
    cdef double partner[SAMPLE]
    cdef idx_t n_terms = plane.n_terms, n_seen = min(n, <idx_t>SAMPLE), i, k
    cdef double largest = 0.0, total = 0.0
    cdef bint by_entries
    for i in range(n_seen):
        sample[i] = rows[i if n == n_seen else i * n // n_seen]
        seen[i] = weight[sample[i]]
    by_entries = n_terms >= MANY_TERMS and measure_entries(view, plane, sample, seen, n_seen, share)
    for k in range(n_terms):
        if not by_entries:
            read_cells(view, plane.feature[k], sample, n_seen, value)
            if plane.partner != NULL and plane.partner[k] >= 0:
                read_cells(view, plane.partner[k], sample, n_seen, partner)
                for i in range(n_seen):
                    value[i] *= partner[i]
            share[k] = measure_spread(value, seen, n_seen)
        share[k] *= fabs(plane.weight[k])
        if not share[k] <= DBL_MAX:
            share[k] = DBL_MAX
        largest = max(largest, share[k])
    for k in range(n_terms):
        share[k] = share[k] / largest if largest > 0.0 else 1.0
        total += share[k]
    for k in range(n_terms):
        share[k] /= total
