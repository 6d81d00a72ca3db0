#!/usr/bin/env python
"""One hash for each of many models: ``python tools/hash_models.py [--check] [--only TEXT ...]``.

Fits every estimator with every splitter, criterion and kind of input on data that
scikit-learn ships, and prints a hash of what was learnt: all arrays of the trees, and what
the model predicts. A change that is not meant to change models leaves every line as it was.

    python tools/hash_models.py > tools/model_hashes.txt     write the table
    python tools/hash_models.py --check                      compare with it

``--check`` prints the lines that differ and exits with status 1 if there are any. Models do
not depend on the number of threads or on the instruction set, so neither does the table
(``--jobs``, and ``OBTREE_TARGET=plain`` in the environment). They do depend on the data, of
which scikit-learn's releases may hold other versions.
"""

import argparse
import hashlib
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_linnerud,
    load_wine,
)

import obtree
from obtree.criterion.registry import CLASSIFICATION, REGRESSION
from obtree.splitter import (
    CO2Splitter,
    DiscriminantSplitter,
    OC1Splitter,
    OneCategorySplitter,
    RandomObliqueSplitter,
)
from obtree.splitter.registry import available
from obtree.tree.normal_form import form_to_state
from obtree.tree.state import tree_to_state

TABLE = Path(__file__).with_name("model_hashes.txt")


def make_data():
    """Return X, y and the weights of each data set, by name and task."""
    rng = np.random.default_rng(0)
    iris, wine, cancer = (
        load(return_X_y=True) for load in (load_iris, load_wine, load_breast_cancer)
    )
    diabetes, linnerud = load_diabetes(return_X_y=True), load_linnerud(return_X_y=True)
    pixels, digits = load_digits(return_X_y=True)
    pixels, digits = pixels[:600], digits[:600]

    def lacking(X):
        return np.where(rng.random(X.shape) < 0.15, np.nan, X)

    def whole(X):
        return rng.integers(0, 4, X.shape[0]).astype(float)

    bright = pixels.sum(axis=1)
    return {
        "class": {
            "iris": (*iris, None),
            "wine": (*wine, None),
            "cancer": (*cancer, None),
            "cancer-missing": (lacking(cancer[0]), cancer[1], None),
            "iris-weights": (*iris, whole(iris[0])),
            "iris-real-weights": (*iris, rng.random(150)),
            "iris-two-outputs": (iris[0], np.c_[iris[1], iris[0][:, 0] > 5.8].astype(int), None),
            "digits-bytes": (pixels.astype(np.uint8), digits, None),
            "digits-sparse": (sp.csr_matrix(pixels), digits, None),
        },
        "real": {
            "diabetes": (*diabetes, None),
            "diabetes-missing": (lacking(diabetes[0]), diabetes[1], None),
            "diabetes-weights": (*diabetes, whole(diabetes[0])),
            "linnerud": (*linnerud, None),
            "bright-bytes": (pixels.astype(np.uint8), bright, None),
            "bright-sparse": (sp.csr_matrix(pixels), bright, None),
        },
    }


def list_greedy():
    """Yield name, whether for classes and for numbers, and parameters of greedy models."""
    for splitter in sorted(available()):
        yield splitter, True, True, {"splitter": splitter}
    presets = {
        "oc1-cart-lc": OC1Splitter(mode="cart-lc"),
        "co2-fast": CO2Splitter(preset="fast"),
        "discriminant-lda": DiscriminantSplitter("lda"),
        "discriminant-logistic": DiscriminantSplitter("logistic"),
        "random_oblique-gaussian": RandomObliqueSplitter(weights="gaussian"),
    }
    for name, splitter in presets.items():
        yield name, True, not name.startswith("discriminant"), {"splitter": splitter}
    for criterion in CLASSIFICATION:
        yield f"axis-{criterion}", True, False, {"criterion": criterion}
    for criterion in REGRESSION:
        yield f"axis-{criterion}", False, True, {"criterion": criterion}
    yield "axis-linear", True, True, {"leaf": "linear", "min_samples_leaf": 20}
    yield "axis-16-leaves", True, True, {"max_leaf_nodes": 16}
    yield "oc1-16-leaves", True, True, {"splitter": "oc1", "max_leaf_nodes": 16}
    for name in ("axis", "axis_random", "random_oblique", "co2", "one_category"):
        splitter = OneCategorySplitter() if name == "one_category" else name
        params = {"splitter": splitter, "categorical_features": [0, 1]}
        yield f"{name}-categories", True, True, params
    yield "axis-pruned", True, True, {"ccp_alpha": 0.01, "min_samples_leaf": 3}


def list_models(jobs):
    """Yield name, task and the unfitted estimator of every model."""
    for task, suffix in (("class", "Classifier"), ("real", "Regressor")):
        for name, classes, numbers, params in list_greedy():
            if not (classes if task == "class" else numbers):
                continue
            tree = getattr(obtree, f"ObliqueTree{suffix}")
            forest = getattr(obtree, f"ObliqueForest{suffix}")
            yield f"tree {name}", task, tree(random_state=0, **params)
            params = {"splitter": "axis", **params}
            yield f"forest {name}", task, forest(4, random_state=0, n_jobs=jobs, **params)
        forest = getattr(obtree, f"ObliqueForest{suffix}")
        yield "forest auto", task, forest(8, random_state=0, n_jobs=jobs)
        yield (
            "forest axis-rotated",
            task,
            forest(4, splitter="axis", rotation="pca", random_state=0, n_jobs=jobs),
        )
        if task == "class":
            for weight in ("balanced", "balanced_subsample"):
                model = forest(4, splitter="axis", class_weight=weight, random_state=0, n_jobs=jobs)
                yield f"forest axis-{weight}", task, model
        for kind in ("TAO", "NonGreedy", "Disjunctive"):
            for shape in ("Tree", "Forest"):
                cls = getattr(obtree, f"{kind}{shape}{suffix}", None)
                if cls is None:
                    continue
                params = {"random_state": 0, "n_jobs": jobs}
                if shape == "Forest":
                    params["n_estimators"] = 2
                yield f"{kind} {shape}", task, cls(**params)
                if kind == "TAO":
                    yield f"{kind} {shape} linear", task, cls(leaf="linear", **params)
    yield from list_others(jobs)


def list_others(jobs):
    """Yield the same of the models that predict neither classes nor means by greedy trees."""
    params = {"random_state": 0, "n_jobs": jobs}
    yield "ferns", "class", obtree.FernClassifier(4, **params)
    yield "semi-supervised", "class", obtree.SemiSupervisedForestClassifier(4, **params)
    forest = obtree.ObliqueForestRegressor(
        4, criterion="linear_gaussian", splitter="random_oblique", **params
    )
    yield "forest random_oblique-linear_gaussian", "real", forest
    # Leaves that overlap are fitted by products of matrices, which processors round differently.
    for splitter in ("axis", "random_oblique"):
        forest = obtree.DensityForest(4, splitter=splitter, truncate=True, **params)
        yield f"density {splitter}", "real", forest
    yield "embedding", "real", obtree.ForestEmbedding(n_estimators=4, **params)


def list_states(model):
    """Yield the state of each tree of a model, or of what takes its place."""
    for member in getattr(model, "estimators_", getattr(model, "trees_", [model])):
        if hasattr(member, "form_"):
            yield form_to_state(member.form_)
        else:
            yield tree_to_state(getattr(member, "tree_", member))


def hash_model(model, X):
    """Hash of the arrays of all trees of a model and of its predictions."""
    digest = hashlib.sha256()
    for state in list_states(model):
        for name in sorted(state):
            array = np.ascontiguousarray(state[name])
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(array.tobytes())
    for predicted in _predict(model, X):
        digest.update(np.ascontiguousarray(predicted).tobytes())
    return digest.hexdigest()[:16]


def _predict(model, X):
    """Return a list of what the model says of the rows: probabilities, or numbers."""
    for name in ("predict_proba", "predict", "score_samples", "transform"):
        if hasattr(model, name):
            found = getattr(model, name)(X)
            return found if isinstance(found, list) else [found]
    raise TypeError(f"{type(model).__name__} says nothing of rows")


def make_lines(only, jobs):
    """Yield a line for each model: its hash, and what was fitted to which data."""
    data = make_data()
    for name, task, model in list_models(jobs):
        for which, (X, y, weight) in data[task].items():
            title = f"{task} | {name} | {which}"
            if only and not any(text in title for text in only):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    model.fit(X, y, sample_weight=weight)
                except (TypeError, ValueError):
                    # What cannot be fitted (several outputs, say) is a line as well.
                    yield f"{'refused':16} {title}"
                    continue
                yield f"{hash_model(model, X)} {title}"


def main(argv=None):
    """Print the table, or what differs from the stored one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the stored table")
    parser.add_argument("--only", nargs="+", default=[], help="parts of the lines to make")
    parser.add_argument("--jobs", type=int, default=1, help="threads of forests")
    options = parser.parse_args(argv)
    if not options.check:
        for line in make_lines(options.only, options.jobs):
            print(line, flush=True)
        return 0
    stored = TABLE.read_text().splitlines()
    titles = {line[17:]: line for line in stored if not line.startswith("#")}
    n_lines = n_changed = 0
    for line in make_lines(options.only, options.jobs):
        n_lines += 1
        before = titles.get(line[17:])
        if before != line:
            n_changed += 1
            print(f"{before or 'new'}\n    now {line}", flush=True)
    print(f"{n_lines} models, {n_changed} differ from {TABLE.name}")
    return 1 if n_changed else 0


if __name__ == "__main__":
    sys.exit(main())
