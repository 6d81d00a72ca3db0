"""Every kind of X and y gives the same model."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

from obtree import ObliqueForestClassifier, ObliqueTreeClassifier


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.float64),
        lambda X: X.astype(np.int64),
        lambda X: X.astype(object),
        lambda X: X.tolist(),
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        sp.csr_matrix,
        sp.csc_matrix,
        sp.csr_array,
        sp.coo_matrix,
    ],
    ids=["F", "f4", "f8", "i8", "object", "list", "strided", "csr", "csc", "csr_array", "coo"],
)
def test_layouts_and_types(either, convert, classes):
    X, y = classes
    X = np.round(4 * X).astype(np.int8)
    expected = clone(either).fit(X, y)
    model = either.fit(convert(X), y)
    np.testing.assert_array_equal(model.apply(X), expected.apply(X))
    np.testing.assert_array_equal(model.predict(convert(X)), expected.predict(X))


def test_bool_features(either):
    rng = np.random.default_rng(0)
    X = rng.random((50, 4)) > 0.5
    y = X[:, 0] ^ X[:, 1]
    expected = clone(either).fit(X.astype(float), y).predict(X)
    np.testing.assert_array_equal(either.fit(X, y).predict(X), expected)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(either, library, classes):
    frames = pytest.importorskip(library)
    X, y = classes
    names = [f"x{j}" for j in range(8)]
    frame = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    expected = clone(either).fit(X, y).predict(X)
    either.fit(frame, frames.Series(y))
    assert list(either.feature_names_in_) == names
    np.testing.assert_array_equal(either.predict(frame), expected)
    renamed = frames.DataFrame(dict(zip(names[::-1], X.T, strict=True)))
    with pytest.raises(ValueError, match="feature names should match"):
        either.predict(renamed)
    either.fit(X, y)
    assert not hasattr(either, "feature_names_in_")


def test_missing_values(either, classes):
    X, y = classes
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    either.fit(X, y)
    assert either.score(X, y) > 0.5
    sparse = clone(either).fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(sparse.predict(sp.csr_matrix(X)), either.predict(X))


LABELS = {
    "str": np.array(["red", "green", "blue"]),
    "object": np.array(["red", "green", "blue"], dtype=object),
    "int": np.array([30, -4, 7]),
    "uint8": np.array([30, 4, 7], dtype=np.uint8),
    "float": np.array([3.0, -4.0, 7.0]),
    "date": np.array(["2020-01-03", "2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
    "bytes": np.array([b"red", b"green", b"blue"]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_class_labels_of_any_type(classifier, kind, classes):
    X, codes = classes
    labels = LABELS[kind]
    y = labels[codes]
    classifier.fit(X, y)
    np.testing.assert_array_equal(classifier.classes_, np.sort(labels))
    assert classifier.classes_.dtype == labels.dtype
    predicted = classifier.predict(X)
    assert predicted.dtype == labels.dtype
    assert (predicted == y).mean() > 0.9


def test_bool_labels(classifier, classes):
    X, codes = classes
    classifier.fit(X, codes == 1)
    assert classifier.classes_.tolist() == [False, True]
    assert classifier.predict(X).dtype == bool


def test_categorical_labels(classifier, classes):
    pd = pytest.importorskip("pandas")
    X, codes = classes
    y = pd.Categorical(np.array(["a", "b", "c"])[codes])
    classifier.fit(X, y)
    assert classifier.classes_.tolist() == ["a", "b", "c"]
    assert (classifier.predict(X) == np.asarray(y)).mean() > 0.9


def test_several_outputs_of_a_classifier(classifier, classes):
    X, y = classes
    Y = np.column_stack([np.array(["a", "b", "c"])[y], np.where(y == 0, "yes", "no")])
    classifier.fit(X, Y)
    assert classifier.n_outputs_ == 2
    assert classifier.n_classes_ == [3, 2]
    assert [found.tolist() for found in classifier.classes_] == [["a", "b", "c"], ["no", "yes"]]
    assert classifier.predict(X).shape == (300, 2)
    assert (classifier.predict(X) == Y).mean() > 0.9
    proba = classifier.predict_proba(X)
    assert [p.shape for p in proba] == [(300, 3), (300, 2)]
    for p, log_p in zip(proba, classifier.predict_log_proba(X), strict=True):
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_allclose(np.exp(log_p), p)


def test_several_outputs_of_a_regressor(regressor, values):
    X, y = values
    Y = np.column_stack([y, -y, y**2])
    regressor.fit(X, Y)
    assert regressor.predict(X).shape == (300, 3)
    assert regressor.score(X, Y) > 0.8


def test_repeated_output_is_the_single_output(regressor, values):
    X, y = values
    regressor.set_params(splitter="axis")  # penalties of refined trees weigh less with two
    single = clone(regressor).fit(X, y).predict(X)
    double = regressor.fit(X, np.column_stack([y, y])).predict(X)
    np.testing.assert_allclose(double, np.column_stack([single, single]))


def test_column_vector(either, classes):
    X, y = classes
    expected = clone(either).fit(X, y).predict(X)
    with pytest.warns(DataConversionWarning, match="column-vector") as caught:
        either.fit(X, y[:, None])
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(either.predict(X), expected)
    assert either.n_outputs_ == 1


def test_nothing_warns(either, classes):
    X, y = classes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        either.fit(X, y).predict(X)


def test_users_data_stay_as_they_are(either, classes):
    X, y = classes
    w = np.ones(300)
    data = [X.copy(), y.copy(), w]
    for array in data:
        array.flags.writeable = False
    either.fit(data[0], data[1], sample_weight=data[2]).predict(data[0])
    np.testing.assert_array_equal(data[0], X)


def test_tags(either):
    tags = either.__sklearn_tags__()
    assert tags.input_tags.allow_nan
    assert tags.input_tags.sparse
    assert tags.target_tags.multi_output
    assert tags.target_tags.required


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16, np.int32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_prediction_does_not_depend_on_the_type_of_whole_numbers(dtype, order):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, size=(300, 5))
    y = X[:, 0] + X[:, 1] > 100
    forest = ObliqueForestClassifier(10, random_state=0).fit(X, y)
    expected = forest.predict_proba(X.astype(np.float32))
    given = np.asarray(X, dtype=dtype, order=order)
    assert np.array_equal(forest.predict_proba(given), expected)
    assert np.array_equal(forest.predict_proba(given[::2]), expected[::2])


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.bsr_array, sp.coo_array])
@pytest.mark.parametrize("place", [-(2**30), 3, 2**30])
def test_sparse_indices_out_of_range_are_refused_before_they_are_converted(kind, place):
    tree = ObliqueTreeClassifier().fit(np.eye(3), [0, 1, 2])
    X = kind(np.eye(3))
    indices = X.col if X.format == "coo" else X.indices
    indices[1] = place
    with pytest.raises(ValueError, match=r"ind(ex|ices|ptr)"):
        tree.predict(X)
