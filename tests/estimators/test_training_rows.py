"""What forests remember of the rows they were fitted to: in files, pickles and after updates."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1, make_regression

from obtree import (
    NonGreedyForestRegressor,
    ObliqueForestRegressor,
    TAOForestRegressor,
    load_model,
    save_model,
)
from obtree.estimators.training_rows import describe_rows, restore_rows

X, Y = make_regression(150, 4, noise=20.0, random_state=0)
NEW = X[::4] + 0.05
LEVELS = [0.5, 0.05, 1.0, 0.25, 0.0, 0.95]


def fit(sample_weight=None, splitter="axis"):
    forest = ObliqueForestRegressor(25, splitter=splitter, min_samples_leaf=5, random_state=0)
    return forest.fit(X, Y, sample_weight)


FOREST = fit()


@pytest.mark.parametrize("weight", [None, np.arange(len(Y)) % 4])
@pytest.mark.parametrize("splitter", ["axis", "auto"])
def test_saved_and_pickled(tmp_path, splitter, weight):
    forest = fit(splitter=splitter, sample_weight=weight)
    save_model(forest, tmp_path / "model")
    for other in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(forest))):
        np.testing.assert_array_equal(
            other.predict(NEW, quantiles=LEVELS), forest.predict(NEW, quantiles=LEVELS)
        )
        np.testing.assert_array_equal(
            other.predict_quantiles(quantiles=LEVELS, oob_score=True),
            forest.predict_quantiles(quantiles=LEVELS, oob_score=True),
        )
        np.testing.assert_array_equal(other.log_prob(NEW, Y[::4]), forest.log_prob(NEW, Y[::4]))


@pytest.mark.parametrize("is_file", [True, False])
def test_forests_that_do_not_know_their_rows(tmp_path, is_file):
    old = clone(FOREST).fit(X, Y)
    if is_file:
        # As those that were written before there were training rows in files.
        del old._training
        save_model(old, tmp_path / "old")
        old = load_model(tmp_path / "old")
        np.testing.assert_array_equal(old.predict(X), FOREST.predict(X))
    else:
        old.update_leaves(X, Y)
    for call in (
        lambda: old.predict(X, quantiles=0.5),
        lambda: old.predict(X, return_std=True),
        lambda: old.log_prob(X, Y),
        lambda: old.predict_quantiles(X),
    ):
        with pytest.raises(ValueError, match="does not know the rows"):
            call()


@pytest.mark.parametrize(
    "forest",
    [
        TAOForestRegressor(5, leaf="constant", random_state=0),
        TAOForestRegressor(5, leaf="linear", random_state=0),
        NonGreedyForestRegressor(5, random_state=0),
    ],
)
def test_forests_whose_trees_see_all_rows(tmp_path, forest):
    data, y = make_regression(400, 4, noise=20.0, random_state=0)
    forest = clone(forest).fit(data[:300], y[:300], np.arange(300) % 3)
    low, high = forest.predict(data[300:], quantiles=[0.05, 0.95]).T
    assert 0.7 < np.mean((low <= y[300:]) & (y[300:] <= high)) <= 1.0
    assert (forest.predict(data, return_std=True)[1] < y.std()).all()
    found = forest.predict_quantiles(data[300:], LEVELS)
    assert ((found >= y.min()) & (found <= y.max())).all()
    with pytest.warns(UserWarning, match="no out-of-bag"):
        assert np.isnan(forest.predict_quantiles(oob_score=True)[np.arange(300) % 3 > 0]).all()
    save_model(forest, tmp_path / "model")
    for other in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(forest))):
        np.testing.assert_array_equal(other.log_prob(data, y), forest.log_prob(data, y))
        np.testing.assert_array_equal(other.predict_quantiles(data), forest.predict_quantiles(data))


def edit_rows(forest, **changes):
    """Return what a damaged pickle of the training rows would make."""
    header, arrays = describe_rows(forest._training)
    for name, value in changes.items():
        if name in header:
            header[name] = value
        elif value is None:
            del arrays[name]
        else:
            arrays[name] = value
    return header, arrays


KEPT = describe_rows(FOREST._training)[1]
ONES = np.ones(len(Y))


@pytest.mark.parametrize(
    "changes",
    [
        {"shrink": np.nan},
        {"shrink": 2.0},
        {"shrink": "1"},
        {"y": None},
        {"y": KEPT["y"][:-1]},
        {"y": np.where(np.arange(len(Y)) > 3, KEPT["y"].T, np.inf).T.copy()},
        {"y": KEPT["y"].astype(object)},
        {"misses": np.full_like(KEPT["misses"], np.inf)},
        {"leaves": KEPT["leaves"].astype(np.int64)},
        {"leaves": -KEPT["leaves"]},
        {"n_draws": KEPT["n_draws"] + 1},
        {"n_draws": -KEPT["n_draws"]},
        {"n_draws": KEPT["n_draws"][1:]},
        {"replace": KEPT["replace"].astype(np.int8)},
        {"weight": 0.0 * ONES},
        {"weight": np.nan * ONES},
        {"weight": ONES[1:]},
        {"rows": np.arange(len(Y)) + 1},
        {"rows": np.arange(len(Y))[::-1].copy()},
        {"other": ONES},
    ],
)
def test_damaged_training_rows(changes):
    header, arrays = edit_rows(FOREST, **changes)
    with pytest.raises(ValueError, match=r"\w"):
        restore_rows(header, arrays)
    with pytest.raises(ValueError, match=r"\w"):
        clone(FOREST)._restore_extras({"training": header}, arrays)


@pytest.mark.parametrize("leaves", [KEPT["leaves"] + 10_000, KEPT["leaves"][:, 1:].copy()])
def test_training_rows_of_other_trees(leaves):
    forest = pickle.loads(pickle.dumps(FOREST))
    header, arrays = edit_rows(FOREST, leaves=leaves)
    if leaves.shape[1] < len(FOREST.estimators_):
        arrays["n_draws"], arrays["replace"] = arrays["n_draws"][1:], arrays["replace"][1:]
    with pytest.raises(ValueError, match="not those of its trees"):
        forest._restore_extras({"training": header}, arrays)
    forest._training = restore_rows(header, arrays)
    with pytest.raises(ValueError, match="not those of its trees"):
        forest.predict(NEW, quantiles=0.5)


def test_shrink_against_pairs_of_trees():
    counts = np.array(
        [FOREST._bags.count(t, tree.random_state) for t, tree in enumerate(FOREST.estimators_)]
    )
    misses = np.array([Y - tree.predict(X) for tree in FOREST.estimators_])
    few, each, pairs = [], [], []
    for own in (misses[counts[:, i] == 0, i] for i in range(len(Y))):
        if len(own) > 1:
            few.append(own.mean() ** 2)
            each.append(np.mean(own**2))
            different = ~np.eye(len(own), dtype=bool)
            pairs.append(np.outer(own, own)[different].mean())
    n_trees = len(FOREST.estimators_)
    whole = np.mean(pairs) + (np.mean(each) - np.mean(pairs)) / n_trees
    assert FOREST._training.shrink == pytest.approx(np.sqrt(whole / np.mean(few)))
    assert FOREST._training.shrink < 0.98


def test_intervals_cover_what_they_say():
    data, y = make_friedman1(3000, noise=1.0, random_state=0)
    forest = ObliqueForestRegressor(50, splitter="axis", n_jobs=2, random_state=0)
    forest.fit(data[:1500], y[:1500])
    low, high = forest.predict(data[1500:], quantiles=[0.05, 0.95]).T
    assert 0.87 < np.mean((low <= y[1500:]) & (y[1500:] <= high)) < 0.93
    low, high = forest.predict_quantiles(data[1500:], [0.05, 0.95]).T
    assert np.mean((low <= y[1500:]) & (y[1500:] <= high)) > 0.93
