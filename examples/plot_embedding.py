"""
Embeddings: a map of the rows
=============================

Which rows are alike? Those that many trees send to the same leaves. From that a forest makes a
map: few coordinates, in which rows lie near each other that the trees find alike. It needs no
targets.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_swiss_roll

from obtree import ForestEmbedding, ObliqueForestClassifier

roll, position = make_swiss_roll(2000, random_state=0)
unrolled = ForestEmbedding(random_state=0).fit_transform(roll)
digits, label = load_digits(return_X_y=True)
flat = ForestEmbedding(random_state=0).fit_transform(digits)
# Ranks spread out what would be a few dense spots.
flat = flat.argsort(axis=0).argsort(axis=0)

figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
axes[0].scatter(roll[:, 0], roll[:, 2], c=position, s=6)
axes[1].scatter(*unrolled.T, c=position, s=6)
points = axes[2].scatter(*flat.T, c=label, cmap="tab10", vmin=-0.5, vmax=9.5, s=6)
figure.colorbar(points, ax=axes[2], ticks=range(10), label="digit")
titles = ("a roll, seen from its side", "the same, unrolled", "digits: 64 pixels in two dimensions")
for ax, title in zip(axes, titles, strict=True):
    ax.set(title=title, xticks=[], yticks=[])

# %%
# The roll is a sheet of paper, rolled up; colours say where on the sheet a row lies. The first
# coordinate that the forest finds, from left to right, is the way along the sheet; the second is
# a curve over the first, since there is no other direction as long. On the right the forest has
# sorted pictures of digits, though nobody told it which digit is which: colours were added
# afterwards.
#
# New rows find their place on the map by ``transform``, without a new fit.
#
# Proximities
# -----------
# The matrix behind such maps can be had from any forest. Here a forest that *was* told which
# digit is which is asked how alike any two pictures are. Rows are in the order of their digits;
# dark is alike.

order = np.argsort(label, kind="stable")
forest = ObliqueForestClassifier(200, splitter="axis", n_jobs=-1, random_state=0)
forest.fit(digits, label)
figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
kinds = {"leaf": "shared leaves", "oob": "the same, out of bag", "gap": "RF-GAP"}
ticks = np.searchsorted(label[order], np.arange(10)) + 90
for ax, (kind, title) in zip(axes, kinds.items(), strict=True):
    nearness = forest.proximity(digits, kind=kind).toarray()[np.ix_(order, order)]
    # Blocks of four by four rows, so that the picture is not larger than a screen.
    side = len(nearness) // 4
    blocks = nearness[: 4 * side, : 4 * side].reshape(side, 4, side, 4).mean(axis=(1, 3))
    ax.imshow(np.sqrt(blocks), cmap="Blues", vmax=np.sqrt(np.quantile(blocks, 0.999)))
    ax.set(title=title, xticks=ticks // 4, yticks=ticks // 4)
    ax.set(xticklabels=range(10), yticklabels=range(10))
plt.show()

# %%
# Dark squares along the diagonal are digits of a kind; a paler spot elsewhere is a pair that is
# easily mistaken. On the left, two pictures are as near as trees send them to the same leaf; in the
# middle, only trees count that have learnt from neither; on the right, nearness is the weight that
# one picture has when the forest predicts the other. More in :doc:`/user_guide/embedding` and
# :doc:`/user_guide/proximity`.
