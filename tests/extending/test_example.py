"""The package of the tutorial: built outside obtree, found by name, and sound."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV, cross_val_score

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    load_model,
    save_model,
)
from obtree.core.abi import ABI_VERSION, check_abi
from obtree.splitter import available
from obtree.testing import ContractError, check_criterion, check_splitter


def test_its_criterion_keeps_the_contract(guided):
    check_criterion(guided.LargestError, task="regression")
    X, y = load_diabetes(return_X_y=True)
    model = ObliqueTreeRegressor(criterion=guided.LargestError, max_depth=3).fit(X, y)
    tree, leaf = model.tree_, model.apply(X)
    for node in np.unique(leaf):
        here = y[leaf == node]
        assert tree.value[node].ravel() == [(here.min() + here.max()) / 2]
        assert tree.impurity[node] == (here.max() - here.min()) / 2


@pytest.mark.parametrize("n_terms", [1, 4, 100])
def test_it_keeps_the_contract(guided, n_terms):
    check_splitter(guided.GuidedSplitter(n_terms=n_terms))


def test_it_is_found_by_name(guided):
    assert available()["guided"] == guided.GuidedSplitter.__doc__.strip().splitlines()[0]
    X, y = load_breast_cancer(return_X_y=True)
    tree = ObliqueTreeClassifier(splitter="guided", random_state=0).fit(X, y)
    same = ObliqueTreeClassifier(splitter=guided.GuidedSplitter(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.tree_.term_weight, same.tree_.term_weight)
    assert np.diff(tree.tree_.term_ptr).max() == 4


def test_it_is_as_good_as_axis_splits(guided):
    X, y = load_breast_cancer(return_X_y=True)
    scores = {
        name: cross_val_score(ObliqueForestClassifier(20, splitter=name, random_state=0), X, y)
        for name in ("axis", "guided")
    }
    assert scores["guided"].mean() > scores["axis"].mean() - 0.01
    X, y = load_diabetes(return_X_y=True)
    forest = ObliqueForestRegressor(20, splitter="guided", random_state=0)
    assert cross_val_score(forest, X, y).mean() > 0.35


def test_parameters_reach_it(guided):
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(
        ObliqueTreeClassifier(splitter="guided", random_state=0), {"splitter__n_terms": [1, 3]}
    ).fit(X, y)
    terms = np.diff(search.best_estimator_.tree_.term_ptr).max()
    assert terms == search.best_params_["splitter__n_terms"]
    with pytest.raises(ValueError, match="n_terms=0 is not valid; expected an integer >= 1"):
        guided.GuidedSplitter(n_terms=0)


def test_models_keep_it(guided, tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    forest = ObliqueForestClassifier(3, splitter=guided.GuidedSplitter(n_terms=2), random_state=0)
    forest.fit(X, y)
    save_model(forest, tmp_path / "model")
    loaded = load_model(tmp_path / "model", allow_plugins=True)
    for other in (loaded, pickle.loads(pickle.dumps(forest))):
        assert other.splitter == guided.GuidedSplitter(n_terms=2)
        np.testing.assert_array_equal(other.predict_proba(X), forest.predict_proba(X))


def test_a_method_that_is_missing_is_named(variant):
    with pytest.raises(
        ContractError, match=r"GuidedSplitter is not complete: .* must implement node_split"
    ):
        check_splitter(variant("forgetful").GuidedSplitter())


def test_a_package_built_for_another_version_is_refused(variant):
    with pytest.raises(ImportError) as error:
        variant("newer")
    text = str(error.value)
    assert f"newer was built for version {ABI_VERSION + 1} of obtree's compiled inter" in text
    assert f"which has version {ABI_VERSION}. Build newer again" in text


def test_an_older_package_is_refused_by_a_newer_obtree(guided_folder):
    # As if obtree had been replaced after the package was built.
    code = (
        f"import sys; sys.path.insert(0, {str(guided_folder)!r})\n"
        "import obtree.core.abi as abi; abi.ABI_VERSION += 1\n"
        "try:\n    import obtree_guided\nexcept ImportError as error:\n    print(error)\n"
        "import warnings; warnings.simplefilter('error')\n"
        "from obtree.splitter import available\n"
        "try:\n    available()\nexcept UserWarning as warning:\n    print(warning)\n"
    )
    result = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    direct, listed = result.stdout.splitlines()
    assert f"obtree_guided was built for version {ABI_VERSION} of" in direct
    assert listed.startswith("splitter 'guided' of obtree-guided 1.0 (obtree_guided:Gui")
    assert direct in listed


def test_the_version_check():
    check_abi(ABI_VERSION, "any")
    with pytest.raises(ImportError, match=r"version 1 of obtree's .*--no-build-isolation"):
        check_abi(1, "package.module")


def test_everything_installed_can_be_compiled_against(variant):
    # Cimports every installed .pxd, so that none needs one, or a header, that is not there.
    assert variant("everything").__name__ == "everything"
