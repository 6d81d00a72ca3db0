"""Distributions of forests whose leaves predict Gaussians: their mixture, a tree each.

A tree with linear Gaussian leaves says for each row a mean and a variance, and the forest's
density is the mean of its trees' (Criminisi, Shotton and Konukoglu 2011, equation 4.6). Trees err
in different ways, each of them more than the forest; their variances say how much each errs. Rows
that trees have left out tell by how much the forest's mixture is too wide, or too narrow, and one
factor for all variances of an output makes up for that.
"""

import numbers
from typing import Literal, overload

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri
from sklearn.utils.validation import check_is_fitted

from obtree.core.hints import ArrayLike, Floats, MatrixLike
from obtree.core.names import show
from obtree.core.params import FLAG, check_param
from obtree.data.validate_target import validate_real_target
from obtree.estimators.hints import Mixin
from obtree.estimators.oob import to_predict_layout
from obtree.tree.predict import Predictor

# Rows predicted together: a mean and a variance of each tree.
_BLOCK_NUMBERS = 2**20

# Rows that judge the scale of the noise, and the scales tried: powers of two, by sixteenths. Steps
# keep the result from following the last bit of a logarithm.
_MAX_JUDGES = 4000
_STEPS = np.arange(-96, 49)
_STEP = 1.0 / 16.0

# Halvings of an interval of quantiles: a hundred thousand millionth of its length is left.
_N_HALVINGS = 40


def measure_log_density(y, means, variances, mask=None):
    """Return the logarithm of the density of mixtures of Gaussians with equal shares.

    Parameters
    ----------
    y : ndarray of shape (n_rows, n_outputs)
    means, variances : ndarray of shape (n_rows, n_trees, n_outputs)
    mask : bool ndarray of shape (n_rows, n_trees), optional
        Which trees take part in the mixture of each row.

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
    """
    with np.errstate(over="ignore", under="ignore"):
        distance = (y[:, np.newaxis] - means) ** 2 / variances
    density = -0.5 * (distance + np.log(2.0 * np.pi * variances))
    if mask is None:
        return logsumexp(density, axis=1) - np.log(means.shape[1])
    density = np.where(mask[:, :, np.newaxis], density, -np.inf)
    return logsumexp(density, axis=1) - np.log(mask.sum(axis=1))[:, np.newaxis]


def combine_moments(means, variances):
    """Return mean and variance of mixtures of Gaussians, each of shape (n_rows, n_outputs)."""
    mean = means.mean(axis=1)
    between = ((means - mean[:, np.newaxis]) ** 2).mean(axis=1)
    return mean, variances.mean(axis=1) + between


def find_quantiles(means, variances, quantiles):
    """Return quantiles of mixtures of Gaussians.

    Parameters
    ----------
    means, variances : ndarray of shape (n_rows, n_trees, n_outputs)
    quantiles : sequence of float
        From 0 to 1; the ends are infinite.

    Returns
    -------
    ndarray of shape (n_rows, n_outputs, n_quantiles)
    """
    deviation = np.sqrt(variances)
    found = np.empty((means.shape[0], means.shape[2], len(quantiles)))
    for k, quantile in enumerate(quantiles):
        # That of the mixture lies between those of its parts.
        own = means + ndtri(quantile) * deviation
        low, high = own.min(axis=1), own.max(axis=1)
        if 0.0 < quantile < 1.0:
            for _ in range(_N_HALVINGS):
                middle = 0.5 * low + 0.5 * high
                below = ndtr((middle[:, np.newaxis] - means) / deviation).mean(axis=1) < quantile
                low, high = np.where(below, middle, low), np.where(below, high, middle)
        found[:, :, k] = 0.5 * low + 0.5 * high if 0.0 < quantile < 1.0 else low
    return found


def check_outputs(y, X, n_outputs):
    """Return targets of the rows of X as (n_rows, n_outputs), or raise ValueError."""
    y = validate_real_target(y, np.shape(X)[0])
    if y.shape[1] != n_outputs:
        raise ValueError(f"y has {y.shape[1]} outputs, expected {n_outputs}")
    return y


def calibrate_noise(trees, seeds, samples, plan, n_threads):
    """Return by what the variances of trees are to be multiplied, for each output.

    Parameters
    ----------
    trees : list of Tree
        All trees of the forest, which predict variances.
    seeds : sequence of int
        Seed of each tree.
    samples : sequence of RowSample
        How the rows of each tree were drawn.
    plan : GrowthPlan
        Data of the fit.
    n_threads : int

    Returns
    -------
    ndarray of shape (n_outputs,)
        The factors under which rows are most likely, given the trees that did not see them; 1
        where all trees saw all rows.
    """
    taken = plan.take_rows()
    judges = np.arange(0, taken.n_rows, -(-taken.n_rows // _MAX_JUDGES))
    counts = [
        sample.count(seed, taken.n_rows)[judges]
        for seed, sample in zip(seeds, samples, strict=True)
    ]
    unseen = np.array(counts).T == 0
    judges, unseen = judges[unseen.any(axis=1)], unseen[unseen.any(axis=1)]
    scales = np.ones(taken.target.n_outputs)
    if not len(judges):
        return scales
    means, variances = Predictor([tree.shifted for tree in trees]).list_moments(
        to_predict_layout(taken.X[judges]), n_threads=n_threads
    )
    y = taken.target.y[judges]
    weight = None if taken.weight is None else taken.weight[judges]
    for k in range(len(scales)):
        part = slice(k, k + 1)

        def judge(step, part=part):
            scaled = variances[:, :, part] * 2.0 ** (_STEP * step)
            density = measure_log_density(y[:, part], means[:, :, part], scaled, unseen)
            return np.average(density[:, 0], weights=weight)

        scales[k] = 2.0 ** (_STEP * _find_best_step(judge))
    return scales


def _find_best_step(judge):
    """Return the step with the largest value of a function with one maximum."""
    known = {}

    def look(step):
        if step not in known:
            known[step] = judge(step)
        return known[step]

    low, high = int(_STEPS[0]), int(_STEPS[-1])
    while high - low > 2:
        third = (high - low) // 3
        left, right = low + third, high - third
        if look(left) >= look(right):
            high = right
        else:
            low = left
    return max(range(low, high + 1), key=look)


class GaussianMixture(Mixin):
    """What estimators know whose leaves predict Gaussians; a tree or a forest stands beside it."""

    def _predicts_gaussians(self):
        """Tell whether every tree says how sure it is."""
        return all(tree.leaf_kind.has_variance for tree in self._list_trees())

    def _map_gaussians(self, X, compute, *rows):
        """Return what a function makes of means and variances (n_rows, n_trees, n_outputs).

        It is called for blocks of rows, and gets the same rows of the arrays in `rows`.
        """
        X = self._read_features(X)
        predictor = self._predictor.get(self._list_trees())
        scale = getattr(self, "noise_scale_", 1.0)
        step = max(1, _BLOCK_NUMBERS // (len(self._list_trees()) * self.n_outputs_))
        found = []
        for start in range(0, X.shape[0], step):
            part = slice(start, start + step)
            means, variances = predictor.list_moments(X[part], n_threads=self._count_threads())
            found.append(compute(means, variances * scale, *(array[part] for array in rows)))
        return found

    def _predict_gaussian_moments(self, X):
        """Return means and deviations, each (n_samples, n_outputs)."""
        parts = self._map_gaussians(X, combine_moments)
        mean, variance = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, np.sqrt(variance)

    def _predict_gaussian_quantiles(self, X, levels):
        """Return quantiles, (n_samples, n_outputs, n_quantiles)."""
        return np.concatenate(
            self._map_gaussians(X, lambda mean, var: find_quantiles(mean, var, levels))
        )

    def _measure_gaussian_density(self, X, y):
        """Return logarithms of densities, (n_samples, n_outputs)."""
        parts = self._map_gaussians(
            X, lambda mean, variance, y: measure_log_density(y, mean, variance), y
        )
        return np.concatenate(parts)


class TreeDistributionMixin(GaussianMixture):
    """Predictive distributions of single trees for regression."""

    @overload
    def predict(self, X: MatrixLike, return_std: Literal[False] = False) -> Floats: ...

    @overload
    def predict(self, X: MatrixLike, return_std: Literal[True]) -> tuple[Floats, Floats]: ...

    def predict(self, X: MatrixLike, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Predict the value of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.
        return_std : bool, default=False
            Whether to return the standard deviation as well, of a tree with linear Gaussian
            leaves; see :doc:`/user_guide/linear_gaussian`.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the shape of y
            Only with ``return_std=True``.
        """
        if not check_param("return_std", return_std, FLAG):
            return super().predict(X)
        self._check_gaussians("return_std=True")
        mean, deviation = self._predict_gaussian_moments(X)
        if self.n_outputs_ == 1:
            return mean[:, 0], deviation[:, 0]
        return mean, deviation

    def log_prob(self, X: MatrixLike, y: ArrayLike) -> Floats:
        """Return the logarithm of the density that a tree with linear Gaussian leaves predicts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Finite numbers.

        Returns
        -------
        log_prob : ndarray of shape (n_samples,)
            Summed over outputs, whose errors are taken as independent.
        """
        self._check_gaussians("log_prob")
        y = check_outputs(y, X, self.n_outputs_)
        return self._measure_gaussian_density(X, y).sum(axis=1)

    def _check_gaussians(self, asked):
        """Refuse to say how sure a tree is that does not know."""
        check_is_fitted(self)
        if not self._predicts_gaussians():
            raise ValueError(
                f"{asked} needs leaves that predict a variance; expected a tree fitted with "
                "leaf='linear_gaussian' or criterion='linear_gaussian', or a forest"
            )


class ForestMixtureMixin(GaussianMixture):
    """Mixtures of forests, which find out by rows left out how wide they should be."""

    def _remember_rows(self, plan):
        """Set ``noise_scale_`` where trees predict Gaussians."""
        vars(self).pop("noise_scale_", None)
        if self._predicts_gaussians():
            seeds = [estimator.random_state for estimator in self.estimators_]
            self.noise_scale_ = calibrate_noise(
                self._list_trees(), seeds, self._samples, plan, self._count_threads()
            )
        super()._remember_rows(plan)

    def _describe_extras(self):
        """Return what a model file holds beside trees: a dict for JSON, and arrays by name."""
        header, arrays = super()._describe_extras()
        if hasattr(self, "noise_scale_"):
            header = {**header, "noise_scale": self.noise_scale_.tolist()}
        return header, arrays

    def _restore_extras(self, header, arrays):
        """Take what `_describe_extras` gave from a file, trusting none of it."""
        header = dict(header)
        known = header.pop("noise_scale", None)
        if (known is not None) != self._predicts_gaussians():
            raise ValueError(
                f"its noise_scale is {show(known)}; expected one if its leaves predict variances"
            )
        if known is not None:
            is_valid = isinstance(known, list) and len(known) == self.n_outputs_
            if not is_valid or not all(map(_is_positive, known)):
                raise ValueError(
                    f"its noise_scale is {show(known)}; expected a positive number for each of "
                    f"{self.n_outputs_} outputs"
                )
            self.noise_scale_ = np.array(known, dtype=np.float64)
        super()._restore_extras(header, arrays)


def _is_positive(number):
    """Tell whether something out of a file is a positive number."""
    is_number = isinstance(number, numbers.Real) and not isinstance(number, bool)
    return is_number and 0.0 < number < np.inf
