"""Dataset: X encoded once, shared by all trees and threads.

Each column becomes ranks of its distinct values, in the narrowest of 1, 2 and 4
bytes, column after column. Finding the best cut of a column then means counting or
sorting small integers, and no tree ever compares two floats. The encoding loses
nothing: a rank and the value it stands for determine each other.

What it consists of is made in columns.pxi and by_row.pxi, and read by read.pyx.
"""

import numpy as np
from scipy import sparse

from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, feature_t, idx_t
from obtree.data.encode cimport N_BYTE_VALUES
from obtree.data.read cimport gather_codes, stored_code

include "extract.pxi"
include "by_row.pxi"
include "columns.pxi"


cdef class Dataset:
    """Encoded, read-only copy of X.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features) or scipy sparse CSR/CSC
        Validated input: real numbers, NaN for missing, no infinities. Values are
        rounded to float32.
    n_threads : int, default=1
        Threads used for encoding.
    keep_rows : bool or "wide", default=False
        Whether the splitter needs to read rows of X as float32, not only ranks. "wide":
        unless X consists of bytes, whose ranks are as quickly read.
    categorical : bool ndarray of shape (n_features,), optional
        Which columns hold categories: whole numbers from 0 on, or NaN. The columns of the views
        are numbers first, then categories.
    """

    def __cinit__(self):
        self._columns = NULL
        self._stop = NULL
        self._memory = Workspace()

    def __init__(self, X, *, int n_threads=1, keep_rows=False, categorical=None):
        self._open(X.shape[0], X.shape[1])
        if categorical is not None and np.any(categorical):
            X = self._put_categories_last(X, np.asarray(categorical, dtype=bool))
        self._encode(X, n_threads, keep_rows)
        if self.view.n_categorical:
            self._keep_categories()
        self.numbers = self.view
        self.numbers.n_features -= self.view.n_categorical
        self.numbers.n_categorical = 0
        if self.view.n_categorical:
            self.view.numbers = &self.numbers

    def _encode(self, X, int n_threads, keep_rows):
        self.is_sparse = sparse.issparse(X)
        if self.is_sparse:
            encode_sparse(X.tocsc(), &self.view, self._memory)
            self.view.is_mostly_zero = is_mostly_zero(&self.view)
            lay_entries(&self.view, self._memory)
            return
        if keep_rows == "wide":
            keep_rows = X.dtype.itemsize > 1
        if keep_rows and X.dtype != np.float32:
            X = X.astype(np.float32)
        if X.dtype == np.bool_:
            X = X.view(np.uint8)
        if X.dtype == np.float32:
            self._keep_rows(X)
        if X.dtype == np.uint8:
            encode_bytes(X, &self.view, self._memory, n_threads, self._stop)
        else:
            # Wide integers and unusual floats go through float64.
            encode_dense(X if X.dtype in NATIVE_TYPES else X.astype(np.float64), &self.view,
                         self._memory, n_threads, self._stop)
        self.view.is_mostly_zero = is_mostly_zero(&self.view)
        if self.view.is_mostly_zero and keep_rows:
            lay_entries(&self.view, self._memory)
        if not keep_rows and self._every_column_has_values():
            self._X = None
            self.view.X = NULL

    @staticmethod
    def of_rows(X):
        """X as it is, for those who read rows only: nothing is encoded.

        Parameters
        ----------
        X : C-contiguous ndarray of shape (n_samples, n_features), float32 or uint8
            Bytes are ranks of which each stands for itself.

        Returns
        -------
        Dataset
        """
        cdef Dataset self = Dataset.__new__(Dataset)
        self._open(X.shape[0], X.shape[1])
        if X.dtype == np.uint8:
            self._keep_bytes(X)
        else:
            self._keep_rows(X)
        self.numbers = self.view
        return self

    @property
    def n_samples(self):
        return self.view.n_samples

    @property
    def n_features(self):
        return self.view.n_features

    @property
    def n_bytes(self):
        """Memory of the encoding, without X itself."""
        return self._memory.n_bytes

    def column(self, idx_t j):
        """Ranks of column j (dense), its distinct values or None, for inspection."""
        if not 0 <= j < self.view.n_features:
            raise IndexError(f"column {j} of {self.view.n_features}")
        codes = np.empty(self.view.n_samples, dtype=np.uint32)
        rows = np.arange(self.view.n_samples, dtype=np.int32)
        cdef uint32_t[::1] codes_view = codes
        cdef const int32_t[::1] rows_view = rows
        cdef uint32_t low, high
        if self.view.n_samples:
            gather_codes(&self.view, j, &rows_view[0], self.view.n_samples, &codes_view[0],
                         &low, &high)
        values = None
        if self._columns[j].values != NULL:
            values = np.array([self._columns[j].values[i]
                               for i in range(self._columns[j].n_values)], dtype=np.float32)
        return codes, values

    cdef int _open(self, idx_t n_samples, idx_t n_features) except -1:
        """A view of columns that are not encoded yet."""
        self._columns = <ColumnView*>self._memory.take(n_features, sizeof(ColumnView))
        memset(self._columns, 0, n_features * sizeof(ColumnView))
        memset(&self.view, 0, sizeof(DataView))
        self.view.n_samples = n_samples
        self.view.n_features = n_features
        self.view.columns = self._columns
        return 0

    cdef object _put_categories_last(self, object X, object categorical):
        """X with its columns in the order of the views, which know it from now on."""
        cdef feature_t* source
        cdef idx_t j
        if sparse.issparse(X):
            raise ValueError("categories need dense X, got a sparse matrix")
        order = np.argsort(categorical, kind="stable")
        source = <feature_t*>self._memory.take(len(order), sizeof(feature_t))
        for j in range(len(order)):
            source[j] = order[j]
        self.view.source = source
        self.view.n_categorical = int(np.count_nonzero(categorical))
        return X[:, order]

    cdef int _keep_categories(self) except -1:
        """Keep what the ranks of categories stand for, however many there are."""
        cdef ColumnView* column
        cdef X_t* values
        cdef X_t value
        cdef idx_t i, j
        for j in range(self.view.n_features - self.view.n_categorical, self.view.n_features):
            column = &self._columns[j]
            if column.values != NULL:
                self._check_categories(column.values, column.n_values)
                continue
            values = <X_t*>self._memory.take_part(column.n_values, sizeof(X_t))
            for i in range(self.view.n_samples):
                value = self.view.X[i * self.view.row_stride + j * self.view.col_stride]
                if value == value:
                    values[stored_code(column, i)] = value
            column.values = values
            self._check_categories(values, column.n_values)
        return 0

    cdef int _check_categories(self, const X_t* values, idx_t n) except -1:
        """Refuse what cannot be the numbers of categories."""
        cdef idx_t k
        for k in range(n):
            if not 0.0 <= values[k] < 65536.0 or values[k] != <X_t><uint32_t>values[k]:
                raise ValueError(
                    f"a category has number {values[k]}; expected whole numbers from 0 to 65535"
                )
        return 0

    cdef int _keep_rows(self, object X) except -1:
        cdef const X_t[:, :] cells = X
        self._X = X
        self.view.row_stride = X.strides[0] // X.itemsize
        self.view.col_stride = X.strides[1] // X.itemsize
        if X.size:
            self.view.X = &cells[0, 0]
        return 0

    cdef int _keep_bytes(self, object X) except -1:
        cdef const uint8_t[:, ::1] cells = X
        cdef X_t* values = <X_t*>self._memory.take(N_BYTE_VALUES, sizeof(X_t))
        cdef idx_t j
        self._X = X
        for j in range(N_BYTE_VALUES):
            values[j] = <X_t>j
        for j in range(self.view.n_features):
            self._columns[j].width = 1
            self._columns[j].n_values = N_BYTE_VALUES
            self._columns[j].values = values
            self._columns[j].row_offset = j
        self.view.row_codes = &cells[0, 0] if X.size else NULL
        self.view.row_bytes = self.view.n_features
        self.view.row_limit = self.view.n_samples
        return 0

    cdef bint _every_column_has_values(self) noexcept:
        cdef idx_t j
        for j in range(self.view.n_features):
            if self._columns[j].values == NULL:
                return False
        return True
