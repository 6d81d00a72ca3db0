"""
The race: which splitter suits my data?
=======================================

You do not have to know which kind of question suits your data. By default (``splitter="auto"``) a
forest grows a few trees of many kinds, asks each of them about rows it has not seen, and gives
the rest of the forest to those that did best *together*. :func:`obtree.plot.plot_race` shows what
came out.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import cross_val_score

from obtree import ObliqueForestClassifier
from obtree.plot import plot_race

X, y = load_breast_cancer(return_X_y=True)
forest = ObliqueForestClassifier(n_jobs=-1, random_state=0).fit(X, y)
plot_race(forest)

# %%
# Each line is a way to grow trees. Further left is better: less error on rows that the trees were
# not shown. Blue dots are in the forest, with the part they have. It is not simply the best that
# wins: kinds of trees that err about *different* rows are worth more together than two that err
# about the same.
#
# The table behind the picture is an attribute:

order = sorted(range(len(forest.race_["fraction"])), key=lambda k: -forest.race_["fraction"][k])
for k in order[:4]:
    name, fraction = forest.race_["setting"][k], forest.race_["fraction"][k]
    print(f"{name:32} {100 * fraction:3.0f} % of the forest")

# %%
# Other data, other winners
# -------------------------
# On pictures of digits, features are pixels, which mean little by themselves:

X_digits, y_digits = load_digits(return_X_y=True)
X_digits, y_digits = X_digits[:1000], y_digits[:1000]
plot_race(ObliqueForestClassifier(n_jobs=-1, random_state=0).fit(X_digits, y_digits))

# %%
# What is it worth?
# -----------------
# Here the race is compared with forests of a single kind, by cross-validation. The race finds a
# good kind without being told; that is its purpose, and not to be better than the best kind every
# time.

kinds = ["auto", "co2", "random_oblique", "discriminant", "axis"]
errors = []
for splitter in kinds:
    model = ObliqueForestClassifier(50, splitter=splitter, n_jobs=-1, random_state=0)
    errors.append(100 * (1 - cross_val_score(model, X_digits, y_digits, cv=3).mean()))

figure, ax = plt.subplots(figsize=(6.5, 2.7), layout="constrained")
bars = ax.barh(kinds[::-1], errors[::-1], color=["#b8b8b8"] * 4 + ["#4c8fcf"])
ax.bar_label(bars, fmt="%.1f %%", padding=3)
ax.set(xlabel="digits mistaken, per cent")
ax.margins(x=0.12)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# A race takes longer than a forest of one kind. When you know what you want, say so:
# ``splitter="axis"`` is an ordinary random forest. :doc:`/user_guide/race` explains how the
# winners are found.
