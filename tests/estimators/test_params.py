"""Parameters: resolution to plain numbers, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from obtree.estimators.params import (
    expand_class_weight,
    resolve_growth_rule,
    resolve_max_features,
    resolve_max_samples,
    resolve_monotonic_cst,
)

DEFAULTS = dict(
    max_depth=None,
    min_samples_split=2,
    min_samples_leaf=1,
    min_weight_fraction_leaf=0.0,
    max_features=None,
    max_leaf_nodes=None,
    min_impurity_decrease=0.0,
    n_features_in_=10,
)


def resolve(n_samples=100, **params):
    return resolve_growth_rule(SimpleNamespace(**{**DEFAULTS, **params}), n_samples, None)


@pytest.mark.parametrize(
    ("max_features", "expected"),
    [
        (None, 10),
        ("sqrt", 3),
        ("log2", 3),
        (1, 1),
        (10, 10),
        (1.0, 10),
        (0.39, 3),
        (0.01, 1),
        (np.int64(4), 4),
        (np.float32(0.5), 5),
    ],
)
def test_max_features(max_features, expected):
    assert resolve_max_features(max_features, 10) == expected


@pytest.mark.parametrize("max_features", [0, 11, -1, 0.0, 1.01, np.nan, "all", True, [1]])
def test_max_features_refused(max_features):
    with pytest.raises(ValueError, match="max_features"):
        resolve_max_features(max_features, 10)


@pytest.mark.parametrize(
    ("max_samples", "expected"), [(None, 10), (3, 3), (10, 10), (0.55, 5), (0.01, 1), (1.0, 10)]
)
def test_max_samples(max_samples, expected):
    assert resolve_max_samples(max_samples, 10) == expected


def test_defaults():
    rule = resolve()
    assert rule.max_depth == 2**31 - 1
    assert rule.min_samples_split == 2
    assert rule.min_samples_leaf == 1
    assert rule.max_leaf_nodes == -1
    assert rule.max_features == 10
    assert rule.monotonic_cst is None


def test_fractions_are_of_the_rows():
    rule = resolve(n_samples=101, min_samples_leaf=0.1, min_samples_split=0.5)
    assert rule.min_samples_leaf == 11
    assert rule.min_samples_split == 51
    assert resolve(min_samples_split=0.001).min_samples_split == 2
    assert resolve(min_samples_split=1.0).min_samples_split == 100


def test_split_needs_two_leaves():
    assert resolve(min_samples_leaf=7).min_samples_split == 14


def test_huge_limits_fit_into_32_bits():
    rule = resolve(max_depth=10**15, max_leaf_nodes=10**15, min_samples_leaf=10**15)
    assert rule.max_depth == rule.max_leaf_nodes == 2**31 - 1
    assert 100 < rule.min_samples_leaf <= rule.min_samples_split < 2**31


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_depth", 0),
        ("max_depth", 2.5),
        ("max_depth", True),
        ("max_depth", "deep"),
        ("min_samples_split", 1),
        ("min_samples_split", 0.0),
        ("min_samples_split", 1.1),
        ("min_samples_leaf", 0),
        ("min_samples_leaf", -0.1),
        ("min_samples_leaf", None),
        ("min_weight_fraction_leaf", 0.6),
        ("min_weight_fraction_leaf", -0.1),
        ("max_leaf_nodes", 1),
        ("min_impurity_decrease", -1.0),
        ("min_impurity_decrease", np.nan),
    ],
)
def test_stop_rules_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r} is not valid; expected"):
        resolve(**{name: value})


CODES = np.array([[0], [0], [0], [1]], dtype=np.int32)
LABELS = [np.array(["a", "b"])]


def test_class_weights():
    assert expand_class_weight(None, CODES, LABELS, None) is None
    weight = expand_class_weight("balanced", CODES, LABELS, None)
    np.testing.assert_allclose(weight, [2 / 3, 2 / 3, 2 / 3, 2])
    weight = expand_class_weight({"a": 1, "b": 5.0}, CODES, LABELS, None)
    np.testing.assert_array_equal(weight, [1, 1, 1, 5])
    np.testing.assert_array_equal(expand_class_weight({"b": 5}, CODES, LABELS, None), weight)


def test_balance_counts_weights():
    weight = np.array([1.0, 2.0, 0.0, 6.0])
    balanced = expand_class_weight("balanced", CODES, LABELS, weight)
    np.testing.assert_allclose(balanced * weight, [1.5, 3.0, 0.0, 4.5])
    alone = expand_class_weight("balanced", CODES, LABELS, np.array([1.0, 1.0, 1.0, 0.0]))
    np.testing.assert_allclose(alone, [1, 1, 1, 0])


def test_class_weights_of_several_outputs():
    codes = np.hstack([CODES, CODES[::-1]])
    weights = [{"a": 2, "b": 3}, {"a": 5, "b": 7}]
    weight = expand_class_weight(weights, codes, LABELS * 2, None)
    np.testing.assert_array_equal(weight, [14, 10, 10, 15])


@pytest.mark.parametrize(
    "class_weight", ["even", 3, [{"a": 1}, {"b": 1}], {"a": -1}, {"a": np.nan}, ["a"], {"c": 1.0}]
)
def test_class_weights_refused(class_weight):
    with pytest.raises(ValueError, match="class_weight"):
        expand_class_weight(class_weight, CODES, LABELS, None)


def test_one_dict_for_several_outputs_is_refused():
    with pytest.raises(ValueError, match="list of one dict per output"):
        expand_class_weight({"a": 1}, np.hstack([CODES, CODES]), LABELS * 2, None)


def constrain(monotonic_cst, n_outputs=1, n_classes=None, supports=True, names=None):
    estimator = SimpleNamespace(monotonic_cst=monotonic_cst, n_features_in_=3, splitter="some")
    if names is not None:
        estimator.feature_names_in_ = np.array(list(names), dtype=object)
    splitter = SimpleNamespace(supports_monotonic=supports)
    return resolve_monotonic_cst(estimator, splitter, n_outputs, n_classes)


def test_constraints():
    assert constrain(None) is None
    assert constrain([0, 0, 0], supports=False) is None
    signs = constrain([1, 0, -1])
    assert signs.dtype == np.int8
    np.testing.assert_array_equal(signs, [1, 0, -1])
    np.testing.assert_array_equal(constrain({"c": -1, "a": 1}, names="abc"), [1, 0, -1])
    np.testing.assert_array_equal(constrain([1, 0, 0], n_classes=np.array([2])), [1, 0, 0])


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"monotonic_cst": [1, 0]}, r"shape \(2,\) but the input data X has 3 features"),
        ({"monotonic_cst": [1, 0, 2]}, r"cst=\[1, 0, 2\] is not valid; expected None, an array"),
        ({"monotonic_cst": "up"}, "monotonic_cst='up' is not valid; expected None, an array-like"),
        ({"monotonic_cst": [1, [0, 1]]}, r"monotonic_cst=\[1, \[0, 1\]\] is not valid"),
        ({"monotonic_cst": [1, 0, 0], "n_outputs": 2}, "not supported with multiple outputs"),
        ({"monotonic_cst": [1, 0, 0], "n_classes": [3]}, "not supported with multiclass"),
        ({"monotonic_cst": [1, 0, 0], "supports": False}, "cannot be honoured by splitter='some'"),
        ({"monotonic_cst": {"a": 1}}, "X has no column names"),
        ({"monotonic_cst": {"d": 1}, "names": "abc"}, "'d', which is not a column of X"),
    ],
)
def test_constraints_refused(kwargs, text):
    with pytest.raises(ValueError, match=text):
        constrain(**kwargs)
