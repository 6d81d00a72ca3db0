"""Targets of every kind: classes, numbers, classes that some rows lack, and none."""

import numpy as np
import pytest

from obtree.data.targets import Targets
from obtree.splitter import CO2Splitter, DiscriminantSplitter, PythonSplitter
from obtree.testing.growth import grow_forest


def test_kinds():
    assert Targets().kind == "none"
    assert Targets([[0], [1]], [2]).kind == "classes"
    assert Targets([[0.5], [1.0]]).kind == "real"
    partial = Targets([[0], [-1]], [2], partial=True)
    assert partial.kind == "partial"
    np.testing.assert_array_equal(partial.y, [[0], [-1]])


@pytest.mark.parametrize(
    ("y", "n_classes", "partial", "message"),
    [
        ([[0], [-1]], [2], False, "codes from -1 to 0; expected 0 to below"),
        ([[0], [-2]], [2], True, "codes from -2 to 0; expected -1 to below"),
        ([[0], [2]], [2], True, "codes from 0 to 2; expected -1 to below"),
        ([[0.0], [1.0]], None, True, "partial=True without n_classes"),
        (None, [2], False, "without y"),
    ],
)
def test_codes_that_mean_nothing_are_refused(y, n_classes, partial, message):
    with pytest.raises(ValueError, match=message):
        Targets(y, n_classes, partial)


class Middle(PythonSplitter):
    """Cuts at the median, and remembers the classes it saw."""

    seen = []

    def split(self, X, y, sample_weight, rng):
        self.seen.append(y)
        return np.eye(X.shape[1])[0], np.median(X[:, 0])


def draw():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    return X, rng.integers(-1, 2, 60)[:, None]


@pytest.mark.parametrize("splitter", [CO2Splitter(), DiscriminantSplitter()])
def test_splitters_that_fit_y_need_all_of_it(splitter):
    X, y = draw()
    with pytest.raises(ValueError, match="expected targets of every row"):
        grow_partial(X, y, splitter)


def test_splitters_in_python_see_which_rows_have_a_class():
    X, y = draw()
    Middle.seen.clear()
    grow_partial(X, y, Middle())
    np.testing.assert_array_equal(Middle.seen[0], y[:, 0])


def grow_partial(X, y, splitter):
    """Grow a tree on classes that some rows lack, by a criterion that reads X."""
    from obtree.testing.row_variance import RowVariance

    class PartialVariance(RowVariance):
        target_kind = "partial"

    return grow_forest(
        X, y, PartialVariance, splitter=splitter, n_classes=[2], keep_rows=True, max_depth=2
    )
