"""
Few labels, many rows
=====================

Rows often cost nothing, and labels cost somebody's time. Here four hundred rows have two labels
between them. A forest of these two rows cuts the plane in half. One that also looks at the rows
without a label sees two moons, and lets each label travel along its moon.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons

from obtree import ObliqueForestClassifier, SemiSupervisedForestClassifier
from obtree.plot import plot_boundary

X, truth = make_moons(400, noise=0.07, random_state=0)
y = np.full(len(X), -1)  # -1 means: no label
for label in (0, 1):
    y[np.flatnonzero(truth == label)[0]] = label
known = y >= 0

alone = ObliqueForestClassifier(random_state=0).fit(X[known], y[known])
together = SemiSupervisedForestClassifier(random_state=0).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained", sharey=True)
for ax, model, title in zip(
    axes, (alone, together), ("two rows", "two rows and 398 without a label"), strict=True
):
    plot_boundary(model, X, y, ax=ax, marker_size=20)
    ax.scatter(
        *X[known].T, s=320, marker="*", c=["#8a3c08", "#0b3c6f"], edgecolors="white", zorder=4
    )
    right = 100 * model.score(X, truth)
    ax.set_title(f"{title}: {right:.0f} % right")
    ax.set(xticks=[], yticks=[])

# %%
# How many labels are enough?
# ---------------------------
# Pictures of handwritten digits, of which only some are labelled, the same number of each. Both
# forests see the same labels; one of them sees the other pictures as well.

X, truth = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
X, truth = X[:1200], truth[:1200]
counts = [1, 2, 5, 10, 20]
errors = {"labelled rows only": [], "all rows": []}
for count in counts:
    y = np.full(len(X), -1)
    for digit in range(10):
        y[rng.choice(np.flatnonzero(truth == digit), count, replace=False)] = digit
    known = y >= 0
    alone = ObliqueForestClassifier(splitter="random_oblique", n_jobs=-1, random_state=0)
    alone.fit(X[known], y[known])
    together = SemiSupervisedForestClassifier(
        splitter="random_oblique", n_jobs=-1, random_state=0
    ).fit(X, y)
    errors["labelled rows only"].append(100 * (alone.predict(X) != truth)[~known].mean())
    errors["all rows"].append(100 * (together.transduction_ != truth)[~known].mean())

figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for (name, values), colour in zip(errors.items(), ("#b0b0b0", "#3d7fc1"), strict=True):
    ax.plot(counts, values, marker="o", color=colour, label=name)
ax.set(xlabel="labels of each digit", ylabel="others mistaken, per cent", ylim=(0, None))
ax.set_xticks(counts)
ax.grid(alpha=0.3)
ax.legend()
plt.show()

# %%
# More in :doc:`/user_guide/semi_supervised`.
