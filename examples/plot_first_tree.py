"""
Reading a tree
==============

One tree can be read like a text. Here is an oblique one that tells three kinds of iris apart,
drawn by :func:`obtree.plot.plot_tree`. Rows for which the answer is *yes* go to the left.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from obtree import ObliqueTreeClassifier, export_text
from obtree.plot import plot_boundary, plot_cells, plot_tree

SPECIES = ["setosa", "versicolor", "virginica"]

X, y = load_iris(return_X_y=True, as_frame=True)
X.columns = X.columns.str.removesuffix(" (cm)")
tree = ObliqueTreeClassifier(splitter="oc1", max_depth=2, random_state=0).fit(X, y)

plot_tree(tree, class_names=SPECIES)

# %%
# A question about one feature is a line of text. A question about a sum has a line for each term,
# with a bar for its weight: to the right if the term makes the sum larger, to the left if
# smaller. Below stand how many flowers came here and of which kind they were; the fuller the
# colour, the purer the node.
#
# The same as text, for a terminal or an e-mail:

print(export_text(tree, class_names=SPECIES))

# %%
# Why did this flower end where it did?
# -------------------------------------
# ``explain_row`` walks down with one row, and says at each question what its terms contributed.

print(tree.explain_row(X.iloc[77], class_names=SPECIES))

# %%
# What it does to the plane
# -------------------------
# With two features one can see everything. :func:`obtree.plot.plot_boundary` colours the plane by
# what a model predicts, with scikit-learn's :class:`~sklearn.inspection.DecisionBoundaryDisplay`,
# and :func:`obtree.plot.plot_cells` draws the lines of the tree's questions on top.

petals = X[["petal length", "petal width"]]
tree = ObliqueTreeClassifier(splitter="oc1", max_depth=3, random_state=0).fit(petals, y)
ax = plot_boundary(tree, petals, y)
plot_cells(tree, ax=ax, filled=False)
ax.legend(SPECIES, loc="upper left")
plt.show()

# %%
# Note how few questions there are. A single tree is the model to choose when somebody has to
# understand it; to predict well, use many: :ref:`sphx_glr_auto_examples_plot_trees_needed.py`.
