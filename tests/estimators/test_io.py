"""Model files: round trips, and files that are damaged or hostile."""

import io
import json
import zipfile

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from obtree import (
    DisjunctiveForestClassifier,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    load_model,
    save_model,
)
from obtree.splitter import AxisSplitter


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.obtree"


def edit(path, change):
    """Rewrite a model file after ``change(contents)``, a dict of member to bytes."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    change(contents)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)


def edit_header(path, **changes):
    def change(contents):
        header = json.loads(contents["header.json"]) | changes
        contents["header.json"] = json.dumps(header)

    edit(path, change)


def edit_array(path, name, function):
    def change(contents):
        array = np.load(io.BytesIO(contents[name + ".npy"]))
        stream = io.BytesIO()
        np.save(stream, function(array), allow_pickle=True)
        contents[name + ".npy"] = stream.getvalue()

    edit(path, change)


def spoil(offset):
    offset[-2] = np.nan
    return offset


def differ(offset):
    offset[-2] += 1.0
    return offset


@pytest.mark.parametrize("kind", [ObliqueForestClassifier, DisjunctiveForestClassifier])
@pytest.mark.parametrize(
    "change", [spoil, differ, lambda offset: offset[:-1], lambda offset: offset.astype(np.float32)]
)
def test_damaged_offsets(path, kind, change):
    X = 1.7e9 + np.arange(80.0).reshape(40, 2)
    model = kind(2, random_state=0).fit(X, np.arange(40) // 20)
    save_model(model, path)
    np.testing.assert_array_equal(load_model(path).predict(X), model.predict(X))
    edit_array(path, "tree.feature_offset", change)
    with pytest.raises(ValueError, match="is not a valid model"):
        load_model(path)


def test_round_trip(either, path, classes):
    X, y = classes
    either.fit(X, y)
    save_model(either, path)
    model = load_model(path)
    assert type(model) is type(either)
    assert model.get_params() == either.get_params()
    np.testing.assert_array_equal(model.predict(X), either.predict(X))
    np.testing.assert_array_equal(model.apply(X), either.apply(X))
    np.testing.assert_array_equal(model.feature_importances_, either.feature_importances_)
    assert model.max_features_ == either.max_features_
    if hasattr(either, "estimators_"):
        for a, b in zip(model.estimators_, either.estimators_, strict=True):
            assert a.random_state == b.random_state
            np.testing.assert_array_equal(a.predict(X), b.predict(X))
    again = path.with_name("again")
    save_model(model, again)
    assert again.read_bytes() == path.read_bytes()


def test_loaded_models_fit_again(either, path, classes):
    X, y = classes
    save_model(either.fit(X, y), path)
    model = load_model(path)
    expected = either.predict(X)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), expected)


def test_loaded_forest_grows_on(path, classes):
    X, y = classes
    forest = ObliqueForestClassifier(3, warm_start=True).fit(X, y)
    save_model(forest, path)
    model = load_model(path).set_params(n_estimators=5).fit(X, y)
    assert len({tree.random_state for tree in model.estimators_}) == 5


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["é", "b", "longer"]),
        np.array(["é", "b", "longer"], dtype=object),
        np.array([3, 1, 2], dtype=np.int16),
        np.array([3, 1, 2], dtype=object),
        np.array([0.5, 1.0, 2.0]) * 2,
        np.array(["a", "\ud800", "\U0010ffff"]),
    ],
    ids=str,
)
def test_class_labels(labels, path, classes):
    X, codes = classes
    tree = ObliqueTreeClassifier(random_state=0).fit(X, labels[codes])
    save_model(tree, path)
    model = load_model(path)
    assert model.classes_.dtype == tree.classes_.dtype
    assert model.classes_.tolist() == tree.classes_.tolist()
    assert list(map(type, model.classes_)) == list(map(type, tree.classes_))
    np.testing.assert_array_equal(model.predict(X), tree.predict(X))


def test_bool_labels_and_several_outputs(classifier, path, classes):
    X, y = classes
    save_model(classifier.fit(X, y > 0), path)
    assert load_model(path).predict(X).dtype == bool
    classifier.fit(X, np.column_stack([y, y % 2]))
    save_model(classifier, path)
    np.testing.assert_array_equal(load_model(path).predict(X), classifier.predict(X))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="datetime64[D]"),
        np.array([1, 2.0, True + 2], dtype=object),
        np.array([b"a", b"b", b"c"]),
        np.array(["a\0", "b", "c"], dtype=object),
    ],
    ids=["dates", "mixed", "bytes", "NUL"],
)
def test_class_labels_that_cannot_be_saved(labels, path, classes):
    X, y = classes
    tree = ObliqueTreeClassifier().fit(X, labels[y])
    with pytest.raises(ValueError, match=r"class labels such as .* cannot be saved"):
        save_model(tree, path)
    assert not path.exists()


def test_feature_names(path, classes):
    pd = pytest.importorskip("pandas")
    X, y = classes
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    save_model(ObliqueForestClassifier(3, random_state=0).fit(frame, y), path)
    model = load_model(path)
    assert list(model.feature_names_in_) == list("abcdefgh")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("hgfedcba")])


@pytest.mark.parametrize(
    "params",
    [
        {"class_weight": {0: 1.0, 1: 2}},
        {"class_weight": "balanced"},
        {"monotonic_cst": np.eye(8, dtype=int)[0]},
        {"max_features": np.int64(3), "min_samples_leaf": np.float64(0.01)},
        {"splitter": AxisSplitter()},
        {"splitter": AxisSplitter},
        {"random_state": np.random.RandomState(0)},
    ],
    ids=lambda params: next(iter(params)),
)
def test_parameters(params, path, classes):
    X, y = classes
    X, y = X[y < 2], y[y < 2]
    tree = ObliqueTreeClassifier(**params).fit(X, y)
    save_model(tree, path)
    model = load_model(path)
    np.testing.assert_array_equal(model.predict(X), tree.predict(X))
    model.fit(X, y)
    if "class_weight" in params:
        assert model.class_weight == params["class_weight"]


def test_what_is_not_saved(path, classes):
    X, y = classes
    forest = ObliqueForestClassifier(30, n_jobs=2, oob_score=lambda a, b: 0.5).fit(X, y)
    save_model(forest, path)
    model = load_model(path)
    assert model.n_jobs is None
    assert model.oob_score is True
    assert model.random_state is None


def test_what_cannot_be_saved(path, classes):
    X, y = classes
    with pytest.raises(NotFittedError):
        save_model(ObliqueTreeClassifier(), path)
    with pytest.raises(ValueError, match="int cannot be saved to a model file; expected one of"):
        save_model(3, path)
    tree = ObliqueTreeClassifier().fit(X, y).set_params(max_depth=object())
    with pytest.raises(ValueError, match=r"max_depth=.* cannot be saved"):
        save_model(tree, path)

    deep = 0
    for _ in range(40):
        deep = [deep]
    with pytest.raises(ValueError, match="nested more than 32 levels"):
        save_model(tree.set_params(max_depth=deep), path)

    class Own(ObliqueTreeClassifier):
        pass

    with pytest.raises(ValueError, match="Own cannot be saved"):
        save_model(Own().fit(X, y), path)
    assert not path.exists()


def test_splitter_that_is_not_installed(path, classes):
    X, y = classes
    save_model(ObliqueTreeClassifier(random_state=0).fit(X, y), path)

    def rename(contents):
        header = json.loads(contents["header.json"])
        header["params"]["splitter"] = {"name": "elsewhere", "params": {"a": 1}}
        contents["header.json"] = json.dumps(header)

    edit(path, rename)
    model = load_model(path)
    assert model.predict(X).shape == (300,)
    with pytest.raises(ValueError, match="unknown splitter 'elsewhere'"):
        model.fit(X, y)


def test_splitter_class_of_a_third_party(path, classes):
    X, y = classes

    class Foreign(AxisSplitter):
        pass

    save_model(ObliqueTreeClassifier(splitter=Foreign(), random_state=0).fit(X, y), path)
    assert load_model(path).splitter == "Foreign"


@pytest.fixture
def saved(path, classes):
    X, y = classes
    save_model(ObliqueForestClassifier(3, max_depth=3, random_state=0).fit(X, y), path)
    return path


def test_missing_file(path):
    with pytest.raises(FileNotFoundError):
        load_model(path)


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04", b"x" * 1000, b"\x80\x04K\x01.", b"PK\x05\x06" + b"\0" * 18]
)
def test_files_that_are_no_models(path, data):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"is not a (readable|valid) model"):
        load_model(path)


def test_every_damaged_byte_is_an_error_or_harmless(saved, classes):
    X, _ = classes
    good = saved.read_bytes()
    expected = load_model(saved).predict(X)
    rng = np.random.default_rng(0)
    for position in rng.choice(len(good), size=150, replace=False):
        data = bytearray(good)
        data[position] ^= 1 << rng.integers(8)
        saved.write_bytes(data)
        try:
            model = load_model(saved)
        except ValueError:
            continue
        np.testing.assert_array_equal(model.predict(X), expected)
    for end in rng.choice(len(good), size=30, replace=False):
        saved.write_bytes(good[:end])
        with pytest.raises(ValueError, match="is not a"):
            load_model(saved)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"format": 2}, "format 2, this version of obtree reads format 1"),
        ({"format": None}, "format None"),
        ({"estimator": "eval"}, "unknown estimator 'eval'"),
        ({"estimator": ["x"]}, "not a valid model"),
        ({"estimator": "ObliqueTreeClassifier"}, "not a valid model"),
        ({"estimator": "ObliqueForestRegressor"}, "not a valid model"),
        ({"params": {"splitter": "axis", "n_jobs": 10**6}}, "unknown parameter 'n_jobs'"),
        ({"params": {"splitter": "axis", "new": 1}}, "unknown parameter 'new'"),
        ({"params": {"splitter": {"name": 3, "params": {}}}}, "name of the splitter is 3"),
        ({"params": {"splitter": {"name": "axis", "params": {"q": 3}}}}, "not a valid model"),
        ({"params": {"splitter": "axis", "max_depth": {"x": 1}}}, "lacks 'pairs'"),
        ({"params": 3}, "not a valid model"),
        ({"n_features": 9}, "disagree"),
        ({"n_features": -8}, "n_features is -8, expected a positive integer"),
        ({"n_features": 8.0}, "n_features is 8.0"),
        ({"max_features": True}, "max_features is True"),
        ({"feature_names": ["a"]}, "1 feature names for 8 features"),
        ({"feature_names": [1] * 8}, "feature names must be strings"),
        ({"class_kinds": []}, "'classes_0', which no model has"),
        ({"class_kinds": ["plain"] * 2}, "lacks 'classes_1'"),
    ],
)
def test_hostile_headers(saved, changes, text):
    edit_header(saved, **changes)
    with pytest.raises(ValueError, match=text):
        load_model(saved)


@pytest.mark.parametrize(
    ("name", "function", "text"),
    [
        ("tree.children_left", lambda a: a + 10**6, "valid model"),
        ("tree.children_left", np.zeros_like, "valid model"),
        ("tree.children_left", lambda a: a[:-1], "lengths of children_left"),
        ("tree.threshold", lambda a: a * np.nan, "valid model"),
        ("tree.term_feature", lambda a: a + 8, "valid model"),
        ("tree.value", lambda a: a[:, :, :2], "valid model"),
        ("tree.value", lambda a: a.astype(object), "unsupported type"),
        ("tree.value", np.asfortranarray, "unsupported type or layout"),
        ("tree.value", lambda a: np.array(1.0), "valid model"),
        ("length.value", lambda a: -a, "lengths of value"),
        ("length.value", lambda a: a.astype(float), "lengths of value"),
        ("length.value", lambda a: a[:2], "lengths of value"),
        ("length.value", lambda a: np.array([2**62, 2**62, 2**62, 2**62]), "lengths of value"),
        ("tree.n_features", lambda a: a[:2], "different numbers of trees"),
        ("seeds", lambda a: a[:2], "3 trees with 2 seeds"),
        ("seeds", lambda a: a.astype(float), "seeds"),
        ("classes_0", lambda a: a[:2], "disagree"),
        ("classes_0", lambda a: np.zeros_like(a), "not distinct"),
        ("classes_0", lambda a: a[None], "not distinct"),
    ],
)
def test_hostile_arrays(saved, name, function, text):
    edit_array(saved, name, function)
    with pytest.raises(ValueError, match=text):
        load_model(saved)


def test_hostile_shapes(saved):
    def claim(shape):
        def change(contents):
            stream = io.BytesIO()
            header = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(stream, header)
            contents["tree.threshold.npy"] = stream.getvalue() + b"\0" * 8

        return change

    for shape in ((2**60,), (2**62, 2**62), (2**62, 2**62, 0), (-1,), (-1, -1)):
        edit(saved, claim(shape))
        text = "does not hold an array of shape" if min(shape) >= 0 else "unsupported .* layout"
        with pytest.raises(ValueError, match=text):
            load_model(saved)


def test_hostile_members(saved):
    for data, text in (
        (b"[]", "not a JSON object"),
        (b"[" * 100000, "not a readable model"),
        (b"{", "not a readable model"),
        (b'{"format": 1}', "lacks 'estimator'"),
    ):
        edit(saved, lambda contents, data=data: contents.update({"header.json": data}))
        with pytest.raises(ValueError, match=text):
            load_model(saved)
    edit(saved, lambda contents: contents.pop("header.json"))
    with pytest.raises(ValueError, match="not a readable model"):
        load_model(saved)


def test_unknown_array_version(saved):
    def change(contents):
        stream = io.BytesIO()
        np.lib.format.write_array(stream, np.zeros(3), version=(2, 0))
        contents["seeds.npy"] = stream.getvalue()

    edit(saved, change)
    with pytest.raises(ValueError, match="unknown version"):
        load_model(saved)


def test_no_trees(saved):
    for name in ("tree.n_features", "length.value"):
        edit_array(saved, name, lambda a: a[:0])
    with pytest.raises(ValueError, match="valid model"):
        load_model(saved)


def test_large_contents_are_refused(saved):
    with pytest.raises(ValueError, match="more than max_bytes=100"):
        load_model(saved, max_bytes=100)


def test_failed_save_leaves_the_old_file(saved, classes, monkeypatch):
    X, y = classes
    before = saved.read_bytes()
    monkeypatch.setattr("obtree.estimators.archive.to_bytes", lambda array: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_model(ObliqueTreeRegressor().fit(X, y), saved)
    assert saved.read_bytes() == before
    assert [entry.name for entry in saved.parent.iterdir()] == [saved.name]
