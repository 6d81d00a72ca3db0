import numpy as np

from obtree.splitter import PythonSplitter


class BestCut(PythonSplitter):
    """Best Gini cut of one feature, in NumPy."""

    def split(self, X, y, sample_weight, rng):
        best, answer = -np.inf, None
        member = (y[:, None] == np.unique(y)) * sample_weight[:, None]
        for j in rng.choice(X.shape[1], self.max_features_, replace=False):
            order = np.argsort(X[:, j])
            x, left = X[order, j], member[order].cumsum(axis=0)
            left, right = left[:-1], left[-1] - left[:-1]
            score = (left**2).sum(1) / left.sum(1) + (right**2).sum(1) / right.sum(1)
            score[~(x[1:] > x[:-1])] = -np.inf
            k = score.argmax()
            if score[k] > best:
                best, answer = score[k], (np.eye(X.shape[1])[j], (x[k] + x[k + 1]) / 2)
        return answer
