"""
How sure is it? Quantiles and distributions
===========================================

A prediction is a number, and often one wants to know how far off it may be. Forests for
regression predict a whole distribution. Here the noise grows from left to right, and the forest
has noticed.
"""

import matplotlib.pyplot as plt
import numpy as np

from obtree import ObliqueForestRegressor

BLUE, ORANGE = "#3d7fc1", "#e08244"


def make_waves(n, seed=0):
    """A wave of one feature whose noise grows to the right."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 1.0, n)
    y = np.sin(10.0 * x) * (1.2 - 0.5 * x) + rng.normal(size=n) * (0.1 + 0.8 * x**2)
    return x[:, None], y


def draw_bands(forest, X, y):
    """Between which values half of the rows, and 90 % of them, are to be expected."""
    x = np.linspace(0.0, 1.0, 500)[:, None]
    low, lower, upper, high = forest.predict(x, quantiles=[0.05, 0.25, 0.75, 0.95]).T
    _, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
    ax.fill_between(x[:, 0], low, high, color=BLUE, alpha=0.2, lw=0, label="90 % of rows")
    ax.fill_between(x[:, 0], lower, upper, color=BLUE, alpha=0.35, lw=0, label="half of the rows")
    ax.plot(x[:, 0], forest.predict(x), color="black", lw=1.3, label="mean")
    ax.scatter(X[:, 0], y, s=5, color=ORANGE, label="training rows", zorder=2)
    ax.set(xlim=(0, 1), ylim=(-3.2, 3.2), xlabel="feature", ylabel="target")
    ax.legend(loc="upper left", ncols=2, fontsize="small")
    return ax


X, y = make_waves(600)
forest = ObliqueForestRegressor(200, splitter="axis", min_samples_leaf=10, random_state=0)
draw_bands(forest.fit(X, y), X, y)

# %%
# There is nothing to switch on: trees leave rows out of their training, and how far the others
# miss these rows tells the forest how sure it may be. Three ways to ask:

some = np.array([[0.1], [0.9]])
mean, std = forest.predict(some, return_std=True)
median = forest.predict(some, quantiles=[0.5])[:, 0]
density = np.exp(forest.log_prob(some, mean))
for k in range(2):
    print(
        f"x = {some[k, 0]}: mean {mean[k]:.2f}, deviation {std[k]:.2f}, median {median[k]:.2f}, "
        f"density at the mean {density[k]:.2f}"
    )

# %%
# Can it be believed?
# -------------------
# An interval of 90 % should hold nine of ten new rows, one of 50 % half of them. Too few would be a
# model that is too sure of itself.

X_new, y_new = make_waves(5000, seed=1)
wanted = np.linspace(0.05, 0.95, 19)
levels = forest.predict(X_new, quantiles=np.concatenate([(1 - wanted) / 2, (1 + wanted) / 2]))
low, high = levels[:, : len(wanted)], levels[:, len(wanted) :]
found = ((y_new[:, None] >= low) & (y_new[:, None] <= high)).mean(axis=0)

figure, ax = plt.subplots(figsize=(4, 4), layout="constrained")
ax.plot([0, 1], [0, 1], color="grey", lw=1, ls="--", label="ideal")
ax.plot(wanted, found, marker="o", ms=4, color=BLUE, label="forest")
ax.set(xlabel="interval asked for", ylabel="new rows inside", xlim=(0, 1), ylim=(0, 1))
ax.set_aspect("equal")
ax.legend()

# %%
# Lines in the leaves
# -------------------
# With ``criterion="linear_gaussian"`` a leaf holds a line and its noise. Such a forest knows,
# too, where it has seen *nothing*: rows are missing between 0.55 and 0.72. The line from the left
# might go on into the gap, and so might the one from the right. Where trees disagree about which
# it is, the band is wide, and reaches from the one line towards the other.


def make_lines(n, gap=(0.55, 0.72), seed=0):
    """Broken lines whose noise differs, with nothing in a gap."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 1.0 - gap[1] + gap[0], n)
    x[x > gap[0]] += gap[1] - gap[0]
    y = np.where(x < 0.3, 8.0 * x - 2.0, 1.0 - 6.0 * (x - 0.3))
    y = np.where(x > gap[1], 12.0 * (x - gap[1]) - 2.0, y)
    return x[:, None], y + rng.normal(size=n) * np.where(x < 0.3, 0.4, 0.12)


X, y = make_lines(400)
forest = ObliqueForestRegressor(
    200, splitter="axis", criterion="linear_gaussian", min_samples_leaf=25, random_state=0
)
draw_bands(forest.fit(X, y), X, y)
plt.show()

# %%
# More in :doc:`/user_guide/distributions` and :doc:`/user_guide/linear_gaussian`.
