"""Forests of other libraries behind one call; each library is optional."""

import pickle

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from obtree.bench.measure import count_nodes
from obtree.bench.plan import LibraryNotFoundError
from obtree.bench.ydf_forest import YdfForest
from obtree.core.names import unknown_name

PEERS = ("RandomForest", "ExtraTrees", "LightGBM", "XGBoost", "CatBoost", "YDF", "YDF oblique")


class PresentClasses:
    """A classifier that is given the classes of its training rows as 0, 1, 2 and so on.

    XGBoost takes no other classes, and CatBoost predicts a column where there are more than two.

    Parameters
    ----------
    model : object
        With ``fit`` and ``predict``.
    """

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        """Fit the model to numbered classes."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.model.fit(X, codes)
        return self

    def predict(self, X):
        """Return the classes that the predicted numbers stand for."""
        return self.classes_[np.ravel(self.model.predict(X))]


def make_peer(name, regression, n_trees, n_jobs, seed):
    """Return another library's model, with its default parameters.

    Parameters
    ----------
    name : str
        One of `PEERS`.
    regression : bool
        The task.
    n_trees : int
        Trees, or rounds of boosting.
    n_jobs : int
        Threads; -1 means all cores.
    seed : int
        Random state.

    Returns
    -------
    model : object
        With ``fit`` and ``predict``.
    """
    common = {"n_estimators": n_trees, "n_jobs": n_jobs, "random_state": seed}
    if name == "RandomForest":
        return (RandomForestRegressor if regression else RandomForestClassifier)(**common)
    if name == "ExtraTrees":
        return (ExtraTreesRegressor if regression else ExtraTreesClassifier)(**common)
    try:
        if name == "LightGBM":
            import lightgbm

            kind = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
            return kind(verbosity=-1, **common)
        if name == "XGBoost":
            import xgboost

            if regression:
                return xgboost.XGBRegressor(**common)
            return PresentClasses(xgboost.XGBClassifier(**common))
        if name == "CatBoost":
            import catboost

            common["thread_count"] = common.pop("n_jobs")
            common |= {"verbose": 0, "allow_writing_files": False}
            if regression:
                return catboost.CatBoostRegressor(**common)
            return PresentClasses(catboost.CatBoostClassifier(**common))
        if name in ("YDF", "YDF oblique"):
            import ydf  # noqa: F401  (its absence is to be told here)

            if n_jobs == -1:
                import joblib

                common["n_jobs"] = joblib.cpu_count()
            return YdfForest(oblique=name == "YDF oblique", **common)
    except ImportError as error:
        raise LibraryNotFoundError(f"{error.name} is not installed") from None
    raise ValueError(unknown_name("library", name, PEERS))


def measure_size(model):
    """Return the size of a fitted model, of ours or of a peer.

    Parameters
    ----------
    model : object
        Fitted.

    Returns
    -------
    size : dict
        ``n_bytes``, of the pickled or serialised model, and ``nodes``, where they can be counted.
    """
    if isinstance(model, YdfForest):
        nodes = sum(_count_ydf(tree.root) for tree in model.model_.iter_trees())
        return {"n_bytes": len(model.model_.serialize()), "nodes": nodes}
    if isinstance(model, PresentClasses):
        model = model.model
    size = {"n_bytes": len(pickle.dumps(model)), **count_nodes(model)}
    size.pop("leaves", None)
    if hasattr(model, "booster_"):  # LightGBM: a tree with k leaves has k - 1 tests
        trees = model.booster_.dump_model()["tree_info"]
        size["nodes"] = sum(2 * tree["num_leaves"] - 1 for tree in trees)
    elif hasattr(model, "get_booster"):  # XGBoost: a line of the dump is a node
        size["nodes"] = sum(text.count("\n") for text in model.get_booster().get_dump())
    elif hasattr(model, "get_tree_leaf_counts"):  # CatBoost
        size["nodes"] = sum(2 * int(n_leaves) - 1 for n_leaves in model.get_tree_leaf_counts())
    return {name: float(np.asarray(value)) for name, value in size.items()}


def _count_ydf(node):
    """Count the nodes of a tree of YDF."""
    count, rest = 0, [node]
    while rest:
        node = rest.pop()
        count += 1
        if not node.is_leaf:
            rest += [node.pos_child, node.neg_child]
    return count
