"""Other packages' forests, with the parameters and methods that ``worker.py`` uses."""

import numpy as np


class YdfForest:
    """Random forest of YDF with sparse oblique splits.

    Parameters
    ----------
    n_estimators, n_jobs, random_state : int
        As in scikit-learn's forests.
    """

    def __init__(self, n_estimators=100, n_jobs=1, random_state=0):
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        """Grow the forest on float32 columns."""
        import ydf

        ydf.verbose(0)
        learner = ydf.RandomForestLearner(
            label="y",
            num_trees=self.n_estimators,
            num_threads=self.n_jobs,
            random_seed=self.random_state,
            split_axis="SPARSE_OBLIQUE",
            sparse_oblique_num_projections_exponent=1.0,
            max_depth=-1,
            min_examples=1,
            compute_oob_performances=False,
            winner_take_all=False,
        )
        self.classes_ = np.unique(y)
        self.model_ = learner.train({"X": X.astype(np.float32), "y": y.astype(str)})
        return self

    def predict(self, X):
        """Return the most probable class of each row."""
        chances = self.model_.predict({"X": X.astype(np.float32)})
        if chances.ndim == 1:  # two classes: the chance of the second
            chances = np.stack([1 - chances, chances], axis=1)
        labels = np.array(self.model_.label_classes())
        return labels[chances.argmax(axis=1)].astype(self.classes_.dtype)
