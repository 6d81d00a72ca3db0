"""Predictive distributions of forests for regression: spreads, quantiles and log densities."""

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from obtree.core.advice import advise
from obtree.core.hints import ArrayLike, Floats, MatrixLike
from obtree.core.names import show
from obtree.core.params import FLAG, check_param, refuse_param
from obtree.estimators.base import PredictorCache
from obtree.estimators.gaussian_mixture import ForestMixtureMixin, check_outputs
from obtree.estimators.leaf_index import LeafIndex
from obtree.estimators.sampling import Bags, RowSample
from obtree.estimators.training_rows import describe_rows, remember_rows, restore_rows
from obtree.forest.shared_leaves import INTERPOLATIONS


class DistributionMixin(ForestMixtureMixin):
    """Predictive distributions, for forests of regression trees.

    A subclass calls `_remember_rows` in its `fit`.
    """

    _training: Any = None

    def _remember_rows(self, plan):
        """Keep what predictive distributions need of the training rows."""
        super()._remember_rows(plan)
        trees = self._list_trees()
        self._training = remember_rows(
            plan,
            trees,
            self._predictor.get(trees),
            [tree.random_state for tree in self.estimators_],
            self._find_bags(plan),
            self._count_threads(),
            getattr(self, "_chain_gain", 1.0),
        )
        self._leaf_index = PredictorCache(LeafIndex)
        if not self._predicts_gaussians():
            # What is known while the fit has all at hand need not be found by the first predict.
            self._index_leaves().prepare()

    def _find_bags(self, plan):
        """Return which rows each tree grew on; optimised trees see all of them."""
        if hasattr(self, "_bags"):
            return self._bags
        samples = [RowSample()] * len(self.estimators_)
        return Bags(samples, plan.X.shape[0], plan.rows, plan.weight)

    def _describe_extras(self):
        """Return what a model file holds beside trees."""
        header, arrays = super()._describe_extras()
        if self._training is not None:
            own, more = describe_rows(self._training)
            header, arrays = header | {"training": own}, arrays | more
        return header, arrays

    def _restore_extras(self, header, arrays):
        """Take what `_describe_extras` gave from a file, trusting none of it."""
        header = dict(header)
        if "training" in header:
            own = header.pop("training")
            if not isinstance(own, dict):
                raise ValueError(f"training is {show(own)}, expected a JSON object")
            training, arrays = restore_rows(own, arrays), {}
            if training.y.shape[1] != self.n_outputs_:
                raise ValueError(f"{training.y.shape[1]} outputs in its training rows")
            trees = self._list_trees()
            if training.leaves.shape[1] != len(trees) or any(
                (leaf >= tree.node_count).any()
                for leaf, tree in zip(training.leaves.T, trees, strict=False)
            ):
                raise ValueError("its training rows are not those of its trees")
            self._training = training
            if any(sample.n_draws for sample in training.bags.samples):
                self._bags = training.bags
            self._leaf_index = PredictorCache(LeafIndex)
        super()._restore_extras(header, arrays)

    def _index_leaves(self):
        """Return the training rows by leaf."""
        check_is_fitted(self)
        if self._training is None:
            raise ValueError(
                f"this {type(self).__name__} does not know the rows it was fitted to, as after "
                "update_leaves or from a model file of an earlier version, and has no quantiles, "
                "standard deviations or densities; expected a forest as fit has left it"
            )
        return self._leaf_index.get([self._training, *self.estimators_])

    @overload
    def predict(
        self,
        X: MatrixLike,
        return_std: Literal[False] = False,
        quantiles: ArrayLike | None = None,
    ) -> Floats: ...

    @overload
    def predict(
        self, X: MatrixLike, return_std: Literal[True], quantiles: None = None
    ) -> tuple[Floats, Floats]: ...

    def predict(
        self, X: MatrixLike, return_std: bool = False, quantiles: ArrayLike | None = None
    ) -> Floats | tuple[Floats, Floats]:
        """Predict the value of each row, and how it is distributed.

        The distribution is that of the mean of the trees plus an error whose scale depends on the
        row, and whose shape is that of the errors of training rows in trees that have left them
        out; where no tree has left out rows, it is normal. See :doc:`/user_guide/distributions`.
        Where leaves predict Gaussians, it is the mean of the trees' distributions: see
        :doc:`/user_guide/linear_gaussian`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.
        return_std : bool, default=False
            Whether to return the standard deviation as well.
        quantiles : float or array-like of shape (n_quantiles,), default=None
            Levels from 0 to 1 of quantiles, which are returned instead of means. For plain
            quantiles of the training rows that share leaves see `predict_quantiles`.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            With `quantiles`, (n_samples, n_quantiles) or (n_samples, n_outputs, n_quantiles);
            without the last axis for a single number.
        std : ndarray of the shape of y
            Only with ``return_std=True``.
        """
        check_param("return_std", return_std, FLAG)
        if quantiles is None and not return_std:
            return super().predict(X)
        if quantiles is not None and return_std:
            raise ValueError(
                f"return_std=True and quantiles={show(quantiles)} exclude each other; expected "
                "one of the two"
            )
        levels = None if quantiles is None else read_levels(quantiles)
        is_single = quantiles is not None and np.ndim(quantiles) == 0
        check_is_fitted(self)
        if self._predicts_gaussians():
            if return_std:
                return tuple(map(self._shape_outputs, self._predict_gaussian_moments(X)))
            found = self._predict_gaussian_quantiles(X, levels)
            return self._shape_quantiles(found, is_single)
        mean, scale, model = self._predict_distribution(X)
        if return_std:
            return self._shape_outputs(mean), self._shape_outputs(model.measure_std(scale))
        found = model.find_quantiles(mean, scale, levels)
        return self._shape_quantiles(found, is_single)

    def log_prob(self, X: MatrixLike, y: ArrayLike) -> Floats:
        """Return the logarithm of the predictive density of y.

        The distribution is that of `predict`, smoothed; it is positive everywhere.

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
        check_is_fitted(self)
        y = check_outputs(y, X, self.n_outputs_)
        if self._predicts_gaussians():
            return self._measure_gaussian_density(X, y).sum(axis=1)
        mean, scale, model = self._predict_distribution(X)
        return model.measure_log_density(mean, scale, y).sum(axis=1)

    def _predict_distribution(self, X):
        """Return means and scales, (n_samples, n_outputs), and the model they belong to."""
        index = self._index_leaves()
        model = index.model
        scale, mean = model.measure_scale(self._find_leaves(X), self._count_threads())
        # Where the leaves that are known say what `predict` does, rows need not go down twice.
        if not (model.is_judged and index.has_constant_leaves):
            mean = self._predict_values(X)[:, :, 0]
        elif len(getattr(self, "chains_", ())):
            mean = self._add_chains(self._read_features(X), mean[:, :, None])[:, :, 0]
        return mean, scale, model

    def predict_quantiles(
        self,
        X: MatrixLike | None = None,
        quantiles: ArrayLike = 0.5,
        *,
        interpolation: Literal[
            "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"
        ] = "linear",
        weighted_quantile: bool = True,
        weighted_leaves: bool = True,
        aggregate_leaves_first: bool = True,
        oob_score: bool = False,
        indices: ArrayLike | None = None,
        duplicates: Sequence[Sequence[int]] | None = None,
    ) -> Floats:
        """Predict quantiles of the training rows that share leaves with each row.

        Each tree shares its weight among the rows of its sample in the leaf; sums over trees are
        the weights whose quantiles are returned (Meinshausen, 2006). All rows of a leaf
        count, none are drawn. Parameters are called as in the package quantile-forest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Features, read as float32. NaN means missing. None stands for the training rows.
        quantiles : float or array-like of shape (n_quantiles,), default=0.5
            Levels from 0 to 1.
        interpolation : {"linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"}, \
                default="linear"
            What to return between two values. "inverted_cdf" is the smallest value up to which
            the weights are no less than the level, as in the paper.
        weighted_quantile : bool, default=True
            Whether quantiles are those of weighted values, each of which stands in the middle
            of its weight. Otherwise a value counts as often as trees have drawn its row, weights
            do not count, and levels are ranks as in `numpy.quantile`.
        weighted_leaves : bool, default=True
            Whether each leaf has the same weight, as in the paper, and as in the mean that
            the forest predicts; otherwise each row of a leaf has. Without effect
            where `weighted_quantile` is False.
        aggregate_leaves_first : bool, default=True
            Whether quantiles are those of all leaves together; otherwise the mean of the
            quantiles of each.
        oob_score : bool, default=False
            Whether only trees have a say that left the training row out.
        indices : array-like of int of shape (n_samples,), default=None
            With `oob_score`, the training row that each row of X is, -1 for none. None stands for
            all of them, in order.
        duplicates : list of lists of int, default=None
            With `oob_score`, training rows that are alike: a tree that has drawn one of them has no
            say for the others.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, n_quantiles) or \
                (n_samples, n_outputs, n_quantiles)
            Without the last axis for a single number. NaN where no tree has a say.

        References
        ----------
        N. Meinshausen, "Quantile regression forests", Journal of Machine Learning Research 7,
        2006.
        """
        check_param("interpolation", interpolation, *INTERPOLATIONS)
        for name, flag in (
            ("weighted_quantile", weighted_quantile),
            ("weighted_leaves", weighted_leaves),
            ("aggregate_leaves_first", aggregate_leaves_first),
            ("oob_score", oob_score),
        ):
            check_param(name, flag, FLAG)
        levels = read_levels(quantiles)
        index = self._index_leaves()
        leaves = self._training.leaves if X is None else self._find_leaves(X)
        if oob_score:
            known = self._read_indices(indices, len(leaves))
            is_out = _leave_out_duplicates(index.is_out, duplicates)
            says = is_out[known] | (known < 0)[:, None]
            leaves = np.where(says, leaves, np.int32(-1))
            if not says.any(axis=1).all():
                advise(
                    "Some rows were drawn by every tree, and have no out-of-bag quantiles",
                )
        if not weighted_quantile:
            rows = index.counted
        else:
            rows = index.shares if weighted_leaves else index.weights
        order = np.argsort(levels, kind="stable")
        found = np.empty((len(leaves), self.n_outputs_, len(levels)))
        found[:, :, order] = index.read(
            leaves,
            levels[order],
            rows,
            interpolation=interpolation,
            counts=not weighted_quantile,
            by_tree=not aggregate_leaves_first,
            n_threads=self._count_threads(),
        )
        return self._shape_quantiles(found, np.ndim(quantiles) == 0)

    def _read_indices(self, indices, n_rows):
        """Return the training row of each row, -1 for none."""
        n_training = len(self._training.y)
        if indices is None:
            if n_rows != n_training:
                raise ValueError(
                    f"oob_score=True without indices needs the {n_training} rows that the forest "
                    f"was fitted to, got {n_rows}"
                )
            return np.arange(n_training)
        rows = np.asarray(indices)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(rows) != n_rows:
            refuse_param("indices", indices, expected=f"{n_rows} integers, one for each row of X")
        if len(rows) and not -1 <= rows.min() <= rows.max() < n_training:
            refuse_param(
                "indices",
                indices,
                expected=f"numbers from -1 to {n_training - 1}",
                wrong_type=False,
            )
        return rows.astype(np.intp)

    def _shape_outputs(self, values):
        """Drop the axis of outputs where there is one output."""
        return values[:, 0] if self.n_outputs_ == 1 else values

    def _shape_quantiles(self, found, is_single):
        """Drop the axes that carry no information."""
        found = self._shape_outputs(found)
        return found[..., 0] if is_single else found


def read_levels(quantiles):
    """Return levels of quantiles as an array, or raise an error that names them.

    Parameters
    ----------
    quantiles : float or array-like of shape (n_quantiles,)
        From 0 to 1.

    Returns
    -------
    levels : float64 ndarray of shape (n_quantiles,)
    """
    expected = "a number from 0 to 1, or a list of such"
    try:
        levels = np.asarray(quantiles)
    except ValueError:
        levels = np.empty((1, 1))
    if levels.dtype.kind not in "fiu" or levels.ndim > 1:
        refuse_param("quantiles", quantiles, expected=expected)
    levels = np.atleast_1d(levels).astype(np.float64)
    if not len(levels) or not ((levels >= 0.0) & (levels <= 1.0)).all():
        refuse_param("quantiles", quantiles, expected=expected, wrong_type=False)
    return levels


def _leave_out_duplicates(is_out, duplicates):
    """Return which trees have drawn none of the rows that are like a row."""
    if duplicates is None:
        return is_out
    is_out = is_out.copy()
    for group in duplicates:
        rows = np.asarray(group)
        if (
            rows.ndim != 1
            or rows.dtype.kind not in "iu"
            or (rows < 0).any()
            or (rows >= len(is_out)).any()
        ):
            expected = f"a list of lists of row numbers from 0 to {len(is_out) - 1}"
            refuse_param("duplicates", duplicates, expected=expected)
        is_out[rows] = is_out[rows].all(axis=0)
    return is_out
