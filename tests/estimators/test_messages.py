"""Messages name the user's parameter and value, plainly, and what was probably meant."""

import re

import numpy as np
import pytest

import obtree
from obtree import ObliqueForestClassifier, ObliqueTreeClassifier, TAOForestClassifier
from obtree.splitter import available, resolve_splitter

X = np.random.default_rng(0).random((40, 3))
Y = np.arange(40) % 2
ESTIMATORS = [kind for kind in map(obtree.__dict__.get, obtree.__all__) if isinstance(kind, type)]
STRANGE = [
    np.float64(-1.5),
    np.float64(np.nan),
    np.int64(-5),
    np.str_("Bogus"),
    [np.int64(3)],
    {"a": np.float64(-2)},
    np.array([1.0, 2.0]),
    object(),
    1 + 2j,
    b"x",
]
SMALL = {"n_estimators": 1, "max_depth": 2, "n_epochs": 1, "n_iter": 1, "verbose": 0}


def check_text(error, name):
    """A message is one line, names the parameter, and shows no insides of objects."""
    text = str(error)
    assert name in text
    assert not re.search(r"\bnp\.|numpy|0x|\n|ambiguous", text)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_no_estimator_shows_how_values_are_stored(kind):
    params = kind().get_params(deep=False)
    small = {name: value for name, value in SMALL.items() if name in params}
    for name in params:
        n_refused = 0
        for value in STRANGE:
            try:
                kind(**{**small, name: value}).fit(X, Y)
            except (TypeError, ValueError) as error:
                check_text(error, name)
                n_refused += 1
        assert n_refused > 5


@pytest.mark.parametrize("name", available())
def test_no_splitter_shows_how_values_are_stored(name):
    splitter = resolve_splitter(name)
    for param in splitter.get_params():
        n_refused = 0
        for value in STRANGE:
            try:
                type(splitter)(**{param: value})
            except (TypeError, ValueError) as error:
                check_text(error, param)
                n_refused += 1
        assert n_refused > 5


def test_splitters_show_numbers_plainly():
    splitter = resolve_splitter("discriminant").set_params(alpha=np.float64(2.5))
    assert "alpha=2.5" in repr(splitter)
    with pytest.raises(
        ValueError, match=r"splitter=DiscriminantSplitter\(alpha=2\.5.*expected a splitter of"
    ):
        ObliqueTreeClassifier(splitter=splitter, monotonic_cst=[1, 0, 0]).fit(X, Y)


def test_rotation_with_monotonic_constraints():
    forest = ObliqueForestClassifier(2, rotation="pca", monotonic_cst=[1, 0, 0], random_state=0)
    match = r"monotonic_cst cannot be honoured with rotation='pca', whose cuts mix features"
    with pytest.raises(ValueError, match=match):
        forest.fit(X, Y)
    # Where nothing is constrained there is nothing to refuse.
    free = forest.set_params(monotonic_cst=[0, 0, 0]).fit(X, Y).apply(X)
    assert np.array_equal(free, forest.set_params(monotonic_cst=None).fit(X, Y).apply(X))


def test_a_splitter_without_parameters():
    with pytest.raises(ValueError, match=r"AxisSplitter has no parameter 'nu'; there is none to"):
        ObliqueTreeClassifier().set_params(splitter__nu=1)
    with pytest.raises(ValueError, match=r"no parameter 'Nu'; expected one of .*mean 'nu'\?"):
        ObliqueTreeClassifier(splitter="co2").set_params(splitter__Nu=1)


@pytest.mark.parametrize(
    ("kind", "params", "meant"),
    [
        ("ObliqueForestClassifier", {"splitter": "C02"}, "co2"),
        ("ObliqueForestClassifier", {"criterion": "Gini"}, "gini"),
        ("ObliqueForestClassifier", {"combine": "AVERAGES"}, "average"),
        ("ObliqueForestClassifier", {"rotation": "PCA"}, "pca"),
        ("ObliqueForestClassifier", {"class_weight": "balance_subsample"}, "balanced_subsample"),
        ("ObliqueForestClassifier", {"max_features": "SQRT"}, "sqrt"),
        ("ObliqueTreeRegressor", {"leaf": "lineer"}, "linear"),
        ("ObliqueTreeRegressor", {"criterion": "squared-error"}, "squared_error"),
        ("TAOTreeClassifier", {"init": "0C1"}, "oc1"),
        ("TAOForestClassifier", {"init": "Randon"}, "random"),
        ("TAOForestClassifier", {"init": "AUTO"}, "auto"),
        ("TAOForestClassifier", {"leaf": "Constant"}, "constant"),
        ("NonGreedyTreeClassifier", {"init": "C02"}, "co2"),
        ("NonGreedyTreeClassifier", {"inference": "FAST"}, "fast"),
        ("DisjunctiveTreeClassifier", {"init": "random-oblique"}, "random_oblique"),
        ("DisjunctiveTreeClassifier", {"class_weight": "balance"}, "balanced"),
    ],
)
def test_near_names_are_suggested(kind, params, meant):
    (name,) = params
    match = rf"unknown {name} '{params[name]}'; expected .*Did you mean '{meant}'\?"
    with pytest.raises(ValueError, match=match):
        getattr(obtree, kind)(**params).fit(X, Y)


@pytest.mark.parametrize(
    ("splitter", "params", "meant"),
    [
        ("co2", {"preset": "Fast"}, "fast"),
        ("oc1", {"mode": "0C1"}, "oc1"),
        ("oc1", {"order": "sequental"}, "sequential"),
        ("random_oblique", {"weights": "Signs"}, None),
        ("random_oblique", {"threshold": "BEST"}, "best"),
        ("discriminant", {"method": "LDA"}, None),
        ("two_probe", {"signs": "Any"}, "any"),
    ],
)
def test_near_names_of_splitters(splitter, params, meant):
    (name,) = params
    match = rf"unknown {name} '{params[name]}'; expected one of '"
    with pytest.raises(ValueError, match=match) as caught:
        resolve_splitter(splitter).set_params(**params)
    if meant:
        assert str(caught.value).endswith(f"Did you mean '{meant}'?")


def test_the_start_is_called_by_its_parameter():
    with pytest.raises(TypeError, match=r"init=7 is not valid; expected a name, a Splitter object"):
        TAOForestClassifier(init=7).fit(X, Y)
    with pytest.raises(ValueError, match=r"init='auto' has no parameters such as init__nu"):
        TAOForestClassifier().set_params(init__nu=1)


@pytest.mark.parametrize(
    ("kind", "params", "given"),
    [
        ("ObliqueForestClassifier", {"splitter": "co2"}, "'auto' means False.*splitter='co2'"),
        ("DisjunctiveForestClassifier", {"init": "co2"}, "'auto' means False.*init='co2'"),
        ("DisjunctiveForestClassifier", {"bootstrap": False}, "False"),
        ("TAOForestClassifier", {"bootstrap": False}, "False"),
        ("TAOForestClassifier", {"bootstrap": False, "init": "random", "max_depth": 2}, "False"),
    ],
)
def test_draws_without_a_bootstrap(kind, params, given):
    forest = getattr(obtree, kind)(2, max_samples=0.5, **params)
    match = rf"max_samples=0\.5 cannot be set if bootstrap={given}; expected max_samples=None or"
    with pytest.raises(ValueError, match=match):
        forest.fit(X, Y)


def test_values_that_were_given_are_shown():
    tree = ObliqueTreeClassifier(class_weight={0: 1.0, 1: 2.0})
    with pytest.raises(
        ValueError, match=r"class_weight=\{0: 1\.0, 1: 2\.0\} is not valid; expected a list"
    ):
        tree.fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match=r"random_state=-1 is not valid; expected an integer"):
        ObliqueTreeClassifier(random_state=-1).fit(X, Y)
    start = ObliqueTreeClassifier().fit(X[:, :2], Y)
    with pytest.raises(ValueError, match=r"2 features and \[2\] classes an output; X has 3 and y"):
        TAOForestClassifier(init=start).fit(X, Y)
    with pytest.raises(ValueError, match=r"min_samples_leaf='many' is not valid; expected an int"):
        ObliqueTreeClassifier(min_samples_leaf="many").fit(X, Y)


@pytest.mark.parametrize("kind", [ObliqueForestClassifier, ObliqueTreeClassifier])
def test_auto_is_among_the_splitters_there_are(kind):
    with pytest.raises(ValueError, match=r"unknown splitter 'axs'; expected one of 'auto', 'axis'"):
        kind(splitter="axs").fit(X, Y)
    with pytest.raises(ValueError, match=r"expected one of 'auto', .*Did you mean 'auto'\?"):
        kind(splitter="Auto").fit(X, Y)


@pytest.mark.parametrize(("given", "name"), [("best", "axis"), ("random", "axis_random")])
def test_names_of_scikit_learns_splitters(given, name):
    match = rf"unknown splitter '{given}'; scikit-learn's '{given}' is '{name}' here$"
    with pytest.raises(ValueError, match=match):
        ObliqueTreeClassifier(splitter=given).fit(X, Y)


def test_oob_score_may_be_a_function():
    with pytest.raises(ValueError, match=r"oob_score='yes' is not valid; .* or a function of"):
        ObliqueForestClassifier(2, oob_score="yes").fit(X, Y)


def test_parameters_that_do_not_exist():
    with pytest.raises(ValueError, match=r"[^.]\. Did you mean 'n_estimators'\?$"):
        ObliqueForestClassifier().set_params(n_estimator=3)
