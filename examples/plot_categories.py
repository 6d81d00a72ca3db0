"""
Categories: text in a table
===========================

Real tables hold words: cities, brands, days of the week. A tree can ask about them as they are,
*is the city one of these?*, and so they need not be turned into numbers first. Here is what a
tree makes of the prices of flats, drawn at random: in some towns flats are dear, a balcony is
worth more in some of them, and some cells are empty.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from obtree import ObliqueForestRegressor, ObliqueTreeRegressor
from obtree.plot import plot_tree

TOWNS = [
    f"{start}{end}"
    for start in ("Alt", "Burg", "Nord", "Ost", "Tal")
    for end in ("au", "berg", "dorf", "born", "furt", "hausen", "heim", "ried", "stadt", "wald")
]


def make_flats(n, seed=0):
    """A table of flats with a price for each."""
    rng = np.random.default_rng(seed)
    level = np.random.default_rng(1).normal(2.5, 0.7, len(TOWNS))  # of each town
    town = rng.integers(0, len(TOWNS), n)
    heating = rng.choice(["gas", "oil", "heat pump"], n, p=[0.5, 0.3, 0.2])
    size = rng.uniform(25, 140, n).round()
    balcony = rng.random(n) < 0.5
    price = size * level[town] + 30 * (heating == "heat pump") + 60 * balcony * (level[town] > 2.8)
    table = pd.DataFrame({"town": np.array(TOWNS)[town], "heating": heating})
    table["size"], table["balcony"] = size, balcony
    table["town"] = table["town"].astype("category")
    table.loc[rng.random(n) < 0.1, "heating"] = None
    return table, price + rng.normal(0, 15, n)


X, y = make_flats(3000)
tree = ObliqueTreeRegressor(max_depth=2, random_state=0).fit(X, y)
plot_tree(tree)

# %%
# Nothing had to be prepared: columns of strings, booleans and categories are recognised
# (``categorical_features="from_dtype"``), and an empty cell goes where it does least harm. For
# numbers, and for two classes, the best way to divide the categories in two is found exactly, of
# a thousand as of ten. Those that are too rare to be judged stay together.
#
# What is it worth?
# -----------------
# The usual way is to turn each category into a column of zeros and ones, of which there are fifty
# here. A question about one column then takes a single town away from all others, and trees
# become deep. Numbering the towns by the alphabet is worse still, since neighbours in the
# alphabet have nothing in common.

X, X_new, y, y_new = train_test_split(X, y, random_state=0)
words = ["town", "heating"]
forest = ObliqueForestRegressor(50, splitter="axis", n_jobs=-1, random_state=0)
ways = {
    "as they are": forest,
    "a column each": make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
            remainder="passthrough",
        ),
        forest,
    ),
    "numbered": make_pipeline(
        make_column_transformer((OrdinalEncoder(), words), remainder="passthrough"), forest
    ),
}
errors = {}
for name, model in ways.items():
    errors[name] = np.sqrt(np.mean((model.fit(X, y).predict(X_new) - y_new) ** 2))

figure, ax = plt.subplots(figsize=(6.5, 2.2), layout="constrained")
bars = ax.barh(list(errors), list(errors.values()), color=["#3d7fc1", "#b8b8b8", "#b8b8b8"])
ax.bar_label(bars, fmt="%.1f", padding=3)
ax.axvline(15, color="black", lw=1, ls="--", label="noise of the prices")
ax.set(xlabel="root of the mean squared error on new flats")
ax.invert_yaxis()
ax.margins(x=0.1)
figure.legend(loc="outside upper right", fontsize="small")
plt.show()

# %%
# More in :doc:`/user_guide/categories`.
# sphinx_gallery_thumbnail_number = 2
