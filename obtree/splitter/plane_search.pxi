# A plane over some rows and features of a node, moved along lines.
#
# The columns are centred and scaled by a power of two, so that the search does not depend
# on the units of the features, and lie one after the other. Every row keeps its distance
# from the present plane, negative on the left. When `step` times a column x is added to
# the plane, row p changes sides at the step -distance[p] / x[p]: these critical steps are
# sorted, and the criterion judges the plane between each two of them.
#
# The criterion has to be loaded with the rows of the search.

from libc.math cimport INFINITY, fabs, frexp, ldexp, rint
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.sort cimport sort_words
from obtree.core.types cimport X_t, feature_t, idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, Cut, ScanLimits
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.read cimport RowEntries, clear_terms, mark_terms, read_columns, view_entries


cdef struct SearchColumn:
    feature_t feature
    double centre             # the plane sees (x - centre) * scale
    double scale              # a power of two: the largest such value is in [1, 2)


cdef enum:
    MAX_CELLS = 1 << 26               # values kept (256 MiB); more are read again
    CENTRE_STEPS = 256


cdef inline float key_step(uint32_t key) noexcept nogil:
    """The step that a word's key stands for."""
    cdef uint32_t bits = key ^ (<uint32_t>0x80000000 if key >> 31 else <uint32_t>0xFFFFFFFF)
    cdef float step
    memcpy(&step, &bits, sizeof(step))
    return step


cdef double find_step(const Cut* cut) noexcept nogil:
    """The middle of the two critical steps between which a cut lies."""
    return 0.5 * <double>key_step(cut.low_key) + 0.5 * <double>key_step(cut.high_key)


cdef class PlaneSearch:
    cdef const DataView* view
    cdef Criterion criterion
    cdef idx_t n              # rows
    cdef idx_t n_columns      # features; the constant term follows as column n_columns
    cdef const row_t* rows    # (n)
    cdef ScanLimits limits
    cdef double score         # of the present plane, as the criterion scores cuts
    cdef double* coefficient  # (n_columns + 1)
    cdef SearchColumn* columns        # (max_columns)
    cdef double* distance     # (n) sum of coefficient * column: negative means left
    cdef X_t* _cells          # (n_cells) columns one after the other, when they fit
    cdef idx_t _n_cells
    cdef bint _cached
    # Sparse data: a column that is mostly zero has its other values only, and their rows.
    cdef bint _by_entries
    cdef idx_t* _first        # (max_columns + 1) where a column's values begin in _cells
    cdef idx_t* _next         # (max_columns) where its next value goes, -1 where rows tell
    cdef row_t* _at           # (n_cells) which row of the search each belongs to
    cdef double* _heavy       # (max_columns) what the rows weigh that are not zero
    cdef double* _near        # (max_rows) distances of such rows
    cdef uint32_t* _near_token        # (max_rows)
    cdef X_t* _column         # (max_rows) the column read last, when they do not
    cdef X_t* _mixture        # (max_rows) a sum of columns
    cdef double* _sums        # (max_rows)
    cdef X_t* _ones           # (max_rows)
    cdef uint32_t* _token     # (max_rows) by which the criterion knows the rows
    cdef uint64_t* _words     # (max_rows)
    cdef uint64_t* _buffer    # (max_rows)

    cdef int bind(self, const DataView* view, Criterion criterion, Workspace workspace,
                  idx_t max_rows, idx_t max_columns) except -1:
        """Take scratch. Once per worker, GIL held, may raise."""
        cdef idx_t p
        self.view = view
        self.criterion = criterion
        self.coefficient = <double*>workspace.take(max_columns + 1, sizeof(double))
        self.columns = <SearchColumn*>workspace.take(max_columns, sizeof(SearchColumn))
        self.distance = <double*>workspace.take(max_rows, sizeof(double))
        self._n_cells = min(max_rows * max_columns, <idx_t>MAX_CELLS)
        self._cells = <X_t*>workspace.take(self._n_cells, sizeof(X_t))
        self._column = <X_t*>workspace.take(max_rows, sizeof(X_t))
        self._mixture = <X_t*>workspace.take(max_rows, sizeof(X_t))
        self._sums = <double*>workspace.take(max_rows, sizeof(double))
        self._ones = <X_t*>workspace.take(max_rows, sizeof(X_t))
        self._token = <uint32_t*>workspace.take(max_rows, sizeof(uint32_t))
        self._words = <uint64_t*>workspace.take(max_rows, sizeof(uint64_t))
        self._buffer = <uint64_t*>workspace.take(max_rows, sizeof(uint64_t))
        for p in range(max_rows):
            self._ones[p] = 1.0
        self._by_entries = view.columns[0].rows != NULL and view.term_of != NULL
        if self._by_entries:
            self._first = <idx_t*>workspace.take(max_columns + 1, sizeof(idx_t))
            self._next = <idx_t*>workspace.take(max_columns, sizeof(idx_t))
            self._at = <row_t*>workspace.take(self._n_cells, sizeof(row_t))
            self._heavy = <double*>workspace.take(max_columns, sizeof(double))
            self._near = <double*>workspace.take(max_rows, sizeof(double))
            self._near_token = <uint32_t*>workspace.take(max_rows, sizeof(uint32_t))
        return 0

    cdef void load(self, const row_t* rows, idx_t n, const w_t* weight,
                   const feature_t* features, idx_t n_columns,
                   const ScanLimits* limits) noexcept nogil:
        """Begin a search. IN rows (n) that the criterion is loaded with, features (n_columns)
        that no row lacks; both are kept until the next call. IN weight is by row of X.
        """
        cdef X_t* x
        cdef idx_t k
        self.n = n
        self.n_columns = n_columns
        self.rows = rows
        self.limits = limits[0]
        self._cached = n * n_columns <= self._n_cells
        if self._by_entries and self._cached:
            self._load_entries(weight, features)
            return
        if self._cached:
            read_columns(self.view, rows, n, features, n_columns, self._cells)
        for k in range(n_columns):
            self.columns[k].feature = features[k]
            x = self._cells + k * n if self._cached else self._column
            if not self._cached:
                read_columns(self.view, rows, n, features + k, 1, x)
            self._measure_column(k, x, weight)
            if self._cached:
                self._shift_column(k, x)

    # ---- columns that are mostly zero ------------------------------------------------

    cdef bint _is_short(self, idx_t k) noexcept nogil:
        """Whether only those values of a column are kept that are not zero."""
        return (self._by_entries and self._cached and k < self.n_columns
                and self._first[k + 1] - self._first[k] < self.n)

    cdef void _load_entries(self, const w_t* weight, const feature_t* features) noexcept nogil:
        """Columns as `load` has them, from the entries of the rows.

        A row at zero never changes sides as the coefficient of its column moves: where most
        weight is at zero, only the other rows are kept.
        """
        cdef double total
        cdef idx_t k
        mark_terms(self.view, features, self.n_columns)
        total = self._count_entries(weight)
        self._first[0] = 0
        for k in range(self.n_columns):
            self.columns[k].feature = features[k]
            if 2.0 * (total - self._heavy[k]) > total:
                self._first[k + 1] = self._first[k] + self._next[k]
                self._next[k] = self._first[k]
            else:
                self._first[k + 1] = self._first[k] + self.n
                self._next[k] = -1
                memset(self._cells + self._first[k], 0, self.n * sizeof(X_t))
        self._fill_entries()
        clear_terms(self.view, features, self.n_columns)
        for k in range(self.n_columns):
            if self._is_short(k):
                self._measure_short(k)
            else:
                self._measure_column(k, self._cells + self._first[k], weight)
                self._shift_column(k, self._cells + self._first[k])

    cdef double _count_entries(self, const w_t* weight) noexcept nogil:
        """OUT _next, _heavy: entries of each column and what they weigh; the total weight."""
        cdef RowEntries entries
        cdef double total = 0.0
        cdef idx_t p, k, e
        memset(self._next, 0, self.n_columns * sizeof(idx_t))
        memset(self._heavy, 0, self.n_columns * sizeof(double))
        for p in range(self.n):
            total += weight[self.rows[p]]
            entries = view_entries(self.view, self.rows[p])
            for e in range(entries.n):
                k = self.view.term_of[entries.feature[e]] - 1
                if k >= 0:
                    self._next[k] += 1
                    self._heavy[k] += weight[self.rows[p]]
        return total

    cdef void _fill_entries(self) noexcept nogil:
        cdef RowEntries entries
        cdef X_t value
        cdef idx_t p, k, e
        for p in range(self.n):
            entries = view_entries(self.view, self.rows[p])
            for e in range(entries.n):
                k = self.view.term_of[entries.feature[e]] - 1
                if k < 0:
                    continue
                value = entries.x[e]
                if self._next[k] < 0:
                    self._cells[self._first[k] + p] = value
                else:
                    self._cells[self._next[k]] = value
                    self._at[self._next[k]] = <row_t>p
                    self._next[k] += 1

    cdef void _measure_short(self, idx_t k) noexcept nogil:
        """As `_measure_column` and `_shift_column` do it for a column of mostly zeros."""
        cdef double largest = 0.0
        cdef int exponent
        cdef idx_t i
        for i in range(self._first[k], self._first[k + 1]):
            largest = max(largest, fabs(<double>self._cells[i]))
        frexp(largest, &exponent)
        self.columns[k].centre = 0.0
        self.columns[k].scale = ldexp(1.0, 1 - exponent)
        for i in range(self._first[k], self._first[k + 1]):
            self._cells[i] = <X_t>(<double>self._cells[i] * self.columns[k].scale)

    cdef bint search_line(self, idx_t k, Cut* cut) except -1 nogil:
        """Improve `cut` by the best step along column k; whether there was a better one."""
        cdef idx_t i, first, n_near
        if not self._is_short(k):
            return self.search(self.column(k), cut)
        first = self._first[k]
        n_near = self._first[k + 1] - first
        for i in range(n_near):
            self._near[i] = self.distance[self._at[first + i]]
            self._near_token[i] = self._token[self._at[first + i]]
        return self._search_near(self._near, self._cells + first, self._near_token, n_near, cut)

    cdef int move_line(self, idx_t k, double step, double score) except -1 nogil:
        """Add `step` times column k to the present plane."""
        self.coefficient[k] += step
        self._add_line(k, step, self.distance)
        self.score = score
        return self.criterion.begin_flips(self.distance, self.n, self._token)

    cdef void _add_line(self, idx_t k, double factor, double* out) noexcept nogil:
        """out[p] += factor times column k."""
        cdef idx_t i
        if not self._is_short(k):
            kernels().add_column(out, self.column(k), factor, self.n)
            return
        for i in range(self._first[k], self._first[k + 1]):
            out[self._at[i]] += factor * <double>self._cells[i]

    # ---- units of the columns ----------------------------------------------------------

    cdef void _measure_column(self, idx_t k, X_t* x, const w_t* weight) noexcept nogil:
        """Find where a column's zero is to be, and its scale.

        The zero is the value that more than half the weight shares, if there is one, for
        rows at zero never change sides; else the mean, rounded to a part of the range so
        that it does not depend on the order of the summation.
        """
        cdef double total = 0.0, votes = 0.0, w, lead = 0.0, mean = 0.0, centre, largest
        cdef X_t candidate = x[0], low = x[0], high = x[0]
        cdef int exponent
        cdef idx_t p
        for p in range(self.n):
            low = min(low, x[p])
            high = max(high, x[p])
        for p in range(self.n):
            # The majority vote of Boyer and Moore (1991).
            w = weight[self.rows[p]]
            total += w
            if x[p] == candidate:
                lead += w
            elif lead >= w:
                lead -= w
            else:
                candidate = x[p]
                lead = w - lead
        for p in range(self.n):
            w = weight[self.rows[p]]
            mean += w * (<double>x[p] - <double>low)
            if x[p] == candidate:
                votes += w
        centre = candidate
        if not 2.0 * votes > total:
            largest = <double>high - <double>low
            centre = low + rint(mean / (total * largest) * CENTRE_STEPS) * (
                largest / CENTRE_STEPS)
        self.columns[k].centre = centre
        frexp(max(<double>high - centre, centre - <double>low), &exponent)
        self.columns[k].scale = ldexp(1.0, 1 - exponent)

    cdef void _shift_column(self, idx_t k, X_t* x) noexcept nogil:
        cdef double centre = self.columns[k].centre, scale = self.columns[k].scale
        cdef idx_t p
        for p in range(self.n):
            x[p] = <X_t>((<double>x[p] - centre) * scale)

    cdef const X_t* column(self, idx_t k) noexcept nogil:
        """Values of a column, n of them; valid until another column is asked for."""
        cdef idx_t i
        if k == self.n_columns:
            return self._ones
        if self._is_short(k):
            memset(self._column, 0, self.n * sizeof(X_t))
            for i in range(self._first[k], self._first[k + 1]):
                self._column[self._at[i]] = self._cells[i]
            return self._column
        if self._cached:
            return self._cells + (self._first[k] if self._by_entries else k * self.n)
        read_columns(self.view, self.rows, self.n, &self.columns[k].feature, 1, self._column)
        self._shift_column(k, self._column)
        return self._column

    cdef const X_t* shift(self, const X_t* x, double point) noexcept nogil:
        """x + point, n values; valid until the next call of it or of move_along."""
        cdef idx_t p
        if point == 0.0:
            return x
        for p in range(self.n):
            self._mixture[p] = <X_t>(<double>x[p] + point)
        return self._mixture

    cdef void _sum_columns(self, const double* coefficient, double* out) noexcept nogil:
        """out[p] = the sum of coefficient[k] times column k, the constant one included."""
        cdef idx_t k, p
        for p in range(self.n):
            out[p] = coefficient[self.n_columns]
        for k in range(self.n_columns):
            if coefficient[k] != 0.0:
                self._add_line(k, coefficient[k], out)

    cdef bint place(self) except -1 nogil:
        """Make the coefficients the present plane, whatever its score was; then find the best
        constant term. False when no plane parallel to it is allowed.
        """
        cdef Cut cut
        self._sum_columns(self.coefficient, self.distance)
        self.criterion.begin_flips(self.distance, self.n, self._token)
        self.score = cut.score = -INFINITY
        if not self.search(self._ones, &cut):
            return False
        self.move(self.n_columns, self._ones, find_step(&cut), cut.score)
        return True

    cdef bint search(self, const X_t* x, Cut* cut) except -1 nogil:
        """Improve `cut` by the best step along column x; whether there was a better one."""
        return self._search_near(self.distance, x, self._token, self.n, cut)

    cdef bint _search_near(self, const double* distance, const X_t* x, const uint32_t* token,
                           idx_t n, Cut* cut) except -1 nogil:
        cdef double previous = cut.score
        cdef idx_t n_down, n_words
        n_words = kernels().find_steps(distance, x, token, n, self._words, &n_down)
        if n_words < 2:
            return False
        sort_words(self._words, n_words, self._buffer)
        self.criterion.scan_flips(self._words, n_words, n_down, &self.limits, cut)
        return cut.score > previous

    cdef int move(self, idx_t k, const X_t* x, double step, double score) except -1 nogil:
        """Add `step` times column k, whose values are x, to the present plane."""
        self.coefficient[k] += step
        kernels().add_column(self.distance, x, step, self.n)
        self.score = score
        return self.criterion.begin_flips(self.distance, self.n, self._token)

    cdef bint move_along(self, const double* direction) except -1 nogil:
        """The same along a line that changes all coefficients. IN direction (n_columns + 1)."""
        cdef Cut cut
        cdef double step
        cdef idx_t k, p
        self._sum_columns(direction, self._sums)
        for p in range(self.n):
            self._mixture[p] = <X_t>self._sums[p]
        cut.score = self.score
        if not self.search(self._mixture, &cut):
            return False
        step = find_step(&cut)
        for k in range(self.n_columns):
            self.coefficient[k] += step * direction[k]
        # The step is that of the rounded sums, so these move the plane.
        self.move(self.n_columns, self._mixture, step, cut.score)
        self.coefficient[self.n_columns] += step * (direction[self.n_columns] - 1.0)
        return True

    cdef void write_terms(self, Hyperplane* plane) noexcept nogil:
        """The plane in terms of the features; its threshold is not set."""
        cdef double largest = 0.0, weight
        cdef int exponent
        cdef idx_t k
        plane.n_terms = 0
        for k in range(self.n_columns):
            weight = self.coefficient[k] * self.columns[k].scale
            if weight == 0.0:
                continue
            plane.feature[plane.n_terms] = self.columns[k].feature
            plane.weight[plane.n_terms] = weight
            plane.n_terms += 1
            largest = max(largest, fabs(weight))
        # A power of two, so that planes that differ by one come out the same.
        frexp(largest, &exponent)
        for k in range(plane.n_terms):
            plane.weight[k] = ldexp(plane.weight[k], 1 - exponent)
