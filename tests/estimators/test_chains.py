"""Boosted chains beside the trees of a forest."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from obtree import ObliqueForestClassifier, ObliqueForestRegressor, load_model, save_model
from obtree.estimators import chains
from obtree.estimators.boosting import ClassCourse, NumberCourse, count_values
from obtree.estimators.task import Target
from obtree.tree.predict import Predictor


@pytest.fixture(scope="module")
def rules():
    """Whether three in a row of nine squares are taken: a rule that single trees find hard."""
    X = np.random.default_rng(0).integers(0, 2, (900, 9)).astype(np.float64)
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8)]
    return X, np.any([X[:, line].all(axis=1) for line in lines], axis=0).astype(int)


@pytest.fixture(scope="module")
def forest(rules):
    X, y = rules
    return ObliqueForestClassifier(20, oob_score=True, random_state=0).fit(X[:400], y[:400])


@pytest.fixture(scope="module")
def steps():
    """A sum of steps of several features."""
    X = np.random.default_rng(1).random((600, 6))
    return X, (X > [0.2, 0.4, 0.5, 0.6, 0.7, 0.8]).sum(axis=1) * 2.0 + X[:, 0]


@pytest.fixture
def welcome(monkeypatch):
    """Chains that have a share whatever they do."""
    monkeypatch.setattr(chains, "DOUBT", 100.0)
    monkeypatch.setattr(chains, "HOPELESS", (1e9, 1e9, 1e9))
    monkeypatch.setattr(chains, "BEHIND_CLASSES", 1e9)
    monkeypatch.setattr(chains, "BEHIND_NUMBERS", 1e9)


@pytest.fixture
def numbers(steps, welcome):
    return ObliqueForestRegressor(20, oob_score=True, random_state=0).fit(*steps)


def test_chains_are_taken_where_they_help(rules, forest):
    X, y = rules
    assert forest.chains_
    assert all(len(chain) == 50 for chain in forest.chains_)
    assert len(forest.estimators_) == 20
    without = ObliqueForestClassifier(20, max_depth=1000, random_state=0).fit(X[:400], y[:400])
    assert without.chains_ == []
    errors = [np.mean(one.predict(X[400:]) != y[400:]) for one in (forest, without)]
    assert errors[0] < 0.8 * errors[1]


def test_predictions_are_the_sum_of_the_parts(rules, forest, numbers, steps):
    X = rules[0]
    chance = [tree.predict_proba(X) for tree in forest.estimators_]
    expected = (1.0 - forest.chain_weights_.sum()) * np.mean(chance, axis=0)
    for chain, weight in zip(forest.chains_, forest.chain_weights_, strict=True):
        product = np.prod([tree.predict_proba(X) for tree in chain], axis=0)
        expected += weight * product / product.sum(axis=1, keepdims=True)
    assert forest.predict_proba(X) == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(forest.predict(X), expected.argmax(axis=1))
    assert numbers.chains_
    expected = np.mean([tree.predict(steps[0]) for tree in numbers.estimators_], axis=0)
    expected *= 1.0 - numbers.chain_weights_.sum()
    for chain, weight in zip(numbers.chains_, numbers.chain_weights_, strict=True):
        expected += weight * np.mean([tree.predict(steps[0]) for tree in chain], axis=0)
    assert numbers.predict(steps[0]) == pytest.approx(expected, rel=1e-12)


def test_the_table_has_the_chains(forest):
    table = forest.race_
    assert table["setting"][-2:] == ["boosted axis", "boosted random_oblique"]
    assert sum(table["fraction"]) == pytest.approx(1.0)
    shares = np.array(table["fraction"][-2:])
    assert np.array_equal(shares[shares > 0.0], forest.chain_weights_)
    assert [n > 0 for n in table["n_trees"][-2:]] == (shares > 0.0).tolist()


def test_out_of_bag_scores_count_the_chains(rules, forest, numbers, steps):
    X, y = rules
    assert abs(forest.score(X[400:], y[400:]) - forest.oob_score_) < 0.05
    assert forest.oob_decision_function_.sum(axis=1) == pytest.approx(1.0)
    assert 0.8 < numbers.oob_score_ < numbers.score(*steps)


def test_importances_are_those_of_both(forest, rules):
    own = forest.feature_importances_
    assert own.sum() == pytest.approx(1.0)
    trees = np.mean([tree.feature_importances_ for tree in forest.estimators_], axis=0)
    parts = (1.0 - forest.chain_weights_.sum()) * trees / trees.sum()
    for chain, weight in zip(forest.chains_, forest.chain_weights_, strict=True):
        of_chain = np.mean([tree.feature_importances_ for tree in chain], axis=0)
        parts += weight * of_chain / of_chain.sum()
    assert own == pytest.approx(parts)


def test_threads_change_nothing(rules, forest):
    X, y = rules
    other = ObliqueForestClassifier(20, n_jobs=3, random_state=0).fit(X[:400], y[:400])
    assert np.array_equal(other.predict_proba(X), forest.predict_proba(X))


def test_threads_change_no_numbers(steps, numbers):
    other = ObliqueForestRegressor(20, n_jobs=3, random_state=0).fit(*steps)
    assert np.array_equal(other.predict(steps[0]), numbers.predict(steps[0]))


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_one_file(kind, forest, numbers, rules, steps, tmp_path):
    model, X = (forest, rules[0]) if kind == "classes" else (numbers, steps[0])
    path = tmp_path / "model"
    save_model(model, path)
    same = load_model(path)
    method = "predict_proba" if kind == "classes" else "predict"
    expected = getattr(model, method)(X)
    assert np.array_equal(getattr(same, method)(X), expected)
    assert [len(chain) for chain in same.chains_] == [len(chain) for chain in model.chains_]
    assert same.chains_[0][3].get_params() == model.chains_[0][3].get_params()
    save_model(same, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert np.array_equal(getattr(pickle.loads(pickle.dumps(model)), method)(X), expected)


def test_a_warm_start_keeps_the_chains(rules, forest):
    X, y = rules
    some = ObliqueForestClassifier(12, warm_start=True, random_state=0).fit(X[:400], y[:400])
    known = some.chains_
    some.set_params(n_estimators=20).fit(X[:400], y[:400])
    assert some.chains_ is known
    assert sum(some.race_["n_trees"][:-2]) == 20
    assert np.array_equal(some.predict_proba(X), forest.predict_proba(X))


def test_another_splitter_leaves_no_chains_behind(rules, forest):
    X, y = rules
    again = pickle.loads(pickle.dumps(forest)).set_params(splitter="axis").fit(X[:400], y[:400])
    assert not hasattr(again, "chains_")
    plain = ObliqueForestClassifier(20, splitter="axis", random_state=0).fit(X[:400], y[:400])
    assert np.array_equal(again.predict_proba(X), plain.predict_proba(X))


def test_sparse_and_missing_values_and_several_outputs(rules, welcome):
    X, y = rules
    rough = X.copy()
    rough[::9, 4] = np.nan
    dense = ObliqueForestClassifier(10, random_state=0).fit(rough, y)
    sparse = ObliqueForestClassifier(10, random_state=0).fit(sp.csr_matrix(rough), y)
    assert dense.chains_
    assert sparse.predict_proba(rough) == pytest.approx(dense.predict_proba(rough), abs=1e-9)
    both = np.stack([y, (X[:, 0] + X[:, 1]).astype(int)], axis=1)
    model = ObliqueForestClassifier(10, random_state=0).fit(X, both)
    assert model.chains_
    for chance, n_classes in zip(model.predict_proba(X), (2, 3), strict=True):
        assert chance.shape == (len(X), n_classes)
        assert chance.sum(axis=1) == pytest.approx(1.0)


def test_weights_that_are_twice_as_large_change_nothing(rules, welcome):
    X, y = rules
    X, y = X[:400], y[:400]
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    pair = [ObliqueForestClassifier(10, random_state=0).fit(X, y, w) for w in (weight, 4 * weight)]
    assert pair[0].chains_
    assert np.array_equal(*(one.predict_proba(X) for one in pair))


@pytest.mark.parametrize(
    "changed",
    [
        {"max_depth": 5},
        {"criterion": "entropy"},
        {"combine": "vote"},
        {"class_weight": "balanced_subsample", "bootstrap": True},
        {"n_estimators": 9},
        {"splitter": ["axis", "random_oblique"]},
    ],
    ids=str,
)
def test_what_leaves_no_room_for_chains(changed, rules):
    params = {"n_estimators": 12, "random_state": 0} | changed
    assert ObliqueForestClassifier(**params).fit(*rules).chains_ == []


def test_one_class_and_few_rows(rules):
    X, y = rules
    assert ObliqueForestClassifier(10).fit(X, np.zeros(len(y))).chains_ == []
    assert ObliqueForestClassifier(10).fit(X[:39], y[:39]).chains_ == []


def damage(forest, tmp_path, **changes):
    """Save a forest whose chains are not what the file says."""
    import json
    import zipfile

    save_model(forest, tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts["header.json"]) | changes
    parts["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(tmp_path / "model", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return tmp_path / "model"


@pytest.mark.parametrize("lengths", [[10**9], [0], [-1], ["50"], 7, [50] * 40, [True], []], ids=str)
def test_damaged_chains_are_refused(lengths, forest, tmp_path):
    with pytest.raises(ValueError, match="chain"):
        load_model(damage(forest, tmp_path, chain_lengths=lengths))


def slow_course(target, weight, trees, rate):
    """Newton steps of the log loss, one row and class at a time."""
    n_rows = len(weight)
    n_classes = int(target.n_classes[0])
    prior = [
        sum(weight[i] for i in range(n_rows) if target.y[i, 0] == c) / weight.sum()
        for c in range(n_classes)
    ]
    scores = np.tile(np.log(np.array(prior) + 1.0 / (1.0 + n_rows)), (n_rows, 1))
    for leaf in trees:
        chance = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        for node in set(leaf.tolist()):
            for c in range(n_classes):
                rows = [i for i in range(n_rows) if leaf[i] == node]
                slope = sum(weight[i] * ((target.y[i, 0] == c) - chance[i, c]) for i in rows)
                bend = sum(
                    weight[i]
                    * max(chance[i, c] * (1 - chance[i, c]), 1e-3)
                    * n_classes
                    / (n_classes - 1)
                    for i in rows
                )
                scores[leaf == node, c] += rate * np.clip(slope / (bend + 1.0), -8.0, 8.0)
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def make_stump(X, column, threshold, n_values):
    from obtree.tree.tree import Tree

    tree = Tree.from_arrays(
        n_features=X.shape[1],
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        threshold=[threshold, 0.0, 0.0],
        term_ptr=[0, 1, 1, 1],
        term_feature=[column],
        term_weight=[1.0],
        missing_go_left=[0, 0, 0],
        impurity=[1.0, 0.0, 0.0],
        n_node_samples=[len(X), 1, 1],
        weighted_n_node_samples=[len(X), 1.0, 1.0],
        value=np.zeros((3, n_values, 1)),
        n_classes=np.ones(n_values, dtype=np.int64),
    )
    return tree, tree.apply(X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_steps_of_classes(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.random((40, 3)).astype(np.float32)
    codes = rng.integers(0, n_classes, (40, 1)).astype(np.int32)
    target = Target(codes, [np.arange(n_classes)])
    weight = np.where(rng.random(40) < 0.8, rng.random(40), 0.0)
    n_values = count_values(target)
    assert n_values == (1 if n_classes == 2 else n_classes)
    goal, care = np.empty((40, n_values)), np.empty(40)
    course = ClassCourse(target, weight).begin(goal, care)
    assert (care[weight == 0.0] == 0.0).all()
    leaves, trees = [], []
    for column in range(3):
        tree, leaf = make_stump(X, column, 0.5, n_values)
        trees.append(course.go_on(tree, leaf))
        leaves.append(leaf)
    expected = slow_course(target, weight, leaves, 0.3)
    assert course.predict()[:, 0] == pytest.approx(expected, rel=1e-9)
    # What the trees keep is what the course has found.
    chance = Predictor(trees).predict(X, combine="product")[:, 0]
    assert chance == pytest.approx(expected, rel=1e-9)
    assert course.list_left_out().tolist() == np.flatnonzero(weight == 0.0).tolist()


def test_steps_of_numbers():
    rng = np.random.default_rng(0)
    X = rng.random((30, 2)).astype(np.float32)
    y = rng.normal(size=(30, 2)) + 5.0
    weight = np.where(rng.random(30) < 0.8, 1.0, 0.0)
    goal, care = np.empty((30, 2)), np.empty(30)
    course = NumberCourse(Target(y), weight).begin(goal, care)
    mean = y[weight > 0].mean(axis=0)
    assert goal == pytest.approx(y - mean)
    tree, leaf = make_stump(X, 0, 0.5, 2)
    kept = course.go_on(tree, leaf)
    for node in (1, 2):
        rows = (leaf == node) & (weight > 0)
        step = 0.1 * (y[rows] - mean).sum(axis=0) / (rows.sum() + 1.0)
        assert course.predict()[leaf == node, :, 0] == pytest.approx(
            np.tile(mean + step, ((leaf == node).sum(), 1))
        )
        assert kept.value[node, :, 0] == pytest.approx(mean + 50 * step)


def test_chains_far_behind_do_not_grow_to_the_end(monkeypatch, rules):
    lengths = []
    extend = chains.Booster._extend

    def watch(self, grown, n_trees):
        lengths.append(n_trees)
        return extend(self, grown, n_trees)

    monkeypatch.setattr(chains.Booster, "_extend", watch)
    monkeypatch.setattr(chains, "HOPELESS", (0.0, 0.0, 0.0))
    monkeypatch.setattr(chains, "BEHIND_CLASSES", 0.0)
    model = ObliqueForestClassifier(10, random_state=0).fit(*rules)
    assert model.chains_ == []
    # After the first look nobody is left to grow.
    assert lengths == [chains.LOOKS[1], chains.N_ROUNDS]
