"""Sparse features under optimisers that read rows in full: memory, and empty columns."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier

from obtree import (
    DisjunctiveForestClassifier,
    DisjunctiveTreeClassifier,
    NonGreedyForestClassifier,
    NonGreedyTreeClassifier,
    NonGreedyTreeRegressor,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    TAOForestClassifier,
    TAOTreeClassifier,
    TAOTreeRegressor,
)
from obtree.estimators import dense, optimised

MODELS = [
    DisjunctiveTreeClassifier(n_epochs=2, random_state=0),
    DisjunctiveForestClassifier(2, n_epochs=2, random_state=0),
    NonGreedyTreeClassifier(max_depth=4, n_epochs=2, random_state=0),
    NonGreedyForestClassifier(2, init="random_oblique", max_depth=4, n_epochs=2, random_state=0),
    NonGreedyTreeRegressor(max_depth=4, n_epochs=2, random_state=0),
    TAOTreeClassifier(max_depth=3, n_iter=2, random_state=0),
    TAOTreeClassifier(init="random", leaf="linear", max_depth=2, n_iter=2, random_state=0),
    TAOForestClassifier(2, max_depth=4, n_iter=2, random_state=0),
    TAOTreeRegressor(max_depth=3, n_iter=2, random_state=0),
]


@pytest.fixture(params=MODELS, ids=str)
def model(request):
    """Each estimator, unfitted."""
    return clone(request.param)


@pytest.fixture
def rows(model):
    """300 rows of 40 columns, of which every fifth holds something, and what to predict."""
    rng = np.random.default_rng(0)
    X = np.zeros((300, 40), dtype=np.float32)
    X[:, ::5] = np.round(rng.normal(size=(300, 8)), 2) * (rng.random((300, 8)) < 0.6)
    score = X[:, 0] + X[:, 5] - X[:, 10]
    return X, np.digitize(score, [-0.5, 0.5]) if is_classifier(model) else score


def predict(model, X):
    """Return what a fitted model says about rows, as precisely as it can."""
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix, sp.csr_array])
def test_empty_columns_change_nothing_between_sparse_and_dense(model, rows, form):
    X, y = rows
    expected = predict(clone(model).fit(X, y), X)
    model.fit(form(X), y)
    np.testing.assert_array_equal(predict(model, X), expected)
    np.testing.assert_array_equal(predict(model, form(X)), expected)
    assert model.n_features_in_ == 40


@pytest.mark.parametrize("kind", [NonGreedyTreeClassifier, TAOTreeClassifier])
@pytest.mark.parametrize("splitter", ["axis", "random_oblique"])
def test_the_model_is_that_of_the_other_columns(kind, splitter):
    """Planes that have some of the empty columns lose them."""
    rng = np.random.default_rng(0)
    X = np.zeros((300, 40), dtype=np.float32)
    X[:, ::5] = rng.normal(size=(300, 8))
    y = (X[:, 0] + X[:, 5] > 0).astype(int)
    start = ObliqueTreeClassifier(splitter=splitter, max_depth=3, random_state=0).fit(X, y).tree_
    columns = np.arange(0, 40, 5)
    few = kind(init=dense.narrow_tree(start, columns), random_state=0).fit(X[:, columns], y)
    model = kind(init=start, random_state=0).fit(X, y)
    assert model.tree_.n_features == 40
    np.testing.assert_array_equal(model.tree_.term_feature, 5 * few.tree_.term_feature)
    np.testing.assert_array_equal(model.tree_.term_weight, few.tree_.term_weight)
    np.testing.assert_array_equal(model.predict_proba(X), few.predict_proba(X[:, columns]))


def test_half_of_the_columns_are_enough_to_stay():
    filled = np.arange(10) < 5
    assert dense.choose_columns(filled) is None
    np.testing.assert_array_equal(dense.choose_columns(np.arange(10) < 4), np.arange(4))
    assert dense.choose_columns(np.zeros(10, dtype=bool)) is None


def test_values_in_columns_that_were_empty_do_no_harm(model, rows):
    X, y = rows
    model.fit(sp.csr_matrix(X), y)
    other = X.copy()
    other[:, 1] = 1e6
    np.testing.assert_array_equal(predict(model, other), predict(model, X))


@pytest.mark.parametrize("kind", [NonGreedyTreeClassifier, TAOTreeClassifier])
def test_a_column_that_is_all_a_plane_has_is_not_left_out(kind):
    rng = np.random.default_rng(1)
    X = np.zeros((200, 20), dtype=np.float32)
    X[:, 4] = rng.normal(size=200)
    X[:, 7] = rng.normal(size=200)
    y = (X[:, 4] > 0).astype(int)
    start = ObliqueTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    X[:, 4] = 0
    y = (X[:, 7] > 0).astype(int)
    one = kind(init=start, random_state=0).fit(sp.csr_matrix(X), y)
    two = kind(init=start, random_state=0).fit(X, y)
    np.testing.assert_array_equal(one.tree_.term_weight, two.tree_.term_weight)
    np.testing.assert_array_equal(one.tree_.term_feature, two.tree_.term_feature)


def test_features_without_memory_are_refused_before_any_is_taken(model, rows, monkeypatch):
    X, y = rows

    def fail(*args, **kwargs):
        raise AssertionError("something was grown or made dense")

    monkeypatch.setattr(dense, "find_available_memory", lambda: 12_000)
    monkeypatch.setattr(optimised, "make_dense", fail)
    monkeypatch.setattr(type(model), "_start_trees", fail)
    expected = r"300 x 8 values need 9\.6e-06 GB.*75% of the 1\.2e-05 GB that are available"
    with pytest.raises(MemoryError, match=expected) as error:
        model.fit(sp.csr_matrix(X), y)
    assert type(model).__name__ in str(error.value)
    for remedy in ("TruncatedSVD", "feature selection", "ObliqueForestClassifier"):
        assert remedy in str(error.value)
    assert not hasattr(model, "n_features_in_")


def test_models_need_memory_too(model, rows, monkeypatch):
    X, y = rows
    # Enough for the rows alone.
    monkeypatch.setattr(dense, "find_available_memory", lambda: 4 * 300 * 8 / dense.USABLE_FRACTION)
    grown = []
    start = type(model)._start_trees
    monkeypatch.setattr(
        type(model), "_start_trees", lambda *args: grown.append(start(*args)) or grown[-1]
    )
    with pytest.raises(MemoryError, match="300 x 8 values need"):
        model.fit(sp.csr_matrix(X), y)
    assert len(grown) == 1


def test_where_there_is_memory_nothing_is_refused(model, rows, monkeypatch):
    X, y = rows
    expected = predict(clone(model).fit(X, y), X)
    # Far less than all 40 columns and their planes would take.
    monkeypatch.setattr(dense, "find_available_memory", lambda: 300_000)
    np.testing.assert_array_equal(predict(model.fit(sp.csr_matrix(X), y), X), expected)


def test_unknown_memory_has_a_bound(model, rows, monkeypatch):
    X, y = rows
    monkeypatch.setattr(dense, "find_available_memory", lambda: None)
    monkeypatch.setattr(dense, "UNKNOWN_MEMORY", 1000)
    with pytest.raises(MemoryError, match="it is not known to be there"):
        model.fit(sp.csr_matrix(X), y)


def test_dense_features_and_greedy_forests_are_not_asked(model, rows, monkeypatch):
    X, y = rows
    monkeypatch.setattr(dense, "find_available_memory", lambda: 0)
    assert model.fit(X, y).n_features_in_ == 40
    forest = ObliqueForestClassifier(2, random_state=0).fit(sp.csr_matrix(X), y > 0)
    assert forest.n_features_in_ == 40


MEASURE = """
import resource
import sys
import numpy as np
import scipy.sparse as sp
from obtree import DisjunctiveTreeClassifier, NonGreedyTreeClassifier, TAOTreeClassifier

def peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

def draw(n, p, seed, used=None):
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), 20)
    columns = rng.integers(0, p if used is None else used, len(rows))
    values = rng.random(len(rows), dtype=np.float32) + 1
    return sp.csr_matrix((values, (rows, columns)), shape=(n, p))
"""
PREDICT = """
X = draw(200, 20_000, 0)
y = np.asarray(X[:, :5_000].sum(axis=1)).ravel() > 7
many = draw(20_000, 20_000, 1)
before = peak()
for kind in (DisjunctiveTreeClassifier, NonGreedyTreeClassifier, TAOTreeClassifier):
    model = kind(max_depth=3, random_state=0).fit(X, y)
    model.predict_proba(many)
    model.predict(many)
    print(peak() - before)
"""
FIT = """
X = draw(2_000, 500_000, 0, used=100)
y = np.asarray(X[:, :50].sum(axis=1)).ravel() > 15
for kind in (NonGreedyTreeClassifier, TAOTreeClassifier):
    before = peak()
    model = kind(init="axis", max_depth=3, random_state=0).fit(X, y)
    print(peak() - before)
"""


@pytest.mark.parametrize(
    ("program", "dense_bytes"), [(PREDICT, 4 * 20_000**2), (FIT, 4 * 2_000 * 500_000)]
)
def test_peak_memory_is_far_below_that_of_dense_rows(program, dense_bytes):
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEASURE + program)],
        check=True,
        capture_output=True,
        text=True,
    )
    growth = [int(line) for line in done.stdout.split()]
    assert len(growth) >= 2
    assert max(growth) < dense_bytes / 10
