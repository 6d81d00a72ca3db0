"""Pipelines in model files, orders of arguments, and files that are open."""

import gzip
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MultiLabelBinarizer,
    OneHotEncoder,
    StandardScaler,
)

from obtree import (
    ForestEmbedding,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    load_model,
    save_model,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.obtree"


@pytest.fixture
def tree(iris):
    return ObliqueTreeClassifier(random_state=0).fit(*iris)


def rewrite(path, change):
    """Rewrite a model file after ``change(header, members)``."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    change(header, members)
    members["header.json"] = json.dumps(header)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_either_order(tree, path):
    save_model(tree, path)
    saved = path.read_bytes()
    for place in (path, str(path), bytes(path)):
        path.unlink()
        save_model(place, tree)
        assert path.read_bytes() == saved
    stream = io.BytesIO()
    save_model(stream, tree)
    assert stream.getvalue() == saved
    with pytest.raises(ValueError, match="str cannot be saved"):
        save_model("one", "two")
    with pytest.raises(ValueError, match="int cannot be saved"):
        save_model(3, path)


def test_open_files(tree, path, iris):
    save_model(tree, path)
    stream = io.BytesIO()
    stream.write(b"before")
    save_model(tree, stream)
    assert stream.getvalue() == b"before" + path.read_bytes()
    stream.seek(6)
    np.testing.assert_array_equal(load_model(stream).predict(iris[0]), tree.predict(iris[0]))
    with gzip.open(path.with_suffix(".gz"), "wb") as packed:
        save_model(tree, packed)
    with gzip.open(path.with_suffix(".gz")) as packed:
        assert load_model(packed).get_params() == tree.get_params()
    with open(path, "rb") as file:
        assert load_model(file).get_params() == tree.get_params()


class Hesitant(io.RawIOBase):
    """Takes and gives few bytes at a time, and cannot seek."""

    def __init__(self, data=b""):
        self.data = data

    def writable(self):
        return True

    def readable(self):
        return True

    def write(self, data):
        self.data += bytes(data[:7])
        return len(data[:7])

    def read(self, n=-1):
        piece, self.data = self.data[: min(n, 11)], self.data[min(n, 11) :]
        return piece


def test_hesitant_streams(tree, path):
    save_model(tree, path)
    stream = Hesitant()
    save_model(tree, stream)
    assert stream.data == path.read_bytes()
    assert load_model(stream).get_params() == tree.get_params()
    endless = Hesitant(b"x" * 5000)
    with pytest.raises(ValueError, match="more than max_bytes=100"):
        load_model(endless, max_bytes=100)
    assert len(endless.data) == 4899


def test_wrong_streams(tree, path):
    save_model(tree, path)
    with open(path.with_name("text"), "w") as text, pytest.raises(TypeError, match="mode='wb'"):
        save_model(tree, text)
    with open(path.with_name("text")) as text, pytest.raises(TypeError, match="mode='rb'"):
        load_model(text)
    with open(path, "rb") as file, pytest.raises(TypeError, match="not a binary file open to wr"):
        save_model(tree, file)
    with pytest.raises(ValueError, match="the stream is not a readable model"):
        load_model(io.BytesIO(b"PK"))


def test_a_failed_save_writes_nothing_to_a_stream(tree):
    stream = io.BytesIO()
    tree.classes_ = np.array([(1, 2), (3, 4), (5, 6)], dtype="i4,i4")
    with pytest.raises(ValueError, match="class labels"):
        save_model(tree, stream)
    assert stream.getvalue() == b""


def make_table(n=90):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"size": rng.normal(size=n), "colour": rng.choice(["red", "blue", "green"], n)}
    )
    table.loc[::7, "size"] = np.nan
    return table, (table["size"].fillna(0) > 0) ^ (table["colour"] == "red")


def make_mixed():
    numbers = make_pipeline(SimpleImputer(), StandardScaler(), FunctionTransformer(np.abs))
    columns = ColumnTransformer(
        [("n", numbers, ["size"]), ("c", OneHotEncoder(sparse_output=False), ["colour"])],
        remainder="drop",
    )
    forest = ObliqueForestClassifier(4, random_state=0)
    return Pipeline([("columns", columns), ("none", "passthrough"), ("forest", forest)])


def test_tables(path):
    pytest.importorskip("skops")
    X, y = make_table()
    model = make_mixed().fit(X, y)
    save_model(model, path)
    same = load_model(path)
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    assert list(same.named_steps) == ["columns", "none", "forest"]
    assert same[-1].get_params() == model[-1].get_params()


@pytest.mark.parametrize("step", [PCA(2), SelectKBest(k=2), StandardScaler(), None, "passthrough"])
def test_steps(path, iris, step):
    pytest.importorskip("skops")
    X, y = iris
    model = Pipeline([("first", step), ("tree", ObliqueTreeClassifier(random_state=0))]).fit(X, y)
    stream = io.BytesIO()
    save_model(model, stream)
    stream.seek(0)
    np.testing.assert_array_equal(load_model(stream).predict_proba(X), model.predict_proba(X))


def test_only_own_steps_need_no_other_package(path, iris, monkeypatch):
    X, y = iris
    model = make_pipeline(ForestEmbedding(5, random_state=0), ObliqueTreeClassifier(random_state=0))
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    save_model(model.fit(X, y), path)
    np.testing.assert_array_equal(load_model(path).predict(X), model.predict(X))
    with pytest.raises(ImportError, match=r"pip install 'obtree\[skops\]'"):
        save_model(make_pipeline(StandardScaler(), model[-1]).fit(X, y), path)


class OwnScaler(StandardScaler):
    """Code that a file cannot bring along."""


@pytest.mark.parametrize(
    "step",
    [
        OwnScaler(),
        FunctionTransformer(lambda X: X),
        SelectFromModel(RandomForestClassifier(2, random_state=0), threshold=-np.inf),
        SelectFromModel(ObliqueTreeClassifier(random_state=0), threshold=-np.inf),
        FunctionTransformer(print, check_inverse=False),
    ],
    ids=["own", "lambda", "forest", "ours", "print"],
)
def test_steps_that_are_refused(path, iris, step):
    pytest.importorskip("skops")
    X, y = iris
    if step.__class__ is FunctionTransformer and step.func is print:
        step = step.set_params(func=None).fit(X).set_params(func=print)
        model = Pipeline([("first", step), ("tree", ObliqueTreeClassifier().fit(X, y))])
    else:
        model = Pipeline([("first", step), ("tree", ObliqueTreeClassifier())]).fit(X, y)
    with pytest.raises(ValueError, match=r"step 'first' of the Pipeline.*cannot be saved"):
        save_model(model, path)
    assert not path.exists()


def test_pipelines_without_ours(path, iris):
    pytest.importorskip("skops")
    model = make_pipeline(StandardScaler(), PCA(2)).fit(iris[0])
    with pytest.raises(ValueError, match="no step of the Pipeline is an estimator of obtree"):
        save_model(model, path)
    with pytest.raises(ValueError, match="cannot be saved"):
        save_model(make_pipeline(StandardScaler(), LogisticRegression()).fit(*iris), path)


def test_searches(path, iris):
    search = GridSearchCV(ObliqueTreeClassifier(random_state=0), {"max_depth": [1, 2]}, cv=2)
    with pytest.raises(ValueError, match=r"GridSearchCV cannot be saved.*Its best_estimator_ may"):
        save_model(search.fit(*iris), path)
    save_model(search.best_estimator_, path)
    assert load_model(path).max_depth == search.best_params_["max_depth"]


def to_member(data):
    stream = io.BytesIO()
    np.save(stream, np.frombuffer(data, dtype=np.uint8))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (RandomForestClassifier(2, random_state=0), "unsupported type or layout"),
        (LogisticRegression(max_iter=1000), "holds 'sklearn.linear_model"),
        (OwnScaler(), "holds '.*OwnScaler'"),
        ({"a": 1}, "expected an estimator"),
        (np.random.RandomState(0), "holds 'numpy.random"),
    ],
)
def test_files_with_other_types(path, iris, step, message):
    skops = pytest.importorskip("skops.io")
    model = make_pipeline(StandardScaler(), ObliqueTreeClassifier(random_state=0)).fit(*iris)
    save_model(model, path)
    if hasattr(step, "fit"):
        step.fit(*iris)
    data = skops.dumps(step)
    rewrite(path, lambda header, members: members.update({"step_0.npy": to_member(data)}))
    with pytest.raises(ValueError, match=message):
        load_model(path)


def change_schema(text, new):
    def change(header, members):
        step = np.load(io.BytesIO(members["step_0.npy"])).tobytes()
        with zipfile.ZipFile(io.BytesIO(step)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        assert text in parts["schema.json"]
        parts["schema.json"] = parts["schema.json"].replace(text, new)
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for name, data in parts.items():
                archive.writestr(name, data)
        members["step_0.npy"] = to_member(stream.getvalue())

    return change


def set_header(**changes):
    return lambda header, members: header.update(changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_header(steps=[]), "its steps are"),
        (set_header(steps=[["a", "skops"], 3]), "step 1 is 3"),
        (set_header(steps=[["a", "pickle"], ["b", "obtree"]]), "unknown kind 'pickle'"),
        (set_header(steps=[["b", "obtree"]]), "its step 'b'"),
        (set_header(steps=[["a", "passthrough"], ["b", "obtree"]]), "belongs to no step"),
        (set_header(steps=[["a", "skops"], ["b", "obtree"], ["c", "obtree"]]), "it lacks"),
        (set_header(transform_input=3), "transform_input is 3"),
        (set_header(more=1), "header holds 'more'"),
        (set_header(format=2), "it has format 2"),
        (change_schema(b"ObjectNode", b"MethodNode"), "it holds"),
        (change_schema(b"sklearn.preprocessing._data", b"sklearn.tree._classes"), "it holds"),
        (change_schema(b"StandardScaler", b"Nonsense"), "skops cannot read it"),
        (change_schema(b"{", b"["), "cannot be parsed"),
        (change_schema(b'"__class__": "StandardScaler"', b'"__class__": []'), "it holds"),
        (lambda header, members: members.update({"step_0.npy": to_member(b"no zip")}), "zip file"),
    ],
)
def test_damaged_pipelines(path, iris, change, message):
    pytest.importorskip("skops")
    model = make_pipeline(StandardScaler(), ObliqueTreeClassifier(random_state=0)).fit(*iris)
    save_model(model, path)
    rewrite(path, change)
    with pytest.raises(ValueError, match=message):
        load_model(path)


def compress_steps(header, members):
    """What skops stores as it is may come compressed, from whoever wants to fill the memory."""
    for name in [name for name in members if name.startswith("step_")]:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            step = np.load(io.BytesIO(members[name])).tobytes()
            with zipfile.ZipFile(io.BytesIO(step)) as parts:
                for part in parts.namelist():
                    archive.writestr(part, parts.read(part))
        members[name] = to_member(stream.getvalue())


def test_steps_share_the_bytes_there_are(path):
    pytest.importorskip("skops")
    X = np.zeros((20, 3000))
    X[:, 0] = np.arange(20)
    scalers = [StandardScaler() for _ in range(4)]
    model = make_pipeline(*scalers, ObliqueTreeClassifier(random_state=0)).fit(X, X[:, 0] > 9)
    save_model(model, path)
    rewrite(path, compress_steps)
    # A scaler has three arrays of 3000 numbers.
    limit = 3 * 72_000 + 50_000
    with pytest.raises(ValueError, match=r"its step 'standardscaler-4': .*more than max_bytes"):
        load_model(path, max_bytes=limit)
    np.testing.assert_array_equal(load_model(path, max_bytes=2 * limit).predict(X), X[:, 0] > 9)


def test_trees_of_steps_count(path):
    X = np.arange(40.0)[:, None]
    maps = [ForestEmbedding(2, n_estimators=20, random_state=0) for _ in range(3)]
    model = make_pipeline(*maps, ObliqueTreeClassifier(random_state=0)).fit(X, X[:, 0] > 20)
    save_model(model, path)
    with pytest.raises(ValueError, match=r"more than max_bytes|bytes left of max_bytes"):
        load_model(path, max_bytes=150_000)
    load_model(path, max_bytes=500_000)


def make_text(n=60):
    words = np.random.default_rng(0).choice(["red", "blue", "green"], (n, 3))
    return [" ".join(row) for row in words], words[:, 0] == "red"


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(sparse_output=False, drop="if_binary"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=12),
        OneHotEncoder(categories=[["x", "b", "a", "c"], [1.0, 2.0, 3.0]], handle_unknown="ignore"),
        OneHotEncoder(drop="first", handle_unknown="ignore", dtype=np.int32),
        KBinsDiscretizer(3),
        KBinsDiscretizer(3, encode="onehot-dense"),
    ],
    ids=str,
)
def test_honest_encoders(path, encoder):
    pytest.importorskip("skops")
    rng = np.random.default_rng(0)
    X = np.empty((90, 2), dtype=object)
    X[:, 0], X[:, 1] = rng.choice(["a", "b", "c"], 90, p=[0.1, 0.3, 0.6]), rng.integers(1, 4, 90)
    if isinstance(encoder, KBinsDiscretizer):
        X = rng.normal(size=(90, 2))
    y = X[:, 1] > 1
    model = make_pipeline(encoder, ObliqueTreeClassifier(random_state=0)).fit(X, y)
    save_model(model, path)
    np.testing.assert_array_equal(load_model(path).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "vectorizer", [CountVectorizer(), TfidfVectorizer(min_df=2), HashingVectorizer(n_features=16)]
)
def test_honest_vectorizers(path, vectorizer):
    pytest.importorskip("skops")
    X, y = make_text()
    model = make_pipeline(vectorizer, ObliqueTreeClassifier(random_state=0)).fit(X, y)
    save_model(model, path)
    np.testing.assert_array_equal(load_model(path).predict_proba(X), model.predict_proba(X))


def damage_outputs(encoder):
    encoder._n_features_outs = [1, 1]


def damage_places(encoder):
    encoder._default_to_infrequent_mappings[0][:] = 10**6


def damage_order(encoder):
    encoder.categories_[1] = encoder.categories_[1][::-1].copy()


def damage_categories(encoder):
    encoder.categories_ = encoder.categories_[:1]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_outputs, "cannot encode its own categories"),
        (damage_places, "cannot encode its own categories"),
        (damage_order, "numbers that are not in order"),
        (damage_categories, "cannot encode its own categories"),
        (lambda encoder: vars(encoder).update(categories_=3), "has the categories 3"),
    ],
)
@pytest.mark.parametrize("deep", [False, True])
def test_encoders_that_write_beside_their_rows(path, iris, damage, message, deep):
    skops = pytest.importorskip("skops.io")
    model = make_pipeline(StandardScaler(), ObliqueTreeClassifier(random_state=0)).fit(*iris)
    save_model(model, path)
    X = np.array([["a", 1.0], ["b", 2.0], ["b", 3.0], ["c", 3.0]] * 5, dtype=object)
    encoder = OneHotEncoder(min_frequency=6, sparse_output=False).fit(X)
    step = ColumnTransformer([("one", encoder, [0, 1])]).fit(X) if deep else encoder
    encoder = step.transformers_[0][1] if deep else encoder
    damage(encoder)
    data = skops.dumps(step)
    rewrite(path, lambda header, members: members.update({"step_0.npy": to_member(data)}))
    with pytest.raises(ValueError, match=message):
        load_model(path)


@pytest.mark.parametrize(
    ("step", "changes", "message"),
    [
        (DictVectorizer(sparse=False), {"vocabulary_": {"a": 2**30}}, "has column 1073741824 for"),
        (CountVectorizer(), {"vocabulary_": {"a": -5}}, "has column -5 for 'a'"),
        (TfidfVectorizer(), {"vocabulary_": {"a": 1}}, "of 1 columns has column 1"),
        (TfidfVectorizer(), {"vocabulary_": [1]}, "has the vocabulary"),
        (FeatureHasher(), {"n_features": 0}, "a FeatureHasher has n_features=0"),
        (HashingVectorizer(), {"n_features": 0}, "a HashingVectorizer has n_features=0"),
        (MultiLabelBinarizer(), {"_cached_dict": {"a": 2**30}}, "is not for features"),
    ],
)
def test_vectorizers_that_write_beside_their_rows(path, iris, step, changes, message):
    skops = pytest.importorskip("skops.io")
    model = make_pipeline(StandardScaler(), ObliqueTreeClassifier(random_state=0)).fit(*iris)
    save_model(model, path)
    vars(step).update(changes)
    data = skops.dumps(step)
    rewrite(path, lambda header, members: members.update({"step_0.npy": to_member(data)}))
    with pytest.raises(ValueError, match=message):
        load_model(path)
