"""ForestEmbedding: known manifolds, slow references, new rows, files, bad input."""

import os
import pickle

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.datasets import load_iris, make_s_curve, make_swiss_roll
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

from obtree import ForestEmbedding, load_model, save_model
from obtree.estimators.affinity import NEIGHBOR, AffinityGraph, LeafMetric, Scaler
from obtree.estimators.spectral import connect_graph, find_coordinates
from obtree.testing.probe_team import Observer

X, Y = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
NEW = X[::4] + 0.03
AFFINITIES = ("binary", "gaussian", "mahalanobis")


def weigh_slowly(model, Z, kind, power):
    """Affinities of the training rows, pair by pair and tree by tree."""
    leaves = model.apply_all if hasattr(model, "apply_all") else model._graph.leaves
    n_rows, n_trees = leaves.shape
    Z = Z.astype(float)
    total = np.zeros((n_rows, n_rows))
    for t in range(n_trees):
        for leaf in np.unique(leaves[:, t]):
            rows = np.flatnonzero(leaves[:, t] == leaf)
            block = np.ones((len(rows), len(rows)))
            if kind == "mahalanobis":
                d = Z.shape[1]
                apart = Z[rows] - Z[rows].mean(axis=0)
                sums = apart.T @ apart
                sums += d * np.trace(sums) / (d * len(rows)) * np.eye(d)
                inverse = np.linalg.inv(sums / (len(rows) + d))
                for a in range(len(rows)):
                    for b in range(len(rows)):
                        delta = apart[a] - apart[b]
                        block[a, b] = np.exp(-delta @ inverse @ delta / (2 * d))
            total[np.ix_(rows, rows)] += block
    total = (total / n_trees) ** power
    if kind == "gaussian":
        squares = ((Z[:, None] - Z) ** 2).sum(axis=2)
        widths = np.empty(n_rows)
        for i in range(n_rows):
            near = np.sort(squares[i, total[i] > 0])
            widths[i] = near[min(NEIGHBOR, len(near) - 1)]
        total *= np.exp(-squares / np.maximum.outer(widths, widths))
    return total


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("power", [1, 3])
def test_affinities_are_those_of_the_book(affinity, power):
    rows = RNG.normal(size=(80, 3)) * [1, 100, 0.01]
    model = ForestEmbedding(n_estimators=12, affinity=affinity, power=power, random_state=0)
    model.fit(rows)
    found = model._graph.compare().toarray()
    assert_allclose(found, weigh_slowly(model, model._graph.Z, affinity, power), rtol=1e-6)
    assert_array_equal(found, found.T)
    assert_allclose(model._graph.Z.std(axis=0), 1.0, rtol=1e-5)


def test_coordinates_are_eigenvectors():
    model = ForestEmbedding(3, n_estimators=20, random_state=0).fit(X)
    matrix = model._graph.compare().toarray()
    degree = matrix.sum(axis=1)
    values, vectors = scipy.linalg.eigh(matrix, np.diag(degree))
    assert_allclose(model.eigenvalues_, values[::-1][1:4], rtol=1e-8)
    for k in range(3):
        own = vectors[:, -2 - k] * np.sqrt(degree.sum())
        own *= np.sign(own[np.abs(own).argmax()])
        assert_allclose(model.embedding_[:, k], own, atol=1e-7)
    assert_allclose(degree @ model.embedding_, 0.0, atol=1e-6)
    assert_allclose(degree @ model.embedding_**2 / degree.sum(), 1.0)


@pytest.mark.parametrize("make", [make_swiss_roll, make_s_curve])
@pytest.mark.parametrize("affinity", ["binary", "gaussian"])
def test_rolls_are_unrolled(make, affinity):
    rows, position = make(1000, random_state=1)
    found = ForestEmbedding(affinity=affinity, random_state=0).fit_transform(rows * [1, 50, 1])
    assert max(abs(spearmanr(column, position)[0]) for column in found.T) > 0.98


@pytest.mark.parametrize("grow_on", ["density", "y", "random"])
@pytest.mark.parametrize("affinity", AFFINITIES)
def test_new_rows_and_training_rows(grow_on, affinity):
    model = ForestEmbedding(n_estimators=30, grow_on=grow_on, affinity=affinity, random_state=0)
    found = model.fit_transform(X, Y)
    assert_array_equal(found, model.embedding_)
    assert_allclose(model.transform(X), found, atol=1e-6)
    near = KNeighborsClassifier().fit(found, Y)
    assert near.score(model.transform(NEW), Y[::4]) > 0.85


def test_links_of_parts_hardly_move_rows():
    two = np.r_[RNG.normal(size=(18, 2)), RNG.normal(size=(12, 2)) + 50.0]
    params = {"affinity": "binary", "splitter": "axis", "random_state": 0}
    model = ForestEmbedding(1, n_estimators=20, **params)
    model.fit(two, np.arange(30) >= 18)
    assert model.n_parts_ == 2
    # The first coordinate tells the parts from each other.
    sides = model.embedding_[:, 0] > 0
    assert_array_equal(sides, sides[0] ^ (np.arange(30) >= 18))
    assert_allclose(model.transform(two), model.embedding_, atol=0.05)


def test_each_part_is_linked_where_it_is_nearest():
    place = np.array([[0.0], [1.0], [5.0], [6.0], [20.0]])
    graph = sp.csr_matrix(np.kron(np.eye(3), np.ones((2, 2)))[:5, :5])
    linked, n_parts = connect_graph(graph, place)
    assert n_parts == 3
    added = (linked - graph).tocoo()
    assert {(a, b) for a, b in zip(added.row, added.col, strict=True) if a < b} == {(1, 2), (3, 4)}
    assert abs(linked - linked.T).max() == 0
    assert connect_graph(linked, place)[1] == 1


def test_long_chains_are_solved():
    n = 3000
    chain = sp.diags([np.ones(n - 1), np.ones(n), np.ones(n - 1)], [-1, 0, 1]).tocsr()
    found, values = find_coordinates(chain, np.ones(n), 1)
    assert abs(spearmanr(found[:, 0], np.arange(n))[0]) > 0.9999
    assert 1 - 1e-5 < values[0] < 1


@pytest.mark.parametrize("affinity", AFFINITIES)
def test_weights_are_repetitions(affinity):
    rows = RNG.normal(size=(40, 4))
    weight = RNG.integers(0, 4, 40)
    params = {"n_estimators": 15, "affinity": affinity, "random_state": 0, "splitter": "axis"}
    weighted = ForestEmbedding(**params).fit(rows, sample_weight=weight)
    repeated = ForestEmbedding(**params).fit(np.repeat(rows, weight, axis=0))
    assert_allclose(weighted.transform(rows), repeated.transform(rows), atol=1e-6)
    assert_array_equal(weighted.embedding_[weight == 0], weighted.transform(rows[weight == 0]))
    tiny = ForestEmbedding(**params).fit(rows, sample_weight=np.full(40, 1e-3))
    assert_allclose(tiny.embedding_, ForestEmbedding(**params).fit_transform(rows), atol=1e-6)


@pytest.mark.parametrize("affinity", AFFINITIES)
def test_missing_values(affinity):
    holes = X.copy()
    holes[RNG.random(X.shape) < 0.1] = np.nan
    model = ForestEmbedding(n_estimators=30, affinity=affinity, random_state=0)
    found = model.fit_transform(holes)
    assert np.isfinite(found).all()
    assert_allclose(model.transform(holes), found, atol=1e-6)
    assert KNeighborsClassifier().fit(found, Y).score(found, Y) > 0.85


def test_sparse_rows_and_frames():
    pandas = pytest.importorskip("pandas")
    model = ForestEmbedding(n_estimators=10, random_state=0)
    expected = model.fit_transform(X)
    assert_allclose(model.fit_transform(sp.csr_matrix(X)), expected, atol=1e-9)
    assert_allclose(model.transform(sp.csr_matrix(X)), expected, atol=1e-6)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model.set_output(transform="pandas")
    found = model.fit_transform(frame)
    assert list(found.columns) == ["forestembedding0", "forestembedding1"]
    assert list(model.get_feature_names_out()) == list(found.columns)
    assert list(model.feature_names_in_) == list("abcd")


def test_threads_change_nothing():
    rows = make_swiss_roll(700, random_state=0)[0]
    one, two = (ForestEmbedding(n_estimators=20, n_jobs=n, random_state=3) for n in (1, 3))
    assert_array_equal(one.fit_transform(rows), two.fit_transform(rows))
    assert_array_equal(one.transform(rows + 0.1), two.transform(rows + 0.1))


def test_proximity_of_an_embedding():
    model = ForestEmbedding(n_estimators=10, power=1, affinity="binary", random_state=0).fit(X)
    assert abs(model.proximity(X) - model._graph.compare()).max() < 1e-7
    with pytest.raises(ValueError, match="kind='gap' is not available"):
        model.proximity(X, kind="gap")


@pytest.mark.parametrize("affinity", AFFINITIES)
def test_saved_and_copied(tmp_path, affinity):
    weight = RNG.integers(0, 3, len(X))
    model = ForestEmbedding(n_estimators=8, affinity=affinity, power=2, random_state=0)
    model.fit(X, np.array(["a", "b", "c"])[Y], sample_weight=weight)
    save_model(model, tmp_path / "model")
    for other in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(other.embedding_, model.embedding_)
        assert_array_equal(other.transform(NEW), model.transform(NEW))
        assert_array_equal(other.eigenvalues_, model.eigenvalues_)
        assert other.n_parts_ == model.n_parts_


def spoil(name, change):
    """Return a change of one array of a model's extras."""

    def apply(header, arrays):
        arrays[name] = change(arrays[name].copy())

    return apply


def put(value, *place):
    """Return a function that sets an element of an array."""

    def apply(array):
        array[place] = value
        return array

    return apply


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda header, arrays: header.update(n_parts=0), "n_parts, 1 or more"),
        (lambda header, arrays: header.update(more=1), "n_parts, 1 or more"),
        (lambda header, arrays: arrays.pop("rows"), "its extras hold"),
        (lambda header, arrays: arrays.update(more=np.zeros(1)), "its extras hold"),
        (spoil("leaves", put(0, 0, 0)), "no leaves of tree 0"),
        (spoil("leaves", put(-1, 3, 1)), "no leaves of tree 1"),
        (spoil("leaves", put(10_000, 3, 1)), "no leaves of tree 1"),
        (spoil("leaves", lambda a: a.astype(np.int64)), "leaves has type int64"),
        (spoil("leaves", lambda a: a[:-1]), "leaves has shape"),
        (spoil("rows", put(np.nan, 0, 0)), "rows is not finite"),
        (spoil("rows", lambda a: a[:, :2]), "rows has shape"),
        (spoil("weight", put(0.0, 1)), "must be positive"),
        (spoil("deviation", put(-1.0, 1)), "must be positive"),
        (spoil("eigenvalues", put(2.0, 1)), "between 0 and 1"),
        (spoil("eigenvalues", lambda a: a[:1]), "coordinates has shape"),
        (spoil("embedding", lambda a: a[:10]), "embedding has shape"),
        (spoil("coordinates", put(np.inf, 1, 0)), "coordinates is not finite"),
    ],
)
def test_files_that_were_tampered_with(tmp_path, monkeypatch, change, match):
    model = ForestEmbedding(n_estimators=3, random_state=0).fit(X)
    header, arrays = model._describe_extras()
    change(header, arrays)
    monkeypatch.setattr(model, "_describe_extras", lambda: (header, arrays), raising=False)
    save_model(model, tmp_path / "model")
    with pytest.raises(ValueError, match=match):
        load_model(tmp_path / "model")


def test_bad_parameters_of_files(tmp_path):
    model = ForestEmbedding(n_estimators=3, random_state=0).fit(X)
    for name, value in (("affinity", "near"), ("power", 0), ("n_components", 3)):
        spoilt = pickle.loads(pickle.dumps(model)).set_params(**{name: value})
        save_model(spoilt, tmp_path / "model")
        with pytest.raises(ValueError, match=r"affinity|power|components"):
            load_model(tmp_path / "model")


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": 150}, "n_components=150 needs more rows"),
        ({"n_estimators": 0}, "n_estimators=0"),
        ({"affinity": "near"}, "affinity"),
        ({"grow_on": "x"}, "grow_on"),
        ({"grow_on": "y"}, "grow_on='y' needs y"),
        ({"power": 0}, "power=0"),
        ({"power": 1.5}, "power=1.5"),
        ({"max_bytes": 1000}, "max_bytes=1000"),
        ({"splitter": "co2"}, "co2|targets"),
        ({"min_samples_leaf": 0}, "min_samples_leaf=0"),
    ],
)
def test_bad_parameters(params, match):
    with pytest.raises((ValueError, TypeError), match=match):
        ForestEmbedding(**params).fit(X)


def test_bad_rows():
    with pytest.raises(ValueError, match="infinity"):
        ForestEmbedding().fit(np.where(X > 7, np.inf, X))
    with pytest.raises(ValueError, match="n_samples=1"):
        ForestEmbedding().fit(X[:1])
    with pytest.raises(NotFittedError):
        ForestEmbedding().transform(X)
    model = ForestEmbedding(n_estimators=3, random_state=0).fit(X)
    before = model.embedding_
    with pytest.raises(ValueError, match="n_samples=2"):
        model.fit(X[:2])
    assert model.embedding_ is before


@pytest.mark.parametrize("affinity", AFFINITIES)
def test_rows_that_say_little(affinity):
    params = {"n_estimators": 10, "affinity": affinity, "random_state": 0}
    # All rows equal: there is nothing to tell.
    assert_array_equal(ForestEmbedding(**params).fit_transform(np.ones((12, 3))), 0.0)
    # Fewer rows than columns, columns that are constant or twice there, rows that are.
    wide = RNG.normal(size=(15, 40))
    assert np.isfinite(ForestEmbedding(**params).fit_transform(wide)).all()
    odd = np.c_[X, X[:, :1], np.ones(len(X)), np.full(len(X), np.nan)]
    found = ForestEmbedding(**params).fit_transform(np.r_[odd, odd])
    assert_allclose(found[:150], found[150:], atol=1e-7)
    assert np.isfinite(found).all()
    assert np.ptp(found, axis=0).min() > 0.1


def test_a_scaler_is_not_moved_by_large_numbers():
    rows = RNG.normal(size=(50, 2)) + np.array([1e6, 0.0])
    rows[:, 1] = 7.1
    scaler = Scaler.measure(rows, np.ones(50))
    assert_allclose(scaler.deviation, [rows[:, 0].std(), 1.0])
    assert_array_equal(scaler.scale(rows)[:, 1], 0.0)


def test_leaves_of_many_features_have_variances_only():
    Z = RNG.normal(size=(30, 40)).astype(np.float32) * 3
    leaf = np.r_[np.zeros(15), np.full(15, 4)].astype(np.int32)
    white = LeafMetric(leaf, Z, np.ones(30)).whiten(leaf, Z)
    apart = Z[:15] - Z[:15].mean(axis=0)
    variances = (apart**2).sum(axis=0)
    expected = (variances + variances.mean() / 15 * 40) / (15 + 40)
    assert_allclose(white[:15], apart / np.sqrt(expected), rtol=1e-4, atol=1e-6)


def test_rows_without_company_are_at_the_origin():
    leaves = np.array([[0], [0], [1]], dtype=np.int32)
    graph = AffinityGraph("gaussian", 1, leaves[:2], [3], np.zeros((2, 1), np.float32), np.ones(2))
    found = graph.compare(leaves, np.zeros((3, 1), np.float32)).toarray()
    assert_array_equal(found, [[1, 1], [1, 1], [0, 0]])


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_fit_leaves_the_model_as_it_was(n_jobs):
    model = ForestEmbedding(n_estimators=20, n_jobs=n_jobs, random_state=0)
    with Observer() as observer:
        before = model.fit_transform(X)
    attributes = dict(vars(model))
    n_items = observer.n_items
    for at in (n_items // 4, n_items - 2):
        with Observer(interrupt_at=at) as observer:
            with pytest.raises(KeyboardInterrupt):
                model.fit(-X)
            assert observer.n_items < n_items
        assert vars(model) == attributes
    assert_array_equal(model.fit_transform(X), before)


@pytest.mark.parametrize("name", ["leaves", "start", "member", "offset"])
@pytest.mark.parametrize("value", [-(10**6), 10**6])
def test_pickles_that_were_tampered_with(name, value):
    model = ForestEmbedding(n_estimators=3, random_state=0).fit(X)
    copied = pickle.loads(pickle.dumps(model))
    array = getattr(copied._graph._rows, name) if name != "leaves" else copied._graph.leaves
    array.flat[array.size // 2] = value
    with pytest.raises(ValueError, match="do not belong together"):
        copied.transform(X) if name != "leaves" else copied._graph.compare()
