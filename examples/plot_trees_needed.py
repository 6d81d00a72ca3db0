"""
How many trees?
===============

The error of a forest falls with the number of its trees, quickly at first, then hardly any more.
How many are enough is worth a look: :func:`obtree.plot.plot_convergence` draws the error of the
first tree, the first two, and so on.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from obtree import ObliqueForestClassifier, TAOTreeClassifier
from obtree.plot import plot_convergence

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for splitter in ("axis", "random_oblique", "co2"):
    forest = ObliqueForestClassifier(150, splitter=splitter, n_jobs=-1, random_state=0)
    plot_convergence(forest.fit(X_train, y_train), X_test, y_test, label=splitter, ax=ax)
ax.set_xscale("log")
ax.set_xticks([1, 2, 5, 10, 20, 50, 100], [1, 2, 5, 10, 20, 50, 100])
ax.legend()

# %%
# Oblique trees are better one by one, and a forest needs fewer of them for the same error.
#
# Without new rows
# ----------------
# Trees that draw bootstraps leave about a third of the rows out. Each training row can thus be
# predicted by trees that have not seen it, and no row need be set aside. A third of the trees
# are fewer trees, so this curve comes down later, and arrives at the same place:

figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
forest = ObliqueForestClassifier(
    150, splitter="random_oblique", bootstrap=True, n_jobs=-1, random_state=0
)
forest.fit(X_train, y_train)
plot_convergence(forest, X_train, y_train, out_of_bag=True, label="out of bag", ax=ax)
plot_convergence(forest, X_test, y_test, label="new rows", ax=ax)
ax.legend()

# %%
# Optimised trees
# ---------------
# TAO takes a grown tree and refits it as a whole, sweep by sweep. Without rows,
# :func:`~obtree.plot.plot_convergence` draws its objective, which never rises:

figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for init in ("random", "axis"):
    tree = TAOTreeClassifier(init=init, max_depth=5, n_iter=10, tol=0.0, random_state=0)
    plot_convergence(tree.fit(X, y), label=f'init="{init}"', ax=ax)
ax.legend()
plt.show()
