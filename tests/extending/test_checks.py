"""`check_splitter` and `check_criterion` say what is wrong with a class that is."""

import pytest
from sklearn.datasets import load_iris

from obtree import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.criterion.registry import CLASSIFICATION, REGRESSION
from obtree.splitter import (
    AxisSplitter,
    CO2Splitter,
    PythonSplitter,
    RandomObliqueSplitter,
    available,
)
from obtree.testing import ContractError, check_criterion, check_splitter
from obtree.testing.row_variance import RowVariance

BAD_SPLITTERS = {
    "Mover": "re-ordered or changed the rows of the node",
    "Weigher": "changed the weights of rows",
    "NotFinite": r"the weight of feature \d+ is nan; expected finite",
    "NoThreshold": "the threshold is nan; expected a finite number",
    "OutOfRange": "feature 6 of the plane is out of range; expected 0 to 5",
    "TooManyTerms": "the plane has 1006 terms; expected 1 to 70",
    "Overrun": "wrote beyond the end of weight",
    "OwnArrays": "replaced the arrays of the SplitResult by its own",
    "EmptySide": "sends 60 rows left and 0 right: an empty side is no split",
    "TooSmallLeaves": "task.limits asks for",
    "WrongRank": r"wrong counts: rank_cut=\d+ sends \d+ rows left and the threshold",
    "OwnChance": "two trees of seed 0 are split differently .* everything random has to come",
    "Scribbler": "two trees of seed 0 are split differently .* nor written to what prepare",
    "Rememberer": "two trees of seed 1 are split differently",
    "WrongStatus": "node_split returned 7; expected FOUND",
    "AlwaysLeaf": "it proposed no split for any node",
    "Empty": "is not complete: Empty must implement node_split",
    "Changed": "parameter 'width' is 2, and 3 after clone",
}
BAD_CRITERIA = {
    "Unlimited": "scan found a cut with a side of",
    "FirstCut": "the best of all single cuts has",
    "Unordered": "limits.monotone is -?1, and scan found",
    "WrongFlips": "scan_flips found a score of 1, and the best of all planes",
    "Eager": "expected a goal that only pure sides reach",
    "NoValue": "node_value writes nan, or leaves out some",
    "Unweighted": "load_node says that the node weighs",
    "NotANumber": "the impurity is nan",
    "NoScan": "is not complete: NoScan must implement scan",
    "SelfClone": r"clone\(\) returned the object itself",
}


@pytest.mark.parametrize("name", list(available()))
def test_our_own_splitters_pass(name):
    check_splitter(name)


def test_a_sound_splitter_of_another_package_passes(variant):
    check_splitter(variant("bad_splitters").Sound)


@pytest.mark.parametrize("name", list(BAD_SPLITTERS))
def test_bad_splitters(variant, name):
    with pytest.raises(ContractError, match=f"^{name}.*{BAD_SPLITTERS[name]}"):
        check_splitter(getattr(variant("bad_splitters"), name))


def test_a_parameter_that_is_not_listed(variant):
    with pytest.raises(ContractError, match=r"'width' is 3, and 1 after .*parameter_names"):
        check_splitter(variant("bad_splitters").Forgotten(width=3))


@pytest.mark.parametrize("inner", [CO2Splitter(), RandomObliqueSplitter()])
def test_a_splitter_that_was_not_prepared_refuses_to_be_bound(variant, inner):
    forest = ObliqueForestClassifier(2, splitter=variant("bad_splitters").Unprepared(inner=inner))
    with pytest.raises(TypeError, match="None"):
        forest.fit(*load_iris(return_X_y=True))


class SelfClone(AxisSplitter):
    def clone(self):
        return self


class Unpicklable(AxisSplitter):
    def __reduce__(self):
        raise TypeError("not today")


class Wrong(AxisSplitter):
    needs_rows = "often"


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (SelfClone, r"clone\(\) returned the object itself"),
        (Unpicklable, "pickle fails with TypeError: not today"),
        (Wrong, "needs_rows is 'often'; expected one of"),
    ],
)
def test_bad_objects(cls, message):
    with pytest.raises(ContractError, match=message):
        check_splitter(cls)


class FirstOfTwo(PythonSplitter):
    """Made for two classes, and says so."""

    def split(self, X, y, sample_weight, rng):
        if self.n_classes_ is None:
            raise ValueError("expected classes")
        return None if len(X) < 3 else ([1.0] + [0.0] * (X.shape[1] - 1), float(X[0, 0]))


def test_tasks():
    with pytest.raises(ValueError, match="expected classes"):
        check_splitter(FirstOfTwo, tasks=["regression"])
    with pytest.raises(ValueError, match=r"tasks=\['ranking'\] is not valid"):
        check_splitter("axis", tasks=["ranking"])


@pytest.mark.parametrize("name", sorted({*CLASSIFICATION, *REGRESSION}))
def test_our_own_criteria_pass(name):
    check_criterion(name, task="classification" if name in CLASSIFICATION else "regression")


def test_a_criterion_of_another_package(variant):
    criterion = variant("criteria").Length
    check_criterion(criterion, task="classification")
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    forest = ObliqueForestClassifier(3, criterion=criterion, bootstrap=False).fit(X, y)
    assert forest.predict(X).tolist() == y
    with pytest.raises(ValueError, match="kind 'real', since its target_kind is 'classes'; exp"):
        ObliqueForestRegressor(criterion=criterion).fit(X, [1, 2, 3, 4])
    message = "the kind 'classes', since its target_kind is "
    for name, kind in (("RealTargets", "'real'"), ("Undecided", "None")):
        with pytest.raises(ValueError, match=message + kind):
            ObliqueForestClassifier(criterion=getattr(variant("criteria"), name)).fit(X, y)


@pytest.mark.parametrize("name", list(BAD_CRITERIA))
def test_bad_criteria(variant, name):
    with pytest.raises(ContractError, match=BAD_CRITERIA[name]):
        check_criterion(getattr(variant("criteria"), name), task="classification")


def test_a_criterion_that_is_not_complete(variant):
    with pytest.raises(NotImplementedError, match="RealTargets must implement load_node"):
        ObliqueForestRegressor(criterion=variant("criteria").RealTargets).fit([[0], [1]], [0, 1])


def test_a_criterion_without_targets_passes():
    check_criterion(RowVariance, task="unsupervised")
    with pytest.raises(ValueError, match=r"criterion 'gini' here.*expected one of 'gaussian'"):
        check_criterion("gini", task="unsupervised")
    with pytest.raises(ValueError, match="kind 'real', since its target_kind is 'none'"):
        check_criterion(RowVariance, task="regression")
