"""Splitters written in Python."""

import os
import traceback
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_diabetes

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from obtree.bench.data import load
from obtree.splitter import PythonSplitter
from obtree.testing import check_splitter
from obtree.testing.growth import find_differences

EXTENDING = Path(__file__).resolve().parents[1] / "extending"


@pytest.fixture
def best_cut(monkeypatch):
    """The example of the tutorial."""
    monkeypatch.syspath_prepend(str(EXTENDING))
    from best_cut import BestCut

    return BestCut


class RandomPlane(PythonSplitter):
    """A random direction, cut at a random row."""

    def __init__(self, spread=1.0):
        self.spread = spread

    def split(self, X, y, sample_weight, rng):
        filled = np.nan_to_num(X)
        weights = self.spread * rng.normal(size=X.shape[1])
        scale = np.abs(filled).max(axis=0)
        weights = np.where(scale > 0, weights / np.where(scale > 0, scale, 1), 0)
        sums = filled @ weights
        if not weights.any() or sums.min() == sums.max():
            return None
        return weights, rng.choice(sums[sums < sums.max()])


class Answer(PythonSplitter):
    """Returns what it was told to."""

    def __init__(self, answer=None):
        self.answer = answer

    def split(self, X, y, sample_weight, rng):
        return self.answer


class Recorder(PythonSplitter):
    """Keeps what it is given in a list of the class, and makes leaves."""

    seen = []

    def split(self, X, y, sample_weight, rng):
        self.seen.append(
            (X, y, sample_weight, self.max_features_, self.n_classes_, self.min_samples_leaf_)
        )


@pytest.fixture
def recorder():
    Recorder.seen.clear()
    return Recorder()


def test_the_contract():
    check_splitter(RandomPlane(2.0))


def test_the_example_is_the_axis_splitter(best_cut):
    X, y = load_breast_cancer(return_X_y=True)
    one = ObliqueTreeClassifier(splitter=best_cut(), random_state=0).fit(X, y)
    other = ObliqueTreeClassifier(splitter="axis", random_state=0).fit(X, y)
    assert one.tree_.node_count == other.tree_.node_count
    assert one.get_depth() == other.get_depth()


@pytest.mark.skipif("OBTREE_DATA" not in os.environ, reason="needs the Letter data")
def test_the_example_on_letter(best_cut):
    X, y, X_test, y_test = load("letter")  # the usual 15,000 and 5,000 rows
    scores = {
        name: np.mean(
            [
                ObliqueTreeClassifier(splitter=splitter, random_state=seed)
                .fit(X, y)
                .score(X_test, y_test)
                for seed in (0, 1)
            ]
        )
        for name, splitter in (("axis", "axis"), ("python", best_cut()))
    }
    assert scores["axis"] > 0.85
    assert scores["python"] > scores["axis"] - 0.005


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_nothing(n_jobs):
    X, y = load_diabetes(return_X_y=True)
    forests = [
        ObliqueForestRegressor(6, splitter=RandomPlane(), random_state=1, n_jobs=k).fit(X, y)
        for k in (1, n_jobs)
    ]
    for one, other in zip(*(forest.estimators_ for forest in forests), strict=True):
        assert not find_differences(one.tree_, other.tree_)
    assert find_differences(*(tree.tree_ for tree in forests[0].estimators_[:2]))


def test_what_it_is_given(recorder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)).astype(np.float32)
    X[3, 1] = np.nan
    y = rng.integers(0, 3, 30)
    weight = rng.integers(0, 3, 30).astype(float)
    ObliqueTreeClassifier(splitter=recorder, max_features=2, min_samples_leaf=4).fit(
        X, np.array(["a", "b", "c"])[y], weight
    )
    (given,) = Recorder.seen
    kept = weight > 0
    np.testing.assert_array_equal(given[0], X[kept].astype(np.float64))
    np.testing.assert_array_equal(given[1], y[kept])
    np.testing.assert_array_equal(given[2], weight[kept])
    assert given[0].dtype == np.float64
    assert given[3:] == (2, 3, 4)


def test_sparse_rows_and_several_outputs(recorder):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((20, 5)) < 0.5, 0, rng.normal(size=(20, 5))).astype(np.float32)
    y = rng.normal(size=(20, 2))
    ObliqueTreeRegressor(splitter=recorder).fit(scipy.sparse.csr_matrix(dense), y)
    X, targets, weight, _, n_classes, _ = Recorder.seen[0]
    np.testing.assert_array_equal(X, dense)
    np.testing.assert_array_equal(targets, y)
    assert n_classes is None
    assert (weight == 1).all()
    ObliqueTreeClassifier(splitter=recorder).fit(dense, rng.integers(0, [2, 3], (20, 2)))
    np.testing.assert_array_equal(Recorder.seen[1][4], [2, 3])


def test_missing_values_go_where_the_criterion_wants_them():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [np.nan], [np.nan]])
    for y, left in (([0, 0, 1, 1, 0, 0], True), ([0, 0, 1, 1, 1, 1], False)):
        tree = ObliqueTreeClassifier(splitter=Answer(([1.0], 1.5))).fit(X, y)
        assert tree.tree_.missing_go_left[0] == left
        assert tree.score(X, y) == 1
        assert tree.tree_.threshold[0] == 1.5


def test_a_row_lacks_only_what_the_plane_uses():
    X = np.array([[0.0, np.nan], [1.0, np.nan], [2.0, 5.0], [3.0, np.nan]])
    tree = ObliqueTreeClassifier(splitter=Answer(([1, 0], 1))).fit(X, [0, 0, 1, 1])
    assert tree.tree_.term_feature.tolist() == [0]
    assert tree.score(X, [0, 0, 1, 1]) == 1


def test_an_empty_or_small_side_makes_a_leaf():
    X = np.arange(10.0).reshape(-1, 1)
    y = X[:, 0] > 4
    for threshold in (-1, 9, 100):
        tree = ObliqueTreeClassifier(splitter=Answer(([1.0], threshold))).fit(X, y)
        assert tree.tree_.node_count == 1
    small = Answer(([1.0], 1.0))
    assert ObliqueTreeClassifier(splitter=small, min_samples_leaf=3).fit(X, y).get_depth() == 0
    assert ObliqueTreeClassifier(splitter=small, min_samples_leaf=2).fit(X, y).get_depth() == 1


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (3, TypeError, r"Answer.split returned 3; expected a pair \(weights, threshold\)"),
        (([1, 2], 3, 4), TypeError, "expected a pair"),
        (([1], 0), ValueError, r"weights of shape \(1,\); expected \(2,\)"),
        (([[1, 2]], 0), ValueError, r"weights of shape \(1, 2\)"),
        ((["a", "b"], 0), TypeError, "weights that are no numbers: .'a', 'b'."),
        (([1, np.nan], 0), ValueError, "the weight nan for feature 1; expected finite"),
        (([np.inf, 0], 0), ValueError, "the weight inf for feature 0"),
        (([0, 0], 0), ValueError, "weights that are all zero"),
        (([1, 1], np.nan), ValueError, "the threshold nan; expected a finite number"),
        (([1, 1], None), TypeError, "the threshold None; expected a number"),
        (([1, 1], True), TypeError, "the threshold True; expected a number"),
        (([1, 1], [1, 2]), TypeError, r"the threshold \[1, 2\]"),
        (([1e308, 1e308], 0), ValueError, r"weights up to 1e\+308, with which the sums overflow"),
    ],
)
def test_wrong_answers(answer, error, message):
    X = np.arange(20.0).reshape(-1, 2)
    with pytest.raises(error, match=message):
        ObliqueTreeClassifier(splitter=Answer(answer)).fit(X, np.arange(10) % 2)


class Fails(PythonSplitter):
    def split(self, X, y, sample_weight, rng):
        return X[len(X) + 7]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_come_out_with_their_traceback(n_jobs):
    X, y = load_breast_cancer(return_X_y=True)
    forest = ObliqueForestClassifier(4, splitter=Fails(), n_jobs=n_jobs)
    with pytest.raises(IndexError) as error:
        forest.fit(X, y)
    assert not hasattr(forest, "estimators_")
    last = traceback.extract_tb(error.value.__traceback__)[-1]
    assert last.name == "split"
    assert last.line == "return X[len(X) + 7]"
    assert Path(last.filename).name == Path(__file__).name


def test_split_has_to_be_written():
    with pytest.raises(NotImplementedError, match="PythonSplitter must implement split"):
        ObliqueTreeClassifier(splitter=PythonSplitter()).fit([[0.0], [1.0]], [0, 1])


def test_constraints_are_refused():
    with pytest.raises(ValueError, match="monotonic_cst cannot be honoured"):
        ObliqueTreeClassifier(splitter=RandomPlane(), monotonic_cst=[1]).fit([[0.0], [1.0]], [0, 1])


def test_parameters():
    forest = ObliqueForestClassifier(splitter=RandomPlane(3.0))
    assert forest.get_params()["splitter__spread"] == 3.0
    assert forest.set_params(splitter__spread=4.0).splitter == RandomPlane(4.0)
