"""YDF's random forest with the parameters and methods of scikit-learn's forests.

This file uses NumPy and YDF only: it is read by processes that have no obtree as well.
"""

import numpy as np


class YdfForest:
    """Random forest of YDF.

    Parameters
    ----------
    n_estimators, n_jobs, random_state : int
        As in scikit-learn's forests.
    oblique : bool, default=True
        Sparse oblique splits, grown to the last row, with as many projections as there are
        features; else YDF's defaults.
    """

    def __init__(self, n_estimators=100, n_jobs=1, random_state=0, oblique=True):
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.oblique = oblique

    def fit(self, X, y):
        """Grow the forest on float32 columns; a target of floats means regression."""
        import ydf

        ydf.verbose(0)
        regression = y.dtype.kind == "f"
        options = {}
        if self.oblique:
            options = {
                "split_axis": "SPARSE_OBLIQUE",
                "sparse_oblique_num_projections_exponent": 1.0,
                "max_depth": -1,
                "min_examples": 1,
            }
        learner = ydf.RandomForestLearner(
            label="y",
            task=ydf.Task.REGRESSION if regression else ydf.Task.CLASSIFICATION,
            num_trees=self.n_estimators,
            num_threads=self.n_jobs,
            random_seed=self.random_state,
            compute_oob_performances=False,
            winner_take_all=False,
            **options,
        )
        self.classes_ = None if regression else np.unique(y)
        target = y.astype(np.float32) if regression else y.astype(str)
        self.model_ = learner.train({"X": X.astype(np.float32), "y": target})
        return self

    def predict(self, X):
        """Return the most probable class of each row, or the predicted value."""
        found = self.model_.predict({"X": X.astype(np.float32)})
        if self.classes_ is None:
            return found
        if found.ndim == 1:  # two classes: the chance of the second
            found = np.stack([1 - found, found], axis=1)
        labels = np.array(self.model_.label_classes())
        return labels[found.argmax(axis=1)].astype(self.classes_.dtype)
