"""Base class of whole-tree optimisers, and what they learn from.

Subclass `Optimiser` in Cython and write `optimise` (`bind` when scratch is needed, `prepare` when
something is to be found out about the whole problem); ``base.pxd`` has the contract.
"""

import numpy as np

from libc.stdint cimport uint8_t

from obtree.core.types cimport X_t, w_t
from obtree.data.dataset cimport Dataset
from obtree.data.scale import find_weight_unit
from obtree.data.targets cimport Targets


cdef class Problem:
    """Features, targets and weights in the form that optimisers read.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Converted to float32 in C order, unless it consists of bytes and `as_bytes` says
        that these do. NaN means missing.
    y : ndarray of shape (n_rows, n_outputs)
        int32 class codes of one output, or float64 numbers of several.
    sample_weight : ndarray of shape (n_rows,), optional
        Positive weights; all ones by default. Kept in units of one row, see
        ``data/weight_unit.pxi``: penalties are meant in rows.
    n_classes : int, default=0
        Number of classes; 0 in regression.
    n_train : int, optional
        Rows to learn from, the first ones; the rest tells when to stop. All by default.
    as_bytes : bool, default=False
        Whether to leave X of uint8 or bool as it is: a quarter of the memory, which an
        optimiser that can read `bytes` need not wait for.
    """

    def __init__(self, X, y, sample_weight=None, n_classes=0, n_train=None, as_bytes=False):
        cdef const X_t[:, ::1] x
        cdef const uint8_t[:, ::1] cells
        cdef const w_t[::1] weight
        self.x = NULL
        self.bytes = NULL
        X = np.asarray(X)
        if as_bytes and X.dtype in (np.bool_, np.uint8):
            self.X = cells = np.ascontiguousarray(X).view(np.uint8)
            self.bytes = &cells[0, 0]
        else:
            self.X = x = np.ascontiguousarray(X, dtype=np.float32)
            self.x = &x[0, 0]
        self.n_rows, self.n_features = self.X.shape
        self.n_train = self.n_rows if n_train is None else n_train
        self.n_classes = n_classes
        if sample_weight is None:
            sample_weight = np.ones(self.n_rows)
        sample_weight = np.asarray(sample_weight, dtype=np.float64)
        self.weight_unit = find_weight_unit(sample_weight)
        # A row counts, however little: one without a weight would not be in its tree.
        self.sample_weight = weight = np.maximum(sample_weight / self.weight_unit,
                                                 np.finfo(np.float64).tiny)
        if not 1 <= self.n_train <= self.n_rows or weight.shape[0] != self.n_rows:
            raise ValueError(
                f"{self.n_train} rows to learn from and {weight.shape[0]} weights do not fit "
                f"{self.n_rows} rows"
            )
        self._targets = Targets(y, np.full(np.shape(y)[1], n_classes) if n_classes > 0 else None)
        self.y = self._targets.y
        self.n_outputs = self._targets.view.n_outputs
        self.codes = self._targets.view.codes
        self.targets = self._targets.view.values
        if n_classes > 0 and self.n_outputs != 1:
            raise ValueError(f"y has {self.n_outputs} outputs of classes; expected one")
        if self.y.shape[0] != self.n_rows:
            raise ValueError(f"y has {self.y.shape[0]} rows; expected {self.n_rows}")
        # The least number of some is NaN if one of them is; no array of marks is needed.
        self.has_missing = X.dtype.kind == "f" and bool(np.isnan(self.X.min()))
        self.weight = &weight[0]
        self._rows = Dataset.of_rows(self.X)
        self.view = self._rows.view


cdef class Optimiser(Parametrised):
    """Makes a tree better as a whole.

    An optimiser holds parameters only. Every worker thread works on a clone of it. The
    parameters are the keyword arguments of ``__init__``, listed in ``parameter_names``;
    each is readable as an attribute of the same name.
    """

    cdef object prepare(self, Problem problem):
        """What is to be computed once for all workers; None when there is nothing."""
        return None

    cdef int bind(self, Problem problem, const volatile int* stop) except -1:
        """Remember what the worker lends; subclasses call this and take their scratch."""
        self.problem = problem
        self.stop = stop
        return 0

    cdef object optimise(self, object tree, uint32_t seed, int n_threads):
        """Return the optimised model and a dict of what is to be reported about it."""
        raise NotImplementedError(f"{type(self).__name__} must implement optimise")
