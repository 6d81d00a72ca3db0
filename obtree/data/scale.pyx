"""Spans, scales and variances of the features.

Spans and scales are those of distinct values, and not of all of them, because a pixel that is
mostly zero is no smaller than another one. Being powers of two, scales add no rounding: whole
numbers divided by them can be added exactly.

Here it is also judged whether features are in different units: whether spans, as units, would
change what features account for. What is in common units, such as the pixels of an image, is
better left as it is, for features that hardly vary have little to say.
"""

import numpy as np

from libc.math cimport frexp, ldexp, log
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.team cimport check_signals, choose_threads, run_items, should_stop, work_t
from obtree.core.types cimport X_t, idx_t, row_t, w_t
from obtree.data.dataset cimport ColumnView, DataView, Dataset
from obtree.data.fit cimport FitView, lend_fit
from obtree.data.read cimport find_value, read_column, stored_code, stored_row

cdef enum:
    BLOCK_CELLS = 1 << 24     # of X that are ranked at a time
    BLOCK = 256               # rows that stay in the cache while all columns are read
    STRIP = 8                 # columns that are summed at a time, so that no sum waits for itself

cdef double UNIT_DISTANCE = 0.15  # of fractions of the spread, beyond which units differ


cdef int measure_scales(const FitView* fit, double* scale, Workspace workspace) except -1:
    cdef idx_t j
    measure_spans(fit, scale, workspace)
    for j in range(fit.data.n_features):
        scale[j] = round_to_power(scale[j])
    return 0


cdef double round_to_power(double span) noexcept nogil:
    cdef int exponent
    cdef double mantissa = frexp(span, &exponent)
    # Mantissas begin at a half.
    return ldexp(1.0, exponent if mantissa > 0.7071067811865476 else exponent - 1)


cdef struct Moments:
    double weight
    double origin             # a value of the feature, near which the others are
    double sum                # of distances from the origin
    double square


cdef struct ColumnContext:
    # Columns of a fit that are measured by several threads, some columns an item.
    const FitView* fit
    idx_t n_here              # columns of an item
    double* span
    idx_t n_weighted          # rows with a weight above zero
    uint8_t* present          # (n_threads * n_most), NULL when all rows have one
    idx_t n_most              # ranks of a column
    Moments* moments
    double total              # what all rows weigh, where that is asked for


cdef int distribute_columns(ColumnContext* context, work_t work, double cell_work) except -1:
    """Let threads measure all columns, at `cell_work` nanoseconds a cell."""
    cdef const FitView* fit = context.fit
    cdef idx_t n = fit.data.n_features
    cdef int n_threads = choose_threads(cell_work * n * fit.data.n_samples, fit.n_threads)
    # A thread goes through its columns row after row, as far as it can: one item each.
    context.n_here = max(<idx_t>1, (n + n_threads * STRIP - 1) // (n_threads * STRIP)) * STRIP
    with nogil:
        run_items(work, context, (n + context.n_here - 1) // context.n_here, n_threads, fit.stop)
    return 0


cdef int measure_spans(const FitView* fit, double* span, Workspace workspace) except -1:
    cdef ColumnContext context
    cdef const DataView* view = fit.data
    cdef idx_t j
    memset(&context, 0, sizeof(context))
    context.fit = fit
    context.span = span
    context.n_weighted = view.n_samples
    if fit.weight != NULL:
        context.n_weighted = count_weighted(fit.weight, view.n_samples)
    if context.n_weighted < view.n_samples:
        for j in range(view.n_features):
            context.n_most = max(context.n_most, <idx_t>view.columns[j].n_values + 1)
        context.present = <uint8_t*>workspace.take(max(fit.n_threads, 1) * context.n_most,
                                                   sizeof(uint8_t))
    for j in range(view.n_features):
        span[j] = 1.0
    return distribute_columns(&context, measure_some_spans,
                              0.01 if context.present == NULL else 2.0)


cdef void measure_some_spans(void* given, idx_t item, idx_t member, void* team) noexcept nogil:
    cdef ColumnContext* context = <ColumnContext*>given
    cdef const FitView* fit = context.fit
    cdef uint8_t* present = context.present
    cdef idx_t j, start = item * context.n_here
    if present != NULL:
        present += member * context.n_most
    for j in range(start, min(start + context.n_here, fit.data.n_features)):
        if fit.stop[0] or should_stop(team, member):
            return
        context.span[j] = measure_column(fit.data, j, fit.weight, context.n_weighted, present)


cdef idx_t count_weighted(const w_t* weight, idx_t n) noexcept nogil:
    """Rows with a weight above zero."""
    cdef idx_t i, n_weighted = 0
    for i in range(n):
        n_weighted += weight[i] > 0.0
    return n_weighted


cdef double measure_column(const DataView* view, idx_t j, const w_t* weight,
                           idx_t n_weighted, uint8_t* present) noexcept nogil:
    """The span of a column; SCRATCH present, NULL when all its values count."""
    cdef uint32_t n_values = view.columns[j].n_values
    cdef uint32_t skipped, low, high
    if present != NULL:
        n_values = mark_present(view, j, weight, n_weighted, present)
    if n_values < 2:
        return 1.0
    skipped = n_values // 4
    low = skipped
    high = view.columns[j].n_values - 1 - skipped
    if present != NULL:
        low = find_present(present, 0, 1, skipped)
        high = find_present(present, view.columns[j].n_values - 1, -1, skipped)
    return (<double>find_value(view, j, high, NULL, view.n_samples)
            - <double>find_value(view, j, low, NULL, view.n_samples))


cdef uint32_t mark_present(const DataView* view, idx_t j, const w_t* weight,
                           idx_t n_weighted, uint8_t* present) noexcept nogil:
    """Mark the ranks that the n_weighted rows with a weight have; how many there are."""
    cdef const ColumnView* column = &view.columns[j]
    cdef idx_t i, n_implied = n_weighted
    cdef uint32_t n_present = 0
    memset(present, 0, column.n_values + 1)
    for i in range(column.n_stored):
        if weight[stored_row(column, i)] > 0.0:
            present[stored_code(column, i)] = 1
            n_implied -= 1
    if n_implied > 0:
        present[column.zero_code] = 1
    for i in range(column.n_values):
        n_present += present[i]
    return n_present


cdef uint32_t find_present(const uint8_t* present, uint32_t start, int step,
                           uint32_t n_skipped) noexcept nogil:
    """The present rank that comes after n_skipped others, from `start` on."""
    cdef uint32_t rank = start
    cdef uint32_t n_left = n_skipped
    while not present[rank] or n_left > 0:
        n_left -= present[rank]
        rank = <uint32_t>(<idx_t>rank + step)
    return rank


cdef int measure_variances(const FitView* fit, double* variance, Workspace workspace) except -1:
    cdef ColumnContext context
    cdef const DataView* view = fit.data
    cdef Moments* moments = <Moments*>workspace.take(view.n_features, sizeof(Moments))
    cdef double mean
    cdef idx_t i, j
    memset(moments, 0, view.n_features * sizeof(Moments))
    memset(&context, 0, sizeof(context))
    context.fit = fit
    context.moments = moments
    for i in range(view.n_samples):
        context.total += 1.0 if fit.weight == NULL else fit.weight[i]
    distribute_columns(&context, measure_some_moments, 2.0)
    for j in range(view.n_features):
        variance[j] = 0.0
        if moments[j].weight > 0.0:
            mean = moments[j].sum / moments[j].weight
            variance[j] = max(moments[j].square / moments[j].weight - mean * mean, 0.0)
    return 0


cdef void measure_some_moments(void* given, idx_t item, idx_t member, void* team) noexcept nogil:
    cdef ColumnContext* context = <ColumnContext*>given
    cdef const FitView* fit = context.fit
    cdef idx_t first = item * context.n_here
    cdef idx_t last = min(first + context.n_here, fit.data.n_features)
    cdef idx_t i = 0, j
    if fit.data.columns[first].rows == NULL:
        while i < fit.data.n_samples and not (fit.stop[0] or should_stop(team, member)):
            add_rows(fit, i, min(<idx_t>BLOCK, fit.data.n_samples - i), first, last,
                     context.moments)
            i += BLOCK
        return
    for j in range(first, last):
        if fit.stop[0] or should_stop(team, member):
            return
        add_sparse(&fit.data.columns[j], fit.weight, context.total, &context.moments[j])


cdef inline void add_value(Moments* moments, double value, double weight) noexcept nogil:
    if moments.weight == 0.0:
        moments.origin = value
    value -= moments.origin
    moments.weight += weight
    moments.sum += weight * value
    moments.square += weight * value * value


cdef void add_rows(const FitView* fit, idx_t start, idx_t n, idx_t first, idx_t last,
                   Moments* moments) noexcept nogil:
    """Features first..last-1 of n dense rows, BLOCK at most, from `start` on."""
    cdef row_t rows[BLOCK]
    cdef X_t values[STRIP * BLOCK]
    cdef X_t value
    cdef double here = 1.0
    cdef idx_t j = first, k, p, n_here
    for p in range(n):
        rows[p] = <row_t>(start + p)
    while j < last:
        n_here = min(<idx_t>STRIP, last - j)
        for k in range(n_here):
            read_column(fit.data, j + k, rows, n, values + k * BLOCK)
        for p in range(n):
            if fit.weight != NULL:
                here = fit.weight[start + p]
            if here == 0.0:
                continue
            for k in range(n_here):
                value = values[k * BLOCK + p]
                if value == value:
                    add_value(&moments[j + k], value, here)
        j += STRIP


cdef void add_sparse(const ColumnView* column, const w_t* weight, double total,
                     Moments* moments) noexcept nogil:
    """A sparse feature; `total` is what all rows weigh."""
    cdef uint32_t code
    cdef double here = 1.0, implied = total
    cdef idx_t k
    for k in range(column.n_stored):
        if weight != NULL:
            here = weight[stored_row(column, k)]
        implied -= here
        code = stored_code(column, k)
        if here > 0.0 and code < column.n_values:
            add_value(moments, column.values[code], here)
    if implied > 0.0:
        add_value(moments, 0.0, implied)


cdef double measure_distance(const double* span, const double* variance, idx_t n) noexcept nogil:
    """How far fractions of the spread in units of spans are from the plain ones.

    This is their relative entropy. It is large where even a few columns that are drowned
    by others would come up, and small where columns that come up have little to show.
    """
    cdef double plain = 0.0, united = 0.0, distance = 0.0, here
    cdef idx_t j
    for j in range(n):
        plain += variance[j]
        united += variance[j] / (span[j] * span[j])
    for j in range(n):
        if variance[j] > 0.0:
            here = 1.0 / (span[j] * span[j])
            distance += variance[j] * here / united * log(here * (plain / united))
    return distance


cdef bint units_differ(const double* span, const double* variance, idx_t n) noexcept nogil:
    return measure_distance(span, variance, n) > UNIT_DISTANCE


def have_different_units(const X_t[:, ::1] X, const w_t[::1] sample_weight):
    """Whether features are in different units.

    Parameters
    ----------
    X : ndarray of float32, shape (n_samples, n_features)
        NaN means missing.
    sample_weight : ndarray of float64, shape (n_samples,)
        Positive weights of the rows.

    Returns
    -------
    bool
    """
    cdef Workspace workspace = Workspace()
    cdef idx_t n = X.shape[1], first = 0, n_here
    cdef idx_t n_block = max(<idx_t>1, <idx_t>BLOCK_CELLS // X.shape[0])
    cdef double* span = <double*>workspace.take(n, sizeof(double))
    cdef double* variance = <double*>workspace.take(n, sizeof(double))
    cdef Dataset block
    cdef FitView fit
    cdef volatile int never = 0
    # Ranks of all columns at once could take as much memory as X does.
    while first < n:
        n_here = min(n_block, n - first)
        block = Dataset(np.asarray(X)[:, first:first + n_here], keep_rows=True)
        fit = lend_fit(&block.view, NULL, &sample_weight[0], &never, 1)
        measure_spans(&fit, span + first, workspace)
        measure_variances(&fit, variance + first, workspace)
        check_signals()
        first += n_here
    return bool(units_differ(span, variance, n))


include "weight_unit.pxi"
