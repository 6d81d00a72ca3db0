"""Refining trees that were grown on samples of the rows, each on its own sample."""

import numpy as np

from obtree.estimators.dense import make_dense, narrow_tree, widen_model
from obtree.forest.refine import refine_trees
from obtree.optim.base import Problem


def refine_sampled(plan, trees, seeds, sample, template, *, n_threads=1, verbose=0):
    """Optimise each of several trees on the rows that it was grown on.

    Rows that a tree has left out stay out, and so does, with the relevance of the features as its
    chance, each feature that the tree does not use.

    Parameters
    ----------
    plan : GrowthPlan
        What the trees were grown on; some rows at a time are made dense.
    trees : list of Tree
        Greedy ones.
    seeds : ndarray of uint32
        Of the trees.
    sample : RowSample
        How their rows were drawn, without replacement.
    template : TAO tree
        Its parameters are those of the optimiser.
    n_threads : int, default=1
        Number of threads.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    trees : list of Tree
    """
    n_features = plan.X.shape[1]
    columns = [_choose_columns(plan, tree, seed) for tree, seed in zip(trees, seeds, strict=True)]

    def pose(t):
        rows = np.flatnonzero(sample.count(int(seeds[t]), plan.n_rows))
        X = make_dense(plan.X[rows], columns[t])
        weight = None if plan.weight is None else plan.weight[rows]
        return Problem(X, plan.target.y[rows], weight, n_classes)

    n_classes = 0 if plan.target.n_classes is None else int(plan.target.n_classes[0])
    first = pose(0)
    results = refine_trees(
        first,
        template._make_optimiser(first),
        [narrow_tree(tree, used) for tree, used in zip(trees, columns, strict=True)],
        seeds,
        pose=pose,
        n_threads=n_threads,
        verbose=verbose,
    )
    return [
        widen_model(model, used, n_features)
        for (model, _), used in zip(results, columns, strict=True)
    ]


def _choose_columns(plan, tree, seed):
    """Draw the features that a tree may use; None for all."""
    relevance = plan.rule.relevance
    if relevance is None:
        return None
    used = np.random.default_rng([int(seed), 1]).random(len(relevance)) < relevance
    used[tree.term_feature] = True
    return None if used.all() else np.flatnonzero(used)
