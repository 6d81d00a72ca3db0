"""Slow and obvious versions of what the compiled code does.

Each function is written for reading, with NumPy or plain Python, and shares nothing
with the code it checks.
"""

from itertools import pairwise

import numpy as np

from obtree.criterion.registry import CLASSIFICATION, REGRESSION

#: The criteria that `rate_split` and `list_cuts` know: those that measure y alone.
RATED = tuple(name for name in (*CLASSIFICATION, *REGRESSION) if name != "linear_gaussian")

MASK = 2**64 - 1


# ---- random numbers -------------------------------------------------------------------


class Xoshiro:
    """xoshiro256** (Blackman and Vigna, 2018) on Python integers.

    Parameters
    ----------
    state : sequence of four int
    """

    def __init__(self, state):
        self.state = list(state)

    @classmethod
    def from_seed(cls, seed, stream=0):
        """Fill the state with splitmix64, started from a mix of seed and stream."""
        x = (seed * 0xD1342543DE82EF95 + stream * 0xDA942042E4DD58B5) & MASK
        state = []
        for _ in range(4):
            x = (x + 0x9E3779B97F4A7C15) & MASK
            z = x
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            state.append(z ^ (z >> 31))
        state[3] |= 1
        return cls(state)

    def next_word(self):
        """The next 64 bits."""

        def rotate(x, k):
            return ((x << k) | (x >> (64 - k))) & MASK

        s = self.state
        result = (rotate((s[1] * 5) & MASK, 7) * 9) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result

    def uniform(self):
        """A double in [0, 1)."""
        return (self.next_word() >> 11) / 2**53

    def bounded(self, n):
        """An integer in [0, n): the high word of a product, rejecting its biased part."""
        while True:
            product = self.next_word() * n
            if product & MASK >= 2**64 % n:
                return product >> 64


# ---- columns ----------------------------------------------------------------------------


def rank_column(column):
    """Ranks of the distinct values of a column; a missing value has the next rank.

    Returns
    -------
    codes : uint32 ndarray
    values : ndarray
        Distinct values, ascending, without the missing one.
    """
    column = np.asarray(column, dtype=np.float32)
    missing = np.isnan(column)
    values, present = np.unique(column[~missing], return_inverse=True)
    codes = np.full(len(column), len(values), dtype=np.uint32)
    codes[~missing] = present
    return codes, values


def project(feature, weight, x, partner=None):
    """Weighted sum of a row's terms in the order that obtree documents."""
    values = [float(x[j]) for j in feature]
    if partner is not None:
        values = [v if j < 0 else v * float(x[j]) for v, j in zip(values, partner, strict=True)]
    products = [float(w) * v for w, v in zip(weight, values, strict=True)]
    if len(products) < 16:
        total = 0.0
        for product in products:
            total += product
        return total
    lanes = products[:16]
    for k in range(16, len(products)):
        lanes[k % 16] += products[k]
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [lanes[k] + lanes[k + half] for k in range(half)]
    return lanes[0]


def route_rows(tree, X):
    """Leaf that each row reaches, one row and one node at a time."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    if tree.feature_offset is not None:
        X, tree = X - tree.feature_offset, tree.shifted
    X = X.astype(np.float32)
    leaves = np.empty(len(X), dtype=np.int64)
    for i, x in enumerate(X):
        node = 0
        while tree.children_left[node] >= 0:
            terms = slice(tree.term_ptr[node], tree.term_ptr[node + 1])
            partner = None if tree.term_partner is None else tree.term_partner[terms]
            total = project(tree.term_feature[terms], tree.term_weight[terms], x, partner)
            if np.isnan(total):
                goes_left = bool(tree.missing_go_left[node])
            else:
                goes_left = total <= tree.threshold[node]
                if tree.lower_threshold is not None:
                    goes_left = goes_left and total > tree.lower_threshold[node]
            node = tree.children_left[node] if goes_left else tree.children_right[node]
        leaves[i] = node
    return leaves


# ---- criteria ---------------------------------------------------------------------------


def find_median(y, w):
    """Weighted median; the mean of two values when exactly half the weight is below."""
    order = np.argsort(y, kind="stable")
    y, w = np.asarray(y)[order], np.asarray(w)[order]
    below = np.cumsum(w)
    half = 0.5 * below[-1]
    at = int(np.searchsorted(below, half))
    at = min(at, len(y) - 1)
    if below[at] == half and at + 1 < len(y):
        return 0.5 * y[at] + 0.5 * y[at + 1]
    return y[at]


def compute_value(name, y, w, n_classes=None):
    """What a leaf with these targets predicts, shape (n_outputs, max_n_classes)."""
    y = np.asarray(y)
    if n_classes is not None:
        value = np.zeros((y.shape[1], max(n_classes)))
        for k in range(y.shape[1]):
            value[k] = np.bincount(y[:, k], weights=w, minlength=max(n_classes)) / w.sum()
        return value
    if name == "absolute_error":
        return np.array([[find_median(column, w)] for column in y.T])
    return np.array([[np.sum(column * w) / w.sum()] for column in y.T])


def compute_impurity(name, y, w, n_classes=None):
    """Impurity of a node, averaged over the outputs."""
    y = np.asarray(y)
    value = compute_value(name, y, w, n_classes)
    per_output = []
    for k in range(y.shape[1]):
        if name in ("gini", "twoing"):
            per_output.append(1.0 - np.sum(value[k] ** 2))
        elif name in ("entropy", "log_loss"):
            fraction = value[k][value[k] > 0]
            per_output.append(-np.sum(fraction * np.log2(fraction)))
        elif name in ("max_minority", "sum_minority"):
            per_output.append(1.0 - value[k].max())
        elif name == "sum_of_variances":
            number = np.arange(len(value[k]))
            per_output.append(np.sum(value[k] * (number - np.sum(value[k] * number)) ** 2))
        elif name in ("squared_error", "friedman_mse"):
            per_output.append(np.sum(w * (y[:, k] - value[k, 0]) ** 2) / w.sum())
        elif name == "absolute_error":
            per_output.append(np.sum(w * np.abs(y[:, k] - value[k, 0])) / w.sum())
        elif name == "poisson":
            positive = y[:, k] > 0
            terms = w[positive] * y[positive, k] * np.log(y[positive, k] / value[k, 0])
            per_output.append(np.sum(terms) / w.sum())
        else:
            raise ValueError(name)
    return float(np.mean(per_output))


def compute_level(name, y, w, n_classes=None):
    """What monotonic constraints compare: fraction of class 1, median or mean."""
    value = compute_value(name, y, w, n_classes)
    if n_classes is not None:
        return value[0, 1] if max(n_classes) > 1 else 0.0
    return value[0, 0]


def rate_split(name, y, w, left, n_classes=None):
    """How good a split of the node's rows is; larger is better, -inf for not allowed."""
    right = ~left
    weights = w[left].sum(), w[right].sum()
    if name == "friedman_mse":
        means = [np.average(y[side], axis=0, weights=w[side]) for side in (left, right)]
        return weights[0] * weights[1] * np.sum(means[0] - means[1]) ** 2
    if name in ("twoing", "max_minority"):
        fractions = [compute_value(name, y[side], w[side], n_classes) for side in (left, right)]
        if name == "twoing":
            apart = np.abs(fractions[0] - fractions[1]).sum(axis=1)
            return weights[0] * weights[1] / sum(weights) * np.sum(apart**2)
        minorities = [
            weight * (1.0 - fraction.max(axis=1))
            for weight, fraction in zip(weights, fractions, strict=True)
        ]
        return -np.sum(np.maximum(*minorities))
    if name == "poisson" and any(
        np.any(np.sum(y[side] * w[side, None], axis=0) <= 0) for side in (left, right)
    ):
        return -np.inf
    return -sum(
        weight * compute_impurity(name, y[side], w[side], n_classes)
        for weight, side in zip(weights, (left, right), strict=True)
    )


def is_allowed(
    name,
    y,
    w,
    left,
    n_classes=None,
    *,
    min_samples_leaf=1,
    min_weight_leaf=0.0,
    monotone=0,
    lower=-np.inf,
    upper=np.inf,
):
    """Whether a split of the node's rows respects the limits."""
    sides = left, ~left
    if min(np.sum(side) for side in sides) < max(min_samples_leaf, 1):
        return False
    if min(w[side].sum() for side in sides) < min_weight_leaf:
        return False
    if monotone == 0:
        return True
    levels = [compute_level(name, y[side], w[side], n_classes) for side in sides]
    if min(levels) < lower or max(levels) > upper:
        return False
    return monotone * (levels[1] - levels[0]) >= 0


def list_cuts(name, codes, y, w, n_classes=None, **limits):
    """Every allowed cut of a column of ranks: list of (quality, last left, first right)."""
    present = np.unique(codes)
    cuts = []
    for low, high in pairwise(present):
        left = codes <= low
        if is_allowed(name, y, w, left, n_classes, **limits):
            quality = rate_split(name, y, w, left, n_classes)
            if quality > -np.inf:
                cuts.append((quality, int(low), int(high)))
    return cuts


def list_flips(name, score, x, y, w, n_classes=None, **limits):
    """Every allowed plane on a line: list of (quality, lower step, upper step).

    With a step between the two, the rows on the left are those where score + step * x is
    negative. Steps are float32 numbers; a row whose step is not finite stays where it is.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        step = (-(score + 0.0) / x.astype(np.float64)).astype(np.float32).astype(np.float64)
    moves = np.isfinite(step)
    between = list(pairwise(np.unique(step[moves])))
    if len(np.unique(np.signbit(step[moves & (step == 0)]))) == 2:
        between.append((0.0, 0.0))  # rows on the plane turn left both ways: it stands alone
    planes = []
    for low, high in between:
        middle = 0.5 * low + 0.5 * high
        left = np.where(moves, np.where(x > 0, middle < step, middle > step), score < 0)
        if low == high:
            left = score < 0
        if is_allowed(name, y, w, left, n_classes, **limits):
            quality = rate_split(name, y, w, left, n_classes)
            if quality > -np.inf:
                planes.append((quality, low, high))
    return planes


def list_axis_splits(name, X, y, w, n_classes=None, **limits):
    """Every allowed axis split: list of (quality, feature, rows that go left).

    Missing values go to either side, and may be cut off from all numbers.
    """
    splits = []
    for j in range(X.shape[1]):
        column = X[:, j]
        missing = np.isnan(column)
        values = np.unique(column[~missing])
        candidates = [column <= value for value in values[:-1]]
        if missing.any():
            candidates += [left | missing for left in candidates]
            if len(values):
                candidates.append(~missing)
        for left in candidates:
            if is_allowed(name, y, w, left, n_classes, **limits):
                splits.append((rate_split(name, y, w, left, n_classes), j, left))
    return [split for split in splits if split[0] > -np.inf]


def find_members(tree, leaves):
    """Which rows pass through each node, bool (n_nodes, n_rows).

    `tree` needs `children_left` and `children_right` only, so any package's tree will do.
    """
    n_nodes = len(tree.children_left)
    members = np.zeros((n_nodes, len(leaves)), dtype=bool)
    members[leaves, np.arange(len(leaves))] = True

    def collect(node):
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                collect(child)
                members[node] |= members[child]

    collect(0)
    return members
