"""
Imbalanced data
===============

One row in thirty is a case, and cases are what matters: frauds, failures, diseases. A forest that
is right as often as possible will miss many of them, since calling everything normal is right 97
times in a hundred. Here are two remedies that invent no rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import ConfusionMatrixDisplay, PrecisionRecallDisplay
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

from obtree import ObliqueForestClassifier

X, y = make_classification(
    6000, 12, n_informative=6, n_clusters_per_class=2, weights=[0.97], class_sep=0.9, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

plain = ObliqueForestClassifier(splitter="random_oblique", n_jobs=-1, random_state=0)
weighted = ObliqueForestClassifier(
    splitter="random_oblique",
    class_weight="balanced",
    min_samples_leaf=5,
    n_jobs=-1,
    random_state=0,
)
tuned = TunedThresholdClassifierCV(plain, scoring="balanced_accuracy", cv=3)
models = {"as it is": plain, "balanced weights": weighted, "threshold moved": tuned}

figure, axes = plt.subplots(1, 3, figsize=(11, 4.3), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X_train, y_train)
    ConfusionMatrixDisplay.from_estimator(
        model,
        X_test,
        y_test,
        display_labels=["normal", "case"],
        normalize="true",
        values_format=".1%",
        cmap="Blues",
        colorbar=False,
        ax=ax,
    )
    ax.set_title(name)
for ax in axes[1:]:
    ax.set_ylabel("")

# %%
# Each line of a square sums to 100 %. Left: nearly all normal rows are recognised, and too many
# cases are overlooked. With ``class_weight="balanced"`` a case weighs as much as all the normal
# rows it stands against, and leaves of five rows keep single cases from being learnt by heart. On
# the right the forest is the one on the left; scikit-learn's ``TunedThresholdClassifierCV`` only
# looked for a better place to draw the line between "normal" and "case" than a probability of one
# half.
#
# What it costs
# -------------
# More cases found means more false alarms. A curve of precision (how many alarms are cases)
# against recall (how many cases give an alarm) shows all the thresholds one might choose at once:

figure, ax = plt.subplots(figsize=(5.5, 4.2), layout="constrained")
for name, colour in (("as it is", "#3d7fc1"), ("balanced weights", "#e08244")):
    PrecisionRecallDisplay.from_estimator(
        models[name], X_test, y_test, name=name, ax=ax, curve_kwargs={"color": colour}
    )
ax.set(xlabel="recall: cases found", ylabel="precision: alarms that are cases", aspect="auto")
ax.legend(loc="lower left")
plt.show()

# %%
# Along the curve both forests have nearly the same choices to offer: the order of the rows, from
# most to least suspicious, was there from the beginning. So decide what a missed case costs and
# what a false alarm, and set the threshold by that.

share = y_train.mean()
print(f"{100 * share:.1f} % of the training rows are cases")
print("threshold found:", np.round(tuned.best_threshold_, 2))
# sphinx_gallery_thumbnail_number = 2
