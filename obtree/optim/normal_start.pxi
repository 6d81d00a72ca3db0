# From a grown tree to its disjunctive normal form.
#
# A class is a disjunction of the paths to its leaves (equation 2), so its units are the
# ancestors of these leaves; the other branches lead nowhere. The plane of a node is rewritten
# for standardised features, divided by its length, and made as steep as the rows of the node
# ask for: ``steepness`` / (their standard deviation along the plane's normal), at most
# ``max_steepness``. Too soft a start forgets the tree, too steep a one has no slope to follow.

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int64_t

from obtree.core.types cimport feature_t, idx_t, node_t, row_t, w_t
from obtree.data.hyperplane cimport Hyperplane, init_plane
from obtree.data.project cimport project_rows
from obtree.linear.columns cimport add_column_moments
from obtree.optim.base cimport Problem
from obtree.optim.editable_tree cimport EditableTree, TreePartition

CELL_LIMIT = 1e30


def measure_columns(Problem problem):
    """Weighted mean and inverse standard deviation of the features, missing values left out.

    Returns
    -------
    mean, scale : float64 ndarray of shape (n_features,)
        `scale` is 0 where a feature is constant or always missing.
    """
    cdef idx_t n = problem.n_train, p = problem.n_features
    cdef double[::1] origin = np.zeros(p)
    cdef double[::1] total = np.zeros(p)
    cdef double[::1] sums = np.zeros(p)
    cdef double[::1] squares = np.zeros(p)
    with nogil:
        add_column_moments(problem.x, n, p, problem.weight, &origin[0], &total[0], &sums[0],
                           &squares[0])
    weights = np.maximum(np.asarray(total), np.finfo(float).tiny)
    shift = np.asarray(sums) / weights
    variance = np.asarray(squares) / weights - shift * shift
    # Rounding leaves about this much of the variance of a constant.
    varies = variance > 1e-14 * (np.asarray(squares) / weights)
    scale = np.zeros(p)
    scale[varies] = 1.0 / np.sqrt(variance[varies])
    scale[~np.isfinite(scale)] = 0.0
    return np.asarray(origin) + shift, scale


def measure_nodes(Problem problem, tree, weights, thresholds):
    """Standard deviation, in each node, of the rows' distances from its plane.

    Rows go down the tree by its own planes; distances are those of the standardised features.

    Parameters
    ----------
    weights : float64 ndarray of shape (n_terms,)
        Weights of the original features divided by the length of the standardised normal.
    thresholds : float64 ndarray of shape (n_nodes,)
        Thresholds, divided likewise.

    Returns
    -------
    spread : float64 ndarray of shape (n_nodes,)
        0 where fewer than two rows with all features came by.
    """
    cdef EditableTree editable = EditableTree(problem, tree)
    cdef TreePartition partition = TreePartition(editable)
    cdef const int64_t[::1] origin = editable.origin
    cdef const int64_t[::1] term_ptr = tree.term_ptr
    cdef const double[::1] offset = thresholds
    # Copies: a plane's pointers are not const. One place more, so that there is a first.
    cdef feature_t[::1] feature = np.append(tree.term_feature, np.int32(0))
    cdef w_t[::1] scaled = np.append(weights, 0.0)
    cdef double[::1] distances = np.empty(problem.n_train)
    cdef double[::1] spread = np.zeros(tree.node_count)
    cdef Hyperplane plane
    cdef row_t* rows
    cdef node_t node
    cdef idx_t n, p
    cdef double total, sums, squares, distance
    cdef w_t weight
    with nogil:
        for node in range(<node_t>editable.n_nodes):
            if editable.left[node] < 0:
                continue
            rows = partition.index.rows + partition.start[node]
            n = partition.end[node] - partition.start[node]
            init_plane(&plane, &feature[term_ptr[origin[node]]], &scaled[term_ptr[origin[node]]])
            plane.n_terms = term_ptr[origin[node] + 1] - term_ptr[origin[node]]
            project_rows(&problem.view, &plane, rows, n, &distances[0])
            total = sums = squares = 0.0
            for p in range(n):
                if distances[p] != distances[p]:
                    continue
                weight = problem.weight[rows[p]]
                distance = distances[p] - offset[origin[node]]
                total += weight
                sums += weight * distance
                squares += weight * distance * distance
            if total > 0.0:
                sums /= total
                spread[origin[node]] = sqrt(max(squares / total - sums * sums, 0.0))
            partition.split(node)
    return np.asarray(spread)


def convert_tree(Problem problem, tree, *, steepness, max_steepness, shared_weights, mean, scale):
    """Write a tree as a disjunctive normal form.

    Parameters
    ----------
    problem : Problem
        Its first ``n_train`` rows decide how steep the units are.
    tree : Tree
        All nodes must be planes; the class of a leaf is the one with the largest value.
    steepness, max_steepness : float
    shared_weights : bool
        Whether all classes use the same units. Otherwise each has its own; of two classes,
        only the second has any.
    mean, scale : float64 ndarray of shape (n_features,)
        Of `measure_columns`.

    Returns
    -------
    dict
        Arrays of `NormalForm`, writable.
    """
    if not tree.has_planes_only:
        raise ValueError(
            "the tree to start from has nodes that are not planes (products, intervals or sets), "
            "which have no disjunctive normal form; expected another splitter"
        )
    planes = _standardise_planes(problem, tree, steepness, max_steepness, mean, scale)
    root, left, right, nodes = _link_units(tree, problem.n_classes, shared_weights)
    return {
        "root": root,
        "child_left": left,
        "child_right": right,
        "weight": _spread_planes(tree, planes, nodes, problem.n_features),
        "mean": mean,
        "scale": scale,
    }


def _standardise_planes(problem, tree, steepness, max_steepness, mean, scale):
    """Weights of the terms, and constant of each node, as its units start with them."""
    n_nodes = tree.node_count
    node = np.repeat(np.arange(n_nodes), np.diff(tree.term_ptr))
    deviation = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    weight = tree.term_weight * deviation[tree.term_feature]
    length = np.sqrt(np.bincount(node, weights=weight * weight, minlength=n_nodes))
    # A plane without any standardised weight sends every row one way.
    inverse = np.divide(1.0, length, out=np.zeros(n_nodes), where=length > 0)
    spread = measure_nodes(
        problem, tree, tree.term_weight * inverse[node], tree.threshold * inverse
    )
    steep = np.full(n_nodes, float(max_steepness))
    wide = spread * max_steepness > steepness
    steep[wide] = steepness / spread[wide]
    centre = np.bincount(
        node, weights=tree.term_weight * mean[tree.term_feature], minlength=n_nodes
    )
    constant = steep * (centre - tree.threshold) * inverse
    flat = (length == 0) & (tree.children_left >= 0)
    constant[flat] = np.where(centre[flat] <= tree.threshold[flat], -30.0, 30.0)
    # A node that only tells missing values from others has a threshold beyond all numbers.
    return weight * inverse[node] * steep[node], np.clip(constant, -CELL_LIMIT, CELL_LIMIT)


def _link_units(tree, n_classes, shared_weights):
    """Give units to classes; returns roots, children and the node of each unit."""
    left = np.asarray(tree.children_left, dtype=np.int64)
    right = np.asarray(tree.children_right, dtype=np.int64)
    depth = tree.compute_depths()
    order = np.argsort(depth, kind="stable")
    is_leaf = left < 0
    label = tree.value[:, 0].argmax(axis=1)
    if shared_weights:
        groups = [np.ones(tree.node_count, dtype=bool)]
    else:
        leads = np.zeros((tree.node_count, n_classes), dtype=bool)
        leads[is_leaf, label[is_leaf]] = True
        for level in range(int(depth.max()) - 1, -1, -1):
            inner = np.flatnonzero((depth == level) & ~is_leaf)
            leads[inner] = leads[left[inner]] | leads[right[inner]]
        groups = list(leads.T)
    if n_classes == 2 and not shared_weights:
        groups = groups[1:]
    roots, lefts, rights, nodes, n_units = [], [], [], [], 0
    for group in groups:
        # What leads to no leaf of the class is nowhere; parents come before their children.
        code = np.where(is_leaf & group, -2 - label, -1)
        members = order[(group & ~is_leaf)[order]]
        code[members] = n_units + np.arange(len(members))
        n_units += len(members)
        roots.append(code[0])
        lefts.append(code[left[members]])
        rights.append(code[right[members]])
        nodes.append(members)
    return (
        np.array(roots, dtype=np.int32),
        np.concatenate(lefts).astype(np.int32),
        np.concatenate(rights).astype(np.int32),
        np.concatenate(nodes),
    )


def _spread_planes(tree, planes, nodes, n_features):
    """Rows of weights of the units, the constant last."""
    weight, constant = planes
    lengths = np.diff(tree.term_ptr)[nodes]
    ends = np.cumsum(lengths)
    terms = np.repeat(tree.term_ptr[nodes] - (ends - lengths), lengths) + np.arange(lengths.sum())
    rows = np.zeros((len(nodes), n_features + 1), dtype=np.float32)
    # Added, since a plane may name a feature twice.
    np.add.at(rows, (np.repeat(np.arange(len(nodes)), lengths), tree.term_feature[terms]),
              weight[terms])
    rows[:, -1] = constant[nodes]
    return rows
