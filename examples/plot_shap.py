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
# all the merit of such a question to one of its features; ``obtree.explain.explain`` divides it
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
# ``obtree.explain.shap_values`` returns the numbers alone. They add up to the prediction, to
# the last digits:

values = shap_values(forest, X_new, background, n_jobs=-1)
total = expected_value(forest, background) + values.sum(axis=1)
print("shape:", values.shape)
print("add up to what is predicted:", np.abs(total - forest.predict(X_new)).max() < 1e-9)

# %%
# The mean of their sizes says which features matter to the forest as a whole, and, unlike
# ``feature_importances_``, in units of what is predicted:

size = np.abs(values).mean(axis=0)
order = np.argsort(size)
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.barh(X.columns[order], size[order], color="#3d7fc1")
ax.set(xlabel="mean change of the prediction")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Values say what the *model* does with the features, not what causes the disease.
