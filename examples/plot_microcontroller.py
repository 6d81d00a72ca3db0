"""
A tree for a microcontroller
============================

A trained tree is a table and a loop, and :func:`obtree.export.to_c` writes both as one file of C
that needs no library, no memory of its own and no operating system. How good can a model of a few
kilobytes be?

Here the task is to read digits from pictures of 8 x 8 pixels. Further left is smaller, further
down is better.
"""

import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from obtree import (
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    TAOForestClassifier,
    TAOTreeClassifier,
)
from obtree.export import to_c

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X.astype("float32"), y, random_state=0)


def measure(model):
    """Bytes of the tables of a fitted model in C, and the digits it mistakes, per cent."""
    model.fit(X_train, y_train)
    source = to_c(model, prefix="digit", proba=False)
    size = int(re.search(r"Constant tables: (\d+) bytes", source)[1])
    return size, 100 * (1 - model.score(X_test, y_test))


penalties = [3.0, 1.0, 0.3, 0.1]
series = {
    "axis tree": [ObliqueTreeClassifier(max_leaf_nodes=n, random_state=0) for n in (30, 60, 120)],
    "TAO tree": [TAOTreeClassifier(max_depth=6, l1=l1, random_state=0) for l1 in penalties],
    "axis forest": [
        ObliqueForestClassifier(n, splitter="axis", random_state=0) for n in (3, 10, 30)
    ],
    "TAO forest": [
        TAOForestClassifier(n, max_depth=6, l1=0.3, combine="vote", n_jobs=-1, random_state=0)
        for n in (3, 10)
    ],
}
figure, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
colours = ("#b0b0b0", "#3d7fc1", "#707070", "#e08244")
for (name, models), colour in zip(series.items(), colours, strict=True):
    sizes, errors = zip(*map(measure, models), strict=True)
    ax.plot(sizes, errors, marker="o", color=colour, label=name)
ax.set_xscale("log")
ax.set_xticks([1000, 3000, 10000, 30000], ["1 kB", "3 kB", "10 kB", "30 kB"])
ax.minorticks_off()
ax.set(xlabel="tables in read-only memory", ylabel="digits mistaken, per cent", ylim=(0, None))
ax.grid(alpha=0.3)
ax.legend()

# %%
# A *TAO* tree is grown as usual and then refitted as a whole: each node gets the sum of pixels
# that suits all rows below it best, with as few pixels as possible. A larger ``l1`` means fewer
# pixels, and fewer bytes.
#
# What the C looks like
# ---------------------
# The head of the file says what it declares and what it needs:

tree = TAOTreeClassifier(max_depth=6, l1=1.0, random_state=0).fit(X_train, y_train)
source = to_c(tree, prefix="digit", proba=False)
print(source[: source.index("*/") + 2])

# %%
# To use it, put the file into your project and call ``digit_predict(pixels)``. What it returns is
# what ``tree.predict`` returns, for every row: the tests of obtree compile such files and compare
# all numbers.
#
# What the tree looks at
# ----------------------
# Each picture shows the weights of a node, the root on top: blue pixels count for one side, red
# ones for the other, and white ones need not be looked at. Nodes further down stand before finer
# distinctions.

nodes = tree.tree_
figure = plt.figure(figsize=(6.5, 3.6), layout="constrained")
grid = figure.add_gridspec(3, 8)
level = [0]
for depth in range(3):
    for k, node in enumerate(level):
        weights = np.zeros(64)
        terms = slice(nodes.term_ptr[node], nodes.term_ptr[node + 1])
        weights[nodes.term_feature[terms]] = (
            nodes.term_weight[terms] * X_train.std(axis=0)[nodes.term_feature[terms]]
        )
        most = np.abs(weights).max()
        width = 8 >> depth
        ax = figure.add_subplot(grid[depth, k * width : (k + 1) * width])
        ax.imshow(weights.reshape(8, 8), cmap="RdBu", vmin=-most, vmax=most)
        ax.set(xticks=[], yticks=[])
    children = nodes.children_left, nodes.children_right
    level = [int(side[node]) for node in level for side in children]
plt.show()

# %%
# :doc:`/user_guide/export_c` says what can be exported, and how large code and tables become on a
# Cortex-M4.
