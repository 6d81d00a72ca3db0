"""How relevant each feature is: what planes should draw their features by.

Planes of several features suffer from those that have nothing to say about y. A small forest of
axis-aligned trees is grown on the features and, beside them, their shadows: the same columns with
the rows in another order, which cannot be of any use. What a shadow still contributes to the
forest is what chance contributes; a feature is relevant in as far as it contributes more than that
(the idea of Boruta; Kursa and Rudnicki, 2010).
"""

import dataclasses

import numpy as np
import scipy.sparse as sp

from obtree.splitter.registry import resolve_splitter

#: Trees that are grown to find out.
N_TREES = 20

#: Most rows that they are grown on.
MAX_ROWS = 10_000

#: Rows that their leaves have at least: smaller ones are chance.
MIN_LEAF = 5

#: Fraction of the features and shadows that a node looks at, and multiple of the root of their
#: number that it looks at where they are many.
MAX_FRACTION = 1 / 3
MAX_ROOTS = 4

#: A feature takes part always if it contributes so many times what chance does, and one more.
FULL_AT = 4.0

#: How often a feature that contributes nothing takes part.
LEAST = 0.02


def measure_relevance(plan, entropy, n_threads):
    """Return how often each feature should take part in the draws of planes.

    Parameters
    ----------
    plan : GrowthPlan
        What the forest grows on.
    entropy : int
        Everything random follows from it.
    n_threads : int
        Number of threads.

    Returns
    -------
    relevance : float32 ndarray of shape (n_features,)
        Above 0 and up to 1.
    """
    rng = np.random.default_rng([entropy, 1])
    rows = np.arange(plan.X.shape[0]) if plan.rows is None else plan.rows
    chosen = np.arange(len(rows))
    if len(rows) > MAX_ROWS:
        chosen = np.sort(rng.choice(len(rows), MAX_ROWS, replace=False))
    X = plan.X[rows[chosen]]
    shadows = X[rng.permutation(len(chosen))]
    if sp.issparse(X):
        both = sp.hstack([X, shadows], format=X.format)
        both.sort_indices()
    else:
        both = np.hstack([X, shadows])
    n_features = X.shape[1]
    small = dataclasses.replace(
        plan,
        X=both,
        target=dataclasses.replace(plan.target, y=plan.target.y[rows[chosen]]),
        rows=None,
        categorical=None if plan.categorical is None else np.tile(plan.categorical, 2),
        weight=None if plan.weight is None else plan.weight[chosen],
        splitter=resolve_splitter("axis"),
        rule=dataclasses.replace(
            plan.rule,
            max_features=_count_candidates(2 * n_features),
            min_samples_leaf=max(MIN_LEAF, plan.rule.min_samples_leaf),
            min_samples_split=max(2 * MIN_LEAF, plan.rule.min_samples_split),
            max_leaf_nodes=-1,
            monotonic_cst=None,
            relevance=None,
        ),
        ccp_alpha=0.0,
        leaf=None,
    )
    seeds = rng.integers(2**32, size=N_TREES, dtype=np.uint32)
    trees = small.grow(seeds, n_bootstrap=len(chosen), n_threads=n_threads)
    total = np.sum([tree.compute_feature_importances() for tree in trees], axis=0)
    return rate_features(total[:n_features], total[n_features:])


def _count_candidates(n_columns):
    """Return how many columns a node looks at."""
    return max(1, int(min(MAX_FRACTION * n_columns, MAX_ROOTS * n_columns**0.5)))


def rate_features(importance, chance):
    """Return relevances from what features and their shadows contribute.

    Parameters
    ----------
    importance, chance : ndarray of shape (n_features,)
        Of the features, and of their shadows.

    Returns
    -------
    relevance : float32 ndarray of shape (n_features,)
    """
    # A shadow that happened to contribute nothing says little by itself.
    level = np.maximum(chance, chance.mean())
    if not importance.any():
        return np.ones(len(importance), dtype=np.float32)
    excess = np.divide(
        np.maximum(importance - level, 0.0),
        FULL_AT * level,
        out=np.where(importance > 0.0, 1.0, 0.0),
        where=level > 0.0,
    )
    # Sums in another order, as of sparse features, make the same draws.
    return np.round(np.clip(excess**2, LEAST, 1.0), 3).astype(np.float32)
