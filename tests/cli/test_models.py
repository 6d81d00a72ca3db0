"""``obtree fit``: any estimator with any parameters."""

import numpy as np
import pytest

from obtree import load_model
from obtree.cli.models import ESTIMATORS, parse_setting

pd = pytest.importorskip("pandas")

SMALL = ("--set", "max_depth=3")
CLASSES = {
    "tree": "ObliqueTreeClassifier",
    "forest": "ObliqueForestClassifier",
    "tao-tree": "TAOTreeClassifier",
    "tao-forest": "TAOForestClassifier",
    "nongreedy-tree": "NonGreedyTreeClassifier",
    "nongreedy-forest": "NonGreedyForestClassifier",
    "disjunctive-tree": "DisjunctiveTreeClassifier",
    "disjunctive-forest": "DisjunctiveForestClassifier",
    "ferns": "FernClassifier",
}

#: Those that need no target, or no label for most rows, which a table on the command line has.
WITHOUT_LABELS = {"DensityForest", "ForestEmbedding", "SemiSupervisedForest"}


@pytest.fixture
def fit(flowers, tmp_path):
    """Arguments of a fit to the flowers."""
    return ("fit", flowers, "--target", "species", "--out", tmp_path / "m")


def test_every_estimator_has_a_name():
    import obtree

    public = {name for name in obtree.__all__ if name[0].isupper()}
    stems = {name.removesuffix("Classifier").removesuffix("Regressor") for name in public}
    assert set(ESTIMATORS.values()) == stems - WITHOUT_LABELS
    assert set(CLASSES) == set(ESTIMATORS)


@pytest.mark.parametrize("name", CLASSES)
def test_classifiers(name, fit, flowers, tmp_path, obtree):
    few = ("--n-estimators", "3") if name.endswith("forest") else ()
    small = SMALL
    if name == "ferns":
        few, small = ("--n-estimators", "3"), ("--set", "depth=3")
    code, out, err = obtree(*fit, "--estimator", name, *small, *few)
    assert (code, err) == (0, "")
    trees = "3 trees" if few else "1 tree"
    assert out.startswith(f"classification of 'species' from 4 columns, 150 rows: {trees}, ")
    model = load_model(tmp_path / "m")
    assert type(model).__name__ == CLASSES[name]
    assert model.estimators_[0].max_depth == 3 if name == "ferns" else model.max_depth == 3
    assert model.random_state == 0
    code, out, _ = obtree("predict", tmp_path / "m", flowers)
    species = pd.read_csv(flowers)["species"]
    assert (np.array(out.splitlines()[1:]) == species).mean() > 0.85


@pytest.mark.parametrize("name", [n for n in CLASSES if "disjunctive" not in n and n != "ferns"])
def test_regressors(name, flowers, tmp_path, obtree):
    data = tmp_path / "n.csv"
    pd.read_csv(flowers).drop(columns="species").to_csv(data, index=False)
    few = ("--n-estimators", "3") if name.endswith("forest") else ()
    args = ("fit", data, "--target", "petal width (cm)", "--out", tmp_path / "m", *SMALL)
    assert obtree(*args, "--estimator", name, *few)[0] == 0
    model = load_model(tmp_path / "m")
    assert type(model).__name__ == CLASSES[name].replace("Classifier", "Regressor")


def test_parameters_reach_the_estimator(fit, tmp_path, obtree):
    code, _, _ = obtree(
        *(*fit, "--n-estimators", 2, "--set", "splitter__nu=4.5", "--set", "splitter=co2"),
        *("--set", "max_features=sqrt", "--set", "class_weight={'setosa': 2.0, 'versicolor': 1}"),
        *("--set", "random_state=7", "--set", "bootstrap=True", "--set", "max_leaf_nodes=None"),
    )
    assert code == 0
    forest = load_model(tmp_path / "m")
    assert forest.splitter.get_params()["nu"] == 4.5
    assert type(forest.splitter).__name__ == "CO2Splitter"
    assert forest.class_weight == {"setosa": 2.0, "versicolor": 1}
    assert (forest.max_features, forest.random_state) == ("sqrt", 7)
    assert (forest.bootstrap, forest.max_leaf_nodes) == (True, None)


def test_splitter_grows_the_start(fit, tmp_path, obtree):
    args = (*fit, "--estimator", "tao-tree", *SMALL)
    assert obtree(*args, "--splitter", "axis")[0] == 0
    assert load_model(tmp_path / "m").init == "axis"
    assert obtree(*args, "--set", "init=oc1", "--set", "init__n_jumps=3")[0] == 0
    assert load_model(tmp_path / "m").init.get_params()["n_jumps"] == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1", 1),
        ("a=-1", -1),
        ("a=1e-3", 0.001),
        ("a=None", None),
        ("a = True ", True),
        ("a=sqrt", "sqrt"),
        ("a='1'", "1"),
        ("a=x=y", "x=y"),
        ("a=", ""),
        ("a=[1, 2]", [1, 2]),
        ("a={'b': -1}", {"b": -1}),
        ("a=__import__('os')", "__import__('os')"),
        ("a=" + "(" * 500, "(" * 500),
    ],
)
def test_values(text, value):
    name, found = parse_setting(text)
    assert name == "a"
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("--estimator", "tao_forest"), "unknown estimator 'tao_forest'; expected one of 'disj"),
        (("--estimator", "TAOForest"), "Did you mean 'tao-forest'?"),
        (("--estimator", "xgboost"), "unknown estimator 'xgboost'"),
        (("--set", "max_dept=3"), "forest has no parameter 'max_dept'; expected one of"),
        (("--set", "max_dept=3"), "Did you mean 'max_depth'?"),
        (("--set", "MaxDepth=3"), "Did you mean 'max_depth'?"),
        (("--set", "max_depth"), "--set max_depth is not valid; expected name=value"),
        (("--set", "=3"), "--set =3 is not valid; expected name=value"),
        (
            ("--set", "max_depth=deep"),
            "max_depth='deep' is not valid; expected None or an integer >= 1",
        ),
        (("--set", "splitter=C02"), "unknown splitter 'C02'"),
        (("--set", "splitter=C02"), "Did you mean 'co2'?"),
        (("--splitter", "co2", "--set", "splitter__mu=1"), "splitter='co2' has no parameter 'mu'"),
        (("--splitter", "co2", "--set", "splitter__NU=1"), "Did you mean 'nu'?"),
        (("--set", "splitter__nu=1"), "splitter='auto' has no parameters such as splitter__nu"),
        (
            ("--splitter", "axis", "--set", "splitter__nu=1"),
            "splitter='axis' has no parameter 'nu'; there is none",
        ),
        (("--set", "tree__nu=1"), "forest has no parameter 'tree__nu'; expected splitter__"),
        (("--set", "splitter=C02", "--set", "splitter__nu=1"), "unknown splitter 'C02'"),
        (("--estimator", "tao-tree", "--set", "init=C02", "--set", "max_depth=2"), "'co2'?"),
        (("--estimator", "tao-forest", "--set", "init__nu=1"), "init='auto' has no parameters"),
        (("--estimator", "tao-forest", "--set", "init=7"), "init=7 is not valid; expected a name"),
        (
            ("--splitter", "conic", "--set", "splitter__subset_size=many"),
            "expected an integer from 1",
        ),
        (("--seed", "1", "--set", "random_state=2"), "random_state is set twice: by --seed and"),
        (("--set", "max_depth=2", "--set", "max_depth=3"), "max_depth is set twice"),
        (("--estimator", "tree", "--n-estimators", "3"), "--n-estimators has no meaning for tree"),
        (("--estimator", "tree", "--n-jobs", "3"), "--n-jobs has no meaning for tree"),
        (("--n-jobs", "0"), "n_jobs=0 is not valid"),
        (("--set", "n_jobs=1.5"), "n_jobs=1.5 is not valid"),
        (("--set", "random_state=-1"), "random_state=-1 is not valid; expected an integer"),
    ],
)
def test_mistakes(args, text, fit, tmp_path, fail):
    assert text in fail(*fit, *args)
    assert not (tmp_path / "m").exists()


def test_disjunctive_trees_are_for_classes(flowers, tmp_path, fail):
    args = ("fit", flowers, "--target", "petal width (cm)", "--out", tmp_path / "m")
    frame = pd.read_csv(flowers).drop(columns="species")
    frame.to_csv(flowers, index=False)
    text = fail(*args, "--estimator", "disjunctive-tree")
    assert "disjunctive-tree is for classification only, and the task is regression" in text


def test_a_plug_in_that_cannot_be_imported_is_one_line(fit, fail, monkeypatch):
    def refuse(name, *args):
        raise ImportError("splitter 'x' of y 1.0 cannot be imported")

    monkeypatch.setattr("obtree.splitter.registry.find_splitter", refuse)
    assert "splitter 'x' of y 1.0 cannot be imported" in fail(*fit, "--splitter", "x")
