"""Marginal and conditional densities of a density forest (Criminisi et al. 2011, section 5.6).

A Gaussian of some columns given others is a Gaussian again, but a leaf counts in its cell only.
What of the conditional Gaussian lies inside is found as the mass of the leaf itself was: draws
that all have the given values are sent down the tree (`obtree.forest.gaussians`). The same draws
are used for all rows, so that the density given a condition is a smooth multiple of the forest's
density.
"""

from typing import Any

import numpy as np
from scipy.special import logsumexp

from obtree.core.hints import ArrayLike
from obtree.core.names import show
from obtree.core.params import Integer, check_param, refuse_param
from obtree.estimators.hints import Mixin
from obtree.forest.calls import run_calls
from obtree.forest.gaussians import draw_rows, integrate_out, list_paths

#: Draws from each conditional Gaussian that matters.
N_DRAWS = 256
#: Leaves of less than e^-16 times the density of a tree's best leaf do not matter.
NEGLIGIBLE = 16.0
#: Conditions that are less likely than this are met by no leaf: no number can tell their density.
LEAST_LOG_DENSITY = -1e4
#: Rows that are worked on together.
BLOCK_ROWS = 64
#: Of a tree's seed; other draws have other streams.
DRAW_STREAM = 4


class MarginalMixin(Mixin):
    """Gives a density forest densities of some columns, given others or not."""

    def conditional(self, X: ArrayLike, columns: ArrayLike) -> Any:
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
        rows = self._read_rows(X)
        wanted = self._find_columns(columns)
        rest = rows.copy()
        rest[:, wanted] = np.nan
        condition, mean = self._integrate_out(rest, wanted)
        met = condition > LEAST_LOG_DENSITY
        if not met.all():
            self._refuse_condition(rest[np.argmin(met)], int(np.argmin(met)))
        log_density = np.zeros(len(rows))
        asked = ~np.isnan(rows[:, wanted]).all(axis=1)
        whole = asked & ~np.isnan(rows).any(axis=1)
        log_density[whole] = self._score_whole(rows[whole]) - condition[whole]
        some = asked & ~whole
        log_density[some] = self._score_marginals(rows[some]) - condition[some]
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

        trees = [member.tree_.shifted for member in self.estimators_]
        paths = [list_paths(tree.children_left, tree.children_right) for tree in trees]

        def measure_part(k):
            rows, lacks, t = parts[k]
            return self._measure_tree(X[rows], lacks, t, paths[t], wanted)

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

    def _measure_tree(self, X, lacks, t, paths, wanted):
        """The log density in one tree of rows that all lack the same, and their means."""
        n_lacks = int(lacks.sum())
        z = draw_rows(
            self.estimators_[t].random_state,
            np.zeros(1, dtype=np.int64),
            np.array([N_DRAWS]),
            np.zeros((1, n_lacks)),
            np.eye(n_lacks)[np.tril_indices(n_lacks)][np.newaxis],
            DRAW_STREAM,
        )
        return integrate_out(
            X,
            lacks,
            self.estimators_[t].tree_.shifted,
            paths,
            np.ascontiguousarray(z.T, dtype=np.float64),
            self._is_truncated,
            NEGLIGIBLE,
            None if wanted is None else np.cumsum(lacks)[wanted] - 1,
        )


def _find_distinct(X):
    """The different rows of X, and which of them each row is: what they lack need not be told."""
    X = np.where(np.isnan(X), np.float32(np.nan), X + np.float32(0.0))
    keys = np.ascontiguousarray(X).view(np.dtype((np.void, X.shape[1] * X.itemsize))).reshape(-1)
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    return X[first], place.reshape(-1)
