"""
Densities: how usual is a row?
==============================

No target, no classes, just rows: a density forest tells how probable a row is, and draws new rows
that look like those it has seen. Each leaf of its trees describes the few rows in it by a
bell-shaped heap (a Gaussian); the heaps of all leaves and trees together make the density.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from obtree import DensityForest

N_ROWS, REACH = 1500, 13


def make_spirals(rng):
    """Rows on two spirals."""
    angle = 1.0 + 3 * np.pi * np.sqrt(rng.random(N_ROWS))
    turn = angle + np.pi * rng.integers(0, 2, N_ROWS)
    X = angle[:, np.newaxis] * np.column_stack([np.cos(turn), np.sin(turn)])
    return X + 0.35 * rng.normal(size=(N_ROWS, 2))


def make_heaps(rng):
    """Rows of four Gaussians, one of them narrow."""
    centres = np.array([[-6, -4], [5, 5], [6, -6], [-4, 6]])
    shapes = np.array([[[2, 1], [0, 1]], [[1, 0], [-2, 1]], [[3, 0], [0, 0.4]], [[1, 0], [0, 1]]])
    heap = rng.integers(0, 4, N_ROWS)
    return centres[heap] + np.einsum("nij,nj->ni", shapes[heap], rng.normal(size=(N_ROWS, 2)))


rng = np.random.default_rng(0)
side = np.linspace(-REACH, REACH, 241)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
figure, panels = plt.subplots(2, 4, figsize=(11, 5.6), layout="constrained")
for row, X in zip(panels, (make_spirals(rng), make_heaps(rng)), strict=True):
    forest = DensityForest(60, random_state=0).fit(X)
    density = np.exp(forest.score_samples(grid)).reshape(241, 241)
    sample = forest.sample(N_ROWS, random_state=0)
    line = np.column_stack([np.full(241, 5.0), side])
    log_density, mean = forest.conditional(line, columns=[1])
    extent = (-REACH, REACH, -REACH, REACH)
    row[0].plot(*X.T, ".", markersize=2, color="tab:blue")
    row[1].imshow(np.sqrt(density), extent=extent, origin="lower", cmap="magma")
    row[1].axvline(5.0, color="white", linewidth=0.8, linestyle="--")
    row[2].plot(*sample.T, ".", markersize=2, color="tab:orange")
    row[3].plot(np.exp(log_density), side, color="tab:red")
    row[3].axhline(mean[0, 0], color="grey", linewidth=0.8, linestyle="--")
    row[3].set_ylim(-REACH, REACH)
    for panel in row[:3]:
        panel.set(xlim=extent[:2], ylim=extent[2:], aspect="equal", xticks=[], yticks=[])
    row[3].set_yticks([])
titles = ("1,500 rows", "density (its root)", "1,500 samples", "density on the line")
for panel, title in zip(panels[0], titles, strict=True):
    panel.set_title(title, fontsize=10)

# %%
# From left to right: the rows; the density that 60 trees find; rows drawn from it; and how the
# second column is distributed where the first is 5, along the dashed line, with its mean. Nobody
# told the forest how many heaps there are.
#
# Rows that do not belong
# -----------------------
# Whatever has a low density is unusual. This forest has seen handwritten zeros, and is asked
# about new zeros and about other digits. Pixels are brought down to twelve features first, since
# densities of many features need many rows.

from sklearn.decomposition import PCA  # noqa: E402

X, y = load_digits(return_X_y=True)
zeros, new_zeros = X[y == 0][:120], X[y == 0][120:]
pca = PCA(12, random_state=0).fit(zeros)
forest = DensityForest(60, random_state=0).fit(pca.transform(zeros))
usual = forest.score_samples(pca.transform(new_zeros))
other = forest.score_samples(pca.transform(X[y != 0][:300]))

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
edges = np.linspace(min(usual.min(), np.quantile(other, 0.01)), usual.max(), 45)
ax.hist(usual, edges, density=True, color="#3d7fc1", alpha=0.75, label="zeros it has not seen")
ax.hist(other, edges, density=True, color="#e08244", alpha=0.75, label="other digits")
ax.set(xlabel="logarithm of the density", yticks=[])
ax.spines[["top", "right", "left"]].set_visible(False)
ax.legend()
plt.show()

# %%
# More in :doc:`/user_guide/density`.
