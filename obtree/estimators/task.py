"""What classification and regression do differently, for every estimator.

An estimator is one of these two classes beside a way to grow trees (one tree, a
forest, ...). Growing leaves ``_predict_values``, the mean of class fractions or of
regression values with shape (n_samples, n_outputs, n_classes or 1), and
``_predict_classes``, the numbers of the largest of them; the task turns targets into
numbers before, and numbers into predictions after.
"""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score

from obtree.core.hints import Array, Floats, FloatsByOutput, MatrixLike
from obtree.core.names import show
from obtree.data.validate_target import (
    check_poisson_target,
    validate_class_target,
    validate_real_target,
)
from obtree.estimators.hints import Mixin
from obtree.estimators.params import expand_class_weight


@dataclass(frozen=True, eq=False)
class Target:
    """Targets of all rows as numbers, or that there are none.

    Attributes
    ----------
    y : ndarray of shape (n_samples, n_outputs) or None
        int32 class codes or float64 values; None where only X is known.
    classes : list of ndarray or None
        Labels behind the codes, per output; None for regression.
    partial : bool
        Whether rows may lack a class; their code is -1.
    """

    y: np.ndarray | None = None
    classes: list | None = None
    partial: bool = False

    @property
    def n_outputs(self):
        """Number of columns of y."""
        return 0 if self.y is None else self.y.shape[1]

    def take(self, rows):
        """Return the targets of some rows.

        Parameters
        ----------
        rows : ndarray of intp

        Returns
        -------
        target : Target
        """
        return self if self.y is None else replace(self, y=self.y[rows])

    @property
    def n_classes(self):
        """Number of classes per output as int64, or None for regression."""
        if self.classes is None:
            return None
        return np.array([len(found) for found in self.classes], dtype=np.int64)


class FittedTask(Mixin):
    """What both tasks ask of targets for an estimator that is fitted."""

    def _check_outputs(self, n_outputs):
        """Refuse targets of another number of outputs."""
        if n_outputs != self.n_outputs_:
            raise ValueError(f"y has {n_outputs} outputs; expected {self.n_outputs_}, as in fit")


class ClassificationTask(FittedTask, ClassifierMixin):
    """Class labels in, class labels and probabilities out."""

    _target_kind = "classes"

    def _encode_target(self, y, n_samples):
        """Return class codes and the labels they stand for."""
        return Target(*validate_class_target(y, n_samples))

    def _encode_known(self, y, n_samples):
        """Return codes of labels that the fitted estimator knows, and refuse others."""
        found, labels = validate_class_target(y, n_samples)
        self._check_outputs(len(labels))
        classes = self._list_classes()
        codes = np.empty_like(found)
        for k, (seen, known) in enumerate(zip(labels, classes, strict=True)):
            number = {label: code for code, label in enumerate(known.tolist())}
            unknown = [label for label in seen.tolist() if label not in number]
            if unknown:
                output = f" of output {k}" if len(classes) > 1 else ""
                raise ValueError(
                    f"y{output} holds classes that fit has not seen: {show(unknown)}; expected "
                    f"labels among {show(known.tolist())}"
                )
            codes[:, k] = np.array([number[label] for label in seen.tolist()])[found[:, k]]
        return Target(codes, classes)

    def _expand_class_weight(self, target, sample_weight):
        """Return what ``class_weight`` makes of each row, or None."""
        return expand_class_weight(self.class_weight, target.y, target.classes, sample_weight)

    def _check_grown_target(self, target, rows):
        """Classification restricts no target."""

    def _store_outputs(self, n_outputs, classes):
        """Set the fitted attributes that describe y."""
        self.n_outputs_ = n_outputs
        if n_outputs == 1:
            self.classes_ = classes[0]
            self.n_classes_ = len(classes[0])
        else:
            self.classes_ = list(classes)
            self.n_classes_ = [len(found) for found in classes]

    def _list_classes(self):
        """Return the class labels of each output."""
        return [self.classes_] if self.n_outputs_ == 1 else self.classes_

    def predict(self, X: MatrixLike) -> Array:
        """Predict the class of each row.

        The class with the highest probability; among equals the first in ``classes_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._name_classes(self._predict_classes(X))

    def predict_proba(self, X: MatrixLike) -> FloatsByOutput:
        """Predict the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or list of such arrays
            Columns in the order of ``classes_``; one array per output when there
            are several.
        """
        values = self._predict_values(X)
        if self.n_outputs_ == 1:
            return values[:, 0]
        return [values[:, k, :n_classes] for k, n_classes in enumerate(self.n_classes_)]

    def predict_log_proba(self, X: MatrixLike) -> FloatsByOutput:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes), or list of such arrays
            Minus infinity where the probability is zero.
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(proba) if self.n_outputs_ == 1 else [np.log(p) for p in proba]

    def _decode(self, values):
        """Turn probabilities (n_samples, n_outputs, n_classes) into labels."""
        return self._name_classes(values.argmax(axis=2))

    def _name_classes(self, codes):
        """Turn numbers of classes (n_samples, n_outputs) into labels."""
        if self.n_outputs_ == 1:
            return self.classes_.take(codes[:, 0])
        # The columns of one y share its dtype.
        labels = np.empty(codes.shape, dtype=self.classes_[0].dtype)
        for k, found in enumerate(self.classes_):
            labels[:, k] = found.take(codes[:, k])
        return labels

    def _target_labels(self, target):
        """Return y as the user gave it, in the shape that `predict` returns."""
        columns = [found[target.y[:, k]] for k, found in enumerate(target.classes)]
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)

    @staticmethod
    def _score_default(y_true, y_pred):
        """Fraction of rows of which every output is right."""
        right = y_true == y_pred
        return float(np.mean(right if right.ndim == 1 else right.all(axis=1)))


class RegressionTask(FittedTask, RegressorMixin):
    """Real numbers in, real numbers out."""

    _target_kind = "real"

    def _encode_target(self, y, n_samples):
        """Return y as float64."""
        return Target(validate_real_target(y, n_samples))

    def _encode_known(self, y, n_samples):
        """Return y as float64, of as many outputs as the fitted estimator has."""
        target = self._encode_target(y, n_samples)
        self._check_outputs(target.n_outputs)
        return target

    def _expand_class_weight(self, target, sample_weight):
        """Regression has no class weights."""
        return None

    def _check_grown_target(self, target, rows):
        """Refuse targets that the criterion is not defined for, among the rows used."""
        if self.criterion == "poisson":
            check_poisson_target(target.y if rows is None else target.y[rows])

    def _store_outputs(self, n_outputs, classes):
        """Set the fitted attributes that describe y."""
        self.n_outputs_ = n_outputs

    def _list_classes(self):
        """Regression has no class labels."""
        return None

    def predict(self, X: MatrixLike) -> Floats:
        """Predict the value of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._decode(self._predict_values(X))

    def _decode(self, values):
        """Drop the axes that carry no information."""
        return values[:, 0, 0] if self.n_outputs_ == 1 else values[:, :, 0]

    def _target_labels(self, target):
        """Return y in the shape that `predict` returns."""
        return target.y[:, 0] if target.n_outputs == 1 else target.y

    @staticmethod
    def _score_default(y_true, y_pred):
        """Coefficient of determination, averaged over outputs."""
        return float(r2_score(y_true, y_pred))


class UnsupervisedTask:
    """Rows in, and nothing that is to be predicted."""

    _target_kind = "none"

    def _encode_target(self, y, n_samples):
        """Return that there are no targets; scikit-learn's pipelines pass y to every step."""
        return Target()

    def _expand_class_weight(self, target, sample_weight):
        """There are no classes to weigh."""
        return None

    def _check_grown_target(self, target, rows):
        """There is nothing to check."""

    def _store_outputs(self, n_outputs, classes):
        """There is no y to describe."""

    def _list_classes(self):
        """There are no class labels."""
        return None
