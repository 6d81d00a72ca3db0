"""Growing trees in one call, and telling whether two are the same."""

import hashlib
from typing import NamedTuple

import numpy as np

from obtree.builder.rule import GrowthRule
from obtree.criterion.base import Criterion
from obtree.criterion.registry import CLASSIFICATION, PARTIAL, make_criterion
from obtree.data.dataset import Dataset
from obtree.data.targets import Targets
from obtree.forest.grow import grow_trees
from obtree.splitter.registry import resolve_splitter
from obtree.tree.tree import list_arrays


class BoundCriterion(NamedTuple):
    """A criterion and what it is to be bound to."""

    criterion: Criterion
    targets: Targets
    dataset: Dataset | None = None


def bind_criterion(criterion, y=None, n_classes=None, X=None):
    """Make a criterion for targets of any shape and type.

    Parameters
    ----------
    criterion : str or subclass of Criterion
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
        None for a criterion that reads X alone.
    n_classes : sequence of int, optional
        Classes of each output; by default those that occur.
    X : ndarray of shape (n_samples, n_features), optional
        For criteria that read it.

    Returns
    -------
    BoundCriterion
    """
    by_name = dict.fromkeys(CLASSIFICATION, "classes") | dict.fromkeys(PARTIAL, "partial")
    kind = getattr(criterion, "target_kind", None) or by_name.get(criterion, "real")
    if y is not None:
        y = np.asarray(y)
        y = y.reshape(len(y), -1)
    if kind not in ("classes", "partial"):
        n_classes = None
    elif n_classes is None:
        n_classes = y.max(axis=0) + 1
    targets = Targets(y, n_classes, kind == "partial")
    dataset = None if X is None else Dataset(X)
    return BoundCriterion(make_criterion(criterion, targets), targets, dataset)


def grow_forest(
    X,
    y,
    criterion="gini",
    *,
    splitter="axis",
    seeds=(1,),
    sample_weight=None,
    n_classes=None,
    n_bootstrap=0,
    replace=True,
    balance_subsample=False,
    n_threads=1,
    keep_rows=False,
    **rule,
):
    """Grow one tree for each seed, all features as candidates unless the rule says otherwise.

    Returns
    -------
    list of Tree
    """
    bound = bind_criterion(criterion, y, n_classes)
    rule.setdefault("max_features", X.shape[1])
    return grow_trees(
        Dataset(X, n_threads=n_threads, keep_rows=keep_rows),
        bound.targets,
        bound.criterion,
        resolve_splitter(splitter),
        GrowthRule(**rule),
        seeds=np.asarray(seeds, dtype=np.uint32),
        sample_weight=sample_weight,
        n_bootstrap=n_bootstrap,
        replace=replace,
        balance_subsample=balance_subsample,
        n_threads=n_threads,
    )


def grow_tree(X, y, criterion="gini", **options):
    """Grow one tree; see `grow_forest`."""
    return grow_forest(X, y, criterion, **options)[0]


def find_differences(one, other, ignore=()):
    """Names of the arrays in which two trees differ, to the last bit.

    Shares of terms are sums over rows, which other orders or repeated rows round otherwise:
    for them the last digits do not count.
    """
    names = [
        name
        for name in list_arrays(one) | list_arrays(other)
        if name not in ignore and to_bytes(one, name) != to_bytes(other, name)
    ]
    if "term_share" in names and one.term_share is not None and other.term_share is not None:
        same_size = one.term_share.shape == other.term_share.shape
        if same_size and np.allclose(one.term_share, other.term_share, rtol=1e-4, atol=1e-6):
            names.remove("term_share")
    return names


def to_bytes(tree, name):
    """The contents of an array, None for one that the tree does not have."""
    array = getattr(tree, name)
    return None if array is None else array.tobytes()


def hash_trees(trees):
    """A digest of every bit of every tree."""
    digest = hashlib.sha256()
    for tree in trees:
        for name, array in list_arrays(tree).items():
            if array is None:
                continue
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()


def name_partition(groups):
    """Number the groups by first appearance, so that equal partitions are equal arrays."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return order[inverse]
