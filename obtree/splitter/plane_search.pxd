# A plane over some rows and features of a node, moved along lines.

from libc.stdint cimport uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, feature_t, idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, Cut, ScanLimits
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane


cdef struct SearchColumn:
    feature_t feature
    double centre             # the plane sees (x - centre) * scale
    double scale              # a power of two: the largest such value is in [1, 2)


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
    cdef uint64_t* _spare     # (max_rows)

    # Take scratch. Once per worker, GIL held, may raise.
    cdef int bind(self, const DataView* view, Criterion criterion, Workspace workspace,
                  idx_t max_rows, idx_t max_columns) except -1

    # Begin a search. IN rows (n) that the criterion is loaded with, features (n_columns)
    # that no row lacks; both are kept until the next call. IN weight is by row of X.
    cdef void load(self, const row_t* rows, idx_t n, const w_t* weight,
                   const feature_t* features, idx_t n_columns,
                   const ScanLimits* limits) noexcept nogil

    # Values of a column, n of them; valid until another column is asked for.
    cdef const X_t* column(self, idx_t k) noexcept nogil

    # Improve `cut` by the best step along column k; whether there was a better one.
    cdef bint search_line(self, idx_t k, Cut* cut) except -1 nogil

    # Add `step` times column k to the present plane.
    cdef int move_line(self, idx_t k, double step, double score) except -1 nogil

    # x + point, n values; valid until the next call of it or of move_along.
    cdef const X_t* shift(self, const X_t* x, double point) noexcept nogil

    # Make the coefficients the present plane, whatever its score was; then find the best
    # constant term. False when no plane parallel to it is allowed.
    cdef bint place(self) except -1 nogil

    # Improve `cut` by the best step along column x; whether there was a better one.
    cdef bint search(self, const X_t* x, Cut* cut) except -1 nogil

    # Add `step` times column k, whose values are x, to the present plane.
    cdef int move(self, idx_t k, const X_t* x, double step, double score) except -1 nogil

    # The same along a line that changes all coefficients. IN direction (n_columns + 1).
    cdef bint move_along(self, const double* direction) except -1 nogil

    # The plane in terms of the features; its threshold is not set.
    cdef void write_terms(self, Hyperplane* plane) noexcept nogil

    cdef void _sum_columns(self, const double* coefficient, double* out) noexcept nogil
    cdef bint _search_near(self, const double* distance, const X_t* x, const uint32_t* token,
                           idx_t n, Cut* cut) except -1 nogil
    cdef bint _is_short(self, idx_t k) noexcept nogil
    cdef void _add_line(self, idx_t k, double factor, double* out) noexcept nogil
    cdef void _load_entries(self, const w_t* weight, const feature_t* features) noexcept nogil
    cdef double _count_entries(self, const w_t* weight) noexcept nogil
    cdef void _fill_entries(self) noexcept nogil
    cdef void _measure_short(self, idx_t k) noexcept nogil
    cdef void _measure_column(self, idx_t k, X_t* x, const w_t* weight) noexcept nogil
    cdef void _shift_column(self, idx_t k, X_t* x) noexcept nogil


cdef double find_step(const Cut* cut) noexcept nogil
