"""Labels, maps, types of inputs and outputs, and models inside of others."""

import numpy as np
import pytest
import skl2onnx
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from obtree import (
    DensityForest,
    ForestEmbedding,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)

from .conftest import Session, compare


@pytest.fixture
def forest(classes):
    X, y = classes
    return ObliqueForestClassifier(3, splitter="co2", max_depth=4, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["red", "green", "blä"]),
        np.array(["red", "green", "blue"], dtype=object),
        np.array([-5, 7, 2**40]),
        np.array([3, 4, 5], dtype=np.uint8),
        np.array([1.0, 2.0, 4.0]),
    ],
    ids=["str", "object", "int64", "uint8", "float"],
)
def test_labels(labels, classes):
    X, y = classes
    compare(ObliqueTreeClassifier(max_depth=3).fit(X, labels[y]), X)


def test_labels_that_are_true_and_false(classes):
    X, y = classes
    compare(ObliqueTreeClassifier(max_depth=3).fit(X, y > 0), X)


def test_labels_that_have_no_type(classes):
    X, y = classes
    labels = np.array([0, 2**63, 1], dtype=np.uint64)
    model = ObliqueTreeClassifier(max_depth=3).fit(X, labels[y])
    with pytest.raises(ValueError, match=r"expected whole numbers of 64 bits or strings"):
        Session(model, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_maps(dtype, forest, classes):
    X = classes[0].astype(dtype)
    label, maps = Session(forest, X, options=None).run(X[:5])
    np.testing.assert_array_equal(label, forest.predict(X[:5]))
    for row, expected in zip(maps, forest.predict_proba(X[:5]), strict=True):
        assert list(row) == [0, 1, 2]
        np.testing.assert_allclose(list(row.values()), expected, atol=1e-6)


def test_maps_as_columns(forest, classes):
    X = classes[0]
    found = Session(forest, X, options={id(forest): {"zipmap": "columns"}}).run(X)
    np.testing.assert_allclose(np.stack(found[1:], axis=1), forest.predict_proba(X), atol=1e-6)


def test_numbers_of_classes_in_place_of_labels(classes):
    X, y = classes
    model = ObliqueTreeClassifier(max_depth=3).fit(X, np.array(["a", "b", "c"])[y])
    session = Session(model, X, options={id(model): {"zipmap": False, "nocl": True}})
    np.testing.assert_array_equal(np.array(["a", "b", "c"])[session.run(X)[0]], model.predict(X))


def test_unknown_options(forest, classes):
    with pytest.raises(NameError, match="raw_scores"):
        Session(forest, classes[0], options={id(forest): {"raw_scores": True}})


def test_types_of_outputs(forest, classes):
    X = classes[0]
    kinds = [("class", Int64TensorType([None])), ("p", FloatTensorType([None, 3]))]
    session = Session(forest, X, final_types=kinds)
    assert [output.name for output in session.proto.graph.output] == ["class", "p"]
    compare(forest, X, session)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types_of_inputs(dtype, forest, classes):
    compare(forest, classes[0].astype(dtype))


def test_whole_numbers(classes):
    X, y = classes
    X = np.rint(10 * X).astype(np.int64)
    compare(ObliqueForestClassifier(3, splitter="co2", random_state=0).fit(X, y), X)


def test_flags(classes):
    X, y = classes
    compare(ObliqueForestClassifier(3, splitter="axis", random_state=0).fit(X > 0, y), X > 0)


def test_several_inputs(forest, classes):
    X = classes[0]
    kinds = [("left", FloatTensorType([None, 2])), ("right", DoubleTensorType([None, 4]))]
    proto = skl2onnx.convert_sklearn(
        forest, initial_types=kinds, options={id(forest): {"zipmap": False}}
    )
    import onnxruntime

    session = onnxruntime.InferenceSession(proto.SerializeToString())
    found = session.run(None, {"left": X[:, :2], "right": X[:, 2:].astype(np.float64)})
    np.testing.assert_array_equal(found[0], forest.predict(X))


def test_other_numbers_of_features(forest, classes):
    X = classes[0]
    axis = ObliqueForestRegressor(2, splitter="axis").fit(X, X[:, 0])
    for model in (forest, axis):
        for width in (5, 7):
            with pytest.raises(ValueError, match=f"reads {width} features; expected 6"):
                skl2onnx.to_onnx(model, np.ones((1, width), dtype=np.float32))
        kinds = [("left", FloatTensorType([None, 2])), ("right", DoubleTensorType([None, 3]))]
        with pytest.raises(ValueError, match="reads 5 features; expected 6"):
            skl2onnx.convert_sklearn(model, initial_types=kinds)
        # Where the number of columns is not told, it is what the model has.
        skl2onnx.convert_sklearn(model, initial_types=[("X", FloatTensorType([None, None]))])


def test_text_is_no_input(forest):
    import obtree.onnx  # noqa: F401

    with pytest.raises(TypeError, match=r"StringTensorType.*expected inputs of numbers"):
        skl2onnx.convert_sklearn(forest, initial_types=[("X", StringTensorType([None, 6]))])


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_features_that_are_shifted(dtype):
    """Seconds since 1970, which float32 merges."""
    rng = np.random.default_rng(0)
    seconds = rng.integers(1_700_000_000, 1_700_001_000, size=300)
    X = np.stack([seconds, rng.integers(0, 9, size=300)], axis=1).astype(dtype)
    y = (seconds % 1000 > 333).astype(int) + X[:, 1].astype(int) % 2
    for model in (
        ObliqueTreeClassifier(),
        ObliqueForestClassifier(3, splitter="random_oblique", random_state=0),
    ):
        model.fit(X, y)
        compare(model, X)
    assert model.estimators_[0].tree_.feature_offset is not None


def test_pipelines(classes, numbers):
    X, y = classes
    scaled = make_pipeline(StandardScaler(), ObliqueForestClassifier(3, random_state=0))
    scaled.fit(X.astype(np.float64), y)
    rows = X.astype(np.float64)
    found = Session(scaled, rows, options={id(scaled): {"zipmap": False}}).run(rows)
    np.testing.assert_array_equal(found[0], scaled.predict(rows))
    X, y = numbers
    scaled = make_pipeline(StandardScaler(), ObliqueForestRegressor(3, random_state=0)).fit(X, y)
    np.testing.assert_allclose(Session(scaled, X).run(X)[0][:, 0], scaled.predict(X), rtol=1e-4)


def test_search(classes):
    X, y = classes
    search = GridSearchCV(ObliqueTreeClassifier(), {"max_depth": [1, 3]}, cv=2).fit(X, y)
    found = Session(search, X, options={id(search): {"zipmap": False}}).run(X)
    np.testing.assert_array_equal(found[0], search.predict(X))


def test_members_of_a_vote(forest, classes):
    """Two models in one graph, with the same tables."""
    X, y = classes
    own = ObliqueForestClassifier(3, splitter="co2", max_depth=4, random_state=0)
    tree = ObliqueForestClassifier(2, splitter="co2", random_state=1, leaf="linear", max_depth=2)
    vote = VotingClassifier(
        [("a", own), ("b", own), ("c", tree)], voting="soft", flatten_transform=False
    )
    vote.fit(X, y)
    found = Session(vote, X, options={id(vote): {"zipmap": False}}).run(X)
    np.testing.assert_array_equal(found[0], vote.predict(X))
    np.testing.assert_allclose(found[1], vote.predict_proba(X), atol=1e-6)


def test_files_are_the_same_each_time(forest, classes):
    first, second = (Session(forest, classes[0]).proto for _ in range(2))
    assert first.SerializeToString() == second.SerializeToString()


@pytest.mark.parametrize("model", [DensityForest(2), ForestEmbedding(3)])
def test_models_without_targets(model, classes):
    model.fit(classes[0])
    with pytest.raises(TypeError, match=f"{type(model).__name__} cannot be exported to ONNX"):
        Session(model, classes[0])


def test_models_of_categories(classes):
    category = np.arange(len(classes[0])) % 7
    X = np.column_stack([category, classes[0]]).astype(np.float32)
    model = ObliqueForestClassifier(2, categorical_features=[0]).fit(X, category % 2)
    with pytest.raises(TypeError, match="to ONNX: it divides categories by sets; expected a model"):
        Session(model, X)


def test_more_than_a_file_can_hold(forest, classes, monkeypatch):
    import obtree.onnx.graph as graph

    monkeypatch.setattr(graph, "MAX_BYTES", 1000)
    with pytest.raises(ValueError, match=r"ObliqueForestClassifier has more than 2 GB"):
        Session(forest, classes[0])


def test_more_leaves_than_can_be_counted(numbers, monkeypatch):
    import obtree.onnx.walks as walks

    monkeypatch.setattr(walks, "MAX_SLOTS", 10)
    X, y = numbers
    with pytest.raises(ValueError, match="different leaves; expected at most 10"):
        Session(ObliqueTreeRegressor().fit(X, y), X)


def test_operators_that_are_too_old(forest, classes):
    with pytest.raises(ValueError, match=r"target_opset=15 is too low.*at least 18"):
        Session(forest, classes[0], target_opset=15)


@pytest.mark.parametrize("opset", [18, 21])
def test_sets_of_operators(opset, forest, classes):
    X, y = classes
    linear = ObliqueForestClassifier(2, splitter="axis", leaf="linear", max_depth=2).fit(X, y)
    for model in (forest, linear):
        compare(model, X, Session(model, X, target_opset=opset))


def test_not_fitted(classes):
    for model in (ObliqueTreeClassifier(), ObliqueTreeRegressor()):
        with pytest.raises(NotFittedError):
            Session(model, classes[0])
