# A complete tree of random planes, each through the median of its rows.
#
# Directions are normal in the units of scaler.pxi, over all features that no row lacks.

import numpy as np

from libc.stdint cimport uint32_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, normal, seed_state
from obtree.core.types cimport feature_t, idx_t, row_t, w_t
from obtree.data.hyperplane cimport Hyperplane, init_plane
from obtree.data.partition cimport SampleIndex
from obtree.data.project cimport project_rows
from obtree.optim.base cimport Problem
from obtree.tree.tree import Tree


def draw_tree(Problem problem, Scaler scaler, max_depth, min_samples_leaf, uint32_t seed):
    """Grow a tree without looking at the targets.

    Parameters
    ----------
    problem : Problem
    scaler : Scaler
    max_depth : int
    min_samples_leaf : int
        Rows that each side of a plane needs; a node that cannot have them is a leaf.
    seed : int

    Returns
    -------
    tree : Tree
        Its planes only: counts, values and impurities are zero.
    """
    cdef RandState rng
    cdef Hyperplane plane
    cdef idx_t k, n_terms = 0, n_nodes = 1, start, end, middle
    cdef Workspace memory = Workspace()
    cdef SampleIndex index = SampleIndex()
    cdef double[::1] projection = np.empty(problem.n_train)
    cdef feature_t[::1] feature = np.empty(problem.n_features, dtype=np.int32)
    cdef w_t[::1] weight = np.empty(problem.n_features)
    cdef float[::1] dense = np.zeros(problem.n_features, dtype=np.float32)
    seed_state(&rng, seed, 1)
    for k in range(scaler.complete.n):
        if scaler.complete.scale[k] > 0.0:
            feature[n_terms] = scaler.complete.feature[k]
            n_terms += 1
    init_plane(&plane, &feature[0], &weight[0])
    plane.n_terms = n_terms
    left, right, threshold, planes = [-1], [-1], [0.0], [None]
    index.bind(&problem.view, memory)
    index.projection = &projection[0]
    rows = np.asarray(<row_t[:problem.n_train]>index.rows)
    rows[:] = np.arange(problem.n_train)
    queue = [(0, 0, 0, problem.n_train)]
    for node, depth, start, end in queue:
        if n_terms == 0 or depth == max_depth or end - start < 2 * min_samples_leaf:
            continue
        for k in range(n_terms):
            weight[k] = normal(&rng) * scaler.scale[feature[k]]
        if scaler.has_missing:
            with nogil:
                project_rows(&problem.view, &plane, index.rows + start, end - start,
                             &projection[0])
        else:
            # The cut need not be exact, and sums in single precision are quicker.
            for k in range(n_terms):
                dense[feature[k]] = <float>weight[k]
            with nogil:
                scaler.approximate(index.rows + start, end - start, &dense[0], &projection[0])
        values = np.asarray(projection[:end - start])
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        # Cuts between different values only; that which halves the weight best.
        cuts = np.flatnonzero(ordered[1:] > ordered[:len(ordered) - 1])
        if len(cuts) == 0:
            continue
        weights = np.cumsum(problem.sample_weight[rows[start:end][order]])
        at = cuts[np.argmin(np.abs(weights[cuts] - 0.5 * weights.max()))]
        cut = ordered[at] + 0.5 * (ordered[at + 1] - ordered[at])
        plane.threshold = cut
        middle = index.split(&plane, -1, start, end)
        if min(middle - start, end - middle) < max(min_samples_leaf, 1):
            continue
        threshold[node] = cut
        planes[node] = np.array(weight[:n_terms])
        left[node], right[node] = len(left), len(left) + 1
        queue.append((len(left), depth + 1, start, middle))
        queue.append((len(left) + 1, depth + 1, middle, end))
        left += [-1, -1]
        right += [-1, -1]
        threshold += [0.0, 0.0]
        planes += [None, None]
    n_nodes = len(left)
    internal = np.array([found is not None for found in planes])
    pointer = np.concatenate([[0], np.cumsum(internal * n_terms)])
    found = [line for line in planes if line is not None]
    zeros = np.zeros(n_nodes)
    return Tree.from_arrays(
        n_features=problem.n_features,
        children_left=left,
        children_right=right,
        threshold=threshold,
        term_ptr=pointer,
        term_feature=np.tile(np.array(feature[:n_terms]), len(found)),
        term_weight=np.concatenate(found) if found else np.zeros(0),
        missing_go_left=zeros,
        impurity=zeros,
        n_node_samples=zeros,
        weighted_n_node_samples=zeros,
        value=np.zeros((n_nodes, 1, 1)),
        n_classes=[1],
    )
