"""Shapley values of forests: are they right, and what do they take beside the package shap?

    python benchmarks/shap_values.py
    python benchmarks/shap_values.py --data diabetes digits --trees 50

Prints, for several forests on each table,

* how far the values and the expected value are from adding up to the prediction,
* how far they are from those of shap.ExactExplainer, for tables of up to 10 columns, and
* their time for a row, as a multiple of that of shap.TreeExplainer on scikit-learn's forest of as
  many trees with the same parameters. Both take turns; the fastest of several runs counts.

Needs shap: pip install 'obtree[explain]'.
"""

import argparse
import time
import warnings

import numpy as np
import shap
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    TAOForestClassifier,
    TAOForestRegressor,
)
from obtree.bench.report import format_table
from obtree.explain import expected_value, shap_values, to_shap_dict

DATA = {
    "diabetes": load_diabetes,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
}
MOST_COLUMNS = 10  # of tables that shap.ExactExplainer is asked about
SPLITTERS = ("axis", "random_oblique", "oc1", "co2", "auto")


def make_models(is_regression, n_trees):
    """Return our forests by name, and scikit-learn's."""
    forest, peer = ObliqueForestClassifier, RandomForestClassifier
    tao = TAOForestClassifier
    if is_regression:
        forest, peer, tao = ObliqueForestRegressor, RandomForestRegressor, TAOForestRegressor
    models = {
        splitter: forest(n_trees, splitter=splitter, random_state=0) for splitter in SPLITTERS
    }
    models["TAO"] = tao(n_trees, random_state=0)
    return models, peer(n_trees, random_state=0)


def time_in_turn(works, n_repeats):
    """Return the least seconds of each of some functions, called in turn."""
    seconds = [[] for _ in works]
    for _ in range(n_repeats):
        for work, own in zip(works, seconds, strict=True):
            started = time.perf_counter()
            work()
            own.append(time.perf_counter() - started)
    return [min(own) for own in seconds]


def measure_difference(model, X, background):
    """Return how far values are from those of shap.ExactExplainer, over the largest of them."""
    predict = getattr(model, "predict_proba", model.predict)
    masker = shap.maskers.Independent(background, max_samples=len(background))
    exact = shap.ExactExplainer(predict, masker)(X).values
    return np.abs(shap_values(model, X, background) - exact).max() / np.abs(exact).max()


def measure_table(name, args):
    """Return a row of figures for each forest on one table."""
    X, y = DATA[name](return_X_y=True)
    X = X.astype(np.float32)
    chosen = np.random.default_rng(0).permutation(len(X))
    background, rows = X[chosen[: args.background]], X[chosen[-args.rows :]]
    models, peer = make_models(name == "diabetes", args.trees)
    peer.fit(X, y)
    # The same rows of the background count for both.
    masker = shap.maskers.Independent(background, max_samples=len(background))
    theirs = shap.TreeExplainer(peer, masker, feature_perturbation="interventional")
    lines = []
    for label, model in models.items():
        model.fit(X, y)
        predict = getattr(model, "predict_proba", model.predict)
        total = expected_value(model, background) + shap_values(model, rows, background).sum(axis=1)
        miss = np.abs(total - predict(rows)).max()
        difference = "-"
        if X.shape[1] <= MOST_COLUMNS:
            difference = f"{measure_difference(model, rows[:3], background):.1e}"
        works = [
            lambda model=model: shap_values(model, rows, background),
            lambda: theirs.shap_values(rows, check_additivity=False),
        ]
        if label == "axis":
            equal = shap.TreeExplainer(
                to_shap_dict(model), masker, feature_perturbation="interventional"
            )
            works.append(lambda equal=equal: equal.shap_values(rows, check_additivity=False))
        ours, peers, *same = time_in_turn(works, args.repeats)
        lines.append(
            [
                name,
                label,
                f"{miss:.1e}",
                difference,
                f"{1e3 * ours / len(rows):.1f} ms",
                f"{ours / peers:.2f}",
                f"{ours / same[0]:.2f}" if same else "-",
            ]
        )
    return lines


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--background", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    head = [
        "table",
        "forest",
        "additivity",
        "to ExactExplainer",
        "time a row",
        "to TreeExplainer",
        "on the same trees",
    ]
    lines = [line for name in args.data for line in measure_table(name, args)]
    print(format_table(head, lines))


if __name__ == "__main__":
    main()
