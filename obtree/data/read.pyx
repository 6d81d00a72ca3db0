"""Ranks and values of a node's rows, wherever a Dataset keeps them.

Dense ranks lie in their column, once more in rows, and for small nodes in a block. A sparse
column holds its entries by row: a large node walks through the entries and looks up where each
row stands in the node, a small one looks its rows up in the column. Values are read from X where
it is kept, and otherwise from the ranks and what they stand for, a block of rows at a time.
"""

from libc.math cimport NAN
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.dispatch cimport kernels
from obtree.core.sort cimport lower_bound, make_word, word_key
from obtree.core.types cimport X_t, feature_t, idx_t, row_t
from obtree.data.dataset cimport ColumnView, DataView

cdef enum:
    BLOCK = 256               # rows that are turned from ranks to values at a time
    WALK = 8                  # entries of a column that are walked for each row of a node


# ---- ranks ------------------------------------------------------------------------------


cdef inline void gather_ranks(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                              bint of_node, uint32_t* out, uint32_t* low,
                              uint32_t* high) noexcept nogil:
    cdef RankColumn column
    if view.columns[j].rows != NULL:
        gather_stored(&view.columns[j], rows, n, out, low, high)
        return
    view_ranks(view, j, rows, n, of_node, &column)
    kernels().gather_codes(column.codes, column.width, column.stride, column.rows, n, out, low,
                           high)


cdef void gather_codes(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                       uint32_t* out, uint32_t* low, uint32_t* high) noexcept nogil:
    gather_ranks(view, j, rows, n, True, out, low, high)


cdef idx_t gather_above(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                        uint64_t* words, uint32_t* bits) noexcept nogil:
    cdef RankColumn column
    view_ranks(view, j, rows, n, True, &column)
    return kernels().gather_above(column.codes, column.width, column.stride, column.rows, n,
                                  words, bits)


cdef idx_t find_row(const row_t* rows, idx_t start, idx_t n, row_t row) noexcept nogil:
    """The first of the ascending rows from `start` on that is not before `row`: it is near."""
    cdef idx_t step = 1
    while start + step < n and rows[start + step] < row:
        start += step
        step *= 2
    return start + lower_bound(rows + start, min(step, n - start), row)


cdef inline bint find_common(const ColumnView* column, const row_t* rows, idx_t n, idx_t* k,
                             idx_t* p) noexcept nogil:
    """IN/OUT k, p: the next entry of a sparse column that is one of a node's rows, if any."""
    while p[0] < n and k[0] < column.n_stored:
        if column.rows[k[0]] < rows[p[0]]:
            k[0] = find_row(column.rows, k[0], column.n_stored, rows[p[0]])
        elif column.rows[k[0]] > rows[p[0]]:
            p[0] = find_row(rows, p[0], n, column.rows[k[0]])
        else:
            return True
    return False


cdef void gather_stored(const ColumnView* column, const row_t* rows, idx_t n, uint32_t* out,
                        uint32_t* low, uint32_t* high) noexcept nogil:
    """Sparse column: zero everywhere, then the entries that fall into the node."""
    cdef idx_t n_found = 0, p = 0, k = 0
    cdef uint32_t code
    low[0] = <uint32_t>0xFFFFFFFF
    high[0] = 0
    for p in range(n):
        out[p] = column.zero_code
    p = 0
    while find_common(column, rows, n, &k, &p):
        code = stored_code(column, k)
        out[p] = code
        low[0] = min(low[0], code)
        high[0] = max(high[0], code)
        n_found += 1
        p += 1
        k += 1
    if n_found < n:
        low[0] = min(low[0], column.zero_code)
        high[0] = max(high[0], column.zero_code)


cdef idx_t gather_entries(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                          uint64_t* words, uint32_t* bits) noexcept nogil:
    cdef const ColumnView* column = &view.columns[j]
    cdef const row_t* stored = column.rows
    cdef idx_t k = 0, p = 0, n_stored = column.n_stored, n_found = 0, start
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
    while find_common(column, rows, n, &k, &p):
        code = stored_code(column, k)
        words[n_found] = make_word(code, p)
        if code != zero:
            bits[0] |= code
            n_found += 1
        k += 1
        p += 1
    return n_found


cdef bint column_varies(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                        uint64_t* words) noexcept nogil:
    cdef const ColumnView* column = &view.columns[j]
    cdef idx_t p = 1, n_words
    cdef uint32_t first, bits
    if column.rows == NULL:
        first = stored_code(column, rows[0])
        while p < n and stored_code(column, rows[p]) == first:
            p += 1
        return p < n
    n_words = gather_entries(view, j, rows, n, words, &bits)
    if n_words < n:
        return n_words > 0
    while p < n and word_key(words[p]) == word_key(words[0]):
        p += 1
    return p < n


cdef bint column_lacks_value(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                             uint32_t* codes) noexcept nogil:
    cdef uint32_t low, high
    if not view.columns[j].has_missing:
        return False
    gather_codes(view, j, rows, n, codes, &low, &high)
    return high == view.columns[j].n_values


cdef idx_t find_complete(const DataView* view, const row_t* rows, idx_t n, uint32_t* codes,
                         feature_t* out) noexcept nogil:
    cdef idx_t j, n_complete = 0
    for j in range(view.n_features):
        if not column_lacks_value(view, j, rows, n, codes):
            out[n_complete] = <feature_t>j
            n_complete += 1
    return n_complete


# ---- values -----------------------------------------------------------------------------


cdef void spread_column(const DataView* view, idx_t j, const row_t* rows, idx_t n, idx_t stride,
                        X_t* out) noexcept nogil:
    """out[p * stride] for each of the rows."""
    cdef uint32_t codes[BLOCK]
    cdef uint32_t low, high, n_values
    cdef const X_t* cells
    cdef const X_t* values
    cdef idx_t p, n_here, row_stride = view.row_stride
    if view.X != NULL:
        cells = view.X + j * view.col_stride
        for p in range(n):
            out[p * stride] = cells[rows[p] * row_stride]
        return
    values = view.columns[j].values
    n_values = view.columns[j].n_values
    while n > 0:
        n_here = min(<idx_t>BLOCK, n)
        gather_ranks(view, j, rows, n_here, False, codes, &low, &high)
        for p in range(n_here):
            out[p * stride] = values[codes[p]] if codes[p] < n_values else <X_t>NAN
        rows += n_here
        out += n_here * stride
        n -= n_here


cdef void read_column(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                      X_t* out) noexcept nogil:
    spread_column(view, j, rows, n, 1, out)


cdef void read_rows(const DataView* view, const row_t* rows, idx_t n, const feature_t* features,
                    idx_t n_features, X_t* out) noexcept nogil:
    cdef const X_t* row
    cdef idx_t p, k, n_here, step = view.col_stride
    if view.X != NULL:
        for p in range(n):
            row = view.X + rows[p] * view.row_stride
            if step == 1:
                for k in range(n_features):
                    out[k] = row[features[k]]
            else:
                for k in range(n_features):
                    out[k] = row[features[k] * step]
            out += n_features
        return
    p = 0
    while p < n:
        n_here = min(<idx_t>BLOCK, n - p)
        for k in range(n_features):
            spread_column(view, features[k], rows + p, n_here, n_features,
                          out + p * n_features + k)
        p += BLOCK


cdef void read_columns(const DataView* view, const row_t* rows, idx_t n,
                       const feature_t* features, idx_t n_features, X_t* out) noexcept nogil:
    cdef idx_t k, p = 0
    # A block of rows stays in the cache while all features are taken out of it.
    while p < n:
        for k in range(n_features):
            read_column(view, features[k], rows + p, min(<idx_t>BLOCK, n - p), out + k * n + p)
        p += BLOCK


cdef X_t read_value(const DataView* view, row_t row, idx_t j) noexcept nogil:
    cdef const ColumnView* column
    cdef uint32_t code
    cdef idx_t k = row
    if view.X != NULL:
        return view.X[row * view.row_stride + j * view.col_stride]
    column = &view.columns[j]
    if column.rows != NULL:
        k = lower_bound(column.rows, column.n_stored, row)
    code = column.zero_code
    if k < column.n_stored and stored_row(column, k) == row:
        code = stored_code(column, k)
    return column.values[code] if code < column.n_values else <X_t>NAN


cdef X_t find_value(const DataView* view, idx_t j, uint32_t code,
                    const row_t* rows, idx_t n) noexcept nogil:
    cdef const ColumnView* column = &view.columns[j]
    cdef idx_t p
    if column.values != NULL:
        return column.values[code]
    if rows != NULL:
        for p in range(n):
            if stored_code(column, rows[p]) == code:
                return view.X[rows[p] * view.row_stride + j * view.col_stride] + <X_t>0.0
    else:
        for p in range(n):
            if stored_code(column, p) == code:
                return view.X[p * view.row_stride + j * view.col_stride] + <X_t>0.0
    return <X_t>NAN


# ---- many features of sparse rows -------------------------------------------------------


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
