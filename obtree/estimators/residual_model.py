"""How far off a forest's prediction is: a predictive distribution from rows left out.

The distribution of y at x is taken for that of

    prediction(x) + scale(x) * Z

where Z has the same distribution everywhere, that of the misses of the training rows by trees that
left them out, each divided by its own scale. The square of the scale is a sum of three terms,
weighted so that the misses are as likely as can be:

* the mean squared miss of the training rows that share leaves with x, with the weights that they
  have in the prediction (residuals of neighbours, as in Lu and Hardin, 2021);
* the variance of the trees' predictions at x;
* the mean squared miss of all rows.

Plain quantiles of the y of neighbours (Meinshausen, 2006) are too wide where there is little noise:
they count what y changes by within leaves, although the mean of many trees knows better. Where
no trees left rows out, the distribution is normal, with the variance of y among the neighbours.
"""

import numpy as np
from scipy.special import ndtri

from obtree.estimators.training_rows import list_columns
from obtree.forest.shared_leaves import keep_averages, mask_drawn, measure_leaves

#: Fewest rows left out that say how Z is distributed.
MIN_JUDGED = 20

#: Levels at which quantiles of Z are kept; the density of Z is that of N_LEVELS - 1 bumps.
N_LEVELS = 1001

#: Steps of the weights of the terms.
N_STEPS = 60

#: Smallest scale, as a fraction of the root of the mean squared miss.
MIN_SCALE = 1e-3

#: Part of the density that has the heavy tails of a Cauchy distribution, and how wide that is: no
#: y is impossible.
TAIL = 0.01
TAIL_SCALE = 2.0

#: Width of a bump, as a multiple of spread / n^(1/5) (Silverman, 1986).
BANDWIDTH = 0.9

#: Whatever is farther away than that many scales counts as that far, so that squares are finite.
FARTHEST = 1e150

#: Rows worked on at a time.
CHUNK_ROWS = 4096


class ResidualModel:
    """Scale and shape of the distribution of y, for every output.

    Parameters
    ----------
    rows : TrainingRows
    trees : list of Tree
        Of the forest.
    draws : LeafIndex
        Which rows trees have drawn, and what rows weigh.
    n_threads : int, default=1
        Number of threads.
    """

    def __init__(self, rows, trees, draws, n_threads=1):
        self._offset = draws.offset
        self._shrink = rows.shrink
        weight = np.where(np.isnan(rows.misses[:, 0]), 0.0, draws.weight)
        self.is_judged = np.count_nonzero(weight) >= MIN_JUDGED
        if not self.is_judged:
            self._fit_neighbours(rows, draws)
            return
        self._unit = _measure_unit(rows.misses, weight)
        squares = (np.nan_to_num(rows.misses) / self._unit) ** 2
        self._whole = (weight[:, None] * squares).sum(axis=0) / weight.sum()
        leaves = self._keep_noise(rows, trees, draws, squares, weight)
        judged = np.flatnonzero(weight)
        if len(judged) < len(weight):
            leaves = leaves[judged]
        terms = self._list_terms(measure_leaves(leaves, self._offset, self._kept, n_threads))
        weight, squares = weight[judged], squares[judged]
        self._parts = _fit_parts(terms, squares, weight, self._whole)
        scale = self._combine_terms(terms)
        # Where nothing is ever missed, nothing is divided by nothing.
        scale = np.where(scale > 0.0, scale, 1.0)
        self._set_shape(rows.misses[judged] / self._unit / scale, weight)

    def _keep_noise(self, rows, trees, draws, squares, weight):
        """Keep the values of all nodes, and the mean squared miss of the rows there.

        Returns the leaves of the rows in the trees that left them out, -1 in others.
        """
        self._kept = np.empty((self._offset[-1], squares.shape[1], 2))
        left_out = np.empty_like(rows.leaves)
        columns = list_columns(rows.leaves)
        for t, (tree, counts, leaf) in enumerate(
            zip(trees, draws.list_counts(), columns, strict=True)
        ):
            part = self._kept[self._offset[t] : self._offset[t + 1]]
            keep_averages(leaf, counts, weight, squares, self._whole, tree.value[:, :, 0], part)
            mask_drawn(leaf, counts, left_out[:, t])
        return left_out

    def _fit_neighbours(self, rows, draws):
        """Take the variance among neighbours for the scale, and the normal distribution for Z."""
        weight = draws.weight
        n_outputs = rows.y.shape[1]
        # In units, or squares might be too large.
        self._unit = _measure_unit(rows.y, weight)
        y = rows.y / self._unit
        y = y - np.average(y, axis=0, weights=weight)
        self._whole = np.average(y**2, axis=0, weights=weight)
        nobody = np.zeros(n_outputs)
        self._kept = np.empty((self._offset[-1], n_outputs, 2))
        columns = list_columns(rows.leaves)
        for t, (counts, leaf) in enumerate(zip(draws.list_counts(), columns, strict=True)):
            part = self._kept[self._offset[t] : self._offset[t + 1]]
            keep_averages(leaf, counts, weight, y, nobody, None, part)
            part[:, :, 0] = part[:, :, 1]
            keep_averages(leaf, counts, weight, y**2, nobody, None, part)
        level = np.linspace(0.0, 1.0, N_LEVELS)
        end = 0.5 / (N_LEVELS - 1)
        table = ndtri(np.clip(level, end, 1.0 - end))
        self.table = np.repeat(table[None], n_outputs, axis=0)
        self._spread_z = np.ones(n_outputs)
        self._bandwidth = np.full(n_outputs, BANDWIDTH * (N_LEVELS - 1.0) ** -0.2)

    def _list_terms(self, moments):
        """Return the terms of the squared scale, in units, (3, n_rows, n_outputs)."""
        whole = np.broadcast_to(self._whole, moments.shape[:2])
        return np.stack([moments[:, :, 2], moments[:, :, 1] / self._unit**2, whole])

    def _combine_terms(self, terms):
        """Return the scale, in units, (n_rows, n_outputs)."""
        squares = (terms * self._parts[:, None]).sum(axis=0)
        return np.sqrt(np.maximum(squares, MIN_SCALE**2 * self._whole))

    def _set_shape(self, misses, weight):
        """Keep the quantiles of Z, and what its density takes."""
        level = np.linspace(0.0, 1.0, N_LEVELS)
        n_rows = weight.sum() ** 2 / (weight**2).sum()
        tables, spread, width = [], [], []
        for z in misses.T:
            table = _weighted_quantiles(z, weight, level)
            low, high = np.interp([0.25, 0.75], level, table)
            mean = np.average(z, weights=weight)
            deviation = np.sqrt(np.average((z - mean) ** 2, weights=weight))
            robust = min(deviation, (high - low) / 1.34) or deviation or 1.0
            tables.append(table)
            spread.append(deviation)
            width.append(BANDWIDTH * robust * n_rows**-0.2)
        self.table = np.array(tables)
        self._spread_z = np.array(spread)
        self._bandwidth = np.array(width)

    def measure_scale(self, leaves, n_threads=1):
        """Measure what Z is multiplied with at some rows.

        Parameters
        ----------
        leaves : int32 ndarray of shape (n_rows, n_trees)
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        scale : ndarray of shape (n_rows, n_outputs)
            In units of y.
        mean : ndarray of shape (n_rows, n_outputs)
            Mean of the values of the leaves; without meaning unless `is_judged`.
        """
        moments = measure_leaves(leaves, self._offset, self._kept, n_threads)
        mean = moments[:, :, 0]
        if self.is_judged:
            scale = self._shrink * self._combine_terms(self._list_terms(moments))
        else:
            least = MIN_SCALE * np.sqrt(self._whole)
            scale = np.maximum(np.sqrt(np.maximum(moments[:, :, 2] - mean**2, 0.0)), least)
        return scale * self._unit, mean

    def measure_std(self, scale):
        """Return the standard deviation for each scale, (n_rows, n_outputs)."""
        return scale * self._spread_z

    def find_quantiles(self, mean, scale, levels):
        """Return quantiles of y.

        Parameters
        ----------
        mean, scale : ndarrays of shape (n_rows, n_outputs)
        levels : ndarray of shape (n_levels,)

        Returns
        -------
        quantiles : ndarray of shape (n_rows, n_outputs, n_levels)
        """
        known = np.linspace(0.0, 1.0, N_LEVELS)
        z = np.array([np.interp(levels, known, table) for table in self.table])
        return mean[:, :, None] + scale[:, :, None] * z

    def measure_log_density(self, mean, scale, y):
        """Return the logarithm of the density at y, (n_rows, n_outputs)."""
        out = np.empty(y.shape)
        # Without any spread, as much as rounding may be.
        least = np.maximum(np.abs(mean) * 1e-12, np.finfo(float).tiny)
        scale = np.maximum(scale, least)
        for k in range(y.shape[1]):
            atom = 0.5 * (self.table[k, 1:] + self.table[k, :-1])
            for first in range(0, len(y), CHUNK_ROWS):
                part = slice(first, first + CHUNK_ROWS)
                with np.errstate(over="ignore"):
                    z = (y[part, k] - mean[part, k]) / scale[part, k]
                out[part, k] = _log_bumps(np.clip(z, -FARTHEST, FARTHEST), atom, self._bandwidth[k])
        return out - np.log(scale)


def _log_bumps(z, atom, width):
    """Return the log density of Z: normal bumps at atoms, and a little of heavy tails."""
    steps = (z[:, None] - atom) / width
    bumps = np.exp(-0.5 * np.minimum(steps**2, 1400.0)).mean(axis=1)
    bumps *= (1.0 - TAIL) / (width * np.sqrt(2.0 * np.pi))
    u = np.abs(z) / TAIL_SCALE
    # log(1 + u^2), for u of any size.
    far = np.where(u > 1e8, 2.0 * np.log(np.maximum(u, 1.0)), np.log1p(np.minimum(u, 1e8) ** 2))
    tail = np.log(TAIL / (np.pi * TAIL_SCALE)) - far
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log(bumps), tail)


def _fit_parts(terms, squares, weight, whole):
    """Return what each term of the squared scale counts for, (3, n_outputs).

    Normal misses of that scale are most likely then; the steps, which keep every part positive, are
    those of non-negative matrix factorisation by the Itakura-Saito divergence (Fevotte, 2009).
    """
    n_terms, _, n_outputs = terms.shape
    parts = np.full((n_terms, n_outputs), 1.0 / n_terms)
    for k in range(n_outputs):
        if not whole[k] > 0.0:
            continue
        own = np.ascontiguousarray(terms[:, :, k] / whole[k])
        miss = squares[:, k] / whole[k] + MIN_SCALE**2
        for _ in range(N_STEPS):
            # Sums without BLAS are the same everywhere.
            found = np.maximum((own * parts[:, k, None]).sum(axis=0), MIN_SCALE**2)
            slope = weight / found
            down = (own * slope).sum(axis=1)
            slope *= miss / found
            up = (own * slope).sum(axis=1)
            parts[:, k] *= np.where(down > 0.0, up / np.where(down > 0.0, down, 1.0), 1.0)
    return parts


def _weighted_quantiles(values, weight, level):
    """Return quantiles of weighted values, which stand in the middle of their weights."""
    found, where = np.unique(values, return_inverse=True)
    own = np.bincount(where, weight)
    centre = (np.cumsum(own) - 0.5 * own) / own.sum()
    return np.interp(level, centre, found)


def _measure_unit(values, weight):
    """Return the root mean square of each output; 1 where that is zero."""
    known = weight * ~np.isnan(values[:, 0])
    largest = np.nanmax(np.abs(values), axis=0, initial=0.0)
    largest = np.where(largest > 0.0, largest, 1.0)
    squares = np.average((np.nan_to_num(values) / largest) ** 2, axis=0, weights=known)
    unit = largest * np.sqrt(squares)
    return np.where(unit > 0.0, unit, 1.0)
