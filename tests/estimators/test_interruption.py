"""Ctrl-C in every phase: the work ends early, and everything is as it was.

Items of work are counted. A first run tells how many there are; in the second the signal is sent as
the one in the middle begins, and fewer have to begin than before.
"""

import copy
import os
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from obtree import (
    DensityForest,
    DisjunctiveForestClassifier,
    FernClassifier,
    NonGreedyForestClassifier,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    TAOForestClassifier,
    TAOTreeClassifier,
)
from obtree.data.dataset import Dataset
from obtree.data.validate import validate_predict_features
from obtree.testing.probe_scores import measure_scales
from obtree.testing.probe_team import Observer
from obtree.tree.path import trace_paths

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
MANY = RNG.normal(size=(90_000, 4)).astype(np.float32)
WIDE = RNG.integers(0, 200, size=(40, 500))
TALL = RNG.integers(0, 200, size=(40_000, 64))

FOREST = ObliqueForestClassifier(9, splitter="axis", random_state=0).fit(X, Y)
PLANES = ObliqueForestClassifier(3, splitter="co2", random_state=0).fit(X, Y)
NUMBERS = ObliqueForestRegressor(9, splitter="axis", random_state=0).fit(X, X[:, 0] * X[:, 1])
NUMBERS.predict(X, quantiles=0.9)  # what is made when first needed is there
FERNS = FernClassifier(9, depth=6, random_state=0).fit(X, Y)
LINES = ObliqueForestRegressor(3, criterion="linear_gaussian", random_state=0).fit(X, X[:, 0])
CODES = (MANY[:, 0] > 0).astype(int)
FORMS = DisjunctiveForestClassifier(2, n_epochs=1, random_state=0).fit(X, Y)

# In the caller's own thread, on which every item is begun by looking for signals.
DIRECT = {
    "encode floats": lambda: Dataset(WIDE.astype(np.float32)),
    "encode doubles": lambda: Dataset(WIDE.astype(np.float64)),
    "encode bytes": lambda: Dataset(WIDE.astype(np.uint8)),
    "rows of ranks": lambda: Dataset(TALL.astype(np.float32)),
    "rows of bytes": lambda: Dataset(TALL.astype(np.uint8)),
    "predict": lambda: FOREST.predict(MANY),
    "predict_proba": lambda: FOREST.predict_proba(MANY),
    "predict_proba of doubles": lambda: FOREST.predict_proba(MANY.astype(np.float64)),
    "predict_proba of sparse rows": lambda: FOREST.predict_proba(sp.csr_matrix(MANY)),
    "predict_proba with planes": lambda: PLANES.predict_proba(MANY),
    "apply": lambda: FOREST.apply(MANY),
    "decision_path": lambda: FOREST.decision_path(MANY),
    "return_std of lines": lambda: LINES.predict(MANY, return_std=True),
    "log_prob of lines": lambda: LINES.log_prob(MANY, MANY[:, 0]),
    "proximity": lambda: FOREST.proximity(MANY[:3000], X),
    "quantiles": lambda: NUMBERS.predict(MANY, quantiles=0.9),
    "plain quantiles": lambda: NUMBERS.predict_quantiles(MANY, [0.1, 0.9]),
    "uncertainty": lambda: FOREST.uncertainty(MANY),
    "update_leaves": lambda: copy.copy(FOREST).update_leaves(MANY, CODES),
    "predict_proba of ferns": lambda: FERNS.predict_proba(MANY),
    "disjunctive predict_proba": lambda: FORMS.predict_proba(MANY),
}

# Beside the caller's thread, which has to tell them.
DETACHED = {
    "forest": ObliqueForestClassifier(20, splitter="axis"),
    "random_oblique": ObliqueForestClassifier(20, splitter="random_oblique"),
    "rotation": ObliqueForestClassifier(10, splitter="axis", rotation="pca"),
    "linear leaves": ObliqueForestClassifier(10, splitter="axis", leaf="linear", max_depth=2),
    "non-greedy": NonGreedyForestClassifier(10, max_depth=3, n_epochs=2),
    "disjunctive": DisjunctiveForestClassifier(10, n_epochs=2),
    "density": DensityForest(20, max_features=None),
    "ferns": FernClassifier(20, depth=6),
    "TAO tree": TAOTreeClassifier(),
    "TAO forest": TAOForestClassifier(10),
}


def show(model, X):
    """What a fitted model has learnt."""
    return getattr(model, "predict_proba", getattr(model, "score_samples", None))(X)


def count_workers():
    return sum(thread.name.startswith("obtree") for thread in threading.enumerate())


@pytest.mark.parametrize("name", DIRECT)
def test_work_in_the_callers_thread(name):
    with Observer() as observer:
        DIRECT[name]()
    n_items = observer.n_items
    assert n_items >= 3
    at = n_items // 2
    with Observer(interrupt_at=at) as observer:
        with pytest.raises(KeyboardInterrupt):
            DIRECT[name]()
        assert observer.n_items == at + 1
        DIRECT[name]()
        assert observer.n_items == at + 1 + n_items


@pytest.mark.parametrize("name", DETACHED)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits(name, n_jobs):
    model = DETACHED[name].set_params(n_jobs=n_jobs, random_state=0)
    with Observer() as observer:
        before = show(model.fit(X, Y), X)
    n_items = observer.n_items
    attributes = set(vars(model))
    with Observer(interrupt_at=n_items // 2, slow_down=0.3) as observer:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[::-1], Y)
        assert n_items // 2 < observer.n_items < n_items
        assert count_workers() == 0
    # Nothing of the interrupted fit is left.
    assert set(vars(model)) == attributes
    np.testing.assert_array_equal(show(model, X), before)
    np.testing.assert_array_equal(show(model.fit(X, Y), X), before)


@pytest.mark.parametrize("dense", [True, False])
def test_scales_look_at_the_flag(dense):
    table = X * np.float32(8)
    dataset = Dataset(table if dense else sp.csr_matrix(table), keep_rows=dense)
    for kind, useless in (("spans", 1.0), ("variances", 0.0)):
        assert (measure_scales(dataset, kind=kind) != useless).all()
        np.testing.assert_array_equal(measure_scales(dataset, kind=kind, stopped=True), useless)


def test_paths_are_those_of_one_block(monkeypatch):
    whole, whole_ptr = FOREST.decision_path(X)
    monkeypatch.setattr("obtree.tree.path.BLOCK_LEAVES", 20)
    parts, parts_ptr = FOREST.decision_path(X)
    np.testing.assert_array_equal(whole_ptr, parts_ptr)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))
        assert getattr(whole, name).dtype == getattr(parts, name).dtype
    none, _ = trace_paths([tree.tree_ for tree in FOREST.estimators_], np.zeros((0, 9), dtype=int))
    assert none.shape == (0, whole.shape[1])


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint16])
def test_rows_are_converted_part_by_part(monkeypatch, dtype):
    cells = (MANY[:100] * 50 + 200).astype(dtype)
    expected = cells.astype(np.float32)
    monkeypatch.setattr("obtree.data.validate.CONVERTED_CELLS", 13)
    for order in (cells, np.asfortranarray(cells), np.repeat(cells, 2, axis=0)[::2]):
        found = validate_predict_features(FOREST, order)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == np.float32
        assert found.flags.c_contiguous
