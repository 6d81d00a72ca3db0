"""Adding a constant to a column changes nothing but where its numbers begin."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree import ObliqueForestClassifier, ObliqueTreeRegressor, TAOTreeRegressor
from obtree.testing.growth import hash_trees

STARTS = st.one_of(
    st.integers(-(2**50), 2**50),
    st.sampled_from([1_700_000_000, 1_700_000_000_000, 10**12, -(10**10), 2**49 + 1]),
)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@given(seed=st.integers(0, 2**32 - 1), starts=st.lists(STARTS, min_size=2, max_size=2))
def test_whole_numbers_may_begin_anywhere(dtype, seed, starts):
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, rng.choice([5, 300, 100_000]), (60, 2))
    y = (steps[:, 0] + steps[:, 1]) % 3
    X = (steps + np.array(starts)).astype(dtype)
    for model in (
        ObliqueForestClassifier(2, splitter="random_oblique", random_state=0),
        ObliqueTreeRegressor(random_state=0),
        TAOTreeRegressor(max_depth=2, random_state=0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = model.fit(X, y)
        trees = fitted._list_trees()
        offset = trees[0].feature_offset
        # What float32 holds, it holds without an offset.
        exact = X.astype(np.float32).astype(dtype) == X
        if exact.all():
            assert offset is None
        predicted, leaves = fitted.predict(X), fitted.apply(X)
        moved = X.astype(np.int64) - (0 if offset is None else offset.astype(np.int64))
        plain = model.fit(moved.astype(np.float32), y)
        assert hash_trees([tree.shifted for tree in trees]) == hash_trees(plain._list_trees())
        np.testing.assert_array_equal(predicted, plain.predict(moved))
        np.testing.assert_array_equal(leaves, plain.apply(moved))
        # Each distinct row can be told from every other one.
        assert len(np.unique(moved.astype(np.float32), axis=0)) == len(np.unique(X, axis=0))
