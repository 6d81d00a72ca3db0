"""Marginal and conditional densities of a density forest (Criminisi et al. 2011, section 5.6).

A Gaussian of some columns given others is a Gaussian again, but a leaf counts in its cell only.
What of the conditional Gaussian lies inside is found as the mass of the leaf itself was: draws
that all have the given values are sent down the tree. The same draws are used for all rows, so
that the density given a condition is a smooth multiple of the forest's density.
"""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from obtree.core.names import show
from obtree.core.params import Integer, check_param, refuse_param
from obtree.forest.calls import run_calls
from obtree.forest.gaussians import draw_rows

#: Draws from each conditional Gaussian that matters.
N_DRAWS = 256
#: Leaves of less than e^-16 times the density of a tree's best leaf do not matter.
NEGLIGIBLE = 16.0
#: Conditions that are less likely than this are met by no leaf: no number can tell their density.
LEAST_LOG_DENSITY = -1e4
#: Numbers that draws may take at a time, and rows that are worked on together.
MAX_CELLS, BLOCK_ROWS = 2**21, 64
#: Of a tree's seed; other draws have other streams.
DRAW_STREAM = 4


class MarginalMixin:
    """Gives a density forest densities of some columns, given others or not."""

    def conditional(self, X, columns):
        """Find the density and the mean of some columns, given the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. Where other columns than `columns` are missing (NaN), they are integrated out.
        columns : array-like of int or str
            The columns whose distribution is wanted: numbers from 0, or names.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Logarithm of the density of the values that `columns` have in the row, given the rest
            of it. Those that are missing are integrated out; 0 where all are.
        mean : ndarray of shape (n_samples, n_columns)
            Mean of `columns`, in their order, given the rest of the row.

        Raises
        ------
        ValueError
            When no leaf of the forest meets the condition of a row.

        Examples
        --------
        >>> import numpy as np
        >>> from obtree import DensityForest
        >>> x = np.random.default_rng(0).normal(size=(500, 1))
        >>> forest = DensityForest(10, random_state=0).fit(np.hstack([x, x + 1]))
        >>> log_density, mean = forest.conditional([[0.5, np.nan]], columns=[1])
        >>> bool(abs(mean[0, 0] - 1.5) < 0.1)
        True
        """
        X = self._read_rows(X)
        wanted = self._find_columns(columns)
        rest = X.copy()
        rest[:, wanted] = np.nan
        condition, mean = self._integrate_out(rest, wanted)
        met = condition > LEAST_LOG_DENSITY
        if not met.all():
            self._refuse_condition(rest[np.argmin(met)], int(np.argmin(met)))
        log_density = np.zeros(len(X))
        asked = ~np.isnan(X[:, wanted]).all(axis=1)
        whole = asked & ~np.isnan(X).any(axis=1)
        log_density[whole] = self._score_whole(X[whole]) - condition[whole]
        some = asked & ~whole
        log_density[some] = self._score_marginals(X[some]) - condition[some]
        return log_density, mean

    def _find_columns(self, columns):
        """Return the numbers of columns."""
        names = list(getattr(self, "feature_names_in_", ()))
        d = self.n_features_in_
        found = []
        given = np.atleast_1d(np.asarray(columns, dtype=object))
        if given.ndim != 1 or not 0 < len(given) <= d:
            refuse_param(
                "columns", columns, expected=f"from 1 to {d} columns of X", wrong_type=False
            )
        for column in given:
            if isinstance(column, str):
                if column not in names:
                    raise ValueError(f"columns names {show(column)}, which is not a column of X")
                found.append(names.index(column))
            else:
                found.append(check_param("columns", column, Integer(0, d - 1)))
        if len(set(found)) < len(found):
            raise ValueError(f"columns={show(columns)} names a column twice")
        return found

    def _refuse_condition(self, row, number):
        """Say which condition no leaf meets."""
        names = getattr(self, "feature_names_in_", [f"x[{j}]" for j in range(len(row))])
        offset = self.estimators_[0].tree_.feature_offset
        row = row if offset is None else row + offset
        condition = ", ".join(
            f"{name} = {value:g}" for name, value in zip(names, row, strict=True) if value == value
        )
        raise ValueError(f"no leaf of the forest meets the condition {condition} of row {number}")

    def _score_marginals(self, X):
        """The log density of what rows have."""
        return self._integrate_out(X, None)[0]

    def _integrate_out(self, X, wanted):
        """Integrate what rows lack out of the density.

        Parameters
        ----------
        X : float32 ndarray of shape (n_rows, d)
        wanted : list of int or None
            Columns, which all rows lack, whose mean is wanted.

        Returns
        -------
        log_density : ndarray of shape (n_rows,)
        mean : ndarray of shape (n_rows, n_wanted) or None
        """
        X, place = _find_distinct(X)
        n_rows = len(X)
        log_density = np.zeros(n_rows)
        mean = None if wanted is None else np.zeros((n_rows, len(wanted)))
        patterns, pattern_of = np.unique(np.isnan(X), axis=0, return_inverse=True)
        pattern_of = pattern_of.reshape(-1)
        tasks = []
        for k, lacks in enumerate(patterns):
            rows = np.flatnonzero(pattern_of == k)
            for start in range(0, len(rows), BLOCK_ROWS):
                tasks.append((rows[start : start + BLOCK_ROWS], lacks))
        parts = [(rows, lacks, t) for rows, lacks in tasks for t in range(len(self.estimators_))]

        def measure_part(k):
            rows, lacks, t = parts[k]
            with np.errstate(over="ignore", invalid="ignore"):
                return self._measure_tree(X[rows], lacks, t, wanted)

        found = iter(run_calls(measure_part, len(parts), self._count_threads()))
        for rows, _ in tasks:
            terms = [next(found) for _ in self.estimators_]
            each = np.array([term[0] for term in terms])
            log_density[rows] = logsumexp(each, axis=0) - np.log(len(each))
            if wanted is not None:
                with np.errstate(invalid="ignore"):
                    share = np.exp(each - logsumexp(each, axis=0))
                mean[rows] = np.einsum("tn,tnw->nw", share, np.array([term[1] for term in terms]))
        offset = self.estimators_[0].tree_.feature_offset
        if wanted is not None and offset is not None:
            mean += offset[wanted]
        return log_density[place], None if wanted is None else mean[place]

    def _measure_tree(self, X, lacks, t, wanted):
        """The log density in one tree of rows that all lack the same, and their means."""
        tree = self.estimators_[t].tree_.shifted
        ends = np.flatnonzero(tree.children_left < 0)
        given = condition_leaves(tree, ends, lacks)
        values = given.measure(X[:, ~lacks].astype(np.float64)) + tree.leaf_log_weight[ends]
        weighs = np.ones_like(values)
        n_lacks = int(lacks.sum())
        z = draw_rows(
            self.estimators_[t].random_state,
            np.zeros(1, dtype=np.int64),
            np.array([N_DRAWS]),
            np.zeros((1, n_lacks)),
            np.eye(n_lacks)[np.tril_indices(n_lacks)][np.newaxis],
            DRAW_STREAM,
        ).astype(np.float64)
        position = None if wanted is None else np.cumsum(lacks)[wanted] - 1
        inside = None if wanted is None else np.zeros((*values.shape, len(wanted)))
        if not self.truncate:
            if wanted is not None:
                inside = given.centres(X)[:, :, position]
        else:
            row, leaf = np.nonzero(values >= values.max(axis=1, keepdims=True) - NEGLIGIBLE)
            weighs[:] = 0.0
            step = max(1, MAX_CELLS // (N_DRAWS * X.shape[1]))
            for start in range(0, len(row), step):
                r, e = row[start : start + step], leaf[start : start + step]
                drawn = given.centres(X[r], e)[:, np.newaxis] + np.einsum(
                    "pij,mj->pmi", given.factor[e], z
                )
                x = np.repeat(X[r], N_DRAWS, axis=0)
                x[:, lacks] = np.clip(drawn.reshape(-1, n_lacks), -3e38, 3e38)
                hit = (tree.apply(x) == np.repeat(ends[e], N_DRAWS)).reshape(-1, N_DRAWS)
                weighs[r, e] = hit.mean(axis=1)
                if wanted is not None:
                    sums = np.einsum("pm,pmw->pw", hit, drawn[:, :, position])
                    inside[r, e] = sums / np.maximum(hit.sum(axis=1), 1)[:, np.newaxis]
        with np.errstate(divide="ignore"):
            terms = values + np.log(weighs)
        log_density = logsumexp(terms, axis=1)
        if wanted is None:
            return log_density, None
        # A tree in which no leaf meets the condition counts for nothing.
        safe = np.where(log_density > -np.inf, log_density, 0.0)[:, np.newaxis]
        return log_density, np.einsum("nl,nlw->nw", np.exp(terms - safe), inside)


def _find_distinct(X):
    """The different rows of X, and which of them each row is: what they lack need not be told."""
    X = np.where(np.isnan(X), np.float32(np.nan), X + np.float32(0.0))
    keys = np.ascontiguousarray(X).view(np.dtype((np.void, X.shape[1] * X.itemsize))).reshape(-1)
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    return X[first], place.reshape(-1)


class ConditionedLeaves:
    """The Gaussians of leaves, split into columns that are given and columns that are not.

    Parameters
    ----------
    mean : ndarray of shape (n_leaves, d)
    factor : ndarray of shape (n_leaves, d, d)
        Lower triangles with the given columns first.
    lacks : bool ndarray of shape (d,)
    """

    def __init__(self, mean, factor, lacks):
        n_given = int((~lacks).sum())
        self._given = ~lacks
        self._mean_given, self._mean = mean[:, ~lacks], mean[:, lacks]
        self._first = factor[:, :n_given, :n_given]
        self._across = factor[:, n_given:, :n_given]
        self.factor = factor[:, n_given:, n_given:]

    def _whiten(self, x, leaf):
        """Rows of given values in the coordinates of one leaf."""
        if x.shape[1] == 0:
            return x
        apart = (x - self._mean_given[leaf]).T
        return solve_triangular(self._first[leaf], apart, lower=True, check_finite=False).T

    def measure(self, x):
        """The log density of given values in each leaf, (n_rows, n_leaves)."""
        values = np.empty((len(x), len(self._mean)))
        for leaf in range(len(self._mean)):
            y = self._whiten(x, leaf)
            diagonal = np.diagonal(self._first[leaf])
            values[:, leaf] = -0.5 * (y * y).sum(axis=1) - np.log(diagonal).sum()
        return values - 0.5 * x.shape[1] * np.log(2.0 * np.pi)

    def centres(self, X, leaf=None):
        """Means of what is lacking: of row k in leaf[k]; of all rows in all leaves without."""
        x = X[:, self._given].astype(np.float64)
        if leaf is None:
            return np.stack([self._find_centre(x, k) for k in range(len(self._mean))], axis=1)
        centres = np.empty((len(x), self._mean.shape[1]))
        for k in np.unique(leaf):
            centres[leaf == k] = self._find_centre(x[leaf == k], k)
        return centres

    def _find_centre(self, x, leaf):
        return self._mean[leaf] + self._whiten(x, leaf) @ self._across[leaf].T


def condition_leaves(tree, ends, lacks):
    """Split the Gaussians of some leaves of a tree by what rows lack."""
    order = np.concatenate([np.flatnonzero(~lacks), np.flatnonzero(lacks)])
    full = np.zeros((len(ends), len(lacks), len(lacks)))
    full[:, *np.tril_indices(len(lacks))] = tree.leaf_factor[ends]
    turned = full[:, order]
    if not (order == np.arange(len(order))).all():
        # Rows in another order: a triangle again, by the QR factors of its transpose.
        triangle = np.linalg.qr(turned.transpose(0, 2, 1))[1].transpose(0, 2, 1)
        sign = np.where(np.diagonal(triangle, axis1=1, axis2=2) < 0.0, -1.0, 1.0)
        turned = triangle * sign[:, np.newaxis, :]
    return ConditionedLeaves(tree.leaf_mean[ends], turned, lacks)
