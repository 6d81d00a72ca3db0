"""
All splitters on one page
=========================

What finds the question of a node is called a *splitter*, and it is a parameter:
``ObliqueForestClassifier(splitter="oc1")``. Each way to split leaves its own mark on the plane.

Below, two half moons that lie aslant. First single trees, four questions deep, with the lines of
their questions, the first ones thickest; then forests of a hundred such trees, which average.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from obtree import ObliqueForestClassifier, ObliqueTreeClassifier
from obtree.plot import plot_boundary, plot_cells

SPLITTERS = {
    "axis": "the best threshold of one feature",
    "axis_random": "a random threshold of each feature",
    "random_oblique": "random sums of features",
    "two_probe": "differences of two features",
    "conic": "random quadratic forms",
    "oc1": "a plane, searched by coordinates",
    "co2": "a plane, found by descent",
    "discriminant": "a linear model in each node",
}

X, y = make_moons(200, noise=0.2, random_state=0)
turn = np.deg2rad(40)
X = X @ [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]


def draw(make_model, lines):
    """A panel for each splitter."""
    _, axes = plt.subplots(2, 4, figsize=(12, 6.4), layout="constrained")
    for ax, (name, idea) in zip(axes.flat, SPLITTERS.items(), strict=True):
        model = make_model(name).fit(X, y)
        plot_boundary(model, X, y, ax=ax)
        if lines:
            plot_cells(model, ax=ax, filled=False, linewidth=1.6)
        ax.set_title(f"{name}\n{idea}", fontsize=10)
        ax.set(xticks=[], yticks=[])


draw(lambda name: ObliqueTreeClassifier(splitter=name, max_depth=4, random_state=0), lines=True)

# %%
# Axis splits make stairs; sums of features make polygons; quadratic forms make curves. The two
# ``axis`` splitters know two directions only. ``oc1``, ``co2`` and ``discriminant`` search for
# the direction that tells the classes apart, which takes longer; the others try directions at
# random and keep the best, which is quick, and a forest makes up for what a single tree has
# missed. ``two_probe`` compares one feature with another, as two pixels of a picture: where there
# are only two, it knows a single direction, and is not for such data.
#
# Forests
# -------

draw(lambda name: ObliqueForestClassifier(splitter=name, random_state=0), lines=False)
plt.show()

# %%
# The default, ``splitter="auto"``, lets them compete and mixes the best:
# :ref:`sphx_glr_auto_examples_plot_race.py`. A page about each of them is in the :doc:`user guide
# </user_guide/splitters>`, and writing one of your own takes fifteen lines:
# :ref:`sphx_glr_auto_examples_plot_own_splitter.py`.
