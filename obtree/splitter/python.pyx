"""Splitters in plain Python: slow, and quick to write.

Every node costs a call into Python and a copy of its rows, so that a tree takes perhaps a
hundred times as long as with a compiled splitter. Threads take turns: the tree that asks
holds the GIL until its answer is there. The contract towards the rest of obtree is that of a
compiled splitter, and what the method returns is checked.
"""

import numbers

import numpy as np

from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int32_t, int64_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport next_word
from obtree.core.sort cimport make_word
from obtree.core.types cimport FOUND, LEAF, X_t, feature_t, idx_t, row_t, w_t, y_t
from obtree.criterion.base cimport Criterion, Cut
from obtree.data.dataset cimport DataView
from obtree.data.missing cimport goes_to_left
from obtree.data.project cimport project_rows
from obtree.data.read cimport read_rows
from obtree.data.targets cimport REAL_TARGETS, TargetView
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter, TreeTask

from obtree.core.names import show


cdef class PythonSplitter(Splitter):
    """Base class of splitters written in Python.

    Subclass it and write ``split``. While a tree grows these attributes tell what it may need
    to know: ``max_features_``, how many candidates a node should look at; ``n_classes_``, the
    number of classes (an array of them for several outputs, None in regression); and
    ``min_samples_leaf_``, the fewest rows of a side. Parameters are the arguments of
    ``__init__``, each stored under its own name. Nothing else should be kept on the object:
    every thread works on a copy of its own.

    A row that lacks a feature of the plane goes to the side that is better for the criterion.
    A plane that leaves one side with fewer rows, or less weight, than the estimator allows
    makes the node a leaf.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueForestClassifier
    >>> from obtree.splitter import PythonSplitter
    >>> class Halves(PythonSplitter):
    ...     '''Median of a random direction.'''
    ...
    ...     def split(self, X, y, sample_weight, rng):
    ...         weights = rng.normal(size=X.shape[1]) / (X.std(axis=0) + 1e-9)
    ...         return weights, np.median(X @ weights)
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ObliqueForestClassifier(50, splitter=Halves(), random_state=0)
    >>> forest.fit(X, y).score(X, y) > 0.95
    True
    """

    needs_rows = True

    cdef readonly object max_features_
    cdef readonly object n_classes_
    cdef readonly object min_samples_leaf_
    cdef object y                     # of all rows
    cdef object generator             # NumPy's, of the tree
    cdef feature_t* every             # (n_features) 0, 1, ...
    cdef uint64_t* words              # (n_samples)
    cdef uint64_t* buffer             # (n_samples)
    cdef double* projection           # (n_samples)

    def split(self, X, y, sample_weight, rng):
        """Propose a plane for one node.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
            The node's rows, a copy; NaN where a value is missing. Sparse input is made dense.
        y : ndarray of shape (n,), or (n, n_outputs) for several outputs
            Numbers of the classes, -1 where a row has none, or the targets of a regression;
            None where there are no targets.
        sample_weight : ndarray of shape (n,)
            Weights of the rows, all positive; a row drawn twice by a bootstrap weighs 2.
        rng : numpy.random.Generator
            The only source of random numbers, so that ``random_state`` repeats the tree.

        Returns
        -------
        weights : array-like of shape (n_features,)
        threshold : float
            A row goes left when the sum of its features times ``weights`` is at most this.
            None instead of the pair makes the node a leaf.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement split")

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        cdef idx_t j, n = targets.n_samples, k = targets.n_outputs
        Splitter.bind(self, view, targets, criterion, settings, workspace)
        self.max_features_ = settings.max_features
        self.n_classes_ = None
        self.min_samples_leaf_ = 1
        self.y = None
        if targets.n_classes != NULL:
            self.y = np.asarray(<const int32_t[:n, :k]>targets.codes)
            self.n_classes_ = np.array(<const int64_t[:k]>targets.n_classes)
            if k == 1:
                self.n_classes_ = int(self.n_classes_[0])
        elif targets.kind == REAL_TARGETS:
            self.y = np.asarray(<const y_t[:n, :k]>targets.values)
        if self.y is not None and k == 1:
            self.y = self.y[:, 0]
        self.every = <feature_t*>workspace.take(view.n_features, sizeof(feature_t))
        for j in range(view.n_features):
            self.every[j] = <feature_t>j
        self.words = <uint64_t*>workspace.take(view.n_samples, sizeof(uint64_t))
        self.buffer = <uint64_t*>workspace.take(view.n_samples, sizeof(uint64_t))
        self.projection = <double*>workspace.take(view.n_samples, sizeof(double))
        return 0

    cdef int begin_tree(self, const TreeTask* task) except -1 nogil:
        Splitter.begin_tree(self, task)
        with gil:
            seed = [next_word(task.rng), next_word(task.rng)]
            self.generator = np.random.default_rng(seed)
        return 0

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        if self.settings.stop[0]:
            return LEAF
        with gil:
            return self._ask(task, out)

    cdef int _ask(self, const NodeTask* task, SplitResult* out) except -1:
        """Call `split`, check what it returns and make it the proposal."""
        cdef idx_t n = task.n, p = self.view.n_features
        cdef const row_t[::1] at = <const row_t[:n]>task.rows
        cdef const w_t[::1] by_row = <const w_t[:self.view.n_samples]>task.weight
        cdef X_t[:, ::1] cells
        rows = np.array(at)
        X = np.empty((n, p), dtype=np.float32)
        cells = X
        read_rows(self.view, task.rows, n, self.every, p, &cells[0, 0])
        self.min_samples_leaf_ = task.limits.min_samples_leaf
        answer = self.split(X.astype(np.float64), None if self.y is None else self.y[rows],
                            np.asarray(by_row)[rows], self.generator)
        if answer is None:
            return LEAF
        weights, threshold = self._check_answer(answer)
        self._write_terms(weights, out)
        out.plane.threshold = threshold
        project_rows(self.view, &out.plane, task.rows, n, self.projection)
        self._check_sums(X, weights)
        return self._choose_side(task, out)

    cdef int _write_terms(self, weights, SplitResult* out) except -1:
        """The features whose weight is not zero."""
        cdef const double[::1] weight = weights
        cdef idx_t j
        out.plane.n_terms = 0
        for j in range(weight.shape[0]):
            if weight[j] != 0.0:
                out.plane.feature[out.plane.n_terms] = <feature_t>j
                out.plane.weight[out.plane.n_terms] = weight[j]
                out.plane.n_terms += 1
        return 0

    cdef int _choose_side(self, const NodeTask* task, SplitResult* out) except -1:
        """Send missing values where the criterion wants them; LEAF when no side will do."""
        cdef Cut cut
        cdef bint missing_left = False
        cdef bint any_missing = False
        cdef bint found = False
        cdef idx_t p
        cut.score = -INFINITY
        for p in range(task.n):
            any_missing |= self.projection[p] != self.projection[p]
        while True:
            if self._try_side(task, out.plane.threshold, missing_left, &cut):
                found = True
                out.plane.missing_left = missing_left
            if missing_left or not any_missing:
                break
            missing_left = True
        return FOUND if found else LEAF

    cdef bint _try_side(self, const NodeTask* task, double threshold, bint missing_left,
                        Cut* best) except -1:
        """Whether the cut is allowed, and better than `best`, which it then replaces."""
        cdef double previous = best.score
        cdef idx_t p, n_left = 0, n_right = 0
        for p in range(task.n):
            if goes_to_left(self.projection[p], threshold, missing_left):
                self.words[n_left] = make_word(0, p)
                n_left += 1
            else:
                self.buffer[n_right] = make_word(1, p)
                n_right += 1
        if n_left == 0 or n_right == 0:
            return False
        for p in range(n_right):
            self.words[n_left + p] = self.buffer[p]
        self.criterion.scan(self.words, task.n, &task.limits, best)
        return best.score > previous

    def _check_answer(self, answer):
        """The weights and the threshold that `split` returned, or a clear refusal."""
        name = f"{type(self).__name__}.split"
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise TypeError(
                f"{name} returned {show(answer)}; expected a pair (weights, threshold), or "
                "None for a leaf"
            )
        weights, threshold = answer
        try:
            weights = np.ascontiguousarray(weights, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{name} returned weights that are no numbers: {show(answer[0])}"
            ) from error
        if weights.shape != (self.view.n_features,):
            raise ValueError(
                f"{name} returned weights of shape {weights.shape}; expected "
                f"({self.view.n_features},), one for each feature"
            )
        bad = np.flatnonzero(~np.isfinite(weights))
        if len(bad):
            raise ValueError(
                f"{name} returned the weight {weights[bad[0]]} for feature {bad[0]}; expected "
                "finite numbers (is a mean or a variance taken over missing values?)"
            )
        if not weights.any():
            raise ValueError(
                f"{name} returned weights that are all zero, which divide nothing; return None "
                "for a leaf"
            )
        if isinstance(threshold, np.ndarray) and threshold.ndim == 0:
            threshold = threshold[()]
        if not isinstance(threshold, numbers.Real) or isinstance(threshold, (bool, np.bool_)):
            raise TypeError(
                f"{name} returned the threshold {show(threshold)}; expected a number"
            )
        if not isfinite(<double>threshold):
            raise ValueError(
                f"{name} returned the threshold {threshold}; expected a finite number"
            )
        return weights, float(threshold)

    cdef int _check_sums(self, X, weights) except -1:
        """A sum that is no number must come from a missing value, not from huge weights."""
        cdef double[::1] sums = <double[:len(X)]>self.projection
        used = X[:, weights != 0.0]
        if not np.isfinite(np.asarray(sums)[~np.isnan(used).any(axis=1)]).all():
            raise ValueError(
                f"{type(self).__name__}.split returned weights up to {np.abs(weights).max():.3g}, "
                "with which the sums overflow; divide weights and threshold by the same number"
            )
        return 0
