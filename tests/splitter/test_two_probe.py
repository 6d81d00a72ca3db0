"""Pairs of features: which are drawn, and that none comes twice."""

import numpy as np
import pytest
from scipy import sparse

from obtree.data.dataset import Dataset
from obtree.splitter import TwoProbeSplitter
from obtree.testing.growth import bind_criterion, grow_tree
from obtree.testing.probe import propose_splits


def propose(X, y, splitter, *, max_features, repeats=1, sparse_input=False):
    table = sparse.csr_array(X) if sparse_input else X
    return propose_splits(
        Dataset(table, keep_rows=True),
        bind_criterion("gini", y),
        splitter,
        np.arange(len(X)),
        np.ones(len(X)),
        max_features=max_features,
        repeats=repeats,
    )


@pytest.mark.parametrize("sparse_input", [False, True])
@pytest.mark.parametrize("signs", ["difference", "any"])
def test_all_pairs_are_tried_when_there_are_few(signs, sparse_input):
    # Four features have six differences; only one pair tells the classes apart.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    y = (X[:, 1] - X[:, 3] > 0.2).astype(int)
    if signs == "any":
        y = (X[:, 1] + X[:, 3] > 0.2).astype(int)
    splitter = TwoProbeSplitter(signs)
    for found in propose(X, y, splitter, max_features=12, repeats=30, sparse_input=sparse_input):
        feature, weight = found[:2]
        assert feature.tolist() == [1, 3]
        assert weight.tolist() == [1.0, 1.0 if signs == "any" else -1.0]


def test_pairs_are_drawn_evenly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5)).astype(np.float32)
    y = rng.integers(0, 2, 40)
    found = propose(X, y, TwoProbeSplitter("any"), max_features=1, repeats=4000)
    names = [(*feature, weight[1]) for feature, weight, *_ in found]
    pairs, counts = np.unique(names, axis=0, return_counts=True)
    assert len(pairs) == 20
    assert counts.min() > 130
    assert (pairs[:, 0] < pairs[:, 1]).all()


def test_constant_features_are_left_out():
    rng = np.random.default_rng(0)
    X = np.zeros((100, 50), dtype=np.float32)
    X[:, [7, 30]] = rng.normal(size=(100, 2))
    y = (X[:, 7] > X[:, 30]).astype(int)
    for feature, _, _, _, _, inherited in propose(
        X, y, TwoProbeSplitter(), max_features=1, repeats=20
    ):
        assert feature.tolist() == [7, 30]
        assert inherited <= 48
    assert grow_tree(X, y, splitter="two_probe", keep_rows=True, max_features=1).n_leaves == 2


@pytest.mark.parametrize("n_copies", [1, 3])
def test_a_node_without_useful_pairs_falls_back_to_one_feature(n_copies):
    # All differences of equal columns are zero.
    column = np.arange(20, dtype=np.float32)[:, None]
    X = np.repeat(column, n_copies, axis=1)
    tree = grow_tree(X, np.arange(20) % 4, splitter="two_probe", keep_rows=True)
    assert tree.n_leaves == 20
    assert (np.diff(tree.term_ptr) <= 1).all()


def test_intervals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    y = (np.abs(X[:, 0] - X[:, 1]) < 0.5).astype(int)
    plain = grow_tree(X, y, splitter="two_probe", keep_rows=True)
    rings = grow_tree(X, y, splitter=TwoProbeSplitter(two_sided=True), keep_rows=True)
    assert (plain.n_leaves, rings.n_leaves) == (3, 2)
    assert plain.lower_threshold is None
    assert rings.lower_threshold[0] == pytest.approx(-0.5, abs=0.05)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match=r"unknown signs 'sum'; expected one of 'any', 'diff"):
        TwoProbeSplitter("sum")
    with pytest.raises(TypeError, match="two_sided='yes' is not valid; expected True or False"):
        TwoProbeSplitter(two_sided="yes")
    assert TwoProbeSplitter().get_params() == {"signs": "difference", "two_sided": False}
    assert TwoProbeSplitter("any").clone() == TwoProbeSplitter("any")
