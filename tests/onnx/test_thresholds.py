"""Thresholds lie between neighbouring float32 numbers, and rows stay on their side."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from obtree import ObliqueTreeRegressor

from .conftest import Session


@given(
    value=st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=False),
    splitter=st.sampled_from(["axis", "co2"]),
)
def test_neighbours(value, splitter):
    low = np.float32(value)
    high = np.nextafter(low, np.float32(np.inf))
    if high == low or not np.isfinite(high):
        return
    X = np.array([[low], [high]] * 4, dtype=np.float32)
    model = ObliqueTreeRegressor(splitter=splitter, random_state=0).fit(X, np.arange(8) % 2)
    if model.tree_.node_count == 1:  # nothing that this splitter tells apart
        return
    for rows in (X, X.astype(np.float64)):
        found = Session(model, rows).run(rows)[0][:, 0]
        np.testing.assert_array_equal(found, model.predict(rows))


def test_float64_is_rounded_to_float32_first():
    """Whichever side of the threshold a float64 is on, its float32 decides, as in predict."""
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    X = np.array([[low], [high]] * 4, dtype=np.float32)
    model = ObliqueTreeRegressor().fit(X, np.arange(8) % 2)
    rows = np.linspace(low, high, 41, dtype=np.float64)[:, None]
    found = Session(model, rows).run(rows)[0][:, 0]
    np.testing.assert_array_equal(found, model.predict(rows))
    assert 0 < found.sum() < len(rows)


def test_thresholds_beyond_float32():
    X = np.array([[0.0], [1.0]] * 4, dtype=np.float32)
    model = ObliqueTreeRegressor().fit(X, np.arange(8) % 2)
    arrays = {"threshold": np.array([1e300, 0.0, 0.0])}
    from .test_walks import change

    model = change(model, **arrays)
    rows = np.array([[-3e38], [0.0], [3.4e38], [np.nan]], dtype=np.float32)
    np.testing.assert_array_equal(Session(model, rows).run(rows)[0][:, 0], model.predict(rows))
