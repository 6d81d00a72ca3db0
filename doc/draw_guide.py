"""Draw the pictures of the user guide that are no part of an example, as PNG files.

    python doc/draw_guide.py --only oc1 cells --folder /tmp

``conf.py`` draws them all when the documentation is built. Whatever shows how to do something is an
example instead, in the folder ``examples``, and the guide shows its pictures.
"""

import argparse
from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, load_digits, load_iris

from obtree import (
    DensityForest,
    DisjunctiveTreeClassifier,
    FernClassifier,
    NonGreedyTreeClassifier,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOTreeClassifier,
)
from obtree.bench.active import label_one_by_one, make_banana
from obtree.plot import plot_boundary, plot_cells, plot_convergence, plot_tree
from obtree.splitter import RotationSplitter, resolve_splitter

SPECIES = ["setosa", "versicolor", "virginica"]
SPLITTERS = ("co2", "conic", "discriminant", "oc1", "random_oblique", "two_probe")
COLOURS = ("#e08244", "#3d7fc1")


def make_bands(n=240, seed=0):
    """Make three classes: two oblique bands, and a ring around the upper end of one.

    Parameters
    ----------
    n : int, default=240
        Number of rows.
    seed : int, default=0
        Seed of all that is random.

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : ndarray of int, shape (n,)
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    along = rng.uniform(-2.6, 2.6, n)
    across = np.where(y == 0, 0.75, -0.75) + 0.28 * rng.normal(size=n)
    turn = rng.uniform(0, 2 * np.pi, n)
    X = np.c_[along - 0.8 * across, 0.8 * along + across] / 1.2
    ring = np.c_[1.7 + 0.75 * np.cos(turn), -1.6 + 0.75 * np.sin(turn)]
    return np.where((y == 2)[:, None], ring + 0.16 * rng.normal(size=(n, 2)), X), y


def draw_models(models, titles):
    """Draw what models make of the bands, side by side.

    Parameters
    ----------
    models : list of estimator
        Not fitted.
    titles : list of str

    Returns
    -------
    matplotlib figure
    """
    X, y = make_bands()
    size = (3.4 * len(models), 3.5)
    figure, axes = plt.subplots(1, len(models), figsize=size, layout="constrained")
    for ax, model, title in zip(axes, models, titles, strict=True):
        plot_boundary(model.fit(X, y), X, y, marker_size=14.0, ax=ax)
        if hasattr(model, "tree_"):
            plot_cells(model, ax=ax, filled=False, linewidth=1.4)
        ax.set(title=title, xticks=[], yticks=[])
    return figure


def draw_splitter(name):
    """Draw a tree and a forest of a splitter."""
    tree = ObliqueTreeClassifier(splitter=name, max_depth=4, random_state=0)
    forest = ObliqueForestClassifier(50, splitter=name, random_state=0)
    return draw_models([tree, forest], ["a tree of depth 4", "a forest of 50 trees"])


def draw_rotation():
    """Draw a tree and a forest of axis splits of rotated features."""
    splitter = RotationSplitter(resolve_splitter("axis"), group_size=2)
    tree = ObliqueTreeClassifier(splitter=splitter, max_depth=4, random_state=0)
    forest = ObliqueForestClassifier(50, splitter="axis", rotation="pca", random_state=0)
    return draw_models([tree, forest], ["a tree of depth 4", "a forest of 50 trees"])


def draw_ferns():
    """Draw the posteriors of one fern, of a few and of many."""
    counts = (1, 5, 50)
    ferns = [FernClassifier(n, depth=6, splitter="axis_random", random_state=0) for n in counts]
    return draw_models(ferns, ["one fern", "five ferns", "fifty ferns"])


def draw_objectives(trees):
    """Draw how the objectives of two trees of digits fall; trees by their names."""
    figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
    ax.set_prop_cycle(color=COLOURS)
    for label, tree in trees.items():
        plot_convergence(tree.fit(*load_digits(return_X_y=True)), label=label, ax=ax)
    ax.set_ylim(0, None)
    ax.legend()
    return figure


def draw_nongreedy():
    """Draw objectives of non-greedy trees of two depths."""
    return draw_objectives(
        {f"depth {n}": NonGreedyTreeClassifier(max_depth=n, random_state=0) for n in (4, 6)}
    )


def draw_disjunctive():
    """Draw objectives of disjunctive trees with shared weights and with others."""
    return draw_objectives(
        {
            label: DisjunctiveTreeClassifier(shared_weights=shared, random_state=0)
            for label, shared in {"weights of each class": False, "shared weights": True}.items()
        }
    )


def draw_active():
    """Draw how the error falls while rows are labelled one by one."""
    X, y = make_banana(2000)
    figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
    labels = {"random": "rows at random", "total": "rows asked for"}
    for (kind, label), colour in zip(labels.items(), COLOURS, strict=True):
        curves = [label_one_by_one(X, y, kind, 100, seed, 20) for seed in range(6)]
        errors = 100 * np.mean([curve[1] for curve in curves], axis=0)
        ax.plot(curves[0][0], errors, color=colour, label=label)
    ax.set(xlabel="labels", ylabel="error on other rows, per cent", ylim=(0, None))
    ax.grid(alpha=0.3)
    ax.legend()
    return figure


def draw_tree_oblique():
    """Draw a tree of planes."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    tree = ObliqueTreeClassifier(splitter="oc1", max_depth=3, random_state=0).fit(X, y)
    return plot_tree(tree, class_names=SPECIES).get_figure()


def draw_tree_linear():
    """Draw a tree with lines in its leaves."""
    diabetes = load_diabetes(as_frame=True, scaled=False)
    tree = ObliqueTreeRegressor(max_depth=2, leaf="linear", random_state=0)
    return plot_tree(tree.fit(diabetes.data, diabetes.target), max_terms=4).get_figure()


def draw_tree_digits():
    """Draw the upper levels of a tree of many classes."""
    digits = TAOTreeClassifier(max_depth=4, random_state=0).fit(*load_digits(return_X_y=True))
    return plot_tree(digits, max_terms=4, max_depth=3).get_figure()


def draw_tree_density():
    """Draw the largest tree of a density forest."""
    forest = DensityForest(10, random_state=0).fit(load_iris(as_frame=True).data)
    sizes = [member.tree_.n_leaves for member in forest.estimators_]
    return plot_tree(forest, member=sizes.index(max(sizes))).get_figure()


def draw_cells():
    """Draw what trees and a forest make of two features."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X[["petal length (cm)", "petal width (cm)"]]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharey=True)
    tree = ObliqueTreeClassifier(splitter="oc1", max_depth=4, random_state=0).fit(X, y)
    plot_cells(tree, X, ax=axes[0])
    conic = ObliqueTreeClassifier(splitter="conic", max_depth=3, random_state=0).fit(X, y)
    plot_cells(conic, X, ax=axes[1])
    forest = ObliqueForestClassifier(50, splitter="oc1", random_state=0).fit(X, y)
    plot_boundary(forest, X, ax=axes[2])
    plot_cells(forest, member=0, ax=axes[2], filled=False, linewidth=1.2)
    titles = ("a tree of planes", "a tree of conics", "a forest, and one of its trees")
    for ax, title in zip(axes, titles, strict=True):
        ax.scatter(*X.to_numpy().T, c=y, cmap="gray", s=9, edgecolors="black", linewidths=0.4)
        ax.set(title=title, xlim=axes[0].get_xlim(), ylim=axes[0].get_ylim())
    return figure


def draw_errors():
    """Draw the errors of the default beside other libraries, from the tables of the benchmarks."""
    results = Path(__file__).parent / "benchmarks" / "results"
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.5), layout="constrained")
    for ax, task in zip(axes, ("classification", "regression"), strict=True):
        path = results / f"tables-six-{task}.csv"
        table = np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
        table = table[np.argsort(-table["error_ratio"], kind="stable")]
        colours = [COLOURS[1] if name == "obtree" else "#c4c4c4" for name in table["model"]]
        bars = ax.barh(table["model"], table["error_ratio"], color=colours)
        ax.bar_label(bars, fmt="%.2f", padding=3)
        ax.set_title(f"{task}, {table['tables'][0]} tables", fontsize=11)
        ax.set_xlabel("error / that of a random forest")
        ax.margins(x=0.14)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


PICTURES = {
    **{name: partial(draw_splitter, name) for name in SPLITTERS},
    "rotation": draw_rotation,
    "ferns": draw_ferns,
    "nongreedy": draw_nongreedy,
    "disjunctive": draw_disjunctive,
    "active": draw_active,
    "tree_oblique": draw_tree_oblique,
    "tree_linear": draw_tree_linear,
    "tree_digits": draw_tree_digits,
    "tree_density": draw_tree_density,
    "cells": draw_cells,
    "errors": draw_errors,
}


def draw_pictures(folder, names=None):
    """Draw some pictures, by default all.

    Parameters
    ----------
    folder : path-like
        Where the files ``<name>.png`` go; made if need be.
    names : sequence of str, optional
        Which ones.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or PICTURES:
        figure = PICTURES[name]()
        figure.savefig(folder / f"{name}.png", dpi=100)
        plt.close(figure)


def main():
    """Draw what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(PICTURES))
    parser.add_argument("--folder", default="pictures", help="where to write the files")
    args = parser.parse_args()
    draw_pictures(args.folder, args.only)


if __name__ == "__main__":
    main()
