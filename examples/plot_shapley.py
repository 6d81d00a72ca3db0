"""
Why this prediction? Shapley values of oblique trees
====================================================

A forest is good at predicting and bad at saying why. Shapley values divide what it predicts for a
row among the features, so that nothing is left over, and :func:`obtree.explain.shap_values` finds
them for every tree and forest here. A node of an oblique tree looks at several features together;
each gets what is its own.

Below are the predictions for patients with diabetes: how much the disease has progressed in a year.
Each dot is a patient, to the right if the feature raises the prediction, to the left if it lowers
it; its colour says whether the feature is high or low.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

from obtree import ObliqueForestRegressor
from obtree.explain import expected_value, shap_values

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
forest = ObliqueForestRegressor(100, splitter="random_oblique", random_state=0)
forest.fit(X_train, y_train)

background = X_train.iloc[:50]
phi = shap_values(forest, X_test, background, n_jobs=-1)

order = np.argsort(np.abs(phi).mean(axis=0))
rng = np.random.default_rng(0)
figure, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
for place, j in enumerate(order):
    column = X_test.iloc[:, j]
    ax.scatter(
        phi[:, j],
        place + rng.uniform(-0.25, 0.25, len(phi)),
        c=column.rank(pct=True),
        cmap="coolwarm",
        s=9,
    )
ax.axvline(0.0, color="grey", lw=0.8)
ax.set_yticks(range(len(order)), X.columns[order])
ax.set_xlabel("what the feature changes the prediction by")
ax.spines[["top", "right", "left"]].set_visible(False)
ax.tick_params(left=False)
bar = figure.colorbar(ax.collections[0], ax=ax, ticks=[], aspect=40, pad=0.02)
bar.set_label("low         feature         high")

# %%
# The body mass index (bmi) and what is measured in the blood (s5) say most, both in the direction
# that one expects.
#
# Nothing is left over
# --------------------
# What a patient is predicted is the mean over the background, rows that patients are compared with,
# and what the features add.

patient = int(np.argmax(forest.predict(X_test)))
base = expected_value(forest, background)
total = base + phi[patient].sum()
print(f"mean {base:.1f} + features {phi[patient].sum():.1f} = {total:.1f}")
print(f"predicted {forest.predict(X_test)[patient]:.1f}")

edges = base + np.concatenate([[0.0], np.cumsum(phi[patient, order])])
figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
colours = np.where(phi[patient, order] > 0, "#c44e52", "#3d7fc1")
ax.barh(range(len(order)), np.diff(edges), left=edges[:-1], color=colours)
ax.set_yticks(range(len(order)), [f"{X.columns[j]} = {X_test.iloc[patient, j]:.2f}" for j in order])
ax.use_sticky_edges = False
ax.axvline(base, color="grey", lw=0.8)
ax.axvline(total, color="grey", lw=0.8, ls="--")
ax.set_xlabel("prediction, from the mean (left line) to that of the patient (right line)")
ax.spines[["top", "right"]].set_visible(False)

# %%
# Beside other ways to ask
# ------------------------
# ``feature_importances_`` says what features did while the trees grew, permutation importance what
# they are worth on new rows, and the mean size of Shapley values how much they move predictions.

permuted = permutation_importance(forest, X_test, y_test, n_repeats=5, random_state=0)
found = {
    "feature_importances_": forest.feature_importances_,
    "permutation": np.maximum(permuted.importances_mean, 0.0),
    "mean size of Shapley values": np.abs(phi).mean(axis=0),
}
figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for k, (name, values) in enumerate(found.items()):
    ax.barh(
        np.arange(len(order)) + 0.26 * (1 - k),
        values[order] / values.sum(),
        height=0.26,
        color=("#b0b0b0", "#e08244", "#3d7fc1")[k],
        label=name,
    )
ax.set_yticks(range(len(order)), X.columns[order])
ax.set_xlabel("fraction of all features")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(loc="lower right")
plt.show()

# %%
# :func:`obtree.explain.explain` returns what the plots of the package shap take. More in
# :doc:`/user_guide/explanations`.
