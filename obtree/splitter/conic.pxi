# Quadratic forms of a few features: conic sections as boundaries.
#
# The non-linear weak learner of Criminisi, Shotton and Konukoglu (2011, equation 2.3). A
# few features are drawn and put on a common scale, z = (x - centre) / spread, and a node asks
# whether z'Az + b'z <= threshold for random A and b: in two dimensions an ellipse, a
# hyperbola, a parabola or nearly a line.
#
# The spread is a feature's standard deviation in the node and the centre is drawn about its
# mean, so that features of any unit play the same part. The form is then multiplied out: the
# tree keeps terms in the features themselves.

from libc.math cimport fabs, floor, frexp, ldexp, sqrt

from obtree.core.params import FLAG, Integer, check_params
from obtree.core.random cimport normal
from obtree.core.types cimport feature_t, idx_t
from obtree.data.project cimport project_rows
from obtree.splitter.base cimport NodeTask
from obtree.splitter.varying cimport draw_features

cdef enum:
    MAX_SUBSET = 8            # 44 terms, for which every plane has room
    CENTRE_STEPS = 64         # places for a centre within one spread

CONIC_RULES = {"subset_size": (Integer(1, MAX_SUBSET),), "two_sided": (FLAG,)}


cdef class ConicSplitter(DirectionSplitter):
    """Best threshold on a random quadratic form of a few features.

    Of ``max_features`` random forms, the one whose best threshold improves the criterion
    most. Each is a random quadratic form in ``subset_size`` features, drawn among those that
    are not constant in the node. A row that lacks one of them goes to the side that is better
    for the criterion.

    Parameters
    ----------
    subset_size : int, default=2
        Features of a form, 1 to 8.
    two_sided : bool, default=False
        Whether a node may ask for an interval, ``lower < form <= threshold``: a ring rather
        than an ellipse.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from obtree import ObliqueTreeClassifier
    >>> X, y = make_circles(400, factor=0.5, random_state=0)
    >>> tree = ObliqueTreeClassifier(splitter="conic", max_features=1.0, random_state=0)
    >>> tree.fit(X, y).get_n_leaves() <= 12
    True
    """

    parameter_names = ("subset_size", "two_sided")

    cdef readonly idx_t subset_size

    def __init__(self, subset_size=2, *, two_sided=False):
        check_params(CONIC_RULES, subset_size=subset_size, two_sided=two_sided)
        self.subset_size = subset_size
        self.two_sided = two_sided

    cdef bint draw_direction(self, const NodeTask* task) except -1 nogil:
        cdef feature_t subset[MAX_SUBSET]
        cdef double centre[MAX_SUBSET]
        cdef double inverse[MAX_SUBSET]
        cdef double factor
        cdef idx_t n_subset, n_terms, i, j
        n_subset = draw_features(&self.features, self.rng, self.subset_size, subset)
        if n_subset == 0:
            return False
        for i in range(n_subset):
            self._measure(task, subset[i], &centre[i], &inverse[i])
        for i in range(n_subset):
            self.candidate.feature[i] = subset[i]
            self.candidate.weight[i] = normal(self.rng) * inverse[i]
            self.partner[i] = -1
        n_terms = n_subset
        for i in range(n_subset):
            for j in range(i + 1):
                # f * (xi - ci) * (xj - cj) = f * (xi * xj - cj * xi - ci * xj) + constant
                factor = normal(self.rng) * inverse[i] * inverse[j]
                self.candidate.feature[n_terms] = subset[i]
                self.partner[n_terms] = subset[j]
                self.candidate.weight[n_terms] = factor
                self.candidate.weight[i] -= factor * centre[j]
                self.candidate.weight[j] -= factor * centre[i]
                n_terms += 1
        self.candidate.n_terms = n_terms
        self.candidate.partner = self.partner
        return True

    cdef void _measure(self, const NodeTask* task, feature_t j, double* centre,
                       double* inverse) noexcept nogil:
        """A random place among a feature's values in the node, and one over their spread.

        Both are rounded to a few bits: sums over the same rows in another order, or over
        repeated instead of weighted rows, then give the same form.
        """
        cdef double value, w, origin = 0.0, total = 0.0, mean = 0.0, squares = 0.0, spread
        cdef idx_t p
        self.candidate.n_terms = 1
        self.candidate.feature[0] = j
        self.candidate.weight[0] = 1.0
        self.candidate.partner = NULL
        project_rows(self.view, &self.candidate, task.rows, task.n, self.score)
        for p in range(task.n):
            value = self.score[p]
            if value != value:
                continue
            w = task.weight[task.rows[p]]
            if total == 0.0:
                origin = value
            value -= origin
            total += w
            mean += w * value
            squares += w * value * value
        mean /= total
        spread = sqrt(max(squares / total - mean * mean, 0.0))
        mean += origin
        if not spread > 1e-9 * fabs(mean):
            # One value, and missing ones: its size will do for a unit.
            spread = fabs(mean) if mean != 0.0 else 1.0
        spread = round_to_power(spread)
        inverse[0] = 1.0 / spread
        centre[0] = floor((mean / spread + normal(self.rng)) * CENTRE_STEPS) / CENTRE_STEPS * spread


cdef inline double round_to_power(double value) noexcept nogil:
    """The nearest power of two, of a positive number."""
    cdef int exponent
    cdef double part = frexp(value, &exponent)
    return ldexp(1.0, exponent if part > 0.7071067811865476 else exponent - 1)
