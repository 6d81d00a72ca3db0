"""The tree that the user means: one that is given, or one of a forest, and the names it knows."""

from obtree.core.params import Integer, check_param, refuse_param
from obtree.tree.tree import Tree

#: Where fitted forests keep their trees.
_LISTS = ("estimators_", "trees_")


def list_members(model):
    """The trees of a forest, as it keeps them.

    Parameters
    ----------
    model : object

    Returns
    -------
    list or None
        None for what is no forest of trees.
    """
    for name in _LISTS:
        members = getattr(model, name, None)
        if isinstance(members, list) and members and get_tree(members[0]) is not None:
            return members
    return None


def find_tree(model, member=None, feature_names=None, class_names=None, what="model"):
    """The tree of a fitted estimator, and the names to show it with.

    Parameters
    ----------
    model : Tree, fitted tree estimator or fitted forest
    member : int, optional
        Which tree of a forest; negative numbers count from the last.
    feature_names, class_names : optional
        What the user gave; taken instead of the estimator's.
    what : str, default="model"
        Name of the user's parameter, for messages.

    Returns
    -------
    tree : Tree
    feature_names, class_names : sequence or None
    """
    members = list_members(model)
    if members is None:
        tree = get_tree(model)
        if tree is None:
            _refuse(what, model)
        if member is not None:
            raise ValueError(f"member={member} needs a forest; {what} is a single tree")
    else:
        if member is None:
            raise ValueError(
                f"{what} is a forest of {len(members)} trees; expected one of them, such as "
                "member=0"
            )
        check_param("member", member, Integer(-len(members), len(members) - 1))
        tree = get_tree(members[member])
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    if class_names is None:
        class_names = getattr(model, "classes_", None)
    return tree, feature_names, class_names


def find_categories(model):
    """What the numbers of categories stand for.

    Parameters
    ----------
    model : Tree, fitted tree estimator or fitted forest

    Returns
    -------
    list or None
        By feature.
    """
    return getattr(model, "categories_", None)


def get_tree(model):
    """The tree that something is or has.

    Parameters
    ----------
    model : object

    Returns
    -------
    Tree or None
        None if there is none.
    """
    if isinstance(model, Tree):
        return model
    tree = getattr(model, "tree_", None)
    return tree if isinstance(tree, Tree) else None


def _refuse(what, model):
    """Raise a TypeError that says what is missing."""
    expected = "a Tree, a fitted tree or a fitted forest of obtree"
    members = getattr(model, "estimators_", ())
    if hasattr(model, "form_") or (len(members) and hasattr(members[0], "form_")):
        expected += "; disjunctive normal forms have soft decisions and no tests to show"
    elif hasattr(model, "get_params") and hasattr(model, "fit") and not _is_fitted(model):
        expected += "; call fit first"
    elif hasattr(model, "steps"):
        expected += "; of a pipeline, pass the last step"
    refuse_param(what, model, expected=expected, wrong_type=True)


def _is_fitted(model):
    return any(name.endswith("_") and not name.startswith("_") for name in vars(model))
