"""Bad input ends in a clear error or in a correct tree, for every estimator."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from obtree import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor

X = np.arange(20.0).reshape(10, 2)
Y = np.arange(10) % 2


def test_empty(either):
    with pytest.raises(ValueError, match="0 sample"):
        either.fit(np.zeros((0, 3)), [])
    with pytest.raises(ValueError, match="0 feature"):
        either.fit(np.zeros((3, 0)), [0, 1, 2])


def test_one_row(either):
    either.fit([[1.0, 2.0]], [3])
    np.testing.assert_array_equal(either.predict([[5.0, np.nan], [0.0, 0.0]]), [3, 3])


def test_one_class(classifier):
    classifier.fit(X, np.full(10, "only"))
    assert classifier.n_classes_ == 1
    assert set(classifier.predict(X)) == {"only"}
    np.testing.assert_array_equal(classifier.predict_proba(X), np.ones((10, 1)))


def test_constant_columns(either):
    constant = np.ones((10, 3))
    either.fit(constant, Y)
    assert len(set(either.predict(constant))) == 1
    mixed = np.hstack([constant, X])
    assert either.fit(mixed, Y).predict(mixed).shape == (10,)
    assert (either.feature_importances_[:3] == 0).all()


def test_all_nan_columns(either):
    missing = np.full((10, 2), np.nan)
    either.fit(missing, Y)
    assert len(set(either.predict(missing))) == 1
    mixed = np.hstack([missing, X])
    either.fit(mixed, Y)
    assert (either.feature_importances_[:2] == 0).all()


@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e39])
def test_infinity(either, bad):
    broken = X.copy()
    broken[4, 1] = bad
    with pytest.raises(ValueError, match=r"infinity.*column 1, first at row 4"):
        either.fit(broken, Y)
    either.fit(X, Y)
    with pytest.raises(ValueError, match=r"infinity.*column 1, first at row 4"):
        either.predict(broken)


def test_text(either):
    broken = X.astype(object)
    broken[2, 1] = "red"
    with pytest.raises(ValueError, match=r"column 1, row 2, value 'red'"):
        either.fit(broken, Y)
    either.fit(X, Y)
    with pytest.raises(ValueError, match=r"column 1, row 2, value 'red'"):
        either.predict(broken)


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (-np.ones(10), "Negative values in sample_weight"),
        (np.zeros(10), "positive finite sum"),
        (np.ones(9), r"shape \(9,\), expected \(10,\)"),
        (np.full(10, np.nan), "sample_weight contains NaN"),
    ],
)
def test_weights(either, weight, text):
    with pytest.raises(ValueError, match=text):
        either.fit(X, Y, sample_weight=weight)


def test_target(either):
    with pytest.raises(ValueError, match="y contains NaN"):
        either.fit(X, np.where(Y == 0, np.nan, 1.0))
    with pytest.raises(ValueError, match="y has 11 entries but X has 10 rows"):
        either.fit(X, np.zeros(11))
    with pytest.raises(ValueError, match="y has 9 entries but X has 10 rows"):
        either.fit(X, np.zeros(9))


def test_poisson_needs_counts():
    tree = ObliqueTreeRegressor(criterion="poisson")
    with pytest.raises(ValueError, match="needs y >= 0"):
        tree.fit(X, Y - 1)
    with pytest.raises(ValueError, match="positive sum"):
        tree.fit(X, np.zeros(10))
    with pytest.raises(ValueError, match="positive sum"):
        tree.fit(X, Y, sample_weight=1 - Y)
    tree.fit(X, Y - 2 * (np.arange(10) == 0), sample_weight=np.arange(10) > 0)


@pytest.mark.parametrize("names", ["splitter", "criterion"])
def test_unknown_names(either, names):
    wrong = {"splitter": "axs", "criterion": either.criterion[:-1]}[names]
    right = {"splitter": "axis", "criterion": either.criterion}[names]
    with pytest.raises(ValueError, match=f"{wrong!r}.*expected one of.*{right!r}"):
        either.set_params(**{names: wrong}).fit(X, Y)
    with pytest.raises(ValueError, match=f"Did you mean {right!r}"):
        either.fit(X, Y)


def test_splitter_of_the_wrong_type(either):
    with pytest.raises((TypeError, ValueError), match="splitter=3 is not valid"):
        either.set_params(splitter=3).fit(X, Y)


def test_criterion_of_the_other_task(either):
    other = "gini" if either.criterion == "squared_error" else "squared_error"
    with pytest.raises(ValueError, match=f"unknown criterion {other!r}"):
        either.set_params(criterion=other).fit(X, Y)


@pytest.mark.parametrize("max_features", [0, 0.0, -1, 1.5, 3, "none", True])
def test_max_features(either, max_features):
    with pytest.raises(ValueError, match="max_features"):
        either.set_params(max_features=max_features).fit(X, Y)


def test_predict_with_other_columns(either):
    either.fit(X, Y)
    for method in ("predict", "apply", "decision_path"):
        with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 2"):
            getattr(either, method)(np.zeros((2, 3)))


def test_predict_with_other_names(either):
    pd = pytest.importorskip("pandas")
    either.fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    with pytest.raises(ValueError, match="feature names should match"):
        either.predict(pd.DataFrame(X, columns=["a", "c"]))
    with pytest.raises(ValueError, match="feature names should match"):
        either.predict(pd.DataFrame(X, columns=["b", "a"]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        either.predict(X)


def test_predict_before_fit(either):
    for method in ("predict", "apply", "decision_path", "score"):
        with pytest.raises(NotFittedError):
            getattr(either, method)(*((X,) if method != "score" else (X, Y)))
    with pytest.raises(NotFittedError):
        either.feature_importances_  # noqa: B018


def test_failed_fit_leaves_the_previous_one(either):
    either.fit(X, Y)
    before = either.predict(X)
    state = dict(vars(either))
    with pytest.raises(ValueError, match="y has"):
        either.fit(np.zeros((4, 7)), [0, 1])
    assert vars(either) == state
    np.testing.assert_array_equal(either.predict(X), before)


def test_failed_first_fit_leaves_it_unfitted(either):
    with pytest.raises(ValueError, match="y has"):
        either.fit(X, [0, 1])
    assert not hasattr(either, "n_features_in_")
    with pytest.raises(NotFittedError):
        either.predict(X)


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"n_estimators": 0}, "n_estimators=0 is not valid; expected an integer >= 1"),
        ({"n_estimators": 2.5}, "n_estimators=2.5 is not valid"),
        ({"bootstrap": "yes"}, "unknown bootstrap 'yes'; expected True, False or 'auto'"),
        ({"warm_start": 1}, "warm_start=1 is not valid"),
        ({"verbose": -1}, "verbose=-1 is not valid"),
        ({"oob_score": "r2"}, "oob_score='r2' is not valid"),
        ({"combine": "mean"}, "unknown combine 'mean'"),
        ({"bootstrap": False, "oob_score": True}, "only available if bootstrap=True"),
        ({"bootstrap": False, "max_samples": 3}, "max_samples=3 cannot be set"),
        ({"max_samples": 0}, "max_samples=0 is not valid; expected None, an integer from 1 to 10"),
        ({"max_samples": 11}, "max_samples=11 is not valid"),
        (
            {"max_samples": 1.5},
            r"max_samples=1.5 is not valid; expected None, .*or a number in \(0",
        ),
        ({"class_weight": "even"}, "unknown class_weight 'even'.*'balanced_subsample'"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_parameters_of_the_forest(params, text):
    with pytest.raises(ValueError, match=text):
        ObliqueForestClassifier(**{"n_estimators": 2, **params}).fit(X, Y)


def test_tree_cannot_balance_a_subsample():
    with pytest.raises(ValueError, match="unknown class_weight 'balanced_subsample'"):
        ObliqueTreeClassifier(class_weight="balanced_subsample").fit(X, Y)
