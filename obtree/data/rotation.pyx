"""Random groups of features turned to their principal components (Rodriguez et al., 2006).

The linear map of a rotation forest. It is drawn once for each tree; planes of components are
turned back into planes of features, so that nothing outside of growth knows of it.

Features are standardised, so that components are those of the correlations and scales do not
matter. Features with missing values, and those that are constant, are left as they are.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t

from obtree.core.jacobi cimport find_eigenvectors
from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, next_word, shuffle
from obtree.core.rounding cimport round_to_single
from obtree.core.types cimport X_t, feature_t, idx_t, row_t
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.read cimport read_rows
from obtree.data.scatter cimport (
    Scatter,
    add_row,
    centre_scatter,
    clear_scatter,
    take_scatter,
)

cdef enum:
    BLOCK = 128               # rows copied out of X at a time


cdef class GroupRotation:

    cdef int bind(self, const DataView* view, idx_t group_size, idx_t n_classes,
                  const volatile int* stop, Workspace workspace) except -1:
        cdef idx_t n_features = view.n_features
        self.view = view
        self.stop = stop
        self.group_size = min(group_size, n_features)
        self.member = <feature_t*>workspace.take(n_features, sizeof(feature_t))
        self.start = <idx_t*>workspace.take(n_features, sizeof(idx_t))
        self.length = <idx_t*>workspace.take(n_features, sizeof(idx_t))
        self.axis = <double*>workspace.take(n_features * self.group_size, sizeof(double))
        self.mean = <double*>workspace.take(n_features, sizeof(double))
        self.scale = <double*>workspace.take(n_features, sizeof(double))
        take_scatter(&self.scatter, self.group_size, 0, workspace)
        self.vectors = <double*>workspace.take(self.group_size * self.group_size, sizeof(double))
        self.block = <X_t*>workspace.take(BLOCK * self.group_size, sizeof(X_t))
        self.chosen = <int32_t*>workspace.take(n_classes, sizeof(int32_t))
        self.composed = <double*>workspace.take(n_features, sizeof(double))
        return 0

    cdef void draw(self, const RotationRows* given, RandState* rng) noexcept nogil:
        cdef idx_t n_rotated, n_groups, g, first, end, k
        self._measure_features(given)
        n_rotated = self._draw_groups(rng)
        n_groups = (n_rotated + self.group_size - 1) // self.group_size
        for g in range(n_groups):
            if self.stop[0]:
                return
            # Groups as even as can be.
            first = g * n_rotated // n_groups
            end = (g + 1) * n_rotated // n_groups
            for k in range(first, end):
                self.start[self.member[k]] = first
                self.length[self.member[k]] = end - first
            if end - first == 1:
                continue
            self._draw_classes(given, rng)
            self._measure_group(given, self.member + first, end - first)
            self._turn_group(self.member + first, end - first)

    cdef void _measure_features(self, const RotationRows* given) noexcept nogil:
        """Mean and standard deviation of every feature that can be rotated."""
        cdef Scatter* s = &self.scatter
        cdef feature_t j
        cdef double deviation
        s.n_terms = 1
        for j in range(self.view.n_features):
            self.mean[j] = 0.0
            self.scale[j] = 0.0
            if self.view.columns[j].has_missing:
                continue
            self._measure_group(given, &j, 1)
            deviation = sqrt(max(s.gram[0], 0.0) / s.weight)
            self.scale[j] = round_to_single(deviation)
            self.mean[j] = round_to_single(s.origin[0] + s.mean[0])

    cdef idx_t _draw_groups(self, RandState* rng) noexcept nogil:
        """Shuffle the features to be rotated to the front of `member`; return how many."""
        cdef idx_t n_rotated = 0, n_others = 0
        cdef feature_t j
        for j in range(self.view.n_features):
            self.length[j] = 1
            if self.scale[j] > 0.0:
                self.member[n_rotated] = j
                n_rotated += 1
            else:
                n_others += 1
                self.start[j] = self.view.n_features - n_others
                self.member[self.view.n_features - n_others] = j
        shuffle(self.member, n_rotated, rng)
        return n_rotated

    cdef void _draw_classes(self, const RotationRows* given, RandState* rng) noexcept nogil:
        """Choose each class by the toss of a coin, at least one of them."""
        cdef idx_t c, n_chosen = 0
        while n_chosen == 0 and given.n_classes > 0:
            for c in range(given.n_classes):
                self.chosen[c] = <int32_t>(next_word(rng) >> 63)
                n_chosen += self.chosen[c]

    cdef void _measure_group(self, const RotationRows* given, const feature_t* member,
                             idx_t m) noexcept nogil:
        """Scatter of some features over the rows of the chosen classes (one: all rows)."""
        cdef Scatter* s = &self.scatter
        cdef idx_t first, p, n_here, k
        cdef bint by_class = m > 1 and given.classes != NULL
        s.n_terms = m
        read_rows(self.view, given.rows, 1, member, m, self.block)
        for k in range(m):
            s.origin[k] = self.block[k]
        clear_scatter(s)
        first = 0
        while first < given.n and not self.stop[0]:
            n_here = min(<idx_t>BLOCK, given.n - first)
            read_rows(self.view, given.rows + first, n_here, member, m, self.block)
            for p in range(n_here):
                if not by_class or self.chosen[given.classes[given.rows[first + p]]]:
                    add_row(s, self.block + p * m, given.weight[given.rows[first + p]], NULL)
            first += BLOCK
        if s.weight > 0.0:
            centre_scatter(s)

    cdef void _turn_group(self, const feature_t* member, idx_t m) noexcept nogil:
        """Find the components of the measured group."""
        cdef double* gram = self.scatter.gram
        cdef idx_t a, b
        for a in range(m):
            for b in range(a + 1):
                gram[a * m + b] /= self.scale[member[a]] * self.scale[member[b]]
                gram[b * m + a] = gram[a * m + b]
        find_eigenvectors(gram, m, self.vectors)
        for a in range(m):
            for b in range(m):
                # Column a of the rotated data; member b of the group.
                self.axis[member[a] * self.group_size + b] = round_to_single(
                    self.vectors[b * m + a] / self.scale[member[b]]
                )

    cdef void apply(self, X_t* out) noexcept nogil:
        cdef idx_t n_features = self.view.n_features, n_here, first, i = 0, p
        cdef row_t rows[BLOCK]
        while i < self.view.n_samples and not self.stop[0]:
            n_here = min(<idx_t>BLOCK, self.view.n_samples - i)
            for p in range(n_here):
                rows[p] = <row_t>(i + p)
            first = 0
            while first < n_features:
                self._apply_group(rows, n_here, first, out + i * n_features)
                first += self.length[self.member[first]]
            i += BLOCK

    cdef void _apply_group(self, const row_t* rows, idx_t n, idx_t first,
                           X_t* out) noexcept nogil:
        """Write the columns of the group that begins at member `first`, for BLOCK rows at most."""
        cdef const feature_t* member = self.member + first
        cdef idx_t n_features = self.view.n_features, m = self.length[member[0]], p, a, k
        cdef const double* axis
        cdef double total
        read_rows(self.view, rows, n, member, m, self.block)
        for p in range(n):
            if m == 1:
                out[p * n_features + member[0]] = self.block[p]
                continue
            for a in range(m):
                axis = self.axis + member[a] * self.group_size
                total = 0.0
                for k in range(m):
                    total += axis[k] * (<double>self.block[p * m + k] - self.mean[member[k]])
                out[p * n_features + member[a]] = <X_t>total

    cdef void compose(self, Hyperplane* plane) noexcept nogil:
        cdef idx_t n_features = self.view.n_features
        cdef double shift = 0.0
        cdef double weight
        cdef feature_t j, feature
        cdef idx_t k, a
        for j in range(n_features):
            self.composed[j] = 0.0
        for k in range(plane.n_terms):
            j = plane.feature[k]
            if self.length[j] == 1:
                self.composed[j] += plane.weight[k]
                continue
            for a in range(self.length[j]):
                feature = self.member[self.start[j] + a]
                weight = plane.weight[k] * self.axis[j * self.group_size + a]
                self.composed[feature] += weight
                shift += weight * self.mean[feature]
        plane.n_terms = 0
        for j in range(n_features):
            if self.composed[j] != 0.0:
                plane.feature[plane.n_terms] = j
                plane.weight[plane.n_terms] = self.composed[j]
                plane.n_terms += 1
        plane.threshold += shift
        plane.lower += shift
