"""What a fitted estimator computes, for whatever writes it down in another form.

Prediction is a sum over trees in their order, for the trees of a model and then for each of its
boosted chains.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from obtree.data.offset import have_same_offset
from obtree.estimators.base import BaseModel
from obtree.estimators.groups import list_groups, list_tree_lists, walks_trees
from obtree.tree.leaf_models import ConstantLeaf, LinearGaussianLeaf, LinearLeaf
from obtree.tree.tree import FIELDS, list_arrays

#: Arrays of trees that are known elsewhere, those of all trees among them.
KNOWN_ARRAYS = {
    *FIELDS,
    *("term_partner", "lower_threshold", "term_share", "feature_offset"),
    *LinearLeaf.fields,
    *LinearGaussianLeaf.fields,
}
#: Those of nodes that test sets of categories.
SETS = {"set_ptr", "set_categories"}
KNOWN_LEAVES = (ConstantLeaf, LinearLeaf, LinearGaussianLeaf)

EXPORTABLE = (
    "a fitted tree or forest that predicts classes or numbers by walking down trees "
    "(ObliqueTree..., ObliqueForest..., TAOTree..., TAOForest..., NonGreedyTree..., "
    "NonGreedyForest..., SemiSupervisedForestClassifier)"
)


@dataclass(frozen=True, eq=False)
class ExportedModel:
    """A model as what it computes.

    Attributes
    ----------
    name : str
        Class of the estimator.
    groups : list of Group
        Results are added up in this order.
    n_features : int
    n_outputs : int
    n_classes : list of int
        Of each output; 1 for numbers.
    labels : list of ndarray or None
        Class labels of each output; None for numbers.
    offset : float64 ndarray of shape (n_features,) or None
        What is subtracted from the features before they become float32.
    feature_names : list of str or None
    categories : list of (ndarray or None) or None
        What the numbers of categories stand for, by feature.
    """

    name: str
    groups: list
    n_features: int
    n_outputs: int
    n_classes: list
    labels: list | None
    offset: np.ndarray | None
    feature_names: list | None
    categories: list | None = None

    @property
    def max_n_classes(self):
        """Largest number of classes over the outputs."""
        return max(self.n_classes)

    @property
    def n_values(self):
        """How many numbers are added up."""
        return self.n_outputs * self.max_n_classes

    @property
    def trees(self):
        """All trees, those of one group after those of another."""
        return [tree for group in self.groups for tree in group.trees]

    @property
    def is_one_tree(self):
        """Whether the prediction is what one leaf says."""
        return len(self.groups) == 1 and len(self.groups[0].trees) == 1


def read_model(model, form, with_sets=False):
    """Find out what a fitted estimator computes, or refuse it.

    Parameters
    ----------
    model : estimator object
        What the user gave.
    form : str
        What it is exported to, for messages.
    with_sets : bool, default=False
        Whether that knows nodes which test sets of categories.

    Returns
    -------
    model : ExportedModel
    """
    name = type(model).__name__
    if not isinstance(model, BaseModel):
        raise TypeError(f"{name} cannot be exported to {form}; expected {EXPORTABLE}")
    if not walks_trees(model):
        raise TypeError(
            f"{name} cannot be exported to {form}, since it does not predict by walking down "
            f"trees; expected {EXPORTABLE}"
        )
    check_is_fitted(model)
    trees = [tree for trees in list_tree_lists(model) for tree in trees]
    _check_trees(name, trees, form, KNOWN_ARRAYS | SETS if with_sets else KNOWN_ARRAYS)
    names = getattr(model, "feature_names_in_", None)
    return ExportedModel(
        name=name,
        groups=list_groups(model),
        n_features=trees[0].n_features,
        n_outputs=trees[0].n_outputs,
        n_classes=trees[0].n_classes.tolist(),
        labels=model._list_classes(),
        offset=trees[0].feature_offset,
        feature_names=None if names is None else [str(each) for each in names],
        categories=getattr(model, "categories_", None),
    )


def _check_trees(name, trees, form, known_arrays):
    """Refuse trees that are not of one kind, and such as nobody knows elsewhere."""
    first = trees[0]
    for t, tree in enumerate(trees):
        if tree.leaf_kind not in KNOWN_LEAVES:
            known = ", ".join(kind.name for kind in KNOWN_LEAVES)
            raise TypeError(
                f"{name} cannot be exported to {form}: tree {t} has {tree.leaf_kind.name} leaves; "
                f"expected leaves of the kinds {known}"
            )
        arrays = {key for key, array in list_arrays(tree).items() if array is not None}
        if arrays & SETS - known_arrays:
            raise TypeError(
                f"{name} cannot be exported to {form}: it divides categories by sets; expected a "
                "model of numbers, to which categories are encoded before the fit"
            )
        if not arrays <= known_arrays:
            raise TypeError(
                f"{name} cannot be exported to {form}: tree {t} has "
                f"{', '.join(sorted(arrays - known_arrays))}; expected nodes that test planes, "
                "products or intervals"
            )
        if (
            tree.n_features != first.n_features
            or tree.n_classes.tolist() != first.n_classes.tolist()
            or not have_same_offset(tree.feature_offset, first.feature_offset)
        ):
            raise ValueError(
                f"tree {t} of this {name} has other n_features, n_classes or feature_offset than "
                "the first; expected trees of one fit"
            )
