"""Small models of every kind, as files to start from."""

import warnings

import numpy as np

from obtree import (
    DensityForest,
    DisjunctiveForestClassifier,
    DisjunctiveTreeClassifier,
    FernClassifier,
    ForestEmbedding,
    NonGreedyForestClassifier,
    NonGreedyForestRegressor,
    NonGreedyTreeClassifier,
    NonGreedyTreeRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    SemiSupervisedForestClassifier,
    TAOForestClassifier,
    TAOForestRegressor,
    TAOTreeClassifier,
    TAOTreeRegressor,
    save_model,
)
from obtree.splitter import ConicSplitter, OC1Splitter, available

N_FEATURES = 4
SMALL = {"max_depth": 3, "random_state": 0}


def make_data():
    """Return 60 rows with some missing values, three classes and a real target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, N_FEATURES))
    score = X[:, 0] + X[:, 1] * X[:, 2]
    y = np.digitize(score, np.quantile(score, [0.3, 0.7]))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y, score


def make_rows(n_features):
    """Return the rows that models have to predict: ordinary, missing and very large ones."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(9, n_features))
    X[1] = np.nan
    X[2, ::2] = np.nan
    X[3] = 1e30
    X[4] = -1e30
    return X


def list_models():
    """Yield a name, a fitted model for each kind of tree, leaf, splitter, label and output."""
    X, y, score = make_data()
    text = np.array(["no", "maybe", "yes"])[y]
    both = np.column_stack([y, y > 0])
    for name in available():
        yield name, ObliqueForestClassifier(2, splitter=name, **SMALL).fit(X, y)
    named = ObliqueTreeClassifier(**SMALL).fit(X, text)
    named.feature_names_in_ = np.array(list("abcd"), dtype=object)  # as after a data frame
    yield "names", named
    yield "objects", ObliqueTreeClassifier(**SMALL).fit(X, text.astype(object))
    yield "conic", ObliqueTreeRegressor(splitter=ConicSplitter(), **SMALL).fit(X, score)
    oc1 = ObliqueForestRegressor(2, splitter=OC1Splitter(n_jumps=2), **SMALL)
    yield "outputs", oc1.fit(X, np.column_stack([score, -score]))
    yield "vote", ObliqueForestClassifier(2, splitter="axis", combine="vote", **SMALL).fit(X, both)
    weights = {0: 1.0, 1: 2.0}
    product = ObliqueForestClassifier(2, combine="product", class_weight=weights, **SMALL)
    yield "product", product.fit(X, y > 0)
    linear = {"leaf": "linear", **SMALL}
    yield "linear", ObliqueForestClassifier(2, splitter="random_oblique", **linear).fit(X, both)
    yield "linear", ObliqueTreeRegressor(**linear).fit(X, score)
    lines = {"criterion": "linear_gaussian", "random_state": 0}
    yield "lines", ObliqueForestRegressor(2, splitter="axis", **lines).fit(X, score)
    yield (
        "rotation",
        ObliqueForestRegressor(2, splitter="axis", rotation="pca", **SMALL).fit(X, score),
    )
    yield "tao", TAOTreeClassifier(**SMALL).fit(X, text)
    yield "tao", TAOTreeRegressor(**SMALL).fit(X, score)
    yield "tao", TAOForestClassifier(2, **SMALL).fit(X, y)
    yield "tao", TAOForestRegressor(2, **SMALL).fit(X, score)
    yield "nongreedy", NonGreedyTreeClassifier(**SMALL).fit(X, y)
    yield "nongreedy", NonGreedyTreeRegressor(**SMALL).fit(X, score)
    yield "nongreedy", NonGreedyForestClassifier(2, **SMALL).fit(X, y)
    yield "nongreedy", NonGreedyForestRegressor(2, **SMALL).fit(X, score)
    yield "disjunctive", DisjunctiveTreeClassifier(random_state=0).fit(X, y)
    yield "disjunctive", DisjunctiveTreeClassifier(random_state=0).fit(X, y > 0)
    yield "disjunctive", DisjunctiveForestClassifier(2, random_state=0).fit(X, text)
    yield "ferns", FernClassifier(2, depth=3, random_state=0).fit(X, both)
    yield "embedding", ForestEmbedding(1, n_estimators=2, random_state=0).fit(X)
    few = SemiSupervisedForestClassifier(2, splitter="axis", fallback=False, random_state=0)
    yield "few-labels", few.fit(X, np.where(np.arange(len(y)) < 30, y, -1))
    yield "density", DensityForest(2, shrinkage=1.0, random_state=0).fit(X)
    learnt = ObliqueForestRegressor(2, splitter="axis", **SMALL).fit(X[:30], score[:30])
    sets = {"categorical_features": [1, 3], **SMALL}
    counts = np.round(2.0 * X)
    yield "categories", ObliqueForestClassifier(2, splitter="axis", **sets).fit(counts, text)
    yield (
        "categories",
        ObliqueForestRegressor(2, splitter="random_oblique", **sets).fit(counts, score),
    )
    yield "updated", learnt.update_leaves(X[30:], score[30:], keep=0.0)


def save_models(folder):
    """Fit and save them all.

    Parameters
    ----------
    folder : pathlib.Path
        Where the files go, named after the models and in order.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, (name, model) in enumerate(list_models()):
            save_model(model, folder / f"{k:02}-{name}-{type(model).__name__}")
