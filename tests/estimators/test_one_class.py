"""Every classifier on targets with a single class, alone or beside others."""

import numpy as np
import pytest

import obtree
from obtree.splitter.registry import available

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 5))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)

MODELS = {
    "tree": obtree.ObliqueTreeClassifier(random_state=0),
    "forest": obtree.ObliqueForestClassifier(3, random_state=0),
    "linear tree": obtree.ObliqueTreeClassifier(leaf="linear", max_depth=2, random_state=0),
    "linear forest": obtree.ObliqueForestClassifier(3, leaf="linear", max_depth=2, random_state=0),
    "TAO tree": obtree.TAOTreeClassifier(random_state=0),
    "TAO forest": obtree.TAOForestClassifier(2, random_state=0),
    "linear TAO tree": obtree.TAOTreeClassifier(leaf="linear", random_state=0),
    "linear TAO forest": obtree.TAOForestClassifier(2, leaf="linear", random_state=0),
    "non-greedy tree": obtree.NonGreedyTreeClassifier(random_state=0),
    "non-greedy forest": obtree.NonGreedyForestClassifier(2, random_state=0),
    "disjunctive tree": obtree.DisjunctiveTreeClassifier(random_state=0),
    "disjunctive forest": obtree.DisjunctiveForestClassifier(2, random_state=0),
} | {
    f"tree of {name}": obtree.ObliqueTreeClassifier(splitter=name, random_state=0)
    for name in sorted(available())
}
SEVERAL_OUTPUTS = [name for name in MODELS if "tree of" in name or "linear" in name]
SEVERAL_OUTPUTS = [name for name in SEVERAL_OUTPUTS if "TAO" not in name]


@pytest.mark.parametrize("label", [0, "sure"])
@pytest.mark.parametrize("name", MODELS)
def test_the_only_class_is_certain(name, label):
    model = MODELS[name].fit(X, np.full(len(X), label))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))
    assert set(model.predict(X)) == {label}


@pytest.mark.parametrize("name", MODELS)
def test_a_class_without_weight_has_no_chance(name):
    model = MODELS[name].fit(X, Y, sample_weight=(Y == 1).astype(float))
    assert set(model.predict(X)) == {1}
    # Optimisers keep probabilities off 0 and 1 by some millionths.
    np.testing.assert_allclose(model.predict_proba(X) @ (model.classes_ == 1), 1.0, atol=1e-5)


@pytest.mark.parametrize("outputs", [["one", "one"], ["one", "two"], ["two", "one"]])
@pytest.mark.parametrize("name", SEVERAL_OUTPUTS)
def test_one_class_beside_other_outputs(name, outputs):
    columns = {"one": np.zeros(len(X), dtype=int), "two": Y}
    model = MODELS[name].fit(X, np.column_stack([columns[kind] for kind in outputs]))
    for kind, found in zip(outputs, model.predict_proba(X), strict=True):
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
        if kind == "one":
            np.testing.assert_array_equal(found, np.ones((len(X), 1)))
        else:
            assert np.mean(found.argmax(axis=1) == Y) > 0.8
