"""
Why oblique?
============

A decision tree asks one question after the other. In the trees most people know, each question is
about one feature: *is the petal shorter than 2.5 cm?* On a drawing that is a line along an axis.
An *oblique* tree may ask about a weighted sum of features, and that is a line in any direction.

Here two groups lie on either side of a slanted line. On the left is a tree as you know it, on the
right an oblique one. Thick lines are the first questions, thin ones later questions.
"""

import matplotlib.pyplot as plt
import numpy as np

from obtree import ObliqueTreeClassifier
from obtree.plot import plot_cells


def make_halves(n, seed):
    """Rows on both sides of a slanted line."""
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return X, (X @ [0.8, 1.0] > 0.1).astype(int)


X, y = make_halves(300, seed=0)
X_new, y_new = make_halves(20_000, seed=1)
trees = {
    "one feature at a time": ObliqueTreeClassifier(splitter="axis", random_state=0),
    "weighted sums": ObliqueTreeClassifier(splitter="oc1", random_state=0),
}

figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained", sharey=True)
for ax, (name, tree) in zip(axes, trees.items(), strict=True):
    tree.fit(X, y)
    plot_cells(tree, X, ax=ax)
    ax.scatter(*X.T, c=y, cmap="gray", s=12, edgecolors="black", linewidths=0.4, zorder=3)
    wrong = 1 - tree.score(X_new, y_new)
    ax.set_title(f"{name}\n{tree.get_n_leaves()} leaves, {100 * wrong:.1f} % of new rows wrong")
    ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])

# %%
# The first tree builds a staircase. Every step costs it a question, and the corners are where it is
# wrong about rows it has not seen. The second asks once.
#
# A slanted line is not something special. It is what you get whenever several features say the
# same thing together: a length *relative to* a width, income *minus* rent, the contrast *between*
# two pixels. No single one of them will do, and a tree of single features has to rebuild the
# difference step by step.
#
# How the errors compare
# ----------------------
# The gap does not go away with more data. A staircase becomes finer, and its tree larger:

sizes = [30, 100, 300, 1000, 3000]
errors = {name: [] for name in trees}
leaves = {name: [] for name in trees}
for n in sizes:
    for name, tree in trees.items():
        scores = [
            (100 - 100 * tree.fit(*make_halves(n, seed)).score(X_new, y_new), tree.get_n_leaves())
            for seed in range(5)
        ]
        errors[name].append(np.mean([score[0] for score in scores]))
        leaves[name].append(np.mean([score[1] for score in scores]))

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for name in trees:
    axes[0].loglog(sizes, errors[name], marker="o", label=name)
    axes[1].loglog(sizes, leaves[name], marker="o", label=name)
axes[0].set(xlabel="rows", ylabel="new rows wrong, per cent")
axes[0].set_yticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
axes[1].set(xlabel="rows", ylabel="leaves")
axes[1].set_yticks([2, 5, 10, 20, 50], [2, 5, 10, 20, 50])
for ax in axes:
    ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
axes[0].legend()
plt.show()

# %%
# The staircase needs ten times as many rows for a third of the error. The slanted line is found
# from a few hundred rows on. When there are thousands, some of them lie very close to the line that
# was found, on the wrong side, and a few more leaves mend it.
#
# Where features have nothing to do with one another, axis splits are as good, and quicker to
# find. You need not know beforehand: the default of forests tries both, see
# :ref:`sphx_glr_auto_examples_plot_race.py`.
