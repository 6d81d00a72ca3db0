"""Draw trees, cells, errors by number of trees and a race, as PNG files.

    python doc/draw_pictures.py --folder pictures

``conf.py`` draws the pictures when the documentation is built.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import train_test_split

from obtree import (
    DensityForest,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOTreeClassifier,
)
from obtree.plot import plot_cells, plot_convergence, plot_race, plot_tree

SPECIES = ["setosa", "versicolor", "virginica"]


def draw_trees():
    """Yield pictures of trees: names and figures."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    tree = ObliqueTreeClassifier(splitter="oc1", max_depth=3, random_state=0).fit(X, y)
    yield "tree_oblique", plot_tree(tree, class_names=SPECIES).get_figure()
    diabetes = load_diabetes(as_frame=True, scaled=False)
    tree = ObliqueTreeRegressor(max_depth=2, leaf="linear", random_state=0)
    tree.fit(diabetes.data, diabetes.target)
    yield "tree_linear", plot_tree(tree, max_terms=4).get_figure()
    digits = TAOTreeClassifier(max_depth=4, random_state=0).fit(*load_digits(return_X_y=True))
    ax = plot_tree(digits, max_terms=4, max_depth=3)
    yield "tree_digits", ax.get_figure()
    forest = DensityForest(10, random_state=0).fit(X)
    sizes = [member.tree_.n_leaves for member in forest.estimators_]
    yield "tree_density", plot_tree(forest, member=sizes.index(max(sizes))).get_figure()


def draw_cells():
    """Draw what a tree and a forest make of two features."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X[["petal length (cm)", "petal width (cm)"]]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharey=True)
    tree = ObliqueTreeClassifier(splitter="oc1", max_depth=4, random_state=0).fit(X, y)
    plot_cells(tree, X, ax=axes[0])
    conic = ObliqueTreeClassifier(splitter="conic", max_depth=3, random_state=0).fit(X, y)
    plot_cells(conic, X, ax=axes[1])
    forest = ObliqueForestClassifier(50, splitter="oc1", random_state=0).fit(X, y)
    DecisionBoundaryDisplay.from_estimator(
        forest, X, response_method="predict_proba", ax=axes[2], eps=0.3, grid_resolution=200
    )
    plot_cells(forest, member=0, ax=axes[2], filled=False, linewidth=1.2)
    titles = ("a tree of planes", "a tree of conics", "a forest, and one of its trees")
    for ax, title in zip(axes, titles, strict=True):
        ax.scatter(*X.to_numpy().T, c=y, cmap="gray", s=9, edgecolors="black", linewidths=0.4)
        ax.set(title=title, xlim=axes[0].get_xlim(), ylim=axes[0].get_ylim())
    return figure


def draw_curves():
    """Draw errors by number of trees."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    for splitter in ("axis", "random_oblique"):
        forest = ObliqueForestClassifier(150, splitter=splitter, bootstrap=True, random_state=0)
        forest.fit(X_train, y_train)
        plot_convergence(forest, X_test, y_test, label=f"{splitter}, new rows", ax=ax)
        plot_convergence(
            forest, X_train, y_train, out_of_bag=True, label=f"{splitter}, out of bag", ax=ax
        )
    ax.legend()
    return figure


def draw_race():
    """Draw what the default forest has found out about a table."""
    forest = ObliqueForestClassifier(random_state=0)
    forest.fit(*load_breast_cancer(return_X_y=True))
    return plot_race(forest).get_figure()


def draw_pictures(folder):
    """Draw all pictures.

    Parameters
    ----------
    folder : path-like
        Where the files go; made if need be.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = [
        *draw_trees(),
        ("cells", draw_cells()),
        ("trees_needed", draw_curves()),
        ("race", draw_race()),
    ]
    for name, figure in pictures:
        figure.savefig(folder / f"{name}.png", dpi=100)
        plt.close(figure)


def main():
    """Draw where the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="pictures", help="where to write the files")
    draw_pictures(parser.parse_args().folder)


if __name__ == "__main__":
    main()
