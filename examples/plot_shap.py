"""
Why this prediction? SHAP values
================================

Which features made a forest say what it said? SHAP values divide a prediction among the features,
fairly in a precise sense: each gets the mean change of the prediction when it becomes known, over
all orders in which they might become known. Here a forest predicts how far diabetes has advanced
after a year. Each dot is a patient: to the right the feature raised the prediction, to the left
it lowered it, and red dots have large values of the feature.
"""

import matplotlib.pyplot as plt
import numpy as np
import shap
from sklearn.datasets import load_diabetes
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

from obtree import ObliqueForestRegressor
from obtree.explain import expected_value, explain, shap_values

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X, X_new, y, y_new = train_test_split(X, y, random_state=0)
forest = ObliqueForestRegressor(50, splitter="random_oblique", n_jobs=-1, random_state=0).fit(X, y)

# Those whom a row is compared with.
background = X.sample(50, random_state=0)
explanation = explain(forest, X_new, background, n_jobs=-1)
plt.figure()
shap.plots.beeswarm(explanation, show=False)
plt.tight_layout()

# %%
# The nodes of this forest ask about sums of features. Some tools that read trees node by node give
# all the merit of such a question to one of its features; :func:`obtree.explain.explain` divides it
# among all of them. The result is what the plots of the library
# `shap <https://shap.readthedocs.io>`_ take.
#
# One patient
# -----------
# From bottom to top: the mean prediction of the background, what each feature adds or takes away,
# and the prediction of the forest for this patient.

plt.figure()
shap.plots.waterfall(explanation[0], show=False)
plt.tight_layout()

# %%
# The values as an array
# ----------------------
# :func:`obtree.explain.shap_values` returns the numbers alone. They add up to the prediction, to
# the last digits:

values = shap_values(forest, X_new, background, n_jobs=-1)
total = expected_value(forest, background) + values.sum(axis=1)
print("shape:", values.shape)
print("add up to what is predicted:", np.abs(total - forest.predict(X_new)).max() < 1e-9)

# %%
# Beside other ways to ask
# ------------------------
# ``feature_importances_`` says what features did while the trees grew, permutation importance what
# they are worth on new rows, and the mean size of Shapley values how much they move predictions.

order = np.argsort(np.abs(values).mean(axis=0))
permuted = permutation_importance(forest, X_new, y_new, n_repeats=5, random_state=0)
found = {
    "feature_importances_": forest.feature_importances_,
    "permutation": np.maximum(permuted.importances_mean, 0.0),
    "mean size of Shapley values": np.abs(values).mean(axis=0),
}
figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for k, (name, size) in enumerate(found.items()):
    ax.barh(
        np.arange(len(order)) + 0.26 * (1 - k),
        size[order] / size.sum(),
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
# Values say what the *model* does with the features, not what causes the disease. More in
# :doc:`/user_guide/explanations`.
