"""The non-zeros of sparse data, found for the rows of a node at a cost that follows them.

Columns hold their entries by row. A large node meets a column by walking through the column's
entries and looking up where each row stands in the node; a small one looks its rows up in the
column. Planes of many terms are projected the other way round: all entries are kept once more
row by row, and a row costs as much as it has entries, however many terms the plane has.
"""

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from obtree.core.sort cimport make_word, word_key, word_position
from obtree.core.team cimport check_signals
from obtree.core.types cimport X_t, feature_t, idx_t, row_t
from obtree.data.dataset cimport ColumnView, Dataset, DataView, stored_code
from obtree.data.hyperplane cimport LANES, Hyperplane, fold_lanes

cdef enum:
    WALK = 8                  # entries of a column that are walked for each row of a node
    HOLLOW_COLUMNS = 256      # from which data may be called hollow
    HOLLOW_SHARE = 8
    SIGNAL_CELLS = 1 << 20    # that are laid out between two looks for signals


cdef int lay_entries(Dataset dataset) except -1:
    cdef const DataView* view = &dataset.view
    cdef idx_t n = view.n_samples
    cdef int64_t* start = <int64_t*>dataset._memory.take(n + 1, sizeof(int64_t))
    cdef const ColumnView* column
    cdef feature_t* feature
    cdef uint32_t* codes
    cdef X_t* x
    cdef uint32_t code
    cdef idx_t i, j, k, zero, n_rows, n_unseen = 0
    memset(start, 0, (n + 1) * sizeof(int64_t))
    for j in range(view.n_features):
        column = &view.columns[j]
        zero = find_zero(column)
        n_rows = n if column.rows == NULL else column.n_stored
        n_unseen = look_for_signals(n_unseen + n_rows)
        for k in range(n_rows):
            if is_entry(view, j, k, zero):
                start[k if column.rows == NULL else column.rows[k]] += 1
    # From counts to where each row ends, and then, filling backwards, to where it starts.
    for i in range(n):
        n_unseen = look_for_signals(n_unseen + 1)
        start[i + 1] += start[i]
    feature = <feature_t*>dataset._memory.take(start[n], sizeof(feature_t))
    codes = <uint32_t*>dataset._memory.take(start[n], sizeof(uint32_t))
    x = <X_t*>dataset._memory.take(start[n], sizeof(X_t))
    for j in range(view.n_features - 1, -1, -1):
        column = &view.columns[j]
        zero = find_zero(column)
        n_rows = n if column.rows == NULL else column.n_stored
        n_unseen = look_for_signals(n_unseen + n_rows)
        for k in range(n_rows):
            code = stored_code(column, k)
            if is_entry(view, j, k, zero):
                i = k if column.rows == NULL else column.rows[k]
                start[i] -= 1
                feature[start[i]] = <feature_t>j
                codes[start[i]] = code
                if view.X != NULL:
                    x[start[i]] = view.X[i * view.row_stride + j * view.col_stride]
                else:
                    x[start[i]] = column.values[code] if code < column.n_values else <X_t>NAN
    dataset.view.entry_start = start
    dataset.view.entry_feature = feature
    dataset.view.entry_code = codes
    dataset.view.entry_x = x
    return 0


cdef inline idx_t look_for_signals(idx_t n_unseen) except -1:
    """Raise what a signal handler raises, now and then. Returns the cells since the last look."""
    if n_unseen < SIGNAL_CELLS:
        return n_unseen
    check_signals()
    return 0


cdef inline bint is_entry(const DataView* view, idx_t j, idx_t k, idx_t zero) noexcept nogil:
    """Whether cell k of a column is not zero; `zero` is its rank, as found by `find_zero`."""
    if view.columns[j].values == NULL:
        return view.X[k * view.row_stride + j * view.col_stride] != 0.0
    return <idx_t>stored_code(&view.columns[j], k) != zero


cdef bint is_hollow(const DataView* view) noexcept nogil:
    cdef const ColumnView* column
    cdef idx_t n = view.n_samples, j, k, zero, total = 0
    cdef idx_t limit = n * view.n_features // HOLLOW_SHARE
    if view.n_features < HOLLOW_COLUMNS:
        return False
    for j in range(view.n_features):
        column = &view.columns[j]
        zero = find_zero(column)
        if zero < 0 or column.n_values > n // 4:
            total += n
        elif column.rows != NULL:
            total += column.n_stored
            for k in range(column.n_stored):
                total -= stored_code(column, k) == <uint32_t>zero
        elif zero == 0:
            total += column.n_above
        else:
            for k in range(n):
                total += stored_code(column, k) != <uint32_t>zero
        if total > limit:
            return False
    return True


cdef idx_t find_zero(const ColumnView* column) noexcept nogil:
    """The rank of zero in a column, -1 when it is none of the values."""
    cdef idx_t start = 0, end = column.n_values, middle
    if column.values == NULL:
        return -1
    while start < end:
        middle = (start + end) // 2
        if column.values[middle] < 0.0:
            start = middle + 1
        else:
            end = middle
    return start if start < <idx_t>column.n_values and column.values[start] == 0.0 else -1


cdef idx_t find_row(const row_t* rows, idx_t start, idx_t n, row_t row) noexcept nogil:
    """The first of the ascending rows from `start` on that is not before `row`: it is near."""
    cdef idx_t step = 1, end, middle
    while start + step < n and rows[start + step] < row:
        start += step
        step *= 2
    end = min(start + step, n)
    while start < end:
        middle = (start + end) // 2
        if rows[middle] < row:
            start = middle + 1
        else:
            end = middle
    return start


cdef idx_t gather_entries(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                          uint64_t* words, uint32_t* bits) noexcept nogil:
    cdef const ColumnView* column = &view.columns[j]
    cdef const row_t* stored = column.rows
    cdef idx_t k = 0, p, n_stored = column.n_stored, n_found = 0, start
    cdef uint32_t code, zero = column.zero_code
    bits[0] = 0
    if view.touched != NULL:
        if view.touched[j] != view.node:
            return 0
        start = view.word_start[view.slot[j]]
        n_found = view.word_start[view.slot[j] + 1] - start
        for k in range(n_found):
            words[k] = view.words[start + k]
            bits[0] |= word_key(words[k])
        return n_found
    if view.place != NULL and n_stored <= WALK * n:
        for k in range(n_stored):
            p = view.place[stored[k]]
            if p >= n or rows[p] != stored[k]:
                continue
            code = stored_code(column, k)
            words[n_found] = make_word(code, p)
            if code != zero:
                bits[0] |= code
                n_found += 1
        return n_found
    for p in range(n):
        if k == n_stored:
            break
        k = find_row(stored, k, n_stored, rows[p])
        if k < n_stored and stored[k] == rows[p]:
            code = stored_code(column, k)
            words[n_found] = make_word(code, p)
            if code != zero:
                bits[0] |= code
                n_found += 1
            k += 1
    return n_found


cdef bint entries_vary(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                       uint64_t* words) noexcept nogil:
    cdef uint32_t bits
    cdef idx_t i, n_words = gather_entries(view, j, rows, n, words, &bits)
    if n_words < n:
        return n_words > 0
    for i in range(1, n):
        if word_key(words[i]) != word_key(words[0]):
            return True
    return False


cdef idx_t project_entries(const DataView* view, const Hyperplane* plane, const row_t* rows,
                           idx_t n, double* out, row_t* at, uint8_t* met,
                           uint64_t* words) noexcept nogil:
    cdef const ColumnView* column
    cdef uint32_t bits
    cdef idx_t i, k, p, n_words, n_met = 0, n_kept = 0
    if plane.n_terms >= LANES or plane.partner != NULL:
        return -1
    for k in range(plane.n_terms):
        if view.columns[plane.feature[k]].has_missing:
            return -1
    for k in range(plane.n_terms):
        column = &view.columns[plane.feature[k]]
        n_words = gather_entries(view, plane.feature[k], rows, n, words, &bits)
        for i in range(n_words):
            p = word_position(words[i])
            out[p] += plane.weight[k] * <double>column.values[word_key(words[i])]
            at[n_met] = <row_t>p
            n_met += not met[p]
            met[p] = 1
    # What adds up to nothing is as good as not met.
    for i in range(n_met):
        p = at[i]
        met[p] = 0
        at[n_kept] = <row_t>p
        n_kept += out[p] != 0.0
    return n_kept


cdef bint mark_terms(const DataView* view, const feature_t* feature, idx_t n_terms) noexcept nogil:
    cdef idx_t k
    if view.term_of == NULL or view.entry_start == NULL:
        return False
    for k in range(n_terms):
        view.term_of[feature[k]] = <row_t>(k + 1)
    return True


cdef void clear_terms(const DataView* view, const feature_t* feature,
                      idx_t n_terms) noexcept nogil:
    cdef idx_t k
    for k in range(n_terms):
        view.term_of[feature[k]] = 0


cdef bint project_by_rows(const DataView* view, const Hyperplane* plane, const row_t* rows,
                          idx_t n, double* out) noexcept nogil:
    cdef double lanes[2 * LANES]
    cdef int64_t e
    cdef idx_t p, k, lane
    if plane.n_terms < LANES or plane.partner != NULL:
        return False
    for k in range(1, plane.n_terms):
        if plane.feature[k] <= plane.feature[k - 1]:
            return False
    if not mark_terms(view, plane.feature, plane.n_terms):
        return False
    for p in range(n):
        for lane in range(2 * LANES):
            lanes[lane] = 0.0
        # Terms of zeros add nothing to their sums; the others come in the order of the terms.
        for e in range(view.entry_start[rows[p]], view.entry_start[rows[p] + 1]):
            # Which features have a term cannot be foreseen, so there is no branch on it: other
            # entries go to sums that nobody reads, in turn, so that none waits for the last.
            k = view.term_of[view.entry_feature[e]]
            lane = ((k - 1) & (LANES - 1)) + (LANES + (e & (LANES - 1)) - (LANES - 1)) * (k == 0)
            lanes[lane] += plane.weight[max(k - 1, <idx_t>0)] * <double>view.entry_x[e]
        fold_lanes(lanes, 1)
        out[p] = lanes[0]
    clear_terms(view, plane.feature, plane.n_terms)
    return True
