"""How much each of several forests should count in their mean.

The squared error of a mean of forests is a quadratic form of the fractions they have in it: its
matrix holds the products of the forests' residuals, averaged over rows that the trees did not
learn from. It can be told from few trees. For two trees of one forest the mean product of their
residuals is, apart from chance, the squared error that the forest would have with infinitely many
trees, since what is particular to either tree averages out; a row that two trees or more of each
forest left out therefore says what the whole forests would do with it. In classification residuals
are those of the class fractions (Brier score).
"""

import numpy as np

#: Added to the matrix as a fraction of its diagonal: what is measured on few trees is uncertain,
#: and forests that cannot be told apart should share.
DOUBT = 0.3

#: Steps towards the best fractions, at the most; each moves some from one forest to another.
MAX_STEPS = 1000


class Residuals:
    """Residuals of the trees of one forest on the rows that they left out.

    Parameters
    ----------
    truth : float64 ndarray of shape (n_rows, n_values)
        What is to be predicted.
    alone : bool, default=False
        Whether what is added is no tree of a forest, but the whole of what is to be judged.
    """

    def __init__(self, truth, alone=False):
        self._truth = truth
        self._alone = alone
        self.n_judges = np.zeros(len(truth), dtype=np.int64)
        self._sums = np.zeros_like(truth)
        self._squares = np.zeros(len(truth))

    def add(self, rows, values):
        """Count another tree.

        Parameters
        ----------
        rows : ndarray of intp
            Rows that the tree left out.
        values : ndarray of shape (len(rows), n_values)
            What it predicts for them.
        """
        residuals = values - self._truth[rows]
        self.n_judges[rows] += 1
        self._sums[rows] += residuals
        self._squares[rows] += (residuals**2).sum(axis=1)

    @property
    def mean(self):
        """Mean residual of each row over the trees that left it out; 0 where none did."""
        return self._sums / np.maximum(self.n_judges, 1)[:, None]

    @property
    def mean_square(self):
        """Mean squared residual of each row, a tree at a time; 0 where none left it out."""
        return self._squares / np.maximum(self.n_judges, 1)

    def multiply(self, other, weight):
        """Return the mean product of residuals of a tree of this forest and one of another.

        Parameters
        ----------
        other : Residuals
            Of the other forest, or this object itself for two different trees of one forest.
        weight : ndarray of shape (n_rows,)
            Weights of the rows.

        Returns
        -------
        product : float
            NaN when there is no row to judge by.
        """
        products = (self._sums * other._sums).sum(axis=1)
        n_pairs = self.n_judges * other.n_judges
        if other is self and not self._alone:
            products -= self._squares
            n_pairs = n_pairs - self.n_judges
        seen = n_pairs > 0
        total = weight[seen].sum()
        if not total > 0.0:
            return np.nan
        return float((weight[seen] * products[seen] / n_pairs[seen]).sum() / total)


def measure_products(forests, weight):
    """Return the matrix of mean products of residuals.

    Parameters
    ----------
    forests : list of Residuals
    weight : ndarray of shape (n_rows,)
        Weights of the rows.

    Returns
    -------
    products : ndarray of shape (n_forests, n_forests)
        The diagonal has the squared errors that the forests would have with any number of trees.
    """
    n_forests = len(forests)
    products = np.empty((n_forests, n_forests))
    for a in range(n_forests):
        for b in range(a + 1):
            products[a, b] = products[b, a] = forests[a].multiply(forests[b], weight)
    return products


def choose_fractions(products, costs, doubt=DOUBT):
    """Return the fractions that forests should have in their mean.

    Parameters
    ----------
    products : ndarray of shape (n_forests, n_forests)
        Result of `measure_products`.
    costs : ndarray of shape (n_forests,)
        By which fraction of the least error a forest has to be better than one that costs nothing
        to be worth its time.
    doubt : float, default=DOUBT
        What is added to the diagonal, as a fraction of it.

    Returns
    -------
    fractions : ndarray of shape (n_forests,)
        Not negative, rounded to millionths; their sum is 1. All of the first one where nothing
        could be judged.
    """
    judged = np.isfinite(np.diag(products))
    if judged.all() and not np.isfinite(products).all():
        judged = np.isfinite(products[np.argmin(np.diag(products))])
    if not judged.all():
        fractions = np.zeros(len(products))
        fractions[0] = 1.0
        if judged.any():
            fractions[0] = 0.0
            fractions[judged] = choose_fractions(
                products[np.ix_(judged, judged)], costs[judged], doubt
            )
        return fractions
    own = np.diag(products)
    least = max(own.min(), 0.0)
    # A term that is linear in the fractions is quadratic as well, since their sum is 1.
    linear = 0.5 * least * costs
    matrix = products + doubt * np.diag(np.maximum(own, 0.0)) + linear[:, None] + linear
    fractions = np.zeros(len(own))
    fractions[np.argmin(np.diag(matrix))] = 1.0
    for _ in range(MAX_STEPS):
        slope = (matrix * fractions).sum(axis=1)  # no BLAS: the same bits everywhere
        to = np.argmin(slope)
        away = np.argmax(np.where(fractions > 0.0, slope, -np.inf))
        gain = slope[away] - slope[to]
        if gain <= 1e-9 * max(abs(slope[to]), np.finfo(float).tiny):
            break
        bend = matrix[to, to] + matrix[away, away] - 2.0 * matrix[to, away]
        step = fractions[away] if bend * fractions[away] <= gain else gain / bend
        fractions[to] += step
        fractions[away] = 0.0 if step == fractions[away] else fractions[away] - step
    fractions = np.round(fractions, 6)
    return fractions / fractions.sum()


def deal_out(fractions, n_items):
    """Say which forest each tree belongs to, so that any first ones are as the fractions say.

    Parameters
    ----------
    fractions : ndarray of shape (n_forests,)
        Result of `choose_fractions`.
    n_items : int
        Number of trees.

    Returns
    -------
    owner : ndarray of intp, shape (n_items,)
        Number of the forest of each tree.
    """
    owner = np.empty(n_items, dtype=np.intp)
    dealt = np.zeros(len(fractions))
    for t in range(n_items):
        owner[t] = np.argmax(np.round(fractions * (t + 1) - dealt, 9))
        dealt[owner[t]] += 1.0
    return owner
