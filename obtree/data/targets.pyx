"""Targets: y in the form that criteria, splitters and optimisers read.

Classes are numbers below the number of classes, real targets are float64. Some rows may have no
class, and there may be no targets at all: what grows a tree then reads X as well, or X alone.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from obtree.core.types cimport y_t

#: What targets may be, in the order of `TargetKind`.
KINDS = ("none", "classes", "real", "partial")


cdef class Targets:
    """Owner of y; lends a `TargetView`.

    Parameters
    ----------
    y : ndarray of shape (n_samples, n_outputs), optional
        Class codes if `n_classes` is given, else real numbers. None: there are no targets.
    n_classes : sequence of int, optional
        Number of classes of each output.
    partial : bool, default=False
        Whether rows may lack a class, for which the code -1 stands.

    Attributes
    ----------
    y : ndarray of shape (n_samples, n_outputs) or None
        int32 or float64, in C order.
    n_classes : int64 ndarray of shape (n_outputs,) or None
        None unless the targets are classes.
    """

    def __init__(self, y=None, n_classes=None, partial=False):
        cdef const int32_t[:, ::1] codes
        cdef const int64_t[::1] counts
        cdef const y_t[:, ::1] values
        self.view.kind = NO_TARGETS
        self.view.n_samples = self.view.n_outputs = self.view.max_n_classes = 0
        self.view.codes = NULL
        self.view.n_classes = NULL
        self.view.values = NULL
        self.y = self.n_classes = None
        if y is None:
            if n_classes is not None:
                raise ValueError(f"n_classes={n_classes} without y; expected class codes")
            return
        if partial and n_classes is None:
            raise ValueError("partial=True without n_classes; expected class codes")
        self.y = np.ascontiguousarray(y, dtype=np.float64 if n_classes is None else np.int32)
        if self.y.ndim != 2 or self.y.size == 0:
            raise ValueError(
                f"y has shape {self.y.shape}; expected (n_samples, n_outputs), both at least 1"
            )
        self.view.n_samples, self.view.n_outputs = self.y.shape
        if n_classes is None:
            self.view.kind = REAL_TARGETS
            values = self.y
            self.view.values = &values[0, 0]
            return
        self.n_classes = np.ascontiguousarray(n_classes, dtype=np.int64)
        if self.n_classes.shape != (self.view.n_outputs,):
            raise ValueError(
                f"n_classes has shape {self.n_classes.shape}; expected one number for each of "
                f"{self.view.n_outputs} outputs"
            )
        least = -1 if partial else 0
        if self.y.min() < least or (self.y.max(axis=0) >= self.n_classes).any():
            raise ValueError(
                f"y has codes from {self.y.min()} to {self.y.max()}; expected {least} to below "
                f"n_classes={self.n_classes.tolist()}"
            )
        self.view.kind = PARTIAL_TARGETS if partial else CLASS_TARGETS
        codes = self.y
        counts = self.n_classes
        self.view.codes = &codes[0, 0]
        self.view.n_classes = &counts[0]
        self.view.max_n_classes = self.n_classes.max()

    @property
    def kind(self):
        """What they are: one of `KINDS`."""
        return KINDS[<int>self.view.kind]
