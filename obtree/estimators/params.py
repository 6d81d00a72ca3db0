"""Parameters of estimators, resolved to plain numbers.

Constructors store what they are given, as scikit-learn asks; `fit` passes the
parameters through here. Fractions and names such as "sqrt" become counts, gathered in
one `GrowthRule` that the compiled builders read. What a parameter may be is checked by
`obtree.core.params`.
"""

import math

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from obtree.builder.rule import NO_LIMIT, GrowthRule
from obtree.core.names import list_names, name_column, show, suggest
from obtree.core.params import FLAG, Fraction, Integer, Number, check_param, refuse_param
from obtree.core.saved import SavedPart
from obtree.criterion.linear_gaussian import LinearGaussian
from obtree.forest.leaf_fitter import FITTERS, MAX_L2, LeafFitter, LinearGaussianFitter

#: A part of the rows.
PART = Fraction(0.0, 1.0, open_low=True)
#: 1 shows a progress bar.
VERBOSE = (FLAG, Integer(0))


def resolve_max_features(max_features, n_features, bounded=True):
    """Turn `max_features` into the number of candidates per node.

    Parameters
    ----------
    max_features : int, float, {"sqrt", "log2"} or None
        What the user gave.
    n_features : int
        Number of columns of X.
    bounded : bool, default=True
        Whether there are no more candidates than features.

    Returns
    -------
    count : int
        At least 1, and at most `n_features` if bounded.
    """
    count = Integer(1, n_features if bounded else NO_LIMIT)
    fraction = Fraction(0.0, 1.0 if bounded else NO_LIMIT / n_features, open_low=True)
    if isinstance(max_features, str) and max_features == "auto":
        raise ValueError(
            "max_features='auto' is not valid; it meant 'sqrt' for classifiers and 1.0 for "
            "regressors, which are the defaults of forests"
        )
    wanted = check_param("max_features", max_features, "sqrt", "log2", None, count, fraction)
    if wanted is None:
        return n_features
    if isinstance(wanted, str):
        root = math.sqrt if wanted == "sqrt" else math.log2
        return max(1, int(root(n_features)))
    return wanted if isinstance(wanted, int) else max(1, int(wanted * n_features))


def resolve_max_samples(max_samples, n_samples):
    """Turn `max_samples` into the number of bootstrap draws per tree.

    Parameters
    ----------
    max_samples : int, float or None
        What the user gave: a count, a fraction of the rows, or None for all.
    n_samples : int
        Number of rows with a positive weight.

    Returns
    -------
    count : int
        Between 1 and `n_samples`.
    """
    wanted = check_param("max_samples", max_samples, None, Integer(1, n_samples), PART)
    if wanted is None:
        return n_samples
    return wanted if isinstance(wanted, int) else max(1, int(wanted * n_samples))


def resolve_growth_rule(estimator, n_samples, monotonic_cst, bounded=True):
    """Check the stop rules of an estimator and resolve them to counts.

    Parameters
    ----------
    estimator : estimator object
        Has scikit-learn's tree parameters and ``n_features_in_``.
    n_samples : int
        Number of rows with a positive weight: what fractions refer to.
    monotonic_cst : ndarray of int8 or None
        Result of `resolve_monotonic_cst`.
    bounded : bool, default=True
        Whether ``max_features`` is at most the number of features.

    Returns
    -------
    rule : GrowthRule
    """
    max_depth = check_param("max_depth", estimator.max_depth, None, Integer(1))
    max_leaf_nodes = check_param("max_leaf_nodes", estimator.max_leaf_nodes, None, Integer(2))
    min_samples_leaf = resolve_count("min_samples_leaf", estimator.min_samples_leaf, n_samples, 1)
    min_samples_split = resolve_count(
        "min_samples_split", estimator.min_samples_split, n_samples, 2
    )
    return GrowthRule(
        max_depth=NO_LIMIT if max_depth is None else min(max_depth, NO_LIMIT),
        min_samples_split=max(min_samples_split, 2 * min_samples_leaf),
        min_samples_leaf=min_samples_leaf,
        min_weight_fraction_leaf=check_param(
            "min_weight_fraction_leaf", estimator.min_weight_fraction_leaf, Number(0.0, 0.5)
        ),
        max_features=resolve_max_features(
            estimator.max_features, estimator.n_features_in_, bounded
        ),
        max_leaf_nodes=-1 if max_leaf_nodes is None else min(max_leaf_nodes, NO_LIMIT),
        min_impurity_decrease=check_param(
            "min_impurity_decrease", estimator.min_impurity_decrease, Number(0.0)
        ),
        monotonic_cst=monotonic_cst,
    )


def resolve_monotonic_cst(estimator, splitter, n_outputs, n_classes):
    """Check monotonicity constraints against data and splitter.

    Parameters
    ----------
    estimator : estimator object
        Has ``monotonic_cst``, ``n_features_in_`` and maybe ``feature_names_in_``.
    splitter : Splitter
        Says whether it can honour constraints.
    n_outputs : int
        Number of outputs of y.
    n_classes : ndarray of int64 or None
        Number of classes per output; None for regression.

    Returns
    -------
    monotonic_cst : ndarray of int8, shape (n_features,), or None
        +1, 0 or -1 per feature, for the regression value or the probability of
        the second class. None when nothing is constrained.
    """
    given = estimator.monotonic_cst
    if given is None:
        return None
    if n_outputs > 1:
        raise ValueError(
            f"Monotonicity constraints are not supported with multiple outputs; y has {n_outputs}"
        )
    if n_classes is not None and n_classes[0] > 2:
        raise ValueError(
            "Monotonicity constraints are not supported with multiclass classification; "
            f"y has {n_classes[0]} classes"
        )
    expected = "None, an array-like of -1, 0 or 1, or a dict of such by name of feature"
    signs = _spread_by_name(given, estimator) if isinstance(given, dict) else given
    try:
        signs = np.asarray(signs)
    except ValueError:  # lists of different lengths
        signs = np.empty(())
    if signs.ndim == 0:
        refuse_param("monotonic_cst", given, expected=expected)
    n_features = estimator.n_features_in_
    if signs.shape != (n_features,):
        raise ValueError(
            f"monotonic_cst has shape {signs.shape} but the input data X has {n_features} features"
        )
    if not np.isin(signs, (-1, 0, 1)).all():
        refuse_param("monotonic_cst", given, expected=expected, wrong_type=False)
    if not signs.any():
        return None
    categorical = getattr(estimator, "is_categorical_", None)
    if categorical is not None and signs[categorical].any():
        j = np.flatnonzero(categorical & (signs != 0))[0]
        names = getattr(estimator, "feature_names_in_", None)
        raise ValueError(
            f"monotonic_cst={show(given)} constrains {name_column(j, names)}, whose categories "
            "have no order; expected 0 there"
        )
    if getattr(estimator, "rotation", None) is not None:
        raise ValueError(
            f"monotonic_cst cannot be honoured with rotation={show(estimator.rotation)}, whose "
            "cuts mix features; expected rotation=None or monotonic_cst=None"
        )
    if not splitter.supports_monotonic:
        raise ValueError(
            f"monotonic_cst cannot be honoured by splitter={show(estimator.splitter)}; "
            "expected a splitter of axis-aligned cuts such as 'axis'"
        )
    return np.ascontiguousarray(signs, dtype=np.int8)


def predicts_lines(estimator):
    """Tell whether the leaves of an estimator are lines with Gaussian noise.

    They are asked for by name, or by a criterion whose splits make good lines and are of no use
    without them.

    Parameters
    ----------
    estimator : estimator object
        Has ``leaf`` and ``criterion``.

    Returns
    -------
    bool
    """
    leaf, name = estimator.leaf, LinearGaussianFitter.kind.name
    if isinstance(leaf, str) and leaf == "constant":
        return estimator.criterion is LinearGaussian or (
            isinstance(estimator.criterion, str) and estimator.criterion == name
        )
    return isinstance(leaf, LinearGaussianFitter) or (isinstance(leaf, str) and leaf == name)


def resolve_leaf(estimator, monotonic_cst):
    """Check what is asked of the leaves.

    Parameters
    ----------
    estimator : estimator object
        Has ``leaf``, ``leaf_l2`` and ``criterion``.
    monotonic_cst : ndarray of int8 or None
        Result of `resolve_monotonic_cst`.

    Returns
    -------
    fitter : LeafFitter or None
        What fits the leaves; None when they are constant.
    """
    fitter = estimator.leaf
    if isinstance(fitter, SavedPart):
        raise ValueError(fitter.explain(FITTERS))
    if not isinstance(fitter, LeafFitter):
        name = check_param("leaf", fitter, *FITTERS)
        fitter = LinearGaussianFitter if predicts_lines(estimator) else FITTERS[name]
    l2 = check_param("leaf_l2", estimator.leaf_l2, Number(0.0, MAX_L2, open_low=True))
    if fitter is None:
        return None
    if monotonic_cst is not None:
        raise ValueError(
            f"monotonic_cst cannot be honoured by leaf={show(estimator.leaf)}, whose models know "
            "no constraints; expected leaf='constant' or monotonic_cst=None"
        )
    if isinstance(fitter, type):
        fitter = fitter(**({"l2": l2} if "l2" in fitter.parameter_names else {}))
    fitter.check_criterion(estimator.criterion)
    return fitter


def expand_class_weight(class_weight, codes, classes, sample_weight):
    """Turn `class_weight` into one weight per row.

    Parameters
    ----------
    class_weight : dict, list of dict, "balanced" or None
        What the user gave; "balanced_subsample" is left to the forest.
    codes : ndarray of int32, shape (n_samples, n_outputs)
        Position of each label in `classes`.
    classes : list of ndarray
        Distinct labels per output.
    sample_weight : ndarray or None
        Counted by "balanced", so that a weight equals repetition.

    Returns
    -------
    weight : ndarray of float64, shape (n_samples,), or None
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        check_param("class_weight", class_weight, "balanced")
        per_output = [
            _balance(codes[:, k], len(found), sample_weight) for k, found in enumerate(classes)
        ]
    else:
        per_output = [
            compute_class_weight(weights, classes=found, y=found)
            for weights, found in zip(
                _check_class_weight(class_weight, classes), classes, strict=True
            )
        ]
    weight = np.ones(len(codes))
    for k, weights in enumerate(per_output):
        weight *= weights[codes[:, k]]
    return weight


def _balance(codes, n_classes, sample_weight):
    """Weights inversely proportional to class frequency; 0 for a class without weight."""
    total = np.bincount(codes, weights=sample_weight, minlength=n_classes)
    present = total > 0
    balanced = np.zeros(n_classes)
    balanced[present] = total.sum() / (present.sum() * total[present])
    return balanced


def _check_class_weight(class_weight, classes):
    """Check weights given by class and return one dict per output."""
    expected = "a dict, a list of one dict per output, or 'balanced'"
    per_output = class_weight
    if isinstance(class_weight, dict):
        per_output = [class_weight] * (len(classes) if len(classes) == 1 else 0)
        expected = f"a list of one dict per output, of which y has {len(classes)}"
    if (
        not isinstance(per_output, (list, tuple))
        or len(per_output) != len(classes)
        or not all(isinstance(weights, dict) for weights in per_output)
    ):
        is_list = isinstance(class_weight, (dict, list, tuple))
        refuse_param("class_weight", class_weight, expected=expected, wrong_type=not is_list)
    for weights in per_output:
        for label, weight in weights.items():
            check_param(f"class_weight[{show(label)}]", weight, Number(0.0))
    return per_output


def _spread_by_name(given, estimator):
    """Turn {feature name: sign} into one sign per feature."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            f"monotonic_cst={show(given)} names features, but X has no column names; "
            "expected a data frame or an array-like of -1, 0 or 1"
        )
    unknown = sorted(set(map(str, given)) - set(names))
    if unknown:
        near = suggest(unknown[0], names)
        some = f"did you mean {show(near)}?" if near else f"such as {list_names(names[:10])}"
        raise ValueError(
            f"monotonic_cst names {show(unknown[0])}, which is not a column of X; expected names "
            f"of columns, {some}"
        )
    return [given.get(name, 0) for name in names]


def resolve_count(name, value, n_samples, low):
    """Turn a count or a fraction of the rows into a count of at least `low`.

    Parameters
    ----------
    name : str
        What the parameter is called.
    value : int or float
        What the user gave.
    n_samples : int
        Number of rows with a positive weight.
    low : int

    Returns
    -------
    count : int
    """
    wanted = check_param(name, value, Integer(low), PART)
    if isinstance(wanted, int):
        return min(wanted, NO_LIMIT // 2)
    return max(low, math.ceil(wanted * n_samples))
