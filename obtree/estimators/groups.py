"""What a fitted estimator adds up: groups of trees, each combined in its way."""

from dataclasses import dataclass

from obtree.tree.predict import Predictor


@dataclass(frozen=True, eq=False)
class Group:
    """Trees that are combined.

    Attributes
    ----------
    trees : list of Tree
        For shifted features.
    combine : {"average", "vote", "product"}
        See `obtree.tree.predict.Predictor`.
    factor : float or None
        What the result counts for in the prediction; None where there is only one group.
    """

    trees: list
    combine: str
    factor: float | None = None


def walks_trees(model):
    """Tell whether a fitted estimator predicts by walking down trees.

    Parameters
    ----------
    model : BaseModel

    Returns
    -------
    bool
    """
    return model._predictor_kind is Predictor and getattr(model, "_target_kind", "none") != "none"


def list_tree_lists(model):
    """List the trees of an estimator, and those of each of its boosted chains.

    Parameters
    ----------
    model : BaseModel
        Fitted, and such as `walks_trees`.

    Returns
    -------
    lists : list of list of Tree
    """
    chains = model._list_chains() if hasattr(model, "_list_chains") else []
    return [model._list_trees(), *chains]


def list_groups(model):
    """List what a prediction is the sum of.

    Parameters
    ----------
    model : BaseModel
        Fitted, and such as `walks_trees`.

    Returns
    -------
    groups : list of Group
        The trees of the estimator and, behind them, its boosted chains.
    """
    # A tree by itself has nothing to be combined with.
    combine = model._choose_combine() if hasattr(model, "_choose_combine") else "average"
    trees, *chains = [[tree.shifted for tree in trees] for trees in list_tree_lists(model)]
    if not chains:
        return [Group(trees, combine)]
    weights = model.chain_weights_
    groups = [Group(trees, combine, float(1.0 - weights.sum()))]
    for chain, weight in zip(chains, weights.tolist(), strict=True):
        groups.append(Group(chain, model._chain_combine, float(weight)))
    return groups
