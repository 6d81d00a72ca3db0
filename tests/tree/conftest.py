"""Random trees and a slow, obvious way to route rows through them."""

import numpy as np
import pytest

from obtree.tree.tree import Tree


def _make_tree(
    rng,
    X,
    n_splits,
    max_terms=1,
    n_classes=(3,),
    unit_weights=True,
    values="mixed",
    chain=False,
    products=False,
    intervals=False,
    linear=False,
):
    """A random tree whose thresholds lie on, next to and between values of X.

    Nodes are numbered in random order (the root apart), so children may precede parents.
    """
    n_features = X.shape[1]
    left, right, terms, threshold, missing = [-1], [-1], [[]], [0.0], [0]
    lower = [-np.inf]
    leaves = [0]
    for _ in range(n_splits):
        node = leaves.pop(-1 if chain else rng.integers(len(leaves)))
        n_terms = rng.integers(1, max_terms + 1)
        features = rng.integers(0, n_features, n_terms)
        weights = np.ones(n_terms)
        if not unit_weights:
            weights = rng.choice([1.0, -1.0, 0.5, rng.normal(), 1e-30, 1e30, 0.0], n_terms)
        partners = np.full(n_terms, -1)
        if products:
            partners = rng.integers(-1, n_features, n_terms)
        terms[node] = list(zip(features, weights, partners, strict=True))
        row = X[rng.integers(len(X))] if len(X) else np.zeros(n_features, np.float32)
        at = float(
            np.nan_to_num(
                sum(w * float(row[j]) * (float(row[q]) if q >= 0 else 1) for j, w, q in terms[node])
            )
        )
        near = np.float32(np.clip(at, -3e38, 3e38))
        threshold[node] = float(
            rng.choice(
                [
                    at,
                    np.nextafter(near, np.float32(np.inf), dtype=np.float32),
                    np.nextafter(near, np.float32(-np.inf), dtype=np.float32),
                    np.nextafter(at, np.inf),
                    np.nextafter(at, -np.inf),
                    1e300,
                    -1e300,
                    1e-320,
                ]
            )
        )
        if intervals and rng.random() < 0.7:
            below = np.nextafter(threshold[node], -np.inf)
            lower[node] = float(rng.choice([below, min(below, threshold[node] - 1.0)]))
        missing[node] = int(rng.integers(2))
        left[node], right[node] = len(left), len(left) + 1
        leaves += [len(left), len(left) + 1]
        for column, filler in (
            (left, -1),
            (right, -1),
            (terms, []),
            (threshold, 0.0),
            (lower, -np.inf),
            (missing, 0),
        ):
            column.extend([filler, filler])
    n_nodes = len(left)
    new = np.concatenate([[0], 1 + rng.permutation(n_nodes - 1)]).astype(int)
    old = np.argsort(new)

    def renumber(children):
        children = np.array(children)[old]
        return np.where(children < 0, -1, new[children])

    n_classes = np.array(n_classes, dtype=np.int64)
    width = n_classes.max()
    value = np.zeros((n_nodes, len(n_classes), width))
    for k, n in enumerate(n_classes):
        if n == 1:
            value[:, k, 0] = rng.normal(size=n_nodes)
            continue
        value[:, k, :n] = rng.dirichlet(np.ones(n), n_nodes)
        pure = rng.random(n_nodes) < {"mixed": 0.5, "pure": 1.0}[values]
        value[pure, k] = 0.0
        value[pure, k, rng.integers(0, n, pure.sum())] = 1.0
    leaves = {}
    if linear:
        n_leaf_terms = np.where(np.array(left)[old] < 0, rng.integers(0, 20, n_nodes), 0)
        shape = (n_leaf_terms.sum(), len(n_classes), width)
        leaves = {
            "leaf_ptr": np.concatenate([[0], np.cumsum(n_leaf_terms)]),
            "leaf_feature": rng.integers(0, n_features, shape[0]),
            "leaf_weight": rng.choice([0.0, 1.0, 1e-30, 1e3], shape) * rng.normal(size=shape),
            "leaf_intercept": rng.normal(size=(n_nodes, *shape[1:])),
        }
        for k, n in enumerate(n_classes):
            leaves["leaf_weight"][:, k, n:] = 0.0
            leaves["leaf_intercept"][:, k, n:] = 0.0
        for name in ("leaf_weight", "leaf_intercept"):
            leaves[name] = leaves[name].reshape(len(leaves[name]), -1)
    ordered = [terms[i] for i in old]
    flat = [term for node in ordered for term in node]
    return Tree.from_arrays(
        n_features=n_features,
        children_left=renumber(left),
        children_right=renumber(right),
        threshold=np.array(threshold)[old],
        term_ptr=np.concatenate([[0], np.cumsum([len(node) for node in ordered])]),
        term_feature=[j for j, _, _ in flat],
        term_weight=[w for _, w, _ in flat],
        term_partner=[q for _, _, q in flat] if products else None,
        lower_threshold=np.array(lower)[old] if intervals else None,
        missing_go_left=np.array(missing)[old],
        impurity=rng.random(n_nodes),
        n_node_samples=rng.integers(0, 100, n_nodes),
        weighted_n_node_samples=rng.random(n_nodes) * 10,
        value=value,
        n_classes=n_classes,
        **leaves,
    )


def _make_rows(rng, n_rows, n_features, missing=0.0, scale=1.0):
    X = rng.normal(size=(n_rows, n_features)) * scale
    X = np.where(rng.random(X.shape) < 0.5, np.round(X * 2), X).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def _project(weights, values):
    """The documented sum: term after term, or sixteen lanes folded in halves."""
    products = [np.float64(w) * np.float64(v) for w, v in zip(weights, values, strict=True)]
    if len(products) < 16:
        total = np.float64(0.0)
        for product in products:
            total = total + product
        return total
    lanes = products[:16]
    for k in range(16, len(products)):
        lanes[k % 16] = lanes[k % 16] + products[k]
    for width in (8, 4, 2, 1):
        lanes = [lanes[k] + lanes[k + width] for k in range(width)]
    return lanes[0]


def _route(tree, X):
    """Leaf of each row, one comparison at a time."""
    leaves = np.zeros(len(X), dtype=np.int64)
    with np.errstate(all="ignore"):
        for i, row in enumerate(np.asarray(X, dtype=np.float32)):
            node = 0
            while tree.children_left[node] >= 0:
                terms = slice(tree.term_ptr[node], tree.term_ptr[node + 1])
                values = row[tree.term_feature[terms]].astype(np.float64)
                if tree.term_partner is not None:
                    partner = tree.term_partner[terms]
                    values = np.where(partner < 0, values, values * row[partner])
                s = _project(tree.term_weight[terms], values)
                left = tree.missing_go_left[node] if np.isnan(s) else s <= tree.threshold[node]
                if tree.lower_threshold is not None and not np.isnan(s):
                    left = left and s > tree.lower_threshold[node]
                node = (tree.children_left if left else tree.children_right)[node]
            leaves[i] = node
    return leaves


def _predict(tree, X):
    """What each row gets: the value of its leaf, or what the leaf's model says."""
    values = tree.value[_route(tree, X)]
    if not tree.has_linear_leaves:
        return values
    with np.errstate(all="ignore"):
        for i, (row, node) in enumerate(zip(X, _route(tree, X), strict=True)):
            terms = slice(tree.leaf_ptr[node], tree.leaf_ptr[node + 1])
            x = row[tree.leaf_feature[terms]].astype(np.float64)
            if not x.size:
                continue
            if values[0].size == 1:
                scores = tree.leaf_intercept[node] + _project(tree.leaf_weight[terms, 0], x)
            else:
                scores = tree.leaf_intercept[node].copy()
                for weight, number in zip(tree.leaf_weight[terms], x, strict=True):
                    scores += weight * number
            if not np.isfinite(scores).all():
                continue
            scores = scores.reshape(values[i].shape)
            if tree.max_n_classes > 1:
                for k, n in enumerate(tree.n_classes):
                    e = np.exp(scores[k, :n] - scores[k, :n].max())
                    scores[k, :n] = e / e.sum()
            values[i] = scores
    return values


@pytest.fixture(scope="session")
def make_tree():
    return _make_tree


@pytest.fixture(scope="session")
def make_rows():
    return _make_rows


@pytest.fixture(scope="session")
def route():
    return _route


@pytest.fixture(scope="session")
def predict_slowly():
    return _predict
