"""Sets of categories in C, to the last bit."""

import numpy as np
import pytest

from obtree import ObliqueForestClassifier, ObliqueForestRegressor, ObliqueTreeClassifier
from obtree.export import to_c
from obtree.splitter import ConicSplitter

CATEGORICAL = [1, 3]


def draw(n=300):
    """Two numbers and two categories that are numbers themselves, and a target."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=n), rng.integers(0, 5, n), rng.normal(size=n), rng.integers(0, 70, n)]
    ).astype(np.float32)
    X[:70, 3] = np.arange(70)
    y = np.isin(X[:, 1], [0, 3]) * 2.0 + X[:, 0] + (X[:, 3] % 3 == 0)
    X[70:][rng.random(X[70:].shape) < 0.1] = np.nan
    return X, y


def list_rows(X):
    """Rows with categories nobody has seen as well."""
    other = X.copy()
    other[::3, 1] = 17.0
    other[1::3, 3] = np.nan
    other[2::3, 3] = 2.0**31
    return np.concatenate([X, other])


@pytest.mark.parametrize("splitter", ["axis", "random_oblique", "oc1", ConicSplitter(), "auto"])
@pytest.mark.parametrize("kind", [ObliqueForestClassifier, ObliqueForestRegressor])
def test_forests(export, splitter, kind):
    X, y = draw()
    if kind is ObliqueForestClassifier:
        y = np.digitize(y, [0.5, 2.0])
    # Categories are all numbers from 0 on, so that codes are what they stand for.
    model = kind(12, splitter=splitter, categorical_features=CATEGORICAL, random_state=0).fit(X, y)
    assert model.categories_[1].tolist() == list(range(5))
    program = export(model)
    assert "model_categories_3" in program.source
    program.check(list_rows(X))


def test_a_tree(export):
    X, y = draw()
    tree = ObliqueTreeClassifier(categorical_features=CATEGORICAL).fit(X, y > 1.0)
    export(tree).check(list_rows(X))
    export(tree, proba=False).check(list_rows(X), proba=False)


def test_names_are_in_the_file(export):
    pandas = pytest.importorskip("pandas")
    names = ["red", 'quo"ted', "gr\u00fcn"]
    frame = pandas.DataFrame({"shade": names * 20, "size": range(60)})
    tree = ObliqueTreeClassifier(max_depth=2).fit(frame, np.arange(60) % 3 == 0)
    program = export(tree)
    assert '"red"' in program.source
    assert "x[0]  shade" in program.source


def test_any_names():
    names = [("a", 1), ("b", 2, 3)], ["a" * 4001, "b"]
    frames = []
    for each in names:
        cells = np.empty(2, dtype=object)
        cells[:] = each
        frames.append(pytest.importorskip("pandas").DataFrame({"c": np.tile(cells, 20)}))
    y = np.arange(40) % 2
    fit = ObliqueTreeClassifier(categorical_features=["c"]).fit
    assert r'"(\047b\047, 2, 3)"' in to_c(fit(frames[0], y))
    with pytest.raises(ValueError, match=r"label or category 'aaa.* has 4001 bytes"):
        to_c(fit(frames[1], y))
