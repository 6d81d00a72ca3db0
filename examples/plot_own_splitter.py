"""
A splitter of your own in fifteen lines
=======================================

Do you have an idea how a tree should split? Write one method, pass an object of your class as
``splitter``, and the trees, the forests and all that is around them are yours.

The idea here: take two rows of different classes, and ask which of the two a row is nearer to.
The border between two points is a straight line, half-way and at a right angle. Try some pairs,
and keep the one that tells the classes apart best.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import cross_val_score

from obtree import ObliqueForestClassifier, ObliqueTreeClassifier
from obtree.plot import plot_boundary, plot_cells
from obtree.splitter import PythonSplitter


class NearerOfTwo(PythonSplitter):
    """Ask which of two rows of different classes a row is nearer to."""

    def __init__(self, n_pairs=10):
        self.n_pairs = n_pairs

    def split(self, X, y, sample_weight, rng):
        best, answer = np.inf, None
        for _ in range(self.n_pairs):
            a, b = rng.choice(len(X), 2)
            if y[a] != y[b]:
                weights = X[b] - X[a]
                threshold = weights @ (X[a] + X[b]) / 2
                left = X @ weights <= threshold
                mixed = sum(rows.sum() * gini(y[rows]) for rows in (left, ~left))
                if mixed < best:
                    best, answer = mixed, (weights, threshold)
        return answer  # None makes a leaf


def gini(y):
    """How mixed some labels are; 0 if all are the same."""
    return 1.0 - (np.unique(y, return_counts=True)[1] ** 2).sum() / max(len(y), 1) ** 2


X, y = make_moons(250, noise=0.2, random_state=0)
tree = ObliqueTreeClassifier(splitter=NearerOfTwo(), max_depth=4, random_state=0).fit(X, y)
forest = ObliqueForestClassifier(50, splitter=NearerOfTwo(), random_state=0).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained", sharey=True)
plot_boundary(tree, X, y, ax=axes[0])
plot_cells(tree, ax=axes[0], filled=False)
plot_boundary(forest, X, y, ax=axes[1])
for ax, title in zip(axes, ("a tree", "a forest of fifty"), strict=True):
    ax.set(title=title, xticks=[], yticks=[])

# %%
# ``split`` gets the rows of a node, and returns a weight for each feature and a threshold: rows
# whose weighted sum is at most the threshold go left. That is all; obtree moves the rows, stores
# the tree, predicts, and refuses answers that make no sense.
#
# Is it any good?
# ---------------

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]
for splitter in ("axis", NearerOfTwo()):
    forest = ObliqueForestClassifier(20, splitter=splitter, random_state=0)
    print(f"{splitter!s:24} {cross_val_score(forest, X, y, cv=3).mean():.3f}")

# %%
# Parameters are those of ``__init__``, so that a grid search finds them
# (``{"splitter__n_pairs": [3, 10, 30]}``), and a race takes the class as one of its competitors
# (``splitter=["auto", NearerOfTwo()]``).
#
# Python is slow, and for trying out ideas that is fine. :doc:`/extending` shows the same in Cython,
# as a package of its own, at full speed.

plt.show()
